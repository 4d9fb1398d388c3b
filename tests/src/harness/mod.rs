//! What tests stand on.

pub mod external;
