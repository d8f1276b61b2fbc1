//! Depth bias (R-RAST-70 to 76), in f32 as the rules have it.

/// What the depth buffer stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BiasFormat {
    /// Unorm of so many bits; or no depth buffer, then 24 (R-RAST-71).
    Unorm {
        /// Bits.
        bits: u32,
    },
    /// f32 (R-RAST-72).
    Float,
}

/// Bias state; all zero is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthBias {
    /// `depthBias`
    pub constant: i32,
    /// `depthBiasSlopeScale`
    pub slope_scale: f32,
    /// `depthBiasClamp`
    pub clamp: f32,
    /// Of the depth attachment.
    pub format: BiasFormat,
}

impl DepthBias {
    /// Whether anything is added (R-RAST-74).
    pub fn is_on(&self) -> bool {
        self.constant != 0 || self.slope_scale != 0.0
    }

    /// The bias of a primitive: `max_z` is the largest |z| of its vertices, `slope` max(|dz/dx|, |dz/dy|).
    pub fn value(&self, max_z: f32, slope: f32) -> f32 {
        let scaled = if self.slope_scale != 0.0 {
            self.slope_scale * slope
        } else {
            0.0
        };
        let unit = match self.format {
            BiasFormat::Unorm { bits } => 1.0 / ((1u64 << bits.min(32)) - 1) as f32,
            BiasFormat::Float => exp2(exponent(max_z) - 23),
        };
        let bias = self.constant as f32 * unit + scaled;
        if self.clamp > 0.0 {
            bias.min(self.clamp)
        } else if self.clamp < 0.0 {
            bias.max(self.clamp)
        } else {
            bias
        }
    }
}

/// Unbiased exponent of a finite value; that of the smallest normal number for smaller ones.
fn exponent(v: f32) -> i32 {
    ((v.to_bits() >> 23 & 255) as i32).max(1) - 127
}

/// 2^e, denormals included.
fn exp2(e: i32) -> f32 {
    match e {
        -126.. => f32::from_bits(((e + 127).min(254) as u32) << 23),
        -149..-126 => f32::from_bits(1 << (e + 149)),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of section 8.
    #[test]
    fn r_rast_70_to_73_worked_examples() {
        let d16 = BiasFormat::Unorm { bits: 16 };
        let d24 = BiasFormat::Unorm { bits: 24 };
        let d32 = BiasFormat::Float;
        let cases: [(BiasFormat, i32, f32, f32, f32, f32, u32); 10] = [
            (d16, 1, 0.0, 0.0, 0.5, 0.0, 0x3780_0080),
            (d24, 1, 0.0, 0.0, 0.5, 0.0, 0x3380_0001),
            (d24, -4, 0.0, 0.0, 0.5, 0.0, 0xb480_0001),
            (d32, 1, 0.0, 0.0, 0.75, 0.05, 0x3380_0000),
            (d32, 1, 0.0, 0.0, 0.3, 0.05, 0x3300_0000),
            (d32, 16, 2.0, 0.0, 0.75, 0.05, 0x3dcc_cd4d),
            (d32, 0, 2.0, 0.01, 0.75, 0.05, 0x3c23_d70a),
            (d32, 0, -2.0, -0.01, 0.75, 0.05, 0xbc23_d70a),
            (d24, 0, 1.0, 0.0, 0.5, f32::INFINITY, 0x7f80_0000),
            (d32, 5, 0.0, 0.0, 0.5, f32::INFINITY, 0x34a0_0000),
        ];
        for (format, constant, slope_scale, clamp, z, slope, bits) in cases {
            let bias = DepthBias {
                constant,
                slope_scale,
                clamp,
                format,
            };
            assert!(bias.is_on());
            assert_eq!(bias.value(z, slope).to_bits(), bits, "{bias:?}");
        }
        assert!(
            !DepthBias {
                constant: 0,
                slope_scale: 0.0,
                clamp: 1.0,
                format: d24
            }
            .is_on()
        );
    }
}
