//! Routes.

pub mod route;
pub mod table;
