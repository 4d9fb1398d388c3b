//! Records.

pub mod listing;
pub mod saving;
pub mod visible;
