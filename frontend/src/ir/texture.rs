//! What texture instructions say: shape of the texture, how the LOD is found, and their encoding as a word.
//!
//! Arguments of `Op::Sample`, in order: coordinates (f32; [`Dim::coords`]), array index (i32 or u32) if `array`,
//! depth reference (f32) if `compare`, then by [`Lod`]: bias, level (f32), or the gradients d/dx of each
//! coordinate followed by d/dy of each. Results: 4 components (1 if `compare` and not a gather), then residency (u32).

/// Shape of a texture view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Dim {
    D1,
    D2,
    D3,
    Cube,
}

impl Dim {
    /// Coordinates that sampling takes (without the array index).
    pub const fn coords(self) -> usize {
        match self {
            Dim::D1 => 1,
            Dim::D2 => 2,
            Dim::D3 | Dim::Cube => 3,
        }
    }
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lod {
    /// Coordinates' differences across the quad (a quad_read, law L2).
    Implicit,
    /// As implicit, plus a bias operand.
    Bias,
    /// Level 0; no operand.
    Zero,
    /// A level operand.
    Level,
    /// Gradient operands.
    Grad,
}

/// A sampling operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleOp {
    /// Shape of the texture.
    pub dim: Dim,
    /// Whether there is an array index operand.
    pub array: bool,
    /// Source of the LOD. Gathers use [`Lod::Zero`].
    pub lod: Lod,
    /// Whether there is a depth reference operand.
    pub compare: bool,
    /// Gather this component instead of filtering.
    pub gather: Option<u8>,
    /// Offset in texels, -8..=7 for sampling.
    pub offset: [i8; 3],
    /// Components that are used, bit 0 = x. Others may hold anything safe.
    pub mask: u8,
}

impl SampleOp {
    /// Number of operands.
    pub const fn arg_count(&self) -> usize {
        let c = self.dim.coords();
        c + self.array as usize
            + self.compare as usize
            + match self.lod {
                Lod::Implicit | Lod::Zero => 0,
                Lod::Bias | Lod::Level => 1,
                Lod::Grad => 2 * c,
            }
    }

    /// Number of results without the residency code.
    pub const fn components(&self) -> usize {
        if self.compare && self.gather.is_none() { 1 } else { 4 }
    }

    /// Whether lanes read one another's operands (law L2).
    pub const fn is_quad_read(&self) -> bool {
        matches!(self.lod, Lod::Implicit | Lod::Bias)
    }

    /// The operation word that intrinsics get.
    pub const fn encode(&self) -> u64 {
        let dim = match self.dim {
            Dim::D1 => 0,
            Dim::D2 => 1,
            Dim::D3 => 2,
            Dim::Cube => 3,
        };
        let lod = match self.lod {
            Lod::Implicit => 0,
            Lod::Bias => 1,
            Lod::Zero => 2,
            Lod::Level => 3,
            Lod::Grad => 4,
        };
        let gather = match self.gather {
            None => 0,
            Some(c) => 4 | (c as u64 & 3),
        };
        dim | (self.array as u64) << 2
            | lod << 3
            | (self.compare as u64) << 6
            | gather << 7
            | (self.mask as u64 & 15) << 10
            | (self.offset[0] as u8 as u64) << 16
            | (self.offset[1] as u8 as u64) << 24
            | (self.offset[2] as u8 as u64) << 32
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub const fn decode(word: u64) -> SampleOp {
        let dim = match word & 3 {
            0 => Dim::D1,
            1 => Dim::D2,
            2 => Dim::D3,
            _ => Dim::Cube,
        };
        let lod = match word >> 3 & 7 {
            0 => Lod::Implicit,
            1 => Lod::Bias,
            2 => Lod::Zero,
            3 => Lod::Level,
            _ => Lod::Grad,
        };
        let gather = if word >> 7 & 4 != 0 {
            Some((word >> 7 & 3) as u8)
        } else {
            None
        };
        SampleOp {
            dim,
            array: word >> 2 & 1 != 0,
            lod,
            compare: word >> 6 & 1 != 0,
            gather,
            offset: [(word >> 16) as i8, (word >> 24) as i8, (word >> 32) as i8],
            mask: (word >> 10 & 15) as u8,
        }
    }
}

/// Several samples in one call (law S1): native code calls a texture's `sample_n` for neighbouring samples that differ in their
/// operands alone. It stands in the upper bits of the operation word.
///
/// The operands of a list follow one another, sample by sample. A *grid* (2d only) has every pairing of `columns` u's
/// with some v's: operands are the u's, the v's, then once what all samples share; samples are numbered row by row. Results: the
/// components of each sample, then one residency code for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleBatch {
    /// Samples, 2 to 64.
    pub count: u8,
    /// Columns of a grid, 1 to 8, and as many rows at most; 0 for a list.
    pub columns: u8,
}

