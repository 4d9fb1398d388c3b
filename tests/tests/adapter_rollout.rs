//! An operator uploads an adapter version to a running server, rolls it out to a location and rolls it back.

use std::{fs, process::Command};

use location::zone::Date;
use sandbox_ehr::Control;
use serde_json::{Value, json};
use testing::until;
use tests::harness::{
    components::packed,
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{HASTY, Installation, LOCATIONS, OPERATOR_TOKEN, SUBDOMAIN, binary},
};

struct Operator<'a> {
    at: &'a Installation,
}

impl Operator<'_> {
    /// Runs an `adapter` command and returns its success and output.
    fn types(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(binary());
        command.arg("adapter").args(arguments).args(["--server", &format!("http://{}", self.at.operators)]);
        let output = command.env("PRACTICE_SYNC_TOKEN", OPERATOR_TOKEN).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.success(), text)
    }

    fn does(&self, arguments: &[&str]) -> String {
        let (well, text) = self.types(arguments);
        assert!(well, "{arguments:?}: {text}");
        text
    }

    fn is_refused(&self, arguments: &[&str], why: &str) {
        let (well, text) = self.types(arguments);
        assert!(!well && text.contains(why), "{arguments:?}: {why}: {text}");
    }

    /// Returns the adapter version that a location runs.
    async fn version_at(&self, location: u32) -> String {
        let mut caller = self.at.operator().await.unwrap();
        // After a start, the adapter is prepared first.
        until("an adapter that is ready", async || {
            let (status, status_view) = caller.get(&format!("/locations/{location}/sync")).await.unwrap();
            assert_eq!(status, 200, "{status_view}");
            status_view["data"]["adapter"]["version"].as_str().map(str::to_owned)
        })
        .await
    }

    /// Checks the costs of a booking, per location in the API and per adapter in the metrics. A new patient is a
    /// separate write, and each write has at least one request.
    async fn sees_the_costs_of_a_booking(&self, location: u32) {
        let mut caller = self.at.operator().await.unwrap();
        let (_, status_view) = caller.get(&format!("/locations/{location}/sync")).await.unwrap();
        let calls = status_view["data"]["adapter_calls"].as_array().unwrap();
        let push = calls.iter().find(|calls| calls["call"] == "push").unwrap();
        assert!(push["answered"].as_u64() >= Some(2) && push["requests"].as_u64() >= Some(2), "{push}");
        assert!(push["sent_bytes"].as_u64() > Some(0) && push["memory_bytes"].as_u64() > Some(0), "{push}");
        assert!(calls.iter().any(|calls| calls["call"] == "describe"), "{status_view}");

        let metrics = self.at.metrics().await.unwrap();
        let value = |name: &str, labels: &str| -> f64 {
            let name = format!("practice_sync_adapter_{name}{{adapter=\"sandbox\",call=\"push\"{labels}}} ");
            let found = metrics.lines().find_map(|line| line.strip_prefix(&name));
            found.unwrap_or_else(|| panic!("{name} is missing in {metrics}")).parse().unwrap()
        };
        assert!(value("ended_total", ",outcome=\"answered\"") >= 2.0);
        assert!(value("requests_total", "") >= 2.0 && value("processor_seconds_total", "") > 0.0);
        assert!(value("call_seconds_sum", "") >= value("processor_seconds_total", ""));
    }
}

/// Books an appointment and waits until the EHR has it.
async fn books(caller: &mut Caller, location: u32) {
    let at = |route: &str| format!("{route}?subdomain={SUBDOMAIN}&location_id={location}");
    let start = Date(fixtures::today()).add_days(2).to_string();
    let asked = json!({"start_date": start, "days": 7, "limit": 1});
    let found = until("slots", async || {
        let (status, found) = caller.post(&at("/intent/booking/search"), &asked).await.unwrap();
        (status == 200).then_some(found)
    });
    let slot = found.await["slots"][0]["slot_token"].clone();
    let patient = json!({"first_name": "Zoë", "last_name": "Łopata", "date_of_birth": "1990-02-28",
        "phone_number": "+1 312 555 0100", "email": "zoe@mail.example"});
    let body = json!({"slot_token": slot, "idempotency_key": format!("at-{location}"), "patient": patient});
    let (status, made) = caller.post(&at("/intent/booking/book"), &body).await.unwrap();
    assert_eq!(status, 200, "{made}");
    let path = format!("/appointments/{}?subdomain={SUBDOMAIN}", made["booking"]["appointment_id"]);
    until("the EHR to have it", async || {
        let (_, shown) = caller.get(&path).await.unwrap();
        (shown["data"]["appt"]["ehr_writeback"] == "confirmed" || shown["data"]["ehr_writeback"] == "confirmed")
            .then_some(())
    })
    .await;
}

