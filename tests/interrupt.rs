//! Ctrl-C: exit code 130, soon, and no file half written (law O3).
#![cfg(unix)]

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Scratch, WGSL, write_job};

/// A job whose frame takes minutes: every pixel of many layers runs a long loop that ends.
#[test]
fn an_interrupt_ends_within_a_frame_and_leaves_nothing() {
    let scratch = Scratch::new("interrupt");
    let job = write_job(&scratch);
    let long = "    var x = in.uv.x;\n    for (var i = 0; i < 200000; i++) { x = fract(x * 1.7 + 0.3); }\n    return vec4f(x) + \
                textureSample";
    scratch.write("main.wgsl", WGSL.replacen("    return textureSample", long, 1));
    let text = std::fs::read_to_string(&job).expect("the job");
    let large = text.replacen("\"size\": [16, 16]", "\"size\": [4096, 4096]", 1);
    scratch.write("workload.json", large);
    let before = scratch.files();
    let mut child = Command::new(env!("CARGO_BIN_EXE_quadrille"))
        .arg("run")
        .arg(&job)
        .arg("-o")
        .arg(scratch.path("out.png"))
        .arg("--json")
        .arg(scratch.path("out.json"))
        .args(["--threads", "2"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    // Long enough to be within the frame; a signal that comes before is as good for what is tested.
    std::thread::sleep(Duration::from_millis(700));
    assert!(
        child.try_wait().expect("runs").is_none(),
        "the frame is too short for the test"
    );
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let clock = Instant::now();
    let output = child.wait_with_output().expect("ends");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        clock.elapsed() < Duration::from_secs(20),
        "it took {:?}",
        clock.elapsed()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "interrupted");
    assert_eq!(scratch.files(), before, "something was left behind");
}
