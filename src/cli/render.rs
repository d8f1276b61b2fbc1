//! `quadrille render`: a glTF scene to a picture.
//!
//! ```text
//! model ─┐
//!        ├─ (two at a time) ─► view ─► upload, compile ─► render ─► PNG or EXR
//! light ─┘
//! ```
//!
//! The picture is written whole or not at all; standard output gets one summary line, the terminal a progress line.

use super::common::{CommonArgs, Failure, LogLevel, compile_counts};
use super::{interrupt, report};
use clap::{Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use quadrille::files;
use quadrille::scene::render::{Background, Output, Pixels, PreparedScene, RenderOptions};
use quadrille::scene::shader::{MAX_LIGHTS, ToneMap};
use quadrille::scene::view::{View, find_camera, framing_camera};
use quadrille::scene::{self, Environment, LoadOptions, SceneError};
use quadrille::{CancelFlag, Device, SubmitStats};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

/// Render a glTF 2.0 model.
#[derive(Parser, Debug)]
pub struct Args {
    /// The model: `.gltf` or `.glb`.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The picture to write: `.png`, or `.exr` for linear light without tone mapping.
    #[arg(long, short, value_name = "IMAGE")]
    output: PathBuf,
    /// Light from an equirectangular panorama, `.hdr` or `.exr`; without it a neutral studio.
    #[arg(long, value_name = "FILE")]
    env: Option<PathBuf>,
    /// Turn the light of `--env` counter-clockwise, in degrees.
    #[arg(
        long,
        value_name = "DEGREES",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        requires = "env"
    )]
    env_rotation: f32,
    /// A camera of the model, by name or index, or `frame` for a view that holds the whole scene. Without it: the model's first camera, or `frame` if it has none.
    #[arg(long, value_name = "NAME|INDEX")]
    camera: Option<String>,
    /// Size of the picture in pixels.
    #[arg(long, value_name = "WxH", default_value = "1280x720")]
    size: Size,
    /// Samples a pixel: 4 smooths the edges of things.
    #[arg(long, value_name = "1|4", default_value = "4", value_parser = samples)]
    samples: u32,
    /// Factor on all light.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = exposure)]
    exposure: f32,
    /// How light becomes colour.
    #[arg(long, value_enum, value_name = "CURVE", default_value_t = ToneMapArg::Neutral)]
    tone_map: ToneMapArg,
    /// What is behind the model: `env`, `gradient`, `transparent`, or a colour such as `white` or `#203040`. By
    /// default the panorama of `--env`, else the gradient.
    #[arg(long, value_name = "WHAT")]
    background: Option<BackgroundArg>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Tone curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ToneMapArg {
    /// Khronos PBR Neutral: true base colours, compressed highlights.
    Neutral,
    /// Cut off at 1.
    None,
}

/// `WxH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    width: u32,
    height: u32,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text
            .split_once(['x', 'X'])
            .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        match sides {
            Some((width, height)) if width > 0 && height > 0 => Ok(Size { width, height }),
            Some(_) => Err("both sides must be at least 1".into()),
            None => Err(format!("`{text}` is no size; an example is 1280x720")),
        }
    }
}

fn samples(text: &str) -> Result<u32, String> {
    match text {
        "1" => Ok(1),
        "4" => Ok(4),
        _ => Err("1 and 4 are possible".into()),
    }
}

fn exposure(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(v) if v.is_finite() && v > 0.0 => Ok(v),
        _ => Err("a number above 0 is needed".into()),
    }
}

/// What `--background` says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BackgroundArg(Background);

impl FromStr for BackgroundArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let grey = |v: u8| Background::Color([quadrille::scene::render::srgb_to_linear(v); 3]);
        Ok(BackgroundArg(match text {
            "env" => Background::Environment,
            "gradient" => Background::Gradient,
            "transparent" | "none" => Background::Transparent,
            "black" => grey(0),
            "white" => grey(255),
            "grey" | "gray" => grey(128),
            _ => {
                let digits = text.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii());
                let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| {
                    format!("`{text}` is none of env, gradient, transparent, black, white, grey, #RRGGBB")
                })?;
                let [_, r, g, b] = code.to_be_bytes();
                Background::Color([r, g, b].map(quadrille::scene::render::srgb_to_linear))
            }
        }))
    }
}

/// The files that can be written.
fn output_of(path: &Path) -> Result<Output, Failure> {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match extension.as_str() {
        "png" => Ok(Output::Srgb8),
        "exr" => Ok(Output::Linear16),
        _ => Err(Failure::Usage(format!(
            "`{}`: the output must end in .png or .exr",
            path.display()
        ))),
    }
}

