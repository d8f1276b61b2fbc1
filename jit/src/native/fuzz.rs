//! Random programs on native code at both widths against the interpreter: equal to the bit, NaNs as a class (law L1).
//!
//! `QUADRILLE_FUZZ=N` runs N programs instead of the few that the test suite can afford; `QUADRILLE_FUZZ_SEED=S` starts
//! at program S.

use super::{Features, Interleave, Jit, JitOptions, Lanes};
use crate::abi::{Binding, Cell, Context, Pair, RESULT_CELL, Run, TextureInfo, WidePair};
use crate::interp::Interpreter;
use crate::program::{Compiled, Executor, Program, ProgramKind};
use quadrille_frontend::ir::{
    Access, Alu, Arena, AtomicOp, Binding as At, Dim, FunctionBuilder, Handle, Kind, Label, Local, LocalArray, Lod,
    LoopBound, Op, OutOfBounds, QuadOp, Resource, ResourceClass, ResourceRef, SampleKind, SampleOp, TexelOp,
    TextureQuery, Value, text,
};
use quadrille_frontend::passes;
use std::sync::Arc;

/// A small generator of random numbers (xorshift*), so that a seed names a program.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n.max(1)
    }
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
    /// Bits that are often special as a float or an integer.
    fn bits(&mut self) -> u32 {
        const SPECIAL: [u32; 24] = [
            0,
            0x8000_0000,
            1,
            2,
            31,
            32,
            33,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x4000_0000,
            0x4f00_0000,
            0xcf00_0000,
            0x4f80_0000,
            0x0080_0000,
            0x007f_ffff,
            0x8000_0001,
            0x7fff_ffff,
            0xffff_ffff,
            0x7f7f_ffff,
            0x4b00_0000,
            0x3f00_0000,
        ];
        match self.below(4) {
            0 => SPECIAL[self.below(24) as usize],
            1 => self.next(),
            2 => (self.below(2000) as f32 / 64.0 - 15.0).to_bits(),
            _ => self.below(12),
        }
    }
}

const KINDS: [Kind; 4] = [Kind::F32, Kind::U32, Kind::I32, Kind::Bool];

fn pool(kind: Kind) -> usize {
    match kind {
        Kind::F32 => 0,
        Kind::U32 => 1,
        Kind::I32 => 2,
        _ => 3,
    }
}

/// A construct that exits may name.
#[derive(Clone, Copy)]
struct Open {
    label: Label,
    is_loop: bool,
}

struct Gen {
    rng: Rng,
    b: FunctionBuilder,
    pools: [Vec<Value>; 4],
    locals: [Vec<Handle<Local>>; 4],
    arrays: Vec<(Handle<LocalArray>, Kind)>,
    open: Vec<Open>,
    /// A u32 that differs in every lane of the run, below 4096.
    id: Value,
    fragment: bool,
    left: i32,
    /// No texture and buffer access and no large arrays: what can be interleaved.
    simple: bool,
}

/// Words of the writable buffer that a lane owns.
const OWN_WORDS: u32 = 16;
const READ_ONLY: usize = 0;
const WRITABLE: usize = 1;
const TEXTURES: usize = 2;
const SAMPLERS: usize = 3;

fn resources() -> (Arena<Resource>, Vec<u32>) {
    let mut resources = Arena::new();
    let mut add = |class: ResourceClass, count: u32| {
        let binding = resources.len() as u32;
        resources.push(Resource {
            name: format!("r{binding}"),
            span: None,
            class,
            count,
            binding: At::WebGpu { group: 0, binding },
        });
    };
    add(
        ResourceClass::Storage {
            writable: false,
            min_size: 16,
        },
        1,
    );
    add(
        ResourceClass::Storage {
            writable: true,
            min_size: 0,
        },
        1,
    );
    add(
        ResourceClass::Texture {
            dim: Dim::D2,
            array: false,
            multisampled: false,
            sample: SampleKind::Float,
        },
        3,
    );
    add(ResourceClass::Sampler { comparison: false }, 1);
    (resources, vec![0, 1, 2, 5])
}

fn buffer(index: usize) -> ResourceRef {
    ResourceRef {
        resource: Handle::from_index(index),
        indexed: false,
    }
}

impl Gen {
    fn pick(&mut self, kind: Kind) -> Value {
        let pool = &self.pools[pool(kind)];
        // Recent values more often, so that chains form.
        let n = pool.len() as u32;
        let i = if self.rng.chance(60) {
            n - 1 - self.rng.below(n.min(6))
        } else {
            self.rng.below(n)
        };
        self.pools[self::pool(kind)][i as usize]
    }

    fn keep(&mut self, value: Value) {
        let kind = self.b.kind(value);
        self.pools[pool(kind)].push(value);
    }

