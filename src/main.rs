//! quadrille
fn main() {}