/// Renders.
pub fn run(args: &Args) -> Result<(), Failure> {
    let output = output_of(&args.output)?;
    let device = args.common.device()?;
    let most = device.limits().max_texture_dimension_2d;
    let Size { width, height } = args.size;
    if width.max(height) > most {
        return Err(Failure::Usage(format!(
            "--size {width}x{height}: sides have at most {most} pixels"
        )));
    }
    let progress = Progress::new(!args.common.quiet);
    let cancel = interrupt::flag();

    progress.stage("loading");
    let clock = Instant::now();
    let options = LoadOptions {
        threads: device.threads(),
        memory_limit: device.memory_limit(),
        max_image_size: most,
    };
    let load_light = || {
        args.env.as_ref().map(|path| {
            let yaw = args.env_rotation.to_radians();
            Environment::load(path, yaw, device.threads(), device.memory_limit())
        })
    };
    let (scene, light) = thread::scope(|scope| {
        // Two threads at most wait for files at a time; decoding inside uses what there is.
        let light = scope.spawn(load_light);
        let scene = scene::load(&args.model, &options);
        (scene, light.join())
    });
    let mut scene = scene?;
    let light = light
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        .transpose()?;
    let aspect = width as f32 / height as f32;
    let camera = match &args.camera {
        Some(wanted) if wanted == "frame" => framing_camera(&scene, aspect),
        Some(wanted) => find_camera(&scene, wanted).cloned().map_err(|e| match e {
            SceneError::NoCamera { .. } => Failure::Usage(e.to_string()),
            other => other.into(),
        })?,
        None => scene
            .cameras
            .first()
            .cloned()
            .unwrap_or_else(|| framing_camera(&scene, aspect)),
    };
    let view = View::new(&camera, aspect);
    // The studio stands around the camera, so that no view of a model is unlit.
    let light = light.unwrap_or_else(|| Environment::studio(view.yaw(), device.threads()));
    let loading = clock.elapsed();
    warn(args, &mut scene, &progress);

    progress.stage("compiling");
    let default = if args.env.is_some() {
        Background::Environment
    } else {
        Background::Gradient
    };
    let options = RenderOptions {
        width,
        height,
        samples: args.samples,
        exposure: args.exposure,
        tone_map: match args.tone_map {
            ToneMapArg::Neutral => ToneMap::Neutral,
            ToneMapArg::None => ToneMap::None,
        },
        background: args.background.map_or(default, |b| b.0),
        output,
    };
    let prepared = PreparedScene::new(&device, &scene, &light, &view, &options)?;
    if cancel.is_cancelled() {
        return Err(Failure::Interrupted);
    }
    if args.common.tells(LogLevel::Info) {
        for (label, stats) in prepared.pipeline_stats() {
            progress.say(&format!("pipeline {label}: {:.2} ms", ms(stats.total())));
        }
    }

    progress.stage("rendering");
    let clock = Instant::now();
    let stats = submit(&device, &prepared, &progress, &cancel)?;
    let pixels = prepared.pixels()?;
    let rendering = clock.elapsed();

    progress.stage("writing");
    let clock = Instant::now();
    write(&args.output, width, height, &pixels)?;
    let writing = clock.elapsed();
    progress.finish();
    args.common.tell_refusals(&device);

    let prepare = prepared.stats();
    if !args.common.quiet {
        println!(
            "{} triangles, compile {:.1} ms, render {:.1} ms -> {}",
            scene.triangle_count(),
            ms(prepare.compile),
            ms(rendering),
            args.output.display()
        );
    }
    if args.common.stats {
        for (name, count) in [
            ("nodes", scene.nodes.len()),
            ("images", scene.images.len()),
            ("instances in view", prepare.instances),
            ("draw calls", prepare.draws),
            ("pipelines", prepare.pipelines),
        ] {
            println!("  {name:<20} {count:>14}");
        }
        for (name, count) in compile_counts(&device) {
            println!("  {name:<20} {count:>14}");
        }
        for (name, time) in [
            ("load", loading),
            ("upload", prepare.upload),
            ("compile", prepare.compile),
            ("write", writing),
        ] {
            println!("  {name:<20} {:>11.2} ms", ms(time));
        }
        print!("{stats}");
    }
    Ok(())
}

