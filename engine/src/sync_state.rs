//! How reading and writing stand at a location, in the words of `sync_status`.

use location::{
    Location,
    event::Blocked,
    path::Shut,
    time::{HOUR, Millis, Timestamp},
};

use crate::{
    ehr::Description,
    engine::{AdapterState, AdapterStatus, SyncState},
    workstations::{GateState, GateStatus},
};

/// Reading counts as down when so many cycles went by without one that succeeded.
const MISSED_CYCLES: i64 = 3;
/// Writing counts as down when a write has waited this long.
const WAITING: Millis = HOUR;
const STUCK: &str = "a write has been waiting for more than an hour";
const NO_WORKSTATION: &str = "no staff workstation is connected";

impl SyncState {
    pub fn of(machine: &Location, description: Option<&Description>, now: Timestamp) -> SyncState {
        let (state, settings) = (&machine.state, &machine.settings);
        let (pulls, queue) = (&state.pulls, &state.queue);
        let integrated = settings.capabilities.integrated;
        let late = SyncState::late_since(machine, now).is_some();
        let never = integrated && pulls.last_success.is_none();
        let shut = state.gate.and_then(|gate| Some((gate.since, shut(gate.shut()?))));
        let read_reason = match (&pulls.failing, late, never) {
            _ if !integrated => None,
            (failing, late, never) if shut.is_some() => {
                let unread = failing.is_some() || late || never;
                shut.filter(|_| unread).map(|(_, why)| why.to_owned())
            }
            (Some((_, reason)), _, _) => Some(reason.clone()),
            (None, true, _) => Some("no read cycle succeeded lately".to_owned()),
            (None, _, true) => Some("the first read cycle is not complete".to_owned()),
            _ => None,
        };
        let oldest = queue.oldest();
        let blocked = state.path.blocked.map(|block| (block.since, why(block.why).to_owned()));
        let stuck = oldest.filter(|at| now.since(*at) > WAITING).map(|at| (at.plus(WAITING), STUCK.to_owned()));
        let write = shut.map(|(since, why)| (since, why.to_owned())).or(blocked).or(stuck);
        let read_at = pulls.failing.as_ref().map(|(since, _)| *since).or(pulls.last_success);
        SyncState {
            read_ok: read_reason.is_none(),
            read_at: read_at.unwrap_or(now),
            read_reason,
            write_ok: write.is_none(),
            write_at: write.as_ref().map_or(pulls.last_success.unwrap_or(now), |(since, _)| *since),
            write_reason: write.map(|(_, reason)| reason),
            last_sync: pulls.last_success,
            queued: queue.len() as u64,
            oldest_queued: oldest,
            next_cycle: (integrated && pulls.cycle.is_none()).then_some(pulls.next_cycle),
            reading: pulls.cycle.and_then(|cycle| {
                Some(settings.capabilities.pulls.get(cycle.position as usize)?.resource).filter(|_| integrated)
            }),
            progress: pulls.progress.clone(),
            guarded: pulls.guarded.clone(),
            ehr_name: description.map(|description| description.name.clone()),
            ehr_hosting: description.map(|description| description.hosting.clone()),
            gate: None,
            read_waits: pulls.put_off.clone(),
            adapter: None,
        }
    }

    /// With how the location's adapter stands: without it nothing is read or written.
    pub(crate) fn through(mut self, adapter: Option<AdapterState>) -> SyncState {
        let problem = adapter.as_ref().and_then(|adapter| match adapter.status {
            AdapterStatus::Ready => None,
            AdapterStatus::Preparing => Some("the adapter is being prepared".to_owned()),
            AdapterStatus::Refused => {
                Some(format!("the adapter cannot be used: {}", adapter.reason.as_deref().unwrap_or_default()))
            }
        });
        if let Some(problem) = problem {
            (self.read_ok, self.write_ok) = (false, false);
            (self.read_reason, self.write_reason) = (Some(problem.clone()), Some(problem));
        }
        self.adapter = adapter;
        self
    }

    /// The last cycle that succeeded, where that is several cycles ago.
    pub fn late_since(machine: &Location, now: Timestamp) -> Option<Timestamp> {
        let every = machine.settings.pull.every;
        machine.state.pulls.last_success.filter(|at| now.since(*at) > MISSED_CYCLES * every)
    }

    /// With how the location's gate stands: it may be the staff for whom a write has been waiting.
    pub fn at_gate(mut self, gate: Option<GateStatus>) -> SyncState {
        let approval = gate.as_ref().is_some_and(|gate| gate.state == GateState::WaitingForApproval);
        if approval && self.write_reason.as_deref() == Some(STUCK) {
            self.write_reason = Some("writes wait for the staff's approval".to_owned());
        }
        self.gate = gate;
        self
    }
}

fn shut(why: Shut) -> &'static str {
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
        Blocked::Unauthorized => "the EHR does not accept the credentials",
    }
}
