//! The settings of a location's state machine, with defaults. Values come from the operator's configuration.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    ids::LocationId,
    resource::{Operation, Resource},
    schedule::zone::Zone,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};

/// The settings of a location.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSettings {
    /// The location.
    pub location: LocationId,
    /// The time zone of the location.
    pub zone: Zone,
    /// `true` if bookings must name an operatory (specification 1.8).
    pub map_by_operatory: bool,
    /// The capabilities of the location's EHR.
    pub capabilities: Capabilities,
    /// The rules for bookings.
    pub booking: BookingRules,
    /// The rules for writes.
    pub write: WriteRules,
    /// The rules for reading the EHR.
    pub pull: PullRules,
    /// The request quota of the EHR.
    pub quota: Quota,
    /// Maximum time that a call waits for a call slot, in addition to its own deadline.
    #[serde(default)]
    pub place_wait: Millis,
}

/// The capabilities of the location's EHR, from its adapter's `describe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// `false` if there is no EHR: nothing is written back, and bookings stay `pending` (specification 1.4).
    pub integrated: bool,
    /// Support for creating patients.
    pub new_patients: bool,
    /// Support for creating appointments.
    pub creates_appointments: bool,
    /// Support for moving appointments.
    pub reschedules: bool,
    /// Support for cancelling appointments.
    pub cancels: bool,
    /// Support for confirming appointments.
    pub confirms: bool,
    /// Support for checking patients in.
    pub checks_in: bool,
    /// Support for notes of appointments.
    pub notes: bool,
    /// The accepted operations on each other resource.
    pub writes: BTreeSet<(Resource, Operation)>,
    /// The resources that this location pulls, in order. Shared resources of a data source are pulled by one of its
    /// locations.
    pub pulls: Vec<PullPlan>,
}

/// A resource that a location pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullPlan {
    /// The resource.
    pub resource: Resource,
    /// `true` if a whole pass lists every record, so that missing records were deleted.
    pub deletions_by_absence: bool,
}

/// The handling of a pending booking whose slot staff take in the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictRule {
    /// The insert fails with that reason.
    Fail,
    /// The booking moves to another operatory of the same provider at the same time, or fails if none is free.
    MoveOperatory,
}

/// The rules for bookings and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingRules {
    /// Lifetime of a hold.
    pub hold: Millis,
    /// Maximum number of concurrent holds. A hold is free, so one client could otherwise hold a whole calendar.
    pub max_holds: u32,
    /// Maximum number of concurrent holds of one API key, which leaves room for other clients.
    pub max_holds_per_key: u32,
    /// Time for which an idempotency key replays its first booking.
    pub key_lifetime: Millis,
    /// The handling of a booking whose slot staff take.
    pub on_conflict: ConflictRule,
    /// Number of alternatives offered when a slot is taken.
    pub alternatives: u8,
}

/// The rules for writes to the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRules {
    /// Maximum number of writes in flight.
    pub concurrency: u8,
    /// Deadline of one call, after which its outcome is unknown.
    pub call_deadline: Millis,
    /// First pause between two attempts. It doubles up to the cap, with full jitter.
    pub backoff_base: Millis,
    /// The longest pause between two attempts, in milliseconds.
    pub backoff_cap: Millis,
    /// Time after which a write fails. An appointment insert fails at the start of the appointment instead.
    pub deadline: Millis,
    /// Pause between an unknown outcome and its look-up, because an abandoned request may still be applied. Open
    /// Dental's remote API abandons a request after a minute.
    pub settle: Millis,
    /// Maximum resends of a creation that a look-up did not find. A wrong look-up leads to a duplicate, so an operator
    /// decides afterwards.
    pub max_resends: u32,
    /// Number of distinct failing writes in a row that opens the circuit breaker.
    pub breaker_threshold: u8,
    /// First pause of an open breaker; doubles up to the cap.
    pub breaker_pause: Millis,
    /// The longest pause of the open breaker, in milliseconds.
    pub breaker_pause_cap: Millis,
    /// Maximum number of unfinished writes; further ones are refused with 503.
    pub max_queue: u32,
}

