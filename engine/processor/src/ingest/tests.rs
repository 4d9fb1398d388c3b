//! Two locations of one EHR with real turns and a real store, prepared pages, and a clock moved by hand.
#![allow(clippy::unwrap_used)]

mod replaced;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use location::{
    command::Written,
    decision::Call,
    ids::{InstitutionId, LocationId},
    pull::Pulls,
    settings::{PullRules, Quota},
    time::{DAY, MINUTE, SECOND, Timestamp},
};
use query::{
    feed::{self, Reader},
    stream::{ChangeKind, Stream},
};
use records::{
    document::Document,
    ehr::{
        Description, EhrAppointment, EhrCoverage, EhrPatient, EhrProvider, EhrRecord, EhrWorkingHour, Page as EhrPage,
        PullAbility, Skipped, Write,
    },
    record::Record,
    words::Relation,
};
use setup::Setup;
use store::{MemoryStore, Store, journal, keys::Space};
use testing::HookedStore;

use super::*;
use crate::{
    clock_set_back::ClockSetBack,
    commands::{AppointmentChange, ChangeAppointment, ChangePatient, ChangeRecord, ConfirmVisit, PatientChange},
    processor::Deps,
    request::Request,
    testing::{DOCUMENTS, deps, turn},
};

const START: Timestamp = Timestamp(1_795_255_200_000);
const SOURCE: u32 = 1;
const A: u32 = 1;
const B: u32 = 2;

struct IngestWorld {
    deps: Arc<Deps>,
    store: Arc<MemoryStore>,
    processors: BTreeMap<u32, Processor>,
    /// Pages that the EHR returns next, by location and resource. Further calls get an empty last page.
    pages: BTreeMap<(u32, Resource), VecDeque<EhrPage>>,
    /// `true` if a whole pass shows deletions by absence.
    by_absence: bool,
    now: Timestamp,
    /// Number of values written by turns.
    values: usize,
}

impl IngestWorld {
    fn new(by_absence: bool) -> IngestWorld {
        let (store, setup) = (Arc::new(MemoryStore::new()), Arc::new(setup()));
        let deps = deps(store.clone(), setup);
        let mut world = IngestWorld {
            deps,
            store,
            processors: BTreeMap::new(),
            pages: BTreeMap::new(),
            by_absence,
            now: START,
            values: 0,
        };
        for location in [A, B] {
            world.load(location);
        }
        world
    }

    fn load(&mut self, location: u32) {
        let pull = |resource| PullAbility { resource, delta: true, deletions_by_absence: self.by_absence };
        let pulls = [Resource::Patients, Resource::Appointments].map(pull).to_vec();
        let mut processor = Processor::load(self.deps.clone(), LocationId(location)).unwrap();
        let description = Description { pulls, ..Description::default() };
        self.store.commit_now(processor.describing(&description).unwrap()).unwrap();
        processor.described(description);
        self.processors.insert(location, processor);
    }

    async fn turn(&mut self, location: u32, request: &impl Request) -> Vec<Call> {
        let processor = self.processors.get_mut(&location).unwrap();
        let (_, calls, values) = turn(&self.deps, processor, &mut self.now, request).await;
        self.values += values;
        calls
    }

    /// Answers a pull call of a location, and returns the next call.
    async fn answer(&mut self, location: u32, call: &Call, page: EhrPage) -> Option<Call> {
        let Call::Pull { resource, call, .. } = call else { panic!("nothing is written here") };
        let request = IngestPage { resource: *resource, call: *call, outcome: Ok(Box::new(page)) };
        self.turn(location, &request).await.pop()
    }

    /// Requests the page after the one that a call awaits.
    fn prefetch(&mut self, location: u32, call: &Call) {
        let Call::Pull { resource, call, .. } = call else { panic!("nothing is written here") };
        let machine = &mut self.processors.get_mut(&location).unwrap().machine;
        assert!(machine.prefetch(self.now, *resource, *call, 0).is_some());
    }

    /// Starts a read cycle at a location, and answers its calls until the cycle ends.
    async fn read(&mut self, location: u32) {
        let mut next = self.begin(location).await;
        loop {
            next = match next {
                Some(Call::Pull { resource, .. }) => {
                    let pages = self.pages.entry((location, resource)).or_default();
                    let page = pages.pop_front().unwrap_or_else(last);
                    self.answer(location, &next.unwrap(), page).await
                }
                Some(Call::Write { .. }) => panic!("nothing is written here"),
                None if self.processors[&location].wake_at().is_some_and(|at| at <= self.now) => {
                    self.turn(location, &Command::Wake).await.pop()
                }
                None => return,
            };
        }
    }

    /// Starts a read cycle, and returns its first call.
    async fn begin(&mut self, location: u32) -> Option<Call> {
        self.turn(location, &Command::SyncNow).await;
        self.turn(location, &Command::Wake).await.pop()
    }

    fn show(&mut self, location: u32, record: EhrRecord) {
        let page = EhrPage { whole: self.by_absence, records: vec![record], ..last() };
        self.pages.entry((location, page.records[0].resource())).or_default().push_back(page);
    }

    fn hide(&mut self, location: u32, id: &str) {
        // A pass that shows nothing would be stopped.
        let others = if self.by_absence { vec![visit(&format!("other of {location}"), "pat")] } else { Vec::new() };
        let deleted = if self.by_absence { Vec::new() } else { vec![id.to_owned()] };
        let page = EhrPage { whole: self.by_absence, records: others, deleted, ..last() };
        let passes = if self.by_absence { 2 } else { 1 };
        self.pages.entry((location, Resource::Appointments)).or_default().extend(vec![page; passes]);
    }

    /// Reads again if one pass does not prove a deletion.
    async fn confirm(&mut self, location: u32) {
        if self.by_absence {
            self.read(location).await;
        }
    }

