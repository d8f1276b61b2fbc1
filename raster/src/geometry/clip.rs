//! Clipping in clip space against near, far, w and guard band (R-RAST-10 to 12, R-RAST-16 to 18).
//!
//! Intersections are always computed from the inside vertex to the outside one, so two triangles that share an edge
//! get the same new vertex, and planes come in one order: no cracks, no double hits. Attributes of new vertices are
//! mixed afterwards, by the recipe kept in [`Clipped::mixes`].

use super::view::{MIN_W, ViewTransform, code};

/// The planes of one viewport.
#[derive(Clone, Copy, Debug)]
pub struct ClipPlanes {
    guard: [f32; 4],
}

impl ClipPlanes {
    /// The planes that belong to this transform.
    pub fn new(view: &ViewTransform) -> ClipPlanes {
        ClipPlanes { guard: view.guard }
    }

    /// Signed distance from a plane, in the unit that suits it: inside is >= 0.
    fn distance(&self, plane: u16, [x, y, z, w]: [f32; 4]) -> f32 {
        let [left, right, below, above] = self.guard;
        match plane {
            code::NEAR => z,
            code::FAR => w - z,
            code::W => w - MIN_W,
            code::GUARD_LEFT => x - left * w,
            code::GUARD_RIGHT => right * w - x,
            code::GUARD_BELOW => y - below * w,
            _ => above * w - y,
        }
    }
}

/// w first, so that all later distances have a positive w.
const ORDER: [u16; 7] = [
    code::W,
    code::NEAR,
    code::FAR,
    code::GUARD_LEFT,
    code::GUARD_RIGHT,
    code::GUARD_BELOW,
    code::GUARD_ABOVE,
];

/// How a new vertex came about: on the way from `from` to `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mix {
    /// Index in [`Clipped::points`].
    pub from: u8,
    /// Index in [`Clipped::points`].
    pub to: u8,
    /// Parameter in clip space: that of perspective attributes.
    pub t: f32,
    /// Parameter in screen space: that of linear (noperspective) attributes.
    pub screen_t: f32,
}

/// Most points that clipping can make: 3, and 2 new ones a plane.
const MAX_POINTS: usize = 3 + 2 * ORDER.len();

/// Corners of a clipped triangle, at most: 3, and 1 more a plane.
pub(crate) const MAX_CORNERS: usize = 3 + ORDER.len();

/// A clipped triangle or line.
#[derive(Clone, Debug)]
pub struct Clipped {
    points: [[f32; 4]; MAX_POINTS],
    mixes: [Mix; MAX_POINTS],
    point_count: usize,
    polygon: [u8; MAX_CORNERS],
    /// Whether the edge from that corner on is (part of) one of the original's.
    edges: [bool; MAX_CORNERS],
    corner_count: usize,
}

impl Clipped {
    fn new(corners: &[[f32; 4]]) -> Clipped {
        let mut points = [[0.0; 4]; MAX_POINTS];
        points[..corners.len()].copy_from_slice(corners);
        let mut polygon = [0; MAX_CORNERS];
        for (i, p) in polygon.iter_mut().enumerate().take(corners.len()) {
            *p = i as u8;
        }
        Clipped {
            points,
            mixes: [Mix::default(); MAX_POINTS],
            point_count: corners.len(),
            polygon,
            edges: [true; MAX_CORNERS],
            corner_count: corners.len(),
        }
    }

    /// What remains: indices into [`points`](Self::points), in the original order; empty if nothing remains. The
    /// original vertices are points 0, 1 and 2.
    pub fn polygon(&self) -> &[u8] {
        &self.polygon[..self.corner_count]
    }

    /// Whether the edge from each corner to the next is the original's; if not, clipping made it (R-RAST-17).
    pub fn edges(&self) -> &[bool] {
        &self.edges[..self.corner_count]
    }

    /// Original and new points in clip space, in the order they came about.
    pub fn points(&self) -> &[[f32; 4]] {
        &self.points[..self.point_count]
    }

