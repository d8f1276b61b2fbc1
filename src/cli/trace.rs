//! `quadrille trace`: what every draw of a job did to a pixel and why, and what its shader computed on the way.
//!
//! ```text
//! job ─ quadrille::trace ─► Trace ─► text: a paragraph for each draw, then the steps of each fragment, line by line of source
//!                              └───► JSON
//! ```

use super::common::{ByteSize, Failure};
use super::{interrupt, report};
use clap::Parser;
use quadrille::files;
use quadrille::job::{self, LoadOptions};
use quadrille::trace::{Color, Fragment, Place, Sample, Step, Trace, TraceOptions, TracedDraw, trace_pixel};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

/// Show what happened to a pixel: draw by draw why its fragments were kept or dropped, and every instruction of their shaders.
///
/// The job is rendered once by the interpreter, which computes the same bits as native code. Values of the quad's four lanes stand
/// side by side: upper left, upper right, lower left, lower right. The pixel's lane is marked with `>`, helper lanes are in
/// parentheses, lanes that didn't execute an instruction have `.`.
#[derive(Parser, Debug)]
pub struct Args {
    /// The job file, or a directory with `workload.json` or `job.json` in it.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The pixel: column and row from the top left, such as 120,64.
    #[arg(long, value_name = "X,Y")]
    pixel: Pixel,
    /// Show the instructions of this draw only, counted over all passes from 0.
    #[arg(long, value_name = "N")]
    draw: Option<usize>,
    /// Show only what happened, no instructions.
    #[arg(long, conflicts_with = "draw")]
    brief: bool,
    /// Show at most so many instructions.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    limit: usize,
    /// Write the trace as JSON, instructions included.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Compile GLSL and HLSL shaders with this glslangValidator or glslc.
    #[arg(long, value_name = "PATH")]
    glslang: Option<PathBuf>,
    /// Most memory for buffers and textures, such as 500M or 4G.
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<ByteSize>,
}

/// Column and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pixel([u32; 2]);

impl FromStr for Pixel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(',').and_then(|(x, y)| {
            let number = |t: &str| t.trim().parse::<u32>().ok();
            Some(Pixel([number(x)?, number(y)?]))
        });
        parsed.ok_or_else(|| format!("`{text}` is no pixel; an example is 120,64"))
    }
}

/// Traces and prints.
pub fn run(args: &Args) -> Result<(), Failure> {
    let loaded = job::load(
        &args.job,
        &LoadOptions {
            glslang: args.glslang.clone(),
            ..LoadOptions::default()
        },
    )?;
    let options = TraceOptions {
        pixel: args.pixel.0,
        draw: args.draw,
        limit: if args.brief { 0 } else { args.limit },
        memory_limit: args.memory_limit.map(|size| size.0),
        ..TraceOptions::default()
    };
    let trace = trace_pixel(&loaded, &options, &interrupt::flag())?;
    if let Some(path) = &args.json {
        files::write_atomically(path, |out| {
            serde_json::to_writer_pretty(&mut *out, &trace)?;
            out.write_all(b"\n")
        })?;
    }
    report::print(&text(&trace, args.brief));
    Ok(())
}

fn text(trace: &Trace, brief: bool) -> String {
    let mut out = format!("pixel {}, {}\n", trace.pixel[0], trace.pixel[1]);
    for (number, draw) in trace.draws.iter().enumerate() {
        summary(&mut out, number, draw);
    }
    if trace.fragments_left_out > 0 {
        _ = writeln!(out, "{} more fragments reached the pixel", trace.fragments_left_out);
    }
    if brief {
        return out;
    }
    for (number, draw) in trace.draws.iter().enumerate() {
        for fragment in draw.fragments.iter().filter(|f| !f.steps.is_empty()) {
            _ = writeln!(
                out,
                "\ndraw {number}, primitive {}: {} instructions",
                fragment.primitive,
                fragment.steps.len()
            );
            steps(&mut out, fragment);
        }
    }
    if trace.left_out > 0 {
        _ = writeln!(
            out,
            "\n{} more instructions were executed; --limit N shows more, --draw N those of one draw",
            trace.left_out
        );
    }
    out
}

/// What a draw did to the pixel, and why.
fn summary(out: &mut String, number: usize, draw: &TracedDraw) {
    _ = writeln!(
        out,
        "draw {number} ({}, draw {}, pipeline {})",
        draw.pass, draw.number, draw.pipeline
    );
    if draw.fragments.is_empty() {
        _ = writeln!(out, "  no fragment: {}", absence(draw));
    }
    for fragment in &draw.fragments {
        let facing = if fragment.front_facing { "front" } else { "back" };
        _ = writeln!(out, "  primitive {}, {facing} facing", fragment.primitive);
        let several = fragment.samples.len() > 1;
        for (s, sample) in fragment.samples.iter().enumerate() {
            let name = if several {
                format!("sample {s}: ")
            } else {
                String::new()
            };
            _ = writeln!(out, "    {name}{}", fate(sample, fragment, draw));
        }
        for color in &fragment.colors {
            let written = fragment.samples.get(color.sample as usize);
            if written.and_then(|s| s.kept.as_ref()).is_some_and(|k| k.written) {
                let sample = if several {
                    format!(", sample {}", color.sample)
                } else {
                    String::new()
                };
                _ = writeln!(out, "    target {}{sample}: {}", color.target, change(color));
            }
        }
    }
}

