//! Webhooks in the simulation. The follower runs between other events, stops before and after its commits, and competes
//! with the follower of another process. At the end, the messages are compared with the log of changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use endpoints::resources::record_views::RecordViews;
use location::{ids::InstitutionId, pull::Resource, resource::Operation, time::Timestamp};
use query::{
    feed,
    log::{self, LoggedCommit},
    stream::{Change, ChangeKind, EndedWrite, Stream, WriteResult},
};
use serde_json::Value;
use setup::{Current, Setup, WebhookRules};
use store::{CommitError, Store, counters::Ids};
use webhooks::{
    doorbell::Doorbell,
    egress::{Egress, Reach},
    follower::Follower,
    model::Owner,
    outbox::Outbox,
    registry::{EndpointRegistry, NewSubscription},
    sign::SecretKey,
    subscriptions::Everyone,
};

use super::{disk::SimDisk, sim::Sim};

/// The subscribed events.
const EVENTS: [(&str, &str); 11] = [
    ("Appointment", "appointment_created"),
    ("Appointment", "appointment_updated"),
    ("Appointment", "appointment_insertion"),
    ("Appointment", "appointment_cancelled"),
    ("Appointment", "appointment_rescheduled"),
    ("Appointment", "appointment_confirmed"),
    ("Appointment", "appointment_arrived"),
    ("Appointment", "appointment_completed"),
    ("Appointment", "appointment_missed"),
    ("Patient", "patient_updated"),
    ("SyncStatus", "sync_status_write_change"),
];

