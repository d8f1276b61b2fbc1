//! Intrinsic calls through a fake sampler that hashes whatever it is given: operands, their order, the operation
//! word, bindings and the exec mask all show in the result.

use super::{Bits, Env, cells_program, compile, draw_word, resource, run_cells};
use quadrille_frontend::ir::{Alu, Dim, FunctionBuilder, Kind, Lod, Op, SampleOp, TexelOp, TextureQuery, Value};
use quadrille_jit::Executor;
use quadrille_jit::abi::{Binding, Cell, RESULT_CELL, TextureInfo};
use std::sync::Mutex;

/// What a binding's data points to.
struct Object {
    id: u32,
    stored: Mutex<Vec<Vec<u32>>>,
}

impl Object {
    fn new(id: u32) -> Object {
        Object {
            id,
            stored: Mutex::new(Vec::new()),
        }
    }
}

fn mix(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x9E37_79B1).rotate_left(13)
}

/// The result of component `component` for one lane.
fn hash(ids: [u32; 2], op: u64, args: &[u32], neighbour: Option<u32>, component: u32) -> u32 {
    let mut h = mix(mix(mix(ids[0], ids[1]), op as u32), (op >> 32) as u32);
    for &word in args.iter().chain(&neighbour) {
        h = mix(h, word);
    }
    mix(h, component)
}

/// # Safety
/// As [`quadrille_jit::abi::Intrinsic`], with bindings on [`Object`]s.
unsafe fn id(binding: *const Binding) -> u32 {
    // SAFETY: null or a binding on an object.
    unsafe {
        match binding.as_ref().map(|b| b.data.cast::<Object>()) {
            Some(object) if !object.is_null() => (*object).id,
            _ => 0,
        }
    }
}

/// # Safety
/// As [`quadrille_jit::abi::Intrinsic`].
unsafe fn fill(ids: [u32; 2], op: u64, count: usize, quad_read: bool, cells: *mut Cell, lanes: u32) {
    // SAFETY: scratch has the call cells, the arguments among them.
    let (exec, args): (Cell, Vec<Cell>) = unsafe { (*cells, (0..count).map(|i| *cells.add(1 + i)).collect()) };
    for lane in 0..lanes as usize {
        assert!(exec.0[lane] == 0 || exec.0[lane] == u32::MAX, "a bool cell");
        let words: Vec<u32> = args.iter().map(|c| c.0[lane]).collect();
        let neighbour = quad_read.then(|| args[0].0[lane ^ 1]);
        for component in 0..5 {
            let active = exec.0[lane] != 0;
            let value = if active {
                hash(ids, op, &words, neighbour, component as u32)
            } else {
                0
            };
            // SAFETY: five result cells.
            unsafe { (*cells.add(RESULT_CELL + component)).0[lane] = value };
        }
    }
}

unsafe extern "C" fn sample(a: *const Binding, b: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    let decoded = SampleOp::decode(op);
    // SAFETY: called as an intrinsic.
    unsafe {
        fill(
            [id(a), id(b)],
            op,
            decoded.arg_count(),
            decoded.is_quad_read(),
            cells,
            lanes,
        )
    }
}

fn load_args(op: TexelOp) -> usize {
    op.dim.coords() + usize::from(op.array) + 1
}

unsafe extern "C" fn load(a: *const Binding, _: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    // SAFETY: called as an intrinsic.
    unsafe { fill([id(a), 0], op, load_args(TexelOp::decode(op)), false, cells, lanes) }
}

unsafe extern "C" fn store(a: *const Binding, _: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    let op = TexelOp::decode(op);
    let count = op.dim.coords() + usize::from(op.array) + 4;
    // SAFETY: called as an intrinsic on a binding of an object; scratch holds the arguments.
    unsafe {
        let object = &*(*a).data.cast::<Object>();
        for lane in 0..lanes as usize {
            if (*cells).0[lane] != 0 {
                let words = (0..count).map(|i| (*cells.add(1 + i)).0[lane]).collect();
                object.stored.lock().expect("no panics").push(words);
            }
        }
    }
}

pub static INFO: TextureInfo = TextureInfo {
    width: 100,
    height: 37,
    depth: 5,
    layers: 6,
    levels: 7,
    samples: 4,
};

fn texture(object: &Object) -> Binding {
    Binding {
        data: std::ptr::from_ref(object).cast(),
        sample: Some(sample),
        load: Some(load),
        store: Some(store),
        info: &INFO,
        ..Binding::NULL
    }
}

