//! Read cycles with more pages or records than a story can contain.

use std::sync::Arc;

use crate::passes::Passes;
use location::{
    Location,
    command::{Command, DecisionContext, PulledPage, SweepStep},
    decision::{Call, Decision, Reply},
    event::Event,
    gate::{Gate, Shut},
    ids::LocationId,
    pause::Directions,
    pull::{PullCall, Resource, Skipped},
    settings::{Capabilities, MachineSettings, PullPlan, Quota},
    state::State,
    time::{MINUTE, SECOND, Timestamp},
    zone::Zone,
};

const PAGES: u32 = 500;

struct ReadCycleWorld {
    location: Location,
    now: Timestamp,
    passes: Passes,
    /// The page that is asked for.
    asked: Option<(Resource, u64)>,
    happened: Vec<Event>,
}

impl ReadCycleWorld {
    fn new(pulls: &[(Resource, bool)]) -> ReadCycleWorld {
        let mut settings = MachineSettings::new(LocationId(1), Zone::utc());
        let plan =
            |(resource, absence): &(Resource, bool)| PullPlan { resource: *resource, deletions_by_absence: *absence };
        settings.capabilities =
            Capabilities { integrated: true, pulls: pulls.iter().map(plan).collect(), ..Capabilities::default() };
        settings.quota = Quota { per_minute: 60_000, burst: 60_000 };
        let location = Location::load(Arc::new(settings), State::default());
        ReadCycleWorld {
            location,
            now: Timestamp(1_795_255_200_000),
            passes: Passes::default(),
            asked: None,
            happened: Vec::new(),
        }
    }

    fn run(&mut self, command: &Command) -> Decision {
        self.now = self.now.plus(1);
        let command = &self.passes.complete(&self.location, self.now, command);
        let decision = self.location.decide(DecisionContext { now: self.now, random: 7 }, command);
        self.passes.keep(&self.location, command, &decision.events);
        for event in &decision.events {
            self.location.evolve(self.now, event);
        }
        self.happened.extend(decision.events.iter().cloned());
        for call in &decision.calls {
            let Call::Pull { resource, call, .. } = call else { panic!("nothing is written here") };
            self.asked = Some((*resource, *call));
        }
        decision
    }

    /// Answers the next page request with this page.
    fn page(&mut self, page: PulledPage) -> Decision {
        if self.asked.is_none() {
            self.now = self.now.plus(SECOND);
            self.run(&Command::Wake);
        }
        if self.asked.is_none() {
            // The previous cycle has ended.
            self.run(&Command::Wake);
        }
        let (resource, call) = self.asked.take().expect("a page is asked for");
        self.run(&Command::Pulled { resource, call, outcome: Ok(page) })
    }

    fn suspended(&self) -> Vec<(Resource, String)> {
        let left = self.happened.iter().filter_map(|event| match event {
            Event::PullSuspended { resource, reason } => Some((*resource, reason.clone())),
            _ => None,
        });
        left.collect()
    }

    /// Answers requests for providers until the resource is skipped, and returns the number of pages.
    fn pages_until_left(&mut self, page: impl Fn(u32) -> PulledPage) -> u32 {
        for number in 0..2 * PAGES {
            self.page(page(number));
            if self.asked.is_none() {
                self.run(&Command::Wake);
                self.run(&Command::Wake);
            }
            if self.asked.is_some_and(|(resource, _)| resource != Resource::Providers) {
                return number + 1;
            }
        }
        panic!("the resource is never skipped");
    }
}

fn numbered(number: u32) -> PulledPage {
    PulledPage { cursor: format!("c{number}"), ..PulledPage::default() }
}

const TWO: [(Resource, bool); 2] = [(Resource::Providers, false), (Resource::Patients, false)];