    fn random_kind(&mut self) -> Kind {
        KINDS[self.rng.below(4) as usize]
    }

    fn constant(&mut self) {
        let kind = self.random_kind();
        let bits = self.rng.bits();
        let v = match kind {
            Kind::F32 => self.b.f32(f32::from_bits(bits)),
            Kind::U32 => self.b.u32(bits),
            Kind::I32 => self.b.i32(bits as i32),
            _ => self.b.bool(bits & 1 != 0),
        };
        self.keep(v);
    }

    fn alu(&mut self) {
        use quadrille_frontend::ir::alu::Class;
        let all: Vec<Alu> = Alu::ALL.iter().copied().filter(|a| a.is_primitive()).collect();
        let op = all[self.rng.below(all.len() as u32) as usize];
        let (args, _) = op.signature();
        let int = if self.rng.chance(50) { Kind::U32 } else { Kind::I32 };
        let bits = [Kind::U32, Kind::I32, Kind::Bool][self.rng.below(3) as usize];
        let any = self.random_kind();
        let args: Vec<Value> = args
            .iter()
            .map(|class| {
                let kind = match class {
                    Class::Float => Kind::F32,
                    Class::Int => int,
                    Class::Bits => bits,
                    Class::Any => any,
                    Class::Is(kind) => *kind,
                };
                self.pick(kind)
            })
            .collect();
        let v = self.b.alu(op, &args);
        self.keep(v);
    }

    /// Bits of a float, NaNs made one.
    fn canonical_bits(&mut self, value: Value) -> Value {
        let value = self.b.alu(Alu::Canon, &[value]);
        self.b.bitcast(value, Kind::U32)
    }

    fn bitcast(&mut self) {
        let v = match self.rng.below(3) {
            0 => {
                let x = self.pick(Kind::F32);
                self.canonical_bits(x)
            }
            1 => {
                let x = self.pick(Kind::U32);
                self.b.bitcast(x, Kind::F32)
            }
            _ => {
                let x = self.pick(Kind::I32);
                self.b.bitcast(x, Kind::U32)
            }
        };
        self.keep(v);
    }

    fn quad(&mut self) {
        let kind = self.random_kind();
        let swap = [
            QuadOp::SwapX,
            QuadOp::SwapY,
            QuadOp::SwapDiagonal,
            QuadOp::Broadcast(self.rng.below(4) as u8),
        ];
        let difference = [QuadOp::DdxCoarse, QuadOp::DdxFine, QuadOp::DdyCoarse, QuadOp::DdyFine];
        let i = self.rng.below(4) as usize;
        let op = if kind == Kind::F32 && self.rng.chance(60) {
            difference[i]
        } else {
            swap[i]
        };
        let x = self.pick(kind);
        let v = self.b.quad(op, x);
        self.keep(v);
    }

    fn local(&mut self) {
        let kind = self.random_kind();
        let n = self.locals[pool(kind)].len() as u32;
        let local = self.locals[pool(kind)][self.rng.below(n) as usize];
        if self.rng.chance(50) {
            let v = self.b.get(local);
            self.keep(v);
        } else {
            let v = self.pick(kind);
            self.b.set(local, v);
        }
    }

    fn array(&mut self) {
        let n = self.arrays.len() as u32;
        let (array, kind) = self.arrays[self.rng.below(n) as usize];
        let index = if self.rng.chance(30) {
            let i = self.rng.below(80);
            self.b.u32(i)
        } else {
            self.pick(Kind::U32)
        };
        match self.rng.below(9) {
            0 => {
                self.b.inst(Op::ArrayReset(array), &[], &[]);
            }
            1..=4 if array.index() != 3 => {
                let v = self.pick(kind);
                self.b.array_set(array, index, v);
            }
            _ => {
                let v = self.b.array_get(array, index);
                self.keep(v);
            }
        }
    }

    /// Byte offset of a word that this lane alone uses.
    fn own_offset(&mut self) -> Value {
        let v = self.pick(Kind::U32);
        let mask = self.b.u32(OWN_WORDS - 1);
        let word = self.b.alu(Alu::And, &[v, mask]);
        let stride = self.b.u32(OWN_WORDS);
        let first = self.b.alu(Alu::IMul, &[self.id, stride]);
        let word = self.b.alu(Alu::IAdd, &[first, word]);
        let four = self.b.u32(4);
        self.b.alu(Alu::IMul, &[word, four])
    }

