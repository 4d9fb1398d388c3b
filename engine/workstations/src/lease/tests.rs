#![allow(clippy::unwrap_used)]
//! Property tests of the fencing under random interleavings, compared with a model of the messages. Then tests of
//! single rules.

use std::collections::{BTreeMap, BTreeSet};

use adapter_host::WriteTag;
use proptest::{prelude::*, sample::Index};

use super::*;

const HERE: u32 = 101;
const IN_FLIGHT: usize = 2;
const PATIENCE: Duration = Duration::from_secs(20);
const RULES: Rules = Rules { location: HERE, in_flight: IN_FLIGHT, patience: PATIENCE };

#[derive(Clone, Debug)]
enum Op {
    Connect,
    Vanish(Index),
    Reported(Index, Login, bool),
    /// The allocation of a lease completes. Completions may arrive in any order.
    Leased(Index),
    NoLease(Index),
    Request(u64, bool),
    GiveUp(Index),
    RequestAnswer(Index, Answering),
    Step(u64),
    Tick,
}

#[derive(Clone, Debug)]
enum Answering {
    /// For any request sent earlier, to any workstation: late, replayed, reordered or from another connection.
    Of(Index),
    OtherLease(Index, i64),
    OtherLocation(Index),
    MadeUp {
        lease: u64,
        number: u64,
    },
    Failure(Index, FailureKind),
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    let login = prop_oneof![3 => Just(Login::In), 2 => Just(Login::Out)];
    let kinds = [FailureKind::NotSent, FailureKind::NoAnswer, FailureKind::LoggedOut, FailureKind::Declined];
    let answering = prop_oneof![
        8 => index().prop_map(Answering::Of),
        1 => (index(), -2..3_i64).prop_map(|(of, by)| Answering::OtherLease(of, by)),
        1 => index().prop_map(Answering::OtherLocation),
        1 => (0..20_u64, 0..40_u64).prop_map(|(lease, number)| Answering::MadeUp { lease, number }),
        2 => (index(), prop::sample::select(kinds.to_vec())).prop_map(|(of, kind)| Answering::Failure(of, kind)),
    ];
    prop_oneof![
        1 => Just(Op::Connect),
        1 => index().prop_map(Op::Vanish),
        8 => (index(), login, prop::bool::weighted(0.1)).prop_map(|(who, login, paused)| Op::Reported(who, login, paused)),
        4 => index().prop_map(Op::Leased),
        1 => index().prop_map(Op::NoLease),
        6 => (1..40_000_u64, any::<bool>()).prop_map(|(wait, write)| Op::Request(wait, write)),
        1 => index().prop_map(Op::GiveUp),
        8 => (index(), answering).prop_map(|(who, what)| Op::RequestAnswer(who, what)),
        2 => (1..30_000_u64).prop_map(Op::Step),
        1 => Just(Op::Tick),
    ]
}

struct LeaseWorld {
    lease: Lease,
    now: Instant,
    connections: u64,
    /// The connected workstations and their last reports.
    sessions: BTreeMap<ConnectionId, Option<SessionState>>,
    /// Requested leases with their numbers: durable in the order of requests, completed in any order.
    asked: Vec<(ConnectionId, u64)>,
    durable: u64,
    /// Workstations that hold a lease according to the last message to them.
    leases: BTreeMap<ConnectionId, u64>,
    last_lease: u64,
    /// A lease was granted, and the location has not been notified yet.
    lease_unreported: bool,
    open: BTreeSet<Number>,
    ended: BTreeSet<Number>,
    /// The deadlines of writes.
    writes: BTreeMap<Number, Instant>,
    /// Writes in flight whose workstation disappeared.
    adrift: BTreeSet<Number>,
    /// The requests sent, in order: the connection, and the reference that the answer must repeat.
    handed: Vec<(ConnectionId, RequestRef)>,
    reported: Option<Gate>,
}

