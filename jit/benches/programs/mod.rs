//! The programs that the executors' benchmark runs: fragment-shaped, inputs and outputs are planes of a tile.

use quadrille_frontend::ir::{
    Access, Alu, Arena, Binding, Function, FunctionBuilder, Kind, LoopBound, Op, OutOfBounds, Resource, ResourceClass,
    ResourceRef, Sources, Value,
};
use quadrille_frontend::passes;
use quadrille_jit::{Program, ProgramKind};

/// A program and how many operations a lane executes in it, about.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The optimised program: planes 0 to 3 in, 4 to 7 out, buffer 0 bound.
    pub program: Program,
    /// Operations a lane executes.
    pub operations: u64,
}

/// Planes in; as many follow that go out.
pub const PLANES: u32 = 4;
/// Pairs of the tile.
pub const PAIRS: usize = 32;
/// Bytes of a plane.
pub const PLANE: u32 = 32 * PAIRS as u32;

struct Build {
    b: FunctionBuilder,
    operations: u64,
    /// Rounds of the loops around.
    rounds: u64,
}

impl Build {
    fn op(&mut self, alu: Alu, args: &[Value]) -> Value {
        self.operations += self.rounds;
        self.b.alu(alu, args)
    }
    fn add(&mut self, x: Value, y: Value) -> Value {
        self.op(Alu::FAdd, &[x, y])
    }
    fn sub(&mut self, x: Value, y: Value) -> Value {
        self.op(Alu::FSub, &[x, y])
    }
    fn mul(&mut self, x: Value, y: Value) -> Value {
        self.op(Alu::FMul, &[x, y])
    }
    fn fma(&mut self, x: Value, y: Value, z: Value) -> Value {
        self.op(Alu::FFma, &[x, y, z])
    }
    fn c(&mut self, x: f32) -> Value {
        self.b.f32(x)
    }
    fn input(&mut self, slot: u32) -> Value {
        let op = Op::TileLoad {
            plane: slot,
            kind: Kind::F32,
        };
        self.b.inst1(op, &[], Kind::F32)
    }
    fn output(&mut self, slot: u32, value: Value) {
        let all = self.b.bool(true);
        self.b.inst(Op::TileStore { plane: PLANES + slot }, &[value, all], &[]);
    }
    fn load(&mut self, offset: Value) -> Value {
        self.operations += self.rounds;
        let op = Op::BufferLoad {
            buffer: ResourceRef {
                resource: quadrille_frontend::ir::Handle::from_index(0),
                indexed: false,
            },
            kind: Kind::F32,
            access: Access {
                bounds: OutOfBounds::Zero,
                align: 4,
            },
        };
        self.b.inst1(op, &[offset], Kind::F32)
    }

    /// `rounds` iterations with locals of these initial values; the body gives the next values, given the counter.
    fn repeat(
        &mut self,
        rounds: u64,
        initial: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let counter = self.b.local("i", Kind::U32);
        let zero = self.b.u32(0);
        self.b.set(counter, zero);
        let locals: Vec<_> = initial
            .iter()
            .map(|&v| {
                let local = self.b.local("", self.b.kind(v));
                self.b.set(local, v);
                local
            })
            .collect();
        self.b.begin_loop(LoopBound::Budgeted);
        self.rounds *= rounds;
        let i = self.b.get(counter);
        let now: Vec<Value> = locals.iter().map(|&l| self.b.get(l)).collect();
        let next = body(self, i, &now);
        for (&local, &value) in locals.iter().zip(&next) {
            self.b.set(local, value);
        }
        self.b.begin_continuing();
        let i = self.b.get(counter);
        let one = self.b.u32(1);
        let next = self.op(Alu::IAdd, &[i, one]);
        self.b.set(counter, next);
        let limit = self.b.u32(rounds as u32);
        let done = self.op(Alu::ULe, &[limit, next]);
        self.b.end_loop(Some(done));
        self.rounds /= rounds;
        locals.iter().map(|&l| self.b.get(l)).collect()
    }
}