    fn memory(&mut self) {
        let access = Access {
            bounds: OutOfBounds::Zero,
            align: 4,
        };
        match self.rng.below(6) {
            0 | 1 => {
                let kind = [Kind::F32, Kind::U32, Kind::I32][self.rng.below(3) as usize];
                let offset = if self.rng.chance(30) {
                    let o = self.rng.below(300);
                    self.b.u32(o)
                } else {
                    let v = self.pick(Kind::U32);
                    if self.rng.chance(80) {
                        let mask = self.b.u32(0x1ff);
                        self.b.alu(Alu::And, &[v, mask])
                    } else {
                        v
                    }
                };
                let op = Op::BufferLoad {
                    buffer: buffer(READ_ONLY),
                    kind,
                    access,
                };
                let v = self.b.inst1(op, &[offset], kind);
                self.keep(v);
            }
            2 => {
                let offset = self.own_offset();
                let v = self.b.inst1(
                    Op::BufferLoad {
                        buffer: buffer(WRITABLE),
                        kind: Kind::U32,
                        access,
                    },
                    &[offset],
                    Kind::U32,
                );
                self.keep(v);
            }
            3 => {
                let offset = self.own_offset();
                let x = self.pick(Kind::F32);
                let v = self.canonical_bits(x);
                let op = Op::BufferStore {
                    buffer: buffer(WRITABLE),
                    access,
                };
                self.b.inst(op, &[offset, v], &[]);
            }
            4 => {
                let offset = self.own_offset();
                let v = self.pick(Kind::U32);
                let ops = [
                    AtomicOp::Add,
                    AtomicOp::Sub,
                    AtomicOp::And,
                    AtomicOp::Or,
                    AtomicOp::Xor,
                    AtomicOp::SMin,
                    AtomicOp::SMax,
                    AtomicOp::UMin,
                    AtomicOp::UMax,
                    AtomicOp::Exchange,
                ];
                let op = Op::BufferAtomic {
                    buffer: buffer(WRITABLE),
                    op: ops[self.rng.below(10) as usize],
                    access,
                };
                let v = self.b.inst1(op, &[offset, v], Kind::U32);
                self.keep(v);
            }
            _ => {
                let offset = self.own_offset();
                let (compare, new) = (self.pick(Kind::U32), self.pick(Kind::U32));
                let op = Op::BufferAtomic {
                    buffer: buffer(WRITABLE),
                    op: AtomicOp::CompareExchange,
                    access,
                };
                let id = self.b.inst(op, &[offset, compare, new], &[Kind::U32, Kind::Bool]);
                for v in self.b.results(id) {
                    self.keep(v);
                }
            }
        }
    }

    fn texture(&mut self) {
        let indexed = self.rng.chance(40);
        let texture = ResourceRef {
            resource: Handle::from_index(TEXTURES),
            indexed,
        };
        let mut args = Vec::new();
        if indexed {
            let v = if self.rng.chance(30) {
                self.b.u32(2)
            } else {
                self.pick(Kind::U32)
            };
            args.push(v);
        }
        match self.rng.below(4) {
            0 => {
                let query =
                    [TextureQuery::Width, TextureQuery::Levels, TextureQuery::Height][self.rng.below(3) as usize];
                if query.takes_level() {
                    let v = self.pick(Kind::U32);
                    args.push(v);
                }
                let v = self.b.inst1(Op::TextureQuery { texture, query }, &args, Kind::U32);
                self.keep(v);
            }
            1 => {
                for kind in [Kind::I32, Kind::I32, Kind::U32] {
                    let v = self.pick(kind);
                    args.push(v);
                }
                let op = TexelOp {
                    dim: Dim::D2,
                    array: false,
                    multisampled: false,
                    mask: 15,
                };
                let op = Op::TexelLoad {
                    texture,
                    op,
                    kind: Kind::U32,
                };
                let id = self.b.inst(op, &args, &[Kind::U32; 4]);
                for v in self.b.results(id) {
                    self.keep(v);
                }
            }
            _ => {
                for _ in 0..2 {
                    let v = self.pick(Kind::F32);
                    let v = self.b.alu(Alu::Canon, &[v]);
                    args.push(v);
                }
                let op = SampleOp {
                    dim: Dim::D2,
                    array: false,
                    lod: Lod::Implicit,
                    compare: false,
                    gather: None,
                    offset: [0; 3],
                    mask: 15,
                };
                let op = Op::Sample {
                    texture,
                    sampler: buffer(SAMPLERS),
                    op,
                };
                let kinds = [Kind::F32, Kind::F32, Kind::F32, Kind::F32, Kind::U32];
                let id = self.b.inst(op, &args, &kinds);
                for v in self.b.results(id) {
                    self.keep(v);
                }
            }
        }
    }