    fn document<T: Document>(&self, scope: u32, id: u64) -> T {
        let value = self.store.get(&keys::record(T::BYTE, scope, id)).unwrap().unwrap();
        serde_json::from_slice(&value).unwrap()
    }

    fn link(&self, resource: Resource, foreign_id: &str) -> Link {
        let key = keys::link(SOURCE, DocumentKind::Of(resource).byte(), foreign_id.as_bytes());
        Link::from_bytes(&self.store.get(&key).unwrap().unwrap()).unwrap()
    }

    /// Returns the location of a visit, and whether the visit is cancelled.
    fn visit(&self, foreign_id: &str) -> (u32, bool) {
        let kept: Record<records::Appointment> = self.document(0, self.link(Resource::Appointments, foreign_id).id);
        (kept.location(), kept.cancelled)
    }

    fn remembers(&self, location: u32, foreign_id: &str) -> bool {
        let id = AppointmentId(self.link(Resource::Appointments, foreign_id).id);
        self.processors[&location].machine.state.appointments.contains_key(&id)
    }

    fn changes(&self, location: u32, since: u64) -> Vec<ChangeKind> {
        let page = feed::page(&*self.store, Reader { institution: 0, source: None, location }, since, &[], 100)
            .unwrap()
            .unwrap();
        page.entries.iter().map(|entry| entry.change).collect()
    }
}

fn last() -> EhrPage {
    EhrPage { cursor: "end".into(), last: true, ..EhrPage::default() }
}

fn visit(id: &str, patient: &str) -> EhrRecord {
    let start = START.0 / SECOND + DAY / SECOND;
    EhrRecord::Appointment(EhrAppointment {
        id: id.into(),
        patient: Some(patient.into()),
        start,
        end: start + 1_800,
        ..EhrAppointment::default()
    })
}

fn patient(id: &str) -> EhrRecord {
    EhrRecord::Patient(EhrPatient { id: id.into(), last_name: "Present".into(), ..EhrPatient::default() })
}

fn setup() -> Setup {
    // Disables the guard, which is not tested here.
    let pull = PullRules { guard_percent: 100, ..PullRules::default() };
    let location = |id| testing::location_with(LocationId(id), 1, SOURCE, |settings| settings.pull = pull);
    testing::setup([testing::institution(1)], [A, B].map(location), [testing::source(SOURCE, 1)])
}

/// The progress of a cycle that finds nothing new is written at its end. Until then, a load repeats the cycle.
#[tokio::test]
async fn pages_without_changes_are_written_with_the_end_of_their_cycle() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let journal = |world: &IngestWorld| journal::load(&*world.store, A).unwrap().next_seq;
    world.turn(A, &Command::SyncNow).await;
    let (before, values) = (journal(&world), world.values);
    let begun = world.turn(A, &Command::Wake).await.pop().unwrap();
    let second = world.answer(A, &begun, last()).await.unwrap();
    // A page of records that are known takes no commit either.
    let page = EhrPage { records: vec![visit("x", "pat")], ..last() };
    assert!(world.answer(A, &second, page).await.is_none());
    assert_eq!((journal(&world), world.values), (before, values), "nothing is written in the cycle");

    let mut loaded = Processor::load(world.deps.clone(), LocationId(A)).unwrap();
    assert!(loaded.machine.state.pulls.cycle.is_none(), "a load repeats the cycle");
    assert!(loaded.wake_at().is_some_and(|at| at <= world.now));
    loaded.replay_deferred(&world.processors[&A]).unwrap();
    assert!(loaded.machine.state == world.processors[&A].machine.state);

    world.turn(A, &Command::Wake).await;
    assert_eq!(journal(&world), before + 4, "start and end of the cycle, and two pages");
    let loaded = Processor::load(world.deps.clone(), LocationId(A)).unwrap();
    assert!(loaded.machine.state == world.processors[&A].machine.state);
}

/// Idle locations are mostly read cycles without changes, so their commits bound the number of locations of a node.
#[tokio::test]
async fn read_cycle_without_changes_takes_one_commit_and_decodes_no_document() {
    let mut world = IngestWorld::new(false);
    world.show(A, patient("pat"));
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    world.show(A, patient("pat"));
    world.show(A, visit("x", "pat"));
    world.turn(A, &Command::SyncNow).await;
    let cost = |world: &IngestWorld| (world.store.commits(), world.store.reads(), DOCUMENTS.get());
    let (commits, reads, documents) = cost(&world);
    let mut next = world.turn(A, &Command::Wake).await.pop();
    while let Some(call) = next {
        let Call::Pull { resource, .. } = &call else { panic!("nothing is written here") };
        let page = world.pages.get_mut(&(A, *resource)).and_then(VecDeque::pop_front).unwrap();
        next = world.answer(A, &call, page).await;
    }
    assert_eq!(cost(&world), (commits, reads + 2, documents), "the links of both records are read");
    world.turn(A, &Command::Wake).await;
    assert!(world.processors[&A].machine.state.pulls.cycle.is_none());
    assert_eq!(world.store.commits(), commits + 1);
}

#[test]
fn only_an_empty_page_of_changes_needs_no_blocking_thread() {
    let is_long =
        |page: EhrPage| IngestPage { resource: Resource::Appointments, call: 1, outcome: Ok(Box::new(page)) }.is_long();
    assert!(!is_long(last()));
    assert!(is_long(EhrPage { whole: true, ..last() }));
    assert!(is_long(EhrPage { records: vec![visit("x", "pat")], ..last() }));
    assert!(is_long(EhrPage { deleted: vec!["x".to_owned()], ..last() }));
    let skipped = vec![Skipped { id: "x".to_owned(), reason: "it has no end".to_owned() }];
    assert!(is_long(EhrPage { skipped, ..last() }));
}

