//! Bookings through a misbehaving workstation to a misbehaving EHR. Each is in the EHR once in the end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use cloud_ehr::{CallSelector, CloudEhr, CloudEhrSettings, InjectedFault};
use serde_json::{Value, json};
use testing::{PATIENCE, until};
use tests::harness::{
    http_client::Caller,
    process,
    workstation::{
        Behaviour, Forgery, Running, TestWorkstation,
        gated_process::{GatedProcess, LOCATION},
    },
};

use crate::workstations::program;

/// Short waiting times.
const QUICK: &str = r#"
[defaults.write]
call_deadline = "4s"
backoff_base = "100ms"
backoff_cap = "1s"
settle = "200ms"
breaker_pause = "1s"
breaker_pause_cap = "1s"
[defaults.pull]
call_deadline = "5s"
retry_base = "200ms"
retry_cap = "1s"
confirm_after = "1s"
[defaults.quota]
per_minute = 60000
burst = 1000
[defaults.workstation]
patience = "1s"
"#;

/// An office with a working workstation, and slots to book.
struct WorkDay {
    product: GatedProcess,
    workstation: TestWorkstation,
    running: Running,
    caller: Caller,
    offers: Vec<String>,
    booked: u64,
}

impl WorkDay {
    async fn begin() -> WorkDay {
        WorkDay::begin_with("").await
    }

    async fn begin_with(more: &str) -> WorkDay {
        let settings = CloudEhrSettings { calls_per_minute: None, ..CloudEhrSettings::default() };
        WorkDay::begin_on(more, CloudEhr::start(settings).unwrap()).await
    }

    async fn begin_on(more: &str, ehr: CloudEhr) -> WorkDay {
        let product = GatedProcess::open_on(program(), &format!("{QUICK}{more}"), ehr).await;
        let workstation = product.pair(LOCATION, "Front desk").await;
        product.log_in(&workstation);
        let running = workstation.start().await.unwrap();
        product.read().await;
        let mut caller = product.caller().await;
        let mut offers = process::offers(&mut caller, LOCATION, usize::MAX).await.unwrap();
        // Distant slots first.
        offers.reverse();
        WorkDay { product, workstation, running, caller, offers, booked: 0 }
    }

    /// Books a slot and returns the booking with its note, by which the EHR's copies are counted.
    async fn book(&mut self) -> Booking {
        self.booked += 1;
        let note = format!("booking {:03}", self.booked);
        let body = process::booking(&self.offers.pop().unwrap(), &note, self.booked, &note);
        let (status, answer) = self.caller.post(&self.product.path("/intent/booking/book"), &body).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        Booking { reference: answer["booking"]["booking_ref"].as_str().unwrap().to_owned(), note }
    }

    async fn booking_state(&mut self, booking: &Booking) -> Value {
        let path = format!("{}&booking_ref={}", self.product.path("/intent/booking/status"), booking.reference);
        self.caller.get(&path).await.unwrap().1["booking"].clone()
    }

    /// Returns the number of copies in the EHR.
    fn copies(&self, booking: &Booking) -> usize {
        let all = self.product.ehr.appointments();
        all.iter().filter(|it| it.note.as_deref().is_some_and(|note| note.contains(&booking.note))).count()
    }

    /// Waits until the booking is written, and checks that it is there once.
    async fn written(&mut self, booking: &Booking, what: &str) {
        if !self.is_written(booking, what, PATIENCE).await {
            let state = self.product.get(&format!("/locations/{LOCATION}/sync")).await.1;
            panic!("{what}: not written: {} {state}", self.booking_state(booking).await);
        }
    }