/// All shapes of sampling that differ in their operands.
fn shapes() -> Vec<SampleOp> {
    let mut all = Vec::new();
    for dim in [Dim::D1, Dim::D2, Dim::D3, Dim::Cube] {
        for (n, lod) in [Lod::Implicit, Lod::Bias, Lod::Zero, Lod::Level, Lod::Grad]
            .into_iter()
            .enumerate()
        {
            for (array, compare) in [(false, false), (true, false), (true, true)] {
                if dim == Dim::D3 && array || dim == Dim::D1 && compare {
                    continue;
                }
                all.push(SampleOp {
                    dim,
                    array,
                    lod,
                    compare,
                    gather: None,
                    offset: [n as i8 - 3, -8, 7],
                    mask: 15,
                });
            }
        }
    }
    for compare in [false, true] {
        all.push(SampleOp {
            dim: Dim::D2,
            array: false,
            lod: Lod::Zero,
            compare,
            gather: Some(if compare { 0 } else { 2 }),
            offset: [0; 3],
            mask: 15,
        });
    }
    all
}

/// Operand kinds: all f32 but the array index.
fn kinds(op: SampleOp) -> Vec<Kind> {
    let mut kinds = vec![Kind::F32; op.arg_count()];
    if op.array {
        kinds[op.dim.coords()] = Kind::I32;
    }
    kinds
}

fn sample_inst(b: &mut FunctionBuilder, op: SampleOp, args: &[Value], indexed: bool) -> Vec<Value> {
    let mut results = vec![Kind::F32; op.components()];
    results.push(Kind::U32);
    let op = Op::Sample {
        texture: resource(0, indexed),
        sampler: resource(1, indexed),
        op,
    };
    let id = b.inst(op, args, &results);
    b.results(id)
}

/// Every shape, in uniform flow, under divergence, and with operands of the draw.
pub fn samples_get_their_operands(executor: &dyn Executor) {
    let mut bits = Bits(3);
    for op in shapes() {
        let kinds = kinds(op);
        let mut inputs = kinds.clone();
        inputs.push(Kind::U32);
        let p = cells_program(&inputs, &[1, 1], |b, a| {
            let (args, choice) = a.split_at(kinds.len());
            let mut out = sample_inst(b, op, args, false);
            // Under divergence: results travel in locals.
            let locals: Vec<_> = out.iter().map(|&v| b.local("r", b.kind(v))).collect();
            let one = b.u32(1);
            let odd = b.alu(Alu::And, &[choice[0], one]);
            let odd = b.alu(Alu::IEq, &[odd, one]);
            b.begin_if(odd);
            let inner = sample_inst(b, op, args, false);
            for (&local, &value) in locals.iter().zip(&inner) {
                b.set(local, value);
            }
            b.end_if();
            out.extend(locals.iter().map(|&l| b.get(l)));
            let uniform: Vec<_> = kinds
                .iter()
                .enumerate()
                .map(|(i, &k)| draw_word(b, i as u32, k))
                .collect();
            out.extend(sample_inst(b, op, &uniform, false));
            out
        });
        let compiled = compile(executor, &p);
        let columns: Vec<Vec<u32>> = inputs.iter().map(|_| bits.column(32)).collect();
        let (t, s) = (Object::new(21), Object::new(22));
        let mut env = Env {
            bindings: vec![texture(&t), texture(&s)],
            draw: bits.column(16),
            ..Env::default()
        };
        let out = run_cells(&*compiled, &p, &columns, &mut env);
        let n = op.components() + 1;
        for row in 0..32 {
            let args: Vec<u32> = columns[..kinds.len()].iter().map(|c| c[row]).collect();
            let neighbour = op.is_quad_read().then(|| columns[0][row ^ 1]);
            let fixed = &env.draw[..kinds.len()];
            for j in 0..n {
                let want = hash([21, 22], op.encode(), &args, neighbour, j as u32);
                assert_eq!(out[j][row], want, "{}: {op:?}, row {row}", executor.name());
                let masked = if columns[kinds.len()][row] & 1 == 1 { want } else { 0 };
                assert_eq!(out[n + j][row], masked, "{op:?}, row {row}, divergent");
                let neighbour = op.is_quad_read().then_some(fixed[0]);
                let want = hash([21, 22], op.encode(), fixed, neighbour, j as u32);
                assert_eq!(out[2 * n + j][row], want, "{op:?}, row {row}, uniform");
            }
        }
        // An empty slot gives zeros.
        env.bindings[0] = Binding::NULL;
        let out = run_cells(&*compiled, &p, &columns, &mut env);
        assert!(out.iter().flatten().all(|&w| w == 0), "{op:?} of an empty slot");
    }
}

