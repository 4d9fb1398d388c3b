//! The framework of the API: values, HTTP, nodes, and calls with their permissions. Independent of individual
//! resources.
//!
//! ```text
//!  values ◄ http ◄ nodes ◄ access ◄ records
//! ```

#![warn(unreachable_pub)]

pub mod access;
pub mod http;
pub mod nodes;
pub mod records;
pub mod values;
