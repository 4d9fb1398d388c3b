//! Of the read cycle what takes more pages, or more records, than a story can tell.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use location::{
    Location,
    command::{Command, Cx, Page},
    decision::{Call, Decision, Reply},
    event::Event,
    ids::LocationId,
    pull::Resource,
    settings::{Capabilities, PullPlan, Quota, Settings},
    state::State,
    time::{SECOND, Timestamp},
    zone::Zone,
};

const PAGES: u32 = 500;

struct World {
    location: Location,
    now: Timestamp,
    /// The page that is asked for.
    asked: Option<(Resource, u64)>,
    happened: Vec<Event>,
}

impl World {
    fn new(pulls: &[(Resource, bool)]) -> World {
        let mut settings = Settings::new(LocationId(1), Zone::utc());
        let plan =
            |(resource, absence): &(Resource, bool)| PullPlan { resource: *resource, deletions_by_absence: *absence };
        settings.capabilities =
            Capabilities { integrated: true, pulls: pulls.iter().map(plan).collect(), ..Capabilities::default() };
        settings.quota = Quota { per_minute: 60_000, burst: 60_000 };
        let location = Location::load(Arc::new(settings), State::default());
        World { location, now: Timestamp(1_795_255_200_000), asked: None, happened: Vec::new() }
    }

    fn run(&mut self, command: &Command) -> Decision {
        self.now = self.now.plus(1);
        let decision = self.location.decide(Cx { now: self.now, random: 7 }, command);
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

    /// The page that is asked for next is this one.
    fn page(&mut self, page: Page) -> Decision {
        if self.asked.is_none() {
            self.now = self.now.plus(SECOND);
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

    /// Pages of providers until they are left for the next resource: how many there were.
    fn pages_until_left(&mut self, page: impl Fn(u32) -> Page) -> u32 {
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
        panic!("it is read for ever");
    }
}

fn numbered(number: u32) -> Page {
    Page { cursor: format!("c{number}"), ..Page::default() }
}

const TWO: [(Resource, bool); 2] = [(Resource::Providers, false), (Resource::Patients, false)];

#[test]
fn empty_pages_that_never_end_are_left() {
    let mut world = World::new(&TWO);
    assert_eq!(world.pages_until_left(numbered), PAGES);
    let why = "500 pages in a row brought nothing new";
    assert_eq!(world.suspended(), [(Resource::Providers, why.to_owned())]);
    let failing = world.location.state.pulls.failing.clone().unwrap();
    assert_eq!(failing.1, why, "the operator sees it");
}

#[test]
fn a_whole_pass_that_shows_the_same_again_and_again_is_left() {
    let mut world = World::new(&TWO);
    let same = |number| Page { whole: true, news: true, seen: vec![1, 2, 3], records: 3, ..numbered(number) };
    assert_eq!(world.pages_until_left(same), PAGES + 1);
}

#[test]
fn changes_that_are_none_are_left() {
    let mut world = World::new(&TWO);
    let same = |number| Page { seen: vec![1, 2, 3], records: 3, ..numbered(number) };
    assert_eq!(world.pages_until_left(same), PAGES);
}

#[test]
fn whoever_brings_something_new_now_and_then_is_read_to_the_end() {
    let mut world = World::new(&TWO);
    for number in 0..3 * PAGES {
        let news = number % 400 == 0;
        assert!(matches!(world.page(Page { news, ..numbered(number) }).reply, Reply::PageApplied { .. }));
    }
    let all_seen = |number: u32| Page { whole: true, seen: vec![u64::from(number)], ..numbered(number) };
    let mut world = World::new(&TWO);
    for number in 0..3 * PAGES {
        world.page(all_seen(number));
    }
    assert_eq!(world.suspended(), []);
}

/// Each commit is bounded; the cursor moves with the last of them.
#[test]
fn many_deletions_are_taken_in_step_by_step() {
    let mut world = World::new(&[(Resource::Patients, true)]);
    let absent = |gone: u64| Page {
        seen: vec![20_000],
        absent: (gone..12_000).collect(),
        known: 60_000 - gone,
        cursor: "end".to_owned(),
        last: true,
        whole: true,
        ..Page::default()
    };
    let mut steps = 0;
    loop {
        let gone = world.happened.iter().filter(|event| matches!(event, Event::RecordGone { .. })).count();
        let decision = world.page(absent(gone as u64));
        steps += 1;
        assert!(decision.events.len() <= 1_002, "{} events in one commit", decision.events.len());
        assert!(!decision.events.iter().any(|event| matches!(event, Event::GuardTripped { .. })));
        if matches!(decision.reply, Reply::PageApplied { .. }) {
            break;
        }
        assert!(
            !world.location.state.pulls.cursors.contains_key(&Resource::Patients),
            "nothing of the page counts yet"
        );
    }
    assert_eq!(steps, 12);
    assert_eq!(world.location.state.pulls.cursors[&Resource::Patients], "end");
    assert_eq!(world.location.state.pulls.failing, None);
}

/// A page that came in part is counted by the guard as one: what the first step took does not stop the next.
#[test]
fn the_guard_counts_all_steps_together() {
    let mut world = World::new(&[(Resource::Patients, true)]);
    let page = Page {
        seen: vec![99_999],
        absent: (0..5_000).collect(),
        known: 10_000,
        last: true,
        whole: true,
        ..numbered(1)
    };
    let decision = world.page(page);
    let tripped = |event: &Event| matches!(event, Event::GuardTripped { deletions: 5_000, known: 10_000, .. });
    assert!(decision.events.iter().any(tripped));
}
