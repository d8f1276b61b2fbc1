//! quadrille
pub mod files;
pub mod scene;
