//! The guest side of the adapter contract. Implement [`Adapter`], pass the type to [`export_adapter!`], and use
//! [`http`], [`clock`], [`config`] and [`log`] for everything outside the sandbox.
//!
//! Optional layers build on these. [`tables::Tables`] is an adapter as tables of the records it reads ([`streams`]) and
//! writes ([`writes`]), with the cursors of [`pass`] and the page rules of [`pages`]. [`settings`] are typed. [`json`]
//! converts an EHR's JSON to records, [`fields`] maps its names. [`redact`] removes patient data from an EHR's
//! messages. [`notes`] stores write keys in an EHR without a field for them. [`session`] interprets responses through
//! the [`gate`]. [`money`], [`time`], [`clock`], [`language`] and [`vocabulary`] convert the formats of EHRs.
//!
//! More tools that several EHRs need: [`spans`] detects occupied times, [`steps`] maps the faults of writes in several
//! steps, [`limits`] contains the host's limits for records, [`mark`] distinguishes versions.
//!
//! ```
//! use adapter_sdk::{Adapter, Description, Fault, Hosting, Page, Receipt, Resource, Write, http};
//!
//! struct Example;
//!
//! impl Adapter for Example {
//!     fn describe() -> Result<Description, Fault> {
//!         let (name, version) = ("Example".into(), "1.0.0".into());
//!         Ok(Description { name, version, hosting: Hosting::Cloud, ..Default::default() })
//!     }
//!     fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
//!         let after = cursor.unwrap_or_default();
//!         let _answer = http::get(format!("/{resource:?}?after={after}&limit={limit}")).send()?;
//!         Ok(Page { last: true, whole: true, ..Default::default() })
//!     }
//!     fn push(_write_key: String, _write: Write) -> Result<Receipt, Fault> {
//!         Err(Fault::unsupported("read only"))
//!     }
//!     fn find(_write_key: String, _write: Write) -> Result<Option<Receipt>, Fault> {
//!         Ok(None)
//!     }
//! }
//!
//! adapter_sdk::export_adapter!(Example);
//! ```
//!
//! The crate also compiles natively, so that an adapter's own tests run without a sandbox: [`testing`] then simulates
//! the host.

#![warn(missing_docs)]

// Generated, and compared with `wit/v1` by a test of the kit. The canonical ABI passes pointers.
#[allow(unsafe_code, missing_docs, clippy::all, clippy::unwrap_used)]
#[rustfmt::skip]
#[doc(hidden)]
#[path = "../generated/bindings.rs"]
pub mod bindings;
mod change;
pub mod clock;
pub mod config;
mod fault;
pub mod fields;
pub mod gate;
pub mod http;
pub mod json;
pub mod language;
pub mod limits;
pub mod log;
pub mod mark;
pub mod money;
pub mod notes;
pub mod pages;
#[cfg(target_arch = "wasm32")]
mod panics;
pub mod pass;
pub mod records;
pub mod redact;
pub mod session;
pub mod settings;
pub mod spans;
pub mod steps;
pub mod streams;
pub mod tables;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod time;
pub mod vocabulary;
mod words;
pub mod writes;

pub use bindings::exports::practice_sync::ehr::ehr::{
    AppointmentChange, Deletions, Description, Fault, Hosting, MaxLength, Page, PatientChange, PatientField,
    PullAbility, Receipt, Record, Resource, RetryLater, SkippedRecord, Write, WriteKind,
};

/// One EHR behind the contract. Every call runs in a fresh instance, so an adapter keeps no state.
pub trait Adapter {
    /// Returns the EHR's capabilities. Called when a location starts and once a day; may send requests to the EHR.
    fn describe() -> Result<Description, Fault>;
    /// Returns one page of at most `limit` records. Without a cursor a first, whole pass begins.
    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault>;
    /// Writes once. `write_key` is the same for all attempts at one write.
    fn push(write_key: String, write: Write) -> Result<Receipt, Fault>;
    /// Looks for an earlier `push` of this write key. Returns `None` only if it was certainly not written.
    fn find(write_key: String, write: Write) -> Result<Option<Receipt>, Fault>;
}

impl Default for Hosting {
    /// Hosted by the vendor, like most EHRs.
    fn default() -> Hosting {
        Hosting::Cloud
    }
}

impl MaxLength {
    /// Limits the length of a field, such as `insurance-plan.name`.
    pub fn new(field: impl Into<String>, characters: u32) -> MaxLength {
        MaxLength { field: field.into(), characters }
    }
}

impl SkippedRecord {
    /// A record that exists but cannot be read.
    pub fn new(id: impl Into<String>, reason: impl Into<String>) -> SkippedRecord {
        SkippedRecord { id: id.into(), reason: reason.into() }
    }
}

impl Receipt {
    /// The receipt of a record without a version.
    pub fn new(id: impl ToString) -> Receipt {
        Receipt { id: id.to_string(), version: None }
    }
}

/// Exports a type that implements [`Adapter`]. Call it once, in the adapter's `lib.rs`. Native builds export nothing.
#[macro_export]
macro_rules! export_adapter {
    ($adapter:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "generated: the canonical ABI passes pointers")]
        mod __adapter_export {
            #[allow(unused_imports)]
            use super::*;

            struct Export;

            impl $crate::bindings::exports::practice_sync::ehr::ehr::Guest for Export {
                fn describe() -> Result<$crate::Description, $crate::Fault> {
                    $crate::__report_panics();
                    <$adapter as $crate::Adapter>::describe()
                }
                fn pull(
                    resource: $crate::Resource,
                    cursor: Option<String>,
                    limit: u32,
                ) -> Result<$crate::Page, $crate::Fault> {
                    $crate::__report_panics();
                    <$adapter as $crate::Adapter>::pull(resource, cursor, limit)
                }
                fn push(write_key: String, write: $crate::Write) -> Result<$crate::Receipt, $crate::Fault> {
                    $crate::__report_panics();
                    <$adapter as $crate::Adapter>::push(write_key, write)
                }
                fn find(write_key: String, write: $crate::Write) -> Result<Option<$crate::Receipt>, $crate::Fault> {
                    $crate::__report_panics();
                    <$adapter as $crate::Adapter>::find(write_key, write)
                }
            }

            $crate::bindings::export_bindings!(Export with_types_in $crate::bindings);
        }

        // A native build exports nothing, but checks that the type is an adapter.
        #[cfg(not(target_arch = "wasm32"))]
        const _: fn() -> Result<$crate::Description, $crate::Fault> = <$adapter as $crate::Adapter>::describe;
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use panics::report as __report_panics;
