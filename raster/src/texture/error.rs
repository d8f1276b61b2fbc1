//! What can go wrong with a texture. All but `OutOfMemory` and `Busy` are the caller's mistakes.

use crate::format::TextureFormat;

/// Why a texture operation was refused; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextureError {
    /// A size or count is zero or above its limit.
    #[error("{what} is {value}; it must be 1 to {limit}")]
    Limit {
        /// Which number.
        what: &'static str,
        /// What was asked for.
        value: u64,
        /// The most there may be.
        limit: u64,
    },
    /// Sample counts are 1, 2, 4, 8 and 16.
    #[error("sample count {0} is not supported: use 1, 2, 4, 8 or 16")]
    SampleCount(u32),
    /// Things that exclude one another.
    #[error("{0}")]
    Invalid(&'static str),
    /// The format can't do what is asked.
    #[error("format {format} {what}")]
    Format {
        /// The format.
        format: TextureFormat,
        /// "cannot be filtered", ...
        what: &'static str,
    },
    /// More memory than the budget has left, or than the system gives.
    #[error(
        "{needed} bytes are needed for a texture and {left} of the memory limit are left; raise the limit or free textures"
    )]
    OutOfMemory {
        /// Bytes asked for.
        needed: u64,
        /// Bytes left.
        left: u64,
    },
    /// A copy reaches outside of the texture.
    #[error("the region reaches {axis} {end}, but level {level} ends at {size}")]
    Region {
        /// "x", "y", "z" or "layer".
        axis: &'static str,
        /// One past the last.
        end: u64,
        /// Size of that axis.
        size: u32,
        /// The mip level.
        level: u32,
    },
    /// A buffer is too short for the rows described.
    #[error("the data has {got} bytes, but the rows described take {needed}")]
    DataSize {
        /// Bytes given.
        got: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// A range of levels or layers that the texture lacks.
    #[error("the view asks for {what} {first}..{end}, but the texture has {size}")]
    ViewRange {
        /// "levels" or "layers".
        what: &'static str,
        /// First.
        first: u32,
        /// One past the last.
        end: u64,
        /// How many there are.
        size: u32,
    },
    /// The subresource is being written (or, for a write, used) by something else, such as a pass in flight or the
    /// same pass.
    #[error("layer {layer}, level {level} of the texture is in use and can't be {wanted} at the same time")]
    Busy {
        /// Layer.
        layer: u32,
        /// Level.
        level: u32,
        /// "read" or "written".
        wanted: &'static str,
    },
}
