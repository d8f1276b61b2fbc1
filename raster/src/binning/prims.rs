//! Primitives of a group: reject, cull, and the tiles they touch (R-RAST-34, 40 to 43).
//!
//! Triangles that are nothing special go through a tight loop here. All others, and lines and points, go one by one
//! through `special.rs`.

use super::chunk::{Chunk, DrawState, Grid, Group, Prim};
use super::collect::Collected;
use super::sort::Sorter;
use crate::geometry::{Rect, ScreenVertex, code};
use crate::pipeline::{CullMode, FrontFace};
use crate::tile::bounds;
use crate::vertex::{Shape, VertexCells};

/// Twice the signed area in 1/256 pixels; positive is clockwise on screen (R-RAST-40).
#[inline(always)]
pub(crate) fn area(v: &[ScreenVertex; 3]) -> i64 {
    i64::from(v[1].x - v[0].x) * i64::from(v[2].y - v[0].y) - i64::from(v[2].x - v[0].x) * i64::from(v[1].y - v[0].y)
}

/// Buffers that a thread reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct MakerScratch {
    pub screen: Vec<ScreenVertex>,
    pub codes: Vec<u16>,
    /// Whether a primitive uses a vertex of the group of 8.
    pub used: Vec<bool>,
}

/// What sets primitives of one draw apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupKey {
    pub viewport: usize,
    /// Edges of triangles.
    pub wire: bool,
    /// A clip distance may take samples away.
    pub cut: bool,
}

/// Makes the primitives of a group.
pub(super) struct Maker<'a, 'b> {
    /// State of the first viewport.
    pub state: &'a DrawState<'b>,
    /// States of all viewports.
    pub views: &'a [DrawState<'b>],
    /// The group of the first viewport.
    pub group: Group,
    /// Vertices of the group's draws; those that special primitives make come after them.
    pub vertices: usize,
    /// Groups made so far and their numbers in the chunk; the first is that of the common ones.
    pub groups: Vec<(GroupKey, usize)>,
    /// What the vertex program gave.
    pub cells: VertexCells<'a>,
    pub grid: &'a Grid,
    pub chunk: &'a mut Chunk,
    pub sorter: &'a mut Sorter,
    pub scratch: &'a mut MakerScratch,
    /// Primitives that clipping made more than came, or, if negative, fewer; culling doesn't count.
    pub gained: i64,
}

/// Which signs of the area survive culling, and which is the front.
#[derive(Clone, Copy)]
pub(super) struct Facing {
    keep_positive: bool,
    keep_negative: bool,
    positive_is_front: bool,
}

impl Facing {
    fn of(state: &DrawState<'_>) -> Facing {
        let primitive = &state.pipeline.primitive;
        let positive_is_front = primitive.front_face == FrontFace::Cw;
        let keeps = |front: bool| match primitive.cull_mode {
            CullMode::None => true,
            CullMode::Front => !front,
            CullMode::Back => front,
        };
        Facing {
            keep_positive: keeps(positive_is_front),
            keep_negative: keeps(!positive_is_front),
            positive_is_front,
        }
    }

    /// Whether a triangle is drawn that need not have an area, and as a front face. R-RAST-34: without one it faces back.
    pub fn judge_any(&self, area: i64) -> Option<bool> {
        if area != 0 {
            return self.judge(area);
        }
        let keeps_back = if self.positive_is_front {
            self.keep_negative
        } else {
            self.keep_positive
        };
        keeps_back.then_some(false)
    }

    /// Whether a triangle of this area is drawn, and as a front face. R-RAST-34: none without area.
    #[inline(always)]
    pub fn judge(&self, area: i64) -> Option<bool> {
        let keep = if area > 0 {
            self.keep_positive
        } else {
            self.keep_negative
        };
        (area != 0 && keep).then_some((area > 0) == self.positive_is_front)
    }
}

impl Maker<'_, '_> {
    /// All primitives, in order.
    pub fn run(&mut self, collected: &Collected) {
        let groups = collected.vertices.len() / 8;
        let MakerScratch {
            screen, codes, used, ..
        } = &mut *self.scratch;
        self.state
            .view
            .groups(groups, |g| self.cells.position(g), screen, codes);
        used.clear();
        used.resize(groups, false);
        self.mark(groups);
        let ends = collected.runs.iter().skip(1).map(|r| r.0).chain([u32::MAX]);
        for (&(start, index), end) in collected.runs.iter().zip(ends) {
            match self.group.shape {
                Shape::Triangle => self.triangles(collected, start, end, index),
                _ => self.thin(collected, start, end, index),
            }
        }
        self.keep_used(collected.len);
    }

    /// Primitives `start..end` of the group.
    fn triangles(&mut self, collected: &Collected, start: u32, end: u32, index: u32) {
        let corners = &collected.corners[start as usize * 3..];
        let corners = &corners[..corners.len().min((end - start) as usize * 3)];
        let facing = Facing::of(self.state);
        let extended = &self.state.pipeline.primitive.extended;
        let none_common = self.wireframe() || extended.conservative;
        let mut done = 0;
        while done < corners.len() / 3 {
            // The common ones in a tight loop, up to one that isn't.
            if !none_common {
                done += self.common(&corners[done * 3..], index.wrapping_add(done as u32), facing);
            }
            if let Some(&[a, b, c]) = corners[done * 3..].first_chunk() {
                self.special_triangle([a, b, c], index.wrapping_add(done as u32), facing);
                done += 1;
            }
        }
    }