/// Subscribes an endpoint to events of each institution, before the first change.
pub fn subscribe(setup: &Setup, store: Arc<dyn Store>, now: Timestamp) {
    let (registry, owner) = (registry(store), Owner("org".into()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a current-thread runtime");
    runtime.block_on(async {
        let (url, secret) = ("https://hooks.example.com/in", SecretKey::from_entropy([9; 32]));
        let made = registry.create_endpoint(&owner, url, true, secret, None, now).await;
        let endpoint = made.expect("an endpoint").record.id;
        for (institution_id, (resource_type, event)) in
            setup.institutions.keys().flat_map(|id| EVENTS.map(|event| (*id, event)))
        {
            let (location_id, active, api_version) = (None, true, "v3.0.0");
            let new = NewSubscription {
                payload: None,
                institution_id,
                location_id,
                resource_type,
                event,
                active,
                api_version,
            };
            registry.create_subscription(&owner, endpoint, new, None, now).await.expect("a subscription");
        }
    });
}

/// Starts the follower of a process.
pub fn start(setup: Arc<Setup>, store: Arc<SimDisk>) -> Arc<Follower> {
    let registry = registry(store.clone());
    let outbox = Outbox::new(registry.subscriptions().clone(), Arc::new(Doorbell::default()));
    Follower::new(Arc::new(Current::new(setup)), store, outbox, RecordViews::shared(), None)
}

fn registry(store: Arc<dyn Store>) -> Arc<EndpointRegistry> {
    static EGRESS: OnceLock<Arc<Egress>> = OnceLock::new();
    let egress = EGRESS.get_or_init(|| Arc::new(Egress::new(Reach::Public).expect("an HTTP client")));
    let ids = Arc::new(Ids::new(store.clone()));
    // No message is ever delivered, so that the queue must have room for all.
    let rules = WebhookRules { queue: usize::MAX, ..WebhookRules::default() };
    EndpointRegistry::load(store, ids, egress.clone(), rules, Arc::new(Everyone), None).expect("the store reads")
}

impl Sim {
    /// Follows some changes of an institution.
    pub fn follow(&mut self) {
        let institutions: Vec<InstitutionId> = self.plan.setup.institutions.keys().copied().collect();
        if let Some(institution) = self.random.pick(&institutions).copied().filter(|_| self.process.up) {
            self.follow_once(institution);
        }
    }

    pub fn follow_to_the_end(&mut self) {
        let institutions: Vec<InstitutionId> = self.plan.setup.institutions.keys().copied().collect();
        for institution in institutions {
            while self.follow_once(institution) {}
        }
    }

    /// Commits the next batch. Returns `true` if there is more to follow.
    fn follow_once(&mut self, institution: InstitutionId) -> bool {
        let rival = (!self.without_faults && self.random.chance(100))
            .then(|| self.rival_follower.prepare(institution, self.now).expect("the store reads").batch)
            .flatten();
        let mut step = self.process.follower.prepare(institution, self.now).expect("the store reads");
        let Some(mut prepared) = step.batch.take() else { return step.more };
        let dies = |sim: &mut Sim, when: &str| {
            sim.log_line(|| format!("the follower of institution {institution} stops {when}"));
            sim.process.follower = start(sim.plan.setup.clone(), sim.store.clone());
        };
        if !self.without_faults && self.random.chance(50) {
            dies(self, "before a commit");
            return true;
        }
        match self.store.commit_now(std::mem::take(&mut prepared.batch)) {
            Ok(()) => {}
            Err(error) => {
                // Its memory is behind the disk if the outcome is unknown.
                dies(self, &format!("after a failed commit: {error}"));
                return true;
            }
        }
        if let Some(mut rival) = rival {
            let committed = self.rivals.commit_now(std::mem::take(&mut rival.batch));
            assert!(matches!(committed, Err(CommitError::Conflict { .. } | CommitError::Full { .. })), "one follower");
        }
        if !self.without_faults && self.random.chance(50) {
            dies(self, "after a commit");
        } else {
            self.process.follower.committed(prepared);
        }
        step.more
    }
}

/// Checks that each created appointment, each ended insert and each fact has one message, and that the messages about a
/// record are in order.
pub fn check(sim: &Sim) {
    let mut sent: BTreeMap<(InstitutionId, String, u64), usize> = BTreeMap::new();
    let mut last: BTreeMap<(InstitutionId, String), Timestamp> = BTreeMap::new();
    for delivery in testing::deliveries(&*sim.store) {
        let institution = delivery.institution_id.expect("a message about an institution");
        let data: Value = serde_json::from_str(delivery.data(&*sim.store).expect("the data").get()).expect("JSON");
        let before = last.insert((institution, delivery.record.clone()), delivery.event_time);
        assert!(before.is_none_or(|before| before <= delivery.event_time), "webhooks: {} in order", delivery.record);
        let records = match delivery.event_name.as_str() {
            "appointment_created" => data["appointments"].as_array().cloned().unwrap_or_default(),
            name if name.starts_with("appointment_") && !name.starts_with("appointment_updated") => {
                vec![data["appointment"].clone()]
            }
            _ => Vec::new(),
        };
        for record in records {
            *sent.entry((institution, delivery.event_name.clone(), id_of(&record))).or_default() += 1;
        }
    }
    let mut expected: BTreeMap<(InstitutionId, String, u64), usize> = BTreeMap::new();
    for institution in sim.plan.setup.institutions.keys() {
        for commit in commits(sim, *institution) {
            for (_, change) in &commit.changes {
                for (name, id) in messages(change) {
                    *expected.entry((*institution, name, id)).or_default() += 1;
                }
            }
        }
    }
    assert_eq!(sent, expected, "webhooks: one message per event");
}

fn id_of(record: &Value) -> u64 {
    let id = &record["id"];
    id.as_u64().or_else(|| id.as_str()?.parse().ok()).expect("a record has an id")
}

/// Returns the names of the messages about a change, with the appointment.
fn messages(change: &Change) -> Vec<(String, u64)> {
    match change {
        Change::Record(it) if it.resource == Resource::Appointments => {
            let Some(states) = &it.states else { return Vec::new() };
            let created =
                (it.change == ChangeKind::Created && !states.deleted).then(|| "appointment_created".to_owned());
            let facts = states.facts.iter().flat_map(|caused| &caused.facts);
            let facts = facts.map(|fact| format!("appointment_{}", fact.name()));
            created.into_iter().chain(facts).map(|name| (name, it.id)).collect()
        }
        Change::Ended(EndedWrite {
            resource: Resource::Appointments,
            operation: Operation::Create,
            id,
            result,
            ..
        }) => {
            let result = match result {
                WriteResult::Complete => "complete",
                WriteResult::Failed => "failed",
                WriteResult::TimedOut => "timed_out",
            };
            vec![(format!("appointment_insertion.{result}"), *id)]
        }
        _ => Vec::new(),
    }
}

fn commits(sim: &Sim, institution: InstitutionId) -> Vec<LoggedCommit> {
    let setup = &sim.plan.setup;
    let here: Vec<_> = setup.locations.values().filter(|location| location.institution == institution).collect();
    let mut streams = vec![Stream::Institution(institution.0), Stream::Source(0)];
    let sources = setup.sources.values().filter(|source| source.institution == institution);
    streams.extend(sources.map(|source| Stream::Source(source.id)));
    streams.extend(here.iter().map(|location| Stream::Location(location.id.0)));
    let end = feed::end(&*sim.store, institution.0).expect("the store reads");
    let ours = |location| here.iter().any(|here| here.id == location);
    let all = log::commits(&*sim.store, &streams, (0, end), usize::MAX, |header, _| {
        header.turn.is_some_and(|(location, _)| ours(location))
    });
    all.expect("the store reads").commits
}
