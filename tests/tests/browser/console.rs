//! The console in a real browser: every page at two widths and in both themes, every action, by keyboard, and live.

use std::{collections::BTreeSet, process::Command};

use cloud_ehr::{CloudEhr, CloudEhrSettings};
use parking_lot::Mutex;
use sandbox_ehr::{Control, Profile, records::Resource};
use serde_json::{Value, json};
use tests::harness::{
    chromium::{self, Browser},
    components::packed,
    ehr_server::EhrServer,
    fixtures,
    process::{self, HASTY, Installation, LOCATIONS, OPERATOR_TOKEN, binary},
    workstation::gated_process::{GatedProcess, LOCATION},
};

const PAGE: &str = "console";
const MAIN: &str = "main";
/// The pages whose usability a test of this process has checked. Several tests lead through the same pages.
static CHECKED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

struct Desk {
    browser: Browser,
    base: String,
    // Removed at the end of the test.
    _profile: tempfile::TempDir,
}

impl Desk {
    async fn signed_in(kit: &chromium::Kit, base: String) -> Desk {
        let profile = tempfile::tempdir().unwrap();
        let browser = Browser::start(kit, profile.path()).await;
        let mut desk = Desk { browser, base, _profile: profile };
        desk.open("/console").await;
        desk.looks_well("sign-in").await;
        desk.browser.type_into(PAGE, "#token", "pso_wrong").await;
        desk.browser.follow(PAGE, "form button").await;
        desk.browser.see(PAGE, "#problem", "not the token of an operator").await;
        desk.browser.type_into(PAGE, "#token", OPERATOR_TOKEN).await;
        desk.browser.follow(PAGE, "form button").await;
        desk.browser.see(PAGE, "h1", "Fleet").await;
        desk
    }

    async fn open(&mut self, path: &str) {
        let url = format!("{}{path}", self.base);
        self.browser.open(PAGE, &url).await;
    }

    /// Checks usability at both widths and in both themes, and saves screenshots, unless another test has done so.
    async fn looks_well(&mut self, name: &str) {
        if CHECKED.lock().insert(name.to_owned()) {
            for (width, theme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
                self.browser.dress(PAGE, width, theme).await;
                self.browser.is_usable(PAGE).await;
                self.browser.picture(PAGE, &format!("console-{name}-{width}-{theme}")).await;
            }
        }
        self.browser.dress(PAGE, 1280, "light").await;
    }

    /// Follows a link and confirms the action.
    async fn act(&mut self, link: &str, name: &str) {
        self.browser.follow(PAGE, link).await;
        self.looks_well(&format!("asks-{name}")).await;
        self.browser.follow(PAGE, "main form button").await;
    }

    async fn sees(&mut self, selector: &str, text: &str) {
        self.browser.see(PAGE, selector, text).await;
    }
}

