//! Jobs of the tree, small: the same bits for interpreter and native code, for any number of threads, and as last time.
//!
//! `QUADRILLE_BLESS=1 cargo test --test jobs` accepts what is rendered now. On failure the actual image and the
//! difference times 8 are written beside the test's binary, and the message says where.

mod support;

use quadrille::job::{LoadOptions, OutputImage, PrepareOptions};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor, Lanes};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

/// The jobs, and by how much they are shrunk: the interpreter is slow.
const JOBS: [(&str, u32); 13] = [
    ("triangle", 4),
    ("fill", 16),
    ("fill-blend", 16),
    ("checker", 10),
    ("stencil", 10),
    ("mandelbrot", 16),
    ("fbm-warp", 16),
    ("cubes-front-to-back", 8),
    ("shadow-pcf", 16),
    ("msaa4", 8),
    ("objects", 10),
    ("deferred", 8),
    ("raymarch", 10),
];

fn render(name: &str, scale: u32, d: &DeviceDescriptor<'_>) -> OutputImage {
    let device = Device::new(d).expect("a device");
    let job = quadrille::job::load(&support::jobs().join(name), &LoadOptions::default()).expect("loads");
    let options = PrepareOptions {
        scale: NonZeroU32::new(scale).expect("not zero"),
    };
    let mut prepared = job.prepare(&device, &options).expect("prepares");
    prepared.frame(&CancelFlag::new()).expect("renders");
    prepared.read_output().expect("has an image")
}

fn jit(threads: usize) -> DeviceDescriptor<'static> {
    DeviceDescriptor {
        backend: Backend::Jit,
        threads: NonZeroUsize::new(threads),
        ..DeviceDescriptor::default()
    }
}

#[track_caller]
fn assert_same(name: &str, what: &str, a: &OutputImage, b: &OutputImage) {
    assert_eq!((a.width, a.height, a.format), (b.width, b.height, b.format));
    if a.bytes == b.bytes {
        return;
    }
    let texel = a.bytes.len() / (a.width as usize * a.height as usize);
    let different = a.bytes.chunks(texel).zip(b.bytes.chunks(texel)).enumerate();
    let (count, first) = different
        .filter(|(_, (p, q))| p != q)
        .fold((0, None), |(n, first), (i, (p, q))| (n + 1, first.or(Some((i, p, q)))));
    let (i, p, q) = first.expect("some differ");
    let (x, y) = (i % a.width as usize, i / a.width as usize);
    panic!("{name}, {what}: {count} pixels differ, the first at {x}, {y}: {p:?} and {q:?}");
}

#[test]
fn interpreter_and_native_code_give_the_same_bits() {
    for (name, scale) in JOBS {
        let interpreted = render(
            name,
            scale,
            &DeviceDescriptor {
                backend: Backend::Interpreter,
                ..DeviceDescriptor::default()
            },
        );
        let four = DeviceDescriptor {
            lanes: Lanes::Four,
            ..jit(2)
        };
        assert_same(
            name,
            "interpreter and 4 lanes",
            &interpreted,
            &render(name, scale, &four),
        );
        assert_same(
            name,
            "interpreter and native",
            &interpreted,
            &render(name, scale, &jit(2)),
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (name, scale) in JOBS {
        let one = render(name, scale.div_ceil(2), &jit(1));
        for threads in [2, 4] {
            let many = render(name, scale.div_ceil(2), &jit(threads));
            assert_same(name, &format!("1 and {threads} threads"), &one, &many);
        }
    }
}

#[test]
fn images_are_as_last_time() {
    let mut wrong = Vec::new();
    for (name, scale) in JOBS {
        let image = render(name, scale, &jit(2));
        let rgba = image.to_rgba8().expect("8-bit");
        if let Err(why) = as_golden(name, &image, &rgba) {
            wrong.push(why);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn as_golden(name: &str, image: &OutputImage, rgba: &[u8]) -> Result<(), String> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.png"));
    let write = |path: &Path, pixels: &[u8]| {
        quadrille::files::png::write(path, image.width, image.height, pixels).map_err(|e| e.to_string())
    };
    if std::env::var_os("QUADRILLE_BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().expect("it has a folder")).map_err(|e| e.to_string())?;
        return write(&golden, rgba);
    }
    let expected = quadrille::files::png::read(&golden, 4096).map_err(|e| e.to_string())?;
    if expected.pixels == rgba && (expected.width, expected.height) == (image.width, image.height) {
        return Ok(());
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let actual = dir.join(format!("{name}.actual.png"));
    write(&actual, rgba)?;
    write(&dir.join(format!("{name}.expected.png")), &expected.pixels)?;
    if expected.pixels.len() == rgba.len() {
        let difference: Vec<u8> = expected
            .pixels
            .chunks(4)
            .zip(rgba.chunks(4))
            .flat_map(|(p, q)| {
                let d = |c: usize| p[c].abs_diff(q[c]).saturating_mul(8);
                [d(0), d(1), d(2), 255]
            })
            .collect();
        write(&dir.join(format!("{name}.difference.png")), &difference)?;
    }
    Err(format!(
        "{name}: differs from the golden image; see {}",
        actual.display()
    ))
}
