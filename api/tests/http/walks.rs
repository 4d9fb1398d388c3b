//! Walks any list of the table forwards and back, with pages of any size, while records are created, changed, moved and
//! deleted. A record that stays in the list appears once; by time of change, a changed record at least once; by
//! calendar, an unchanged record once.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    sync::Arc,
};

use actix_web::{http::Method, rt::System};
use framework::{http::endpoint::Success, values::versions::Version};
use location::ids::LocationId;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use testing::until;

use crate::{
    everywhere::{CallParameters, DocumentedEndpoint, guarded, wide},
    filled::{Filled, resources},
    support::*,
};

/// Number of records of each resource at the start.
const RECORDS: u32 = 12;
/// Upper limit for the pages of any list in this test.
const MAX_PAGES: usize = 400;
/// Default number of cases, because each case pulls a whole practice a dozen times. `WALK_CASES` overrides it.
const CASES: u32 = 3;

/// A change between two pages.
#[derive(Clone, Debug)]
enum WalkEvent {
    /// Creates the record in the EHR, or changes it; an appointment moves.
    Touch(usize, u32),
    Remove(usize, u32),
    /// One of the table's POSTs and PATCHes, with its example.
    Write(usize, u32),
}

fn event() -> impl Strategy<Value = WalkEvent> {
    let resource = 0..resources().len();
    prop_oneof![
        6 => (resource.clone(), 0..RECORDS + 12).prop_map(|(resource, n)| WalkEvent::Touch(resource, n)),
        2 => (resource, 0..RECORDS).prop_map(|(resource, n)| WalkEvent::Remove(resource, n)),
        3 => (any::<prop::sample::Index>(), any::<u32>()).prop_map(|(which, n)| WalkEvent::Write(which.index(1_000), n)),
    ]
}

/// The state of a walk over one list.
struct Walker {
    path: String,
    version: Version,
    /// Records that have been in the list since the start, with their first content.
    steady: BTreeMap<String, Value>,
    /// Ids of records that have changed since the start.
    changed: BTreeSet<String>,
    /// Ids seen forwards, then back.
    seen: [Vec<String>; 2],
    backwards: bool,
    /// Cursor of the next page. `None` before the first page.
    cursor: Option<String>,
    done: bool,
}

impl Walker {
    async fn new(world: &ApiWorld, path: String, version: Version) -> Walker {
        let steady = whole(world, &path, version).await;
        let changed = BTreeSet::new();
        Walker { path, version, steady, changed, seen: Default::default(), backwards: false, cursor: None, done: false }
    }

    async fn step(&mut self, world: &ApiWorld, per_page: usize) {
        let name = if self.backwards { "start_cursor" } else { "end_cursor" };
        let cursor = self.cursor.as_deref().unwrap_or_default();
        let page = ask(world, &format!("{}&per_page={per_page}&{name}={cursor}", self.path), self.version).await;
        let (rows, info) = (ids(&page), &page["page_info"]);
        assert!(rows.len() <= per_page, "{} has {} of {per_page}", self.path, rows.len());
        let seen = &mut self.seen[usize::from(self.backwards)];
        match self.backwards {
            false => seen.extend(rows.clone()),
            true => drop(seen.splice(0..0, rows.clone())),
        }
        let [more, further] = match self.backwards {
            false => [&info["has_next_page"], &info["end_cursor"]],
            true => [&info["has_previous_page"], &info["start_cursor"]],
        };
        if *more == true {
            self.cursor = Some(further.as_str().unwrap().to_owned());
        } else if self.backwards || rows.is_empty() {
            // No way back exists from a last page that lost all its records.
            self.done = true;
        } else {
            self.backwards = true;
            self.seen[1] = rows;
            self.cursor = Some(info["start_cursor"].as_str().unwrap().to_owned());
            self.done = info["has_previous_page"] == false;
        }
    }

    /// A record that left the list and came back may have been absent when its page was shown.
    async fn record_changes(&mut self, world: &ApiWorld) {
        let now = whole(world, &self.path, self.version).await;
        self.steady.retain(|id, _| now.contains_key(id));
        self.changed.extend(now.into_iter().filter(|(id, row)| self.steady.get(id) != Some(row)).map(|(id, _)| id));
    }

