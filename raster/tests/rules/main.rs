//! Whole passes against the rules: pipelines built from IR, on the interpreter and on native code, pixel by pixel.

mod blend;
mod depth;
mod geometry;
mod invariance;
mod multisample;
mod stencil;
mod support;
