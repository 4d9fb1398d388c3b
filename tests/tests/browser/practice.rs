//! A day at a practice whose EHR is a web application: the product as a process, two workstations with the real
//! extension, and the demo cloud EHR. Each booking is in the EHR once, whatever fails at workstations or engine.

use std::collections::BTreeSet;

use chrono::DateTime;
use cloud_ehr::{AppointmentStatus, CloudEhr, CloudEhrSettings};
use serde_json::json;
use testing::until;
use tests::{
    harness::{
        chromium::{self, Browser, Kit, POPUP},
        http_client::Caller,
        process::{self, binary},
        workstation::gated_process::{GatedProcess, LOCATION},
    },
    main_story::{StoryVisit, VisitLife},
};

/// Slow enough for events in the middle of a queue, with short pauses after failures.
const RULES: &str = r#"
[defaults.write]
call_deadline = "10s"
backoff_base = "100ms"
backoff_cap = "1s"
settle = "200ms"
breaker_pause = "1s"
breaker_pause_cap = "1s"
[defaults.pull]
call_deadline = "10s"
retry_base = "200ms"
retry_cap = "1s"
confirm_after = "1s"
[defaults.quota]
per_minute = 450
burst = 4
[defaults.workstation]
patience = "1s"
"#;
const APPROVAL: &str = "approval = true\n";
const EHR: &str = "ehr";
const STATUS: &str = "#status-title";
const LOG_OUT: &str = "form[action='/app/logout'] button";
const PASSWORD: &str = "maple-street";

/// A workstation and its user.
struct Desk<'a> {
    kit: &'a Kit,
    profile: tempfile::TempDir,
    browser: Browser,
    user: &'static str,
}

impl<'a> Desk<'a> {
    /// Pairs a workstation with a pairing code.
    async fn set_up(kit: &'a Kit, product: &GatedProcess, name: &str, user: &'static str) -> Desk<'a> {
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Browser::start(kit, profile.path()).await;
        browser.open(POPUP, POPUP).await;
        browser.see(POPUP, STATUS, "Not paired").await;
        browser.type_into(POPUP, "#engine", &format!("http://{}", product.installation.address)).await;
        browser.type_into(POPUP, "#code", &product.code(LOCATION).await.to_lowercase()).await;
        browser.type_into(POPUP, "#name", name).await;
        browser.click(POPUP, "#pair-button").await;
        browser.see(POPUP, "#location", "Place 201").await;
        browser.see(POPUP, STATUS, "Logged out").await;
        Desk { kit, profile, browser, user }
    }

    async fn log_in(&mut self, product: &GatedProcess) {
        self.browser.open(EHR, &format!("{}/app/login", product.ehr.origin())).await;
        // The session survives if the browser was killed at least 30 seconds after the login.
        if self.browser.text(EHR, LOG_OUT).await.is_some() {
            return;
        }
        self.browser.type_into(EHR, "input[name=user]", self.user).await;
        self.browser.type_into(EHR, "input[name=password]", PASSWORD).await;
        self.browser.follow(EHR, "#login button").await;
    }

    async fn log_out(&mut self) {
        self.browser.follow(EHR, LOG_OUT).await;
    }

    async fn shows(&mut self, status: &str) {
        self.browser.see(POPUP, STATUS, status).await;
    }

    async fn status(&mut self) -> Option<String> {
        self.browser.text(POPUP, STATUS).await
    }

    /// Simulates a power failure: kills the browser and starts it again.
    async fn power_failure(self) -> Desk<'a> {
        let Desk { kit, profile, browser, user } = self;
        browser.kill().await;
        let mut browser = Browser::start(kit, profile.path()).await;
        browser.open(POPUP, POPUP).await;
        Desk { kit, profile, browser, user }
    }
}

/// Returns the workstations as (working, standby) once both are connected. The first to reconnect after its pause
/// gets the lease.
async fn at_work<'a>(mut one: Desk<'a>, mut two: Desk<'a>) -> (Desk<'a>, Desk<'a>) {
    let first_works = until("one working and one standby workstation", async || {
        match (one.status().await.as_deref(), two.status().await.as_deref()) {
            (Some("Connected"), Some("Standing by")) => Some(true),
            (Some("Standing by"), Some("Connected")) => Some(false),
            _ => None,
        }
    });
    if first_works.await { (one, two) } else { (two, one) }
}

/// Bookings made so far, and the remaining slots.
struct Bookings {
    caller: Caller,
    offers: Vec<String>,
    made: Vec<(String, String)>,
}

impl Bookings {
    async fn new(product: &GatedProcess) -> Bookings {
        let mut caller = product.caller().await;
        let mut offers = process::offers(&mut caller, LOCATION, usize::MAX).await.unwrap();
        // Distant slots first.
        offers.reverse();
        Bookings { caller, offers, made: Vec::new() }
    }