    async fn is_written(&mut self, booking: &Booking, what: &str, within: Duration) -> bool {
        let end = Instant::now() + within;
        while Instant::now() < end {
            let booking_state = self.booking_state(booking).await;
            match booking_state["ehr_writeback"].as_str() {
                Some("confirmed") => {
                    assert_eq!(self.copies(booking), 1, "{what}");
                    return true;
                }
                Some("failed") => panic!("{what}: {booking_state}"),
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        false
    }

    /// Logs in until the booking is written: a workstation may notice its end or its logout only after a login.
    async fn written_after_recovery(&mut self, booking: &Booking, what: &str) {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(300)).await;
            self.recover().await;
            if self.is_written(booking, what, Duration::from_secs(3)).await {
                return;
            }
        }
        self.written(booking, what).await;
    }

    /// Logs in and restarts the workstation if it ended.
    async fn recover(&mut self) {
        self.product.log_in(&self.workstation);
        if self.running.ended() {
            self.running = self.workstation.start().await.unwrap();
        } else {
            self.running.state(true, false);
        }
    }
}

struct Booking {
    reference: String,
    note: String,
}

/// Applies the manner to the first modifying request of a write. All other requests are handled honestly.
fn once(manner: Behaviour) -> (impl FnMut(&Value) -> Behaviour, Arc<AtomicBool>) {
    let happened = Arc::new(AtomicBool::new(false));
    let seen = happened.clone();
    let judge = move |request: &Value| {
        let changes = !request["write"].is_null() && request["method"] != "GET";
        if changes && !seen.swap(true, Ordering::SeqCst) { manner.clone() } else { Behaviour::Honest }
    };
    (judge, happened)
}

#[actix::test]
async fn bookings_are_written_once_with_misbehaving_workstations() {
    let mut day = WorkDay::begin().await;
    let plain = day.book().await;
    day.written(&plain, "an ordinary day").await;
    for manner in [
        Behaviour::Replayed,
        Behaviour::Delayed(Duration::from_secs(1)),
        // Longer than the call deadline.
        Behaviour::Delayed(Duration::from_secs(6)),
        Behaviour::Reordered,
        Behaviour::Forged(Forgery::Lease),
        Behaviour::Forged(Forgery::Number),
        Behaviour::Forged(Forgery::Location),
        Behaviour::Silent,
        Behaviour::Gone,
        Behaviour::LoggedOutBefore,
        Behaviour::LoggedOutAfter,
        // Longer than the limit of an answer, and of a frame.
        Behaviour::Huge((8 << 20) + 100_000),
        Behaviour::Huge(10 << 20),
        Behaviour::LoginPage,
        Behaviour::Redirected,
        Behaviour::Skewed,
    ] {
        let what = format!("{manner:?}");
        let (judge, happened) = once(manner);
        day.workstation.behave(judge);
        let booking = day.book().await;
        until(&what, async || happened.load(Ordering::SeqCst).then_some(())).await;
        day.written_after_recovery(&booking, &what).await;
    }
    let log = day.product.installation.log().unwrap();
    assert!(day.product.figure("workstation_answers_refused_total").await >= 5, "{log}");
    assert_eq!(day.product.installation.panics().unwrap(), Vec::<String>::new());
}

#[actix::test]
async fn bookings_are_written_once_with_misbehaving_ehrs() {
    let mut day = WorkDay::begin().await;
    for fault in [
        InjectedFault::LoseRequest,
        InjectedFault::LoseReply,
        InjectedFault::Slow(Duration::from_secs(6)),
        InjectedFault::Redirect("http://127.0.0.1:9/elsewhere".to_owned()),
        InjectedFault::Huge(9 << 20),
        InjectedFault::SessionEnds,
        InjectedFault::LoginPage,
        InjectedFault::Answer(200, "text/html", "<html>We are back soon</html>"),
        InjectedFault::Answer(502, "text/html", "bad gateway"),
    ] {
        let what = format!("{fault:?}");
        let before = day.product.ehr.injected_faults();
        day.product.ehr.inject(CallSelector::Write(1), fault);
        let booking = day.book().await;
        until(&what, async || (day.product.ehr.injected_faults() > before).then_some(())).await;
        day.product.ehr.clear_faults();
        day.written_after_recovery(&booking, &what).await;
    }
    assert_eq!(day.product.installation.panics().unwrap(), Vec::<String>::new());
}

