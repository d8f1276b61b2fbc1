//! `quadrille run`: renders the frames of a job file, and measures them as the harness of other renderers does.
//!
//! ```text
//! process start ─ load ─ device ─ upload ─ pipelines ─ first frame │ warm-up │ frames (timed one by one) │ PNG, JSON
//!                 └──────────────── cold ────────────────────────┘
//! ```
//!
//! Frames are not overlapped. The readback and the PNG are outside of every figure.

use super::common::{CommonArgs, Failure, LogLevel, compile_counts};
use super::{interrupt, report};
use clap::Parser;
use quadrille::files;
use quadrille::job::{self, JobError, LoadOptions, PrepareOptions};
use quadrille::{CancelFlag, Device, SubmitStats};
use std::io::Write;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Render a job, or many: a pipeline, its resources and its draws described in a JSON file.
///
/// Where the job says what must come out (`expect`), a value that differs is an error. Several jobs, named by a directory or
/// a list, run one after the other; a failed one doesn't stop the others.
#[derive(Parser, Debug)]
pub struct Args {
    /// The job file, or a directory with `workload.json` or `job.json` in it. Several jobs: any other directory (every
    /// `.json` file below it), or a list in a `.txt` file with a path in each line.
    #[arg(
        value_name = "JOB",
        required_unless_present = "workload",
        conflicts_with = "workload"
    )]
    job: Option<PathBuf>,
    /// Another way to name the job.
    #[arg(long, value_name = "DIR")]
    workload: Option<PathBuf>,
    /// Write the job's output texture as PNG.
    #[arg(long, short, alias = "out", value_name = "IMAGE.png")]
    output: Option<PathBuf>,
    /// Write the job's `outputs` into this directory; of several jobs each into a directory of its name.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Frames to measure.
    #[arg(long, value_name = "N", default_value = "1")]
    frames: NonZeroUsize,
    /// Frames to render beforehand, besides the first.
    #[arg(long, value_name = "M", default_value_t = 0)]
    warmup: usize,
    /// Stop measuring after this time, but not before 3 frames.
    #[arg(long, value_name = "S", default_value_t = f64::INFINITY)]
    max_seconds: f64,
    /// Write the measurements as JSON; of several jobs a line for each: pass, fail, refused or error, and why.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Shrink render targets, viewports and scissors, such as 1/4.
    #[arg(long, value_name = "1/N", default_value = "1")]
    scale: Scale,
    /// Compile GLSL and HLSL shaders with this glslangValidator or glslc.
    #[arg(long, value_name = "PATH")]
    glslang: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

/// `1/N`, or just 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale(NonZeroU32);

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let divisor = if text == "1" {
            Some("1")
        } else {
            text.strip_prefix("1/")
        };
        divisor
            .and_then(|n| n.parse().ok())
            .map(Scale)
            .ok_or_else(|| format!("`{text}` is no scale; examples are 1 and 1/4"))
    }
}

