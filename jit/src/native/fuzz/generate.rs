//! Makes random programs: every operation, nested and divergent flow, locals, arrays, memory and textures, all from a
//! seed. A lane writes only words of its own, so that no result depends on the order of lanes; in programs that
//! [share](shares) words with others every result depends on it, and the order is the same everywhere (law N8).

mod flow;

use super::random::Rng;
use crate::program::{Program, ProgramKind};
use quadrille_frontend::ir::{
    Access, Alu, Arena, AtomicOp, Binding as At, Dim, FunctionBuilder, Handle, Kind, Label, Local, LocalArray, Lod, Op,
    OutOfBounds, QuadOp, Resource, ResourceClass, ResourceRef, SampleKind, SampleOp, TexelOp, TextureQuery, Value,
};

/// Cells of a tile plane, in bytes.
pub(super) const PLANE: usize = 64 * 32;

pub(super) const KINDS: [Kind; 4] = [Kind::F32, Kind::U32, Kind::I32, Kind::Bool];

pub(super) fn pool(kind: Kind) -> usize {
    match kind {
        Kind::F32 => 0,
        Kind::U32 => 1,
        Kind::I32 => 2,
        _ => 3,
    }
}

/// A construct that exits may name.
#[derive(Clone, Copy)]
pub(super) struct Open {
    label: Label,
    is_loop: bool,
}

pub(super) struct Gen {
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
    /// Lanes write one another's words.
    shared: bool,
}

/// Whether lanes of that seed's program write one another's words.
pub(super) fn shares(seed: u64) -> bool {
    seed % 7 == 3
}

/// Words of the writable buffer that a lane owns.
pub(super) const OWN_WORDS: u32 = 16;
pub(super) const READ_ONLY: usize = 0;
pub(super) const WRITABLE: usize = 1;
pub(super) const TEXTURES: usize = 2;
pub(super) const SAMPLERS: usize = 3;

pub(super) fn resources() -> (Arena<Resource>, Vec<u32>) {
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

pub(super) fn buffer(index: usize) -> ResourceRef {
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
        let mut owner = self.id;
        if self.shared {
            let three = self.b.u32(3);
            owner = self.b.alu(Alu::And, &[owner, three]);
        }
        let first = self.b.alu(Alu::IMul, &[owner, stride]);
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
}

pub(super) const OUTPUTS: u32 = 6;

pub(super) fn generate(seed: u64, fragment: bool, samples: u8) -> Program {
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
        shared: shares(seed),
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