    /// Recipes of the points; those of the original vertices are meaningless.
    pub fn mixes(&self) -> &[Mix] {
        &self.mixes[..self.point_count]
    }

    /// Lets the polygon start at corner `k`.
    pub fn rotate(&mut self, k: usize) {
        self.polygon[..self.corner_count].rotate_left(k);
        self.edges[..self.corner_count].rotate_left(k);
    }

    fn cut(&mut self, from: u8, to: u8, plane: u16, d_from: f32, d_to: f32) -> u8 {
        let (a, b) = (self.points[from as usize], self.points[to as usize]);
        let t = d_from / (d_from - d_to);
        let mut p: [f32; 4] = std::array::from_fn(|k| a[k] + t * (b[k] - a[k]));
        match plane {
            code::NEAR => p[2] = 0.0,
            code::FAR => p[2] = p[3],
            code::W => p[3] = MIN_W,
            _ => {}
        }
        self.points[self.point_count] = p;
        self.mixes[self.point_count] = Mix {
            from,
            to,
            t,
            screen_t: t * b[3] / p[3],
        };
        self.point_count += 1;
        self.point_count as u8 - 1
    }

    fn finish(mut self) -> Clipped {
        let finite = self
            .polygon()
            .iter()
            .all(|&i| self.points[i as usize].iter().all(|v| v.is_finite()));
        if !finite {
            self.corner_count = 0;
        }
        self
    }
}

/// Clips a triangle against the planes whose codes are in `planes`.
pub fn clip_triangle(clip: &ClipPlanes, corners: &[[f32; 4]; 3], planes: u16) -> Clipped {
    let mut c = Clipped::new(corners);
    for plane in ORDER {
        if planes & plane == 0 || c.corner_count == 0 {
            continue;
        }
        let (old, edges) = (c.polygon, c.edges);
        let n = c.corner_count;
        let d = old.map(|i| clip.distance(plane, c.points[i as usize]));
        let inside = d.map(|d| d >= 0.0);
        // A polygon that rounding has bent may cross a plane more than twice; what doesn't fit is cut off.
        let mut out = 0;
        let mut push = |c: &mut Clipped, point: u8, edge: bool| {
            if out < MAX_CORNERS {
                c.polygon[out] = point;
                c.edges[out] = edge;
                out += 1;
            }
        };
        for i in 0..n {
            let j = (i + 1) % n;
            if inside[i] {
                push(&mut c, old[i], edges[i]);
            }
            if inside[i] != inside[j] && c.point_count < MAX_POINTS {
                let point = if inside[i] {
                    c.cut(old[i], old[j], plane, d[i], d[j])
                } else {
                    c.cut(old[j], old[i], plane, d[j], d[i])
                };
                // From where the polygon leaves to where it comes back, the edge is the plane's.
                push(&mut c, point, edges[i] && !inside[i]);
            }
        }
        c.corner_count = if out < 3 { 0 } else { out };
    }
    c.finish()
}

/// Clips a line; the polygon has two corners, or none.
pub fn clip_line(clip: &ClipPlanes, ends: &[[f32; 4]; 2], planes: u16) -> Clipped {
    let mut c = Clipped::new(ends);
    for plane in ORDER {
        if planes & plane == 0 || c.corner_count == 0 {
            continue;
        }
        let [a, b] = [c.polygon[0], c.polygon[1]];
        let [da, db] = [a, b].map(|i| clip.distance(plane, c.points[i as usize]));
        match (da >= 0.0, db >= 0.0) {
            (true, true) => {}
            (true, false) => c.polygon[1] = c.cut(a, b, plane, da, db),
            (false, true) => c.polygon[0] = c.cut(b, a, plane, db, da),
            (false, false) => c.corner_count = 0,
        }
    }
    c.finish()
}

#[cfg(test)]
mod tests {
    use super::super::view::Viewport;
    use super::*;

