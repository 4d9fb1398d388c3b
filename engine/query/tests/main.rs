//! Lists and the feed of changes, on real turns of the processor.
#![allow(clippy::unwrap_used)]

mod feed;
mod lists;