    /// Returns how often a record must appear on one of the two ways, or `None` without a guarantee.
    fn promised(&self, id: &str, way: &str) -> Option<RangeInclusive<usize>> {
        let by_change = self.path.contains("sort=updated_at") || self.path.contains("sort=-updated_at");
        let other_order = self.path.contains("sort=") && !self.path.contains("start_time");
        let by_calendar = self.path.starts_with("/appointments?") && !other_order;
        match (self.changed.contains(id), by_change, by_calendar) {
            (true, _, true) => None,
            // A record that moves ahead of a forward walk appears again.
            (true, true, _) => (way == "forwards").then_some(1..=MAX_PAGES),
            _ => Some(1..=1),
        }
    }

    fn check(&self) {
        let ways = [("forwards", &self.seen[0]), ("back", &self.seen[1])];
        for (way, seen) in ways.into_iter().filter(|(way, seen)| *way == "forwards" || !seen.is_empty()) {
            let mut times: BTreeMap<&str, usize> = BTreeMap::new();
            seen.iter().for_each(|id| *times.entry(id).or_default() += 1);
            for id in self.steady.keys() {
                let times = times.get(id.as_str()).copied().unwrap_or_default();
                assert!(
                    self.promised(id, way).is_none_or(|promised| promised.contains(&times)),
                    "{} {way} in {}: {id} was seen {times} times in {seen:?}",
                    self.path,
                    self.version.name()
                );
            }
        }
    }
}

async fn ask(world: &ApiWorld, path: &str, version: Version) -> Value {
    let page = world.get(path).version(version.name()).ok().await;
    assert!(page["page_info"].is_object(), "{path} is no list by pages");
    page
}

async fn whole(world: &ApiWorld, path: &str, version: Version) -> BTreeMap<String, Value> {
    let page = ask(world, &format!("{path}&per_page=1000"), version).await;
    let rows = ids(&page);
    let set: BTreeMap<String, Value> = rows.iter().cloned().zip(page["data"].as_array().unwrap().clone()).collect();
    assert_eq!((set.len(), &page["page_info"]["has_next_page"]), (rows.len(), &json!(false)), "{path}");
    set
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(key).collect()
}

/// Returns the unique key of a record: its id, or the patient and guarantor of a balance.
fn key(row: &Value) -> String {
    match &row["id"] {
        Value::Null => format!("{} {}", row["patient_id"], row["guarantor_id"]),
        id => id.to_string(),
    }
}

/// Returns every list with cursors, in each of its orders.
fn lists() -> Vec<(String, Version)> {
    let mut all = Vec::new();
    let pages = guarded().filter(|it| matches!(it.route.success, Success::Page(_)) && it.version == Version::V3_1_0);
    for it in pages {
        let path = wide(&it.path(&CallParameters::right()));
        let sorts = it.parameters().find(|it| it["name"] == "sort").map(|it| it["schema"]["enum"].clone());
        all.push((path.clone(), it.version));
        for sort in sorts.iter().filter_map(Value::as_array).flatten() {
            all.push((format!("{path}&sort={}", sort.as_str().unwrap()), it.version));
        }
    }
    all
}

/// Returns the POSTs, PATCHes and DELETEs of the table that write records of a location.
fn writes() -> Vec<DocumentedEndpoint> {
    let writing = |it: &DocumentedEndpoint| [Method::POST, Method::PATCH, Method::DELETE].contains(&it.route.method);
    // Operators' calls are left out, because they could pause the reading.
    let of_clients = guarded().filter(|it| it.route.role.is_none());
    of_clients.filter(|it| writing(it) && it.version == Version::V3_1_0 && it.has("subdomain")).collect()
}

/// Varies the texts of a body by `n`.
fn vary(value: &mut Value, n: u32) {
    for (name, inner) in value.as_object_mut().into_iter().flatten() {
        match inner {
            Value::String(text) if ["last_name", "note", "name", "transaction_id"].contains(&name.as_str()) => {
                *text = format!("{text} {n}");
            }
            inner => vary(inner, n),
        }
    }
}

