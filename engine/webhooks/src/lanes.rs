//! Whose turn it is: one lane per endpoint that has something to send, served round robin, so that no endpoint waits for another.
//! Pure bookkeeping; what is due stays in the store and only what is under way is held here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use location::time::{Millis, Timestamp};
use uuid::Uuid;

use super::{limits, model::EndpointId};

#[derive(Default)]
struct Lane {
    under_way: BTreeMap<Uuid, Job>,
    /// Waiting in `ready`.
    ready: bool,
    /// Waiting in `timers`.
    timer: Option<Timestamp>,
    /// No attempt that was missed in downtime is made up for before.
    no_late_before: Option<Timestamp>,
    /// All that is due was seen to be under way, and nothing new has come.
    drained: bool,
}

struct Job {
    kind: Kind,
    /// The record it is about; empty where it is about none.
    record: Vec<u8>,
}

/// What is known of an endpoint when an attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Healthy,
    Failing,
}

#[derive(Default)]
pub struct Lanes {
    lanes: BTreeMap<EndpointId, Lane>,
    ready: VecDeque<EndpointId>,
    timers: BTreeSet<(Timestamp, EndpointId)>,
    under_way: usize,
    failing_under_way: usize,
}

impl Lanes {
    /// There may be something to send right now.
    pub fn ready(&mut self, endpoint: EndpointId) {
        let lane = self.lanes.entry(endpoint).or_default();
        lane.drained = false;
        if !std::mem::replace(&mut lane.ready, true) {
            self.ready.push_back(endpoint);
        }
    }

    /// What is due is all under way.
    pub fn drained(&mut self, endpoint: EndpointId) {
        self.lanes.entry(endpoint).or_default().drained = true;
    }

    /// Something ended that leaves nothing to do.
    pub fn ready_unless_drained(&mut self, endpoint: EndpointId) {
        match self.lanes.get(&endpoint) {
            Some(lane) if lane.drained => self.forget_idle(endpoint),
            _ => self.ready(endpoint),
        }
    }

    /// There is more to send. Where the endpoint itself has no room, the end of an attempt makes it ready again.
    pub fn ready_unless_full(&mut self, endpoint: EndpointId, kind: Kind) {
        if self.takes_more(endpoint, kind) {
            self.ready(endpoint);
        }
    }

    /// There is nothing to do for it before `at`. The earliest such time counts.
    pub fn ready_at(&mut self, endpoint: EndpointId, at: Timestamp) {
        let lane = self.lanes.entry(endpoint).or_default();
        if lane.timer.is_some_and(|timer| timer <= at) {
            return;
        }
        if let Some(later) = lane.timer.replace(at) {
            self.timers.remove(&(later, endpoint));
        }
        self.timers.insert((at, endpoint));
    }

    /// The clock was set back: no turn waits longer for that.
    pub fn set_back(&mut self, by: Millis) {
        let timers = std::mem::take(&mut self.timers);
        self.timers = timers.into_iter().map(|(at, endpoint)| (at.minus(by), endpoint)).collect();
        for lane in self.lanes.values_mut() {
            lane.timer = lane.timer.map(|at| at.minus(by));
            lane.no_late_before = lane.no_late_before.map(|at| at.minus(by));
        }
    }