#[actix::test]
async fn operators_monitor_and_manage_the_fleet() {
    let Some(kit) = chromium::kit().await else { return };
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(4)).unwrap(), tempfile::tempdir().unwrap());
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let (location, ..) = LOCATIONS[0];
    let endpoint = json!({"target_url": "https://127.0.0.1:9/hook?secret=1"});
    let (_, made) = caller.post("/webhook_endpoints", &endpoint).await.unwrap();
    let endpoint = made["data"]["id"].to_string();
    caller.post(&format!("/webhook_endpoints/{endpoint}/test"), &json!({})).await.unwrap();

    let mut desk = Desk::signed_in(kit, format!("http://{}", installation.operators)).await;
    desk.sees(MAIN, "main-street").await;
    desk.looks_well("fleet").await;
    desk.open(&format!("/console/locations/{location}")).await;
    desk.sees("[data-part=health]", "green").await;

    // With the keyboard alone: past the navigation to the content.
    desk.browser.press_key(PAGE, "Tab").await;
    assert_eq!(desk.browser.focused(PAGE).await, "Skip to the content");
    desk.browser.press_key(PAGE, "Enter").await;
    let mut on_the_way = Vec::new();
    while on_the_way.last().is_none_or(|focused| focused != "Read now") {
        desk.browser.press_key(PAGE, "Tab").await;
        on_the_way.push(desk.browser.focused(PAGE).await);
        assert!(on_the_way.len() < 15, "{on_the_way:?}");
    }
    assert_eq!(on_the_way[0], "Health", "the sections of the page come first");

    // Writing is paused: bookings wait, and the open page shows the pause.
    desk.act("[href*='actions/pause'][href*=writing]", "pause").await;
    desk.sees(".done", "paused").await;
    desk.sees("[data-part=health]", "an operator paused writing").await;
    let offers = process::offers(&mut caller, location, 1).await.unwrap();
    let body = process::booking(&offers[0], "console", 1, "of the console's test");
    let (status, booked) = caller.post(&process::path("/intent/booking/book", location), &body).await.unwrap();
    assert_eq!(status, 200, "{booked}");
    desk.sees("[data-part=queue]", "parked").await;
    let day = booked["booking"]["start_iso"].as_str().map_or(String::new(), |start| start[..10].to_owned());
    desk.open(&format!("/console/locations/{location}?day={day}")).await;
    desk.looks_well("location").await;
    desk.open(&format!("/console/search?q={}", booked["booking"]["booking_ref"].as_str().unwrap())).await;
    desk.looks_well("search").await;
    desk.open(&format!("/console/locations/{location}")).await;
    desk.act("[data-part=queue] [href*='actions/drop']", "drop").await;
    desk.sees(".done", "dropped").await;
    desk.looks_well("write").await;
    desk.open(&format!("/console/locations/{location}")).await;
    desk.sees("[data-part=queue]", "dropped by an operator").await;
    desk.act("[href*='actions/resume']", "resume").await;
    desk.sees("[data-part=health]", "Pause writing").await;
    desk.act("[href*='actions/sync']", "sync").await;
    desk.sees(".done", "Reading begins").await;

    desk.open("/console/webhooks").await;
    desk.looks_well("webhooks").await;
    desk.open(&format!("/console/webhooks/{endpoint}")).await;
    desk.looks_well("webhook").await;
    // New messages and new audit entries appear without a reload.
    caller.post(&format!("/webhook_endpoints/{endpoint}/test"), &json!({})).await.unwrap();
    desk.sees("[data-part=deliveries] tbody tr:nth-child(2)", "webhook_endpoint.test").await;
    let (_, listed) = caller.get(&process::path("/patients", location)).await.unwrap();
    let patient = listed["data"].as_array().and_then(|all| all.last()).unwrap()["id"].to_string();
    desk.open("/console/audit").await;
    desk.sees("#live", "Live").await;
    let (status, _) = caller.get(&process::path(&format!("/patients/{patient}"), location)).await.unwrap();
    assert_eq!(status, 200);
    desk.sees("[data-part=entries]", &format!("read patient {patient}")).await;
    desk.open(&format!("/console/webhooks/{endpoint}")).await;
    desk.act("[href*='actions/redeliver?']", "redeliver").await;
    desk.sees(".done", "sent again").await;
    for page in ["adapters", "audit"] {
        desk.open(&format!("/console/{page}")).await;
        desk.looks_well(page).await;
    }
    desk.sees(MAIN, "drop write request").await;
    desk.browser.follow(PAGE, ".who button").await;
    desk.sees("h1", "practice-sync console").await;
    desk.open("/console").await;
    desk.sees("h1", "practice-sync console").await;
    desk.browser.close().await;
}

/// Operators see failures and repair them from the page that shows them.
#[actix::test]
async fn operators_repair_failures() {
    let Some(kit) = chromium::kit().await else { return };
    // The guard holds back only many deletions. The last seven days always have working days with charges.
    let profile = Profile { days_back: 7, ..fixtures::small_profile(4) };
    let (ehr, dir) = (EhrServer::start(profile).unwrap(), tempfile::tempdir().unwrap());
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
    let _process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let switch = |name: &str, how: Value| Control::Switch([(name.to_owned(), how)].into_iter().collect());
    let (location, ..) = LOCATIONS[0];
    let page = format!("/console/locations/{location}");
    let mut desk = Desk::signed_in(kit, format!("http://{}", installation.operators)).await;
    desk.open(&page).await;
    desk.sees("[data-part=errors]", "No errors since").await;

    // A write that the EHR refuses appears on the open page and is retried.
    let refuse = json!([{"write": "create_patient", "times": 1, "code": "no_more_teeth"}]);
    ehr.ehr().control(switch("reject", refuse)).unwrap();
    let offers = process::offers(&mut caller, location, 1).await.unwrap();
    let body = process::booking(&offers[0], "refused", 1, "of the console's test");
    let (status, booked) = caller.post(&process::path("/intent/booking/book", location), &body).await.unwrap();
    assert_eq!(status, 200, "{booked}");
    desk.sees("[data-part=queue]", "the EHR refuses it: no_more_teeth").await;
    desk.sees("[data-part=errors]", "the EHR refuses it: no_more_teeth").await;
    desk.looks_well("failed-write").await;
    desk.act("[data-part=queue] tbody tr:last-child [href*='actions/retry']", "retry").await;
    desk.sees(".done", "queued again").await;
    desk.sees(MAIN, "by an operator, as").await;
    desk.open(&page).await;
    desk.sees("[data-part=queue]", "retried").await;
    desk.sees("[data-part=queue]", "done").await;

    // Deletions that were held back are accepted.
    ehr.ehr().control(Control::MassDelete { resource: Resource::Charges, percent: 80 }).unwrap();
    desk.act("[href*='actions/sync']", "sync").await;
    desk.sees("[data-part=cycle]", "stopped").await;
    desk.sees("[data-part=errors]", "deleted").await;
    desk.looks_well("stopped-deletions").await;
    desk.act("[href*='actions/accept-deletions']", "accept").await;
    desk.sees(".done", "accepted").await;
    desk.sees("[data-part=health]", "green").await;

    // The location turns red while the EHR is down, and the filter finds it.
    ehr.ehr().control(switch("down", json!({"until_ms": i64::MAX, "how": "broken"}))).unwrap();
    desk.act("[href*='actions/sync']", "sync").await;
    desk.sees("[data-part=health]", "red").await;
    desk.open("/console").await;
    desk.sees("[data-part=fleet] .bad", "Red").await;
    desk.browser.follow(PAGE, "[href='/console?state=not-reading']").await;
    desk.sees("[data-part=rows]", "main-street").await;
    desk.looks_well("fleet-red").await;
    ehr.ehr().control(switch("down", Value::Null)).unwrap();
    desk.browser.close().await;
}

