//! Native tests of the adapter: its modules, and stories with recorded responses.
#![allow(clippy::unwrap_used)]

mod parts;
mod stories;
mod tape;