#[actix::test]
async fn second_workstation_completes_the_writes_of_the_first() {
    let mut day = WorkDay::begin().await;
    let second = day.product.pair(LOCATION, "Back office").await;
    second.browser.log_in(&day.product.ehr.log_in("hygiene"));
    let standby = second.start().await.unwrap();
    for manner in [Behaviour::Gone, Behaviour::LoggedOutAfter] {
        let what = format!("{manner:?}");
        let (judge, happened) = once(manner);
        day.workstation.behave(judge);
        let booking = day.book().await;
        until(&what, async || happened.load(Ordering::SeqCst).then_some(())).await;
        day.written(&booking, &what).await;
        assert!(!standby.seen().requests.is_empty(), "{what}: the second one did not take over");
        // The first one returns as standby; then it gets the lease again.
        day.recover().await;
        standby.state(false, false);
        day.product.gate_is(LOCATION, "connected").await;
        standby.state(true, false);
    }
}

#[actix::test]
async fn writes_in_flight_at_a_crash_are_written_once() {
    let mut day = WorkDay::begin().await;
    for quietly in [true, false] {
        let performed = Arc::new(AtomicUsize::new(0));
        let seen = performed.clone();
        // The EHR performs the write, and the answer is lost.
        day.workstation.behave(move |request| {
            let changes = !request["write"].is_null() && request["method"] != "GET";
            seen.fetch_add(usize::from(changes), Ordering::SeqCst);
            if changes { Behaviour::Silent } else { Behaviour::Honest }
        });
        let mut bookings = Vec::new();
        for _ in 0..6 {
            bookings.push(day.book().await);
        }
        until("a write in flight", async || (performed.load(Ordering::SeqCst) >= 2).then_some(())).await;
        if quietly {
            day.product.restart().await.unwrap();
        } else {
            day.product.crash().await.unwrap();
        }
        day.workstation.behave(|_| Behaviour::Honest);
        day.caller = day.product.caller().await;
        until("a workstation that ended", async || day.running.ended().then_some(())).await;
        day.recover().await;
        for booking in &bookings {
            day.written(booking, "after a restart").await;
        }
    }
}

#[actix::test]
async fn writes_behind_a_closed_gate_are_neither_lost_nor_failed() {
    let mut day = WorkDay::begin().await;
    day.running.state(false, false);
    day.product.gate_is(LOCATION, "logged_out").await;
    let bookings = [day.book().await, day.book().await, day.book().await];
    tokio::time::sleep(Duration::from_secs(2)).await;
    let gate = day.product.gate(LOCATION).await;
    assert!(gate["writes_waiting"].as_u64().unwrap() >= 3, "{gate}");
    assert!(gate["oldest_write_seconds"].as_u64().unwrap() >= 1, "{gate}");
    for booking in &bookings {
        assert_eq!(day.booking_state(booking).await["ehr_writeback"], "pending");
        assert_eq!(day.copies(booking), 0);
    }
    for path in [format!("/locations/{LOCATION}"), format!("/sync_status?location_ids[]={LOCATION}")] {
        let shown = day.caller.get(&path).await.unwrap().1.to_string();
        assert!(shown.contains("\"state\":\"logged_out\""), "{path}: {shown}");
    }
    day.recover().await;
    for booking in &bookings {
        day.written(booking, "after the gate opened").await;
    }
    day.product.gate_is(LOCATION, "connected").await;
}