async fn happen(world: &ApiWorld, ehr: &Filled, writes: &[DocumentedEndpoint], events: &[WalkEvent]) {
    let all = resources();
    for event in events {
        match event {
            WalkEvent::Touch(resource, n) => ehr.touch(all[*resource], *n),
            // All other records refer to patients and providers.
            WalkEvent::Remove(resource, 0) => ehr.touch(all[*resource], 0),
            WalkEvent::Remove(resource, n) => ehr.remove(all[*resource], *n),
            WalkEvent::Write(which, n) => {
                let endpoint = &writes[which % writes.len()];
                let path = endpoint.path(&CallParameters::right());
                let ask = world.request(endpoint.route.method.clone(), &path).version(endpoint.version.name());
                let reply = match endpoint.body(&CallParameters::right()) {
                    Some(mut body) => {
                        vary(&mut body, *n);
                        ask.json(body).reply().await
                    }
                    None => ask.reply().await,
                };
                // A write may be accepted or refused; only a server error fails the test.
                assert!(reply.status.as_u16() < 500, "{}: {}", endpoint.name(), reply.text);
            }
        }
    }
    pull(world).await;
}

async fn pull(world: &ApiWorld) {
    let before = world.engine.sync_state(LocationId(MAIN)).await.unwrap().last_sync;
    world.engine.sync_now(LocationId(MAIN)).await.unwrap_or_else(|_| panic!("a pull can be asked for"));
    until("a read cycle", async || {
        let state = world.engine.sync_state(LocationId(MAIN)).await.unwrap();
        if state.last_sync != before { Ok(()) } else { Err(state) }
    })
    .await;
}

/// Creates messages to an unreachable endpoint, so that they stay in the log.
async fn fill_a_log(world: &ApiWorld) {
    let endpoint = world.post("/webhook_endpoints", json!({"target_url": "https://walks.invalid/hook"}));
    assert_eq!(endpoint.answers(201).await["data"]["id"], 1, "the endpoint of the examples");
    for _ in 0..RECORDS {
        world.post("/webhook_endpoints/1/test", json!({})).answers(201).await;
    }
}

async fn walk(sizes: &[usize], happenings: &[Vec<WalkEvent>]) {
    let ehr = Filled::new("Acme", MAIN, RECORDS);
    let world = world_on([(MAIN, Arc::clone(&ehr) as _)]).await;
    fill_a_log(&world).await;
    let (lists, writes) = (lists(), writes());
    let mut walkers = Vec::new();
    for (path, version) in lists {
        walkers.push(Walker::new(&world, path, version).await);
    }
    let filled = walkers.iter().filter(|walker| walker.steady.len() > 3).count();
    assert!(filled * 3 > walkers.len() * 2, "only {filled} of {} lists have records to walk over", walkers.len());
    for round in 0..MAX_PAGES {
        for (n, walker) in walkers.iter_mut().enumerate().filter(|(_, walker)| !walker.done) {
            walker.step(&world, sizes[(round + n) % sizes.len()]).await;
        }
        if walkers.iter().all(|walker| walker.done) {
            break;
        }
        if let Some(events) = happenings.get(round) {
            happen(&world, &ehr, &writes, events).await;
            for walker in walkers.iter_mut().filter(|walker| !walker.done) {
                walker.record_changes(&world).await;
            }
        }
    }
    for walker in &walkers {
        assert!(walker.done, "{} has no end", walker.path);
        walker.check();
    }
    world.engine.stop().await;
}

#[test]
fn walks_neither_skip_nor_repeat_records_that_stay_in_the_list() {
    let cases = std::env::var("WALK_CASES").map_or(CASES, |cases| cases.parse().expect("WALK_CASES is a number"));
    let sizes = prop::collection::vec(1..8_usize, 3..7);
    let happenings = prop::collection::vec(prop::collection::vec(event(), 10..60), 6..14);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 8, ..Config::default() };
    TestRunner::new(config)
        .run(&(sizes, happenings), |(sizes, happenings)| {
            System::new().block_on(walk(&sizes, &happenings));
            Ok(())
        })
        .unwrap();
}
