//! What an adapter is tried on.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use adapter_host::Gate;
use chrono_tz::Tz;
use records::ehr::{Resource, Write};
use serde::Deserialize;

/// An adapter together with a running EHR: real, or a fake that says so. What the suite writes there is new each time.
pub trait EhrUnderTest: 'static {
    fn place(&self) -> Place;
    /// The path of the base URL on loopback, without a slash at its end.
    fn base_path(&self) -> &str {
        ""
    }
    /// Headers with credentials, which the host adds.
    fn credentials(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The session of a workstation, for an adapter that has no other way; `proxy` stands before the EHR.
    fn gate(&self, _proxy: SocketAddr) -> Option<Arc<dyn Gate>> {
        None
    }
    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The location's id in the EHR.
    fn location(&self) -> &str;
    /// A zone with daylight saving; the EHR's own, where it keeps local times.
    fn zone(&self) -> Tz;

    /// Records the EHR has already, to write about.
    fn here(&self) -> Here;
    /// The n-th half hour, from 0 on, at which nobody stands in `here().operatory`, in seconds since 1970; some 500 are asked for.
    fn free(&self, n: usize) -> i64;
    /// Whether nobody stands there at a time the suite chooses itself.
    fn is_free(&self, _start: i64) -> bool {
        true
    }
    /// Makes a write the suite thought of one this EHR takes: fields it needs, values it knows.
    fn adjust(&self, _write: &mut Write) {}
    /// Whether the EHR keeps a field of a record as it was written, so that a pull shows it. Fields have the engine's names.
    fn keeps(&self, _resource: Resource, _field: &str) -> bool {
        true
    }
    /// False for an EHR of local times without offset: of the hour that comes twice it knows one.
    fn keeps_instants(&self) -> bool {
        true
    }

    /// The EHR keeps write keys with records, so that two writes with the same fields are told apart.
    fn keeps_write_keys(&self) -> bool {
        false
    }
    /// How long after a write the EHR's own search may not know it yet; the engine's `settle`.
    fn settle(&self) -> Duration {
        Duration::ZERO
    }
    /// The number the suite's names, notes and amounts begin with: another one in each run against an EHR that stays.
    fn first_number(&self) -> usize {
        0
    }

    /// Whether `copies` can count the records of this resource.
    fn counts(&self, _resource: Resource) -> bool {
        true
    }
    /// How many records of the EHR are what this write was to leave there, looked up by the EHR's own API and not by write key: by
    /// name of a patient, place and time of an appointment, text of a note.
    fn copies(&self, write: &Write) -> impl Future<Output = usize>;
    /// Changes a record as staff would, so that a pull shows it changed. False: staff cannot.
    fn change(&self, resource: Resource, id: &str) -> impl Future<Output = bool>;
    /// Deletes a record as staff would. False: staff cannot.
    fn delete(&self, resource: Resource, id: &str) -> impl Future<Output = bool>;
    /// Makes a record one that cannot be read, as a failed import would. False: it cannot be done.
    fn spoil(&self, _resource: Resource, _id: &str) -> impl Future<Output = bool> {
        async { false }
    }
    /// A write this EHR refuses by itself, of a new patient or about them. None: it takes everything.
    fn refused(&self, write: Write) -> impl Future<Output = Option<Write>>;
}

/// Where the EHR is.
pub enum Place {
    /// The suite puts its proxy before it.
    Loopback(SocketAddr),
    /// The base URL; requests are spoilt before they leave this process, so that TLS and the EHR's own name stay as they are.
    Url(String),
}

/// What the EHR has from the start: foreign ids.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Here {
    pub patient: String,
    pub provider: String,
    pub operatory: Option<String>,
    pub appointment_type: Option<String>,
}