/// Renders and measures.
pub fn run(args: &Args, begun: Instant) -> Result<(), Failure> {
    let to_main = since_launch(begun);
    let path = match (&args.job, &args.workload) {
        (Some(path), _) | (None, Some(path)) => path,
        (None, None) => return Err(Failure::Usage("a job is needed".into())),
    };
    if let Some(jobs) = job::find_jobs(path)? {
        return super::batch::run(&batch_args(args)?, &jobs);
    }
    let cancel = interrupt::flag();

    let clock = Instant::now();
    let loaded = job::load(
        path,
        &LoadOptions {
            glslang: args.glslang.clone(),
            ..LoadOptions::default()
        },
    )?;
    let load = clock.elapsed();

    let clock = Instant::now();
    let device = args.common.device()?;
    let device_time = clock.elapsed();
    let rss_with_device = status_mib("VmRSS");

    let options = PrepareOptions { scale: args.scale.0 };
    let mut prepared = loaded.prepare(&device, &options)?;
    if args.common.tells(LogLevel::Warn) {
        for text in prepared.pipelines().flat_map(|(_, p)| p.warnings()) {
            report::warning(text.trim_start_matches("warning: ").trim_end());
        }
    }
    let clock = Instant::now();
    let first_stats = prepared.frame(&cancel)?.stats;
    let first_frame = clock.elapsed();
    let cold = Cold {
        total_ms: since_launch(begun),
        cpu_ms: cpu_ms(),
        to_main_ms: to_main,
        load,
        device: device_time,
        upload: prepared.upload_time(),
        pipeline: prepared.pipeline_time(),
        first_frame,
    };

    let as_expected = check(args, &prepared)?;
    let measured = measure(args, &mut prepared, &cancel)?;
    let rss_peak = status_mib("VmHWM");
    args.common.tell_refusals(&device);

    if let Some(out) = &args.output {
        let image = prepared.read_output()?;
        let rgba = image.to_rgba8()?;
        files::png::write(out, image.width, image.height, &rgba)?;
    }
    let job = &loaded.job;
    let load_1m = load_average();
    let report = serde_json::json!({
        "workload": job.name,
        "adapter": format!("quadrille {}", device.backend_name()),
        "driver": "quadrille",
        "driver_info": format!("{}; {} threads; {}", env!("CARGO_PKG_VERSION"), device.threads(), device.target_name()),
        "subgroup": [device.lanes(), device.lanes()],
        "checked": true,
        "stresses": job.stresses,
        "frames": measured.wall.len(),
        "warmup": args.warmup,
        "frame_ms": spread(&measured.wall),
        "record_ms": spread(&measured.record),
        "cpu_ms": spread(&measured.cpu),
        "cold": cold.json(),
        "rss_mib": { "peak": rounded(rss_peak), "with_device": rounded(rss_with_device) },
        "load_1m": load_1m,
        "scale": args.scale.0.get(),
        "stats": stats_json(&first_stats),
        "compile": compile_json(&device),
    });
    if let Some(path) = &args.json {
        files::write_atomically(path, |out| {
            serde_json::to_writer_pretty(&mut *out, &report)?;
            out.write_all(b"\n")
        })?;
    }
    if !args.common.quiet {
        summary(args, job, &cold, &measured);
    }
    if args.common.stats {
        report::print(&first_stats.to_string());
        for (name, count) in compile_counts(&device) {
            report::print(&format!("  {name:<20} {count:>14}\n"));
        }
    }
    Ok(as_expected?)
}

/// Writes what the first frame left, and compares it with what the job expects; that must not keep the rest from being
/// written.
fn check(args: &Args, prepared: &job::Prepared<'_>) -> Result<Result<(), JobError>, Failure> {
    if let Some(dir) = &args.out_dir {
        prepared.write_outputs(dir)?;
    }
    match prepared.check() {
        Err(e) if !e.is_unexpected_value() => Err(e.into()),
        checked => Ok(checked),
    }
}

/// What several jobs take; measurements are for one.
fn batch_args(args: &Args) -> Result<super::batch::Args<'_>, Failure> {
    let one = [
        (args.output.is_some(), "--output"),
        (args.frames.get() > 1, "--frames"),
        (args.warmup > 0, "--warmup"),
        (args.max_seconds.is_finite(), "--max-seconds"),
    ];
    if let Some((_, option)) = one.into_iter().find(|(given, _)| *given) {
        return Err(Failure::Usage(format!(
            "{option} is for a single job, but several are given"
        )));
    }
    Ok(super::batch::Args {
        json: args.json.as_deref(),
        out_dir: args.out_dir.as_deref(),
        load: LoadOptions {
            glslang: args.glslang.clone(),
            ..LoadOptions::default()
        },
        options: PrepareOptions { scale: args.scale.0 },
        common: &args.common,
    })
}

/// Frames one by one: wall time, time spent recording, and CPU time of all threads, each in milliseconds.
#[derive(Default)]
struct Measured {
    wall: Vec<f64>,
    record: Vec<f64>,
    cpu: Vec<f64>,
}

fn measure(args: &Args, prepared: &mut job::Prepared<'_>, cancel: &CancelFlag) -> Result<Measured, Failure> {
    for _ in 0..args.warmup {
        prepared.frame(cancel)?;
    }
    let mut measured = Measured::default();
    let begun = Instant::now();
    while measured.wall.len() < args.frames.get()
        && (measured.wall.len() < 3 || begun.elapsed().as_secs_f64() < args.max_seconds)
    {
        let cpu = cpu_ms();
        let clock = Instant::now();
        let frame = prepared.frame(cancel)?;
        measured.wall.push(ms(clock.elapsed()));
        measured.record.push(ms(frame.record_time));
        measured.cpu.push(cpu_ms() - cpu);
    }
    Ok(measured)
}

