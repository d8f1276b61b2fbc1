//! Primitives that are more than a triangle to be filled: clipped ones, those that choose viewport or layer, wireframes,
//! conservative triangles, lines and points (R-RAST-10 to 18, 22, 27, 41, 60, 80, 120 to 122).
//!
//! The rule that must not break: what happens here is the original primitive's. Splitting it changes neither facing nor
//! constants nor index (R-RAST-16, R-RAST-17).

use super::chunk::{DrawState, Group, Prim, special};
use super::collect::Collected;
use super::prims::{Facing, GroupKey, Maker, area, place};
use crate::geometry::{Clipped, MAX_CORNERS, Rect, ScreenVertex, clip_line, clip_triangle, code};
use crate::pipeline::{FillMode, LineMode, PointMode, ProvokingVertex};
use crate::tile::{
    bounds, conservative_bounds, line_bounds, point_bounds, rectangle_bounds, smooth_bounds, square_bounds,
};
use crate::vertex::Shape;
use quadrille_frontend::ir::Interpolation;

/// A vertex of the chunk.
type Placed = (u16, ScreenVertex);

/// Where a primitive goes (R-RAST-22, R-RAST-27).
#[derive(Clone, Copy)]
struct Route {
    viewport: usize,
    /// Number of the layer's first tile.
    first_tile: u32,
}

/// What is left of a primitive.
struct Remains {
    corners: [Placed; MAX_CORNERS],
    /// Whether the edge from each corner on is the original's.
    edges: [bool; MAX_CORNERS],
    count: usize,
}

impl Remains {
    fn corners(&self) -> &[Placed] {
        &self.corners[..self.count]
    }
}

