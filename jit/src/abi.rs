//! The memory that native code, interpreter and rasterizer share: `#[repr(C)]` structs and function types.
//!
//! ```text
//! raster fills Context ──► program.run(&Context) ──► native code or interpreter
//!                                   │  per run: PrimRecord words, per pair: tile offset + coverage
//!                                   └─► Binding.calls[..] (samplers, image access) through Cells
//! ```
//!
//! One compile serves 4 and 8 lanes, so everything that lanes touch has a 32-byte stride in *both* modes, no vector
//! stands in a signature, and lane-dependent constants are read from the context (laws L3, L5; the widener relies on it).
//! A *pair* is two horizontally neighbouring quads: lanes 0..4 the left quad (UL, UR, LL, LR), 4..8 the right one.
//! With 4 lanes a pair is two steps, the second 16 bytes further in every cell.

use quadrille_frontend::ir::{SampleBatch, SampleOp};

/// One value of a whole pair: 8 lanes of 32 bits. Bool lanes are 0 or `0xFFFF_FFFF`.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell(pub [u32; 8]);

/// Cells of scratch that every [`Context`] offers to intrinsic calls: arguments from 0, results from [`RESULT_CELL`].
pub const CALL_CELLS: usize = 128;
/// First cell in which an intrinsic leaves its results.
pub const RESULT_CELL: usize = 32;

/// A sampler, image or other service that programs call.
///
/// `a` and `b` are the bindings the operation names (texture and sampler, or an image and null), `op` an encoded
/// operation word, `cells` the scratch: `cells[0]` is the exec mask (a bool cell), `cells[1..]` the arguments in
/// the order that the IR instruction has them, results go to `cells[RESULT_CELL..]`. Only the first `lanes` lanes
/// (4 or 8) are valid; lanes whose exec mask is 0 still feed derivatives, and must get a result of any safe value.
/// An intrinsic never unwinds.
pub type Intrinsic = unsafe extern "C" fn(a: *const Binding, b: *const Binding, op: u64, cells: *mut Cell, lanes: u32);

/// What a resource slot holds. Unused slots are [`Binding::NULL`]: loads give 0, stores vanish.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Buffers: first byte. Textures and samplers: the view or sampler object that the calls understand.
    pub data: *const u8,
    /// Buffers: accessible bytes; addresses are checked against it. Textures, samplers: 0.
    pub size: u64,
    /// Textures: sample and gather; see `op` encoding in `quadrille_frontend::ir::SampleOp::encode`.
    pub sample: Option<Intrinsic>,
    /// Textures: texel load.
    pub load: Option<Intrinsic>,
    /// Storage textures: texel store.
    pub store: Option<Intrinsic>,
    /// Textures: the words that queries read, or null: see [`TextureInfo`].
    pub info: *const TextureInfo,
    /// Textures: several samples in one call, see [`SampleBatch`]; where there is none, [`sample_each`] serves.
    pub sample_n: Option<Intrinsic>,
    /// Keeps the stride a power of two.
    pub reserved: u64,
}

impl Binding {
    /// An empty slot.
    pub const NULL: Binding = Binding {
        data: std::ptr::null(),
        size: 0,
        sample: None,
        load: None,
        store: None,
        info: std::ptr::null(),
        sample_n: None,
        reserved: 0,
    };
}

// SAFETY: a binding is plain addresses; whoever builds a Context keeps the memory behind them alive and, for what
// programs may write, lets no one else touch it while the program runs (see `Context`).
unsafe impl Send for Binding {}
// SAFETY: as above; the struct itself is never written through a shared reference.
unsafe impl Sync for Binding {}

/// A batch of samples (`op` holds a [`SampleBatch`]), one by one through the first binding's `sample`.
///
/// # Safety
/// As [`Intrinsic`]; `cells` has [`CALL_CELLS`] cells.
pub unsafe extern "C" fn sample_each(a: *const Binding, b: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    let (single, Some(batch)) = SampleBatch::decode(op) else {
        return;
    };
    // SAFETY: the caller's promise; no one else touches the cells meanwhile.
    let (cells, sample) = unsafe {
        (
            &mut *cells.cast::<[Cell; CALL_CELLS]>(),
            a.as_ref().and_then(|a| a.sample),
        )
    };
    let decoded = SampleOp::decode(single);
    let (count, components) = (usize::from(batch.count), decoded.components());
    let mut own = [Cell([0; 8]); CALL_CELLS];
    own[0] = cells[0];
    let mut residency = Cell([0; 8]);
    for tap in 0..count {
        for i in 0..decoded.arg_count() {
            own[1 + i] = cells[1 + batch.argument(&decoded, tap, i)];
        }
        if let Some(sample) = sample {
            // SAFETY: the function of this binding, with cells of our own.
            unsafe { sample(a, b, single, own.as_mut_ptr(), lanes) };
            residency = own[RESULT_CELL + components];
        }
        let to = RESULT_CELL + tap * components;
        cells[to..to + components].copy_from_slice(&own[RESULT_CELL..RESULT_CELL + components]);
    }
    cells[RESULT_CELL + count * components] = residency;
}

