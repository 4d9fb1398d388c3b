//! Compares people by what they are called and where they are called: the only comparison of names and the only reader of telephone
//! numbers of the product. Adapters use it as well as the engine, so it knows nothing of either.

pub mod name;
pub mod phone;
