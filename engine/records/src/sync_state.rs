//! Read and write status of a location, as reported in `sync_status`.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use location::{
    HOUR, Location, Millis, Resource, Timestamp,
    event::Blocked,
    gate::Shut,
    pause::Paused,
    pull::{Progress, Skip},
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Description;

/// The state of a location's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// No workstation is connected.
    Closed,
    /// No user is logged in to the EHR at a workstation.
    LoggedOut,
    /// Staff paused the gate.
    Paused,
    /// A workstation is connected and does the work.
    Connected,
    /// A workstation is connected, and writes wait for the staff's approval.
    WaitingForApproval,
}

/// The status of a location's gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateStatus {
    pub state: GateState,
    /// Start of the state; a start of the service counts as a change.
    pub since: Timestamp,
    /// Number of connected workstations.
    pub connected: u32,
    /// The workstation that does the work.
    pub holder: Option<Holder>,
    /// Number of writes that wait for the staff's approval.
    pub awaiting: u32,
}

/// The workstation that holds the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The workstation's id, which is stable across connections.
    pub workstation: Uuid,
    /// Display name of the workstation.
    pub name: String,
}

/// The changes of a location's write queue in one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// Number of unfinished writes.
    pub waiting: u64,
    /// Time at which the oldest unfinished write was queued.
    pub oldest: Option<Timestamp>,
    /// Finished writes.
    pub ended: Vec<LastWrite>,
}

/// A finished write as shown to staff, without patient data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWrite {
    /// Kind of the write, such as `appointment-insert`.
    pub kind: String,
    /// Local time of its appointment.
    pub at: Option<String>,
    /// `written` or `failed`.
    pub state: String,
    /// Time of the result in RFC 3339, by the engine's clock.
    pub when: String,
}

/// Read and write status of a location.
#[derive(Clone, Debug, Default)]
pub struct SyncState {
    /// `true` if reading works.
    pub read_ok: bool,
    /// End of the last successful cycle or, without `read_ok`, start of the failure.
    pub read_at: Timestamp,
    /// The reason why reading does not work, in words for clients.
    pub read_reason: Option<String>,
    /// `true` if no problem with writing is known.
    pub write_ok: bool,
    /// Like `read_at`. Without writes, successful reads show that the EHR is reachable.
    pub write_at: Timestamp,
    /// The reason why writing does not work, in words for clients.
    pub write_reason: Option<String>,
    /// End of the last successful read cycle.
    pub last_sync: Option<Timestamp>,
    /// Start of the last complete read of the appointments; `None` without an EHR, and before the first one.
    pub schedule_as_of: Option<Timestamp>,
    /// Number of unfinished writes.
    pub queued: u64,
    /// Time at which the oldest unfinished write was queued.
    pub oldest_queued: Option<Timestamp>,
    /// Start of the next cycle; `None` during a cycle, before the first one, and without an EHR.
    pub next_cycle: Option<Timestamp>,
    /// The resource that the running cycle reads.
    pub reading: Option<Resource>,
    /// Progress of the running cycle, or of the last one.
    pub progress: BTreeMap<Resource, Progress>,
    /// Records that were unreadable when last shown, by their identifier in the EHR.
    pub skipped: BTreeMap<Resource, BTreeMap<String, Skip>>,
    /// Number of records that the last whole pass lacked and that the next one must confirm as deleted.
    pub missing: BTreeMap<Resource, usize>,
    /// Resources whose deletions are stopped until an operator accepts them.
    pub guarded: BTreeSet<Resource>,
    /// Name of the EHR from the adapter's description, if received.
    pub ehr_name: Option<String>,
    /// `cloud` or `onprem` from the adapter's description, if received.
    pub ehr_hosting: Option<String>,
    /// Gate of an EHR that is reached through workstations.
    pub gate: Option<GateStatus>,
    /// The reason why the next page is postponed without a failure.
    pub read_waits: Option<String>,
    /// The directions that an operator has paused.
    pub paused: Paused,
    /// Number of requests that the quota allows now.
    pub requests_left: u32,
    /// The adapter; `None` without an EHR.
    pub adapter: Option<AdapterState>,
}

/// The state of a configured adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterState {
    /// Name in the configuration.
    pub name: String,
    /// Status of the component.
    pub status: AdapterStatus,
    /// Version reported by the component, once it is ready.
    pub version: Option<String>,
    /// SHA-256 of the component's file.
    pub sha256: Option<String>,
    /// The reason why the adapter cannot be used.
    pub reason: Option<String>,
}

