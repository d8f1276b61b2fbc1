//! Vertex attribute formats and their decoding into cells (law L6, R-WGSL-73).
//!
//! A fetch turns bytes of a vertex buffer into cells: lane i of cell c holds component c of vertex i. Components that
//! the format lacks are 0, 0, 0, 1; an address outside the buffer reads as zero bytes. Integers stay integers, the
//! rest becomes f32, correctly rounded.

use quadrille_jit::abi::Cell;

macro_rules! vertex_formats {
    ($($variant:ident = $name:literal, $scalar:ident x $n:literal;)*) => {
        /// How an attribute lies in a vertex buffer, by WebGPU's names (`GPUVertexFormat`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "WebGPU's names")]
        pub enum VertexFormat { $($variant,)* }

        impl VertexFormat {
            /// All formats.
            pub const ALL: &[VertexFormat] = &[$(VertexFormat::$variant,)*];

            /// WebGPU's name.
            pub const fn name(self) -> &'static str {
                match self { $(VertexFormat::$variant => $name,)* }
            }

            /// The format of that name.
            pub fn from_name(name: &str) -> Option<VertexFormat> {
                VertexFormat::ALL.iter().copied().find(|f| f.name() == name)
            }

            const fn scalar(self) -> Scalar {
                match self { $(VertexFormat::$variant => Scalar::$scalar,)* }
            }

            /// Components, 1 to 4.
            pub const fn components(self) -> u32 {
                match self { $(VertexFormat::$variant => $n,)* }
            }
        }
    };
}

vertex_formats! {
    Uint8 = "uint8", Uint8 x 1;
    Uint8x2 = "uint8x2", Uint8 x 2;
    Uint8x4 = "uint8x4", Uint8 x 4;
    Sint8 = "sint8", Sint8 x 1;
    Sint8x2 = "sint8x2", Sint8 x 2;
    Sint8x4 = "sint8x4", Sint8 x 4;
    Unorm8 = "unorm8", Unorm8 x 1;
    Unorm8x2 = "unorm8x2", Unorm8 x 2;
    Unorm8x4 = "unorm8x4", Unorm8 x 4;
    Snorm8 = "snorm8", Snorm8 x 1;
    Snorm8x2 = "snorm8x2", Snorm8 x 2;
    Snorm8x4 = "snorm8x4", Snorm8 x 4;
    Uint16 = "uint16", Uint16 x 1;
    Uint16x2 = "uint16x2", Uint16 x 2;
    Uint16x4 = "uint16x4", Uint16 x 4;
    Sint16 = "sint16", Sint16 x 1;
    Sint16x2 = "sint16x2", Sint16 x 2;
    Sint16x4 = "sint16x4", Sint16 x 4;
    Unorm16 = "unorm16", Unorm16 x 1;
    Unorm16x2 = "unorm16x2", Unorm16 x 2;
    Unorm16x4 = "unorm16x4", Unorm16 x 4;
    Snorm16 = "snorm16", Snorm16 x 1;
    Snorm16x2 = "snorm16x2", Snorm16 x 2;
    Snorm16x4 = "snorm16x4", Snorm16 x 4;
    Float16 = "float16", Float16 x 1;
    Float16x2 = "float16x2", Float16 x 2;
    Float16x4 = "float16x4", Float16 x 4;
    Float32 = "float32", Word x 1;
    Float32x2 = "float32x2", Word x 2;
    Float32x3 = "float32x3", Word x 3;
    Float32x4 = "float32x4", Word x 4;
    Uint32 = "uint32", Uint32 x 1;
    Uint32x2 = "uint32x2", Uint32 x 2;
    Uint32x3 = "uint32x3", Uint32 x 3;
    Uint32x4 = "uint32x4", Uint32 x 4;
    Sint32 = "sint32", Sint32 x 1;
    Sint32x2 = "sint32x2", Sint32 x 2;
    Sint32x3 = "sint32x3", Sint32 x 3;
    Sint32x4 = "sint32x4", Sint32 x 4;
    Unorm10_10_10_2 = "unorm10-10-10-2", Unorm1010102 x 4;
    Unorm8x4Bgra = "unorm8x4-bgra", UnormBgra x 4;
}

/// What a component is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Uint8,
    Sint8,
    Unorm8,
    Snorm8,
    Uint16,
    Sint16,
    Unorm16,
    Snorm16,
    Float16,
    /// f32, moved as bits.
    Word,
    Uint32,
    Sint32,
    /// Four components in one word.
    Unorm1010102,
    /// Four bytes, blue first.
    UnormBgra,
}

/// What a shader sees of an attribute: WGSL's component types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexFormatKind {
    /// f32 (or f16) in the shader.
    Float,
    /// u32 in the shader.
    Uint,
    /// i32 in the shader.
    Sint,
}

