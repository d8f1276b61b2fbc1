//! Primitive records: what the fragment program reads of a primitive (layout: `crate::layout::prim`, laws N5, L3).
//!
//! A record is a function of the three snapped vertices alone, whatever tile or thread makes it.

use super::view::ScreenVertex;

/// A primitive as the fragment program sees it; field offsets are those of `layout::prim`.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "documented in layout::prim")]
pub struct PrimRecord {
    pub blocks: [*const u32; 3],
    pub x0: f32,
    pub y0: f32,
    pub l1: [f32; 2],
    pub l2: [f32; 2],
    pub iw: [f32; 3],
    pub z0: f32,
    pub dz: [f32; 2],
    pub front: u32,
    pub index: u32,
    pub reserved: [u32; 4],
}

impl PrimRecord {
    /// A record of zeros, to be overwritten.
    pub const EMPTY: PrimRecord = PrimRecord {
        blocks: [std::ptr::null(); 3],
        x0: 0.0,
        y0: 0.0,
        l1: [0.0; 2],
        l2: [0.0; 2],
        iw: [0.0; 3],
        z0: 0.0,
        dz: [0.0; 2],
        front: 0,
        index: 0,
        reserved: [0; 4],
    };
}

// SAFETY: the pointers are plain addresses of attribute blocks; see `abi::Run`.
unsafe impl Send for PrimRecord {}

/// Screen gradients (x, y) of barycentrics 1 and 2, in f64.
#[derive(Clone, Copy, Debug)]
pub struct Gradients {
    l1: [f64; 2],
    l2: [f64; 2],
}

impl Gradients {
    /// Of a triangle whose doubled area is not 0.
    #[inline(always)]
    pub fn triangle(v: &[ScreenVertex; 3], area: i64) -> Gradients {
        let scale = 256.0 / area as f64;
        let d = |a: i32, b: i32| f64::from(a - b) * scale;
        Gradients {
            l1: [d(v[2].y, v[0].y), d(v[0].x, v[2].x)],
            l2: [d(v[0].y, v[1].y), d(v[1].x, v[0].x)],
        }
    }

    /// Of a line: attributes vary along it only (R-RAST-148). Zero for a line without length.
    pub fn line(v: &[ScreenVertex; 2]) -> Gradients {
        let (dx, dy) = (f64::from(v[1].x - v[0].x), f64::from(v[1].y - v[0].y));
        let length2 = dx * dx + dy * dy;
        let scale = if length2 > 0.0 { 256.0 / length2 } else { 0.0 };
        Gradients {
            l1: [dx * scale, dy * scale],
            l2: [0.0; 2],
        }
    }

    /// Of a point: nothing varies.
    pub const CONSTANT: Gradients = Gradients {
        l1: [0.0; 2],
        l2: [0.0; 2],
    };

    /// dz/dx and dz/dy for depths at the vertices. Equal depths give exactly 0.
    #[inline(always)]
    pub fn depth(&self, z: [f32; 3]) -> [f32; 2] {
        let (z1, z2) = (f64::from(z[1] - z[0]), f64::from(z[2] - z[0]));
        [0, 1].map(|k| (z1 * self.l1[k] + z2 * self.l2[k]) as f32)
    }

    /// What a quantity adds per pixel to the right and down, in f64.
    pub fn slope(&self, v: [f64; 3]) -> [f64; 2] {
        [0, 1].map(|k| (v[1] - v[0]) * self.l1[k] + (v[2] - v[0]) * self.l2[k])
    }

    /// Fills a record. `bias` is added to every depth (R-RAST-74).
    #[inline(always)]
    pub fn record(
        &self,
        v: &[ScreenVertex; 3],
        bias: Option<f32>,
        blocks: [*const u32; 3],
        front: bool,
        index: u32,
    ) -> PrimRecord {
        let mut z = [v[0].z, v[1].z, v[2].z];
        if let Some(bias) = bias {
            z = z.map(|z| z + bias);
        }
        PrimRecord {
            blocks,
            x0: v[0].x as f32 * (1.0 / 256.0),
            y0: v[0].y as f32 * (1.0 / 256.0),
            l1: self.l1.map(|v| v as f32),
            l2: self.l2.map(|v| v as f32),
            iw: [v[0].iw, v[1].iw, v[2].iw],
            z0: z[0],
            dz: self.depth(z),
            front: if front { u32::MAX } else { 0 },
            index,
            reserved: [0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_record_lies_as_programs_expect() {
        assert_eq!(size_of::<PrimRecord>(), 96);
        assert_eq!(offset_of!(PrimRecord, x0), 24);
        assert_eq!(offset_of!(PrimRecord, l1), 32);
        assert_eq!(offset_of!(PrimRecord, l2), 40);
        assert_eq!(offset_of!(PrimRecord, iw), 48);
        assert_eq!(offset_of!(PrimRecord, z0), 60);
        assert_eq!(offset_of!(PrimRecord, dz), 64);
        assert_eq!(offset_of!(PrimRecord, front), 72);
        assert_eq!(offset_of!(PrimRecord, index), 76);
    }

    /// The worked example of section 14: barycentrics and z at pixel (4, 6).
    #[test]
    fn r_rast_142_143_gradients() {
        let v = |x, y, z, iw| ScreenVertex {
            x: x * 256,
            y: y * 256,
            z,
            iw,
        };
        let t = [v(0, 0, 0.25, 1.0), v(16, 0, 0.5, 0.25), v(0, 16, 1.0, 0.5)];
        let g = Gradients::triangle(&t, 16 * 16 * 65536);
        let r = g.record(&t, None, [std::ptr::null(); 3], true, 5);
        let at = |d: [f32; 2]| 4.5 * d[0] + 6.5 * d[1];
        assert_eq!((at(r.l1), at(r.l2)), (9.0 / 32.0, 13.0 / 32.0));
        assert_eq!(r.z0 + at(r.dz), 0.625);
        assert_eq!((r.front, r.index), (u32::MAX, 5));
    }

    /// R-RAST-146: what is equal at the vertices is equal everywhere.
    #[test]
    fn equal_depths_have_no_slope() {
        let v = |x, y| ScreenVertex { x, y, z: 0.3, iw: 1.0 };
        let t = [v(17, 3), v(1009, 7), v(3, 555)];
        let area = i64::from(t[1].x - t[0].x) * i64::from(t[2].y - t[0].y)
            - i64::from(t[2].x - t[0].x) * i64::from(t[1].y - t[0].y);
        assert_eq!(Gradients::triangle(&t, area).depth([0.3; 3]), [0.0, 0.0]);
    }
}
