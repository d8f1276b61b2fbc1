//! Primitives of a group: reject, clip, cull, and the tiles they touch (R-RAST-10 to 18, 34, 40 to 43).

use super::chunk::{Chunk, DrawState, Grid, Group, Prim};
use super::collect::Collected;
use super::sort::Sorter;
use crate::geometry::{Clipped, Rect, ScreenVertex, clip_line, clip_triangle, code};
use crate::pipeline::{CullMode, FrontFace};
use crate::tile::{bounds, line_bounds, point_bounds};
use crate::vertex::{Shape, VertexCells};
use quadrille_frontend::ir::Interpolation;

/// Twice the signed area in 1/256 pixels; positive is clockwise on screen (R-RAST-40).
#[inline(always)]
pub(crate) fn area(v: &[ScreenVertex; 3]) -> i64 {
    i64::from(v[1].x - v[0].x) * i64::from(v[2].y - v[0].y) - i64::from(v[2].x - v[0].x) * i64::from(v[1].y - v[0].y)
}

/// Buffers that a thread reuses.
#[derive(Clone, Debug, Default)]
pub(super) struct MakerScratch {
    screen: Vec<ScreenVertex>,
    codes: Vec<u16>,
    /// Whether a primitive uses a vertex of the group of 8.
    used: Vec<bool>,
}

/// Makes the primitives of a group.
pub(super) struct Maker<'a, 'b> {
    pub state: &'a DrawState<'b>,
    pub group: Group,
    /// What the vertex program gave.
    pub cells: VertexCells<'a>,
    pub grid: &'a Grid,
    pub chunk: &'a mut Chunk,
    pub sorter: &'a mut Sorter,
    pub scratch: &'a mut MakerScratch,
}

/// Which signs of the area survive culling, and which is the front.
#[derive(Clone, Copy)]
struct Facing {
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

    /// Whether a triangle of this area is drawn, and as a front face. R-RAST-34: none without area.
    #[inline(always)]
    fn judge(&self, area: i64) -> Option<bool> {
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
        let ends = collected.runs.iter().skip(1).map(|r| r.0).chain([u32::MAX]);
        for (&(start, index), end) in collected.runs.iter().zip(ends) {
            match self.group.shape {
                Shape::Triangle => self.triangles(collected, start, end, index),
                shape => self.others(shape, collected, start, end, index),
            }
        }
        self.keep_used(collected.len);
    }

    /// Primitives `start..end` of the group.
    fn triangles(&mut self, collected: &Collected, start: u32, end: u32, index: u32) {
        let corners = &collected.corners[start as usize * 3..];
        let corners = &corners[..corners.len().min((end - start) as usize * 3)];
        let facing = Facing::of(self.state);
        let mut done = 0;
        while done < corners.len() / 3 {
            // The common ones in a tight loop, up to one that needs clipping.
            let (next, clip) = self.unclipped(&corners[done * 3..], index.wrapping_add(done as u32), facing);
            done += next;
            if let Some(planes) = clip {
                let c = [corners[done * 3], corners[done * 3 + 1], corners[done * 3 + 2]];
                self.clip_triangle(c, index.wrapping_add(done as u32), planes, facing);
                done += 1;
            }
        }
    }

