//! The settings of a location and of its state machine, with defaults. Values come from the operator's configuration.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{DAY, HOUR, LocationId, MINUTE, Millis, Operation, Resource, RuleSet, SECOND, Zone};

/// The settings of the state machine of a location.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSettings {
    pub location: LocationId,
    pub zone: Zone,
    /// `true` if bookings must name an operatory (specification 1.8).
    pub map_by_operatory: bool,
    pub capabilities: Capabilities,
    pub booking: BookingRules,
    /// The practice's own rules for visits that are booked through intents.
    #[serde(default, skip_serializing_if = "RuleSet::is_neutral")]
    pub rules: RuleSet,
    pub write: WriteRules,
    pub pull: PullRules,
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
    pub new_patients: bool,
    pub creates_appointments: bool,
    pub reschedules: bool,
    pub cancels: bool,
    pub confirms: bool,
    pub checks_in: bool,
    pub notes: bool,
    /// The accepted operations on each other resource.
    pub writes: BTreeSet<(Resource, Operation)>,
    /// The resources that this location pulls, in order. Shared resources of a data source are pulled by one of its
    /// locations.
    pub pulls: Vec<PullPlan>,
}

impl Capabilities {
    /// Returns the way in which appointments are moved in the EHR, or `None` if they cannot be moved.
    pub fn moves(&self) -> Option<Moves> {
        let replaces = self.creates_appointments && self.cancels;
        if self.reschedules { Some(Moves::Directly) } else { replaces.then_some(Moves::ByReplacement) }
    }
}

/// The way in which appointments are moved in an EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// The EHR moves the appointment.
    Directly,
    /// A new appointment is created, then the old one is cancelled.
    ByReplacement,
}

/// A resource that a location pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullPlan {
    pub resource: Resource,
    /// `true` if a whole pass lists every record, so that missing records were deleted.
    pub deletions_by_absence: bool,
}

/// The handling of a pending booking whose slot staff take in the EHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictRule {
    /// The insert fails with that reason.
    Fail,
    /// The booking moves to another operatory of the same provider at the same time, or fails if none is free.
    MoveOperatory,
}

/// The first call of an intent that needs a fresh schedule without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyOn {
    /// Holds and bookings.
    Hold,
    /// Bookings.
    Book,
    /// None.
    Never,
}