    /// When to look again, if nothing happens before.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// The endpoint whose turn it is. None also when all places are taken.
    pub fn next(&mut self, now: Timestamp) -> Option<EndpointId> {
        while let Some((at, endpoint)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, endpoint));
            self.lanes.entry(endpoint).or_default().timer = None;
            self.ready(endpoint);
        }
        if self.under_way >= limits::CONCURRENCY {
            return None;
        }
        let endpoint = self.ready.pop_front()?;
        self.lanes.entry(endpoint).or_default().ready = false;
        self.forget_idle(endpoint);
        Some(endpoint)
    }

    /// Whether the endpoint itself takes one more. If not, the end of an attempt makes it ready again.
    pub fn takes_more(&self, endpoint: EndpointId, kind: Kind) -> bool {
        self.under_way_count(endpoint) < limit(kind)
    }

    /// Whether failing endpoints have used up the places they share.
    pub fn place_for(&self, kind: Kind) -> bool {
        kind == Kind::Healthy || self.failing_under_way < limits::FAILING_CONCURRENCY
    }

    /// How many may begin right now.
    pub fn room(&self, endpoint: EndpointId, kind: Kind) -> usize {
        let shared = match kind {
            Kind::Healthy => limits::CONCURRENCY,
            Kind::Failing => limits::FAILING_CONCURRENCY.saturating_sub(self.failing_under_way) + self.under_way,
        };
        let places = shared.min(limits::CONCURRENCY).saturating_sub(self.under_way);
        limit(kind).saturating_sub(self.under_way_count(endpoint)).min(places)
    }

    pub fn is_under_way(&self, endpoint: EndpointId, delivery: Uuid) -> bool {
        self.lanes.get(&endpoint).is_some_and(|lane| lane.under_way.contains_key(&delivery))
    }

    fn under_way(&self, endpoint: EndpointId) -> impl Iterator<Item = (&Uuid, &Job)> {
        self.lanes.get(&endpoint).into_iter().flat_map(|lane| &lane.under_way)
    }

    pub fn under_way_count(&self, endpoint: EndpointId) -> usize {
        self.under_way(endpoint).count()
    }

    /// Whether it may begin: it is not under way, nor is another message about the same record. So messages about one record leave in
    /// their order, and one that failed does not hold up the next.
    pub fn may_begin(&self, endpoint: EndpointId, delivery: Uuid, record: &[u8]) -> bool {
        let same_record = |job: &Job| !record.is_empty() && job.record == record;
        !self.under_way(endpoint).any(|(id, job)| *id == delivery || same_record(job))
    }

    /// When the endpoint may be sent what was missed in downtime, if not now.
    pub fn late_wait(&self, endpoint: EndpointId, now: Timestamp) -> Option<Timestamp> {
        self.lanes.get(&endpoint)?.no_late_before.filter(|at| *at > now)
    }

    pub fn hold_late(&mut self, endpoint: EndpointId, until: Timestamp) {
        self.lanes.entry(endpoint).or_default().no_late_before = Some(until);
        self.ready_at(endpoint, until);
    }

    pub fn begun(&mut self, endpoint: EndpointId, delivery: Uuid, record: Vec<u8>, kind: Kind) {
        let job = Job { kind, record };
        let before = self.lanes.entry(endpoint).or_default().under_way.insert(delivery, job);
        debug_assert!(before.is_none(), "a delivery is under way once");
        self.under_way += 1;
        self.failing_under_way += usize::from(kind == Kind::Failing);
    }

    pub fn ended(&mut self, endpoint: EndpointId, delivery: Uuid) {
        let ended = self.lanes.get_mut(&endpoint).and_then(|lane| lane.under_way.remove(&delivery));
        self.under_way -= usize::from(ended.is_some());
        self.failing_under_way -= usize::from(ended.is_some_and(|job| job.kind == Kind::Failing));
    }

    fn forget_idle(&mut self, endpoint: EndpointId) {
        if self.lanes.get(&endpoint).is_some_and(|l| l.under_way.is_empty() && !l.ready && l.timer.is_none()) {
            self.lanes.remove(&endpoint);
        }
    }
}

/// Of one endpoint.
fn limit(kind: Kind) -> usize {
    match kind {
        Kind::Healthy => limits::ENDPOINT_CONCURRENCY,
        Kind::Failing => limits::FAILING_ENDPOINT_CONCURRENCY,
    }
}