/// The status of an adapter's component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterStatus {
    /// The component is being compiled or loaded.
    Preparing,
    /// The component can be called.
    Ready,
    /// The component cannot be used until an operator acts.
    Refused,
}

/// Number of cycle intervals without a successful cycle after which reading counts as failed.
const MISSED_CYCLES: i64 = 3;
/// Waiting time of a write after which writing counts as failed.
const WAITING: Millis = HOUR;
const FIRST_CYCLE: &str = "the first read cycle is not complete";
/// Prefix of the reason of stopped deletions.
const STOPPED: &str = "stopped: ";
const DELETED: &str = "records deleted; nothing was deleted here";
const ADAPTER_PREPARES: &str = "the adapter is being prepared";
const ADAPTER_REFUSED: &str = "the adapter cannot be used";
const APPROVAL: &str = "writes wait for the staff's approval";
/// Prefixes of the reason for refused credentials.
const NO_ACCESS: [&str; 2] = ["the EHR did not accept the credentials", "the EHR does not accept the credentials"];
const NOT_REACHED: &str = "the EHR was not reached yet";
const STUCK: &str = "a write has been waiting for more than an hour";
const READING_PAUSED: &str = "an operator paused reading";
const WRITING_PAUSED: &str = "an operator paused writing";
const NO_WORKSTATION: &str = "no staff workstation is connected";
/// The reason of a location that cannot be loaded until an operator restores its records.
pub const DAMAGED: &str = "the records of the location are damaged";
/// Prefix of the reason of a location that is not served: its records are of another EHR than the configured one.
pub const OTHER_SOURCE: &str = "the data source of a location with records cannot change";

impl SyncState {
    /// Creates the status from the state of a location, without adapter and gate (see `through` and `at_gate`).
    pub fn from_location(machine: &Location, description: Option<&Description>, now: Timestamp) -> SyncState {
        let (state, settings) = (&machine.state, &machine.settings);
        let (pulls, queue) = (&state.pulls, &state.queue);
        let integrated = settings.capabilities.integrated;
        let problems = Problems::of_location(machine, description, now);
        let SyncSummary { read_ok, read_at, write_ok, write_at, ehr_name, ehr_hosting } =
            SyncSummary::with_problems(&problems, machine, description, now);
        let Problems { read, write } = problems;
        // The default time means that no cycle was scheduled yet.
        let scheduled = pulls.next_cycle > Timestamp::default() && !reads_nothing(machine, description);
        let next_cycle = Some(machine.cycle_at()).filter(|_| scheduled);
        SyncState {
            read_ok,
            read_at,
            read_reason: read.map(|(_, reason)| reason.into_owned()),
            write_ok,
            write_at,
            write_reason: write.map(|(_, reason)| reason.into_owned()),
            last_sync: pulls.last_success,
            schedule_as_of: machine.schedule_as_of(now).filter(|_| integrated),
            queued: queue.len() as u64,
            oldest_queued: queue.oldest(),
            next_cycle: next_cycle.filter(|_| integrated && pulls.cycle.is_none()),
            reading: resource_being_read(machine),
            progress: pulls.progress.clone(),
            skipped: pulls.skipped.clone(),
            missing: pulls.missing.iter().map(|(resource, ids)| (*resource, ids.len())).collect(),
            guarded: pulls.guarded.clone(),
            ehr_name,
            ehr_hosting,
            gate: None,
            read_waits: pulls.put_off.clone(),
            paused: state.paused,
            requests_left: state.quota.available(settings.quota, now),
            adapter: None,
        }
    }

    /// Creates the status of a location that cannot be loaded until an operator acts.
    pub fn unloadable(since: Timestamp, reason: &str) -> SyncState {
        let reason = || Some(reason.to_owned());
        let (read_reason, write_reason) = (reason(), reason());
        SyncState { read_at: since, read_reason, write_at: since, write_reason, ..SyncState::default() }
    }

