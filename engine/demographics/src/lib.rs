//! Comparison of people by name and telephone number, shared by the engine and the adapters. The only code of the
//! product that compares names and reads telephone numbers.

pub mod name;
pub mod phone;
