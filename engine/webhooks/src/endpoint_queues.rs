//! Scheduling of endpoints: one queue per endpoint with waiting deliveries, served round robin, so that no endpoint
//! waits for another. Pure bookkeeping in memory: attempts in flight, the due deliveries found by the last scan of the
//! store, and new ones since.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use location::time::{Millis, Timestamp};
use uuid::Uuid;

use super::{keys::Due, limits, model::EndpointId};

#[derive(Default)]
struct EndpointQueue {
    in_flight: BTreeMap<Uuid, InFlight>,
    /// The endpoint is in `ready`.
    ready: bool,
    /// The time of the endpoint's entry in `timers`.
    timer: Option<Timestamp>,
    /// The time since which a moved endpoint is assigned to this node. Earlier due deliveries are caught up on.
    came: Option<Timestamp>,
    /// Attempts missed during downtime are not made before this time.
    no_catch_up_before: Option<Timestamp>,
    /// Due deliveries that were found and have not begun since, in order.
    found: VecDeque<Found>,
    /// Nothing else is due.
    found_all: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub due: Due,
    /// The record that the message is about; empty if there is none.
    pub record: Vec<u8>,
}

struct InFlight {
    kind: EndpointState,
    /// The record that the message is about; empty if there is none.
    record: Vec<u8>,
}

/// The health of an endpoint when an attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointState {
    Healthy,
    Failing,
}

#[derive(Default)]
pub(crate) struct EndpointQueues {
    queues: BTreeMap<EndpointId, EndpointQueue>,
    ready: VecDeque<EndpointId>,
    timers: BTreeSet<(Timestamp, EndpointId)>,
    in_flight: usize,
    failing_in_flight: usize,
    /// The number of the last scan of each endpoint.
    scans: BTreeMap<EndpointId, u64>,
    /// Scans up to this number are not in `scans` any more.
    dropped_scans: u64,
}

/// Maximum number of endpoints whose last scan is remembered.
const SCANS: usize = 10_000;

impl EndpointQueues {
    /// Schedules a turn, because there may be new deliveries.
    pub(crate) fn ready(&mut self, endpoint: EndpointId) {
        self.queues.entry(endpoint).or_default().found_all = false;
        self.line_up(endpoint);
    }

    fn line_up(&mut self, endpoint: EndpointId) {
        if !std::mem::replace(&mut self.queues.entry(endpoint).or_default().ready, true) {
            self.ready.push_back(endpoint);
        }
    }

    /// Schedules a turn after an ended delivery, unless nothing else is due.
    pub(crate) fn ready_unless_drained(&mut self, endpoint: EndpointId) {
        match self.queues.get(&endpoint) {
            Some(queue) if queue.found_all && queue.found.is_empty() => self.forget_idle(endpoint),
            _ => self.line_up(endpoint),
        }
    }

    /// Schedules a turn for further deliveries. If the endpoint is at its limit, the end of an attempt schedules the
    /// turn.
    pub(crate) fn ready_unless_full(&mut self, endpoint: EndpointId, kind: EndpointState) {
        if self.takes_more(endpoint, kind) {
            self.line_up(endpoint);
        }
    }

    /// Sets the due deliveries not in flight that a scan found. `all` if nothing else is due.
    pub(crate) fn found(&mut self, endpoint: EndpointId, found: VecDeque<Found>, all: bool, scan: u64) {
        if self.scans.len() >= SCANS {
            self.scans.clear();
            self.dropped_scans = scan;
        }
        self.scans.insert(endpoint, scan);
        let queue = self.queues.entry(endpoint).or_default();
        (queue.found, queue.found_all) = (found, all);
    }

    /// Adds new deliveries without a scan, and schedules a turn. `scans` is the number of scans before they were
    /// committed. If a later scan may have found them, or if they are too many, the turn scans the store.
    pub(crate) fn arrived(&mut self, endpoint: EndpointId, new: Vec<Found>, scans: u64) {
        if self.scans.get(&endpoint).copied().unwrap_or(self.dropped_scans) > scans {
            return self.ready(endpoint);
        }
        // Nothing waits for an endpoint without a queue.
        let drained = || EndpointQueue { found_all: true, ..EndpointQueue::default() };
        let queue = self.queues.entry(endpoint).or_insert_with(drained);
        queue.found_all &= queue.found.len() + new.len() <= limits::LOOK_AHEAD;
        if queue.found_all {
            for found in new {
                let index = queue.found.partition_point(|known| known.due < found.due);
                queue.found.insert(index, found);
            }
        }
        self.line_up(endpoint);
    }