/// A crash forgets the requests of deferred records, which the EHR has counted.
#[tokio::test]
async fn deferred_records_are_at_most_half_of_the_burst() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let machine = &mut world.processors.get_mut(&A).unwrap().machine;
    Arc::make_mut(&mut machine.settings).quota = Quota { per_minute: 1_000_000, burst: 4 };
    let journal = |world: &IngestWorld| journal::load(&*world.store, A).unwrap().next_seq;
    let mut call = world.begin(A).await.unwrap();
    let before = journal(&world);
    for written in [0, 3, 3] {
        call = world.answer(A, &call, EhrPage { last: false, ..last() }).await.unwrap();
        assert_eq!(journal(&world) - before, written);
    }
}

#[tokio::test]
async fn deferred_records_are_written_before_the_location_leaves() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let begun = world.begin(A).await.unwrap();
    world.answer(A, &begun, last()).await.unwrap();
    let processor = &world.processors[&A];
    assert!(!processor.is_recorded());
    world.store.commit_now(processor.leave().unwrap()).unwrap();
    let loaded = Processor::load(world.deps.clone(), LocationId(A)).unwrap();
    assert!(loaded.machine.state == processor.machine.state);
}

/// Holds for any order of reading, and for both ways to show deletions.
#[tokio::test]
async fn visit_moved_by_staff_belongs_to_the_new_location() {
    for (by_absence, first, then) in [(false, B, A), (false, A, B), (true, B, A), (true, A, B)] {
        let mut world = IngestWorld::new(by_absence);
        world.show(A, visit("x", "pat"));
        world.read(A).await;
        assert_eq!((world.visit("x"), world.remembers(A, "x")), ((A, false), true));
        let since = world.store.feed_end(None).unwrap();
        // Staff move the visit and change nothing else.
        world.hide(A, "x");
        world.show(B, visit("x", "pat"));
        world.read(first).await;
        world.read(then).await;
        world.confirm(A).await;
        let story = format!("by absence: {by_absence}, {first} first");
        assert_eq!(world.visit("x"), (B, false), "{story}");
        assert!(world.remembers(B, "x") && !world.remembers(A, "x"), "{story}");
        assert!(world.changes(A, since).contains(&ChangeKind::Deleted), "{story}: to the readers of A it is gone");
        assert!(!world.changes(B, since).contains(&ChangeKind::Deleted), "{story}");
        // Staff move the visit back.
        world.hide(B, "x");
        world.show(A, visit("x", "pat"));
        world.read(A).await;
        world.read(B).await;
        world.confirm(B).await;
        assert_eq!((world.visit("x"), world.remembers(A, "x")), ((A, false), true), "{story}, and back");
        // Staff delete the visit.
        world.hide(A, "x");
        world.read(A).await;
        world.confirm(A).await;
        assert_eq!((world.visit("x"), world.remembers(A, "x")), ((A, true), false), "{story}, and gone");
    }
}

/// Without them, their times are free once the clock is right again.
#[tokio::test]
async fn upcoming_visits_that_a_wrong_clock_forgot_are_known_again() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.show(B, visit("of B", "pat"));
    world.read(A).await;
    world.read(B).await;
    let EhrRecord::Appointment(cancelled) = visit("cancelled", "pat") else { panic!("a visit") };
    world.show(A, EhrRecord::Appointment(EhrAppointment { cancelled: true, ..cancelled }));
    world.now = START.plus(30 * DAY);
    world.show(A, visit("read meanwhile", "pat"));
    world.read(A).await;
    world.read(A).await;
    assert!(!world.remembers(A, "x") && !world.remembers(A, "read meanwhile"));

    world.now = START.plus(DAY / 2);
    world.turn(A, &ClockSetBack { by: 30 * DAY }).await;
    assert!(world.remembers(A, "x") && world.remembers(A, "read meanwhile"));
    assert!(!world.remembers(A, "of B") && !world.remembers(A, "cancelled"));
    assert_eq!(world.processors[&A].machine.state.pruned, Some(world.now.minus(DAY)));
    let loaded = Processor::load(world.deps.clone(), LocationId(A)).unwrap();
    assert!(loaded.machine.state == world.processors[&A].machine.state);
}

/// Ends the write of a change while the EHR is answering a page request. Asserts that the page is requested again, and
/// returns the record.
async fn changed_during_page<R: Request>(
    write: &str,
    change: impl FnOnce(AppointmentId) -> R,
) -> Record<records::Appointment> {
    let mut world = IngestWorld::new(false);
    world.show(A, patient("pat"));
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let pull = |resource| PullAbility { resource, delta: true, deletions_by_absence: false };
    let pulls = [Resource::Patients, Resource::Appointments].map(pull).to_vec();
    let writes = vec![write.to_owned()];
    world.processors.get_mut(&A).unwrap().described(Description { pulls, writes, ..Description::default() });
    let id = world.link(Resource::Appointments, "x").id;
    let patients = world.begin(A).await.unwrap();
    let appointments = world.answer(A, &patients, last()).await.unwrap();
    let call = world.turn(A, &change(AppointmentId(id))).await.pop();
    let Some(Call::Write { write, attempt, .. }) = call else { panic!("the change is sent at once: {call:?}") };
    let outcome = Ok(Written { foreign_id: "x".to_owned(), version: None });
    world.turn(A, &Command::Pushed { write, attempt, outcome }).await;

    let older = EhrPage { records: vec![visit("x", "pat")], ..last() };
    let again = world.answer(A, &appointments, older).await;
    assert!(matches!(again, Some(Call::Pull { resource: Resource::Appointments, .. })), "{again:?}");
    world.document(0, id)
}

#[tokio::test]
async fn page_from_before_a_confirmation_is_read_again() {
    let kept = changed_during_page("confirm-appointment", |appointment| ConfirmVisit { appointment }).await;
    assert!(kept.confirmed && kept.patient_confirmed);
}

#[tokio::test]
async fn page_from_before_a_note_is_read_again() {
    let change = AppointmentChange { note: Some("wheelchair".to_owned()), ..AppointmentChange::default() };
    let kept = changed_during_page("note-appointment", |id| ChangeAppointment { id, change }).await;
    assert_eq!(kept.note.as_deref(), Some("wheelchair"));
}