crate::settings! {
    /// The rules for bookings and holds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct BookingRules {
        hold: Millis = 5 * MINUTE, duration(10 * SECOND..=HOUR) => reload, "How long a hold reserves its slot.";
        /// A hold is free, so one client could otherwise hold a whole calendar.
        max_holds: u32 = 200, integer(0..=100_000) => reload, "Holds of one location.";
        /// Leaves room for other clients.
        max_holds_per_key: u32 = 50, integer(0..=100_000) => reload, "Holds of one API key at a location.";
        key_lifetime: Millis = 24 * HOUR, duration(MINUTE..=90 * DAY) =>
            reload, "How long a repeated idempotency key returns its booking.";
        alternatives: u8 = 5, integer(0..=20) => reload, "Alternatives in the answer when a slot is taken.";
        on_conflict: ConflictRule = ConflictRule::Fail,
            word(&[("fail", ConflictRule::Fail), ("move_operatory", ConflictRule::MoveOperatory)]) =>
            reload, "If staff take the slot of a booking that is not written yet: it fails, or moves to another \
                     operatory of the provider.";
        verify_on: VerifyOn = VerifyOn::Never,
            word(&[("hold", VerifyOn::Hold), ("book", VerifyOn::Book), ("never", VerifyOn::Never)]) =>
            reload, "The calls of the booking intent that read the EHR's appointments first if the schedule is older \
                     than `verify_within`: `hold` (holds and bookings), `book` (bookings), or `never`.";
        verify_within: Millis = MINUTE, duration(SECOND..=DAY) =>
            reload, "The age of the schedule that `verify_on` accepts.";
    }

    /// The rules for writes to the EHR. Pauses double up to their cap, with full jitter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct WriteRules {
        concurrency: u8 = 2, integer(1..=64) => reload, "Maximum number of concurrent writes to the EHR.";
        call_deadline: Millis = 30 * SECOND, duration(SECOND..=10 * MINUTE) =>
            reload, "How long a call may take; after it the outcome is unknown.";
        backoff_base: Millis = 2 * SECOND, duration(100..=HOUR) =>
            reload, "The first pause between attempts; pauses grow and are random.";
        backoff_cap: Millis = 15 * MINUTE, duration(SECOND..=DAY) => reload, "The longest pause between attempts.";
        deadline: Millis = 72 * HOUR, duration(MINUTE..=90 * DAY) =>
            reload, "The deadline of writes. Appointment inserts end at the appointment's start instead.";
        /// Open Dental's remote API abandons a request after a minute.
        settle: Millis = MINUTE, duration(0..=HOUR) =>
            reload, "How long to wait before looking up a write with an unknown outcome. Must exceed the time that the \
                     EHR may continue to process an abandoned request; otherwise the write can happen twice.";
        /// A wrong look-up leads to a duplicate, so an operator decides afterwards.
        max_resends: u32 = 3, integer(0..=1_000) =>
            reload, "How often a write is sent again after a look-up that found nothing; then it fails.";
        breaker_threshold: u8 = 3, integer(1..=100) =>
            reload, "Number of different writes that fail in a row before the circuit breaker pauses sending.";
        breaker_pause: Millis = 30 * SECOND, duration(SECOND..=DAY) =>
            reload, "The first pause of the circuit breaker.";
        breaker_pause_cap: Millis = 15 * MINUTE, duration(SECOND..=DAY) =>
            reload, "The longest pause of the circuit breaker.";
        max_queue: u32 = 10_000, integer(1..=1_000_000) =>
            reload, "Unfinished writes of a location; more are answered with 503.";
    }

    /// The rules for reading the EHR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct PullRules {
        every: Millis = 10 * MINUTE, duration(10 * SECOND..=DAY) =>
            reload, "The time from the end of a read cycle to the start of the next.";
        busy_every: Millis = 0, duration(0..=DAY) =>
            reload, "Like `every`, while clients search, hold or book and the practice is open. 0, or more than \
                     `every`: like `every`.";
        night_every: Millis = 0, duration(0..=DAY) =>
            reload, "Like `every`, while the practice is closed and no client searches, holds or books. A cycle is due \
                     when it opens. Less than `every`: like `every`.";
        /// Prevents that locations pull in step.
        jitter_percent: u8 = 10, integer(0..=100) => reload, "Maximum random extension of that time, in percent.";
        page: u32 = 100, integer(1..=10_000) => reload, "Records of a page. A page is one commit.";
        /// An EHR that never returns a last page cannot block the location.
        max_pages: u32 = 10_000, integer(1..=1_000_000) => reload, "Pages of a resource in a cycle.";
        call_deadline: Millis = 60 * SECOND, duration(SECOND..=10 * MINUTE) =>
            reload, "How long reading one page may take.";
        retry_base: Millis = 5 * SECOND, duration(100..=HOUR) => reload, "The first pause after a failed read.";
        retry_cap: Millis = 10 * MINUTE, duration(SECOND..=DAY) => reload, "The longest pause after failed reads.";
        guard_percent: u8 = 30, integer(1..=100) =>
            reload, "A full pass that would delete more than this share of a resource is stopped.";
        guard_at_least: u32 = 20, integer(0..=1_000_000) =>
            reload, "Minimum number of deletions for `guard_percent` to apply.";
        confirm_after: Millis = 2 * MINUTE, duration(0..=DAY) =>
            reload, "Records that a full pass does not show are deleted if a second one does not show them either. \
                     It is read this long after the first. A change in the EHR between two pages can hide a record \
                     from one pass.";
        keep_past: Millis = DAY, duration(0..=3_650 * DAY) =>
            reload, "How long ended appointments stay in the memory of a location.";
    }

    /// The request quota of an EHR: a bucket of `burst` requests, refilled at `per_minute`. A call counts as one
    /// request at its start; its further requests are counted at its end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct Quota {
        per_minute: u32 = 600, integer(1..=1_000_000) =>
            reload, "Requests (not calls) that the EHR takes from the location per minute.";
        burst: u32 = 60, integer(1..=100_000) => reload, "Size of the bucket in requests.";
    }

    /// Rules for the use of the staff's workstations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct WorkstationRules {
        approval: bool = false, flag() => reload, "Staff approve each write at the workstation.";
        /// A browser makes up to six concurrent requests to a server, and the staff work in the same session.
        in_flight: u32 = 2, integer(1..=16) => reload, "Maximum number of concurrent requests per workstation.";
        /// Long enough for a restart of a browser or of this process.
        patience_seconds: u32 = 20, seconds(0..=HOUR) =>
            reload "patience", "How long requests wait for a disconnected workstation before it is reported.";
    }

    /// The settings of a location, read at three levels: the defaults, the institution and the location. Each level
    /// overrides the one before.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct LocationSettings {
        booking: BookingSettings = BookingSettings::default(), nested() =>
            reload, "Bookings. The settings of a location are inherited: `[defaults.X]`, then the institution's, then \
                     the location's own; each level changes only the keys it names.";
        write: WriteRules = WriteRules::default(), nested() => reload, "Writes to the EHR.";
        pull: PullRules = PullRules::default(), nested() => reload, "Reading from the EHR.";
        quota: Quota = Quota::default(), nested() =>
            reload, "A bucket of requests that the EHR takes from a location. A call is not split: it is sent at \
                     once, and the next one waits.";
        workstation: WorkstationRules = WorkstationRules::default(), nested() =>
            reload, "EHRs that are reached through workstations.";
    }

    /// The settings under `booking`: those of the engine, and the practice's booking rules.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct BookingSettings {
        limits: BookingRules = BookingRules::default(), same_table() => reload, "The settings of the engine.";
        rules: RuleSet = RuleSet::default(), nested() =>
            reload, "The practice's rules for visits that are booked through intents; neutral by default. Staff, GET \
                     /available_slots and POST /appointments are not bound by them. `types.ID` overrides single keys \
                     for an appointment type, `channels.NAME` for the API keys of a channel. If both override a key, \
                     the value of the type applies.";
    }
}