impl LeaseWorld {
    fn new() -> LeaseWorld {
        let now = Instant::now();
        LeaseWorld {
            lease: Lease::new(now, RULES),
            now,
            connections: 0,
            sessions: BTreeMap::new(),
            asked: Vec::new(),
            durable: 0,
            leases: BTreeMap::new(),
            last_lease: 0,
            lease_unreported: false,
            open: BTreeSet::new(),
            ended: BTreeSet::new(),
            writes: BTreeMap::new(),
            adrift: BTreeSet::new(),
            handed: Vec::new(),
            reported: None,
        }
    }

    fn connection(&self, index: Index) -> Option<ConnectionId> {
        let all: Vec<ConnectionId> = self.sessions.keys().copied().collect();
        (!all.is_empty()).then(|| *index.get(&all))
    }

    fn eligible(&self) -> impl Iterator<Item = ConnectionId> {
        self.sessions.iter().filter(|(_, session)| session.is_some_and(|session| session.eligible())).map(|(id, _)| *id)
    }

    fn run(&mut self, op: &Op) {
        match op {
            // Few, so that each takes part in many steps.
            Op::Connect if self.sessions.len() == 3 => {}
            Op::Connect => {
                self.connections += 1;
                let id = ConnectionId(self.connections);
                self.sessions.insert(id, None);
                let effects = self.lease.connected(self.now, id);
                self.follow(effects, None);
            }
            Op::Vanish(index) => {
                let Some(id) = self.connection(*index) else { return };
                self.sessions.remove(&id);
                if let Some(lease) = self.leases.remove(&id) {
                    let at_it =
                        |(connection, claim): &&(ConnectionId, RequestRef)| *connection == id && claim.lease == lease;
                    let open = self.handed.iter().filter(at_it).map(|(_, claim)| claim.number);
                    let writes = open.filter(|number| self.open.contains(number) && self.writes.contains_key(number));
                    self.adrift.extend(writes);
                }
                let effects = self.lease.gone(self.now, id);
                self.follow(effects, None);
            }
            Op::Reported(index, login, paused) => {
                let Some(id) = self.connection(*index) else { return };
                let session = SessionState { login: *login, paused: *paused, awaiting: 0 };
                self.sessions.insert(id, Some(session));
                let effects = self.lease.update_session(self.now, id, session);
                self.follow(effects, None);
            }
            Op::Leased(index) => self.lease_allocated(*index, true),
            Op::NoLease(index) => self.lease_allocated(*index, false),
            Op::Request(wait, write) => {
                let until = self.now + Duration::from_millis(*wait);
                let request = if *write { writing() } else { asking() };
                let (number, effects) = self.lease.request(self.now, until, request);
                assert!(self.open.insert(number) && !self.ended.contains(&number), "a number comes once");
                if *write {
                    self.writes.insert(number, until);
                }
                self.follow(effects, None);
            }
            Op::GiveUp(index) => {
                let open: Vec<Number> = self.open.difference(&self.adrift).copied().collect();
                if open.is_empty() {
                    return;
                }
                let number = *index.get(&open);
                let effects = self.lease.gave_up(self.now, number);
                self.follow(effects, None);
                assert!(self.ended.contains(&number));
            }
            Op::RequestAnswer(index, what) => self.answer(*index, what),
            Op::Step(wait) => self.now += Duration::from_millis(*wait),
            Op::Tick => {
                let effects = self.lease.tick(self.now);
                self.follow(effects, None);
            }
        }
        self.check();
    }

    fn lease_allocated(&mut self, index: Index, durable: bool) {
        if self.asked.is_empty() {
            return;
        }
        let (id, number) = self.asked.remove(index.index(self.asked.len()));
        let effects = self.lease.leased(self.now, id, durable.then_some(number));
        self.follow(effects, None);
    }