/// What texture queries read: all as u32, sizes of the view's level 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextureInfo {
    /// Texels of level 0.
    pub width: u32,
    /// Rows of level 0.
    pub height: u32,
    /// Slices of level 0 (3d), else 1.
    pub depth: u32,
    /// Array layers (cubes: cubes, not faces).
    pub layers: u32,
    /// Mip levels.
    pub levels: u32,
    /// Samples a texel.
    pub samples: u32,
}

/// A run: consecutive pairs of one primitive in one tile.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The primitive's record: [`PRIM_VERTEX_PTRS`] pointers, then 32-bit words at offsets that the assembler chose.
    pub prim: *const u8,
    /// First pair.
    pub pairs: *const Pair,
    /// Number of pairs, at least 1.
    pub count: u32,
    /// Unused, zero.
    pub reserved: u32,
}

/// Pointers to vertex attribute blocks at the head of a primitive's record (3, 8 bytes each).
pub const PRIM_VERTEX_PTRS: usize = 3;

/// A pair and its coverage, up to 4 samples. (8 and 16 samples: [`WidePair`].)
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Pair number within the tile: 8x8 blocks row-major, 8 pairs (4 rows of 2) in each. Its lanes are at byte
    /// `index * 32` of every tile plane.
    pub index: u16,
    /// Pixels from the tile's left edge, a multiple of 4.
    pub x: u8,
    /// Pixels from the tile's top edge, a multiple of 2.
    pub y: u8,
    /// Coverage of sample s: bit i = lane i.
    pub coverage: [u8; 4],
}

/// As [`Pair`], for 8 and 16 samples.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WidePair {
    /// As in [`Pair`].
    pub index: u16,
    /// As in [`Pair`].
    pub x: u8,
    /// As in [`Pair`].
    pub y: u8,
    /// Unused, zero.
    pub reserved: u32,
    /// As in [`Pair`].
    pub coverage: [u8; 16],
}

/// What one call of a program works on. Native code receives its address as the only argument.
///
/// All pointers must be valid for the call; `tile`, `cells_out`, `scratch` and buffers bound for writing must not be
/// touched by anyone else meanwhile. Fields that a program kind doesn't use may be null.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Lane numbers' bits: `1 << lane`.
    pub lane_bit: Cell,
    /// X of the lane within its pair, 0..4, as u32.
    pub lane_x: Cell,
    /// Y of the lane within its pair, 0..2, as u32.
    pub lane_y: Cell,
    /// Fragment programs: runs.
    pub runs: *const Run,
    /// Fragment programs: number of runs. Vertex programs: number of groups of 8 vertices.
    pub count: u32,
    /// Lanes a step: 4 or 8.
    pub lanes: u32,
    /// Resource slots, as the program's resource table numbers them.
    pub bindings: *const Binding,
    /// Draw-rate words: `DrawLoad` reads here.
    pub draw: *const u32,
    /// Fragment programs: first byte of the tile's memory; plane p starts at `p * plane_stride` (a constant of the program).
    pub tile: *mut u8,
    /// Fragment programs: pixel x of the tile's left edge.
    pub tile_x: u32,
    /// Fragment programs: pixel y of the tile's top edge.
    pub tile_y: u32,
    /// Vertex programs: input cells; slot k of group g at `g * cells_in_per_group + k`.
    pub cells_in: *const Cell,
    /// Vertex programs: output cells, likewise.
    pub cells_out: *mut Cell,
    /// Scratch cells: [`CALL_CELLS`] for intrinsics, then the program's per-lane arrays (`Program::scratch_cells`).
    pub scratch: *mut Cell,
    /// Loop iterations an invocation may spend in unbounded loops (law I7).
    pub loop_budget: u32,
    /// Written by the program: 0, or 1 + the index of the loop that ran out of budget.
    pub status: u32,
    /// Polled once a run (fragment) or group (vertex): non-zero ends the call early. May be null.
    pub cancel: *const u32,
    /// Added to by the program: fragment invocations (lanes not helpers at shader entry).
    pub invocations: u64,
    /// Added to by the program: samples that passed all tests.
    pub samples_passed: u64,
    /// For whoever watches the program: says whose work it is. Programs don't look at it.
    pub tag: u32,
}

impl Context {
    /// A context with lane constants set and all pointers null.
    pub const fn new(lanes: u32) -> Context {
        Context {
            lane_bit: Cell([1, 2, 4, 8, 16, 32, 64, 128]),
            lane_x: Cell([0, 1, 0, 1, 2, 3, 2, 3]),
            lane_y: Cell([0, 0, 1, 1, 0, 0, 1, 1]),
            runs: std::ptr::null(),
            count: 0,
            lanes,
            bindings: std::ptr::null(),
            draw: std::ptr::null(),
            tile: std::ptr::null_mut(),
            tile_x: 0,
            tile_y: 0,
            cells_in: std::ptr::null(),
            cells_out: std::ptr::null_mut(),
            scratch: std::ptr::null_mut(),
            loop_budget: 1 << 22,
            status: 0,
            cancel: std::ptr::null(),
            invocations: 0,
            samples_passed: 0,
            tag: 0,
        }
    }
}