impl VertexFormat {
    /// Bytes of an attribute.
    pub const fn size(self) -> u32 {
        let n = self.components();
        match self.scalar() {
            Scalar::Uint8 | Scalar::Sint8 | Scalar::Unorm8 | Scalar::Snorm8 => n,
            Scalar::Uint16 | Scalar::Sint16 | Scalar::Unorm16 | Scalar::Snorm16 | Scalar::Float16 => 2 * n,
            Scalar::Word | Scalar::Uint32 | Scalar::Sint32 => 4 * n,
            Scalar::Unorm1010102 | Scalar::UnormBgra => 4,
        }
    }

    /// Type of the components in a shader.
    pub const fn kind(self) -> VertexFormatKind {
        match self.scalar() {
            Scalar::Uint8 | Scalar::Uint16 | Scalar::Uint32 => VertexFormatKind::Uint,
            Scalar::Sint8 | Scalar::Sint16 | Scalar::Sint32 => VertexFormatKind::Sint,
            _ => VertexFormatKind::Float,
        }
    }

    /// Decodes an attribute of up to 16 bytes; missing components become 0, 0, 0, 1.
    pub fn decode(self, bytes: &[u8]) -> [u32; 4] {
        let mut group = [[0u32; 8]; 4];
        let source = Elements {
            bytes,
            offset: 0,
            stride: 0,
        };
        self.fetch(&source, &[0; 8], |c, lanes| group[c] = lanes);
        group.map(|lanes| lanes[0])
    }

    /// Fetches 8 elements and hands every component's lanes to `put`, components 0 to 3 in order.
    #[inline]
    fn fetch(self, source: &Elements, ids: &[u32; 8], put: impl FnMut(usize, [u32; 8])) {
        match self.scalar() {
            Scalar::Uint8 => self.each::<1>(source, ids, put, |[b]| b.into(), 1),
            Scalar::Sint8 => self.each::<1>(source, ids, put, |[b]| (b as i8) as u32, 1),
            Scalar::Unorm8 => self.each::<1>(source, ids, put, |[b]| unorm8(b), ONE),
            Scalar::Snorm8 => self.each::<1>(
                source,
                ids,
                put,
                |[b]| (f32::from(b as i8) / 127.0).max(-1.0).to_bits(),
                ONE,
            ),
            Scalar::Uint16 => self.each::<2>(source, ids, put, |b| u16::from_le_bytes(b).into(), 1),
            Scalar::Sint16 => self.each::<2>(source, ids, put, |b| i16::from_le_bytes(b) as u32, 1),
            Scalar::Unorm16 => self.each::<2>(
                source,
                ids,
                put,
                |b| (f32::from(u16::from_le_bytes(b)) / 65535.0).to_bits(),
                ONE,
            ),
            Scalar::Snorm16 => self.each::<2>(
                source,
                ids,
                put,
                |b| (f32::from(i16::from_le_bytes(b)) / 32767.0).max(-1.0).to_bits(),
                ONE,
            ),
            Scalar::Float16 => self.each::<2>(
                source,
                ids,
                put,
                |b| half::f16::from_le_bytes(b).to_f32().to_bits(),
                ONE,
            ),
            Scalar::Word => self.each::<4>(source, ids, put, u32::from_le_bytes, ONE),
            Scalar::Uint32 | Scalar::Sint32 => self.each::<4>(source, ids, put, u32::from_le_bytes, 1),
            Scalar::Unorm1010102 => words(source, ids, put, |word| {
                let field = |shift: u32, max: u32| ((word >> shift & max) as f32 / max as f32).to_bits();
                [field(0, 1023), field(10, 1023), field(20, 1023), field(30, 3)]
            }),
            Scalar::UnormBgra => words(source, ids, put, |word| {
                let [b, g, r, a] = word.to_le_bytes();
                [unorm8(r), unorm8(g), unorm8(b), unorm8(a)]
            }),
        }
    }

    #[inline(always)]
    fn each<const SIZE: usize>(
        self,
        source: &Elements,
        ids: &[u32; 8],
        mut put: impl FnMut(usize, [u32; 8]),
        decode: impl Fn([u8; SIZE]) -> u32,
        last: u32,
    ) {
        let n = self.components() as usize;
        let elements: [&[u8]; 8] = ids.map(|id| source.element(id, n * SIZE));
        for c in 0..n {
            let mut lanes = [0; 8];
            for (lane, bytes) in lanes.iter_mut().zip(elements) {
                *lane = match bytes.get(c * SIZE..).and_then(|b| b.first_chunk::<SIZE>()) {
                    Some(&bytes) => decode(bytes),
                    None => 0,
                };
            }
            put(c, lanes);
        }
        for c in n..4 {
            put(c, [if c == 3 { last } else { 0 }; 8]);
        }
    }
}

/// 1.0
const ONE: u32 = 0x3f80_0000;

fn unorm8(b: u8) -> u32 {
    (f32::from(b) / 255.0).to_bits()
}