fn case(name: &'static str, build: impl FnOnce(&mut Build)) -> Case {
    let mut b = Build {
        b: FunctionBuilder::new(name),
        operations: 0,
        rounds: 1,
    };
    build(&mut b);
    let mut resources = Arena::new();
    resources.push(Resource {
        name: "data".into(),
        span: None,
        class: ResourceClass::Storage {
            writable: false,
            min_size: 0,
        },
        count: 1,
        binding: Binding::WebGpu { group: 0, binding: 0 },
    });
    // Not contracted, so that a C compiler can be given the same operations.
    let options = passes::Options {
        contract: false,
        ..passes::Options::default()
    };
    let function: Function = match passes::optimize(b.b.finish(), &resources, &options) {
        Ok((function, _)) => function,
        Err(error) => panic!("{name}: {error}"),
    };
    Case {
        name,
        program: Program {
            name: name.into(),
            kind: ProgramKind::Fragment {
                samples: 1,
                plane_stride: PLANE,
            },
            function,
            resources,
            slots: vec![0],
            sources: Sources::default(),
        },
        operations: b.operations,
    }
}

/// A straight run of mixed float operations, each on recent values.
fn straight(b: &mut Build, count: u32) {
    let mut values: Vec<Value> = (0..4).map(|i| b.input(i)).collect();
    let mut state = 12345u32;
    for _ in 0..count {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let n = values.len();
        let pick = |s: u32| values[n - 1 - (s as usize % n.min(24))];
        let (x, y, z) = (pick(state >> 8), pick(state >> 13), pick(state >> 18));
        let v = match state >> 28 {
            0..=4 => b.add(x, y),
            5..=9 => b.mul(x, y),
            10..=12 => b.sub(x, y),
            13 => b.op(Alu::FMax, &[x, y]),
            14 => b.fma(x, y, z),
            _ => {
                let c = b.op(Alu::FLt, &[x, y]);
                b.op(Alu::Select, &[c, x, z])
            }
        };
        values.push(v);
    }
    let n = values.len();
    let mut sum = values[n - 1];
    for i in 2..20 {
        sum = b.add(sum, values[n - i]);
    }
    b.output(0, sum);
}