#[test]
fn page_is_prefetched_only_if_the_location_may_ask_for_it() {
    let mut world = ReadCycleWorld::new(&TWO);
    world.page(numbered(1));
    let (resource, call) = world.asked.unwrap();
    let (location, now) = (world.location.clone(), world.now);
    let until = location.state.pulls.calling.as_ref().unwrap().until;
    let deadline =
        |location: &Location, now, resource, call, requests| location.clone().prefetch(now, resource, call, requests);
    assert_eq!(deadline(&location, now, resource, call, 0), Some(until));
    assert_eq!(deadline(&location, now, resource, call - 1, 0), None, "another page is awaited");
    assert_eq!(deadline(&location, now, Resource::Patients, call, 0), None, "of another resource");
    assert_eq!(deadline(&location, until, resource, call, 0), None, "the call has expired");
    assert_eq!(deadline(&location, now, resource, call, 60_000), None, "other requests use up the quota");
    for event in [
        Event::PauseTurned { to: Directions { reading: true, writing: false } },
        Event::GateTurned { gate: Gate::Shut(Shut::NoWorkstation) },
    ] {
        let mut suspended = location.clone();
        suspended.evolve(now, &event);
        assert_eq!(deadline(&suspended, now, resource, call, 0), None, "{event:?}");
    }
    let mut limited = location.clone();
    Arc::make_mut(&mut limited.settings).pull.max_pages = 2;
    assert_eq!(deadline(&limited, now, resource, call, 0), None, "the awaited page is the last one of the cycle");
}

impl ReadCycleWorld {
    /// Prefetches the page after the awaited one, and returns the time of the request.
    fn prefetch(&mut self) -> Timestamp {
        let (resource, call) = self.asked.expect("a page is asked for");
        assert!(self.location.prefetch(self.now, resource, call, 0).is_some());
        self.now
    }

    fn calling(&self) -> &PullCall {
        self.location.state.pulls.calling.as_ref().expect("a page is asked for")
    }
}

#[test]
fn prefetched_call_has_the_time_and_deadline_of_its_request() {
    let mut world = ReadCycleWorld::new(&TWO);
    world.page(numbered(1));
    let longest = world.calling().until.since(world.now);
    let asked_at = world.prefetch();
    world.now = world.now.plus(500);
    world.page(numbered(2));
    assert_eq!((world.calling().asked_at, world.calling().until), (asked_at, asked_at.plus(longest)));
    world.prefetch();
    // The clock is set back meanwhile.
    world.now = world.now.minus(MINUTE);
    world.page(numbered(3));
    assert_eq!((world.calling().asked_at, world.calling().until), (world.now, world.now.plus(longest)));
    // The location records a larger change of the clock.
    let asked_at = world.prefetch();
    world.now = world.now.minus(MINUTE);
    world.location.evolve(world.now, &Event::ClockSetBack { by: MINUTE });
    world.now = world.now.plus(500);
    world.page(numbered(4));
    assert_eq!(world.calling().asked_at, asked_at.minus(MINUTE));
}

#[test]
fn prefetched_page_is_used_only_if_its_predecessor_was_just_applied() {
    let prefetched = |page: PulledPage, meanwhile: &[Event]| {
        let mut world = ReadCycleWorld::new(&TWO);
        world.page(numbered(1));
        world.prefetch();
        meanwhile.iter().for_each(|event| world.location.evolve(world.now, event));
        let decision = world.page(page);
        let is_prefetched = |event: &Event| matches!(event, Event::PullStarted { asked_at: Some(_), .. });
        let asks = !decision.calls.is_empty();
        (asks, decision.events.iter().any(is_prefetched))
    };
    assert_eq!(prefetched(numbered(2), &[]), (true, true));
    assert_eq!(prefetched(PulledPage { outdated: true, ..numbered(2) }, &[]), (true, false), "read again");
    assert_eq!(prefetched(PulledPage { last: true, ..numbered(2) }, &[]), (true, false), "another pass");
    let paused = Event::PauseTurned { to: Directions { reading: true, writing: false } };
    assert_eq!(prefetched(numbered(2), &[paused]), (false, false));
    let shut = Event::GateTurned { gate: Gate::Shut(Shut::NoWorkstation) };
    assert_eq!(prefetched(numbered(2), &[shut]), (false, false));
}