    fn answer(&mut self, index: Index, what: &Answering) {
        let Some(id) = self.connection(index) else { return };
        let handed = |of: &Index| (!self.handed.is_empty()).then(|| of.get(&self.handed).1);
        let claim = match what {
            Answering::Of(of) | Answering::Failure(of, _) => handed(of),
            Answering::OtherLease(of, by) => {
                handed(of).map(|claim| RequestRef { lease: claim.lease.saturating_add_signed(*by), ..claim })
            }
            Answering::OtherLocation(of) => handed(of).map(|claim| RequestRef { location: HERE + 1, ..claim }),
            Answering::MadeUp { lease, number } => Some(RequestRef { lease: *lease, number: *number, location: HERE }),
        };
        let Some(claim) = claim else { return };
        // An answer is accepted from the holder, under its current lease, for a request sent to it under that lease.
        let believed = self.leases.get(&id) == Some(&claim.lease)
            && self.handed.contains(&(id, claim))
            && self.open.contains(&claim.number)
            && !self.adrift.contains(&claim.number);
        let effects = match what {
            Answering::Failure(_, kind) => {
                self.lease.failed(self.now, id, &Failure { claim, kind: *kind, reason: "no".into() })
            }
            _ => self.lease.answered(self.now, id, answer(claim)),
        };
        if !believed {
            assert!(
                matches!(effects[..], [Effect::Rejected(connection, _)] if connection == id),
                "{claim:?} made {effects:?}"
            );
        }
        self.follow(effects, believed.then_some(claim.number));
        assert!(!believed || self.ended.contains(&claim.number), "an answer that is believed ends its request");
    }

    /// `answered` is the only request that may end with an answer.
    fn follow(&mut self, effects: Vec<Effect>, answered: Option<Number>) {
        for effect in effects {
            match effect {
                Effect::RequestLease(id) => {
                    self.durable += 1;
                    self.asked.push((id, self.durable));
                }
                Effect::Send(id, ToWorkstation::Lease { lease: None }) => {
                    assert!(self.leases.remove(&id).is_some(), "a lease ends where one was");
                }
                Effect::Send(id, ToWorkstation::Lease { lease: Some(number) }) => {
                    assert!(number > self.last_lease, "fencing numbers grow");
                    assert!(self.leases.is_empty(), "never two holders");
                    self.last_lease = number;
                    self.lease_unreported = true;
                    self.leases.insert(id, number);
                }
                Effect::Send(id, ToWorkstation::Request(request)) => {
                    assert_eq!(
                        self.leases.get(&id),
                        Some(&request.claim.lease),
                        "the holder is asked, under its lease"
                    );
                    assert_eq!(request.claim.location, HERE);
                    assert!(self.open.contains(&request.claim.number));
                    let before = self.handed.last().map(|(_, claim)| claim.number);
                    assert!(before < Some(request.claim.number), "in order, and once");
                    self.handed.push((id, request.claim));
                }
                Effect::Send(_, other) => panic!("a location does not send {other:?}"),
                Effect::Complete(number, how) => {
                    assert!(self.open.remove(&number) && self.ended.insert(number), "request {number} ends once");
                    if how.is_ok() {
                        assert_eq!(answered, Some(number), "only a believed answer ends a request as answered");
                    }
                    if self.adrift.contains(&number) {
                        assert!(
                            self.writes[&number] <= self.now,
                            "the browser of one that vanished may still be at it"
                        );
                    }
                    let handed = self.handed.iter().any(|(_, claim)| claim.number == number);
                    if let Err(GateError::NotSent(_)) = how {
                        assert!(!handed || answered == Some(number), "what was handed out is never not sent");
                    }
                }
                Effect::Rejected(..) => {}
                Effect::Gate(gate) => {
                    let is_new_lease = std::mem::take(&mut self.lease_unreported) && gate == Gate::Open;
                    assert!(is_new_lease || self.reported != Some(gate), "only changes and new leases are reported");
                    self.reported = Some(gate);
                }
            }
        }
    }