/// Says what the picture leaves out.
fn warn(args: &Args, scene: &mut scene::model::Scene, progress: &Progress) {
    if !args.common.tells(LogLevel::Warn) {
        return;
    }
    if scene.bounds.is_none() {
        scene.warnings.push("the model's scene is empty".into());
    }
    if scene.lights.len() > MAX_LIGHTS {
        let n = scene.lights.len();
        scene
            .warnings
            .push(format!("the model has {n} lights; only the first {MAX_LIGHTS} shine"));
    }
    progress.suspend(|| scene.warnings.iter().for_each(|w| report::warning(w)));
}

/// Renders while the progress line moves.
fn submit(
    device: &Device,
    prepared: &PreparedScene,
    progress: &Progress,
    cancel: &CancelFlag,
) -> Result<SubmitStats, Failure> {
    if !progress.is_shown() {
        return Ok(prepared.render(Some(cancel))?);
    }
    let submission = device
        .queue()
        .submit_async([prepared.record()?])
        .map_err(quadrille::Error::from)?;
    while !submission.is_done() {
        if cancel.is_cancelled() {
            submission.cancel();
        }
        progress.fraction(submission.progress());
        thread::sleep(Duration::from_millis(5));
    }
    Ok(submission.wait().map_err(quadrille::Error::from)?)
}

fn write(path: &Path, width: u32, height: u32, pixels: &Pixels) -> Result<(), Failure> {
    match pixels {
        Pixels::Srgb8(rgba) => Ok(files::png::write(path, width, height, rgba)?),
        Pixels::Linear16(texels) => {
            use exr::prelude::{Encoding, Image, Layer, LayerAttributes, SpecificChannels, WritableImage};
            let (w, h) = (width as usize, height as usize);
            let channels = SpecificChannels::rgba(|at: exr::math::Vec2<usize>| {
                let i = 4 * (at.y() * w + at.x());
                (texels[i], texels[i + 1], texels[i + 2], texels[i + 3])
            });
            let layer = Layer::new(
                (w, h),
                LayerAttributes::named("render"),
                Encoding::FAST_LOSSLESS,
                channels,
            );
            let image = Image::from_layer(layer);
            Ok(files::write_atomically(path, |out| {
                // EXR's writer seeks, which the file can't once it is a pipe: build it in memory.
                let mut bytes = io::Cursor::new(Vec::new());
                image
                    .write()
                    .non_parallel()
                    .to_buffered(&mut bytes)
                    .map_err(io::Error::other)?;
                io::Write::write_all(out, bytes.get_ref())
            })?)
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A line on the terminal that says what is going on; nothing where standard error is no terminal.
struct Progress(Option<ProgressBar>);

impl Progress {
    fn new(wanted: bool) -> Progress {
        if !wanted || !io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = ProgressBar::new(1000);
        if let Ok(style) = ProgressStyle::with_template("{msg:>10} [{bar:40}] {percent:>3} %") {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress(Some(bar))
    }

    fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    fn stage(&self, what: &'static str) {
        if let Some(bar) = &self.0 {
            bar.set_position(0);
            bar.set_message(what);
        }
    }

    fn fraction(&self, done: f32) {
        if let Some(bar) = &self.0 {
            bar.set_position((done.clamp(0.0, 1.0) * 1000.0) as u64);
        }
    }

    /// Runs something that writes to standard error itself.
    fn suspend(&self, tell: impl FnOnce()) {
        match &self.0 {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }

    fn say(&self, line: &str) {
        self.suspend(|| eprintln!("{line}"));
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    /// An error message should not share the line.
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(
            "1920x1080".parse(),
            Ok(Size {
                width: 1920,
                height: 1080
            })
        );
        for wrong in ["", "x", "0x5", "5x0", "-1x5", "5", "5x5x5", "99999999999x1"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn backgrounds() {
        let parse = |text: &str| text.parse::<BackgroundArg>().map(|b| b.0);
        assert_eq!(parse("env"), Ok(Background::Environment));
        assert_eq!(parse("#ff0000"), Ok(Background::Color([1.0, 0.0, 0.0])));
        assert_eq!(parse("transparent"), Ok(Background::Transparent));
        for wrong in ["", "#12345", "#gggggg", "#é12345", "blue-ish"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn outputs_by_extension() {
        assert_eq!(output_of(Path::new("a/b.PNG")).ok(), Some(Output::Srgb8));
        assert_eq!(output_of(Path::new("b.exr")).ok(), Some(Output::Linear16));
        assert!(matches!(output_of(Path::new("b.jpg")), Err(Failure::Usage(_))));
    }
}
