//! Random numbers for random programs and their data: many of them special.

/// A small generator of random numbers (xorshift*), so that a seed names a program.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(super) fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.next() % n.max(1)
    }
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
    /// Bits that are often special as a float or an integer.
    pub(super) fn bits(&mut self) -> u32 {
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
