//! The main story, run with each supported EHR: the product as a process, clients of its HTTP API, a subscriber that
//! verifies each message, and staff who use only their own system's API. `visit.rs` has the life of one visit, for
//! these and for other EHRs, and `events.rs` the events that EHRs send.

mod client;
mod ehrs;
mod events;
mod practice;
mod subscriber;
mod visit;

use adapter_conformance::flaky_proxy::{FlakyProxy, InjectedFault, When};
use std::{collections::BTreeSet, path::Path, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::process::{Installation, Process};
use testing::until;

use client::{Client, StoryBooking, moment, new_patient, text};
pub use ehrs::{
    fhir::{FhirEvents, FhirPractice},
    gnuhealth::GnuHealthPractice,
    open_dental::OpenDentalPractice,
};
pub use events::run_event_story;
pub use practice::StoryVisit;
use practice::{RULES, StoryPractice};
use subscriber::Subscriber;
pub use visit::{VisitLife, run_visit_story};

/// Delay of the EHR's answers, in which the product is killed between a write and its answer.
const HELD_BACK: Duration = Duration::from_millis(400);
/// Runs the whole story. `program` is the product.
pub async fn run(program: &Path, practice: impl StoryPractice) {
    let mut story = Story::begin(program, practice).await;
    let zoe = new_patient("Zoë", "Ångström-D’Arc", 0);
    let booking = story.a_new_patient_books(&zoe).await;
    story.we_move_it(&booking).await;
    story.we_confirm_it(&booking).await;
    story.staff_move_it(&booking).await;
    story.read_cycle_without_changes_sends_no_messages().await;
    story.communication_log_is_written_once(&booking).await;
    let mut story = story.killed_while_it_is_written(&new_patient("Stays", "Once", 1), NewPatient(true)).await;
    story = story.killed_while_it_is_written(&zoe, NewPatient(false)).await;
    story.we_cancel_it(&booking).await;
    story.staff_cancel_one(&zoe).await;
    story.staff_admit_and_book(&booking).await;
    story.ends().await;
}

/// Events of an appointment changed through the API: the request and its completion.
const CHANGED_HERE: [&str; 2] = ["appointment_updated", "appointment_updated.complete"];

#[derive(Clone, Copy)]
struct NewPatient(bool);

struct Story<P> {
    practice: P,
    /// Proxy between the product and the EHR.
    proxy: FlakyProxy,
    installation: Installation,
    process: Process,
    client: Client,
    subscriber: Subscriber,
    _dir: TempDir,
}

impl<P: StoryPractice> Story<P> {
    /// Starts a product that has read the practice once, with a subscriber from then on.
    async fn begin(program: &Path, practice: P) -> Story<P> {
        let proxy = FlakyProxy::to(practice.address()).await;
        let dir = tempfile::tempdir().expect("a folder for the product");
        let served = practice.served(proxy.address());
        let installation =
            Installation::serving(program, dir.path(), &served, RULES).expect("its configuration can be written");
        let process = installation.start().await.expect("the product starts");
        let mut client = Client::connect(&installation).await;
        client.first_sync().await;
        let subscriber = Subscriber::begin(&mut client).await;
        let mut story = Story { practice, proxy, installation, process, client, subscriber, _dir: dir };
        assert!(!story.client.patients().await.is_empty());
        story.both_sides_show_the_same().await;
        story
    }

    async fn both_sides_show_the_same(&mut self) {
        assert_eq!(self.client.patients().await, self.practice.patients().await);
        let live_visits = |visits: Vec<StoryVisit>| -> BTreeSet<_> {
            let live_visits = visits.into_iter().filter(|visit| !visit.cancelled);
            live_visits.map(|visit| (visit.id, visit.patient, visit.start)).collect()
        };
        let ours = live_visits(self.client.visits(self.practice.first_day()).await);
        assert_eq!(ours, live_visits(self.practice.visits().await));
    }

    /// Reads the EHR completely. Records that changed for clients must have exactly one message.
    async fn sync(&mut self) {
        let mut before = Vec::new();
        for (kind, id) in self.subscriber.known() {
            before.push((kind, id, self.client.record(kind, id).await));
        }
        self.client.sync().await;
        self.both_sides_show_the_same().await;
        for (kind, id, before) in before {
            let changed = before != self.client.record(kind, id).await;
            let updated = format!("{kind}_updated");
            let events = [updated.as_str()];
            self.subscriber.expect_events(kind, id, &events[..usize::from(changed)]).await;
        }
    }

    async fn a_new_patient_books(&mut self, person: &Value) -> StoryBooking {
        let booking = self.book(person).await;
        self.client.written(&booking).await;
        self.assert_in_ehr_once(&booking, person).await;
        self.expect_booking_events(&booking, NewPatient(true)).await;
        self.sync().await;
        booking
    }

    async fn book(&mut self, person: &Value) -> StoryBooking {
        let offer = self.client.offer(self.practice.first_day()).await;
        self.client.book(&offer, person).await
    }

    async fn expect_booking_events(&mut self, booking: &StoryBooking, NewPatient(new): NewPatient) {
        if new {
            let of_patient = ["patient_created", "patient_updated", "patient_updated.complete"];
            self.subscriber.expect_events("patient", booking.patient, &of_patient).await;
        }
        let of_appointment = ["appointment_created", "appointment_updated", "appointment_insertion.complete"];
        self.subscriber.expect_events("appointment", booking.id, &of_appointment).await;
    }

    /// Checks that the EHR has the booking and its patient once, under the ids we know.
    async fn assert_in_ehr_once(&mut self, booking: &StoryBooking, person: &Value) {
        let named: Vec<_> =
            self.practice.patients().await.into_iter().filter(|it| person["last_name"] == it.last_name).collect();
        assert_eq!(named.len(), 1, "{named:?}");
        let at_that_time = |visit: &StoryVisit| visit.patient == named[0].id && visit.start == booking.start;
        let visits: Vec<_> = self.practice.visits().await.into_iter().filter(at_that_time).collect();
        assert_eq!(visits.len(), 1, "{visits:?}");
        assert!(!visits[0].cancelled, "{visits:?}");
        let ours = self.client.appointment(booking.id).await;
        assert_eq!(ours["foreign_id"], visits[0].id);
        assert_eq!(self.client.patient(booking.patient).await["foreign_id"], named[0].id);
    }

    async fn visit(&mut self, booking: &StoryBooking) -> StoryVisit {
        let ours = self.client.appointment(booking.id).await;
        let visits = self.practice.visits().await;
        visits.into_iter().find(|visit| ours["foreign_id"] == visit.id).expect("the EHR has it")
    }

    async fn we_move_it(&mut self, booking: &StoryBooking) {
        let to = self.client.offer(self.practice.first_day()).await;
        self.client.change(booking.id, &json!({"start_time": to.start, "end_time": to.end})).await;
        self.client.idle().await;
        assert_eq!(self.visit(booking).await.start, to.start);
        self.subscriber.expect_events("appointment", booking.id, &CHANGED_HERE).await;
        self.sync().await;
    }

    /// Some systems have no unconfirmed appointments.
    async fn we_confirm_it(&mut self, booking: &StoryBooking) {
        let already = self.client.appointment(booking.id).await["confirmed"] == true;
        self.client.change(booking.id, &json!({"confirmed": true})).await;
        self.client.idle().await;
        assert!(self.visit(booking).await.confirmed);
        self.subscriber.expect_events("appointment", booking.id, if already { &[] } else { &CHANGED_HERE }).await;
        self.sync().await;
        assert_eq!(self.client.appointment(booking.id).await["confirmed"], true);
    }

    /// The change by staff must have a message, which `sync` checks.
    async fn staff_move_it(&mut self, booking: &StoryBooking) {
        let visit = self.visit(booking).await;
        let to = self.client.offer(self.practice.first_day()).await.start;
        self.practice.move_visit(&visit.id, to).await;
        self.sync().await;
        let ours = self.client.appointment(booking.id).await;
        assert_eq!(moment(&ours["start_time"]), to);
    }

    async fn read_cycle_without_changes_sends_no_messages(&mut self) {
        self.sync().await;
        self.subscriber.expect_no_other_events(&mut self.client).await;
    }

    /// The EHR stores the entry, and one reply is lost.
    async fn communication_log_is_written_once(&mut self, booking: &StoryBooking) {
        let note = "Reminded by text: läuft ☺";
        let log = json!({"patient_id": booking.patient, "note": note, "mode": "text", "direction": "sent"});
        self.proxy.injector.set(When::Nth(2), InjectedFault::LoseReply);
        let before = self.proxy.injector.injected();
        self.client.post("/communication_logs", &json!({"communication_log": log})).await;
        self.client.idle().await;
        assert_eq!(self.proxy.injector.injected(), before + 1, "a reply was lost");
        self.proxy.injector.clear();
        let patient = text(&self.client.patient(booking.patient).await["foreign_id"]);
        let log = self.practice.log(&patient).await;
        assert_eq!(log.iter().filter(|entry| entry.contains(note)).count(), 1, "{log:?}");
    }

    /// Kills the product after the EHR has performed the write and before the product receives the answer.
    async fn killed_while_it_is_written(mut self, person: &Value, new: NewPatient) -> Story<P> {
        self.proxy.injector.set(When::Each, InjectedFault::Slow(HELD_BACK));
        let booking = self.book(person).await;
        until("the write", async || {
            assert_eq!(self.client.write_back(&booking).await, "pending");
            let at_that_time = |visit: &StoryVisit| visit.start == booking.start && !visit.cancelled;
            self.practice.visits().await.into_iter().find(at_that_time)
        })
        .await;
        assert_eq!(self.client.write_back(&booking).await, "pending", "accepted, written, and not heard of");
        self.process.kill().expect("a process of ours");
        self.proxy.injector.clear();
        self.process = self.installation.start().await.expect("the product starts again");
        self.client = self.client.again(&self.installation).await;
        self.client.repeat_booking(&booking).await;
        self.client.written(&booking).await;
        self.assert_in_ehr_once(&booking, person).await;
        self.expect_booking_events(&booking, new).await;
        self.sync().await;
        self
    }

    async fn we_cancel_it(&mut self, booking: &StoryBooking) {
        self.client.cancel(booking).await;
        self.client.idle().await;
        assert!(self.visit(booking).await.cancelled);
        self.subscriber.expect_events("appointment", booking.id, &CHANGED_HERE).await;
        self.sync().await;
        assert_eq!(self.client.appointment(booking.id).await["cancelled"], true);
    }

    async fn staff_cancel_one(&mut self, person: &Value) {
        let booking = self.book(person).await;
        self.client.written(&booking).await;
        self.expect_booking_events(&booking, NewPatient(false)).await;
        let visit = self.visit(&booking).await;
        self.practice.cancel_visit(&visit.id).await;
        self.sync().await;
        assert_eq!(self.client.appointment(booking.id).await["cancelled"], true);
    }

    /// Staff create a patient and an appointment.
    async fn staff_admit_and_book(&mut self, beside: &StoryBooking) {
        let visit = self.visit(beside).await;
        let patient = self.practice.admit("Þóra", "Walked-In").await;
        let start = self.client.offer(self.practice.first_day()).await.start;
        let theirs = self.practice.book_next_to(&visit.id, &patient, start).await;
        self.sync().await;
        let (patient, appointment) = self.client.ids_of(&patient, &theirs).await;
        self.subscriber.expect_events("patient", patient, &["patient_created"]).await;
        self.subscriber.expect_events("appointment", appointment, &["appointment_created"]).await;
    }

    async fn ends(mut self) {
        self.subscriber.expect_no_other_events(&mut self.client).await;
        assert_eq!(self.installation.panics().expect("its log can be read"), [""; 0]);
    }
}
