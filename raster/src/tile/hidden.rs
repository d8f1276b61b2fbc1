//! Hierarchical depth: blocks in which a triangle surely fails the depth test aren't rasterized (law R5).
//!
//! ```text
//! a triangle covers all of a block ─ its farthest distance there ─► bound of the block ┐
//! a later triangle ─ its nearest distance there ───────────────────────────────────────┴─ not before: skip the block
//! ```
//!
//! *Distance* is depth, or minus depth where greater depths win, so that a nearer fragment has the smaller one. Nearest
//! and farthest are exact: the program's `fma(dy, dz/dy, fma(dx, dz/dx, z0))` is monotone in dx and dy, so its extreme
//! values over a block are those at corners, computed with the same operations; clamp and conversion are monotone too.
//! Depths are never read: a sample of a covered block either takes the triangle's distance or holds a nearer one.
//!
//! The rule that must not break: no distance in a block is beyond its bound once what came before is drawn. Writes
//! under the same direction of comparison only lower distances; other writes void bounds.

use super::pairs::TileArea;
use crate::format::Kind;
use crate::geometry::{PrimRecord, Rect, ScreenVertex, sample_extent};
use crate::pipeline::{CompareFunction, RenderPipeline};

/// How a state's depth test hides fragments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DepthRule {
    /// Greater depths win: distance is minus depth.
    flip: bool,
    /// Equal distances fail too.
    strict: bool,
    /// The largest code of a unorm format.
    codes: Option<f32>,
    /// The viewport's depth range.
    clamp: [f32; 2],
    /// Depth bias makes the vertices' depths no measure.
    biased: bool,
    /// Samples of a covered block surely take the depth or hold a nearer one.
    bounds: bool,
}

impl DepthRule {
    /// The rule of a pipeline, if fragments that fail its depth test leave no trace: then they needn't exist.
    pub fn of(pipeline: &RenderPipeline, depth_range: [f32; 2], biased: bool) -> Option<DepthRule> {
        let state = pipeline.depth_stencil.as_ref()?;
        let info = state.format.info();
        if !info.depth || !pipeline.traceless {
            return None;
        }
        let (flip, strict) = match state.depth_compare {
            CompareFunction::Less => (false, true),
            CompareFunction::LessEqual => (false, false),
            CompareFunction::Greater => (true, true),
            CompareFunction::GreaterEqual => (true, false),
            _ => return None,
        };
        let codes = match info.kind {
            Kind::Float => None,
            _ => Some(((1u32 << info.fields[0].bits) - 1) as f32),
        };
        let [low, high] = depth_range;
        let in_order = low <= high && (codes.is_none() || low >= 0.0 && high <= 1.0);
        in_order.then_some(DepthRule {
            flip,
            strict,
            codes,
            clamp: depth_range,
            biased,
            bounds: pipeline.occludes && state.depth_write_enabled,
        })
    }

    /// The distance of an interpolated depth; codes, which are within 1, by `slack` farther.
    #[inline(always)]
    fn distance(&self, z: f32, slack: f32) -> f32 {
        let z = z.max(self.clamp[0]).min(self.clamp[1]);
        let z = match self.codes {
            None => z,
            Some(codes) => z * codes,
        };
        let distance = if self.flip { -z } else { z };
        if self.codes.is_some() {
            distance + slack
        } else {
            distance
        }
    }

    /// What [`distances`](Self::distances) needs of a triangle.
    #[inline(always)]
    fn corner<const N: usize>(&self, record: &PrimRecord, farthest: bool) -> Corner {
        let (low, high) = sample_extent(N as u32);
        let (low, high) = (low as f32 * (1.0 / 256.0), 7.0 + high as f32 * (1.0 / 256.0));
        let rising = self.flip == farthest;
        Corner {
            x: if (record.dz[0] >= 0.0) == rising { low } else { high },
            y: if (record.dz[1] >= 0.0) == rising { low } else { high },
            slack: if farthest { 2.0 } else { -2.0 },
        }
    }

    /// Distances at a corner of blocks: of those in `blocks` at least.
    #[inline(always)]
    fn distances(&self, corner: &Corner, record: &PrimRecord, area: &TileArea, blocks: u64) -> [f32; 64] {
        let per_row = (area.edge >> 3).min(8);
        let mut out = [0.0; 64];
        let [zx, zy] = record.dz;
        // Sums of multiples of 1/256 below 2^16: exact in any order.
        let (left, top) = (
            area.x as f32 + corner.x - record.x0,
            area.y as f32 + corner.y - record.y0,
        );
        if blocks.count_ones() <= 8 {
            let mut rest = blocks;
            while rest != 0 {
                let b = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let (dx, dy) = (left + (8 * (b % per_row)) as f32, top + (8 * (b / per_row)) as f32);
                out[b] = self.distance(dy.mul_add(zy, dx.mul_add(zx, record.z0)), corner.slack);
            }
            return out;
        }
        let mut row = [0.0f32; 8];
        for i in 0..8 {
            row[i] = (left + (8 * i) as f32).mul_add(zx, record.z0);
        }
        for by in 0..per_row {
            let dy = top + (8 * by) as f32;
            for i in 0..per_row {
                out[by * per_row + i] = self.distance(dy.mul_add(zy, row[i]), corner.slack);
            }
        }
        out
    }
}