/// Changes the patient `pat` at a location, and returns the call of the write.
async fn changed_patient(location: u32) -> (IngestWorld, Call) {
    let mut world = IngestWorld::new(false);
    world.show(A, patient("pat"));
    world.read(A).await;
    let pull = |resource| PullAbility { resource, delta: true, deletions_by_absence: false };
    let pulls = [Resource::Patients, Resource::Appointments].map(pull).to_vec();
    let writes = vec!["update-patient".to_owned()];
    world.processors.get_mut(&location).unwrap().described(Description { pulls, writes, ..Description::default() });
    let id = u32::try_from(world.link(Resource::Patients, "pat").id).unwrap();
    let change = PatientChange { email: Some("new@example.com".to_owned()), ..PatientChange::default() };
    let call = world.turn(location, &ChangePatient { id, change }).await.pop().expect("the change is sent at once");
    (world, call)
}

/// One location reads the shared records, and each may write them.
#[tokio::test]
async fn page_from_before_a_change_of_a_patient_is_read_again() {
    for location in [A, B] {
        let (mut world, call) = changed_patient(location).await;
        let patients = world.begin(A).await.unwrap();
        let Call::Write { write, attempt, .. } = call else { panic!("a write") };
        let outcome = Ok(Written { foreign_id: "pat".to_owned(), version: None });
        world.turn(location, &Command::Pushed { write, attempt, outcome }).await;
        let email = |world: &IngestWorld| {
            let kept: Record<records::Patient> = world.document(1, world.link(Resource::Patients, "pat").id);
            kept.email.clone()
        };

        let older = EhrPage { records: vec![patient("pat")], ..last() };
        let again = world.answer(A, &patients, older.clone()).await.unwrap();
        assert!(matches!(again, Call::Pull { resource: Resource::Patients, .. }), "{again:?}");
        assert_eq!(email(&world).as_deref(), Some("new@example.com"));

        // A page that was requested after the write shows a later change by staff.
        world.answer(A, &again, older).await;
        assert_eq!(email(&world), None);
    }
}

#[tokio::test]
async fn page_from_before_a_removal_does_not_restore_the_record() {
    let mut world = IngestWorld::new(false);
    let pulls = vec![PullAbility { resource: Resource::Coverages, delta: true, deletions_by_absence: false }];
    let writes = vec!["delete-coverage".to_owned()];
    world.processors.get_mut(&A).unwrap().described(Description { pulls, writes, ..Description::default() });
    let coverage = EhrRecord::Coverage(EhrCoverage {
        id: "cov".into(),
        patient: "pat".into(),
        plan: "plan".into(),
        subscriber: None,
        relation: Relation::Oneself,
        priority: None,
        subscriber_name: None,
        subscriber_date_of_birth: None,
        subscriber_number: None,
        effective_date: None,
        expiration_date: None,
        insurance_type: None,
        active: true,
        extra: Vec::new(),
    });
    world.show(A, coverage.clone());
    world.read(A).await;
    let id = world.link(Resource::Coverages, "cov").id;
    let asked = world.begin(A).await.unwrap();
    let call = world.turn(A, &ChangeRecord::<records::Coverage> { id, body: None }).await.pop();
    let Some(Call::Write { write, attempt, .. }) = call else { panic!("the removal is sent at once: {call:?}") };
    let outcome = Ok(Written { foreign_id: "cov".to_owned(), version: None });
    world.turn(A, &Command::Pushed { write, attempt, outcome }).await;

    let older = EhrPage { records: vec![coverage], ..last() };
    let again = world.answer(A, &asked, older).await;
    assert!(matches!(again, Some(Call::Pull { resource: Resource::Coverages, .. })), "{again:?}");
    let kept: Record<records::Coverage> = world.document(SOURCE, id);
    assert!(kept.deleted_at.is_some());
}

/// Changes a patient whom staff delete before the change is written, and reads the deletion. Returns the call of the
/// write.
async fn deleted_before_a_write() -> (IngestWorld, Call) {
    let (mut world, call) = changed_patient(A).await;
    let page = EhrPage { deleted: vec!["pat".to_owned()], ..last() };
    world.pages.entry((A, Resource::Patients)).or_default().push_back(page);
    world.read(A).await;
    (world, call)
}

#[tokio::test]
async fn refused_change_of_a_deleted_record_leaves_it_deleted() {
    let (mut world, call) = deleted_before_a_write().await;
    let Call::Write { write, attempt, .. } = call else { panic!("a write") };
    let outcome = Err(Failure::Rejected("no such patient".to_owned()));
    world.turn(A, &Command::Pushed { write, attempt, outcome }).await;
    let kept: Record<records::Patient> = world.document(1, world.link(Resource::Patients, "pat").id);
    assert_eq!((kept.inactive, kept.email.as_deref()), (true, None));
}

#[tokio::test]
async fn record_restored_during_a_pending_change_is_not_deleted() {
    let (mut world, _) = deleted_before_a_write().await;
    world.show(A, patient("pat"));
    world.read(A).await;
    let kept: Record<records::Patient> = world.document(1, world.link(Resource::Patients, "pat").id);
    assert_eq!((kept.inactive, kept.email.as_deref()), (false, Some("new@example.com")));
}

