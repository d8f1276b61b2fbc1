//! Whole passes against the rules: pipelines built from IR, on the interpreter and on native code, pixel by pixel.

#![expect(clippy::disallowed_methods, reason = "powers of two as expected values are exact")]

mod blend;
mod clip;
mod coverage;
mod depth;
mod early;
mod formats;
mod geometry;
mod invariance;
mod multisample;
mod output;
mod pixel;
mod primitives;
mod samples;
mod shot;
mod stencil;
mod support;
mod viewports;
