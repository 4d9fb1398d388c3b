//! The EHR that an adapter is tested with.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use adapter_host::Gate;
use chrono_tz::Tz;
use records::ehr::{Resource, Write};
use serde::Deserialize;

/// An adapter together with a running EHR, real or simulated. The suite writes new records in each run.
pub trait EhrUnderTest: 'static {
    fn place(&self) -> EhrAddress;
    /// Path of the base URL on loopback, without a trailing slash.
    fn base_path(&self) -> &str {
        ""
    }
    /// Headers with credentials, which the host adds.
    fn credentials(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The session of a workstation, for an adapter that only works through the gate. `proxy` forwards to the EHR.
    fn gate(&self, _proxy: SocketAddr) -> Option<Arc<dyn Gate>> {
        None
    }
    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The location's id in the EHR.
    fn location(&self) -> &str;
    /// A zone with daylight saving; the EHR's own, if it stores local times.
    fn zone(&self) -> Tz;

    /// Existing records that writes can refer to.
    fn existing_ids(&self) -> ExistingIds;
    /// Start of the n-th free half hour of `existing_ids().operatory`, from 0, in seconds since 1970. Up to about 500
    /// are requested.
    fn free(&self, n: usize) -> i64;
    /// Returns `true` if the operatory is free at a time that the suite chooses itself.
    fn is_free(&self, _start: i64) -> bool {
        true
    }
    /// Adapts a write of the suite to this EHR: adds required fields and replaces unsupported values.
    fn adjust(&self, _write: &mut Write) {}
    /// Returns `true` if the EHR stores a field unchanged, so that a pull returns it. Fields have the engine's names.
    fn keeps(&self, _resource: Resource, _field: &str) -> bool {
        true
    }
    /// Returns `false` for an EHR of local times without offset, which cannot represent both hours of a daylight-saving
    /// overlap.
    fn keeps_instants(&self) -> bool {
        true
    }

    /// Returns `true` if the EHR stores write keys with records, so that two writes with the same fields can be
    /// distinguished.
    fn keeps_write_keys(&self) -> bool {
        false
    }
    /// Delay until the EHR's own search finds a write; the engine's `settle`.
    fn settle(&self) -> Duration {
        Duration::ZERO
    }
    /// First number in the suite's names, notes and amounts. It differs between runs against a persistent EHR.
    fn first_number(&self) -> usize {
        0
    }

    /// Returns `true` if `copies` can count the records of this resource.
    fn counts(&self, _resource: Resource) -> bool {
        true
    }
    /// Counts the EHR's records with the expected content of this write. Uses the EHR's own API and not the write key:
    /// the name of a patient, place and time of an appointment, or the text of a note.
    fn copies(&self, write: &Write) -> impl Future<Output = usize>;
    /// Changes a record as staff would, so that a pull returns the change. Returns `false` if staff cannot.
    fn change(&self, resource: Resource, id: &str) -> impl Future<Output = bool>;
    /// Deletes a record as staff would. Returns `false` if staff cannot.
    fn delete(&self, resource: Resource, id: &str) -> impl Future<Output = bool>;
    /// Makes a record unreadable, as a failed import would. Returns `false` if that is impossible.
    fn corrupt(&self, _resource: Resource, _id: &str) -> impl Future<Output = bool> {
        async { false }
    }
    /// Returns a write that this EHR refuses, of a new patient or about one. Returns `None` if it accepts everything.
    fn refused(&self, write: Write) -> impl Future<Output = Option<Write>>;
}

pub enum EhrAddress {
    /// The suite inserts its proxy.
    Loopback(SocketAddr),
    /// The base URL. Faults are injected before requests leave this process, so that TLS and the EHR's own name are
    /// unchanged.
    Url(String),
}

/// Foreign ids of records that the EHR has from the start.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExistingIds {
    pub patient: String,
    pub provider: String,
    pub operatory: Option<String>,
    pub appointment_type: Option<String>,
}