/// Otherwise the page would count as newer than changes made after its request.
#[test]
fn the_request_in_flight_is_as_old_after_the_clock_is_set_back() {
    let mut world = ReadCycleWorld::new(&TWO);
    world.page(numbered(1));
    let before = (world.calling().asked_at, world.calling().until);
    world.location.evolve(world.now.minus(MINUTE), &Event::ClockSetBack { by: MINUTE });
    assert_eq!((world.calling().asked_at, world.calling().until), (before.0.minus(MINUTE), before.1.minus(MINUTE)));
}

#[test]
fn expired_prefetched_page_is_requested_again() {
    let mut world = ReadCycleWorld::new(&TWO);
    world.page(numbered(1));
    let until = world.calling().until;
    world.prefetch();
    world.now = until;
    world.page(numbered(2));
    assert_eq!(world.calling().asked_at, world.now);
}

#[test]
fn prefetched_page_reserves_a_request_of_the_quota() {
    let mut world = ReadCycleWorld::new(&TWO);
    Arc::make_mut(&mut world.location.settings).quota = Quota { per_minute: 1, burst: 3 };
    world.page(numbered(1));
    assert_eq!(world.location.state.quota.available(world.location.settings.quota, world.now), 1);
    world.prefetch();
    // Nothing else may take the reserved request: the page is outdated, and its repetition waits for the quota.
    let mut other = world.location.clone();
    let (resource, call) = world.asked.unwrap();
    let outdated = PulledPage { outdated: true, ..numbered(2) };
    let cx = DecisionContext { now: world.now, random: 7 };
    let pulled = Command::Pulled { resource, call, outcome: Ok(outdated) };
    assert!(other.decide(cx, &pulled).calls.is_empty());
    other.drop_prefetched();
    assert_eq!(other.decide(cx, &pulled).calls.len(), 1);
    // The prefetched page itself may.
    assert_eq!(world.page(numbered(2)).calls.len(), 1);
    assert_eq!(world.location.state.quota.available(world.location.settings.quota, world.now), 0);
}

/// Otherwise a timer would be due, again and again, that starts nothing.
#[test]
fn timer_of_a_call_does_not_count_the_reserved_request() {
    let mut world = ReadCycleWorld::new(&TWO);
    Arc::make_mut(&mut world.location.settings).quota = Quota { per_minute: 1, burst: 3 };
    world.page(numbered(1));
    world.prefetch();
    let (resource, reason) = (Resource::Providers, "no answer".to_owned());
    world.location.evolve(world.now, &Event::PullFailed { resource, reason, retry_at: world.now });
    let wake = Command::Wake;
    let cx = DecisionContext { now: world.now, random: 7 };
    assert!(world.location.wake_at() > Some(world.now));
    assert!(world.location.decide(cx, &wake).calls.is_empty());
    world.location.drop_prefetched();
    assert!(world.location.wake_at() <= Some(world.now));
    assert_eq!(world.location.decide(cx, &wake).calls.len(), 1);
}

#[test]
fn page_is_not_prefetched_with_the_only_request_of_the_quota() {
    let mut world = ReadCycleWorld::new(&TWO);
    Arc::make_mut(&mut world.location.settings).quota = Quota { per_minute: 60_000, burst: 1 };
    world.page(numbered(1));
    let (resource, call) = world.asked.unwrap();
    let later = world.now.plus(SECOND);
    assert_eq!(world.location.prefetch(later, resource, call, 0), None);
}

#[test]
fn endless_empty_pages_suspend_the_resource() {
    let mut world = ReadCycleWorld::new(&TWO);
    assert_eq!(world.pages_until_left(numbered), PAGES);
    let why = "500 pages in a row brought nothing new";
    assert_eq!(world.suspended(), [(Resource::Providers, why.to_owned())]);
    let failing = world.location.state.pulls.failing.clone().unwrap();
    assert_eq!(failing.1, why, "the operator sees it");
}

#[test]
fn repeated_pages_of_a_whole_pass_suspend_the_resource() {
    let mut world = ReadCycleWorld::new(&TWO);
    let same = |number| PulledPage { whole: true, news: true, seen: vec![1, 2, 3], records: 3, ..numbered(number) };
    assert_eq!(world.pages_until_left(same), PAGES + 1);
}

