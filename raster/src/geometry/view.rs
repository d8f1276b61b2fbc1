//! Clip space to snapped render-target space: outcodes, divide, viewport, 16.8 snap (R-RAST-5 to 12, 20, 25).

/// A viewport (R-RAST-20, R-RAST-23).
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct Viewport {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
    pub min_depth: f32,
    pub max_depth: f32,
}

/// Whole pixels, right and bottom exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "sides")]
pub struct Rect {
    pub x0: i32,
    pub y0: i32,
    pub x1: i32,
    pub y1: i32,
}

impl Rect {
    /// No pixels.
    pub const EMPTY: Rect = Rect {
        x0: 0,
        y0: 0,
        x1: 0,
        y1: 0,
    };

    /// The part that both have.
    pub fn intersect(self, other: Rect) -> Rect {
        Rect {
            x0: self.x0.max(other.x0),
            y0: self.y0.max(other.y0),
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
        }
    }

    /// Whether no pixel is inside.
    pub fn is_empty(self) -> bool {
        self.x0 >= self.x1 || self.y0 >= self.y1
    }

    /// Whether all of `other` is inside.
    pub fn contains(self, other: Rect) -> bool {
        self.x0 <= other.x0 && self.y0 <= other.y0 && self.x1 >= other.x1 && self.y1 >= other.y1
    }
}

impl Viewport {
    /// The implicit scissor (R-RAST-25): edges are added first and rounded down after.
    pub fn scissor(&self) -> Rect {
        let (right, bottom) = (self.x + self.width, self.y + self.height);
        Rect {
            x0: self.x.floor() as i32,
            y0: self.y.floor() as i32,
            x1: right.floor() as i32,
            y1: bottom.floor() as i32,
        }
    }
}

/// A vertex after the viewport transform: position in 1/256 pixel, depth, 1/w.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "see above")]
pub struct ScreenVertex {
    pub x: i32,
    pub y: i32,
    pub z: f32,
    pub iw: f32,
}

/// Where a clip-space position lies.
#[expect(missing_docs, reason = "one plane each")]
pub mod code {
    pub const LEFT: u16 = 1;
    pub const RIGHT: u16 = 2;
    pub const BELOW: u16 = 4;
    pub const ABOVE: u16 = 8;
    pub const NEAR: u16 = 16;
    pub const FAR: u16 = 32;
    /// w is not a positive normal number.
    pub const W: u16 = 64;
    pub const GUARD_LEFT: u16 = 128;
    pub const GUARD_RIGHT: u16 = 256;
    pub const GUARD_BELOW: u16 = 512;
    pub const GUARD_ABOVE: u16 = 1024;
    /// The position can't be drawn at all.
    pub const NAN: u16 = 2048;
    /// A clip or cull distance is negative.
    pub const DISTANCE: u16 = 4096;
    /// The vertex says which viewport or layer its primitives take.
    pub const ROUTED: u16 = 8192;
    /// A primitive whose vertices share one of these draws nothing.
    pub const REJECT: u16 = LEFT | RIGHT | BELOW | ABOVE | NEAR | FAR | W;
    /// A primitive with a vertex that has one of these must be clipped.
    pub const CLIP: u16 = NEAR | FAR | W | GUARD_LEFT | GUARD_RIGHT | GUARD_BELOW | GUARD_ABOVE;
    /// A primitive with a vertex that has one of these is no case for the common loop.
    pub const SPECIAL: u16 = CLIP | DISTANCE | ROUTED;
}

/// Snaps a pixel coordinate to 1/256 pixel (R-RAST-5, R-RAST-6): nearest even, saturating, NaN to 0.
#[inline(always)]
pub fn snap(v: f32) -> i32 {
    (v * 256.0).round_ties_even().clamp(-8_388_608.0, 8_388_607.0) as i32
}

/// Smallest w that is drawn: keeps 1/w finite.
pub(super) const MIN_W: f32 = f32::MIN_POSITIVE;

/// Positions of 8 vertices in clip space: x, y, z, w.
pub type GroupPositions = [[f32; 8]; 4];

