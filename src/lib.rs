//! quadrille