#[test]
fn pages_without_changes_suspend_the_resource() {
    let mut world = ReadCycleWorld::new(&TWO);
    let same = |number| PulledPage { seen: vec![1, 2, 3], records: 3, ..numbered(number) };
    assert_eq!(world.pages_until_left(same), PAGES);
}

#[test]
fn resources_with_occasional_news_are_never_suspended() {
    let mut world = ReadCycleWorld::new(&TWO);
    for number in 0..3 * PAGES {
        let news = number % 400 == 0;
        assert!(matches!(world.page(PulledPage { news, ..numbered(number) }).reply, Reply::PageApplied { .. }));
    }
    let all_seen = |number: u32| PulledPage { whole: true, seen: vec![u64::from(number)], ..numbered(number) };
    let mut world = ReadCycleWorld::new(&TWO);
    for number in 0..3 * PAGES {
        world.page(all_seen(number));
    }
    assert_eq!(world.suspended(), []);
}

/// Ends a whole pass over `known` records, of which it lacked the first `missing`, and runs its sweep. Returns the
/// number of steps.
fn sweep(world: &mut ReadCycleWorld, known: u64, missing: u64) -> usize {
    let step = |from: u64| {
        let to = (from + 1_000).min(known);
        let next = (to < known).then(|| to.to_string());
        SweepStep { known: to - from, absent: (from..to.min(missing).max(from)).collect(), next }
    };
    let SweepStep { known, absent, next: sweep_on } = step(0);
    let cursor = "end".to_owned();
    world.page(PulledPage {
        seen: vec![99_999],
        records: 1,
        known,
        absent,
        sweep_on,
        cursor,
        last: true,
        whole: true,
        ..PulledPage::default()
    });
    for steps in 1.. {
        let Some(sweep) = world.location.state.pulls.sweep.clone() else { return steps };
        assert_eq!(world.location.wake_at(), Some(Timestamp::MIN));
        let from = sweep.from.map_or(0, |from| from.parse().unwrap());
        let decision = world.run(&Command::Sweep(step(from)));
        let gone = decision.events.iter().filter(|event| matches!(event, Event::RecordGone { .. })).count();
        assert!(gone <= 1_000, "{gone} deletions in one commit");
        assert!(sweep.counted || gone == 0, "nothing is deleted before all is counted");
        assert!(decision.calls.is_empty() || world.location.state.pulls.sweep.is_none(), "the cycle waits");
    }
    unreachable!("a sweep ends")
}

/// Each commit is bounded, and the cycle continues after the last one.
#[test]
fn many_deletions_are_applied_in_bounded_commits() {
    let mut world = ReadCycleWorld::new(&[(Resource::Patients, true), (Resource::Providers, false)]);
    let gone = |world: &ReadCycleWorld| {
        world.happened.iter().filter(|event| matches!(event, Event::RecordGone { .. })).count()
    };
    let steps = 200 + 200;
    assert_eq!(sweep(&mut world, 200_000, 50_000), steps, "all are counted, then all are looked at again");
    assert_eq!(gone(&world), 0, "one pass proves nothing");
    world.page(PulledPage { cursor: "end".to_owned(), last: true, ..PulledPage::default() });
    world.run(&Command::Wake);
    world.now = world.now.plus(3 * MINUTE);
    assert_eq!(sweep(&mut world, 200_000, 50_000), steps);
    assert_eq!(gone(&world), 10_000, "the others need another pair of passes");
    assert!(!world.happened.iter().any(|event| matches!(event, Event::GuardTripped { .. })));
    let pulls = &world.location.state.pulls;
    assert_eq!((&*pulls.cursors[&Resource::Patients], &pulls.failing, pulls.passes.len()), ("end", &None, 0));
    assert_eq!(world.asked.map(|(resource, _)| resource), Some(Resource::Providers));
}

#[test]
fn sweep_without_missing_records_only_counts() {
    let mut world = ReadCycleWorld::new(&[(Resource::Patients, true)]);
    assert_eq!(sweep(&mut world, 5_500, 0), 6);
}

