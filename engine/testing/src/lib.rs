//! Fixtures shared by the tests of several crates, for `[dev-dependencies]` only.
//!
//! | module | fixtures |
//! | --- | --- |
//! | `setups` | institutions, locations and data sources with defaults for all fields |
//! | `ehr` | `FakeEhr`: an EHR with scripted pages and writes |
//! | `hooked_store` | `HookedStore`: counts reads, and delays or refuses calls |
//! | `views` | `NoViews` and `PlainViews`: records as webhooks show them |
//! | `deliveries` | the deliveries of webhooks in a store |
//! | `receiver` | `Receiver`: a receiver of webhooks on loopback with scripted answers |
//! | `samples` | records and queries with the fields that most tests leave alone, changes of an earlier version |
//! | `clock`, `counter` | `ManualClock` and `Counter` |
//! | `until` | waits for a condition |
//!
//! Unit tests of a crate that this one is built on (`setup`, `store`, `query`, `webhooks`, ...) see two versions of
//! their own crate: the tested one, and the one in the types of these fixtures. They can use fixtures of lower crates
//! only.
#![warn(unreachable_pub)]
#![allow(clippy::unwrap_used)]

mod clock;
mod counter;
mod deliveries;
mod ehr;
mod hooked_store;
mod receiver;
mod samples;
mod setups;
mod until;
mod views;

pub use clock::ManualClock;
pub use counter::Counter;
pub use deliveries::deliveries;
pub use ehr::FakeEhr;
pub use hooked_store::HookedStore;
pub use receiver::{Answer, Received, Receiver};
pub use samples::{earlier_change, insurance_plan, slot_query, working_hour};
pub use setups::{institution, location, location_with, one_location, setup, source};
pub use until::{PATIENCE, until, until_blocking};
pub use views::{NoViews, PlainViews};