    /// Takes triangles up to the first that is special; gives how many.
    fn common(&mut self, corners: &[u32], index: u32, facing: Facing) -> usize {
        let MakerScratch {
            screen, codes, used, ..
        } = &mut *self.scratch;
        let group_number = self.groups[0].1;
        let (chunk, sorter, grid, rect) = (&mut *self.chunk, &mut *self.sorter, self.grid, self.state.rect);
        let first_vertex = self.group.first_vertex;
        let gained = &mut self.gained;
        crate::dispatch::wide(
            #[inline(always)]
            || {
                for (n, c) in corners.chunks_exact(3).enumerate() {
                    let c = [c[0] as usize, c[1] as usize, c[2] as usize];
                    let k = [codes[c[0]], codes[c[1]], codes[c[2]]];
                    let any = k[0] | k[1] | k[2];
                    if any != 0 {
                        if k[0] & k[1] & k[2] & code::REJECT != 0 || any & code::NAN != 0 {
                            *gained -= 1;
                            continue;
                        }
                        if any & code::SPECIAL != 0 {
                            return n;
                        }
                    }
                    let v = [screen[c[0]], screen[c[1]], screen[c[2]]];
                    let Some(front) = facing.judge(area(&v)) else { continue };
                    let b = bounds(&v, grid.samples).intersect(rect);
                    if b.is_empty() {
                        continue;
                    }
                    used[c[0] / 8] = true;
                    used[c[1] / 8] = true;
                    used[c[2] / 8] = true;
                    let number = chunk.prims.len() as u16;
                    let id = |c: usize| (first_vertex + c as u32) as u16;
                    let v16 = [id(c[0]), id(c[1]), id(c[2])];
                    chunk
                        .prims
                        .push(Prim::new(v16, group_number, front, index.wrapping_add(n as u32)));
                    place(grid, 0, &b, sorter, number, Some(&v));
                }
                corners.len() / 3
            },
        )
    }

    /// Copies the vertices that primitives use into the chunk: positions and attribute blocks.
    fn keep_used(&mut self, len: usize) {
        let first = self.group.first_vertex as usize;
        let words = self.group.words;
        for (g, _) in self.scratch.used.iter().enumerate().filter(|u| *u.1) {
            let range = g * 8..(g * 8 + 8).min(len);
            let n = range.len();
            self.chunk.screen[first + g * 8..][..n].copy_from_slice(&self.scratch.screen[range]);
            let blocks = &mut self.chunk.blocks[self.group.first_word + g * 8 * words..][..n * words];
            self.cells.spread(g, blocks);
        }
    }
}

/// Adds a primitive to the tiles of its bounds; triangles skip tiles that lie outside one of their edges. `first` is the
/// number of the layer's first tile.
#[inline(always)]
pub(super) fn place(
    grid: &Grid,
    first: u32,
    b: &Rect,
    sorter: &mut Sorter,
    number: u16,
    triangle: Option<&[ScreenVertex; 3]>,
) {
    let shift = grid.edge.trailing_zeros();
    let (tx0, tx1) = (b.x0 >> shift, (b.x1 - 1) >> shift);
    let (ty0, ty1) = (b.y0 >> shift, (b.y1 - 1) >> shift);
    if (tx0, ty0) == (tx1, ty1) {
        sorter.push(first + ty0 as u32 * grid.columns + tx0 as u32, number);
    } else {
        place_many(grid, first, (tx0..=tx1, ty0..=ty1), sorter, number, triangle);
    }
}

#[inline(never)]
fn place_many(
    grid: &Grid,
    first: u32,
    (columns, rows): (std::ops::RangeInclusive<i32>, std::ops::RangeInclusive<i32>),
    sorter: &mut Sorter,
    number: u16,
    triangle: Option<&[ScreenVertex; 3]>,
) {
    let reject = triangle.map(|v| TileReject::new(v, grid.edge as i32));
    for ty in rows {
        for tx in columns.clone() {
            if reject.as_ref().is_none_or(|r| r.touches(tx, ty)) {
                sorter.push(first + ty as u32 * grid.columns + tx as u32, number);
            }
        }
    }
}

/// Rejects tiles that lie outside one edge of a triangle.
struct TileReject {
    /// a*x + b*y + c >= 0 inside, at the tile corner that is farthest inside; in units of tiles.
    edges: [[i64; 3]; 3],
}

impl TileReject {
    fn new(v: &[ScreenVertex; 3], edge: i32) -> TileReject {
        let mut v = *v;
        if area(&v) < 0 {
            v.swap(1, 2);
        }
        let step = i64::from(edge) * 256;
        let edges = std::array::from_fn(|i| {
            let (p, q) = (v[i], v[(i + 1) % 3]);
            // R-RAST-32: e(P) = (bx-ax)(py-ay) - (by-ay)(px-ax).
            let (dx, dy) = (i64::from(q.x - p.x), i64::from(q.y - p.y));
            let c = -dx * i64::from(p.y) + dy * i64::from(p.x);
            let corner = (if dy < 0 { -dy * step } else { 0 }) + (if dx > 0 { dx * step } else { 0 });
            [-dy * step, dx * step, c + corner]
        });
        TileReject { edges }
    }

    fn touches(&self, tx: i32, ty: i32) -> bool {
        self.edges
            .iter()
            .all(|[a, b, c]| a * i64::from(tx) + b * i64::from(ty) + c >= 0)
    }
}