    fn check(&self) {
        assert!(!self.lease_unreported, "under a new lease what waits is tried again");
        let eligible: BTreeSet<ConnectionId> = self.eligible().collect();
        for id in self.leases.keys() {
            assert!(eligible.contains(id), "a holder is connected, logged in and not paused");
        }
        assert!(self.leases.len() <= 1);
        assert_eq!(self.lease.holder(), self.leases.iter().next().map(|(id, number)| (*id, *number)));
        if !eligible.is_empty() {
            assert!(
                self.lease.is_open(self.now) && self.reported == Some(Gate::Open),
                "a workstation is eligible, so the gate is open"
            );
        }
        let at_a_holder = |number| self.open.contains(number) && !self.adrift.contains(number);
        let sent_to_holder = self.handed.iter().filter(|(_, claim)| at_a_holder(&claim.number));
        assert!(sent_to_holder.clone().count() <= IN_FLIGHT);
        for (id, claim) in sent_to_holder {
            assert_eq!(self.leases.get(id), Some(&claim.lease), "requests in flight are at the holder");
        }
    }

    /// Delivers everything in flight, and lets time pass.
    fn come_to_rest(&mut self) {
        while !self.asked.is_empty() {
            let (id, number) = self.asked.remove(0);
            let effects = self.lease.leased(self.now, id, Some(number));
            self.follow(effects, None);
        }
        // A failed allocation of a lease is retried.
        let effects = self.lease.tick(self.now);
        self.follow(effects, None);
        for (id, number) in std::mem::take(&mut self.asked) {
            let effects = self.lease.leased(self.now, id, Some(number));
            self.follow(effects, None);
        }
        self.check();
        assert_eq!(self.lease.holder().is_some(), self.eligible().next().is_some(), "who may do the work does it");
        self.now += Duration::from_secs(60);
        let effects = self.lease.tick(self.now);
        self.follow(effects, None);
        self.check();
        assert!(self.open.is_empty(), "every request ends");
        assert_eq!(
            self.reported == Some(Gate::Open),
            self.eligible().next().is_some(),
            "a gate without anybody is shut"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_workstation_holds_the_lease_and_only_its_answers_are_accepted(ops in prop::collection::vec(op(), 1..150)) {
        let mut world = LeaseWorld::new();
        for op in &ops {
            world.run(op);
        }
        world.come_to_rest();
    }
}

fn asking() -> GateRequest {
    GateRequest {
        method: "GET".into(),
        path: "/a".into(),
        headers: Vec::new(),
        body: None,
        max_response_body: 1_000,
        write: None,
    }
}

fn writing() -> GateRequest {
    let tag = WriteTag { id: "w1".into(), kind: "payment-insert".into(), at: None };
    GateRequest { method: "POST".into(), write: Some(tag), ..asking() }
}

fn answer(claim: RequestRef) -> RequestAnswer {
    RequestAnswer { claim, status: 200, headers: Vec::new(), body: Vec::new() }
}

const IN: SessionState = SessionState { login: Login::In, paused: false, awaiting: 0 };
const A: ConnectionId = ConnectionId(1);
const B: ConnectionId = ConnectionId(2);

/// Returns a location whose lease 7 is held by A.
fn held_lease(now: Instant) -> Lease {
    let mut lease = Lease::new(now, RULES);
    lease.connected(now, A);
    assert_eq!(lease.update_session(now, A, IN), [Effect::RequestLease(A), Effect::Gate(Gate::Open)]);
    let granted = Effect::Send(A, ToWorkstation::Lease { lease: Some(7) });
    assert_eq!(lease.leased(now, A, Some(7)), [granted, Effect::Gate(Gate::Open)]);
    lease
}

#[test]
fn the_next_workstation_takes_over_and_requests_in_flight_are_unknown() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    lease.connected(now, B);
    assert_eq!(lease.update_session(now, B, IN), []);
    let until = now + Duration::from_secs(30);
    let (first, _) = lease.request(now, until, asking());
    lease.request(now, until, asking());
    let (third, commands) = lease.request(now, until, asking());
    assert_eq!(commands, [], "two are in flight, the third waits");
    let effects = lease.gone(now, A);
    assert!(
        matches!(&effects[..2], [Effect::Complete(number, Err(GateError::NoAnswer(_))), Effect::Complete(_, Err(_))] if *number == first)
    );
    assert_eq!(effects[2..], [Effect::RequestLease(B)]);
    let effects = lease.leased(now, B, Some(8));
    let Effect::Send(B, ToWorkstation::Request(request)) = &effects[2] else { panic!("{effects:?}") };
    assert_eq!(request.claim, RequestRef { lease: 8, number: third, location: HERE });
    assert_eq!(lease.answered(now, A, answer(request.claim)), [Effect::Rejected(A, Rejection::NotTheHolder)]);
}

#[test]
fn a_write_of_a_vanished_workstation_ends_at_its_deadline() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    let until = now + Duration::from_secs(30);
    let (write, _) = lease.request(now, until, writing());
    lease.connected(now, B);
    lease.update_session(now, B, IN);
    assert_eq!(lease.gone(now, A), [Effect::RequestLease(B)]);
    lease.leased(now, B, Some(8));
    let forged = RequestRef { lease: 8, number: write, location: HERE };
    assert_eq!(lease.answered(now, B, answer(forged)), [Effect::Rejected(B, Rejection::NotInFlight)]);
    assert_eq!(lease.tick(until - Duration::from_millis(1)), []);
    let lost = GateError::NoAnswer("the workstation went before it answered".into());
    assert_eq!(lease.tick(until), [Effect::Complete(write, Err(lost))]);
}

