//! Events of an EHR: it reports changes by its staff, and the product reads them at once. The next read cycle is an
//! hour away.

use std::{future::Future, path::Path};

use chrono::NaiveDate;

use super::{
    client::{Client, new_patient, text},
    practice::{RULES, StoryPractice, StoryVisit},
};
use crate::harness::process::{Installation, SOURCE};
use testing::until;

/// A practice whose EHR sends events.
pub trait EventPractice: StoryPractice {
    /// Returns the header of the events that authenticates the EHR, and its value.
    fn event_secret(&self) -> (&'static str, &'static str);

    /// Subscribes an endpoint of the product to the changes of appointments.
    fn subscribe(&self, endpoint: &str) -> impl Future<Output = ()>;

    /// Returns `true` if the EHR reports only new appointments.
    fn reports_only_bookings(&self) -> bool {
        false
    }
}

/// Runs the story. `program` is the product.
pub async fn run_event_story(program: &Path, practice: impl EventPractice) {
    let dir = tempfile::tempdir().expect("a folder for the product");
    let mut served = practice.served(practice.address());
    let (header, secret) = practice.event_secret();
    served.source += &format!("[institutions.sources.events]\nheader = \"{header}\"\nsecret = \"{secret}\"\n");
    let installation =
        Installation::serving(program, dir.path(), &served, RULES).expect("its configuration can be written");
    let _process = installation.start().await.expect("the product starts");
    let mut client = Client::connect(&installation).await;
    client.first_sync().await;
    let day = practice.first_day();
    let offer = client.offer(day).await;
    let booking = client.book(&offer, &new_patient("Zoë", "Reported", 0)).await;
    client.written(&booking).await;
    let ours = text(&client.appointment(booking.id).await["foreign_id"]);
    let visits = practice.visits().await;
    let patient = visits.into_iter().find(|visit| visit.id == ours).expect("the EHR has the booking").patient;

    let last_read = client.last_read().await;
    practice.subscribe(&format!("http://{}/ehr_events/{SOURCE}", installation.address)).await;
    let start = client.offer(day).await.start;
    let theirs = practice.book_next_to(&ours, &patient, start).await;
    client.shows(day, &theirs, |visit| visit.start == start && !visit.cancelled).await;
    if !practice.reports_only_bookings() {
        let to = client.offer(day).await.start;
        assert_ne!(to, start, "the time of the visit is not offered any more");
        practice.move_visit(&theirs, to).await;
        client.shows(day, &theirs, |visit| visit.start == to && !visit.cancelled).await;
        practice.cancel_visit(&theirs).await;
        client.shows(day, &theirs, |visit| visit.cancelled).await;
    }
    assert_eq!(client.last_read().await, last_read, "a read cycle could have shown the changes");
    assert_eq!(installation.panics().expect("its log can be read"), [""; 0]);
}

impl Client {
    /// Waits until `GET /appointments` shows an appointment of the EHR as expected.
    async fn shows(&mut self, from: NaiveDate, id: &str, is_expected: impl Fn(&StoryVisit) -> bool) {
        until("the reported change", async || {
            let shown = self.visits(from).await.into_iter().find(|visit| visit.id == id);
            if shown.as_ref().is_some_and(&is_expected) { Ok(()) } else { Err(shown) }
        })
        .await;
    }
}