    pub(crate) fn found_all(&self, endpoint: EndpointId) -> bool {
        self.queues.get(&endpoint).is_some_and(|queue| queue.found_all)
    }

    /// Takes the first found delivery whose record has no message in flight. So messages about one record are sent in
    /// their order, and a failed message does not delay the next.
    pub(crate) fn take_found(&mut self, endpoint: EndpointId) -> Option<Found> {
        let queue = self.queues.get_mut(&endpoint)?;
        let busy = |record: &[u8]| !record.is_empty() && queue.in_flight.values().any(|it| it.record == record);
        let index = queue.found.iter().position(|found| !busy(&found.record))?;
        queue.found.remove(index)
    }

    /// Makes the next turn scan the store again.
    pub(crate) fn forget_found(&mut self, endpoint: EndpointId) {
        let queue = self.queues.entry(endpoint).or_default();
        (queue.found, queue.found_all) = (VecDeque::new(), false);
    }

    /// Schedules a turn at `at`, unless an earlier one is scheduled.
    pub(crate) fn ready_at(&mut self, endpoint: EndpointId, at: Timestamp) {
        let queue = self.queues.entry(endpoint).or_default();
        if queue.timer.is_some_and(|timer| timer <= at) {
            return;
        }
        if let Some(later) = queue.timer.replace(at) {
            self.timers.remove(&(later, endpoint));
        }
        self.timers.insert((at, endpoint));
    }

    /// Handles a clock that was set back: moves all times back, and forgets found deliveries, which may be due later
    /// now.
    pub(crate) fn set_back(&mut self, by: Millis) {
        let timers = std::mem::take(&mut self.timers);
        self.timers = timers.into_iter().map(|(at, endpoint)| (at.minus(by), endpoint)).collect();
        for queue in self.queues.values_mut() {
            queue.timer = queue.timer.map(|at| at.minus(by));
            queue.no_catch_up_before = queue.no_catch_up_before.map(|at| at.minus(by));
            queue.came = queue.came.map(|at| at.minus(by));
            (queue.found, queue.found_all) = (VecDeque::new(), false);
        }
    }