#[tokio::test]
async fn social_security_number_is_kept_until_its_write_is_sent() {
    let (mut world, call) = changed_patient(A).await;
    let id = u32::try_from(world.link(Resource::Patients, "pat").id).unwrap();
    let change = PatientChange { ssn: Some("078051120".to_owned()), ..PatientChange::default() };
    world.turn(A, &ChangePatient { id, change }).await;

    let Call::Write { write, attempt, .. } = call else { panic!("a write") };
    let outcome = Ok(Written { foreign_id: "pat".to_owned(), version: None });
    let next = world.turn(A, &Command::Pushed { write, attempt, outcome }).await.pop();
    let Some(Call::Write { write, attempt, work, key, placement, .. }) = next else { panic!("a write: {next:?}") };
    let sent = world.processors[&A].outgoing(work, &key, placement).unwrap().unwrap();
    let Write::UpdatePatient(sent, _) = sent else { panic!("an update: {sent:?}") };
    assert_eq!(sent.ssn.as_deref(), Some("078051120"));

    let outcome = Ok(Written { foreign_id: "pat".to_owned(), version: None });
    world.turn(A, &Command::Pushed { write, attempt, outcome }).await;
    let kept: Record<records::Patient> = world.document(1, id.into());
    assert_eq!(kept.ssn, None);
}

#[tokio::test]
async fn only_changed_providers_advance_the_counter_of_providers() {
    let mut world = IngestWorld::new(false);
    let pulls = vec![PullAbility { resource: Resource::Providers, delta: true, deletions_by_absence: false }];
    world.processors.get_mut(&A).unwrap().described(Description { pulls, ..Description::default() });
    let counter = |world: &IngestWorld| world.deps.change_counter.providers(InstitutionId(1)).unwrap();
    for (first_name, advances) in [("Anna", 1), ("Anna", 0), ("Anne", 1)] {
        let before = counter(&world);
        let provider = EhrProvider { id: "anna".into(), first_name: first_name.into(), ..EhrProvider::default() };
        world.show(A, EhrRecord::Provider(provider));
        world.read(A).await;
        assert_eq!(counter(&world), before + advances, "{first_name}");
    }
    let before = counter(&world);
    world.show(B, patient("pat"));
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    assert_eq!(counter(&world), before);
}

#[tokio::test]
async fn prefetched_page_does_not_outdate_a_later_read_of_another_location() {
    let mut world = IngestWorld::new(false);
    let patients = world.begin(A).await.unwrap();
    let first = world.answer(A, &patients, last()).await.unwrap();
    // The second page of appointments is requested before the other location reads.
    world.prefetch(A, &first);
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    let page = EhrPage { cursor: "1".into(), last: false, ..last() };
    let second = world.answer(A, &first, page).await.unwrap();
    let page = EhrPage { records: vec![visit("x", "pat")], ..last() };
    let again = world.answer(A, &second, page.clone()).await.unwrap();
    assert_eq!(world.visit("x"), (B, false));
    assert!(matches!(&again, Call::Pull { cursor: Some(cursor), .. } if cursor == "1"), "{again:?}");
    world.answer(A, &again, page).await;
    assert_eq!(world.visit("x"), (A, false), "staff have moved it since");
}

/// Staff have moved the visit and moved it back, and the EHR lists both changes.
#[tokio::test]
async fn record_shown_twice_on_a_page_has_its_last_version() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let EhrRecord::Appointment(mut moved) = visit("x", "pat") else { panic!("a visit") };
    let start = Timestamp(moved.start * SECOND);
    (moved.start, moved.end) = (moved.start + 3_600, moved.end + 3_600);
    let records = vec![EhrRecord::Appointment(moved), visit("x", "pat")];
    world.pages.entry((A, Resource::Appointments)).or_default().push_back(EhrPage { records, ..last() });
    world.read(A).await;
    let id = world.link(Resource::Appointments, "x").id;
    let kept: Record<records::Appointment> = world.document(0, id);
    let known = &world.processors[&A].machine.state.appointments[&AppointmentId(id)];
    assert_eq!((kept.placement.span.start, known.placement.span.start), (start, start));
}

/// Staff have created or changed a visit and deleted it since the last read, and the EHR lists both changes.
#[tokio::test]
async fn record_shown_and_deleted_on_a_page_is_deleted() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let EhrRecord::Appointment(mut moved) = visit("x", "pat") else { panic!("a visit") };
    (moved.start, moved.end) = (moved.start + 3_600, moved.end + 3_600);
    let records = vec![EhrRecord::Appointment(moved), visit("new", "pat")];
    let page = EhrPage { records, deleted: vec!["x".to_owned(), "new".to_owned()], ..last() };
    world.pages.entry((A, Resource::Appointments)).or_default().push_back(page);
    world.read(A).await;
    assert_eq!((world.visit("x"), world.remembers(A, "x")), ((A, true), false));
    assert!(world.processors[&A].machine.state.appointments.is_empty(), "the new one takes no time either");
}

/// A record that cannot be read exists: a whole pass that leaves it out does not delete it, and its data is kept.
#[tokio::test]
async fn unreadable_record_is_not_deleted() {
    let mut world = IngestWorld::new(true);
    world.show(A, patient("pat"));
    world.show(A, patient("other"));
    let both = |visits: Vec<EhrRecord>| EhrPage { whole: true, records: visits, ..last() };
    let appointments = (A, Resource::Appointments);
    world.pages.entry(appointments).or_default().push_back(both(vec![visit("x", "pat"), visit("y", "pat")]));
    world.read(A).await;
    let leaves_out = |id: &str| Skipped { id: id.to_owned(), reason: "it has no end".to_owned() };
    let page = EhrPage { skipped: vec![leaves_out("x"), leaves_out("new")], ..both(vec![visit("y", "pat")]) };
    world.pages.entry(appointments).or_default().push_back(page);
    world.read(A).await;
    assert_eq!((world.visit("x"), world.remembers(A, "x")), ((A, false), true), "it is stored as it was last read");
    let state = |world: &IngestWorld| world.processors[&A].machine.state.pulls.clone();
    let known = |world: &IngestWorld| -> Vec<String> {
        state(world).skipped.get(&Resource::Appointments).into_iter().flatten().map(|(id, _)| id.clone()).collect()
    };
    assert_eq!(known(&world), ["new", "x"]);
    assert_eq!(state(&world).progress[&Resource::Appointments].records, 1, "what is left out is not read");
    assert_eq!((state(&world).failing, state(&world).guarded.len()), (None, 0));
    // The first record is repaired, and the other one is deleted before it could be read.
    let page = EhrPage { records: vec![visit("x", "pat")], deleted: vec!["new".to_owned()], ..last() };
    world.pages.entry(appointments).or_default().push_back(page);
    world.read(A).await;
    assert_eq!(known(&world), [""; 0]);
    // Two whole passes neither show the record nor leave it out as unreadable, so it is deleted.
    for gone in [false, true] {
        world.pages.entry(appointments).or_default().push_back(both(vec![visit("y", "pat")]));
        world.read(A).await;
        assert_eq!(world.visit("x"), (A, gone));
    }
}

