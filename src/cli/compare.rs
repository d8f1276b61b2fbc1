//! `quadrille compare`: how far two PNG images differ, in 8-bit steps.

use super::common::Failure;
use super::report;
use clap::Parser;
use quadrille::files::png::{self, RgbaImage};
use std::path::PathBuf;

/// Compare two PNG images: largest and mean difference, and how many pixels differ by much.
///
/// The exit code is 0 whatever the difference, unless --tolerance is given: then it is 1 if any channel of any pixel
/// differs by more.
#[derive(Parser, Debug)]
pub struct Args {
    /// First image.
    a: PathBuf,
    /// Second image.
    b: PathBuf,
    /// Write the differences, times 8, as PNG.
    #[arg(long, short, alias = "out", value_name = "DIFFERENCE.png")]
    output: Option<PathBuf>,
    /// Fail if a channel of a pixel differs by more 8-bit steps than this.
    #[arg(long, value_name = "STEPS")]
    tolerance: Option<u8>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// The images don't agree.
#[derive(Debug, thiserror::Error)]
enum CompareError {
    #[error("the images differ in size: {a:?} and {b:?}")]
    Size { a: (u32, u32), b: (u32, u32) },
    #[error("the images differ by up to {worst} steps, more than the {tolerance} allowed")]
    Differ { worst: u8, tolerance: u8 },
}

/// Largest side of an image that is read.
const MAX_SIDE: u32 = 1 << 16;

/// Compares.
pub fn run(args: &Args) -> Result<(), Failure> {
    let a = png::read(&args.a, MAX_SIDE)?;
    let b = png::read(&args.b, MAX_SIDE)?;
    if (a.width, a.height) != (b.width, b.height) {
        return Err(CompareError::Size {
            a: (a.width, a.height),
            b: (b.width, b.height),
        }
        .into());
    }
    let d = Difference::between(&a, &b);
    if args.json {
        report::print(&format!("{}\n", d.json()));
    } else if !args.quiet {
        report::print(&format!(
            "max {} mean {:.4} over 2: {:.4} % over 16: {:.4} % alpha max {}\n",
            d.max, d.mean, d.over_2_percent, d.over_16_percent, d.alpha_max
        ));
    }
    if let Some(path) = &args.output {
        png::write(path, a.width, a.height, &d.image)?;
    }
    let worst = d.max.max(d.alpha_max);
    match args.tolerance {
        Some(tolerance) if worst > tolerance => Err(CompareError::Differ { worst, tolerance }.into()),
        _ => Ok(()),
    }
}

/// Differences over the colour channels; alpha apart.
struct Difference {
    max: u8,
    mean: f64,
    over_2_percent: f64,
    over_16_percent: f64,
    alpha_max: u8,
    /// Times 8, opaque.
    image: Vec<u8>,
}

impl Difference {
    /// Of two images of one size.
    fn between(a: &RgbaImage, b: &RgbaImage) -> Difference {
        let (mut max, mut alpha_max) = (0, 0);
        let (mut sum, mut over_2, mut over_16) = (0u64, 0u64, 0u64);
        let mut image = Vec::with_capacity(a.pixels.len());
        let (a_pixels, _) = a.pixels.as_chunks::<4>();
        let (b_pixels, _) = b.pixels.as_chunks::<4>();
        for (p, q) in a_pixels.iter().zip(b_pixels) {
            let [r, g, b, alpha] = std::array::from_fn(|c| p[c].abs_diff(q[c]));
            let worst = r.max(g).max(b);
            max = max.max(worst);
            alpha_max = alpha_max.max(alpha);
            sum += u64::from(r) + u64::from(g) + u64::from(b);
            over_2 += u64::from(worst > 2);
            over_16 += u64::from(worst > 16);
            image.extend([r.saturating_mul(8), g.saturating_mul(8), b.saturating_mul(8), 255]);
        }
        let pixels = (a_pixels.len() as f64).max(1.0);
        Difference {
            max,
            mean: sum as f64 / (pixels * 3.0),
            over_2_percent: over_2 as f64 * 100.0 / pixels,
            over_16_percent: over_16 as f64 * 100.0 / pixels,
            alpha_max,
            image,
        }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "max": self.max,
            "mean": self.mean,
            "pixels_over_2_percent": self.over_2_percent,
            "pixels_over_16_percent": self.over_16_percent,
            "alpha_max": self.alpha_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_colour_and_alpha_apart() {
        let image = |pixels: &[u8]| RgbaImage {
            width: 2,
            height: 1,
            pixels: pixels.to_vec(),
        };
        let d = Difference::between(
            &image(&[10, 20, 30, 255, 0, 0, 0, 0]),
            &image(&[10, 23, 30, 255, 0, 0, 40, 9]),
        );
        assert_eq!((d.max, d.alpha_max), (40, 9));
        assert_eq!((d.over_2_percent, d.over_16_percent), (100.0, 50.0));
        assert_eq!(d.image, [0, 24, 0, 255, 0, 0, 255, 255]);
        assert!((d.mean - 43.0 / 6.0).abs() < 1e-12);
    }
}