    /// Takes triangles up to the first that must be clipped; gives how many, and that one's planes.
    fn unclipped(&mut self, corners: &[u32], index: u32, facing: Facing) -> (usize, Option<u16>) {
        let MakerScratch {
            screen, codes, used, ..
        } = &mut *self.scratch;
        let group_number = self.chunk.groups.len() - 1;
        let (chunk, sorter, grid, rect) = (&mut *self.chunk, &mut *self.sorter, self.grid, self.state.rect);
        let first_vertex = self.group.first_vertex;
        crate::dispatch::wide(
            #[inline(always)]
            || {
                for (n, c) in corners.chunks_exact(3).enumerate() {
                    let c = [c[0] as usize, c[1] as usize, c[2] as usize];
                    let k = [codes[c[0]], codes[c[1]], codes[c[2]]];
                    let any = k[0] | k[1] | k[2];
                    if any != 0 {
                        if k[0] & k[1] & k[2] & code::REJECT != 0 || any & code::NAN != 0 {
                            continue;
                        }
                        if any & code::CLIP != 0 {
                            return (n, Some(any & code::CLIP));
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
                    place(grid, &b, sorter, number, Some(&v));
                }
                (corners.len() / 3, None)
            },
        )
    }

    /// Lines and points.
    fn others(&mut self, shape: Shape, collected: &Collected, start: u32, end: u32, index: u32) {
        let k = shape.corners();
        let corners = &collected.corners[start as usize * k..];
        for (n, c) in corners.chunks_exact(k).take((end - start) as usize).enumerate() {
            let (a, b) = (c[0], c[k - 1]);
            let codes = [self.scratch.codes[a as usize], self.scratch.codes[b as usize]];
            let any = codes[0] | codes[1];
            if codes[0] & codes[1] & code::REJECT != 0 || any & code::NAN != 0 {
                continue;
            }
            let index = index.wrapping_add(n as u32);
            let planes = any & code::CLIP;
            if planes == 0 {
                let v = [a, b].map(|i| self.scratch.screen[i as usize]);
                let ids = [self.original(a), self.original(b)];
                self.push_thin(shape, v, ids, index);
            } else if shape == Shape::Line {
                let p = [a, b].map(|i| self.cells.vertex(i as usize));
                let clipped = clip_line(&self.state.planes, &p, planes);
                let placed = self.place_points(&clipped, &[a, b]);
                if let [(i, v), (j, w)] = placed[..] {
                    self.push_thin(shape, [v, w], [i, j], index);
                }
            }
            // A point is in or out by its centre (R-RAST-62); one outside of the guard band is out of the viewport.
        }
    }

    /// Marks a vertex as used; gives its number in the chunk.
    fn original(&mut self, corner: u32) -> u16 {
        self.scratch.used[corner as usize / 8] = true;
        (self.group.first_vertex + corner) as u16
    }

    fn push_thin(&mut self, shape: Shape, v: [ScreenVertex; 2], ids: [u16; 2], index: u32) {
        let b = if shape == Shape::Line {
            line_bounds(&v)
        } else {
            point_bounds(&v[0])
        };
        let b = b.intersect(self.state.rect);
        if !b.is_empty() {
            let number = self.chunk.prims.len() as u16;
            let group = self.chunk.groups.len() - 1;
            self.chunk
                .prims
                .push(Prim::new([ids[0], ids[1], ids[1]], group, true, index));
            place(self.grid, &b, self.sorter, number, None);
        }
    }

    #[cold]
    fn clip_triangle(&mut self, corners: [u32; 3], index: u32, planes: u16, facing: Facing) {
        let p = corners.map(|i| self.cells.vertex(i as usize));
        let mut c = clip_triangle(&self.state.planes, &p, planes);
        if let Some(first) = c.polygon().iter().position(|&i| i == 0) {
            c.rotate(first);
        }
        let placed = self.place_points(&c, &corners);
        let fan = || (1..placed.len().saturating_sub(1)).map(|i| [placed[0], placed[i], placed[i + 1]]);
        // R-RAST-17: facing is the whole's, not a splinter's.
        let total: i64 = fan().map(|t| area(&t.map(|p| p.1))).sum();
        let Some(front) = facing.judge(total) else { return };
        let group = self.chunk.groups.len() - 1;
        for t in fan() {
            let v = t.map(|p| p.1);
            let part = area(&v);
            let b = bounds(&v, self.grid.samples).intersect(self.state.rect);
            if part == 0 || (part > 0) != (total > 0) || b.is_empty() {
                continue;
            }
            let number = self.chunk.prims.len() as u16;
            self.chunk.prims.push(Prim::new(t.map(|p| p.0), group, front, index));
            place(self.grid, &b, self.sorter, number, Some(&v));
        }
    }

    /// Chunk vertices of a clipped primitive's corners. New points get blocks of their own, and so does a first corner
    /// that isn't the provoking vertex but must carry its constants (R-RAST-16).
    fn place_points(&mut self, c: &Clipped, corners: &[u32]) -> Vec<(u16, ScreenVertex)> {
        let words = self.group.words;
        let varyings = &self.state.pipeline.varyings;
        let given = corners.len();
        let mut blocks: Vec<Vec<u32>> = corners.iter().map(|&v| self.cells.block(v as usize)).collect();
        for mix in c.mixes().iter().skip(given) {
            let (from, to) = (&blocks[mix.from as usize], &blocks[mix.to as usize]);
            let mixed = (0..words)
                .map(|k| {
                    let (a, b) = (f32::from_bits(from[k]), f32::from_bits(to[k]));
                    match varyings[k].interpolation {
                        Interpolation::Perspective => (a + mix.t * (b - a)).to_bits(),
                        Interpolation::Linear => (a + mix.screen_t * (b - a)).to_bits(),
                        Interpolation::Flat => blocks[0][k],
                    }
                })
                .collect();
            blocks.push(mixed);
        }
        let flat = varyings.iter().any(|v| v.interpolation == Interpolation::Flat);
        let mut placed = Vec::with_capacity(c.polygon().len());
        for (n, &i) in c.polygon().iter().enumerate() {
            let i = i as usize;
            let stands_in = n == 0 && i != 0 && flat;
            if i < given && !stands_in {
                placed.push((self.original(corners[i]), self.scratch.screen[corners[i] as usize]));
                continue;
            }
            let (vertex, word) = (self.chunk.vertex_count, self.chunk.word_count);
            self.chunk.grow(1, words);
            let screen = self.state.view.vertex(c.points()[i]);
            self.chunk.screen[vertex] = screen;
            let block = &mut self.chunk.blocks[word..word + words];
            block.copy_from_slice(&blocks[i]);
            for (k, word) in block.iter_mut().enumerate() {
                if varyings[k].interpolation == Interpolation::Flat {
                    *word = blocks[0][k];
                }
            }
            placed.push((vertex as u16, screen));
        }
        placed
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

/// Adds a primitive to the tiles of its bounds; triangles skip tiles that lie outside one of their edges.
#[inline(always)]
fn place(grid: &Grid, b: &Rect, sorter: &mut Sorter, number: u16, triangle: Option<&[ScreenVertex; 3]>) {
    let shift = grid.edge.trailing_zeros();
    let (tx0, tx1) = (b.x0 >> shift, (b.x1 - 1) >> shift);
    let (ty0, ty1) = (b.y0 >> shift, (b.y1 - 1) >> shift);
    if (tx0, ty0) == (tx1, ty1) {
        sorter.push(ty0 as u32 * grid.columns + tx0 as u32, number);
    } else {
        place_many(grid, (tx0..=tx1, ty0..=ty1), sorter, number, triangle);
    }
}

#[inline(never)]
fn place_many(
    grid: &Grid,
    (columns, rows): (std::ops::RangeInclusive<i32>, std::ops::RangeInclusive<i32>),
    sorter: &mut Sorter,
    number: u16,
    triangle: Option<&[ScreenVertex; 3]>,
) {
    let reject = triangle.map(|v| TileReject::new(v, grid.edge as i32));
    for ty in rows {
        for tx in columns.clone() {
            if reject.as_ref().is_none_or(|r| r.touches(tx, ty)) {
                sorter.push(ty as u32 * grid.columns + tx as u32, number);
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