/// A page requested before a visit moved must not move the visit back.
#[tokio::test]
async fn page_requested_before_a_move_is_read_again() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    world.pages.insert((A, Resource::Patients), VecDeque::new());
    let patients = world.begin(A).await.unwrap();
    let asked = world.answer(A, &patients, last()).await.unwrap();
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    assert_eq!(world.visit("x"), (B, false));
    // The page of A shows an earlier state.
    let old = EhrPage { records: vec![visit("x", "pat")], ..last() };
    let again = world.answer(A, &asked, old).await.expect("the page is asked for again");
    assert_eq!(world.visit("x"), (B, false));
    let deleted = EhrPage { deleted: vec!["x".into()], ..last() };
    assert_eq!(world.answer(A, &again, deleted).await, None);
    assert_eq!((world.visit("x"), world.remembers(A, "x"), world.remembers(B, "x")), ((B, false), false, true));
}

/// The visit is cancelled at its previous location, because it moved.
#[tokio::test]
async fn visit_cancelled_at_its_old_location_is_kept_at_the_new_one() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    let EhrRecord::Appointment(mut left) = visit("x", "pat") else { panic!("a visit") };
    left.cancelled = true;
    world.show(A, EhrRecord::Appointment(left));
    world.read(A).await;
    assert_eq!((world.visit("x"), world.remembers(A, "x"), world.remembers(B, "x")), ((B, false), false, true));
}

/// The visit is moved and cancelled before either location has read it.
#[tokio::test]
async fn visit_moved_and_cancelled_before_reading_is_cancelled() {
    for first in [A, B] {
        let mut world = IngestWorld::new(false);
        world.show(A, visit("x", "pat"));
        world.read(A).await;
        let EhrRecord::Appointment(mut cancelled) = visit("x", "pat") else { panic!("a visit") };
        cancelled.cancelled = true;
        world.hide(A, "x");
        world.show(B, EhrRecord::Appointment(cancelled));
        world.read(first).await;
        world.read(A + B - first).await;
        assert_eq!((world.visit("x"), world.remembers(A, "x"), world.remembers(B, "x")), ((B, true), false, false));
    }
}

/// The visit is deleted at the new location before the previous one has read the move.
#[tokio::test]
async fn visit_moved_and_deleted_frees_its_old_slot() {
    let mut world = IngestWorld::new(false);
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    world.hide(B, "x");
    world.read(B).await;
    assert_eq!((world.visit("x"), world.remembers(A, "x")), ((B, true), true));
    world.hide(A, "x");
    world.read(A).await;
    assert_eq!((world.visit("x"), world.remembers(A, "x")), ((B, true), false));
}

/// Reads the patients `p0` to `p{ALL}`.
async fn many_patients(by_absence: bool, all: usize) -> IngestWorld {
    let mut world = IngestWorld::new(by_absence);
    world.show_patients(0..=all);
    world.read(A).await;
    assert_eq!(world.gone(all), 0);
    world
}

fn number(number: usize) -> String {
    format!("p{number}")
}

impl IngestWorld {
    /// Adds pages of a thousand patients.
    fn show_patients(&mut self, shown: impl Iterator<Item = usize>) {
        let shown: Vec<usize> = shown.collect();
        let pages = self.pages.entry((A, Resource::Patients)).or_default();
        for (index, numbers) in shown.chunks(1_000).enumerate() {
            let records = numbers.iter().map(|it| patient(&number(*it))).collect();
            let (whole, last) = (self.by_absence, (index + 1) * 1_000 >= shown.len());
            pages.push_back(EhrPage { records, whole, last, cursor: number(index), ..EhrPage::default() });
        }
    }

    fn gone(&self, all: usize) -> usize {
        let gone = |it: &usize| {
            let id = self.link(Resource::Patients, &number(*it)).id;
            self.document::<Record<records::Patient>>(1, id).inactive
        };
        (0..all).filter(gone).count()
    }

    fn pulls(&self) -> &Pulls {
        &self.processors[&A].machine.state.pulls
    }
}

/// A page with more deletions than a commit holds is ingested in steps, even across a restart, and nothing counts
/// twice.
#[tokio::test]
async fn page_with_more_deletions_than_a_commit_is_ingested_in_steps() {
    const ALL: usize = 12_000;
    let mut world = many_patients(false, ALL).await;
    let page = || EhrPage { deleted: (0..ALL).map(number).collect(), ..last() };
    let call = world.begin(A).await.unwrap();
    let again = world.answer(A, &call, page()).await.expect("the page is asked for again");
    assert_eq!(world.gone(ALL), 1_000);
    // The process ends here, and the call is lost.
    drop(again);
    world.load(A);
    world.now = world.now.plus(2 * MINUTE);
    world.turn(A, &Command::Wake).await;
    world.now = world.now.plus(2 * MINUTE);
    world.pages.entry((A, Resource::Patients)).or_default().extend((0..20).map(|_| page()));
    world.read(A).await;
    assert_eq!(world.gone(ALL), ALL);
    assert_eq!(world.pulls().guarded, Default::default());
}