#[test]
fn a_lease_that_arrives_after_its_successor_is_ignored() {
    let now = Instant::now();
    let mut lease = Lease::new(now, RULES);
    lease.connected(now, A);
    let out = SessionState { login: Login::Out, ..IN };
    // Requested three times, as the staff log in and out. The first response arrives last.
    lease.update_session(now, A, IN);
    lease.update_session(now, A, out);
    lease.update_session(now, A, IN);
    assert!(!lease.leased(now, A, Some(2)).is_empty());
    lease.update_session(now, A, out);
    assert_eq!(lease.update_session(now, A, IN)[0], Effect::RequestLease(A));
    assert_eq!((lease.leased(now, A, Some(1)), lease.holder()), (vec![], None));
    lease.leased(now, A, Some(3));
    assert_eq!(lease.holder(), Some((A, 3)));
}

#[test]
fn each_rejection_has_its_reason() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    lease.connected(now, B);
    let (number, _) = lease.request(now, now + Duration::from_secs(30), asking());
    let claim = RequestRef { lease: 7, number, location: HERE };
    for (id, claim, why) in [
        (B, claim, Rejection::NotTheHolder),
        (A, RequestRef { lease: 6, ..claim }, Rejection::OtherLease),
        (A, RequestRef { lease: 8, ..claim }, Rejection::OtherLease),
        (A, RequestRef { location: 102, ..claim }, Rejection::OtherLocation),
        (A, RequestRef { number: number + 1, ..claim }, Rejection::NotInFlight),
    ] {
        assert_eq!(lease.answered(now, id, answer(claim)), [Effect::Rejected(id, why)]);
    }
    assert_eq!(lease.answered(now, A, answer(claim)), [Effect::Complete(number, Ok(answer(claim)))]);
    assert_eq!(lease.answered(now, A, answer(claim)), [Effect::Rejected(A, Rejection::NotInFlight)], "a replay");
}