/// The constants of the transform of one viewport.
#[derive(Clone, Copy, Debug)]
pub struct ViewTransform {
    half: [f32; 2],
    origin: [f32; 2],
    min_depth: f32,
    depth_range: f32,
    depth_clip: bool,
    /// x/w and y/w at which render-target positions leave ±32767: left, right, below, above (R-RAST-10).
    pub(super) guard: [f32; 4],
}

impl ViewTransform {
    /// The transform of `viewport`; `depth_clip` is off with `unclippedDepth` (R-RAST-11, R-RAST-18).
    pub fn new(viewport: &Viewport, depth_clip: bool) -> ViewTransform {
        let half = [viewport.width * 0.5, viewport.height * 0.5];
        let origin = [viewport.x, viewport.y];
        let edge = |side: f32, k: usize| (side - origin[k]) / half[k];
        ViewTransform {
            half,
            origin,
            min_depth: viewport.min_depth,
            depth_range: viewport.max_depth - viewport.min_depth,
            depth_clip,
            guard: [
                edge(-32767.0, 0) - 1.0,
                edge(32767.0, 0) - 1.0,
                1.0 - edge(32767.0, 1),
                1.0 - edge(-32767.0, 1),
            ],
        }
    }

    /// Transforms a position whose w is positive.
    #[inline(always)]
    pub fn vertex(&self, [x, y, z, w]: [f32; 4]) -> ScreenVertex {
        let (sx, sy, sz) = self.project(x, y, z, w);
        ScreenVertex {
            x: snap(sx),
            y: snap(sy),
            z: sz,
            iw: 1.0 / w,
        }
    }

    /// The outcode of a position.
    pub fn outcode(&self, [x, y, z, w]: [f32; 4]) -> u16 {
        let (sx, sy, sz) = self.project(x, y, z, w);
        self.code(x, y, z, w, sx + sy + sz)
    }

    #[inline(always)]
    fn project(&self, x: f32, y: f32, z: f32, w: f32) -> (f32, f32, f32) {
        // (v*W)*0.5 and v*(W*0.5) are the same number: halving is exact.
        let sx = (x / w + 1.0) * self.half[0] + self.origin[0];
        let sy = (1.0 - y / w) * self.half[1] + self.origin[1];
        let sz = self.min_depth + z / w * self.depth_range;
        (sx, sy, sz)
    }

    #[inline(always)]
    fn code(&self, x: f32, y: f32, z: f32, w: f32, screen_sum: f32) -> u16 {
        let bit = |set: bool, bit: u16| if set { u32::from(bit) } else { 0 };
        let [left, right, below, above] = self.guard;
        let mut c = bit(x < -w, code::LEFT)
            | bit(x > w, code::RIGHT)
            | bit(y < -w, code::BELOW)
            | bit(y > w, code::ABOVE)
            | bit((z < 0.0) & self.depth_clip, code::NEAR)
            | bit((z > w) & self.depth_clip, code::FAR)
            | bit(w < MIN_W, code::W)
            | bit(x < left * w, code::GUARD_LEFT)
            | bit(x > right * w, code::GUARD_RIGHT)
            | bit(y < below * w, code::GUARD_BELOW)
            | bit(y > above * w, code::GUARD_ABOVE);
        // Of a vertex that will be clipped, the screen position means nothing.
        let unclipped = c & u32::from(code::CLIP) == 0;
        let nan = x.is_nan() | y.is_nan() | z.is_nan() | w.is_nan() | (unclipped & screen_sum.is_nan());
        c |= bit(nan, code::NAN);
        c as u16
    }