#[inline(always)]
fn words(source: &Elements, ids: &[u32; 8], mut put: impl FnMut(usize, [u32; 8]), split: impl Fn(u32) -> [u32; 4]) {
    let fields = ids.map(|id| {
        split(
            source
                .element(id, 4)
                .first_chunk()
                .map_or(0, |&b| u32::from_le_bytes(b)),
        )
    });
    for c in 0..4 {
        put(c, fields.map(|f| f[c]));
    }
}

/// Elements of a vertex buffer: element i starts at `offset + i * stride`.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    /// The bound part of the buffer.
    pub bytes: &'a [u8],
    /// Byte of the attribute in element 0.
    pub offset: u64,
    /// Bytes from one element to the next.
    pub stride: u64,
}

impl<'a> Elements<'a> {
    /// `size` bytes of an element, or nothing if they are not all inside the buffer.
    #[inline(always)]
    fn element(&self, id: u32, size: usize) -> &'a [u8] {
        let start = u64::from(id) * self.stride + self.offset;
        let Some(end) = start.checked_add(size as u64) else {
            return &[];
        };
        if end > self.bytes.len() as u64 {
            return &[];
        }
        &self.bytes[start as usize..end as usize]
    }
}

/// Fetches an attribute for groups of 8 vertices: `components` cells from `slot` of every group's `cells_in` cells.
///
/// `ids` are element numbers, 8 a group.
pub fn fetch_groups(
    format: VertexFormat,
    source: &Elements,
    ids: &[[u32; 8]],
    cells: &mut [Cell],
    cells_in: usize,
    slot: usize,
    components: usize,
) {
    for (ids, group) in ids.iter().zip(cells.chunks_exact_mut(cells_in.max(1))) {
        let cells = &mut group[slot..];
        format.fetch(source, ids, |c, lanes| {
            if c < components {
                cells[c] = Cell(lanes);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(words: [u32; 4]) -> [f32; 4] {
        words.map(f32::from_bits)
    }

    #[test]
    fn names_round_trip() {
        for &format in VertexFormat::ALL {
            assert_eq!(VertexFormat::from_name(format.name()), Some(format));
            assert!(format.size() <= 16);
        }
        assert_eq!(VertexFormat::from_name("float64"), None);
    }

    #[test]
    fn missing_components_are_0001() {
        assert_eq!(
            floats(VertexFormat::Float32x2.decode(&[0, 0, 0, 64, 0, 0, 128, 191])),
            [2.0, -1.0, 0.0, 1.0]
        );
        assert_eq!(VertexFormat::Uint16x2.decode(&[1, 2, 3, 4]), [0x0201, 0x0403, 0, 1]);
        assert_eq!(VertexFormat::Sint8.decode(&[0xfe]), [-2i32 as u32, 0, 0, 1]);
    }

    #[test]
    fn normalised_values() {
        assert_eq!(
            floats(VertexFormat::Unorm8x4.decode(&[0, 255, 51, 128])),
            [0.0, 1.0, 0.2, 128.0 / 255.0]
        );
        assert_eq!(
            floats(VertexFormat::Snorm8x4.decode(&[0x80, 0x81, 0x7f, 0])),
            [-1.0, -1.0, 1.0, 0.0]
        );
        assert_eq!(
            floats(VertexFormat::Snorm16x2.decode(&[0, 0x80, 0xff, 0x7f])),
            [-1.0, 1.0, 0.0, 1.0]
        );
        assert_eq!(
            floats(VertexFormat::Unorm8x4Bgra.decode(&[255, 0, 51, 0])),
            [0.2, 0.0, 1.0, 0.0]
        );
        let word: u32 = 1023 | 341 << 10 | 3 << 30;
        assert_eq!(
            floats(VertexFormat::Unorm10_10_10_2.decode(&word.to_le_bytes())),
            [1.0, 1.0 / 3.0, 0.0, 1.0]
        );
        assert_eq!(
            floats(VertexFormat::Float16x2.decode(&[0, 0x3c, 1, 0])),
            [1.0, 5.960_464_5e-8, 0.0, 1.0]
        );
    }

    #[test]
    fn out_of_range_reads_zeros() {
        let bytes: Vec<u8> = (0..20).collect();
        let source = Elements {
            bytes: &bytes,
            offset: 4,
            stride: 8,
        };
        let mut cells = [Cell::default(); 6];
        let ids = [[0, 1, 2, u32::MAX, 0, 1, 2, 3]];
        fetch_groups(VertexFormat::Uint32x2, &source, &ids, &mut cells, 6, 3, 2);
        assert_eq!(cells[3].0, [0x07060504, 0x0f0e0d0c, 0, 0, 0x07060504, 0x0f0e0d0c, 0, 0]);
        assert_eq!(cells[4].0, [0x0b0a0908, 0x13121110, 0, 0, 0x0b0a0908, 0x13121110, 0, 0]);
        assert_eq!(cells[5].0, [0; 8]);
    }
}