    fn pipeline(&mut self) {
        if !self.fragment {
            return;
        }
        match self.rng.below(7) {
            0 => {
                let v = self.b.inst1(
                    Op::PrimLoad {
                        offset: 24 + 4 * self.rng.below(6),
                        kind: Kind::F32,
                    },
                    &[],
                    Kind::F32,
                );
                self.keep(v);
            }
            1 => {
                let kind = [Kind::F32, Kind::U32][self.rng.below(2) as usize];
                let op = Op::PrimVertexLoad {
                    vertex: self.rng.below(3) as u8,
                    offset: 4 * self.rng.below(4),
                    kind,
                };
                let v = self.b.inst1(op, &[], kind);
                self.keep(v);
            }
            2 => {
                let op = if self.rng.chance(50) { Op::PixelX } else { Op::PixelY };
                let v = self.b.inst1(op, &[], Kind::U32);
                self.keep(v);
            }
            3 => {
                let v = self.b.inst1(Op::Coverage { sample: 0 }, &[], Kind::Bool);
                self.keep(v);
            }
            4 => {
                let v = self.b.inst1(Op::IsHelper, &[], Kind::Bool);
                self.keep(v);
            }
            5 => {
                let v = self.b.inst1(
                    Op::DrawLoad {
                        word: self.rng.below(8),
                        kind: Kind::U32,
                    },
                    &[],
                    Kind::U32,
                );
                self.keep(v);
            }
            _ => {
                self.b.inst(Op::Discard, &[], &[]);
            }
        }
    }

    /// A body: what it defines is forgotten behind it.
    fn scoped(&mut self, count: u32, depth: u32) {
        let lengths = self.pools.each_ref().map(Vec::len);
        self.statements(count, depth);
        for (pool, len) in self.pools.iter_mut().zip(lengths) {
            pool.truncate(len);
        }
    }

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            self.left -= 1;
            if self.left < 0 {
                return;
            }
            match self.rng.below(100) {
                0..=4 => self.constant(),
                5..=44 => self.alu(),
                45..=48 => self.bitcast(),
                49..=53 => self.quad(),
                54..=69 => self.local(),
                70..=80 if self.simple => self.alu(),
                70..=74 => self.array(),
                75..=78 => self.memory(),
                79..=80 => self.texture(),
                81..=84 => self.pipeline(),
                _ if depth > 4 => self.alu(),
                85..=90 => self.branch(depth),
                91..=94 => self.r#loop(depth),
                95..=96 => self.block(depth),
                97..=98 => self.switch(depth),
                _ => {}
            }
        }
    }

    /// Perhaps an exit to some open construct, under a condition.
    fn exit(&mut self) {
        if self.open.is_empty() || self.rng.chance(40) {
            return;
        }
        let cond = self.pick(Kind::Bool);
        let open = self.open[self.rng.below(self.open.len() as u32) as usize];
        self.b.begin_if(cond);
        if self.rng.chance(30) {
            let v = self.pick(Kind::F32);
            self.b.set(self.locals[0][0], v);
        }
        // No returns: inlining has made them breaks, and stores that ignore the mask would tell them apart.
        if open.is_loop && self.rng.chance(40) {
            self.b.continue_(open.label);
        } else {
            self.b.break_(open.label);
        }
        self.b.end_if();
    }

    fn some(&mut self, depth: u32) {
        let n = 1 + self.rng.below(10);
        self.scoped(n, depth + 1);
        self.exit();
        if self.rng.chance(50) {
            let n = 1 + self.rng.below(8);
            self.scoped(n, depth + 1);
        }
    }

    fn branch(&mut self, depth: u32) {
        let cond = self.pick(Kind::Bool);
        self.b.begin_if(cond);
        self.some(depth);
        if self.rng.chance(50) {
            self.b.begin_else();
            self.some(depth);
        }
        self.b.end_if();
    }

    fn block(&mut self, depth: u32) {
        let label = self.b.begin_block();
        self.open.push(Open { label, is_loop: false });
        self.some(depth);
        self.some(depth);
        self.open.pop();
        self.b.end_block();
    }

    fn r#loop(&mut self, depth: u32) {
        let counter = self.b.local("counter", Kind::U32);
        let zero = self.b.u32(0);
        self.b.set(counter, zero);
        let limit = if self.rng.chance(40) {
            let n = self.rng.below(5);
            self.b.u32(n)
        } else {
            let v = self.pick(Kind::U32);
            let mask = self.b.u32(3);
            self.b.alu(Alu::And, &[v, mask])
        };
        let bound = if self.rng.chance(70) {
            LoopBound::Budgeted
        } else {
            LoopBound::AtMost(6)
        };
        let label = self.b.begin_loop(bound);
        let count = self.b.get(counter);
        let done = self.b.alu(Alu::ULe, &[limit, count]);
        let early = self.rng.chance(70);
        if early {
            self.b.begin_if(done);
            self.b.break_(label);
            self.b.end_if();
        }
        let one = self.b.u32(1);
        let next = self.b.alu(Alu::IAdd, &[count, one]);
        self.b.set(counter, next);
        self.open.push(Open { label, is_loop: true });
        self.some(depth);
        self.some(depth);
        let open = std::mem::take(&mut self.open);
        self.b.begin_continuing();
        if self.rng.chance(50) {
            self.scoped(3, 9);
        }
        let break_if = (!early || self.rng.chance(30)).then(|| {
            let count = self.b.get(counter);
            let two = self.b.u32(2);
            let limit = if early { two } else { limit };
            self.b.alu(Alu::ULe, &[limit, count])
        });
        self.b.end_loop(break_if);
        self.open = open;
        self.open.pop();
    }

    fn switch(&mut self, depth: u32) {
        let v = self.pick(Kind::U32);
        let mask = self.b.u32(3);
        let selector = self.b.alu(Alu::And, &[v, mask]);
        let label = self.b.begin_switch(selector);
        self.open.push(Open { label, is_loop: false });
        let default = self.rng.below(5);
        for i in 0..3 {
            let values = if i == 1 { vec![1, 3] } else { vec![i] };
            self.b.begin_case(values, i == default);
            self.some(depth);
            let falls = i < 2 && self.rng.chance(40);
            self.b.end_case(falls);
        }
        self.open.pop();
        self.b.end_switch();
    }
}