    /// Transforms groups of 8; `positions(g)` gives group g's. The vectors may stay longer than that.
    pub fn groups(
        &self,
        count: usize,
        positions: impl Fn(usize) -> GroupPositions,
        screen: &mut Vec<ScreenVertex>,
        codes: &mut Vec<u16>,
    ) {
        if screen.len() < count * 8 {
            screen.resize(count * 8, ScreenVertex::default());
            codes.resize(count * 8, 0);
        }
        let (screen, codes) = (&mut screen[..count * 8], &mut codes[..count * 8]);
        crate::dispatch::wide(
            #[inline(always)]
            || {
                for (g, (out, codes)) in screen.chunks_exact_mut(8).zip(codes.chunks_exact_mut(8)).enumerate() {
                    let group = positions(g);
                    let mut soa = [[0f32; 8]; 2];
                    let mut snapped = [[0i32; 8]; 2];
                    for i in 0..8 {
                        let (x, y, z, w) = (group[0][i], group[1][i], group[2][i], group[3][i]);
                        let (sx, sy, sz) = self.project(x, y, z, w);
                        snapped[0][i] = snap(sx);
                        snapped[1][i] = snap(sy);
                        soa[0][i] = sz;
                        soa[1][i] = 1.0 / w;
                        codes[i] = self.code(x, y, z, w, sx + sy + sz);
                    }
                    for (i, v) in out.iter_mut().enumerate() {
                        *v = ScreenVertex {
                            x: snapped[0][i],
                            y: snapped[1][i],
                            z: soa[0][i],
                            iw: soa[1][i],
                        };
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked examples of section 1.
    #[test]
    fn r_rast_5_6_snap() {
        for (v, expected) in [
            (0.001953125, 0),
            (0.005859375, 2),
            (1.498046875, 384),
            (-0.001953125, 0),
            // The example is -0.0019531251, which no f32 is.
            (-0.0019531252, -1),
            (3.999, 1024),
            (32767.999, 8_388_607),
            (40000.0, 8_388_607),
            (-40000.0, -8_388_608),
            (-8191.6309, -2_097_058),
            (f32::INFINITY, 8_388_607),
            (f32::NEG_INFINITY, -8_388_608),
            (f32::NAN, 0),
        ] {
            assert_eq!(snap(v), expected, "{v}");
        }
    }

    #[test]
    fn r_rast_20_viewport() {
        let view = Viewport {
            x: 10.0,
            y: 20.0,
            width: 640.0,
            height: 480.0,
            min_depth: 0.1,
            max_depth: 0.9,
        };
        let t = ViewTransform::new(&view, true);
        for (p, (x, y, z)) in [
            ([0.0, 0.0, 0.5, 1.0], (330, 260, 0.499_999_97)),
            ([-1.0, 1.0, 0.0, 1.0], (10, 20, 0.1)),
            ([2.0, -2.0, 2.0, 2.0], (650, 500, 0.899_999_98)),
        ] {
            let v = t.vertex(p);
            assert_eq!((v.x, v.y), (x * 256, y * 256));
            assert_eq!(v.z, z);
        }
    }

    #[test]
    fn r_rast_25_implicit_scissor() {
        let view = Viewport {
            x: 10.5,
            y: 0.0,
            width: 20.25,
            height: 1.0,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        let s = view.scissor();
        assert_eq!((s.x0, s.x1, s.y0, s.y1), (10, 30, 0, 1));
    }

    #[test]
    fn groups_equal_single_vertices_and_code_what_they_should() {
        let view = Viewport {
            x: 0.0,
            y: 0.0,
            width: 100.0,
            height: 50.0,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        let t = ViewTransform::new(&view, true);
        let points = [
            [0.0, 0.0, 0.5, 1.0],
            [-3.0, 0.0, 0.5, 1.0],
            [0.0, 9.0, -0.5, 2.0],
            [0.0, 0.0, 3.0, 2.0],
            [1e6, 0.0, 0.5, 1.0],
            [0.0, 0.0, 0.0, -1.0],
            [f32::NAN, 0.0, 0.5, 1.0],
            [f32::INFINITY, 0.0, 0.5, f32::INFINITY],
        ];
        let group = |_| std::array::from_fn(|k| std::array::from_fn(|i| points[i][k]));
        let (mut screen, mut codes) = (Vec::new(), Vec::new());
        t.groups(1, group, &mut screen, &mut codes);
        use code::*;
        assert_eq!(codes[0], 0);
        assert_eq!(codes[1], LEFT);
        assert_eq!(codes[2], ABOVE | NEAR);
        assert_eq!(codes[3], FAR);
        assert_eq!(codes[4], RIGHT | GUARD_RIGHT);
        assert!(codes[5] & W != 0);
        assert!(codes[6] & NAN != 0);
        assert!(codes[7] & NAN != 0);
        for i in 0..4 {
            assert_eq!(screen[i], t.vertex(points[i]));
        }
    }
}