/// From the launch of the process to the end of the first frame.
struct Cold {
    total_ms: f64,
    cpu_ms: f64,
    to_main_ms: f64,
    load: Duration,
    device: Duration,
    upload: Duration,
    pipeline: Duration,
    first_frame: Duration,
}

impl Cold {
    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "total_ms": rounded(self.total_ms),
            "cpu_ms": rounded(self.cpu_ms),
            "to_main_ms": rounded(self.to_main_ms),
            "load_ms": rounded(ms(self.load)),
            "device_ms": rounded(ms(self.device)),
            "upload_ms": rounded(ms(self.upload)),
            "pipeline_ms": rounded(ms(self.pipeline)),
            "first_frame_ms": rounded(ms(self.first_frame)),
            "pipeline_and_first_frame_ms": rounded(ms(self.pipeline) + ms(self.first_frame)),
        })
    }
}

fn stats_json(stats: &SubmitStats) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for (name, count) in stats.counts() {
        all.insert(name.to_owned(), count.into());
    }
    for (name, time) in stats.times() {
        all.insert(format!("{name}_ms"), rounded(ms(time)).into());
    }
    all.into()
}

fn compile_json(device: &Device) -> serde_json::Value {
    let mut all: serde_json::Map<String, serde_json::Value> = compile_counts(device)
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    let refusals: Vec<_> = device
        .refusals()
        .into_iter()
        .map(|r| serde_json::json!({ "program": r.program, "reason": r.reason }))
        .collect();
    all.insert("refusals".into(), refusals.into());
    all.into()
}

fn summary(args: &Args, job: &job::Job, cold: &Cold, measured: &Measured) {
    let (wall, cpu) = (Spread::of(&measured.wall), Spread::of(&measured.cpu));
    let written = args
        .output
        .as_ref()
        .map(|p| format!(" -> {}", p.display()))
        .unwrap_or_default();
    report::print(&format!(
        "{}: {:.2} ms a frame (min {:.2}, max {:.2}, {} measured; {:.2} ms CPU); cold {:.1} ms (pipelines {:.1}){written}\n",
        job.name,
        wall.median,
        wall.min,
        wall.max,
        measured.wall.len(),
        cpu.median,
        cold.total_ms,
        ms(cold.pipeline),
    ));
}

/// Least, middle and greatest.
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |i: usize| sorted.get(i).copied().unwrap_or(0.0);
        let n = sorted.len();
        Spread {
            min: at(0),
            median: (at(n.saturating_sub(1) / 2) + at(n / 2)) / 2.0,
            max: at(n.saturating_sub(1)),
        }
    }
}

fn spread(values: &[f64]) -> serde_json::Value {
    let s = Spread::of(values);
    serde_json::json!({ "min": rounded(s.min), "median": rounded(s.median), "max": rounded(s.max) })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn rounded(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

/// User and system time of every thread of the process.
fn cpu_ms() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6
}

/// Milliseconds since the launcher read its clock (`PEER_BENCH_T0_NS`); without one, since `main` began.
fn since_launch(begun: Instant) -> f64 {
    let launched = std::env::var("PEER_BENCH_T0_NS")
        .ok()
        .and_then(|v| v.parse::<u128>().ok());
    match (launched, SystemTime::now().duration_since(UNIX_EPOCH)) {
        (Some(t0), Ok(now)) => now.as_nanos().saturating_sub(t0) as f64 / 1e6,
        _ => ms(begun.elapsed()),
    }
}

/// A field of /proc/self/status in MiB; 0 where there is none.
fn status_mib(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.strip_prefix(':')?;
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    kib.unwrap_or(0.0) / 1024.0
}

fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|x| x.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_one_over_n() {
        assert_eq!("1".parse::<Scale>().map(|s| s.0.get()), Ok(1));
        assert_eq!("1/4".parse::<Scale>().map(|s| s.0.get()), Ok(4));
        for wrong in ["", "0", "2", "1/0", "1/-2", "1/x", "4/1"] {
            assert!(wrong.parse::<Scale>().is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        let s = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((s.min, s.median, s.max), (1.0, 2.5, 4.0));
        assert_eq!(Spread::of(&[5.0]).median, 5.0);
    }
}
