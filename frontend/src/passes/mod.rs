//! Passes over the IR, one idea each.

pub mod expand;