#[test]
fn a_gate_without_workstation_stays_open_for_a_grace_period_unless_staff_close_it() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    lease.gone(now, A);
    assert_eq!((lease.is_open(now), lease.reported), (true, Some(Gate::Open)));
    let (waits, commands) = lease.request(now, now + Duration::from_secs(60), asking());
    assert_eq!(commands, []);
    let effects = lease.tick(now + PATIENCE);
    let [Effect::Gate(gate), Effect::Complete(number, Err(GateError::NotSent(_)))] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((*gate, *number), (Gate::Shut(Shut::NoWorkstation), waits));

    for (session, why) in [
        (SessionState { login: Login::Out, ..IN }, Shut::LoggedOut),
        (SessionState { paused: true, ..IN }, Shut::Paused),
    ] {
        let mut lease = held_lease(now);
        let (asked, _) = lease.request(now, now + Duration::from_secs(60), asking());
        let effects = lease.update_session(now, A, session);
        let lost = GateError::NoAnswer("the workstation went before it answered".into());
        let none = Effect::Send(A, ToWorkstation::Lease { lease: None });
        assert_eq!(effects, [none, Effect::Complete(asked, Err(lost)), Effect::Gate(Gate::Shut(why))]);
    }
}

#[test]
fn writes_that_await_approval_leave_the_gate_open() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    lease.update_session(now, A, SessionState { awaiting: 3, ..IN });
    assert_eq!((lease.state, lease.reported), (GateState::WaitingForApproval, Some(Gate::Open)));
}

#[test]
fn only_waiting_writes_of_the_lease_holder_are_approved() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    lease.connected(now, B);
    lease.update_session(now, B, IN);
    let (number, _) = lease.request(now, now + PATIENCE, writing());
    let (_, fence) = lease.holder().unwrap();
    let both = ["w1".to_owned(), "w2".to_owned()];
    assert!(lease.approved(A, &both).is_empty(), "no request was sent yet");
    let claim = RequestRef { lease: fence, number, location: HERE };
    let failure = Failure { claim, kind: FailureKind::Approval, reason: String::new() };
    lease.failed(now, B, &failure);
    assert!(lease.approved(A, &both).is_empty(), "a workstation without the lease gets no request");
    lease.failed(now, A, &failure);
    assert!(lease.approved(B, &both).is_empty(), "nor decides");
    assert!(lease.approved(A, &both[1..]).is_empty(), "another write");
    assert_eq!(lease.approved(A, &both), both[..1], "and nothing that did not wait");
    assert!(lease.approved(A, &both).is_empty(), "once");
}

#[test]
fn a_new_lease_reports_the_open_gate_again() {
    let now = Instant::now();
    let waiting = SessionState { awaiting: 3, ..IN };
    // Another workstation takes over, or the same one returns within the grace period.
    for (next, stands_by) in [(B, true), (B, false)] {
        let mut lease = held_lease(now);
        lease.update_session(now, A, waiting);
        if stands_by {
            lease.connected(now, next);
            assert_eq!(lease.update_session(now, next, IN), []);
        }
        let gone = lease.gone(now, A);
        if !stands_by {
            lease.connected(now, next);
            assert_eq!((gone, lease.update_session(now, next, IN)), (vec![], vec![Effect::RequestLease(next)]));
        }
        assert_eq!(lease.reported, Some(Gate::Open));
        let granted = Effect::Send(next, ToWorkstation::Lease { lease: Some(8) });
        assert_eq!(lease.leased(now, next, Some(8)), [granted, Effect::Gate(Gate::Open)]);
    }
}

#[test]
fn requests_beyond_the_waiting_limit_are_not_sent() {
    let now = Instant::now();
    let mut lease = held_lease(now);
    let until = now + Duration::from_secs(60);
    for _ in 0..IN_FLIGHT + WAITING {
        assert!(!lease.request(now, until, asking()).1.iter().any(|effect| matches!(effect, Effect::Complete(..))));
    }
    let (number, effects) = lease.request(now, until, asking());
    assert!(matches!(&effects[..], [Effect::Complete(ended, Err(GateError::NotSent(_)))] if *ended == number));
}