#[actix::test]
async fn writes_wait_for_required_staff_approval() {
    let day = WorkDay::begin_with("approval = true\n").await;
    let WorkDay { product, workstation, running, caller, offers, booked } = day;
    drop(running);
    let workstation = workstation.asks_staff();
    let running = workstation.start().await.unwrap();
    let mut day = WorkDay { product, workstation, running, caller, offers, booked };
    day.product.gate_is(LOCATION, "connected").await;
    let booking = day.book().await;
    day.product.gate_is(LOCATION, "waiting_for_approval").await;
    assert_eq!(day.copies(&booking), 0);
    assert!(day.product.gate(LOCATION).await["writes_awaiting_approval"].as_u64().unwrap() >= 1);
    // The patient and the appointment are approved separately.
    let written = until("the approved write", async || {
        day.running.approve();
        let booking_state = day.booking_state(&booking).await;
        (booking_state["ehr_writeback"] == "confirmed").then_some(booking_state)
    })
    .await;
    assert_eq!(written["ehr_writeback"], "confirmed");
    assert_eq!(day.copies(&booking), 1);
}

#[actix::test]
async fn writes_declined_by_staff_or_refused_by_the_extension_fail() {
    let mut day = WorkDay::begin().await;
    for manner in [Behaviour::Declined, Behaviour::Refused] {
        let what = format!("{manner:?}");
        let always = manner.clone();
        day.workstation.behave(move |request| {
            let changes = !request["write"].is_null() && request["method"] != "GET";
            if changes { always.clone() } else { Behaviour::Honest }
        });
        let booking = day.book().await;
        let failed = async || (day.booking_state(&booking).await["ehr_writeback"] == "failed").then_some(());
        until(&what, failed).await;
        assert_eq!(day.copies(&booking), 0, "{what}");
    }
}

/// Clocks are never compared. The EHR's clock is a month ahead, its answers are dated 1970, and our requests contain
/// no time for comparison.
#[actix::test]
async fn clocks_are_not_compared() {
    let ahead = Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_secs()).unwrap() + 30 * 86_400
    });
    let now = ahead() - 30 * 86_400;
    let settings =
        CloudEhrSettings { calls_per_minute: None, clock: ahead, seeded_at: Some(now), ..CloudEhrSettings::default() };
    let mut day = WorkDay::begin_on("", CloudEhr::start(settings).unwrap()).await;
    day.workstation.behave(|_| Behaviour::Skewed);
    for _ in 0..3 {
        let booking = day.book().await;
        day.written(&booking, "under another clock").await;
    }
    let known = [
        "type", "lease", "number", "location", "method", "path", "headers", "body", "deadline_ms", "max_body", "write",
    ];
    for request in &day.running.seen().requests {
        let fields = request.as_object().unwrap();
        assert!(fields.keys().all(|field| known.contains(&field.as_str())), "{fields:?}");
        assert!((1..=60_000).contains(&request["deadline_ms"].as_u64().unwrap()), "{request}");
        let headers = request["headers"].to_string().to_ascii_lowercase();
        assert!(!headers.contains("\"date\"") && !headers.contains("if-modified-since"), "{headers}");
    }
}

/// Requests contain the EHR session's cookie only at the workstation, and none of our credentials.
#[actix::test]
async fn requests_contain_no_credentials_and_only_permitted_paths() {
    let mut day = WorkDay::begin().await;
    let booking = day.book().await;
    day.written(&booking, "a booking").await;
    let seen = day.running.seen();
    assert!(seen.requests.len() >= 5, "{}", seen.requests.len());
    for request in &seen.requests {
        let headers = request["headers"].to_string().to_ascii_lowercase();
        assert!(!headers.contains("\"cookie\"") && !headers.contains("authorization"), "{headers}");
        assert!(request["path"].as_str().unwrap().starts_with("/api/"), "{}", request["path"]);
        assert_eq!(request["location"], json!(LOCATION));
    }
    let writes = seen.requests.iter().filter(|request| !request["write"].is_null());
    let kinds: Vec<&str> = writes.filter_map(|request| request["write"]["kind"].as_str()).collect();
    assert!(kinds.contains(&"appointment-insert"), "{kinds:?}");
}