    /// Returns `read_reason` and `write_reason` only, without copies of the rest.
    pub fn reasons(
        machine: &Location,
        description: Option<&Description>,
        now: Timestamp,
    ) -> (Option<String>, Option<String>) {
        let Problems { read, write } = Problems::of_location(machine, description, now);
        let reason = |problem: Option<(Timestamp, Cow<'_, str>)>| problem.map(|(_, reason)| reason.into_owned());
        (reason(read), reason(write))
    }

    /// Returns the resource that a `read_reason` concerns, if it is a single one.
    pub fn unread_resource(machine: &Location, read_reason: &str) -> Option<Resource> {
        match Cause::from_reason(read_reason) {
            Cause::Deletions => machine.state.pulls.guarded.first().copied(),
            _ => resource_being_read(machine),
        }
    }

    /// Adds the state of the adapter. Unless the adapter is ready, neither reading nor writing works. Damage and
    /// another data source remain the reason, because they do not end when the adapter is ready.
    pub fn through(mut self, adapter: Option<AdapterState>) -> SyncState {
        let problem = adapter.as_ref().and_then(|adapter| match adapter.status {
            AdapterStatus::Ready => None,
            AdapterStatus::Preparing => Some(ADAPTER_PREPARES.to_owned()),
            AdapterStatus::Refused => {
                Some(format!("{ADAPTER_REFUSED}: {}", adapter.reason.as_deref().unwrap_or_default()))
            }
        });
        let cause = self.read_reason.as_deref().map(Cause::from_reason);
        if let Some(problem) = problem.filter(|_| !matches!(cause, Some(Cause::Damaged | Cause::OtherSource))) {
            (self.read_ok, self.write_ok) = (false, false);
            (self.read_reason, self.write_reason) = (Some(problem.clone()), Some(problem));
        }
        self.adapter = adapter;
        self
    }

    /// Returns the time of the last successful cycle, if it is several cycle intervals ago.
    pub fn late_since(machine: &Location, now: Timestamp) -> Option<Timestamp> {
        let every = machine.settings.pull.slowest();
        machine.state.pulls.last_success.filter(|at| now.since(*at) > MISSED_CYCLES * every)
    }

    /// Adds the status of the gate. A stuck write may be waiting for the staff's approval.
    pub fn at_gate(mut self, gate: Option<GateStatus>) -> SyncState {
        let approval = gate.as_ref().is_some_and(|gate| gate.state == GateState::WaitingForApproval);
        if approval && self.write_reason.as_deref() == Some(STUCK) {
            self.write_reason = Some(APPROVAL.to_owned());
        }
        self.gate = gate;
        self
    }
}

/// Returns the resource that the running cycle reads.
fn resource_being_read(machine: &Location) -> Option<Resource> {
    let capabilities = &machine.settings.capabilities;
    let cycle = machine.state.pulls.cycle.as_ref().filter(|_| capabilities.integrated)?;
    Some(cycle.next(&capabilities.pulls)?.resource)
}

/// Returns `true` if the EHR is described and has no readable resource.
fn reads_nothing(machine: &Location, description: Option<&Description>) -> bool {
    description.is_some() && machine.settings.capabilities.pulls.is_empty()
}

/// The start and the reason of the problem of each direction. `None` if the direction works.
struct Problems<'m> {
    read: Option<(Timestamp, Cow<'m, str>)>,
    write: Option<(Timestamp, Cow<'m, str>)>,
}

impl<'m> Problems<'m> {
    fn of_location(machine: &'m Location, description: Option<&Description>, now: Timestamp) -> Problems<'m> {
        let (state, settings) = (&machine.state, &machine.settings);
        let (pulls, queue) = (&state.pulls, &state.queue);
        let integrated = settings.capabilities.integrated;
        let missed = MISSED_CYCLES * settings.pull.slowest();
        let late = SyncState::late_since(machine, now).map(|at| at.plus(missed));
        let never = integrated && pulls.last_success.is_none();
        let reads_nothing = reads_nothing(machine, description);
        // The read status is known earlier than the write status, which needs writes.
        let reached = !never || reads_nothing || !pulls.progress.is_empty();
        let silent = pulls.silent.as_ref();
        let shut = state.gate.and_then(|gate| Some((gate.since, shut(gate.shut()?))));
        let begun = || silent.map(|silent| silent.since).or(pulls.begun);
        // Start and reason of the failure. A reason given by the EHR takes precedence.
        let unread = match &pulls.failing {
            _ if !integrated => None,
            Some((since, reason)) => Some((*since, with_resources(reason, &pulls.guarded))),
            None if late.is_some() || never => {
                let since = late.or_else(begun).or(shut.map(|(since, _)| since)).unwrap_or(now);
                let reason = match silent {
                    Some(silent) => silent.reason.as_str().into(),
                    None if reads_nothing => "the adapter supports no readable resources".into(),
                    None if never => match &pulls.put_off {
                        Some(waits) => format!("{FIRST_CYCLE}: {waits}").into(),
                        None => FIRST_CYCLE.into(),
                    },
                    None => "no read cycle has succeeded recently".into(),
                };
                Some((since, reason))
            }
            None => None,
        };
        let unread = unread.map(|(since, reason)| (since, shut.map_or(reason, |(_, why)| why.into())));
        let paused =
            |since: Option<Timestamp>, why: &'static str| Some((since.filter(|_| integrated)?, Cow::Borrowed(why)));
        let read = paused(state.paused.reading, READING_PAUSED).or(unread);
        let blocked = state.breaker.blocked.map(|block| (block.since, why(block.why).into()));
        let oldest = queue.oldest().filter(|at| now.since(*at) > WAITING);
        let stuck = oldest.map(|at| (at.plus(WAITING), STUCK.into()));
        let unreached = || read.as_ref().filter(|_| !reached).map(|(since, _)| (*since, NOT_REACHED.into()));
        let write = paused(state.paused.writing, WRITING_PAUSED);
        let write = write.or(shut.map(|(since, why)| (since, why.into()))).or(blocked).or_else(unreached).or(stuck);
        Problems { read, write }
    }
}

/// The part of the status that messages to subscribers show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncSummary {
    /// `true` if reading works.
    pub read_ok: bool,
    /// See `SyncState`.
    pub read_at: Timestamp,
    /// `true` if no problem with writing is known.
    pub write_ok: bool,
    /// See `SyncState`.
    pub write_at: Timestamp,
    /// Name of the EHR from the adapter's description, if received.
    pub ehr_name: Option<String>,
    /// `cloud` or `onprem` from the adapter's description, if received.
    pub ehr_hosting: Option<String>,
}

impl SyncSummary {
    /// Creates the summary from the state of a location.
    pub fn from_location(machine: &Location, description: Option<&Description>, now: Timestamp) -> SyncSummary {
        let problems = Problems::of_location(machine, description, now);
        SyncSummary::with_problems(&problems, machine, description, now)
    }

    fn with_problems(
        problems: &Problems<'_>,
        machine: &Location,
        description: Option<&Description>,
        now: Timestamp,
    ) -> SyncSummary {
        let working = machine.state.pulls.last_success.unwrap_or(now);
        let since = |problem: &Option<(Timestamp, Cow<'_, str>)>| problem.as_ref().map_or(working, |(since, _)| *since);
        SyncSummary {
            read_ok: problems.read.is_none(),
            read_at: since(&problems.read),
            write_ok: problems.write.is_none(),
            write_at: since(&problems.write),
            ehr_name: description.map(|description| description.name.clone()),
            ehr_hosting: description.map(|description| description.hosting.clone()),
        }
    }

    /// Returns whether reading and writing work, like `read_ok` and `write_ok`.
    pub fn flags(machine: &Location, description: Option<&Description>, now: Timestamp) -> (bool, bool) {
        let Problems { read, write } = Problems::of_location(machine, description, now);
        (read.is_none(), write.is_none())
    }
}

/// Returns the reason why the EHR cannot be reached through workstations.
pub fn shut(why: Shut) -> &'static str {
    match why {
        Shut::NoWorkstation => NO_WORKSTATION,
        Shut::LoggedOut => "nobody is logged in to the EHR at a staff workstation",
        Shut::Paused => "the staff paused it at their workstation",
    }
}

fn why(blocked: Blocked) -> &'static str {
    match blocked {
        Blocked::Breaker => "the EHR failed several writes in a row; trying again with growing pauses",
        Blocked::GateClosed => NO_WORKSTATION,
        Blocked::Unauthorized => NO_ACCESS[1],
    }
}

/// Adds the resources whose deletions were stopped to a reason.
fn with_resources<'r>(reason: &'r str, guarded: &BTreeSet<Resource>) -> Cow<'r, str> {
    match reason.strip_prefix(STOPPED).filter(|_| !guarded.is_empty()) {
        Some(shown) => {
            let names: Vec<String> = guarded.iter().map(|resource| plural(*resource)).collect();
            let shown =
                shown.strip_suffix("records deleted").map_or_else(|| shown.to_owned(), |it| format!("{it}{DELETED}"));
            format!("{}: {shown}", names.join(", ")).into()
        }
        None => reason.into(),
    }
}

