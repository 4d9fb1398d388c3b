//! Every knob of a location's machine, with its default and its reason. Values come from the operator's configuration.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    ids::LocationId,
    resource::{Operation, Resource},
    schedule::zone::Zone,
    time::{DAY, HOUR, MINUTE, Millis, SECOND},
};

/// What the machine must know about its location.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The location.
    pub location: LocationId,
    /// The time zone of the location.
    pub zone: Zone,
    /// Bookings must name an operatory (specification 1.8).
    pub map_by_operatory: bool,
    /// What its EHR can do.
    pub capabilities: Capabilities,
    /// The rules for bookings.
    pub booking: BookingRules,
    /// The rules for writes.
    pub write: WriteRules,
    /// The rules for reading the EHR.
    pub pull: PullRules,
    /// How many requests the EHR may be sent.
    pub quota: Quota,
    /// How long a call may wait for its turn before it begins, apart from its own deadline.
    #[serde(default)]
    pub place_wait: Millis,
}

/// What the location's EHR can do, from its adapter's `describe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// False: there is no EHR, so nothing is written back and bookings stay `pending` (specification 1.4).
    pub integrated: bool,
    /// It creates patients.
    pub new_patients: bool,
    /// It creates appointments.
    pub creates_appointments: bool,
    /// It moves appointments.
    pub reschedules: bool,
    /// It cancels appointments.
    pub cancels: bool,
    /// It confirms appointments.
    pub confirms: bool,
    /// It checks patients in.
    pub checks_in: bool,
    /// It keeps notes of appointments.
    pub notes: bool,
    /// Records it takes, and what can be done to them.
    pub writes: BTreeSet<(Resource, Operation)>,
    /// What this location pulls, in order. Resources shared by a data source are pulled by one of its locations only.
    pub pulls: Vec<PullPlan>,
}

/// A resource that a location pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullPlan {
    /// The resource.
    pub resource: Resource,
    /// A whole pass shows every record: what it does not show was deleted.
    pub deletions_by_absence: bool,
}

/// What happens to a booking not yet in the EHR when staff take its slot there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictRule {
    /// The insert fails with that reason.
    Fail,
    /// It moves to another operatory of the same provider at the same time; without one it fails.
    MoveOperatory,
}

/// The rules for bookings and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingRules {
    /// How long a hold keeps a slot.
    pub hold: Millis,
    /// Holds at one time: a hold costs its holder nothing, so one client must not be able to hold a whole calendar.
    pub max_holds: u32,
    /// Of these the holds of one API key: one client's must leave room for the others'.
    pub max_holds_per_key: u32,
    /// How long an idempotency key answers with its first booking.
    pub key_lifetime: Millis,
    /// What happens to a booking whose slot staff take.
    pub on_conflict: ConflictRule,
    /// Alternatives named when a slot is taken.
    pub alternatives: u8,
}

/// The rules for writes to the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRules {
    /// Writes in flight at one time.
    pub concurrency: u8,
    /// How long one call may take before its outcome counts as unknown.
    pub call_deadline: Millis,
    /// Exponential backoff with full jitter between these.
    pub backoff_base: Millis,
    /// The longest pause between two attempts, in milliseconds.
    pub backoff_cap: Millis,
    /// Writes other than appointment inserts give up after this; inserts at the appointment's start.
    pub deadline: Millis,
    /// How long after an unknown outcome the EHR is asked: a request nobody waits for any more may still land. Open Dental's remote API
    /// gives one up after a minute.
    pub settle: Millis,
    /// How often what makes a record is sent again after a look-up did not find it. A look-up may be wrong, and each further one makes the
    /// record once more: then an operator decides.
    pub max_resends: u32,
    /// Different writes that fail in a row before the circuit breaker opens.
    pub breaker_threshold: u8,
    /// First pause of an open breaker; it doubles up to the cap.
    pub breaker_pause: Millis,
    /// The longest pause of the open breaker, in milliseconds.
    pub breaker_pause_cap: Millis,
    /// Unfinished writes a location keeps; more are refused with 503.
    pub max_queue: u32,
}

impl WriteRules {
    /// Moves and cancellations of what is accepted already find room in a queue too full for bookings.
    pub fn max_changes(&self) -> u32 {
        self.max_queue.saturating_mul(3)
    }
}

/// The rules for reading the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRules {
    /// Time between the starts of two read cycles.
    pub every: Millis,
    /// Spread of that time, so that locations do not pull in step.
    pub jitter_percent: u8,
    /// Records asked for per page.
    pub page: u32,
    /// Pages of one resource in one cycle: an EHR that never says `last` must not hold the location.
    pub max_pages: u32,
    /// How long one call may take, in milliseconds.
    pub call_deadline: Millis,
    /// The first pause after a failure, in milliseconds.
    pub retry_base: Millis,
    /// The longest pause after failures, in milliseconds.
    pub retry_cap: Millis,
    /// A pass that would delete more than this share of a resource, and at least `guard_at_least`, stops with an alarm.
    pub guard_percent: u8,
    /// Fewer deletions than this do not stop a pass.
    pub guard_at_least: u32,
    /// Time after which a resource is read in full again to confirm that missing records are deleted.
    pub confirm_after: Millis,
    /// How long ended appointments stay in the calendar's memory.
    pub keep_past: Millis,
}

/// The EHR's quota: a bucket of `burst` requests refilled at `per_minute`. A call is counted as one when it starts, and what it sent beyond
/// that when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Requests a minute.
    pub per_minute: u32,
    /// Requests at once.
    pub burst: u32,
}

impl PullRules {
    /// The longest time from the end of one cycle to the start of the next.
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

impl Settings {
    /// Defaults for a location in a zone, without EHR.
    pub fn new(location: LocationId, zone: Zone) -> Settings {
        Settings {
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