/// One location runs a new version of its adapter, the other one does not. Then the version is rolled back.
#[actix::test]
async fn operators_roll_an_adapter_out_and_back() {
    let Some(kit) = chromium::kit().await else { return };
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(7)).unwrap(), tempfile::tempdir().unwrap());
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
    let _process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    let mut upload = Command::new(binary());
    upload.args(["adapter", "upload", "sandbox"]).arg(packed(dir.path(), "sandbox", "2.0.0"));
    upload.args(["--server", &format!("http://{}", installation.operators)]);
    assert!(upload.env("PRACTICE_SYNC_TOKEN", OPERATOR_TOKEN).status().unwrap().success());

    let [(main, ..), (lakeside, ..)] = LOCATIONS;
    let mut desk = Desk::signed_in(kit, format!("http://{}", installation.operators)).await;
    desk.open(&format!("/console/locations/{main}")).await;
    desk.sees("[data-part=adapter]", "sandbox 0.1.0").await;
    assert!(!desk.browser.text(PAGE, "[data-part=adapter]").await.unwrap().contains("Roll back"), "to what?");
    desk.looks_well("adapter-offered").await;
    // A failed trial changes nothing and shows the reason.
    let down = |how: Value| Control::Switch([("down".to_owned(), how)].into_iter().collect());
    ehr.ehr().control(down(json!({"until_ms": i64::MAX, "how": "broken"}))).unwrap();
    desk.act("[href*='actions/roll-out']", "roll-out").await;
    desk.sees("main", "The trial failed and nothing was changed").await;
    desk.looks_well("trial-failed").await;
    ehr.ehr().control(down(Value::Null)).unwrap();

    desk.open(&format!("/console/locations/{main}")).await;
    desk.act("[href*='actions/roll-out']", "roll-out").await;
    desk.sees("main", "The location runs it now.").await;
    desk.looks_well("rolled-out").await;
    desk.open("/console/adapters").await;
    desk.sees("[data-part=adapters] tbody tr:nth-child(2)", "main-street").await;
    desk.looks_well("adapters-rolled-out").await;
    desk.open(&format!("/console/locations/{lakeside}")).await;
    desk.sees("[data-part=adapter]", "sandbox 0.1.0").await;
    desk.open(&format!("/console/locations/{main}")).await;
    desk.sees("[data-part=adapter]", "sandbox 2.0.0").await;
    desk.act("[href*='actions/roll-back']", "roll-back").await;
    desk.sees(".done", "taken back").await;
    desk.sees("[data-part=adapter]", "sandbox 0.1.0").await;
    desk.browser.close().await;
}

#[actix::test]
async fn operators_pair_workstations_and_revoke_them() {
    let Some(kit) = chromium::kit().await else { return };
    let settings = CloudEhrSettings { calls_per_minute: None, ..CloudEhrSettings::default() };
    // A short patience, so that a missing workstation is reported soon.
    let rules = format!("{HASTY}\n[defaults.workstation]\npatience = \"2s\"\n");
    let product = GatedProcess::open_on(binary(), &rules, CloudEhr::start(settings).unwrap()).await;
    let workstation = product.pair(LOCATION, "Front desk").await;
    let running = workstation.start().await.unwrap();
    product.log_in(&workstation);
    running.state(true, false);
    product.read().await;
    let mut desk = Desk::signed_in(kit, format!("http://{}", product.installation.operators)).await;
    desk.open(&format!("/console/locations/{LOCATION}")).await;
    desk.sees("[data-part=gate]", "serves the location").await;
    desk.looks_well("gated-location").await;
    desk.act("[href*='actions/pair']", "pair").await;
    desk.sees(".code", "-").await;
    desk.looks_well("pairing-code").await;
    desk.open(&format!("/console/locations/{LOCATION}")).await;
    desk.act("[href*='actions/revoke']", "revoke").await;
    desk.sees("[data-part=gate]", "No workstation is paired.").await;
    desk.sees("[data-part=errors]", "no staff workstation is connected").await;
    desk.browser.close().await;
}