/// When an endpoint begins to catch up after a start, so that not all begin at once.
pub fn catch_up_offset(endpoint: EndpointId) -> Millis {
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
    fn turns_go_round() {
        let mut lanes = Lanes::default();
        for endpoint in [A, B, A] {
            lanes.ready(endpoint);
        }
        assert_eq!(lanes.next(NOW), Some(A));
        lanes.ready(A);
        assert_eq!((lanes.next(NOW), lanes.next(NOW), lanes.next(NOW)), (Some(B), Some(A), None));
        assert!(lanes.lanes.is_empty());
    }

    #[test]
    fn the_earliest_timer_counts_and_fires_once() {
        let mut lanes = Lanes::default();
        for at in [50, 30, 40] {
            lanes.ready_at(A, Timestamp(at));
        }
        lanes.ready_at(B, Timestamp(45));
        assert_eq!(lanes.next_timer(), Some(Timestamp(30)));
        assert_eq!((lanes.next(Timestamp(29)), lanes.next(Timestamp(30))), (None, Some(A)));
        assert_eq!(lanes.next_timer(), Some(Timestamp(45)));
        assert_eq!((lanes.next(NOW), lanes.next(NOW)), (Some(B), None));
    }

    #[test]
    fn an_endpoint_takes_eight_and_a_failing_one_takes_one() {
        let mut lanes = Lanes::default();
        for n in 0..limits::ENDPOINT_CONCURRENCY {
            assert!(lanes.takes_more(A, Kind::Healthy));
            lanes.begun(A, id(n), Vec::new(), Kind::Healthy);
        }
        assert!(!lanes.takes_more(A, Kind::Healthy) && lanes.takes_more(B, Kind::Failing));
        lanes.begun(B, id(99), Vec::new(), Kind::Failing);
        assert!(!lanes.takes_more(B, Kind::Failing));
        lanes.ended(B, id(99));
        assert!(lanes.takes_more(B, Kind::Failing));
    }

    #[test]
    fn one_message_about_a_record_is_under_way_at_a_time() {
        let mut lanes = Lanes::default();
        lanes.begun(A, id(1), b"patient 7".to_vec(), Kind::Healthy);
        lanes.begun(A, id(2), Vec::new(), Kind::Healthy);
        assert!(!lanes.may_begin(A, id(1), b"patient 8") && !lanes.may_begin(A, id(3), b"patient 7"));
        assert!(lanes.may_begin(A, id(3), b"patient 8") && lanes.may_begin(A, id(3), b""));
        assert!(lanes.may_begin(B, id(3), b"patient 7"), "endpoints do not wait for each other");
        lanes.ended(A, id(1));
        assert!(lanes.may_begin(A, id(3), b"patient 7"));
    }

    #[test]
    fn failing_endpoints_leave_places_for_the_others() {
        let mut lanes = Lanes::default();
        for n in 0..limits::FAILING_CONCURRENCY {
            assert!(lanes.place_for(Kind::Failing));
            lanes.begun(EndpointId(n as i32), id(n), Vec::new(), Kind::Failing);
        }
        assert!(!lanes.place_for(Kind::Failing) && lanes.place_for(Kind::Healthy));
        for n in limits::FAILING_CONCURRENCY..limits::CONCURRENCY {
            lanes.begun(EndpointId(n as i32), id(n), Vec::new(), Kind::Healthy);
        }
        lanes.ready(A);
        assert_eq!(lanes.next(NOW), None);
        lanes.ended(EndpointId(0), id(0));
        lanes.ended(EndpointId(0), id(0));
        assert!(lanes.place_for(Kind::Failing));
        assert_eq!(lanes.next(NOW), Some(A));
        assert_eq!(lanes.under_way, limits::CONCURRENCY - 1);
    }

    #[test]
    fn endpoints_catch_up_at_different_moments() {
        let offsets: BTreeSet<Millis> = (1..=100).map(|n| catch_up_offset(EndpointId(n))).collect();
        assert!(offsets.len() > 90);
        assert!(offsets.iter().all(|offset| (0..limits::CATCH_UP_SPREAD).contains(offset)));
    }
}
