//! Writes to the EHR: in order, each once, retried until their deadline.
//!
//! ```text
//! intent ──► queue (one ordering key at a time) ──► call ──► retry ──► done, failed, once more, or looked up first
//!              ▲                                    ▲          │
//!            order                                breaker ◄────┘
//! ```
//!
//! The commit of a decision also starts the writes that it makes ready (`ahead`); the timer starts the rest.

mod ahead;
pub(crate) mod breaker;
pub mod intent;
pub mod order;
pub mod queue;
pub mod replacement;
pub(crate) mod replacing;
pub(crate) mod retry;
