//! Several nodes behind one load balancer: any of them takes any call, and hands it on once to the node that has the institution.
//!
//! ```text
//!  client ──► routes: whose is it? ──► here
//!                   └──► forward ══ internal listener of the other node ══► admission ──► routes ──► here
//! ```
//!
//! Nodes know each other by a secret they share (`proof`); what they send each other is not encrypted.

pub(crate) mod admission;
pub mod forward;
mod proof;
pub(crate) mod rules;
pub(crate) mod socket;
