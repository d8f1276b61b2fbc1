//! Variables and buffers, taken apart into scalars: what all front ends with structured types share (law N7).

pub(crate) mod place;
pub(crate) mod shape;