    fn planes() -> ClipPlanes {
        let view = Viewport {
            x: 0.0,
            y: 0.0,
            width: 100.0,
            height: 100.0,
            min_depth: 0.0,
            max_depth: 1.0,
        };
        ClipPlanes::new(&ViewTransform::new(&view, true))
    }

    /// The worked example of section 2.
    #[test]
    fn r_rast_16_near_plane() {
        let ends = [[0.0, 0.0, 0.5, 1.0], [3.0, 0.0, -1.5, 3.0]];
        let c = clip_line(&planes(), &ends, code::NEAR);
        assert_eq!(c.polygon(), [0, 2]);
        assert_eq!(c.points()[2], [0.75, 0.0, 0.0, 1.5]);
        assert_eq!(
            c.mixes()[2],
            Mix {
                from: 0,
                to: 1,
                t: 0.25,
                screen_t: 0.5
            }
        );
    }

    #[test]
    fn a_corner_is_cut_off_and_another_remains() {
        let corners = [[0.0, 0.0, -0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        let c = clip_triangle(&planes(), &corners, code::NEAR);
        assert_eq!(c.polygon().len(), 4);
        assert!(c.polygon().iter().all(|&i| c.points()[i as usize][2] >= 0.0));
        let corners = [[0.0, 0.0, 0.5, 1.0], [1.0, 0.0, -0.5, 1.0], [0.0, 1.0, -0.5, 1.0]];
        assert_eq!(clip_triangle(&planes(), &corners, code::NEAR).polygon(), [0, 3, 4]);
    }

    /// R-RAST-17: edges that clipping makes are told apart, for wireframes.
    #[test]
    fn r_rast_17_new_edges_are_known() {
        let corners = [[0.0, 0.0, -0.5, 1.0], [1.0, 0.0, 0.5, 1.0], [0.0, 1.0, 0.5, 1.0]];
        let c = clip_triangle(&planes(), &corners, code::NEAR);
        let made: Vec<usize> = (0..4).filter(|&i| !c.edges()[i]).collect();
        let [k] = made[..] else { panic!("{made:?}") };
        let ends = [c.polygon()[k], c.polygon()[(k + 1) % 4]];
        assert!(ends.iter().all(|&i| i >= 3 && c.points()[i as usize][2] == 0.0));
    }

    /// R-RAST-17: neighbours get the same new vertices on a shared edge.
    #[test]
    fn r_rast_17_shared_edges_are_cut_alike() {
        let (a, b) = ([0.3, -0.7, 0.9, 1.3], [0.1, 2.7, -0.9, 0.7]);
        let one = clip_triangle(&planes(), &[a, b, [5.0, 0.0, 0.5, 1.0]], code::NEAR);
        let other = clip_triangle(&planes(), &[b, a, [-5.0, 0.0, 0.4, 1.0]], code::NEAR);
        let new = |c: &Clipped| c.points()[3..].to_vec();
        assert!(new(&one).iter().any(|p| new(&other).contains(p)));
    }

    #[test]
    fn nothing_behind_the_eye_survives() {
        let corners = [[0.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.5, -1.0], [0.0, 1.0, 0.5, -2.0]];
        let all = code::CLIP & !(code::NEAR | code::FAR);
        let c = clip_triangle(&planes(), &corners, all);
        assert!(c.polygon().len() >= 3);
        for &i in c.polygon() {
            let [x, y, _, w] = c.points()[i as usize];
            assert!(w > 0.0 && (x / w).abs() < 700.0 && (y / w).abs() < 700.0);
        }
        let corners = [
            [f32::INFINITY, 0.0, 0.5, 1.0],
            [1.0, 0.0, 0.5, 1.0],
            [0.0, 1.0, 0.5, 1.0],
        ];
        assert!(
            clip_triangle(&planes(), &corners, code::GUARD_RIGHT)
                .polygon()
                .is_empty()
        );
    }
}
