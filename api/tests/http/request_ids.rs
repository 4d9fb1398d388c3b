//! The id of a request appears in its response, in logs of the location, in calls to the EHR and in webhook messages,
//! even after the response.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
};

use engine::webhooks::catalogue::Event;
use parking_lot::Mutex;
use serde_json::json;
use testing::until;
use tracing_subscriber::EnvFilter;

use crate::{support::*, webhook_events::listen};

const ID: &str = "follow-me-7";

/// The log lines of this process with the id of the request, from all threads.
#[derive(Clone, Default)]
struct RequestLogLines(Arc<Mutex<Vec<String>>>);

impl io::Write for RequestLogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        if line.contains(ID) {
            self.0.lock().push(line.into_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RequestLogLines {
    fn start() -> RequestLogLines {
        let lines = RequestLogLines::default();
        let writer = lines.clone();
        let filter = EnvFilter::new("off,access=info,processor=debug,webhooks=debug");
        let log =
            tracing_subscriber::fmt().with_ansi(false).with_env_filter(filter).with_writer(move || writer.clone());
        log.init();
        lines
    }

    /// Waits for a line with all these parts.
    async fn has(&self, parts: &[&str]) {
        let named = format!("request=\"{ID}\"");
        let found = |line: &String| line.contains(&named) && parts.iter().all(|part| line.contains(part));
        until(&format!("a line with {parts:?}"), async || {
            let lines = self.0.lock();
            if lines.iter().any(found) { Ok(()) } else { Err(lines.clone()) }
        })
        .await;
    }
}

#[actix_web::test]
async fn a_booking_is_traced_to_the_ehr_and_to_webhook_receivers() {
    let lines = RequestLogLines::start();
    let world = world_that_sends().await;
    world.books.open.store(true, Ordering::SeqCst);
    let receiver = listen(&world, [Event::AppointmentCreated, Event::AppointmentInsertion], "v3.0.0").await;
    let token = &world.offers(MAIN, 1).await[0]["slot_token"];
    let patient = json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"});
    let body = json!({"slot_token": token, "idempotency_key": "k", "patient": patient});
    world.post("/intent/booking/book?subdomain=acme", body).with("X-Request-Id", ID).ok().await;
    receiver.wait_for("appointment_insertion.complete", &json!({})).await;

    lines.has(&["access", "/intent/booking/book", "status=200"]).await;
    lines.has(&["turn{location=1", "the turn has ended"]).await;
    // The patient and the appointment. Their results are handled in separate turns of the location.
    for write in ["write=\"1-1\"", "write=\"1-2\""] {
        lines.has(&["ehr_call{location=1 call=\"push\"", write, "the EHR call has ended"]).await;
    }
    lines.has(&["event=\"appointment_created\"", "webhook delivered"]).await;
    lines.has(&["event=\"appointment_insertion.complete\"", "webhook delivered"]).await;
    for line in lines.0.lock().iter() {
        assert!(!line.contains("Mia") && !line.contains("Meier") && !line.contains("9999"), "{line}");
    }
}