/// Why a draw has no fragment at the pixel.
fn absence(draw: &TracedDraw) -> String {
    let [w, h] = draw.size;
    if draw.primitives == 0 {
        return "it has no primitives, or its scissor rectangle is empty".into();
    }
    if !draw.within_scissor {
        return format!("the pixel is outside of its scissor rectangle, or of the pass' {w} x {h} pixels");
    }
    if !draw.within_viewport {
        return "the pixel is outside of its viewport".into();
    }
    let fate = match (draw.clipped, draw.invocations) {
        (0, _) => "clipping left none of them",
        (_, 0) => "none was drawn: they are culled, cover no sample, or are hidden everywhere",
        _ => "none covers the pixel (or those that would are culled)",
    };
    format!(
        "of {} primitives {} were left by clipping; {fate}",
        draw.primitives, draw.clipped
    )
}

/// What became of a sample.
fn fate(sample: &Sample, fragment: &Fragment, draw: &TracedDraw) -> String {
    if !sample.covered {
        return "not covered".into();
    }
    if !sample.in_mask {
        return "covered, but not in the pipeline's sample mask".into();
    }
    let mut told = String::from("covered");
    if let Some(t) = &sample.tests {
        let when = if t.late { "late" } else { "early" };
        if !t.within_bounds {
            _ = write!(
                told,
                "; the stored depth {} is outside of the depth bounds: dropped",
                t.stored_depth
            );
            return told;
        }
        if !t.stencil_passes {
            _ = write!(
                told,
                "; fails the {when} stencil test against {}: dropped",
                t.stored_stencil
            );
            return told;
        }
        if let Some(compare) = draw.depth_compare.filter(|&c| c != "always") {
            let passes = if t.depth_passes { "passes" } else { "fails" };
            _ = write!(
                told,
                "; depth {} {passes} the {when} test {compare} {}",
                t.depth, t.stored_depth
            );
            if !t.depth_passes {
                told.push_str(": dropped");
                return told;
            }
        }
    }
    match (&sample.kept, &fragment.discarded) {
        (Some(k), place) if !k.alive => {
            let place = place.as_ref().map_or_else(String::new, |p| format!(" at {}", at(p)));
            _ = write!(told, "; discarded{place}");
        }
        (Some(k), _) if !k.in_mask => told.push_str("; dropped by the shader's sample mask, or by alpha to coverage"),
        (Some(k), _) if k.written => told.push_str("; kept"),
        (Some(_), _) => told.push_str("; dropped"),
        (None, _) => told.push_str("; its shader has not run"),
    }
    told
}

fn change(c: &Color) -> String {
    let four = |n: &[quadrille::trace::Number; 4]| {
        let texts: Vec<String> = n.iter().map(ToString::to_string).collect();
        format!("({})", texts.join(", "))
    };
    format!("{} over {} gives {}", four(&c.source), four(&c.before), four(&c.after))
}

fn at(place: &Place) -> String {
    format!("{}:{}:{}", place.source, place.line, place.column)
}

/// Steps under the source lines that they come from.
fn steps(out: &mut String, fragment: &Fragment) {
    let line = |s: &Step| s.place.as_ref().map(|p| (p.source.clone(), p.line));
    let mut previous = None;
    for (i, step) in fragment.steps.iter().enumerate() {
        let here = line(step);
        if i == 0 || here != previous {
            match &step.place {
                Some(p) => _ = writeln!(out, "  {}:{}  {}", p.source, p.line, p.text),
                None => out.push_str("  fixed function\n"),
            }
        }
        previous = here;
        let mut rows = step.values.iter().map(|v| row(v, step, fragment.lane));
        _ = writeln!(out, "      {:<48}{}", step.text, rows.next().unwrap_or_default());
        for more in rows {
            _ = writeln!(out, "      {:<48}{more}", "");
        }
    }
}

/// The four lanes side by side.
fn row(values: &[quadrille::trace::Number; 4], step: &Step, own: usize) -> String {
    let mut out = String::new();
    for (lane, value) in values.iter().enumerate() {
        let mark = if lane == own { '>' } else { ' ' };
        let text = match (step.active[lane], step.helpers[lane]) {
            (false, _) => ".".into(),
            (true, true) => format!("({value})"),
            (true, false) => value.to_string(),
        };
        _ = write!(out, " {mark}{text:<15}");
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_two_numbers() {
        let parse = |text: &str| text.parse::<Pixel>().map(|p| p.0).ok();
        assert_eq!(parse("3,4"), Some([3, 4]));
        assert_eq!(parse(" 30 , 41 "), Some([30, 41]));
        for wrong in ["", "3", "3,", ",4", "3,4,5", "-1,2", "3.5,1", "99999999999,1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