/// Returns the API's name for the list of a resource.
fn plural(resource: Resource) -> String {
    serde_json::to_value(resource).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The kind of problem that prevents reading or writing, which determines the operator's remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The records of the location are damaged.
    Damaged,
    /// The adapter is being prepared, or cannot be used.
    Adapter,
    /// An operator paused it.
    Paused,
    /// No workstation is available.
    Workstation,
    /// Writes wait for the staff's approval.
    Approval,
    /// The EHR does not accept the credentials.
    Credentials,
    /// A pass would delete too many records.
    Deletions,
    /// A write has been waiting for too long.
    Stuck,
    /// The first read cycle is not complete.
    FirstCycle,
    /// The location has records of another EHR than the configured one.
    OtherSource,
    /// The EHR does not answer, or fails.
    Ehr,
}

impl Cause {
    /// Returns the cause of a `read_reason` or `write_reason`. A reason given by the EHR is `Cause::Ehr`.
    pub fn from_reason(reason: &str) -> Cause {
        let begins = |with: &[&str]| with.iter().any(|with| reason.starts_with(with));
        match reason {
            DAMAGED => Cause::Damaged,
            READING_PAUSED | WRITING_PAUSED => Cause::Paused,
            STUCK => Cause::Stuck,
            APPROVAL => Cause::Approval,
            _ if begins(&[ADAPTER_PREPARES, ADAPTER_REFUSED]) => Cause::Adapter,
            _ if [Shut::NoWorkstation, Shut::LoggedOut, Shut::Paused].map(shut).contains(&reason) => Cause::Workstation,
            _ if begins(&NO_ACCESS) => Cause::Credentials,
            _ if reason.ends_with(DELETED) || begins(&[STOPPED]) => Cause::Deletions,
            _ if begins(&[FIRST_CYCLE]) => Cause::FirstCycle,
            _ if begins(&[OTHER_SOURCE]) => Cause::OtherSource,
            _ => Cause::Ehr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_a_location_that_cannot_be_loaded_remains_without_its_adapter() {
        let (name, status) = ("any".to_owned(), AdapterStatus::Preparing);
        let adapter = AdapterState { name, status, version: None, sha256: None, reason: None };
        for reason in [DAMAGED, OTHER_SOURCE] {
            let state = SyncState::unloadable(Timestamp(1), reason).through(Some(adapter.clone()));
            assert_eq!(state.read_reason.as_deref(), Some(reason));
        }
    }

    #[test]
    fn reasons_map_to_their_causes() {
        let guarded = BTreeSet::from([Resource::Patients]);
        let stopped = with_resources("stopped: the EHR shows 99 of 240 records deleted", &guarded);
        assert_eq!(stopped, "patients: the EHR shows 99 of 240 records deleted; nothing was deleted here");
        for (reason, cause) in [
            (&*stopped, Cause::Deletions),
            (DAMAGED, Cause::Damaged),
            (READING_PAUSED, Cause::Paused),
            (WRITING_PAUSED, Cause::Paused),
            (STUCK, Cause::Stuck),
            (APPROVAL, Cause::Approval),
            ("the adapter cannot be used: no such file", Cause::Adapter),
            (ADAPTER_PREPARES, Cause::Adapter),
            (shut(Shut::LoggedOut), Cause::Workstation),
            (why(Blocked::GateClosed), Cause::Workstation),
            (why(Blocked::Unauthorized), Cause::Credentials),
            ("the EHR did not accept the credentials: the EHR answered 401", Cause::Credentials),
            (why(Blocked::Breaker), Cause::Ehr),
            (
                "the first read cycle is not complete: waiting for a record that is still being written",
                Cause::FirstCycle,
            ),
            (OTHER_SOURCE, Cause::OtherSource),
            ("it is down", Cause::Ehr),
        ] {
            assert_eq!(Cause::from_reason(reason), cause, "{reason}");
        }
        assert_eq!(with_resources("it is down", &guarded), "it is down");
    }
}
