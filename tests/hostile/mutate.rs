//! Seeded damage: the same every time for the same seed.

/// A linear congruential generator; its low bits are poor, so the high ones are taken.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// Words that headers go wrong at.
const WORDS: [u32; 10] = [0, 1, 2, 6, 0x7fff_ffff, 0x8000_0000, u32::MAX, 16384, 0x1_0000, 0xff00];
/// What JSON goes wrong at.
const TOKENS: [&[u8]; 12] = [
    b"-1",
    b"1e999",
    b"4294967296",
    b"18446744073709551615",
    b"null",
    b"[]",
    b"{}",
    b"\"\"",
    b"\\u0000",
    b"0.5",
    b"\"",
    b"]",
];

/// One to four damages to a file; `other` gives parts of another valid one.
pub fn damage(file: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        if file.is_empty() {
            return;
        }
        // Headers are short and at the start: half of all damage goes there.
        let reach = if random.below(2) == 0 {
            file.len()
        } else {
            file.len().min(256)
        };
        let at = random.below(reach);
        match random.below(9) {
            0 => file.truncate(at),
            1 => file[at] = random.below(256) as u8,
            2 => file[at] ^= 1 << random.below(8),
            3 | 4 => {
                let at = at & !3;
                let word = WORDS[random.below(WORDS.len())];
                let word = if random.below(4) == 0 {
                    word.to_be_bytes()
                } else {
                    word.to_le_bytes()
                };
                let end = (at + 4).min(file.len());
                file[at..end].copy_from_slice(&word[..end - at]);
            }
            5 => {
                let end = (at + 1 + random.below(16)).min(file.len());
                file.drain(at..end);
            }
            6 => {
                let end = (at + 1 + random.below(64)).min(file.len());
                let part = file[at..end].to_vec();
                let to = random.below(file.len());
                file.splice(to..to, part);
            }
            7 if !other.is_empty() => {
                let from = random.below(other.len());
                let end = (from + 1 + random.below(64)).min(other.len());
                let to = (at + end - from).min(file.len());
                file.splice(at..to, other[from..end].iter().copied());
            }
            _ => {
                // A number in text becomes another.
                let digit = (at..file.len()).find(|&i| file[i].is_ascii_digit());
                if let Some(start) = digit {
                    let digits = file[start..].iter().take_while(|b| b.is_ascii_digit()).count();
                    let token = TOKENS[random.below(TOKENS.len())];
                    file.splice(start..start + digits, token.iter().copied());
                }
            }
        }
    }
}