#[actix::test]
async fn version_is_uploaded_rolled_out_and_rolled_back_at_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::small_profile(7)).unwrap();
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
    let process = installation.start().await.unwrap();
    let operator = Operator { at: &installation };
    let [(main, ..), (lakeside, ..)] = LOCATIONS;

    // A file that is not a version of this adapter is refused with the reason and not stored.
    let garbage = dir.path().join("garbage.wasm");
    fs::write(&garbage, "hello").unwrap();
    operator.is_refused(&["upload", "sandbox", garbage.to_str().unwrap()], "ot a component");
    let other = packed(dir.path(), "other", "2.0.0");
    operator
        .is_refused(&["upload", "sandbox", other.to_str().unwrap()], "t is the adapter other, and sandbox is sandbox");
    operator.is_refused(&["upload", "nobody", other.to_str().unwrap()], "404");
    assert!(!operator.does(&["versions"]).contains("  version "));

    let file = packed(dir.path(), "sandbox", "2.0.0");
    let text = operator.does(&["upload", "sandbox", file.to_str().unwrap()]);
    let sha256 = text.split_whitespace().last().unwrap().to_owned();
    assert!(text.starts_with("sandbox 2.0.0  ") && sha256.len() == 64, "{text}");
    assert_eq!(operator.does(&["upload", "sandbox", file.to_str().unwrap()]), text, "the same again changes nothing");
    assert_eq!(operator.version_at(main).await, "0.1.0", "no location runs it yet");

    // A dry run, then the rollout to the chosen location.
    let main_text = main.to_string();
    let text = operator.does(&["rollout", &sha256, &main_text, "--dry-run"]);
    assert!(text.contains(&format!("location {main} would run {sha256}")), "{text}");
    assert_eq!(operator.version_at(main).await, "0.1.0");
    operator.does(&["rollout", &sha256, &main_text]);
    assert_eq!(
        (operator.version_at(main).await, operator.version_at(lakeside).await),
        ("2.0.0".into(), "0.1.0".into())
    );
    let mut caller = installation.sign_in().await.unwrap();
    books(&mut caller, main).await;
    operator.sees_the_costs_of_a_booking(main).await;
    let listed = operator.does(&["versions"]);
    assert!(
        listed.contains(&format!("location {main} {sha256}"))
            && listed.contains(&format!("location {lakeside} configured")),
        "{listed}"
    );

    // A failed trial changes nothing.
    let down = |how: Value| Control::Switch([("down".to_owned(), how)].into_iter().collect());
    ehr.ehr().control(down(json!({"until_ms": i64::MAX, "how": "broken"}))).unwrap();
    operator.is_refused(
        &["rollout", &sha256, &lakeside.to_string()],
        "The trial failed and nothing was changed. describe: ",
    );
    ehr.ehr().control(down(Value::Null)).unwrap();
    assert_eq!(operator.version_at(lakeside).await, "0.1.0");
    operator.is_refused(&["rollout", &"ab".repeat(32), &main_text], "404");
    operator.is_refused(&["rollback", &lakeside.to_string()], "has no earlier roll-out");

    // The version survives a restart. `rollback` reverts it, and a second `rollback` restores it.
    process.stop().unwrap();
    let process = installation.start().await.unwrap();
    assert_eq!(
        (operator.version_at(main).await, operator.version_at(lakeside).await),
        ("2.0.0".into(), "0.1.0".into())
    );
    assert!(operator.does(&["rollback", &main_text]).contains("runs configured"));
    assert_eq!(operator.version_at(main).await, "0.1.0");
    operator.does(&["rollback", &main_text]);
    assert_eq!(operator.version_at(main).await, "2.0.0");
    operator.does(&["rollout", "configured", &main_text]);
    assert_eq!(operator.version_at(main).await, "0.1.0");

    // Clients cannot select a version: the route does not exist on their port.
    let mut client = installation.sign_in().await.unwrap();
    let body = json!({"version": sha256});
    let (status, answer) = client.post(&format!("/locations/{main}/adapter"), &body).await.unwrap();
    assert_eq!((status, &answer["data"]), (404, &Value::Null), "{answer}");
    assert_eq!(installation.panics().unwrap(), [""; 0]);
    drop(process);
}