    /// Returns the time of the next scheduled turn.
    pub(crate) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns the endpoint of the next turn. Also returns `None` at the limit of concurrent attempts.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<EndpointId> {
        while let Some((at, endpoint)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, endpoint));
            self.queues.entry(endpoint).or_default().timer = None;
            self.ready(endpoint);
        }
        if self.in_flight >= limits::CONCURRENCY {
            return None;
        }
        let endpoint = self.ready.pop_front()?;
        self.queues.entry(endpoint).or_default().ready = false;
        self.forget_idle(endpoint);
        Some(endpoint)
    }

    /// Returns `true` if the endpoint is below its own limit. If not, the end of an attempt schedules its next turn.
    pub(crate) fn takes_more(&self, endpoint: EndpointId, kind: EndpointState) -> bool {
        self.in_flight_count(endpoint) < limit(kind)
    }

    /// Returns `false` if the share of failing endpoints is used up.
    pub(crate) fn has_shared_capacity(&self, kind: EndpointState) -> bool {
        kind == EndpointState::Healthy || self.failing_in_flight < limits::FAILING_CONCURRENCY
    }

    /// Returns the number of attempts that may begin now.
    pub(crate) fn capacity(&self, endpoint: EndpointId, kind: EndpointState) -> usize {
        let shared = match kind {
            EndpointState::Healthy => limits::CONCURRENCY,
            EndpointState::Failing => {
                limits::FAILING_CONCURRENCY.saturating_sub(self.failing_in_flight) + self.in_flight
            }
        };
        let places = shared.min(limits::CONCURRENCY).saturating_sub(self.in_flight);
        limit(kind).saturating_sub(self.in_flight_count(endpoint)).min(places)
    }

    pub(crate) fn is_in_flight(&self, endpoint: EndpointId, delivery: Uuid) -> bool {
        self.queues.get(&endpoint).is_some_and(|queue| queue.in_flight.contains_key(&delivery))
    }

    pub(crate) fn in_flight_count(&self, endpoint: EndpointId) -> usize {
        self.queues.get(&endpoint).map_or(0, |queue| queue.in_flight.len())
    }

    /// Returns the time until which deliveries missed during downtime must wait, if they must.
    pub(crate) fn catch_up_wait(&self, endpoint: EndpointId, now: Timestamp) -> Option<Timestamp> {
        self.queues.get(&endpoint)?.no_catch_up_before.filter(|at| *at > now)
    }

    pub(crate) fn delay_catch_up(&mut self, endpoint: EndpointId, until: Timestamp) {
        self.queues.entry(endpoint).or_default().no_catch_up_before = Some(until);
        self.ready_at(endpoint, until);
    }

    pub(crate) fn begun(&mut self, endpoint: EndpointId, delivery: Uuid, record: Vec<u8>, kind: EndpointState) {
        let in_flight = InFlight { kind, record };
        let before = self.queues.entry(endpoint).or_default().in_flight.insert(delivery, in_flight);
        debug_assert!(before.is_none(), "a delivery is in flight once");
        self.in_flight += 1;
        self.failing_in_flight += usize::from(kind == EndpointState::Failing);
    }

    pub(crate) fn ended(&mut self, endpoint: EndpointId, delivery: Uuid) {
        let ended = self.queues.get_mut(&endpoint).and_then(|queue| queue.in_flight.remove(&delivery));
        self.in_flight -= usize::from(ended.is_some());
        self.failing_in_flight -= usize::from(ended.is_some_and(|in_flight| in_flight.kind == EndpointState::Failing));
    }

    /// Adds an endpoint that was assigned to this node by a move, with its first delivery due at `at`.
    pub(crate) fn came(&mut self, endpoint: EndpointId, at: Timestamp, now: Timestamp) {
        self.queues.entry(endpoint).or_default().came = Some(now);
        if at < now {
            self.delay_catch_up(endpoint, now.plus(catch_up_offset(endpoint)));
        } else {
            self.ready_at(endpoint, at);
        }
    }

    pub(crate) fn came_at(&self, endpoint: EndpointId) -> Option<Timestamp> {
        self.queues.get(&endpoint)?.came
    }

    pub(crate) fn knows(&self, endpoint: EndpointId) -> bool {
        self.queues.contains_key(&endpoint)
    }

    pub(crate) fn known(&self) -> Vec<EndpointId> {
        self.queues.keys().copied().collect()
    }

    /// Drops an endpoint of another node. Its attempts in flight continue.
    pub(crate) fn release(&mut self, endpoint: EndpointId) {
        let Some(queue) = self.queues.get_mut(&endpoint) else { return };
        if let Some(at) = queue.timer.take() {
            self.timers.remove(&(at, endpoint));
        }
        (queue.found, queue.found_all, queue.came, queue.no_catch_up_before) = (VecDeque::new(), false, None, None);
        self.forget_idle(endpoint);
    }

    fn forget_idle(&mut self, endpoint: EndpointId) {
        let idle =
            |it: &EndpointQueue| it.in_flight.is_empty() && it.found.is_empty() && !it.ready && it.timer.is_none();
        if self.queues.get(&endpoint).is_some_and(idle) {
            self.queues.remove(&endpoint);
        }
    }
}

fn limit(kind: EndpointState) -> usize {
    match kind {
        EndpointState::Healthy => limits::ENDPOINT_CONCURRENCY,
        EndpointState::Failing => limits::FAILING_ENDPOINT_CONCURRENCY,
    }
}