const OUTPUTS: u32 = 6;

fn generate(seed: u64, fragment: bool, samples: u8) -> Program {
    let mut b = FunctionBuilder::new(format!("random {seed}"));
    let mut rng = Rng::new(seed);
    let mut pools: [Vec<Value>; 4] = Default::default();
    let id;
    if fragment {
        let x = b.inst1(Op::PixelX, &[], Kind::U32);
        let y = b.inst1(Op::PixelY, &[], Kind::U32);
        let width = b.u32(64);
        let row = b.alu(Alu::IMul, &[y, width]);
        let all = b.alu(Alu::IAdd, &[row, x]);
        let mask = b.u32(4095);
        id = b.alu(Alu::And, &[all, mask]);
        for plane in 0..3 {
            let kind = [Kind::F32, Kind::U32, Kind::I32][plane as usize];
            let v = b.inst1(Op::TileLoad { plane, kind }, &[], kind);
            pools[pool(kind)].push(v);
        }
    } else {
        id = b.inst1(
            Op::CellLoad {
                slot: 0,
                kind: Kind::U32,
            },
            &[],
            Kind::U32,
        );
        for slot in 1..5 {
            let kind = [Kind::F32, Kind::F32, Kind::U32, Kind::I32][slot as usize - 1];
            let v = b.inst1(Op::CellLoad { slot, kind }, &[], kind);
            pools[pool(kind)].push(v);
        }
    }
    pools[1].push(id);
    let (f, u) = (pools[0][0], pools[1][0]);
    let zero = b.f32(0.0);
    let less = b.alu(Alu::FLt, &[f, zero]);
    pools[3].push(less);
    let seven = b.u32(7);
    let less = b.alu(Alu::ULt, &[u, seven]);
    pools[3].push(less);
    let mut locals: [Vec<Handle<Local>>; 4] = Default::default();
    for kind in KINDS {
        for i in 0..3 {
            locals[pool(kind)].push(b.local(format!("{kind}{i}"), kind));
        }
    }
    let arrays = [(4, Kind::U32), (12, Kind::F32), (70, Kind::I32), (20, Kind::U32)]
        .map(|(len, kind)| (b.array("array", kind, len), kind))
        .to_vec();
    b.func.arrays[arrays[3].0].init = (0..20).map(|i| i * 77 + 5).collect();
    b.func.arrays[arrays[0].0].init = vec![9, 8, 7, 6];
    let left = 20 + rng.below(180) as i32;
    let mut g = Gen {
        rng,
        b,
        pools,
        locals,
        arrays,
        open: Vec::new(),
        id,
        fragment,
        left,
        simple: seed & 9 == 9,
    };
    let label = g.b.begin_block();
    g.open.push(Open { label, is_loop: false });
    g.scoped(1000, 0);
    g.b.end_block();
    for output in 0..OUTPUTS {
        let kind = KINDS[output as usize % 4];
        let local = g.locals[pool(kind)][output as usize / 4];
        let mut v = g.b.get(local);
        if kind == Kind::F32 {
            v = g.b.alu(Alu::Canon, &[v]);
        }
        if kind == Kind::Bool {
            let (one, zero) = (g.b.u32(1), g.b.u32(0));
            v = g.b.select(v, one, zero);
        }
        if !fragment {
            g.b.inst(Op::CellStore { slot: output }, &[v], &[]);
        } else if output < 3 {
            let bits = g.b.bitcast(v, Kind::U32);
            let sample = output as u8 % samples;
            let mut mask = g.b.inst1(Op::Coverage { sample }, &[], Kind::Bool);
            if output == 1 {
                let helper = g.b.inst1(Op::IsHelper, &[], Kind::Bool);
                let shown = g.b.alu(Alu::Not, &[helper]);
                mask = g.b.alu(Alu::And, &[mask, shown]);
                g.b.inst(Op::CountInvocations, &[mask], &[]);
            }
            g.b.inst(Op::TileStore { plane: output }, &[bits, mask], &[]);
        }
    }
    let (resources, slots) = resources();
    Program {
        name: format!("random {seed}"),
        kind: if fragment {
            ProgramKind::Fragment {
                samples,
                plane_stride: PLANE as u32,
            }
        } else {
            ProgramKind::Vertex {
                cells_in: 5,
                cells_out: OUTPUTS,
            }
        },
        function: g.b.finish(),
        resources,
        slots,
        sources: Default::default(),
    }
}

