//! What traced fragment programs show on the way: coverage, tests, what is left of the coverage, colours before and after.
//!
//! A note is an `Op::Note` whose number says what its operands are; only programs of the form `Traced` have any, and they
//! do otherwise what the whole program does.

/// What a note shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Primitive index (u32), whether it is front-facing (bool).
    Primitive,
    /// A sample's coverage (bools): by the rasterizer, and after the pipeline's sample mask.
    Coverage {
        /// The sample.
        sample: u32,
    },
    /// A sample's tests: the fragment's depth, the stored depth (both f32, or the codes of unorm formats), the stored stencil
    /// (u32); then (bools) whether it is within the depth bounds, passes the stencil and the depth test. What isn't tested
    /// is 0 and passes.
    Tests {
        /// The sample.
        sample: u32,
    },
    /// What is left of a sample's coverage after the shader (bools): not discarded; in the shader's or alpha's mask; all in all.
    Kept {
        /// The sample.
        sample: u32,
    },
    /// A sample of a target: four components of the shader's colour, of the stored colour before, and after (f32, i32 or u32).
    Color {
        /// The target.
        target: u32,
        /// The sample.
        sample: u32,
    },
}

impl Note {
    pub(super) fn number(self) -> u32 {
        match self {
            Note::Primitive => 0,
            Note::Coverage { sample } => 1 << 16 | sample,
            Note::Tests { sample } => 2 << 16 | sample,
            Note::Kept { sample } => 3 << 16 | sample,
            Note::Color { target, sample } => 4 << 16 | target << 8 | sample,
        }
    }

    /// The note with that number.
    pub fn of(number: u32) -> Option<Note> {
        let sample = number & 0xff;
        Some(match number >> 16 {
            0 => Note::Primitive,
            1 => Note::Coverage { sample },
            2 => Note::Tests { sample },
            3 => Note::Kept { sample },
            4 => Note::Color {
                target: number >> 8 & 0xff,
                sample,
            },
            _ => return None,
        })
    }
}