impl SampleBatch {
    /// Most samples of a batch.
    pub const MAX: usize = 64;
    /// Most columns, and rows, of a grid.
    pub const MAX_SIDE: usize = 8;
    const SHIFT: u32 = 48;

    /// What is added to [`SampleOp::encode`]'s word.
    pub const fn encode(self) -> u64 {
        (self.count as u64 | (self.columns as u64) << 8) << SampleBatch::SHIFT
    }

    /// Takes an operation word apart; a single sample has no batch.
    pub const fn decode(word: u64) -> (u64, Option<SampleBatch>) {
        let bits = word >> SampleBatch::SHIFT;
        let batch = SampleBatch {
            count: bits as u8,
            columns: (bits >> 8) as u8,
        };
        let single = word & ((1 << SampleBatch::SHIFT) - 1);
        (single, if batch.count == 0 { None } else { Some(batch) })
    }

    /// Where operand `i` of sample `tap` stands among the batch's operands.
    pub const fn argument(self, op: &SampleOp, tap: usize, i: usize) -> usize {
        let columns = self.columns as usize;
        if columns == 0 {
            tap * op.arg_count() + i
        } else {
            match i {
                0 => tap % columns,
                1 => columns + tap / columns,
                _ => columns + self.rows() + i - 2,
            }
        }
    }

    /// Rows of a grid; 1 of a list.
    pub const fn rows(self) -> usize {
        if self.columns == 0 {
            1
        } else {
            self.count as usize / self.columns as usize
        }
    }
}

/// A texel load or store: integer coordinates, array index (i32/u32) if `array`, then the level (or the sample
/// index if `multisampled`) for loads, or the 4 components for stores. A load has 4 results of kind f32, i32 or u32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TexelOp {
    /// Shape of the texture.
    pub dim: Dim,
    /// Whether there is an array index operand.
    pub array: bool,
    /// Whether the last operand of a load is a sample index instead of a level.
    pub multisampled: bool,
    /// Components that are used, bit 0 = x.
    pub mask: u8,
}

impl TexelOp {
    /// The operation word that intrinsics get.
    pub const fn encode(&self) -> u64 {
        let dim = match self.dim {
            Dim::D1 => 0,
            Dim::D2 => 1,
            Dim::D3 => 2,
            Dim::Cube => 3,
        };
        dim | (self.array as u64) << 2 | (self.multisampled as u64) << 3 | (self.mask as u64 & 15) << 10
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub const fn decode(word: u64) -> TexelOp {
        let dim = match word & 3 {
            0 => Dim::D1,
            1 => Dim::D2,
            2 => Dim::D3,
            _ => Dim::Cube,
        };
        TexelOp {
            dim,
            array: word >> 2 & 1 != 0,
            multisampled: word >> 3 & 1 != 0,
            mask: (word >> 10 & 15) as u8,
        }
    }
}

/// What a texture query asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureQuery {
    /// Width of a level (operand: level, u32); 0 if there is no such level.
    Width,
    /// Height of a level, likewise.
    Height,
    /// Depth of a level, likewise.
    Depth,
    /// Array layers.
    Layers,
    /// Mip levels.
    Levels,
    /// Samples.
    Samples,
}

impl TextureQuery {
    /// Whether the query takes a level operand.
    pub const fn takes_level(self) -> bool {
        matches!(self, TextureQuery::Width | TextureQuery::Height | TextureQuery::Depth)
    }
}