/// The guard adds up the findings of all steps before the first record is deleted.
#[test]
fn guard_counts_the_deletions_of_all_steps() {
    let mut world = ReadCycleWorld::new(&[(Resource::Patients, true)]);
    assert_eq!(sweep(&mut world, 10_000, 5_000), 10);
    let tripped = |event: &Event| matches!(event, Event::GuardTripped { deletions: 5_000, known: 10_000, .. });
    assert!(world.happened.iter().any(tripped));
    assert!(!world.happened.iter().any(|event| matches!(event, Event::RecordGone { .. })));
    let pulls = &world.location.state.pulls;
    assert!(pulls.guarded.contains(&Resource::Patients) && !pulls.cursors.contains_key(&Resource::Patients));
}

/// Journal and state stay small, because no event contains the list of records on a page.
#[test]
fn records_of_a_pass_are_in_neither_journal_nor_state() {
    let size = |shown: u64| {
        let mut world = ReadCycleWorld::new(&[(Resource::Patients, true)]);
        for number in 0..20 {
            let seen = (u64::from(number) * shown..(u64::from(number) + 1) * shown).collect();
            world.page(PulledPage { whole: true, seen, records: shown as u32, ..numbered(number) });
        }
        (serde_json::to_vec(&world.happened).unwrap().len(), serde_json::to_vec(&world.location.state).unwrap().len())
    };
    let ((events, state), (few_events, few_state)) = (size(500), size(1));
    assert!(events < few_events + 200 && state < few_state + 200, "{events} {few_events} {state} {few_state}");
}

fn skipped(ids: &[&str]) -> Vec<Skipped> {
    ids.iter().map(|id| Skipped { id: (*id).to_owned(), reason: format!("{id} has no date") }).collect()
}

/// Returns the skipped records of the first resource.
fn left_out(world: &ReadCycleWorld) -> Vec<String> {
    world.location.state.pulls.skipped.get(&TWO[0].0).into_iter().flatten().map(|(id, _)| id.clone()).collect()
}

/// A skipped record is removed once it is readable, or once a whole pass has not skipped it. Skipping is not a failure.
#[test]
fn skipped_records_are_kept_until_readable_or_a_whole_pass_ends() {
    let mut world = ReadCycleWorld::new(&[TWO[0]]);
    world.page(PulledPage { whole: true, skipped: skipped(&["a", "b"]), ..numbered(1) });
    world.page(PulledPage { whole: true, last: true, skipped: skipped(&["c"]), ..numbered(2) });
    assert_eq!(left_out(&world), ["a", "b", "c"], "all of them are of this pass");
    world.run(&Command::SyncNow);
    world.page(PulledPage {
        last: true,
        skipped: skipped(&["b", "d"]),
        read_again: vec!["a".to_owned()],
        ..numbered(3)
    });
    assert_eq!(left_out(&world), ["b", "c", "d"], "a delta proves nothing about the others");
    world.run(&Command::SyncNow);
    world.page(PulledPage { whole: true, skipped: skipped(&["c"]), ..numbered(4) });
    assert_eq!(left_out(&world), ["b", "c", "d"]);
    world.page(PulledPage { whole: true, last: true, ..numbered(5) });
    assert_eq!(left_out(&world), ["c"]);
    let pulls = &world.location.state.pulls;
    assert_eq!((&pulls.failing, pulls.last_success.is_some()), (&None, true));
    world.run(&Command::SyncNow);
    world.page(PulledPage { whole: true, last: true, ..numbered(6) });
    assert!(world.location.state.pulls.skipped.is_empty());
}

/// State and journal stay small, however many records an adapter cannot read.
#[test]
fn at_most_100_skipped_records_are_kept() {
    let mut world = ReadCycleWorld::new(&[TWO[0]]);
    let ids: Vec<String> = (0..1_000).map(|number| format!("{number:04}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for (number, ids) in (1..).zip(ids.chunks(500)) {
        world.page(PulledPage { whole: true, skipped: skipped(ids), ..numbered(number) });
    }
    assert_eq!(left_out(&world), ids[..100]);
    let of_page = |event: &Event| if let Event::PageApplied { skipped, .. } = event { skipped.len() } else { 0 };
    assert_eq!(world.happened.iter().map(of_page).max(), Some(100));
}