impl WriteRules {
    /// Returns the queue limit for changes of accepted records, which still fit when the queue is full for bookings.
    pub fn max_changes(&self) -> u32 {
        self.max_queue.saturating_mul(3)
    }
}

/// The rules for reading the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRules {
    /// Time from the end of one read cycle to the start of the next.
    pub every: Millis,
    /// Maximum random extension of that time, so that locations do not pull in step.
    pub jitter_percent: u8,
    /// Records requested per page.
    pub page: u32,
    /// Maximum pages of a resource per cycle, so that an EHR that never returns a last page cannot block the location.
    pub max_pages: u32,
    /// Deadline of one call, in milliseconds.
    pub call_deadline: Millis,
    /// The first pause after a failure, in milliseconds.
    pub retry_base: Millis,
    /// The longest pause after failures, in milliseconds.
    pub retry_cap: Millis,
    /// Share of a resource, in percent, that a pass may delete. A larger share, with at least `guard_at_least`
    /// deletions, stops the pass with an alarm.
    pub guard_percent: u8,
    /// Minimum number of deletions that stops a pass.
    pub guard_at_least: u32,
    /// Time after which a resource is read in full again to confirm that missing records are deleted.
    pub confirm_after: Millis,
    /// Time for which ended appointments stay in the calendar.
    pub keep_past: Millis,
}

/// The request quota of an EHR: a bucket of `burst` requests, refilled at `per_minute`. A call counts as one request at
/// its start; its further requests are counted at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Requests per minute.
    pub per_minute: u32,
    /// Capacity of the bucket.
    pub burst: u32,
}

impl PullRules {
    /// Returns the longest time from the end of one cycle to the start of the next.
    pub fn longest_pause(&self) -> Millis {
        self.every.saturating_add(self.every.saturating_mul(i64::from(self.jitter_percent)) / 100)
    }
}

impl Default for BookingRules {
    fn default() -> Self {
        BookingRules {
            hold: 5 * MINUTE,
            max_holds: 200,
            max_holds_per_key: 50,
            key_lifetime: 24 * HOUR,
            on_conflict: ConflictRule::Fail,
            alternatives: 5,
        }
    }
}

impl Default for WriteRules {
    fn default() -> Self {
        WriteRules {
            concurrency: 2,
            call_deadline: 30 * SECOND,
            backoff_base: 2 * SECOND,
            backoff_cap: 15 * MINUTE,
            deadline: 72 * HOUR,
            settle: MINUTE,
            max_resends: 3,
            breaker_threshold: 3,
            breaker_pause: 30 * SECOND,
            breaker_pause_cap: 15 * MINUTE,
            max_queue: 10_000,
        }
    }
}

impl Default for PullRules {
    fn default() -> Self {
        PullRules {
            every: 10 * MINUTE,
            jitter_percent: 10,
            page: 100,
            max_pages: 10_000,
            call_deadline: 60 * SECOND,
            retry_base: 5 * SECOND,
            retry_cap: 10 * MINUTE,
            guard_percent: 30,
            guard_at_least: 20,
            confirm_after: 2 * MINUTE,
            keep_past: DAY,
        }
    }
}

impl Default for Quota {
    fn default() -> Self {
        Quota { per_minute: 600, burst: 60 }
    }
}

impl MachineSettings {
    /// Creates the default settings of a location without EHR.
    pub fn new(location: LocationId, zone: Zone) -> MachineSettings {
        MachineSettings {
            location,
            zone,
            map_by_operatory: false,
            capabilities: Capabilities::default(),
            booking: BookingRules::default(),
            write: WriteRules::default(),
            pull: PullRules::default(),
            quota: Quota::default(),
            place_wait: 0,
        }
    }
}
