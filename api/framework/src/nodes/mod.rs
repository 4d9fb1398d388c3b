//! Nodes behind a load balancer. Each node accepts any call, and forwards it to the node that owns the institution.
//!
//! ```text
//!  client ──► routes: which node? ──► here
//!                   └──► forward ══ internal listener of the other node ══► admission ──► routes ──► here
//! ```
//!
//! Nodes authenticate each other with a shared secret (`proof`). Their traffic is not encrypted.

pub mod admission;
pub mod forward;
mod proof;
pub mod rules;
pub mod socket;
