//! Batches give what single samples give, to the bit (law S1).

use super::*;
use quadrille_frontend::ir::SampleBatch;
use quadrille_jit::abi::sample_each;

/// Result cells of a batch, through the view's own function and one by one.
fn both(
    view: &SampledView,
    sampler: &Sampler,
    op: SampleOp,
    batch: SampleBatch,
    args: &[[u32; 8]],
) -> [Vec<[u32; 8]>; 2] {
    let _guard = view.begin_read().unwrap();
    let (a, b) = (view.binding(), sampler.binding());
    [a.sample_n.unwrap_or(sample_each), sample_each].map(|f| {
        let mut cells = [Cell([0xdead_beef; 8]); CALL_CELLS];
        cells[0] = Cell([u32::MAX; 8]);
        for (cell, arg) in cells[1..RESULT_CELL].iter_mut().zip(args) {
            *cell = Cell(*arg);
        }
        // SAFETY: bindings of a live view and sampler, the cells are ours, the guard is held.
        unsafe { f(&a, &b, op.encode() | batch.encode(), cells.as_mut_ptr(), 8) };
        let results = usize::from(batch.count) + 1;
        cells[RESULT_CELL..RESULT_CELL + results].iter().map(|c| c.0).collect()
    })
}

#[test]
fn batches_are_single_samples() {
    let mut rng = Rng(11);
    let formats = [
        TextureFormat::Depth32Float,
        TextureFormat::Depth16Unorm,
        TextureFormat::Depth24Plus,
    ];
    for round in 0..200 {
        let (w, h) = [(8, 8), (7, 5), (1, 1), (64, 32)][rng.below(4) as usize];
        let layers = 1 + rng.below(2);
        let format = formats[round % 3];
        let mut d = TextureDescriptor::new_2d(format, w, h);
        d.depth_or_layers = layers;
        let t = Texture::new(&d, &budget()).unwrap();
        super::random::fill(&t, &mut rng);
        let view = sampled(&t);
        let modes = [
            AddressMode::ClampToEdge,
            AddressMode::Repeat,
            AddressMode::ClampToBorder,
        ];
        let sd = SamplerDescriptor {
            address: [0; 3].map(|_| modes[rng.below(3) as usize]),
            compare: Some(CompareFunction::LessEqual),
            ..linear()
        };
        let sd = if rng.below(5) == 0 {
            SamplerDescriptor {
                mag_filter: FilterMode::Nearest,
                ..sd
            }
        } else {
            sd
        };
        let array = layers > 1;
        let op = SampleOp {
            array,
            compare: true,
            lod: [Lod::Zero, Lod::Implicit, Lod::Level][rng.below(3) as usize],
            mask: 1,
            ..OP
        };
        let lane = |rng: &mut Rng, a: f32, b: f32| [0; 8].map(|_| rng.range(a, b).to_bits());
        let tail = |rng: &mut Rng, args: &mut Vec<[u32; 8]>| {
            if array {
                args.push([0; 8].map(|_| rng.below(3)));
            }
            args.push(lane(rng, 0.0, 1.0));
            if op.lod == Lod::Level {
                args.push(lane(rng, -1.0, 3.0));
            }
        };
        let (columns, rows) = (1 + rng.below(8) as u8, 1 + rng.below(8) as u8);
        let mut grid = Vec::new();
        for (count, size) in [(columns, w), (rows, h)] {
            let base: [f32; 8] = [0; 8].map(|_| rng.range(-0.3, 1.2));
            // A texel apart, less, or anything.
            let step = [1.0 / size as f32, 0.4 / size as f32, rng.range(-1.0, 1.0)][rng.below(3) as usize];
            grid.extend((0..count).map(|i| base.map(|b| (b + step * f32::from(i)).to_bits())));
        }
        tail(&mut rng, &mut grid);
        let batch = SampleBatch {
            count: columns * rows,
            columns,
        };
        let [a, b] = both(&view, &sampler(sd), op, batch, &grid);
        assert_eq!(a, b, "{format} {w}x{h} grid of {columns}x{rows} {op:?} {sd:?}");
        let count = 2 + rng.below(4);
        let mut list = Vec::new();
        for _ in 0..count {
            list.extend([lane(&mut rng, -0.5, 1.5), lane(&mut rng, -0.5, 1.5)]);
            tail(&mut rng, &mut list);
        }
        let batch = SampleBatch {
            count: count as u8,
            columns: 0,
        };
        let [a, b] = both(&view, &sampler(sd), op, batch, &list);
        assert_eq!(a, b, "{format} {w}x{h} list of {count} {op:?} {sd:?}");
    }
}