/// Comparisons side by side, as a grid and as a list of which not all fit a call: each gets its own operands.
pub fn comparisons_side_by_side(executor: &dyn Executor) {
    let mut bits = Bits(5);
    let op = SampleOp {
        dim: Dim::D2,
        array: false,
        lod: Lod::Zero,
        compare: true,
        gather: None,
        offset: [0; 3],
        mask: 1,
    };
    let inputs = [Kind::F32; 14];
    // Operands of each sample by input: 3x2 of a grid, then twelve with references of their own.
    let grid = (0..6).map(|i| [i % 3, 3 + i / 3, 5]);
    let samples: Vec<[usize; 3]> = grid.chain((0..12).map(|i| [i, 13 - i, i + 1])).collect();
    let p = cells_program(&inputs, &[1, 1], |b, a| {
        let mut out = Vec::new();
        for (i, operands) in samples.iter().enumerate() {
            if i == 6 {
                // Parts the grid from the list.
                b.alu(Alu::FAdd, &[a[0], a[1]]);
            }
            out.extend(sample_inst(b, op, &operands.map(|i| a[i]), false));
        }
        out
    });
    let compiled = compile(executor, &p);
    let columns: Vec<Vec<u32>> = inputs.iter().map(|_| bits.column(16)).collect();
    let (t, s) = (Object::new(31), Object::new(32));
    let mut env = Env {
        bindings: vec![texture(&t), texture(&s)],
        ..Env::default()
    };
    let out = run_cells(&*compiled, &p, &columns, &mut env);
    for row in 0..16 {
        for (i, operands) in samples.iter().enumerate() {
            let args = operands.map(|c| columns[c][row]);
            let want = hash([31, 32], op.encode(), &args, None, 0);
            assert_eq!(out[2 * i][row], want, "{}: sample {i}, row {row}", executor.name());
        }
    }
}

pub fn texels_load_and_store(executor: &dyn Executor) {
    let mut bits = Bits(17);
    for dim in [Dim::D1, Dim::D2, Dim::D3] {
        for (array, multisampled) in [(false, false), (true, false), (true, true)] {
            if dim != Dim::D2 && (array || multisampled) {
                continue;
            }
            for kind in [Kind::F32, Kind::I32, Kind::U32] {
                let op = TexelOp {
                    dim,
                    array,
                    multisampled,
                    mask: 15,
                };
                let count = load_args(op);
                let p = cells_program(&vec![Kind::I32; count], &[1], |b, a| {
                    let texture = resource(0, false);
                    let id = b.inst(Op::TexelLoad { texture, op, kind }, a, &[kind; 4]);
                    let out = b.results(id);
                    // Stored back in lanes whose first coordinate is negative.
                    let zero = b.i32(0);
                    let some = b.alu(Alu::SLt, &[a[0], zero]);
                    b.begin_if(some);
                    let mut args = a[..count - 1].to_vec();
                    args.extend(&out);
                    b.inst(Op::TexelStore { texture, op }, &args, &[]);
                    b.end_if();
                    out
                });
                let compiled = compile(executor, &p);
                let columns: Vec<Vec<u32>> = (0..count).map(|_| bits.column(40)).collect();
                let object = Object::new(5);
                let mut env = Env {
                    bindings: vec![texture(&object)],
                    ..Env::default()
                };
                let out = run_cells(&*compiled, &p, &columns, &mut env);
                let mut stored = Vec::new();
                for row in 0..40 {
                    let args: Vec<u32> = columns.iter().map(|c| c[row]).collect();
                    let texel: Vec<u32> = (0..4).map(|j| hash([5, 0], op.encode(), &args, None, j)).collect();
                    for j in 0..4 {
                        assert_eq!(out[j][row], texel[j], "{}: {op:?} {kind}", executor.name());
                    }
                    if (args[0] as i32) < 0 {
                        stored.push([&args[..count - 1], &texel[..]].concat());
                    }
                }
                assert_eq!(*object.stored.lock().expect("no panics"), stored, "{op:?} {kind}");
                env.bindings[0] = Binding::NULL;
                let out = run_cells(&*compiled, &p, &columns, &mut env);
                assert!(out.iter().flatten().all(|&w| w == 0), "{op:?} of an empty slot");
            }
        }
    }
}