/// A sampler of sorts: reads its arguments across the quad, so that wrong inactive lanes show.
unsafe extern "C" fn sample(a: *const Binding, _: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    // Which components are used says nothing about their values.
    let op = op & !(15 << 10);
    // SAFETY: tests bind a valid view and give the scratch its size.
    let (a, cells) = unsafe { (&*a, std::slice::from_raw_parts_mut(cells, crate::abi::CALL_CELLS)) };
    // Passes narrow the mask of used components.
    const UNUSED: u32 = 15 << 10;
    let mut results = [Cell([0xbad; 8]); 5];
    for lane in 0..lanes as usize {
        for (i, result) in results.iter_mut().enumerate() {
            let mix = cells[1].0[lane] ^ cells[2].0[lane ^ 1].rotate_left(7) ^ (op as u32 & !UNUSED) ^ (a.size as u32);
            // Small positive floats, so that nothing here is a NaN.
            result.0[lane] = 0x3f00_0000 | (mix.wrapping_mul(i as u32 * 2 + 1) >> 9);
        }
    }
    cells[RESULT_CELL..RESULT_CELL + 5].copy_from_slice(&results);
    // Whatever else is in the call cells is the intrinsic's to overwrite.
    for (i, cell) in cells[..27].iter_mut().enumerate() {
        *cell = Cell([0x5a5a_0000 + i as u32; 8]);
    }
}

const PLANE: usize = 64 * 32;

/// Everything a program may change.
#[derive(PartialEq, Eq, Clone, Debug)]
struct Outcome {
    cells: Vec<Cell>,
    tile: Vec<Cell>,
    writable: Vec<u32>,
    invocations: u64,
    failed: bool,
}

