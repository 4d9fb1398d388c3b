//! `check-client` replays a client's calls. It accepts every documented example, and reports calls of another
//! system's client as refused or ignored, with the remedy.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output},
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use testing::until;
use tests::harness::{
    components::root,
    ehr_server::EhrServer,
    fixtures,
    process::{self, API_KEY, Installation, LOCATIONS, SUBDOMAIN, binary},
};

/// Calls that no EHR supports through this API.
const NOT_SUPPORTED: [&str; 2] = ["POST /conversations/{id}/messages", "POST /patients/{id}/documents"];

/// Time limit for the demo, which may have to build its adapter first.
const ADAPTER_BUILT: Duration = Duration::from_secs(400);

struct CheckOutput {
    code: Option<i32>,
    output: String,
}

async fn checked(recording: &str, more: &[&str]) -> CheckOutput {
    let dir = tempfile::tempdir().unwrap();
    let ehr = EhrServer::start(fixtures::profile(11)).unwrap();
    let installation = Installation::new(binary(), dir.path(), &ehr.url(), "").unwrap();
    let process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    let file = dir.path().join("recording");
    fs::write(&file, recording).unwrap();
    let mut command = Command::new(binary());
    command.arg("check-client").arg(file).args(["--url", &format!("http://{}", installation.address)]);
    command.env("PRACTICE_SYNC_KEY", API_KEY).args(["--subdomain", SUBDOMAIN]).args(more);
    for (location, ..) in LOCATIONS {
        command.args(["--location", &location.to_string()]);
    }
    let Output { status, stdout, stderr } =
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    process.stop().unwrap();
    ehr.stop().await;
    CheckOutput { code: status.code(), output: String::from_utf8([stdout, stderr].concat()).unwrap() }
}

/// Returns each documented call with all of its examples.
fn documented() -> Vec<Value> {
    let document: Value = serde_json::from_slice(&fs::read(root().join("api/openapi/clients.json")).unwrap()).unwrap();
    let resolved = |value: &Value| {
        value["$ref"]
            .as_str()
            .map_or(value.clone(), |path| document.pointer(path.trim_start_matches('#')).unwrap().clone())
    };
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let key = operation["security"][0]["api_key"].is_array();
            let authorization = if key { "psk_of_another_system" } else { "Bearer abc" };
            let mut headers = Map::from_iter([
                ("User-Agent".to_owned(), json!("recorded/1.0")),
                ("Authorization".to_owned(), json!(authorization)),
            ]);
            let (mut path, mut query) = (path.clone(), Vec::new());
            for parameter in operation["parameters"].as_array().unwrap().iter().map(resolved) {
                let name = parameter["name"].as_str().unwrap();
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let Some(example) = parameter.get("example") else { continue };
                match parameter["in"].as_str().unwrap() {
                    "path" => path = path.replace(&format!("{{{name}}}"), &text(example)),
                    // A conditional request would return 304.
                    "header" if name == "If-None-Match" => {}
                    "header" => drop(headers.insert(name.to_owned(), json!(text(example)))),
                    _ => match example.as_array() {
                        Some(all) => query.extend(all.iter().map(|one| format!("{name}={}", encoded(&text(one))))),
                        None => query.push(format!("{name}={}", encoded(&text(example)))),
                    },
                }
            }
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            // Each call is a separate attempt with its own key.
            if headers.contains_key("Idempotency-Key") {
                headers.insert("Idempotency-Key".to_owned(), json!(format!("recorded-{}", calls.len())));
            }
            let path = format!("{path}?{}", query.join("&"));
            calls.push(json!({"method": method, "path": path, "headers": headers, "body": body}));
        }
    }
    calls
}

fn encoded(text: &str) -> String {
    reqwest::Url::parse_with_params("http://x", [("v", text)]).unwrap().query().unwrap()[2..].to_owned()
}