/// All but a few are missing. Each pass counts them and then checks each again, a thousand per commit; the second pass
/// deletes them. A restart in between loses nothing. Neither the journal nor the state contains the records that a pass
/// has shown.
#[tokio::test]
async fn missing_records_are_swept_step_by_step_and_deleted_by_the_second_pass() {
    const ALL: usize = 6_000;
    let mut world = many_patients(true, ALL).await;
    let (missing, known) = (ALL - ALL / 6, ALL / 1_000 + 1);
    for deleted in [0, missing] {
        world.show_patients((0..=ALL).filter(|it| it % 6 == 0));
        let mut next = world.begin(A).await;
        while let Some(call) = &next {
            let page = world.pages.get_mut(&(A, Resource::Patients)).and_then(VecDeque::pop_front).unwrap();
            next = world.answer(A, call, page).await;
        }
        let (mut steps, mut gone) = (1, 0);
        while let Some(sweep) = world.pulls().sweep.clone() {
            let state = serde_json::to_vec(&world.processors[&A].machine.state).unwrap().len();
            assert!(state < 4_000 + 8 * missing, "{state} bytes: one number for each missing record");
            world.load(A);
            let calls = world.turn(A, &Command::Wake).await;
            steps += 1;
            let now = world.gone(ALL);
            assert!(now - gone <= 1_000, "{} deletions in one commit", now - gone);
            assert!(sweep.counted || now == 0, "nothing is deleted before all is counted");
            gone = now;
            assert_eq!(calls.is_empty(), world.pulls().sweep.is_some(), "the cycle continues after it");
            next = calls.into_iter().next();
        }
        world.answer(A, &next.unwrap(), last()).await;
        world.turn(A, &Command::Wake).await;
        assert_eq!((steps, gone), (2 * known, deleted));
        assert_eq!((world.pulls().passes.len(), world.pulls().guarded.len()), (0, 0));
    }
    // Records that are still missing cause no changes.
    world.show_patients((0..=ALL).filter(|it| it % 6 == 0));
    world.read(A).await;
    assert_eq!(world.gone(ALL), missing);
}

/// The store has a few blocks per pass. Those of the last pass are deleted by the next.
#[tokio::test]
async fn blocks_of_earlier_passes_are_deleted() {
    let mut world = many_patients(true, 3_000).await;
    let blocks =
        |world: &IngestWorld| world.store.scan_keys(Space::PullSeen.range(), Direction::Forward, 100).unwrap().len();
    let once = blocks(&world);
    assert!((1..=4).contains(&once), "{once} blocks");
    for _ in 0..5 {
        world.show_patients(0..=3_000);
        world.read(A).await;
        assert_eq!(blocks(&world), once);
    }
}

/// The visits are so old that only their documents are left.
#[tokio::test]
async fn many_past_appointments_are_deleted_step_by_step() {
    let mut world = IngestWorld::new(false);
    let id = |number: i64| format!("x{number}");
    let past = |number: i64| {
        let start = START.0 / SECOND - 10 * DAY / SECOND + number;
        EhrRecord::Appointment(EhrAppointment { id: id(number), start, end: start + 60, ..EhrAppointment::default() })
    };
    world
        .pages
        .entry((A, Resource::Appointments))
        .or_default()
        .push_back(EhrPage { records: (0..2_500).map(past).collect(), ..last() });
    world.read(A).await;
    assert!(!world.remembers(A, "x0"));
    let page = EhrPage { deleted: (0..2_500).map(id).collect(), ..last() };
    world.pages.entry((A, Resource::Appointments)).or_default().extend([page.clone(), page.clone(), page]);
    world.read(A).await;
    assert!((0..2_500).all(|number| world.visit(&id(number)) == (A, true)));
}

/// A visit at a location makes its patient a patient there, even if the visit is read before the patient.
#[tokio::test]
async fn patient_belongs_to_every_location_with_an_appointment() {
    let mut world = IngestWorld::new(false);
    let at = |world: &IngestWorld, foreign_id: &str| {
        let id = world.link(Resource::Patients, foreign_id).id;
        world.document::<Record<records::Patient>>(1, id).body.location_ids
    };
    world.show(A, patient("pat"));
    world.read(A).await;
    assert_eq!(at(&world, "pat"), [A]);
    world.show(B, visit("x", "pat"));
    world.read(B).await;
    assert_eq!(at(&world, "pat"), [A, B]);
    world.show(B, visit("y", "later"));
    world.read(B).await;
    world.show(A, patient("later"));
    world.read(A).await;
    assert_eq!(at(&world, "later"), [A, B]);
}

#[tokio::test]
async fn patient_of_several_pulled_appointments_is_read_once() {
    let mut world = IngestWorld::new(false);
    world.show(A, patient("pat"));
    let page = |(id, is_last): (&str, bool)| {
        let records = vec![visit(id, "pat")];
        EhrPage { records, cursor: id.to_owned(), last: is_last, ..EhrPage::default() }
    };
    world.pages.insert((A, Resource::Appointments), [("x", false), ("y", false), ("z", true)].map(page).into());
    let (decoded, _) = DOCUMENTS.get();
    world.read(A).await;
    assert_eq!(world.visit("z"), (A, false));
    assert_eq!(DOCUMENTS.get().0 - decoded, 1, "the document of the patient");
    assert!(world.processors[&A].patients_here.lock().is_empty(), "the cycle has ended");
}

/// On a remote store, each read is a round trip.
#[tokio::test]
async fn unchanged_page_takes_one_read_of_all_its_links() {
    let store = Arc::new(MemoryStore::new());
    let counted = Arc::new(HookedStore::over(store.clone()));
    let deps = deps(counted.clone(), Arc::new(setup()));
    let mut world = IngestWorld { deps, store, ..IngestWorld::new(false) };
    world.load(A);
    let page = EhrPage { records: (0..50).map(|it| patient(&number(it))).collect(), ..last() };
    world.pages.insert((A, Resource::Patients), [page.clone()].into());
    world.read(A).await;
    let call = world.begin(A).await.unwrap();
    let (reads, keys) = (counted.reads_of_many.get(), counted.found.get());
    world.answer(A, &call, page).await;
    assert_eq!((counted.reads_of_many.get() - reads, counted.found.get() - keys), (1, 50));
}

