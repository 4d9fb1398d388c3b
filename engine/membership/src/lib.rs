//! Which node of a cluster an institution lives on. All of it lies in the store that the nodes share: a row for each node, which it renews,
//! and the view, which says who is a member. No node asks another.
//!
//! ```text
//!  table (rows, views) ──► member: what a look means ──► place: mine, elsewhere, or unsettled
//!                             └──► rendezvous: whose is it under a view
//! ```
//!
//! What it promises, with clocks that run at the same rate and may show any time:
//!
//! - An institution is served by one node at a time. A node serves for a period after it began to renew its row, by its own clock, and
//!   counts as gone when others saw no renewal for longer than that.
//! - A view takes effect where an institution moves when everybody who may have served it has let go: all members of the view and of those
//!   before it have said that they follow it, have left, or are gone.
//! - What stays where it was is served without a pause.
//!
//! It is for fresh reads and for speed. What is written is safe without it: the next sequence number of a location's journal is its lock.

#![warn(unreachable_pub)]

mod member;
mod rendezvous;
mod table;

pub use member::{Member, Moment, News, Place, Rules};
pub use table::{Look, Node, NodeId, Proposal, Row, View, look};

#[cfg(test)]
mod tests;
