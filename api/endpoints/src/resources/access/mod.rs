//! Bearer tokens, the calling key and the calling operator.

pub mod authenticates;
pub mod me;
pub mod operators;
