//! Adapters that are unusable or still being prepared close their own locations only.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
};

use api::service;
use configuration::Config;
use engine::simulated::NoSimulatedEhrs;
use serde_json::{Value, json};

const KEY: &str = "psk_of_a_client";
const TOKEN: &str = "pso_of_an_operator";

/// An institution whose location 1 needs the adapter and whose location 2 has no EHR.
fn config(dir: &Path) -> Config {
    let [hash, operator] = [KEY, TOKEN].map(|secret| hex::encode(framework::access::keys::hash(secret)));
    let text = r#"data_dir = "data"
[http]
listen = "127.0.0.1:0"
workers = 1
[operators]
listen = "127.0.0.1:0"
[adapters]
bad = "bad.wasm"
[[institutions]]
id = 1
subdomain = "acme"
name = "Acme"
environment = "sandbox"
[[institutions.sources]]
id = 1
name = "EHR"
adapter = "bad"
base_url = "https://ehr.example"
[[institutions.locations]]
id = 1
name = "Main"
zone = "America/New_York"
source = 1
[[institutions.locations]]
id = 2
name = "Without EHR"
zone = "America/New_York"
"#;
    let keys = format!(
        r#"[[keys]]
name = "client"
sha256 = "{hash}"
environment = "sandbox"
institutions = ["acme"]
[[operators]]
name = "operator"
sha256 = "{operator}"
role = "viewer"
"#
    );
    let file = dir.join("practice-sync.toml");
    fs::write(&file, text).unwrap();
    fs::write(dir.join("keys.toml"), keys).unwrap();
    Config::load(&file).unwrap()
}

/// Returns the status, head and body of the response.
async fn call(address: SocketAddr, method: &str, path: &str, authorization: &str, body: Value) -> (u16, String, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: test-suite/1.0\r\nSvc-Api-Version: v3.0.0\r\n\
         Authorization: {authorization}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let talk = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let text = actix_web::rt::task::spawn_blocking(talk).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}")))
}

#[actix_web::test]
async fn a_bad_adapter_closes_only_its_own_locations() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bad.wasm"), "\u{1b}[31mno component").unwrap();
    let running = service::start(config(dir.path()), &NoSimulatedEhrs).await.unwrap();
    let address = running.address;
    let (status, _, ready) = call(address, "GET", "/readyz", "", Value::Null).await;
    assert_eq!(
        (status, &ready["status"], &ready["adapters_refused"][0]["name"]),
        (200, &json!("ready"), &json!("bad"))
    );
    assert!(ready["adapters_refused"][0]["reason"].as_str().unwrap().contains("not a component"), "{ready}");

    let (_, _, signed_in) = call(address, "POST", "/authenticates", KEY, Value::Null).await;
    let token = format!("Bearer {}", signed_in["data"]["token"].as_str().unwrap());
    let search = async |location| {
        let path = format!("/intent/booking/search?subdomain=acme&location_id={location}");
        call(address, "POST", &path, &token, json!({})).await
    };
    let (status, head, answer) = search(1).await;
    assert_eq!(status, 503, "{answer}");
    assert!(
        head.contains("retry-after: 30") && answer.to_string().contains("adapter cannot be used"),
        "{head}\n{answer}"
    );
    assert_eq!(search(2).await.0, 200, "a location that does not need it");

    let operator = format!("Bearer {TOKEN}");
    let (status, _, sync) =
        call(running.operators, "GET", "/locations/1/sync?subdomain=acme", &operator, Value::Null).await;
    let (adapter, problem) = (&sync["data"]["adapter"], &sync["data"]["read_problem"]);
    assert_eq!((status, &adapter["name"], &adapter["status"]), (200, &json!("bad"), &json!("refused")), "{sync}");
    assert!(problem.as_str().unwrap().starts_with("the adapter cannot be used: not a component"), "{sync}");

    // Locations answer 503 while their adapter is prepared.
    running.engine.adapters().announce("bad");
    let (status, head, answer) = search(1).await;
    assert_eq!(status, 503, "{answer}");
    assert!(head.contains("retry-after: 5") && answer.to_string().contains("being prepared"), "{head}\n{answer}");
    let (status, _, ready) = call(address, "GET", "/readyz", "", Value::Null).await;
    assert_eq!((status, &ready["adapters_preparing"][0]["name"]), (200, &json!("bad")));
    running.engine.stop().await;
}

/// Runs the binary with these arguments. Returns its exit code and its output.
fn command(arguments: &[&str]) -> (Option<i32>, String) {
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_practice-sync")).args(arguments).output().unwrap();
    let output = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(output).unwrap())
}

#[test]
fn check_reports_the_errors_of_the_server_and_escapes_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.wasm");
    let path = file.to_str().unwrap();
    let manifest = r#"{"id":"x","name":"X","version":"1\u001b[31m","contract":1,"paths":["/"],
        "memory_mib":1,"call_seconds":1,"requests_per_call":1}"#;
    // A component with a manifest but without exports is not an adapter.
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    let content = [b"\x16practice-sync:manifest", manifest.as_bytes()].concat();
    component.extend([0, (content.len() & 0x7f) as u8 | 0x80, (content.len() >> 7) as u8]);
    component.extend(content);
    fs::write(&file, component).unwrap();
    let (code, output) = command(&["adapter", "check", path]);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("adapter   x 1") && output.contains("does not export practice-sync:ehr/ehr"), "{output}");
    assert!(!output.contains('\u{1b}'), "{output:?}");

    fs::write(&file, "\u{1b}[31mno component").unwrap();
    let (code, output) = command(&["adapter", "check", path]);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("not a component") && !output.contains('\u{1b}'), "{output:?}");

    let config = dir.path().join("practice-sync.toml");
    fs::write(&config, "[adapters]\nx = \"x.wasm\"\ngone = \"gone.wasm\"\n").unwrap();
    let (code, output) = command(&["config", "check", config.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{output}");
    assert!(output.contains("adapter `x`: ") && output.contains("not a component"), "{output}");
    assert!(output.contains("adapter `gone`: ") && output.contains("No such file"), "{output}");
}