    async fn make(&mut self, product: &GatedProcess, count: usize) {
        for _ in 0..count {
            let n = self.made.len() + 1;
            let note = format!("booking <{n}>");
            let body = process::booking(&self.offers.pop().unwrap(), &note, n as u64, &note);
            let (status, answer) = self.caller.post(&product.path("/intent/booking/book"), &body).await.unwrap();
            assert_eq!(status, 200, "{answer}");
            self.made.push((answer["booking"]["booking_ref"].as_str().unwrap().to_owned(), note));
        }
    }

    /// Counts the bookings in the EHR and asserts that none is there twice.
    fn written(&self, ehr: &CloudEhr) -> usize {
        let all = ehr.appointments();
        let copies =
            |note: &str| all.iter().filter(|it| it.note.as_deref().is_some_and(|it| it.contains(note))).count();
        let counts: Vec<usize> = self.made.iter().map(|(_, note)| copies(note)).collect();
        assert!(counts.iter().all(|copies| *copies <= 1), "{counts:?}");
        counts.into_iter().sum()
    }

    async fn written_at_least(&self, product: &GatedProcess, count: usize) {
        until(&format!("{count} bookings in the EHR"), async || (self.written(&product.ehr) >= count).then_some(()))
            .await;
    }

    /// Waits until all bookings are confirmed, and checks that each is in the EHR once, for one patient.
    async fn are_complete(&mut self, product: &GatedProcess) {
        self.written_at_least(product, self.made.len()).await;
        for (reference, note) in &self.made {
            let path = format!("{}&booking_ref={reference}", product.path("/intent/booking/status"));
            let caller = &mut self.caller;
            until(&format!("{note} to be confirmed"), async || {
                let (_, answer) = caller.get(&path).await.unwrap();
                let standing = answer["booking"]["ehr_writeback"].as_str().unwrap().to_owned();
                assert_ne!(standing, "failed", "{answer}");
                (standing == "confirmed").then_some(())
            })
            .await;
        }
        assert_eq!(self.written(&product.ehr), self.made.len());
        let ours = product.ehr.appointments();
        let ours: Vec<_> =
            ours.iter().filter(|it| it.note.as_deref().is_some_and(|it| it.contains("booking <"))).collect();
        assert_eq!(ours.len(), self.made.len());
        assert!(ours.iter().all(|it| it.status != AppointmentStatus::Cancelled));
        let patients: BTreeSet<_> = ours.iter().filter_map(|it| it.patient.clone()).collect();
        let new: Vec<_> =
            product.ehr.patients().into_iter().filter(|it| it.last_name.starts_with("Ångström-")).collect();
        assert_eq!((patients.len(), new.len()), (self.made.len(), self.made.len()), "patients are written once, too");
    }
}

async fn product(more: &str) -> GatedProcess {
    let settings = CloudEhrSettings { calls_per_minute: None, ..CloudEhrSettings::default() };
    let program = binary();
    GatedProcess::open_on(program, &format!("{RULES}{more}"), CloudEhr::start(settings).unwrap()).await
}

#[actix::test]
async fn every_booking_is_in_the_ehr_once_after_a_day_of_failures() {
    let Some(kit) = chromium::kit().await else { return };
    let mut product = product("").await;

    // The first workstation is paired; the gate opens with a login.
    let mut front = Desk::set_up(kit, &product, "Front desk", "frontdesk").await;
    front.browser.picture(POPUP, "practice-1-paired").await;
    front.log_in(&product).await;
    front.shows("Connected").await;
    product.read().await;
    let mut bookings = Bookings::new(&product).await;
    front.log_out().await;
    front.shows("Logged out").await;
    product.gate_is(LOCATION, "logged_out").await;

    // Bookings wait while the user is logged out and are written after the next login. The user logs out in the
    // middle.
    bookings.make(&product, 10).await;
    assert_eq!(bookings.written(&product.ehr), 0);
    front.log_in(&product).await;
    bookings.written_at_least(&product, 1).await;
    front.browser.see(POPUP, "#last", "Written").await;
    front.browser.picture(POPUP, "practice-2-drains").await;
    // More bookings, so that some still wait at the logout even if the screenshot took long.
    bookings.make(&product, 8).await;
    front.log_out().await;
    front.shows("Logged out").await;
    product.gate_is(LOCATION, "logged_out").await;
    let interrupted = bookings.written(&product.ehr);
    assert!(interrupted < bookings.made.len(), "the logout came in the middle");

    // Another workstation continues; the first one returns as standby.
    let mut hygiene = Desk::set_up(kit, &product, "Hygiene", "hygiene").await;
    assert_eq!(bookings.written(&product.ehr), interrupted, "nothing is written while no user is logged in");
    hygiene.log_in(&product).await;
    hygiene.shows("Connected").await;
    front.log_in(&product).await;
    front.shows("Standing by").await;
    front.browser.picture(POPUP, "practice-3-stands-by").await;
    bookings.written_at_least(&product, interrupted + 1).await;

    // The engine crashes and restarts.
    bookings.make(&product, 4).await;
    let so_far = bookings.written(&product.ehr);
    assert!(so_far < bookings.made.len(), "the engine dies in the middle");
    product.crash().await.unwrap();
    bookings.caller = product.caller().await;
    bookings.written_at_least(&product, so_far + 1).await;

    // The working computer loses power; the other one takes over.
    let (holder, mut other) = at_work(front, hygiene).await;
    bookings.make(&product, 4).await;
    let so_far = bookings.written(&product.ehr);
    assert!(so_far < bookings.made.len(), "the power fails in the middle");
    let mut holder = holder.power_failure().await;
    other.shows("Connected").await;
    bookings.are_complete(&product).await;

    // The computer that was off is still paired and becomes the standby.
    holder.browser.see(POPUP, "#location", "Place 201").await;
    holder.log_in(&product).await;
    holder.shows("Standing by").await;
    other.browser.see(POPUP, "#waiting", "Nothing waits").await;
    other.browser.picture(POPUP, "practice-4-done").await;
    let all = product.ehr.appointments();
    let last = all.iter().rfind(|it| it.note.as_deref().is_some_and(|it| it.contains("booking <"))).unwrap();
    let day = product.ehr.practice().local(last.start).date_naive();
    other.browser.open(EHR, &format!("{}/app/schedule?day={day}", product.ehr.origin())).await;
    other.browser.see(EHR, "main", "Ångström-").await;
    other.browser.picture(EHR, "practice-5-ehr").await;
    other.log_out().await;
    holder.shows("Connected").await;
    bookings.make(&product, 1).await;
    bookings.are_complete(&product).await;
    holder.browser.close().await;
    product.gate_is(LOCATION, "logged_out").await;
    other.browser.close().await;
    product.gate_is(LOCATION, "closed").await;
}

