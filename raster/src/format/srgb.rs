//! sRGB: tables made once with `libm` in f64, then exact look-ups.
//!
//! Decoding is a table of 256. Encoding finds the code by thresholds: `limit[k]` is the smallest f32 that rounds to
//! code `k`, and 128 buckets a binade hold at most one of them, so that a bucket's first code plus one comparison is
//! the exact answer (R-SAMP-105, 106; law S3 for the 16-bit linear codes).

use std::sync::LazyLock;

/// Everything the conversions look up.
pub struct Tables {
    /// Code to linear value, correctly rounded.
    pub to_linear: [f32; 256],
    /// Code to `round(linear * 65535)` (law S3).
    pub to_linear16: [u16; 256],
    /// Per bucket: first code shifted by [`CODE_SHIFT`], plus the low 16 bits from which the next code starts
    /// (0x10000: it doesn't, in this bucket).
    pub buckets: [u32; BUCKETS],
}

/// Buckets cover [2^-13, 1]: 13 binades of 128, and 1 itself.
pub const BUCKETS: usize = 13 * 128 + 1;
/// Position of the code in a bucket's word.
pub const CODE_SHIFT: u32 = 17;
/// Everything below encodes to 0.
pub const FIRST: f32 = 1.0 / 8192.0;

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| Box::new(Tables::new()));

/// The tables.
pub fn tables() -> &'static Tables {
    &TABLES
}

fn decode(c: f64) -> f64 {
    if c <= 0.04045 {
        c / 12.92
    } else {
        libm::pow((c + 0.055) / 1.055, 2.4)
    }
}

/// The rule as written: 255 times the encoded value, plus one half, not yet truncated.
fn encode_scaled(c: f64) -> f64 {
    let s = if c <= 0.003_130_8 {
        12.92 * c
    } else {
        1.055 * libm::pow(c, 1.0 / 2.4) - 0.055
    };
    s * 255.0 + 0.5
}

/// The smallest f32 that encodes to `code` or more.
fn limit(code: u32) -> f32 {
    if code == 0 {
        return 0.0;
    }
    let mut x = decode((f64::from(code) - 0.5) / 255.0) as f32;
    let reaches = |x: f32| encode_scaled(f64::from(x)) >= f64::from(code);
    while reaches(x) {
        x = f32::from_bits(x.to_bits() - 1);
    }
    while !reaches(x) {
        x = f32::from_bits(x.to_bits() + 1);
    }
    x
}

impl Tables {
    fn new() -> Tables {
        let linear = |code: usize| decode(code as f64 / 255.0);
        let limits: Vec<u32> = (0..256).map(|k| limit(k).to_bits()).collect();
        let mut buckets = [0u32; BUCKETS];
        for (i, bucket) in buckets.iter_mut().enumerate() {
            let start = FIRST.to_bits() + ((i as u32) << 16);
            let code = limits.partition_point(|&l| l <= start) as u32 - 1;
            let next = limits
                .get(code as usize + 1)
                .map_or(0x1_0000, |&l| (l - start).min(0x1_0000));
            *bucket = code << CODE_SHIFT | next;
        }
        Tables {
            to_linear: std::array::from_fn(|i| linear(i) as f32),
            to_linear16: std::array::from_fn(|i| (linear(i) * 65535.0 + 0.5) as u16),
            buckets,
        }
    }

    /// Linear value to code: NaN gives 0, the rest is clamped (R-SAMP-106).
    #[inline]
    pub fn encode(&self, linear: f32) -> u8 {
        // NaN fails the comparison and becomes the value that encodes to 0.
        let bits = if linear > FIRST { linear.min(1.0) } else { FIRST }.to_bits();
        let offset = bits - FIRST.to_bits();
        let bucket = self.buckets[(offset >> 16) as usize];
        ((bucket >> CODE_SHIFT) + u32::from((offset & 0xffff) >= (bucket & 0x1_ffff))) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `spec/worked/formats.out` (R-SAMP-105, 106).
    #[test]
    fn worked_values() {
        let t = tables();
        #[rustfmt::skip]
        let read = [
            (0, 0.0), (1, 0.000_303_527), (10, 0.003_035_27), (11, 0.003_346_535_8), (12, 0.003_676_507_4),
            (64, 0.051_269_457), (128, 0.215_860_5), (188, 0.502_886_5), (254, 0.991_102_1), (255, 1.0),
        ];
        for (code, linear) in read {
            assert_eq!(t.to_linear[code], linear);
        }
        #[rustfmt::skip]
        let write = [
            (0.0, 0), (0.0003, 1), (0.0031308, 10), (0.01, 25), (0.18, 118), (0.2, 124), (0.5, 188), (0.735357, 223),
            (1.0, 255), (2.0, 255), (-1.0, 0), (f32::NAN, 0), (f32::INFINITY, 255), (f32::NEG_INFINITY, 0),
        ];
        for (linear, code) in write {
            assert_eq!(t.encode(linear), code, "{linear}");
        }
    }

    #[test]
    fn codes_round_trip_and_buckets_equal_the_rule() {
        let t = tables();
        for code in 0..=255u8 {
            assert_eq!(t.encode(t.to_linear[usize::from(code)]), code);
            assert_eq!(
                t.encode(f32::from(t.to_linear16[usize::from(code)]) / 65535.0),
                code,
                "16-bit {code}"
            );
        }
        for bits in (0..1.1f32.to_bits()).step_by(9973) {
            let x = f32::from_bits(bits);
            assert_eq!(
                u32::from(t.encode(x)),
                (encode_scaled(f64::from(x.min(1.0))) as u32).min(255),
                "{x}"
            );
        }
        for code in 1..256 {
            let l = limit(code);
            assert_eq!(u32::from(t.encode(l)), code);
            assert_eq!(u32::from(t.encode(f32::from_bits(l.to_bits() - 1))), code - 1);
        }
    }
}
