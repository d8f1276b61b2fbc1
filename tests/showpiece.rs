//! The committed showpiece is what its generator makes, and it renders.

#[path = "../examples/make_showpiece/still_life/mod.rs"]
mod still_life;

#[test]
fn the_generator_makes_the_committed_file() {
    let committed = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/showpiece.glb")).expect("the file");
    assert!(
        still_life::glb() == committed,
        "run `cargo run --example make_showpiece` and commit the result"
    );
}

#[test]
fn the_showpiece_renders_through_the_command_line() {
    let out = std::env::temp_dir().join(format!("quadrille-showpiece-{}.png", std::process::id()));
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_quadrille"))
        .args([
            "render",
            concat!(env!("CARGO_MANIFEST_DIR"), "/assets/showpiece.glb"),
            "--size",
            "160x90",
            "--quiet",
        ])
        .arg("--output")
        .arg(&out)
        .status()
        .expect("runs");
    assert!(status.success(), "exit status {status}");
    let (info, bytes) = {
        let file = std::io::BufReader::new(std::fs::File::open(&out).expect("the picture"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("a frame");
        (info, bytes)
    };
    std::fs::remove_file(&out).expect("removes its file");
    assert_eq!((info.width, info.height), (160, 90));
    // A picture, not a plain colour.
    let mut colours: Vec<&[u8]> = bytes.chunks_exact(info.color_type.samples()).collect();
    colours.sort_unstable();
    colours.dedup();
    assert!(colours.len() > 1000, "{} colours", colours.len());
}