/// Returns the delay with which an endpoint begins to catch up, so that not all begin at the same time.
pub(crate) fn catch_up_offset(endpoint: EndpointId) -> Millis {
    i64::from(endpoint.0).wrapping_mul(2_654_435_761).rem_euclid(limits::CATCH_UP_SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);
    const A: EndpointId = EndpointId(1);
    const B: EndpointId = EndpointId(2);

    fn id(n: usize) -> Uuid {
        Uuid::from_u128(n as u128)
    }

    #[test]
    fn endpoints_are_served_round_robin() {
        let mut queues = EndpointQueues::default();
        for endpoint in [A, B, A] {
            queues.ready(endpoint);
        }
        assert_eq!(queues.next(NOW), Some(A));
        queues.ready(A);
        assert_eq!((queues.next(NOW), queues.next(NOW), queues.next(NOW)), (Some(B), Some(A), None));
        assert!(queues.queues.is_empty());
    }

    #[test]
    fn the_earliest_timer_counts_and_fires_once() {
        let mut queues = EndpointQueues::default();
        for at in [50, 30, 40] {
            queues.ready_at(A, Timestamp(at));
        }
        queues.ready_at(B, Timestamp(45));
        assert_eq!(queues.next_timer(), Some(Timestamp(30)));
        assert_eq!((queues.next(Timestamp(29)), queues.next(Timestamp(30))), (None, Some(A)));
        assert_eq!(queues.next_timer(), Some(Timestamp(45)));
        assert_eq!((queues.next(NOW), queues.next(NOW)), (Some(B), None));
    }

    #[test]
    fn an_endpoint_takes_eight_attempts_and_a_failing_one_takes_one() {
        let mut queues = EndpointQueues::default();
        for n in 0..limits::ENDPOINT_CONCURRENCY {
            assert!(queues.takes_more(A, EndpointState::Healthy));
            queues.begun(A, id(n), Vec::new(), EndpointState::Healthy);
        }
        assert!(!queues.takes_more(A, EndpointState::Healthy) && queues.takes_more(B, EndpointState::Failing));
        queues.begun(B, id(99), Vec::new(), EndpointState::Failing);
        assert!(!queues.takes_more(B, EndpointState::Failing));
        queues.ended(B, id(99));
        assert!(queues.takes_more(B, EndpointState::Failing));
    }

    fn due(endpoint: EndpointId, n: usize, record: &str) -> Found {
        let due = Due { endpoint, at: NOW, delivery: id(n), is_queued: true };
        Found { due, record: record.as_bytes().to_vec() }
    }

    /// Adds the result of the first scan.
    fn found(queues: &mut EndpointQueues, endpoint: EndpointId, records: &[(usize, &str)]) {
        queues.found(endpoint, records.iter().map(|(n, record)| due(endpoint, *n, record)).collect(), true, 1);
    }

    /// Begins the next delivery that may begin.
    fn begin(queues: &mut EndpointQueues, endpoint: EndpointId) -> Option<Uuid> {
        let Found { due, record } = queues.take_found(endpoint)?;
        queues.begun(endpoint, due.delivery, record, EndpointState::Healthy);
        Some(due.delivery)
    }

    #[test]
    fn one_message_per_record_is_in_flight_at_a_time() {
        let mut queues = EndpointQueues::default();
        let about = [(1, "patient 7"), (2, ""), (3, "patient 7"), (4, "patient 8"), (5, ""), (6, "patient 7")];
        found(&mut queues, A, &about);
        found(&mut queues, B, &[(7, "patient 7")]);
        let begun: Vec<_> = std::iter::from_fn(|| begin(&mut queues, A)).collect();
        assert_eq!(begun, [1, 2, 4, 5].map(id), "others about patient 7 wait");
        assert_eq!(begin(&mut queues, B), Some(id(7)), "endpoints do not wait for each other");
        queues.ended(A, id(4));
        assert_eq!(begin(&mut queues, A), None);
        queues.ended(A, id(1));
        assert_eq!((begin(&mut queues, A), begin(&mut queues, A)), (Some(id(3)), None), "in their order");
        queues.ended(A, id(3));
        assert_eq!(begin(&mut queues, A), Some(id(6)));
    }

    #[test]
    fn found_deliveries_need_no_further_read_until_a_new_one_arrives() {
        let mut queues = EndpointQueues::default();
        found(&mut queues, A, &[(1, ""), (2, "")]);
        begin(&mut queues, A);
        queues.ended(A, id(1));
        queues.ready_unless_drained(A);
        assert_eq!((queues.next(NOW), queues.found_all(A)), (Some(A), true));
        begin(&mut queues, A);
        queues.ready(A);
        assert!(!queues.found_all(A), "something new");
        queues.next(NOW);
        found(&mut queues, A, &[]);
        queues.ended(A, id(2));
        queues.ready_unless_drained(A);
        assert_eq!(queues.next(NOW), None);
        assert!(queues.queues.is_empty());
        found(&mut queues, A, &[(3, "")]);
        queues.set_back(5);
        assert_eq!((queues.take_found(A), queues.found_all(A)), (None, false), "it may be due later");
    }

    #[test]
    fn new_deliveries_need_no_scan_unless_one_may_have_found_them() {
        let mut queues = EndpointQueues::default();
        queues.arrived(A, vec![due(A, 2, ""), due(A, 3, "")], 0);
        // Another follower was faster, and its ids are higher.
        queues.arrived(A, vec![due(A, 1, "")], 0);
        assert_eq!((queues.next(NOW), queues.found_all(A)), (Some(A), true));
        let begun: Vec<_> = std::iter::from_fn(|| begin(&mut queues, A)).collect();
        assert_eq!(begun, [1, 2, 3].map(id), "in the order of their ids");
        found(&mut queues, A, &[]);
        queues.arrived(A, vec![due(A, 4, "")], 1);
        assert!(queues.found_all(A), "enqueued after the scan");
        queues.arrived(A, vec![due(A, 5, "")], 0);
        assert!(!queues.found_all(A), "enqueued before the scan");
        assert_eq!(begin(&mut queues, A), Some(id(4)));
    }

    #[test]
    fn more_new_deliveries_than_fit_into_memory_are_scanned() {
        let mut queues = EndpointQueues::default();
        queues.arrived(A, (0..limits::LOOK_AHEAD).map(|n| due(A, n, "")).collect(), 0);
        assert!(queues.found_all(A));
        queues.arrived(A, vec![due(A, 99, "")], 0);
        assert!(!queues.found_all(A));
        assert_eq!(std::iter::from_fn(|| begin(&mut queues, A)).count(), limits::LOOK_AHEAD);
    }

    #[test]
    fn the_number_of_remembered_scans_is_limited() {
        let mut queues = EndpointQueues::default();
        for endpoint in 1..=SCANS as i32 + 1 {
            found(&mut queues, EndpointId(endpoint), &[]);
        }
        assert!(queues.scans.len() < SCANS && !queues.scans.contains_key(&A));
        queues.arrived(A, vec![due(A, 1, "")], 1);
        assert!(queues.found_all(A));
        queues.arrived(A, vec![due(A, 2, "")], 0);
        assert!(!queues.found_all(A), "the scan may have found it");
    }

    #[test]
    fn failing_endpoints_leave_capacity_for_healthy_ones() {
        let mut queues = EndpointQueues::default();
        for n in 0..limits::FAILING_CONCURRENCY {
            assert!(queues.has_shared_capacity(EndpointState::Failing));
            queues.begun(EndpointId(n as i32), id(n), Vec::new(), EndpointState::Failing);
        }
        assert!(
            !queues.has_shared_capacity(EndpointState::Failing) && queues.has_shared_capacity(EndpointState::Healthy)
        );
        for n in limits::FAILING_CONCURRENCY..limits::CONCURRENCY {
            queues.begun(EndpointId(n as i32), id(n), Vec::new(), EndpointState::Healthy);
        }
        queues.ready(A);
        assert_eq!(queues.next(NOW), None);
        queues.ended(EndpointId(0), id(0));
        queues.ended(EndpointId(0), id(0));
        assert!(queues.has_shared_capacity(EndpointState::Failing));
        assert_eq!(queues.next(NOW), Some(A));
        assert_eq!(queues.in_flight, limits::CONCURRENCY - 1);
    }

    #[test]
    fn endpoints_catch_up_at_different_moments() {
        let offsets: BTreeSet<Millis> = (1..=100).map(|n| catch_up_offset(EndpointId(n))).collect();
        assert!(offsets.len() > 90);
        assert!(offsets.iter().all(|offset| (0..limits::CATCH_UP_SPREAD).contains(offset)));
    }
}
