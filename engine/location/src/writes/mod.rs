//! Writes to the EHR: in order, once, tried again until their deadline.
//!
//! ```text
//! intent ──► queue (one ordering key at a time) ──► call ──► retry ──► done, failed, once more, or looked up first
//!              ▲                                    ▲          │
//!            order                                breaker ◄────┘
//! ```
//!
//! What a decision makes ready to be sent starts in the commit of that decision (`ahead`); the timer starts the rest.

mod ahead;
pub(crate) mod breaker;
pub mod intent;
pub mod order;
pub mod queue;
pub(crate) mod retry;