/// A corner of blocks: pixels from their left and top edge; slack of codes.
struct Corner {
    x: f32,
    y: f32,
    slack: f32,
}

/// Beyond that products could overflow, and infinities add to NaN.
#[inline(always)]
fn is_tame(record: &PrimRecord, area: &TileArea) -> bool {
    let tame = |v: f32| v.abs() < 1e30;
    area.edge <= 64 && tame(record.z0) && tame(record.dz[0]) && tame(record.dz[1])
}

/// Bounds of a tile's blocks.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Of each block, a distance that none is beyond; infinite if that isn't known.
    bound: [f32; 64],
    /// Which distances the bounds are.
    flip: bool,
    /// Whether any is known.
    some: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            bound: [f32::INFINITY; 64],
            flip: false,
            some: false,
        }
    }
}

/// Numbers of the blocks that a rectangle of the tile's pixels touches, as bits; all if there are more than 64.
#[inline(always)]
pub(super) fn blocks_of(area: &TileArea, r: &Rect) -> u64 {
    let per_row = area.edge as i32 >> 3;
    if per_row > 8 {
        return u64::MAX;
    }
    let (x0, x1) = (r.x0 >> 3, (r.x1 + 7) >> 3);
    let (y0, y1) = (r.y0 >> 3, (r.y1 + 7) >> 3);
    let row = (u64::MAX >> (64 - (x1 - x0))) << x0;
    let mut all = 0;
    for y in y0..y1 {
        all |= row << (y * per_row);
    }
    all
}

impl Bounds {
    /// For a tile whose depths aren't known yet.
    pub fn start(&mut self) {
        if self.some {
            *self = Bounds::default();
        }
    }

    /// Whether any bound is known: if not, nothing is hidden and nothing needs to be voided.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.some
    }

    /// Whether [`hidden`](Self::hidden) may find something for a triangle: a cheap guess.
    #[inline(always)]
    pub fn worth(&self, rule: &DepthRule, v: &[ScreenVertex; 3], blocks: u64) -> bool {
        if rule.flip != self.flip {
            return false;
        }
        let nearest = if rule.flip {
            v[0].z.max(v[1].z).max(v[2].z)
        } else {
            v[0].z.min(v[1].z).min(v[2].z)
        };
        let nearest = if rule.biased {
            f32::MAX
        } else {
            rule.distance(nearest, 0.0)
        };
        let mut left = blocks;
        while left != 0 {
            if nearest >= self.bound[left.trailing_zeros() as usize] {
                return true;
            }
            left &= left - 1;
        }
        false
    }

    /// Which of `blocks` hide a triangle.
    #[inline(always)]
    pub fn hidden<const N: usize>(&self, rule: &DepthRule, record: &PrimRecord, area: &TileArea, blocks: u64) -> u64 {
        if rule.flip != self.flip || !is_tame(record, area) {
            return 0;
        }
        let nearest = rule.distances(&rule.corner::<N>(record, false), record, area, blocks);
        let mut hidden = 0;
        let mut left = blocks;
        while left != 0 {
            let b = left.trailing_zeros() as usize;
            left &= left - 1;
            let hides = if rule.strict {
                nearest[b] >= self.bound[b]
            } else {
                nearest[b] > self.bound[b]
            };
            hidden |= u64::from(hides) << b;
        }
        hidden
    }

    /// A triangle is drawn under a rule; it covers all samples of the blocks `full`.
    #[inline(always)]
    pub fn covered<const N: usize>(&mut self, rule: &DepthRule, record: &PrimRecord, area: &TileArea, full: u64) {
        if !rule.bounds || !is_tame(record, area) {
            return;
        }
        if rule.flip != self.flip {
            *self = Bounds {
                flip: rule.flip,
                ..Bounds::default()
            };
        }
        self.some = true;
        let farthest = rule.distances(&rule.corner::<N>(record, true), record, area, full);
        let mut left = full;
        while left != 0 {
            let b = left.trailing_zeros() as usize;
            left &= left - 1;
            self.bound[b] = self.bound[b].min(farthest[b]);
        }
    }

    /// Depths of `blocks` are written under another rule, or none.
    #[inline(always)]
    pub fn written(&mut self, rule: Option<&DepthRule>, blocks: u64) {
        if rule.is_some_and(|r| r.flip == self.flip) {
            return;
        }
        let mut left = blocks;
        while left != 0 {
            self.bound[left.trailing_zeros() as usize] = f32::INFINITY;
            left &= left - 1;
        }
    }
}