#[actix::test]
async fn staff_approve_and_decline_writes() {
    let Some(kit) = chromium::kit().await else { return };
    let product = product(APPROVAL).await;
    let mut front = Desk::set_up(kit, &product, "Front desk", "frontdesk").await;
    front.log_in(&product).await;
    front.shows("Connected").await;
    product.read().await;
    let mut bookings = Bookings::new(&product).await;
    bookings.make(&product, 2).await;
    front.shows("Your approval is needed").await;
    product.gate_is(LOCATION, "waiting_for_approval").await;
    assert_eq!(product.ehr.patients().iter().filter(|it| it.last_name.starts_with("Ångström-")).count(), 0);
    front.browser.see(POPUP, "#approvals-title", "(2)").await;
    front.browser.picture(POPUP, "approval-1-asked").await;
    // Each write of a booking is approved separately: the patient first, then the appointment.
    until("both bookings", async || {
        front.browser.press(POPUP, "#approve-all").await;
        (bookings.written(&product.ehr) == 2).then_some(())
    })
    .await;
    bookings.are_complete(&product).await;

    bookings.make(&product, 1).await;
    front.shows("Your approval is needed").await;
    front.browser.click(POPUP, "#approvals-list li button:last-child").await;
    let (reference, _) = bookings.made.pop().unwrap();
    let path = format!("{}&booking_ref={reference}", product.path("/intent/booking/status"));
    let declined = until("the booking to fail", async || {
        let (_, answer) = product.caller().await.get(&path).await.unwrap();
        (answer["booking"]["ehr_writeback"] == json!("failed")).then_some(answer)
    })
    .await;
    assert!(declined.to_string().contains("staff"), "{declined}");
    bookings.are_complete(&product).await;
}

#[actix::test]
async fn visit_is_confirmed_rescheduled_twice_and_cancelled_in_the_ehr() {
    let Some(kit) = chromium::kit().await else { return };
    let product = product("").await;
    let mut front = Desk::set_up(kit, &product, "Front desk", "frontdesk").await;
    front.log_in(&product).await;
    front.shows("Connected").await;
    product.read().await;
    let mut story = VisitLife { caller: product.caller().await, location: LOCATION, search: json!({"days": 14}) };
    story.run(async |last_name: &str| visits(&product.ehr, last_name)).await;
    assert_eq!(product.installation.panics().unwrap(), [""; 0]);
    front.browser.close().await;
}

/// Returns the visits of the patients with a last name, as the EHR has them.
fn visits(ehr: &CloudEhr, last_name: &str) -> Vec<StoryVisit> {
    let patients = ehr.patients().into_iter().filter(|patient| patient.last_name == last_name);
    let patients: BTreeSet<String> = patients.map(|patient| patient.id).collect();
    let mut visits = Vec::new();
    for it in ehr.appointments() {
        let Some(patient) = it.patient.filter(|id| patients.contains(id)) else { continue };
        visits.push(StoryVisit {
            id: it.id,
            patient,
            start: DateTime::from_timestamp(it.start, 0).unwrap(),
            confirmed: it.status == AppointmentStatus::Confirmed,
            cancelled: it.status == AppointmentStatus::Cancelled,
        });
    }
    visits
}