impl<'b> Maker<'_, 'b> {
    pub(super) fn wireframe(&self) -> bool {
        self.state.pipeline.primitive.extended.fill_mode == FillMode::Wireframe
    }

    /// Adds to the outcodes what the vertices' distances and choices say.
    pub(super) fn mark(&mut self, groups: usize) {
        let routing = &self.state.pipeline.routing;
        if routing.has_distances() {
            for g in 0..groups {
                let codes = &mut self.scratch.codes[g * 8..][..8];
                let cells = routing.clip_cells().map(|c| (c, true));
                for (cell, clips) in cells.chain(routing.cull.clone().map(|c| (c, false))) {
                    for (code, bits) in codes.iter_mut().zip(self.cells.cell(g, cell)) {
                        let d = f32::from_bits(*bits);
                        if d.is_nan() && clips {
                            *code |= code::NAN; // R-RAST-13
                        }
                        // R-RAST-14: NaN counts as negative.
                        if d < 0.0 || d.is_nan() {
                            *code |= code::DISTANCE;
                        }
                    }
                }
            }
        }
        if routing.chooses() {
            for code in &mut self.scratch.codes[..groups * 8] {
                *code |= code::ROUTED;
            }
        }
    }

    /// Whether all vertices are on the wrong side of one clip or cull distance (R-RAST-13, R-RAST-14).
    fn is_cut_away(&self, corners: &[u32]) -> bool {
        let routing = &self.state.pipeline.routing;
        routing.clip_cells().chain(routing.cull.clone()).any(|cell| {
            corners.iter().all(|&v| {
                let d = f32::from_bits(self.cells.cell(v as usize / 8, cell)[v as usize % 8]);
                d < 0.0 || d.is_nan()
            })
        })
    }

    /// Where a primitive with this leading vertex goes; `None`: to a viewport that isn't set, which is empty.
    fn route(&self, leading: u32) -> Option<Route> {
        let routing = &self.state.pipeline.routing;
        let value = |cell: Option<u32>| {
            cell.map_or(0, |c| {
                self.cells.cell(leading as usize / 8, c)[leading as usize % 8] as usize
            })
        };
        let viewport = match value(routing.viewport) {
            v @ 0..16 => v,
            _ => 0, // R-RAST-22
        };
        let layer = match value(routing.layer) {
            l if l < self.grid.layers as usize => l,
            _ => 0, // R-RAST-27
        };
        (viewport < self.views.len()).then(|| Route {
            viewport,
            first_tile: (layer * self.grid.per_layer()) as u32,
        })
    }

    fn view(&self, route: Route) -> &DrawState<'b> {
        &self.views[route.viewport]
    }

    /// The group of a viewport's primitives.
    fn group_of(&mut self, route: Route, wire: bool, codes: u16) -> usize {
        let key = GroupKey {
            viewport: route.viewport,
            wire,
            cut: codes & code::DISTANCE != 0 && !self.state.pipeline.routing.clip.is_empty(),
        };
        if let Some(&(_, number)) = self.groups.iter().find(|g| g.0 == key) {
            return number;
        }
        let number = self.chunk.groups.len();
        let shape = if wire { Shape::Line } else { self.group.shape };
        self.chunk.groups.push(Group {
            state: self.group.state + route.viewport as u32,
            shape,
            wire,
            special: special(self.state.pipeline, shape) || key.cut,
            ..self.group
        });
        self.groups.push((key, number));
        number
    }

    /// Outcodes of a primitive's vertices in its viewport.
    fn codes(&self, route: Route, corners: &[u32]) -> Option<u16> {
        let (mut any, mut all) = (0, u16::MAX);
        for &v in corners {
            let mut code = self.scratch.codes[v as usize];
            if route.viewport != 0 {
                // What isn't about the viewport stays; NAN may be about either.
                let other = self.view(route).view.outcode(self.cells.vertex(v as usize));
                let clips = self.is_nan(v);
                code = code & (code::DISTANCE | code::ROUTED) | other | if clips { code::NAN } else { 0 };
            }
            any |= code;
            all &= code;
        }
        (all & code::REJECT == 0 && any & code::NAN == 0).then_some(any)
    }

    fn is_nan(&self, vertex: u32) -> bool {
        let v = vertex as usize;
        let mut cells = self.state.pipeline.routing.clip_cells();
        cells.any(|c| f32::from_bits(self.cells.cell(v / 8, c)[v % 8]).is_nan())
    }

    /// Marks a vertex as used; gives its number in the chunk.
    fn original(&mut self, corner: u32) -> u16 {
        self.scratch.used[corner as usize / 8] = true;
        (self.group.first_vertex + corner) as u16
    }

    /// A vertex as its viewport sees it.
    fn corner(&mut self, route: Route, corner: u32) -> Placed {
        if route.viewport == 0 {
            return (self.original(corner), self.scratch.screen[corner as usize]);
        }
        let screen = self.view(route).view.vertex(self.cells.vertex(corner as usize));
        let block = self.cells.block(corner as usize);
        self.fresh(screen, &block)
    }

    /// A vertex of its own.
    fn fresh(&mut self, screen: ScreenVertex, block: &[u32]) -> Placed {
        let (vertex, word) = (self.chunk.vertex_count, self.chunk.word_count);
        self.chunk.grow(1, block.len());
        self.chunk.screen[vertex] = screen;
        self.chunk.blocks[word..word + block.len()].copy_from_slice(block);
        (vertex as u16, screen)
    }

    /// Writes `from`'s constants over those in a block.
    fn constants(&self, block: &mut [u32], from: &[u32]) {
        let varyings = &self.state.pipeline.varyings;
        for ((word, from), varying) in block.iter_mut().zip(from).zip(varyings) {
            if varying.interpolation == Interpolation::Flat {
                *word = *from;
            }
        }
    }

    fn has_constants(&self) -> bool {
        let varyings = &self.state.pipeline.varyings;
        varyings.iter().any(|v| v.interpolation == Interpolation::Flat)
    }

    /// Chunk vertices of a primitive that isn't clipped.
    fn whole(&mut self, route: Route, corners: &[u32]) -> Remains {
        let mut remains = Remains {
            corners: [Placed::default(); MAX_CORNERS],
            edges: [true; MAX_CORNERS],
            count: corners.len(),
        };
        for (placed, &corner) in remains.corners.iter_mut().zip(corners) {
            *placed = self.corner(route, corner);
        }
        remains
    }

    /// Chunk vertices of what clipping left. New points get blocks of their own, and so does a corner that isn't the
    /// provoking vertex but takes its place: `first` tells which of the remaining that is (R-RAST-16).
    fn place_points(&mut self, route: Route, c: &Clipped, corners: &[u32], lead: usize, first: usize) -> Remains {
        let words = self.group.words;
        let (varyings, clip) = (&self.state.pipeline.varyings, &self.state.pipeline.routing.clip);
        let given = corners.len();
        let mut blocks: Vec<Vec<u32>> = corners.iter().map(|&v| self.cells.block(v as usize)).collect();
        for mix in c.mixes().iter().skip(given) {
            let (from, to) = (&blocks[mix.from as usize], &blocks[mix.to as usize]);
            let mixed = (0..words)
                .map(|k| {
                    let (a, b) = (f32::from_bits(from[k]), f32::from_bits(to[k]));
                    if clip.contains(&(k as u32)) && (a.is_infinite() || b.is_infinite()) {
                        return mix_infinite(a, b, mix.t).to_bits();
                    }
                    match varyings[k].interpolation {
                        Interpolation::Perspective => (a + mix.t * (b - a)).to_bits(),
                        Interpolation::Linear => (a + mix.screen_t * (b - a)).to_bits(),
                        Interpolation::Flat => blocks[lead][k],
                    }
                })
                .collect();
            blocks.push(mixed);
        }
        let flat = self.has_constants();
        let mut placed = [Placed::default(); MAX_CORNERS];
        for (n, &i) in c.polygon().iter().enumerate() {
            let i = i as usize;
            let stands_in = n == first && i != lead && flat;
            if i < given && !stands_in {
                placed[n] = self.corner(route, corners[i]);
                continue;
            }
            let screen = self.view(route).view.vertex(c.points()[i]);
            let mut block = blocks[i].clone();
            self.constants(&mut block, &blocks[lead]);
            placed[n] = self.fresh(screen, &block);
        }
        let mut edges = [false; MAX_CORNERS];
        edges[..c.edges().len()].copy_from_slice(c.edges());
        Remains {
            corners: placed,
            edges,
            count: c.polygon().len(),
        }
    }

    /// A triangle that isn't for the common loop.
    pub(super) fn special_triangle(&mut self, corners: [u32; 3], index: u32, facing: Facing) {
        // Taken back when something is left.
        self.gained -= 1;
        if self.is_cut_away(&corners) {
            return;
        }
        let Some(route) = self.route(corners[0]) else { return };
        let Some(codes) = self.codes(route, &corners) else {
            return;
        };
        let planes = codes & code::CLIP;
        let remains = if planes == 0 {
            self.whole(route, &corners)
        } else {
            let p = corners.map(|i| self.cells.vertex(i as usize));
            let mut c = clip_triangle(&self.view(route).planes, &p, planes);
            if let Some(first) = c.polygon().iter().position(|&i| i == 0) {
                c.rotate(first);
            }
            self.place_points(route, &c, &corners, 0, 0)
        };
        let placed = remains.corners();
        self.gained += (placed.len() as i64 - 2).max(0);
        let fan = || (1..placed.len().saturating_sub(1)).map(|i| [placed[0], placed[i], placed[i + 1]]);
        // R-RAST-17: facing is the whole's, not a splinter's.
        let total: i64 = fan().map(|t| area(&t.map(|p| p.1))).sum();
        let conservative = self.state.pipeline.primitive.extended.conservative;
        let wire = self.wireframe();
        // R-RAST-122: equal indices make no triangle.
        let [a, b, c] = corners;
        let same = a == b || b == c || c == a;
        let front = if wire || (conservative && !same) {
            facing.judge_any(total)
        } else {
            facing.judge(total)
        };
        let Some(front) = front else { return };
        if wire {
            self.wires(route, &remains, corners[0], codes, front, index);
            return;
        }
        let group = self.group_of(route, false, codes);
        for t in fan() {
            let v = t.map(|p| p.1);
            let part = area(&v);
            let splinter = part == 0 || (part > 0) != (total > 0);
            let b = if conservative {
                conservative_bounds(&v)
            } else {
                bounds(&v, self.grid.samples)
            };
            let b = b.intersect(self.view(route).rect);
            if (splinter && !(conservative && total == 0)) || b.is_empty() {
                continue;
            }
            let prim = Prim::new(t.map(|p| p.0), group, front, index);
            self.push(route, prim, &b, (!conservative).then_some(&v));
        }
    }

    /// R-RAST-80: the original edges of a triangle as lines. A third vertex comes along for the depth bias (R-RAST-75).
    fn wires(&mut self, route: Route, remains: &Remains, leading: u32, codes: u16, front: bool, index: u32) {
        let n = remains.count;
        let group = self.group_of(route, true, codes);
        let flat = self.has_constants();
        let from = self.cells.block(leading as usize);
        for i in (0..n).filter(|&i| remains.edges[i]) {
            let at = |k: usize| remains.corners[(i + k) % n];
            let (start, end, third) = (at(0), at(1), at(2));
            let b = self.thin_bounds(Shape::Line, &[start.1, end.1]);
            let b = b.intersect(self.view(route).rect);
            if b.is_empty() {
                continue;
            }
            // Constants are the triangle's, not the edge's.
            let start = if flat && i != 0 {
                self.with_constants(start, &from)
            } else {
                start
            };
            let prim = Prim::new([start.0, end.0, third.0], group, front, index);
            self.push(route, prim, &b, None);
        }
    }

    /// The same vertex with other constants.
    fn with_constants(&mut self, (vertex, screen): Placed, from: &[u32]) -> Placed {
        let words = self.group.words;
        let local = (u32::from(vertex) - self.group.first_vertex) as usize;
        // Vertices of the draw are copied into the chunk at the end only.
        let mut block = if local < self.vertices {
            self.cells.block(local)
        } else {
            let word = self.group.first_word + local * words;
            self.chunk.blocks[word..word + words].to_vec()
        };
        self.constants(&mut block, from);
        self.fresh(screen, &block)
    }

    fn push(&mut self, route: Route, prim: Prim, b: &Rect, triangle: Option<&[ScreenVertex; 3]>) {
        let number = self.chunk.prims.len() as u16;
        self.chunk.prims.push(prim);
        place(self.grid, route.first_tile, b, self.sorter, number, triangle);
    }

    fn thin_bounds(&self, shape: Shape, v: &[ScreenVertex; 2]) -> Rect {
        let extended = &self.state.pipeline.primitive.extended;
        match (shape, extended.line_mode) {
            (Shape::Line, LineMode::Aliased) => line_bounds(v),
            (Shape::Line, LineMode::Rectangular) => rectangle_bounds(v),
            (Shape::Line, LineMode::AlphaAntialiased) => smooth_bounds(v),
            _ if extended.point_mode == PointMode::Square && self.state.pipeline.coverage.bytes() > 1 => {
                square_bounds(&v[0])
            }
            _ => point_bounds(&v[0]),
        }
    }

    /// Lines and points.
    pub(super) fn thin(&mut self, collected: &Collected, start: u32, end: u32, index: u32) {
        let k = self.group.shape.corners();
        let corners = &collected.corners[start as usize * k..];
        for (n, c) in corners.chunks_exact(k).take((end - start) as usize).enumerate() {
            self.thin_primitive(&[c[0], c[k - 1]], index.wrapping_add(n as u32));
        }
    }

    fn thin_primitive(&mut self, corners: &[u32; 2], index: u32) {
        let shape = self.group.shape;
        let provoking = self.state.pipeline.primitive.extended.provoking_vertex;
        let lead = usize::from(provoking == ProvokingVertex::Last);
        self.gained -= 1;
        if self.is_cut_away(corners) {
            return;
        }
        let Some(route) = self.route(corners[lead]) else { return };
        let Some(codes) = self.codes(route, corners) else {
            return;
        };
        let planes = codes & code::CLIP;
        let placed = if planes == 0 {
            self.whole(route, corners)
        } else if shape == Shape::Line {
            let p = corners.map(|i| self.cells.vertex(i as usize));
            let clipped = clip_line(&self.view(route).planes, &p, planes);
            self.place_points(route, &clipped, corners, lead, lead)
        } else {
            // A point is in or out by its centre (R-RAST-62); one outside of the guard band is out of the viewport.
            return;
        };
        let &[(i, v), (j, w)] = placed.corners() else { return };
        self.gained += 1;
        let b = self.thin_bounds(shape, &[v, w]).intersect(self.view(route).rect);
        if !b.is_empty() {
            let group = self.group_of(route, false, codes);
            self.push(route, Prim::new([i, j, j], group, true, index), &b, None);
        }
    }
}

/// A clip distance between two of which one is infinite at least (R-RAST-13): `a + t*(b-a)` would be NaN.
fn mix_infinite(a: f32, b: f32, t: f32) -> f32 {
    match t {
        t if t <= 0.0 => a,
        t if t >= 1.0 => b,
        t => (1.0 - t) * a + t * b,
    }
}