#[actix::test]
async fn documented_examples_are_accepted() {
    let calls = documented();
    assert!(calls.len() > 100, "{}", calls.len());
    let recording: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let CheckOutput { code, output } = checked(&recording, &["--json"]).await;
    let report: Value = serde_json::from_str(&output).unwrap_or_else(|wrong| panic!("{wrong}: {output}"));
    let endpoints = report["endpoints"].as_object().unwrap();
    assert_eq!(endpoints.len(), calls.len(), "{output}");
    let refused: Vec<String> = endpoints
        .iter()
        .filter(|(name, _)| !NOT_SUPPORTED.contains(&name.as_str()))
        .filter(|(_, it)| it["refusals"] != json!([]) || it["ignored"] != json!({}))
        .map(|(name, it)| format!("{name}: {it}"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    for name in NOT_SUPPORTED {
        assert_eq!(endpoints[name]["accepted"], 0, "{name} is supported now");
    }
    assert_eq!(code, Some(1), "{output}");
    let accepted = endpoints.values().filter(|it| it["accepted"] == 1).count();
    assert!(accepted * 2 > calls.len(), "{accepted} of {} examples were accepted", calls.len());
}

#[actix::test]
async fn client_of_another_system_gets_the_required_changes() {
    let call = |method: &str, url: &str, headers: Value, body: Value, status: u16| {
        let headers: Vec<Value> =
            headers.as_object().unwrap().iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let mut request =
            json!({"method": method, "url": format!("https://api.other.example{url}"), "headers": headers});
        if !body.is_null() {
            request["postData"] = json!({"mimeType": "application/json", "text": body.to_string()});
        }
        json!({"request": request, "response": {"status": status}})
    };
    let good = json!({"svc-api-version": "v3.0.0", "user-agent": "theirs/2.0", "authorization": "Bearer old", "cookie": "a=b"});
    let raw = json!({"svc-api-version": "v3.0.0", "user-agent": "theirs/2.0", "authorization": "old-key"});
    let entries = [
        call("GET", "/v1/patients?subdomain=theirs&location_id=9001&colour=red", good.clone(), Value::Null, 200),
        call("GET", "/v1/locations/9001?subdomain=theirs", good.clone(), Value::Null, 200),
        call("GET", "/v1/providers?subdomain=theirs", raw, Value::Null, 200),
        call("GET", "/v1/providers?subdomain=theirs", json!({"user-agent": "theirs/2.0"}), Value::Null, 200),
        call("POST", "/v1/appointments?subdomain=theirs&location_id=9001", good.clone(), json!({"appt": {}}), 422),
        call("GET", "/elsewhere", good, Value::Null, 200),
    ];
    let recording = json!({"log": {"version": "1.2", "entries": entries}}).to_string();
    let CheckOutput { code, output } = checked(&recording, &["--below", "/v1"]).await;
    assert_eq!(code, Some(1), "{output}");
    for line in [
        "GET /patients: calls 1, accepted 1",
        "ignored: colour (1)",
        "GET /locations/{id}: calls 1, accepted 1",
        "GET /providers: calls 2, accepted 0, refused 2",
        "api_key_instead_of_token",
        // The call without a version has no token either.
        "404 version_missing (1)",
        "401 token_missing (1)",
        "An operator can accept it: [compatibility] `raw_keys`.",
        "An operator can accept it: [compatibility] `default_version`",
        "POST /appointments: calls 1, accepted 0, refused 1",
        "5 calls: 2 accepted, 3 refused (1 of them by the other system, too)",
    ] {
        assert!(output.contains(line), "{line}: {output}");
    }
}

/// `[compatibility]` is tried on the demo, which applies the table at runtime and keeps it across a restart.
#[actix::test]
async fn demo_applies_and_keeps_compatibility_settings() {
    let dir = tempfile::tempdir().unwrap();
    let (data, recording) = (dir.path().join("demo"), dir.path().join("recording"));
    let call = json!({"method": "GET", "path": "/providers?subdomain=theirs", "headers": {"user-agent": "theirs/2.0",
        "api-version": "v3.0.0", "authorization": "Bearer old"}});
    fs::write(&recording, call.to_string()).unwrap();
    let check = || {
        let mut command = Command::new(binary());
        command.arg("check-client").arg(&recording).arg("--demo").arg(&data);
        let Output { status, stdout, .. } = command.output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap())
    };
    let demo = Demo::start(&data).await;
    let (code, refused) = check();
    assert!(code == Some(1) && refused.contains("[compatibility] `default_version`"), "{refused}");
    let file = data.join("demo.toml");
    let added = fs::read_to_string(&file).unwrap() + "\n[compatibility]\nversion_headers = [\"Api-Version\"]\n";
    fs::write(&file, added).unwrap();
    until("a reload of the running demo", async || (check().0 == Some(0)).then_some(())).await;
    demo.stop();
    let again = Demo::start(&data).await;
    assert_eq!(check().0, Some(0), "a later start keeps the table");
    again.stop();
}

struct Demo(Child);

impl Demo {
    /// Starts a demo and waits until it answers.
    async fn start(data: &Path) -> Demo {
        let mut command = Command::new(binary());
        command.args(["demo", "--no-walkthrough", "--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0", "--data"]);
        let printed = data.with_extension("out");
        let mut demo = Demo(command.arg(data).stdout(fs::File::create(&printed).unwrap()).spawn().unwrap());
        let limit = Instant::now() + ADAPTER_BUILT;
        while !fs::read_to_string(&printed).unwrap().contains("practice-sync demo: http") {
            assert!(demo.0.try_wait().unwrap().is_none(), "the demo ended");
            assert!(Instant::now() < limit, "the demo did not start");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        demo
    }

    fn stop(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

#[actix::test]
async fn invalid_recording_is_reported_with_its_line() {
    let CheckOutput { code, output } = checked("{\"method\": \"GET\"}", &[]).await;
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("line 1: missing field `path`"), "{output}");
}