/// Runs a program on inputs made from the seed.
fn run(program: &Program, compiled: &dyn Compiled, seed: u64, budget: u32) -> Outcome {
    let mut rng = Rng::new(seed ^ 0xabcdef);
    const GROUPS: usize = 3;
    let mut input: Vec<Cell> = (0..GROUPS * 5)
        .map(|_| Cell(std::array::from_fn(|_| rng.bits())))
        .collect();
    for group in 0..GROUPS {
        input[group * 5] = Cell(std::array::from_fn(|i| (group * 8 + i) as u32));
    }
    let draw: Vec<u32> = (0..8).map(|_| rng.bits()).collect();
    let read_only: Vec<u32> = (0..64).map(|_| rng.bits()).collect();
    // Not enough for every lane, so that some are out of bounds.
    let mut writable = vec![
        0u32;
        if matches!(program.kind, ProgramKind::Vertex { .. }) {
            20 * 16
        } else {
            3000 * 16
        }
    ];
    let blocks: Vec<[u32; 4]> = (0..3).map(|_| std::array::from_fn(|_| rng.bits())).collect();
    let mut records: Vec<[u64; 6]> = Vec::new();
    for _ in 0..2 {
        let mut record = [0; 6];
        for (slot, block) in record.iter_mut().zip(&blocks) {
            *slot = block.as_ptr().addr() as u64;
        }
        for word in &mut record[3..] {
            *word = u64::from(rng.bits()) | u64::from(rng.bits()) << 32;
        }
        records.push(record);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut wide: Vec<WidePair> = Vec::new();
    for index in 0..5u16 {
        let coverage: [u8; 16] = std::array::from_fn(|_| match rng.below(4) {
            0 => 0xff,
            1 => 0x0f,
            2 => 0x40,
            _ => rng.next() as u8 | 1,
        });
        let (index, x, y) = (index * 3, (index as u8 % 4) * 4, (index as u8 / 2) * 2);
        pairs.push(Pair {
            index,
            x,
            y,
            coverage: std::array::from_fn(|i| coverage[i]),
        });
        wide.push(WidePair {
            index,
            x,
            y,
            reserved: 0,
            coverage,
        });
    }
    let mut tile: Vec<Cell> = (0..3 * PLANE / 32)
        .map(|_| Cell(std::array::from_fn(|_| rng.bits())))
        .collect();
    let samples = match program.kind {
        ProgramKind::Fragment { samples, .. } => samples,
        _ => 1,
    };
    for pair in &mut pairs {
        for (i, byte) in pair.coverage.iter_mut().enumerate() {
            if i >= samples as usize {
                *byte = 0;
            }
        }
    }
    let first: *const Pair = if samples > 4 {
        wide.as_ptr().cast()
    } else {
        pairs.as_ptr()
    };
    let second: *const Pair = if samples > 4 {
        wide[3..].as_ptr().cast()
    } else {
        pairs[3..].as_ptr()
    };
    let run = |prim: &[u64; 6], pairs, count| Run {
        prim: prim.as_ptr().cast(),
        pairs,
        count,
        reserved: 0,
    };
    let runs = [run(&records[0], first, 3), run(&records[1], second, 2)];
    let info = TextureInfo {
        width: 37,
        height: 20,
        depth: 1,
        layers: 1,
        levels: 6,
        samples: 1,
    };
    let texture = |salt| Binding {
        size: salt,
        sample: Some(sample),
        load: Some(sample),
        info: &info,
        ..Binding::NULL
    };
    let bindings = [
        Binding {
            data: read_only.as_ptr().cast(),
            size: 256,
            ..Binding::NULL
        },
        Binding {
            data: writable.as_mut_ptr().cast(),
            size: size_of_val(&writable[..]) as u64,
            ..Binding::NULL
        },
        texture(1),
        Binding::NULL,
        texture(3),
        Binding::NULL,
    ];
    let mut cells = vec![Cell::default(); GROUPS * OUTPUTS as usize];
    let mut scratch = vec![Cell([0xdead_beef; 8]); compiled.scratch_cells()];
    let vertex = matches!(program.kind, ProgramKind::Vertex { .. });
    let mut context = Context {
        count: if vertex { GROUPS as u32 } else { 2 },
        runs: runs.as_ptr(),
        cells_in: input.as_ptr(),
        cells_out: cells.as_mut_ptr(),
        tile: tile.as_mut_ptr().cast(),
        tile_x: 128,
        tile_y: 64,
        draw: draw.as_ptr(),
        scratch: scratch.as_mut_ptr(),
        bindings: bindings.as_ptr(),
        loop_budget: budget,
        ..Context::new(compiled.stats().lanes)
    };
    // SAFETY: all that generated programs touch is set above, with room for it.
    unsafe { compiled.run(&mut context) };
    Outcome {
        failed: context.status != 0,
        invocations: context.invocations,
        cells,
        tile,
        writable,
    }
}

fn differ(seed: u64, jits: &[(&str, Jit)]) -> u32 {
    let fragment = seed & 1 != 0;
    let samples = [1, 4, 8, 2][(seed >> 1) as usize % 4];
    let program = generate(seed, fragment, samples);
    // Passes prove loops bounded, which then cost no budget.
    let optimised = seed.is_multiple_of(3);
    let budget = if seed.is_multiple_of(5) && !optimised {
        6
    } else {
        1 << 20
    };
    let interpreted = Interpreter
        .compile(&program)
        .expect("the interpreter takes every random program");
    let expected = run(&program, &*interpreted, seed, budget);
    let mut program = program;
    if optimised {
        // What the passes make of it must be the same program still.
        let function = program.function.clone();
        let options = passes::Options {
            contract: false,
            invariant: &[],
        };
        match passes::optimize(function, &program.resources, &options) {
            Ok((function, _)) => program.function = function,
            Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
        }
        let interpreted = Interpreter
            .compile(&program)
            .expect("the interpreter takes optimised programs");
        let got = run(&program, &*interpreted, seed, budget);
        assert!(
            got.failed && expected.failed || got == expected,
            "seed {seed}: the passes changed the program"
        );
    }
    let mut doubled = 0;
    for (name, jit) in jits {
        let show = || text::print_function(&program.function);
        plain(&jit.clif(&program, 4).unwrap_or_default());
        let compiled: Arc<dyn Compiled> = match jit.compile(&program) {
            Ok(compiled) => compiled,
            Err(error) => panic!(
                "seed {seed}, {name}: {error}\n{}\n{}",
                show(),
                jit.clif(&program, 4).unwrap_or_default()
            ),
        };
        doubled += u32::from(compiled.stats().pairs == 2);
        let got = run(&program, &*compiled, seed, budget);
        assert_eq!(got.failed, expected.failed, "seed {seed}, {name}: budget\n{}", show());
        if !got.failed {
            for (what, same) in [
                ("cells", got.cells == expected.cells),
                ("tile", got.tile == expected.tile),
                ("buffer", got.writable == expected.writable),
                ("invocations", got.invocations == expected.invocations),
            ] {
                let detail = || {
                    let first = got.cells.iter().zip(&expected.cells).position(|(a, b)| a != b);
                    let first_tile = got.tile.iter().zip(&expected.tile).position(|(a, b)| a != b);
                    let pick = |at: Option<usize>, o: &Outcome, tile: bool| {
                        at.map(|i| if tile { o.tile[i] } else { o.cells[i] })
                    };
                    format!(
                        "cell {first:?}: {:x?} for {:x?}; tile {first_tile:?}: {:x?} for {:x?}",
                        pick(first, &got, false),
                        pick(first, &expected, false),
                        pick(first_tile, &got, true),
                        pick(first_tile, &expected, true)
                    )
                };
                assert!(same, "seed {seed}, {name}: {what} differ: {}\n{}", detail(), show());
            }
        }
    }
    doubled
}

/// Law L5: nothing that can't be widened, nor traps, nor calls by name.
fn plain(clif: &str) {
    let body = clif.split_once('{').map_or("", |(_, body)| body);
    for word in body.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let banned = [
            "insertlane",
            "extractlane",
            "scalar_to_vector",
            "stack_addr",
            "stack_load",
            "stack_store",
            "br_table",
            "call",
            "trap",
            "trapz",
            "trapnz",
            "udiv",
            "sdiv",
            "urem",
            "srem",
            "fcvt_to_sint",
            "fcvt_to_uint",
            "fmin",
            "fmax",
            "f64x2",
        ];
        assert!(!banned.contains(&word), "{word} in\n{clif}");
    }
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Laws L1 and L2, and everything else that could come between IR and machine code.
#[test]
fn random_programs_agree_with_the_interpreter() {
    let jit = |lanes, features, interleave| {
        Jit::new(JitOptions {
            lanes,
            features,
            interleave,
        })
        .expect("a supported CPU")
        .on_decline(|name, why| panic!("{name} stays at four lanes: {why}"))
    };
    let jits = [
        ("4 lanes", jit(Lanes::Four, Features::Host, Interleave::Auto)),
        ("8 lanes", jit(Lanes::Auto, Features::Host, Interleave::Never)),
        ("two pairs", jit(Lanes::Auto, Features::Host, Interleave::Always)),
        ("no fma", jit(Lanes::Four, Features::NoFma, Interleave::Auto)),
        ("baseline", jit(Lanes::Four, Features::Baseline, Interleave::Auto)),
    ];
    let count = env("QUADRILLE_FUZZ").unwrap_or(40);
    let first = env("QUADRILLE_FUZZ_SEED").unwrap_or(1);
    let doubled: u32 = (first..first + count).map(|seed| differ(seed, &jits)).sum();
    assert!(doubled > 0 || count < 20, "no program had two pairs in flight");
}

/// Laws L1, L2 and I4: passes change nothing that a program leaves behind. Contraction does, and is left out.
#[test]
fn optimised_random_programs_do_the_same() {
    let jit = |lanes| {
        let features = Features::Host;
        Jit::new(JitOptions {
            lanes,
            features,
            ..JitOptions::default()
        })
        .expect("a supported CPU")
    };
    let (four, wide) = (jit(Lanes::Four), jit(Lanes::Auto));
    let executors = [
        ("interpreter", &Interpreter as &dyn Executor),
        ("4 lanes", &four),
        ("8 lanes", &wide),
    ];
    let count = env("QUADRILLE_FUZZ").unwrap_or(150);
    let first = env("QUADRILLE_FUZZ_SEED").unwrap_or(1);
    for seed in first..first + count {
        let samples = [1, 4, 8, 2][(seed >> 1) as usize % 4];
        let program = generate(seed, seed & 1 != 0, samples);
        let options = passes::Options {
            contract: false,
            ..passes::Options::default()
        };
        let mut optimised = program.clone();
        optimised.function = match passes::optimize(program.function.clone(), &program.resources, &options) {
            Ok((function, _)) => function,
            Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
        };
        let execute = |executor: &dyn Executor, program: &Program| {
            let compiled = match executor.compile(program) {
                Ok(compiled) => compiled,
                Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
            };
            run(program, &*compiled, seed, 1 << 20)
        };
        let expected = execute(&Interpreter, &program);
        for (name, executor) in executors {
            let got = execute(executor, &optimised);
            if got != expected {
                let (before, after) = (&program.function, &optimised.function);
                panic!(
                    "seed {seed}, {name}: optimised differs\n{}\n{}",
                    text::print_function(before),
                    text::print_function(after)
                );
            }
        }
    }
}
