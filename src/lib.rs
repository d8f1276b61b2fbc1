//! quadrille
pub mod scene;