#[tokio::test]
async fn document_of_unchanged_working_hours_is_not_read() {
    let mut world = IngestWorld::new(false);
    let pulls = vec![PullAbility { resource: Resource::WorkingHours, delta: true, deletions_by_absence: false }];
    world.processors.get_mut(&A).unwrap().described(Description { pulls, ..Description::default() });
    for (end, decoded) in [("17:00", 0), ("17:00", 0), ("18:00", 1)] {
        let hours = testing::working_hour("08:00", end);
        let hours =
            EhrWorkingHour { id: "hours".into(), provider: "anna".into(), operatory: Some("chair".into()), ..hours };
        world.show(A, EhrRecord::WorkingHour(hours));
        let (before, _) = DOCUMENTS.get();
        world.read(A).await;
        assert_eq!(DOCUMENTS.get().0 - before, decoded, "until {end}");
        let id = world.link(Resource::WorkingHours, "hours").id;
        let stored = world.document::<Record<records::WorkingHour>>(A, id);
        assert_eq!(format!("{}:00", stored.end / 60), end);
    }
}

/// A location that pulls every ten minutes leaves memory as often. Snapshots that are not due are not written, and none
/// contains the calendar.
#[tokio::test]
async fn a_location_that_leaves_memory_writes_a_snapshot_only_when_one_is_due() {
    let mut world = IngestWorld::new(false);
    let EhrRecord::Appointment(mut seated) = visit("x", "pat") else { panic!("a visit") };
    seated.operatory = Some("chair".into());
    world.show(A, EhrRecord::Appointment(seated));
    world.read(A).await;
    for due in [false, true] {
        while due && !world.processors[&A].snapshot_due() {
            world.turn(A, &Command::RequestsSent { requests: 0 }).await;
        }
        let state = world.processors[&A].machine.state.clone();
        world.store.commit_now(world.processors[&A].leave().unwrap()).unwrap();
        let snapshot = world.store.get(&keys::snapshot(A)).unwrap();
        assert_eq!(snapshot.is_some(), due);
        assert!(!snapshot.is_some_and(|bytes| String::from_utf8_lossy(&bytes).contains("calendar")));
        world.load(A);
        assert_eq!(world.processors[&A].machine.state, state);
        assert!(!state.calendar.is_empty());
    }
}

/// Versions that allowed another data source for a location with records have left such appointments.
#[tokio::test]
async fn appointment_of_another_data_source_is_not_sent() {
    let mut world = IngestWorld::new(false);
    world.show(A, patient("pat"));
    world.show(A, visit("x", "pat"));
    world.read(A).await;
    let id = AppointmentId(world.link(Resource::Appointments, "x").id);
    let is_rejected = |world: &IngestWorld| {
        let cancel = world.processors[&A].outgoing(location::WriteIntent::Cancel(id), "key", None).unwrap();
        matches!(cancel, Err(Failure::Rejected(why)) if why == "the appointment belongs to another data source")
    };
    assert!(!is_rejected(&world));
    let mut record: Record<records::Appointment> = world.document(0, id.0);
    record.source_id = Some(SOURCE + 1);
    let mut batch = store::Batch::new();
    let key = keys::record(DocumentKind::Of(Resource::Appointments).byte(), 0, id.0);
    batch.put(key, serde_json::to_vec(&record).unwrap());
    world.store.commit_now(batch).unwrap();
    assert!(is_rejected(&world));
}

/// A first pull of patients and five times as many appointments, in pages of a hundred, with the merges of the index.
#[tokio::test]
async fn a_first_pull_writes_at_most_three_values_a_record() {
    const PATIENTS: usize = 1_000;
    let born = |n: usize| EhrPatient {
        id: format!("P-{n}"),
        first_name: format!("Ann{}", n % 37),
        last_name: format!("Sample{}", n % 113),
        date_of_birth: Some(format!("{}-02-03", 1940 + n % 60)),
        cell_phone: Some(format!("+1555{n:07}")),
        ..EhrPatient::default()
    };
    let records = |resource| match resource {
        Resource::Patients => (0..PATIENTS).map(|n| EhrRecord::Patient(born(n))).collect::<Vec<_>>(),
        _ => (0..5 * PATIENTS).map(|n| visit(&format!("A-{n}"), &format!("P-{}", n % PATIENTS))).collect(),
    };
    let mut world = IngestWorld::new(true);
    for resource in [Resource::Patients, Resource::Appointments] {
        let all = records(resource);
        let pages = all.chunks(100).enumerate().map(|(n, part)| {
            let is_last = (n + 1) * 100 == all.len();
            EhrPage { whole: true, records: part.to_vec(), cursor: n.to_string(), last: is_last, ..EhrPage::default() }
        });
        world.pages.insert((A, resource), pages.collect());
    }
    world.values = 0;
    world.read(A).await;
    let store: Arc<dyn Store> = world.store.clone();
    for stream in [Stream::Institution(1), Stream::Location(A)] {
        query::index::merge(&world.deps.index, &store, stream, 1, std::time::Duration::ZERO).await.unwrap();
    }
    let merged = store.scan_keys(Space::IndexBlock.range(), Direction::Forward, usize::MAX).unwrap().len();
    let documents =
        |kind: DocumentKind| store.scan_keys(keys::records(kind.byte(), 0), Direction::Forward, 9_999).unwrap().len();
    assert_eq!(documents(DocumentKind::Of(Resource::Appointments)), 5 * PATIENTS);
    let values = world.values + merged;
    assert!(values <= 3 * 6 * PATIENTS, "{values} values for {} records, {merged} of them blocks", 6 * PATIENTS);
}
