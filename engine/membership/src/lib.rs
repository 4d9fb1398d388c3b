//! Placement of institutions on the nodes of a cluster. All state is in the shared store: one row per node,
//! which the node renews, and the view, which lists the members. Nodes do not ask each other.
//!
//! ```text
//!  table (rows, views) ──► member: evaluates a snapshot ──► place: mine, elsewhere, or unsettled
//!                             └──► rendezvous: owner of an institution under a view
//! ```
//!
//! Guarantees, for clocks that run at the same rate and may show any time:
//!
//! - An institution is served by one node at a time. A node serves for one period after it began to renew its
//!   row, by its own clock. Other nodes count it as gone when they have seen no renewal for longer than that.
//! - A view takes effect for a moving institution when every node that may have served it has released it:
//!   all members of the view and of earlier views have confirmed the view, have left, or are gone.
//! - Institutions that do not move are served without a pause.
//!
//! The crate exists for fresh reads and for speed. Writes are safe without it: the next sequence number of a
//! location's journal acts as the lock.

#![warn(unreachable_pub)]

mod member;
mod rendezvous;
mod table;

pub use member::{Member, MembershipChange, MembershipRules, Moment, Place};
pub use table::{Node, NodeId, Proposal, Row, Snapshot, View, read_snapshot};

#[cfg(test)]
mod tests;