pub fn queries_read_the_info(executor: &dyn Executor) {
    use TextureQuery::*;
    let queries = [Width, Height, Depth, Layers, Levels, Samples];
    let p = cells_program(&[Kind::U32], &[1], |b, a| {
        let uniform = draw_word(b, 0, Kind::U32);
        let mut out = Vec::new();
        for level in [a[0], uniform] {
            for query in queries {
                let args = if query.takes_level() { vec![level] } else { vec![] };
                let texture = resource(0, false);
                out.push(b.inst1(Op::TextureQuery { texture, query }, &args, Kind::U32));
            }
        }
        out
    });
    let compiled = compile(executor, &p);
    let levels = vec![0, 1, 2, 3, 6, 7, 32, u32::MAX];
    let object = Object::new(1);
    for uniform in [0, 2, 6, 7, 40] {
        let mut env = Env {
            bindings: vec![texture(&object)],
            ..Env::default()
        };
        env.draw[0] = uniform;
        let out = run_cells(&*compiled, &p, std::slice::from_ref(&levels), &mut env);
        let size = |n: u32, level: u32| if level < 7 { (n >> level).max(1) } else { 0 };
        for (row, &lane) in levels.iter().enumerate() {
            let want: Vec<u32> = [lane, uniform]
                .iter()
                .flat_map(|&l| [size(100, l), size(37, l), size(5, l), 6, 7, 4])
                .collect();
            let got: Vec<u32> = out.iter().map(|c| c[row]).collect();
            assert_eq!(got, want, "{}: levels {lane} and {uniform}", executor.name());
        }
        env.bindings[0] = Binding::NULL;
        let out = run_cells(&*compiled, &p, std::slice::from_ref(&levels), &mut env);
        assert!(out.iter().flatten().all(|&w| w == 0), "an empty slot");
    }
}

/// Binding arrays of textures and samplers, elements clamped: one call for each pair that occurs.
pub fn binding_arrays_sample_per_lane(executor: &dyn Executor) {
    let op = SampleOp {
        dim: Dim::D2,
        array: false,
        lod: Lod::Implicit,
        compare: false,
        gather: None,
        offset: [0; 3],
        mask: 15,
    };
    let texel = TexelOp {
        dim: Dim::D1,
        array: false,
        multisampled: false,
        mask: 15,
    };
    let p = cells_program(&[Kind::U32, Kind::U32, Kind::F32, Kind::F32], &[3, 2], |b, a| {
        let mut out = sample_inst(b, op, a, true);
        let uniform = draw_word(b, 0, Kind::U32);
        out.extend(sample_inst(b, op, &[uniform, uniform, a[2], a[3]], true));
        let x = b.bitcast(a[2], Kind::I32);
        let texture = resource(0, true);
        let load = Op::TexelLoad {
            texture,
            op: texel,
            kind: Kind::U32,
        };
        let id = b.inst(load, &[a[0], x, x], &[Kind::U32; 4]);
        out.extend(b.results(id));
        let query = TextureQuery::Levels;
        out.push(b.inst1(Op::TextureQuery { texture, query }, &[a[0]], Kind::U32));
        out
    });
    let compiled = compile(executor, &p);
    let mut bits = Bits(8);
    let columns = vec![
        (0..64)
            .map(|n| if n % 13 == 12 { bits.next() } else { bits.next() % 4 })
            .collect::<Vec<_>>(),
        (0..64).map(|_| bits.next() % 3).collect(),
        bits.column(64),
        bits.column(64),
    ];
    let objects: Vec<Object> = (0..5).map(|i| Object::new(50 + i)).collect();
    let mut env = Env {
        bindings: objects.iter().map(texture).collect(),
        ..Env::default()
    };
    env.bindings[1].info = std::ptr::null();
    env.draw[0] = 1;
    let out = run_cells(&*compiled, &p, &columns, &mut env);
    for row in 0..64 {
        let (t, s) = (columns[0][row].min(2), columns[1][row].min(1));
        let args = [columns[2][row], columns[3][row]];
        let neighbour = Some(columns[2][row ^ 1]);
        for j in 0..5 {
            let want = hash([50 + t, 53 + s], op.encode(), &args, neighbour, j as u32);
            assert_eq!(out[j][row], want, "{}: row {row}", executor.name());
            let want = hash([51, 54], op.encode(), &args, neighbour, j as u32);
            assert_eq!(out[5 + j][row], want, "row {row}, uniform elements");
        }
        for j in 0..4 {
            let want = hash([50 + t, 0], texel.encode(), &[args[0], args[0]], None, j as u32);
            assert_eq!(out[10 + j][row], want, "row {row}, load");
        }
        assert_eq!(out[14][row], if t == 1 { 0 } else { 7 }, "row {row}, query");
    }
}