/// Shortest time between two read cycles.
const SHORTEST_PAUSE: Millis = 10 * SECOND;

impl WriteRules {
    /// Returns the queue limit for changes of accepted records, which still fit when the queue is full for bookings.
    /// The cancellation of an appointment that its visit does not need is queued beyond it, at most one for each.
    pub fn max_changes(&self) -> u32 {
        self.max_queue.saturating_mul(3)
    }
}

impl PullRules {
    /// Returns the longest time from the end of one cycle to the start of the next.
    pub fn longest_pause(&self) -> Millis {
        let slowest = self.slowest();
        slowest.saturating_add(slowest.saturating_mul(i64::from(self.jitter_percent)) / 100)
    }

    /// Returns `true` if intents and working hours do not change the rhythm.
    pub fn is_steady(&self) -> bool {
        self.fastest() == self.every && self.slowest() == self.every
    }

    /// Returns the slowest rhythm, without its random extension.
    pub fn slowest(&self) -> Millis {
        self.every.max(self.night_every)
    }

    /// Returns the rhythm while intents are active and the practice is open.
    pub fn fastest(&self) -> Millis {
        match self.busy_every {
            0 => self.every,
            busy => busy.max(SHORTEST_PAUSE).min(self.every),
        }
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
            rules: RuleSet::default(),
            write: WriteRules::default(),
            pull: PullRules::default(),
            quota: Quota::default(),
            place_wait: 0,
        }
    }
}
