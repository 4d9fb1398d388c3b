//! Tests of lists and the feed on real turns of the processor.
#![allow(clippy::unwrap_used)]

mod feed;
mod lists;