/// All programs.
pub fn cases() -> Vec<Case> {
    vec![
        case("trivial", |b| {
            let (x, y) = (b.input(0), b.input(1));
            let v = b.add(x, y);
            b.output(0, v);
        }),
        case("transform", |b| {
            // Three components through a 4x4 matrix in a buffer, and a perspective divide.
            let v: Vec<Value> = (0..3).map(|i| b.input(i)).collect();
            let mut rows = Vec::new();
            for row in 0..4 {
                let at = |b: &mut Build, column: u32| {
                    let offset = b.b.u32((row * 4 + column) * 4);
                    b.load(offset)
                };
                let mut sum = at(b, 3);
                for (column, &v) in v.iter().enumerate() {
                    let m = at(b, column as u32);
                    sum = b.fma(m, v, sum);
                }
                rows.push(sum);
            }
            for i in 0..3 {
                let v = b.op(Alu::FDiv, &[rows[i as usize], rows[3]]);
                b.output(i, v);
            }
        }),
        case("straight 100", |b| straight(b, 100)),
        case("straight 300", |b| straight(b, 300)),
        case("straight 1000", |b| straight(b, 1000)),
        case("mandelbrot", |b| {
            let (cx, cy) = (b.input(0), b.input(1));
            let zero = b.c(0.0);
            let out = b.repeat(64, &[zero, zero, zero], |b, _, now| {
                let (x, y, n) = (now[0], now[1], now[2]);
                let (xx, yy, xy) = (b.mul(x, x), b.mul(y, y), b.mul(x, y));
                let two = b.c(2.0);
                let four = b.c(4.0);
                let d = b.sub(xx, yy);
                let nx = b.add(d, cx);
                let ny = b.fma(two, xy, cy);
                let r = b.add(xx, yy);
                let inside = b.op(Alu::FLe, &[r, four]);
                let one = b.c(1.0);
                let more = b.add(n, one);
                [(nx, x), (ny, y), (more, n)]
                    .map(|(new, old)| b.op(Alu::Select, &[inside, new, old]))
                    .to_vec()
            });
            b.output(0, out[2]);
        }),
        case("sphere march", |b| {
            let (px, py) = (b.input(0), b.input(1));
            let start = b.c(0.0);
            let out = b.repeat(32, &[start], |b, _, now| {
                let t = now[0];
                let scale = b.c(0.37);
                let x = b.fma(px, t, scale);
                let y = b.mul(py, t);
                let xx = b.mul(x, x);
                let s = b.fma(y, y, xx);
                let s = b.fma(t, t, s);
                let len = b.op(Alu::FSqrt, &[s]);
                let one = b.c(1.0);
                let d = b.sub(len, one);
                let d = b.op(Alu::FAbs, &[d]);
                let half = b.c(0.5);
                vec![b.fma(d, half, t)]
            });
            b.output(0, out[0]);
        }),
        case("hash", |b| {
            let x = b.input(0);
            let mut h = b.b.bitcast(x, Kind::U32);
            for round in 0..24u32 {
                let k = b.b.u32(0x9e37_79b1 ^ round);
                let s = b.b.u32(13 + round % 5);
                let shifted = b.op(Alu::ShrU, &[h, s]);
                h = b.op(Alu::Xor, &[h, shifted]);
                h = b.op(Alu::IMul, &[h, k]);
            }
            let v = b.op(Alu::UToF, &[h]);
            b.output(0, v);
        }),
        case("lights", |b| {
            // A loop over records in a buffer: a uniform counter, scalar loads.
            let (px, py, pz) = (b.input(0), b.input(1), b.input(2));
            let zero = b.c(0.0);
            let out = b.repeat(16, &[zero], |b, i, now| {
                let stride = b.b.u32(16);
                let base = b.op(Alu::IMul, &[i, stride]);
                let mut part = [zero; 4];
                for (k, slot) in part.iter_mut().enumerate() {
                    let k = b.b.u32(4 * k as u32);
                    let at = b.op(Alu::IAdd, &[base, k]);
                    *slot = b.load(at);
                }
                let (dx, dy, dz) = (b.sub(part[0], px), b.sub(part[1], py), b.sub(part[2], pz));
                let s = b.mul(dx, dx);
                let s = b.fma(dy, dy, s);
                let s = b.fma(dz, dz, s);
                let one = b.c(1.0);
                let s = b.add(s, one);
                let f = b.op(Alu::FDiv, &[part[3], s]);
                vec![b.add(now[0], f)]
            });
            b.output(0, out[0]);
        }),
        case("gather", |b| {
            // Four loads at an offset that differs by lane.
            let x = b.input(3);
            let i = b.b.bitcast(x, Kind::U32);
            let mask = b.b.u32(0xf0);
            let at = b.op(Alu::And, &[i, mask]);
            for k in 0..4 {
                let word = b.b.u32(4 * k);
                let at = b.op(Alu::IAdd, &[at, word]);
                let v = b.load(at);
                b.output(k, v);
            }
        }),
        case("transcendental", |b| {
            let (x, y) = (b.input(0), b.input(1));
            let x = b.op(Alu::FAbs, &[x]);
            let p = b.op(Alu::FPow, &[x, y]);
            let s = b.op(Alu::FSin, &[y]);
            let e = b.op(Alu::FExp2, &[s]);
            let v = b.mul(p, e);
            b.output(0, v);
        }),
        case("divergent", |b| {
            // Lanes of one quad take different sides and leave at different rounds.
            let x = b.input(0);
            let zero = b.c(0.0);
            let out = b.repeat(16, &[x, zero], |b, _, now| {
                let limit = b.c(0.5);
                let up = b.op(Alu::FLt, &[now[0], limit]);
                let r = b.b.local("r", Kind::F32);
                b.b.begin_if(up);
                let v = b.fma(now[0], now[0], limit);
                let v = b.op(Alu::FSqrt, &[v]);
                b.b.set(r, v);
                b.b.begin_else();
                let k = b.c(0.75);
                let v = b.mul(now[0], k);
                let v = b.sub(v, limit);
                b.b.set(r, v);
                b.b.end_if();
                let v = b.b.get(r);
                let sum = b.add(now[1], v);
                vec![v, sum]
            });
            b.output(0, out[1]);
        }),
    ]
}
