//! Operation from start to stop: log lines, the operators' interfaces, and a stop that is on time and drops no
//! request.

use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::net::UnixDatagram,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sandbox_ehr::Profile;
use serde_json::json;
use store::EngineKind;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::{Caller, Connection, request},
    process::{self, Installation, Process, binary},
};

const CLIENTS: usize = 8;
/// A receiver without a listener.
const TARGET: &str = "http://127.0.0.1:9/hook";

fn small_practice() -> EhrServer {
    let profile = Profile { days_back: 0, days_ahead: 2, patients: 10, ..fixtures::profile(4) };
    EhrServer::start(profile).unwrap()
}

/// Creates an installation with these lines of its configuration replaced.
fn installation(dir: &Path, ehr: &EhrServer, replaced: &[(&str, &str)]) -> Installation {
    let installation = Installation::new(binary(), dir, &ehr.url(), "").unwrap();
    let file = dir.join("practice-sync.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    for (line, instead) in replaced {
        assert!(text.contains(line), "{line}");
        text = text.replacen(line, instead, 1);
    }
    fs::write(file, text).unwrap();
    installation
}

/// Starts a process, and waits until it has read the EHR once.
async fn started(installation: &Installation) -> (Process, Caller) {
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    (process, caller)
}

#[actix::test]
async fn start_logs_loaded_adapters_and_first_reads() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[("log = \"error\"", "log = \"info\"")]);
    let _running = started(&installation).await;
    for message in ["adapter loaded for the location", "the EHR was read to its end for the first time"] {
        until(message, async || {
            let log = installation.log().unwrap();
            let of = |location: &str| log.lines().filter(|it| it.contains(message) && it.contains(location)).count();
            (of("location=101") == 1 && of("location=102") == 1).then_some(())
        })
        .await;
    }
}

/// Sends requests over one connection until the server closes it, and counts the answers.
fn keep_asking(address: SocketAddr, answered: &AtomicUsize) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    loop {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        io::copy(&mut (&stream).take(length.unwrap_or(0)), &mut io::sink())?;
        answered.fetch_add(1, Ordering::SeqCst);
        if head.contains("connection: close") {
            return Ok(());
        }
    }
}

#[actix::test]
async fn stop_answers_all_requests_on_persistent_connections() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]);
    let process = installation.start().await.unwrap();
    let (address, answered) = (installation.address, Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let answered = answered.clone();
            tokio::task::spawn_blocking(move || keep_asking(address, &answered))
        })
        .collect();
    until("the clients' first answers", async || (answered.load(Ordering::SeqCst) > 10 * CLIENTS).then_some(())).await;
    tokio::task::spawn_blocking(|| process.stop()).await.unwrap().unwrap();
    for client in clients {
        client.await.unwrap().unwrap();
    }
}

/// Returns the connection of a receiver that has got a message and does not answer while the connection is held.
async fn mute_receiver(caller: &mut Caller) -> TcpStream {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = json!({"target_url": format!("http://{}/hook", mute.local_addr().unwrap())});
    let (status, made) = caller.post("/webhook_endpoints", &target).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let test = format!("/webhook_endpoints/{}/test", made["data"]["id"]);
    let (status, sent) = caller.post(&test, &json!({})).await.unwrap();
    assert_eq!(status, 201, "{sent}");
    tokio::task::spawn_blocking(move || mute.accept()).await.unwrap().unwrap().0
}

#[actix::test]
async fn stop_meets_its_deadline_with_unresponsive_receivers() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[("[http]", "[http]\nshutdown_timeout = \"2s\"")]);
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    let _held = mute_receiver(&mut caller).await;
    let took = tokio::task::spawn_blocking(|| process.stop()).await.unwrap().unwrap();
    // A receiver's timeout is 15 s.
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[actix::test]
async fn operators_use_a_separate_listener() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]);
    let (_process, mut caller) = started(&installation).await;
    let open = async |address, path: &str| {
        let mut connection = Connection::open(address).await.unwrap();
        connection.send(&request("GET", path, &[], &[])).await.unwrap().status
    };
    let (clients, operators) = (installation.address, installation.operators);
    assert_eq!((open(clients, "/metrics").await, open(operators, "/metrics").await), (404, 200));
    for everyones in ["/readyz", "/healthz", "/docs", "/openapi.json?for=operators"] {
        assert_eq!((open(clients, everyones).await, open(operators, everyones).await), (200, 200), "{everyones}");
    }
    let mut operator = installation.operator().await.unwrap();
    let mut misplaced = Caller::operator(clients, process::OPERATOR_TOKEN).await.unwrap();
    let sync = format!("/locations/{}/sync?subdomain={}", process::LOCATIONS[0].0, process::SUBDOMAIN);
    assert_eq!(operator.get(&sync).await.unwrap().0, 200);
    assert_eq!(misplaced.get(&sync).await.unwrap().0, 404);
    let (status, made) = caller.post("/webhook_endpoints", &json!({"target_url": TARGET})).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let test = format!("/webhook_endpoints/{}/test", made["data"]["id"]);
    assert_eq!(caller.post(&test, &json!({})).await.unwrap().0, 201);
    command_line(&format!("http://{operators}"));
    let patients = process::path("/patients", process::LOCATIONS[0].0);
    assert_eq!(operator.get(&patients).await.unwrap().0, 404);
    assert_eq!(misplaced.get(&patients).await.unwrap().0, 401);
    assert_eq!(caller.get(&patients).await.unwrap().0, 200);
}

/// Runs an operators' command, and returns its exit code and its output.
fn operate(server: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(arguments).args(["--server", server]).env("PRACTICE_SYNC_TOKEN", process::OPERATOR_TOKEN);
    let ended = command.output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
}

/// Checks the operators' commands on a server whose practice was read.
fn command_line(server: &str) {
    let run = |arguments: &[&str]| operate(server, arguments);
    let (code, table) = run(&["locations"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(code, Some(0), "{table}");
    assert_eq!(lines[0], ["ID", "NAME", "INSTITUTION", "STATUS", "READING", "WRITING", "WAITING", "FAILED", "PROBLEM"]);
    assert_eq!(lines[1], ["101", "main-street", process::SUBDOMAIN, "active", "green", "green", "0", "0"]);
    pausing(&run);
    assert_eq!(run(&["locations", "--red", "--json"]), (Some(0), String::new()));
    let (_, json) = run(&["locations", "--json"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&line["id"], &line["read_status"]), (&json!(101), &json!("green")));
    assert_eq!(run(&["sync", "101"]), (Some(0), "location 101 is read now\n".to_owned()));
    let (code, none) = run(&["sync", "999"]);
    assert!(code == Some(2) && none.contains("no location 999"), "{none}");
    let (code, queue) = run(&["queue", "list"]);
    assert!(code == Some(0) && queue.lines().count() == 1 && queue.starts_with("ID"), "{queue}");
    let (code, unknown) = run(&["queue", "retry", "101-8"]);
    assert!(code == Some(2) && unknown.contains("101-8: 404"), "{unknown}");
    let (code, wrong) = run(&["queue", "drop", "eight"]);
    assert!(code == Some(2) && wrong.contains("like 101-8"), "{wrong}");
    webhooks(&run);
    let mut command = Command::new(binary());
    command.args(["locations", "--json"]).env("PRACTICE_SYNC_TOKEN", process::OPERATOR_TOKEN);
    let named = command.env("PRACTICE_SYNC_SERVER", server).output().unwrap();
    assert!(named.status.success() && named.stdout.starts_with(b"{\"id\":101"), "{named:?}");
}

/// Pauses and resumes a location, and checks the suggested next step.
fn pausing(run: &impl Fn(&[&str]) -> (Option<i32>, String)) {
    assert_eq!(run(&["pause", "101", "--writing"]), (Some(0), "location 101: writing is paused\n".to_owned()));
    let (_, red) = run(&["locations", "--red"]);
    assert!(red.contains("not writing: an operator paused writing"), "{red}");
    assert!(
        red.contains("practice-sync resume 101") && red.contains("/console/docs/commands#pause-and-resume"),
        "{red}"
    );
    let resumed = "location 101: reading and writing is resumed\n";
    assert_eq!(run(&["resume", "101"]), (Some(0), resumed.to_owned()));
    assert_eq!(run(&["locations", "--red", "--json"]), (Some(0), String::new()));
    let (code, none) = run(&["accept-deletions", "101", "patients"]);
    assert!(code == Some(2) && none.contains("No deletions of this resource were stopped"), "{none}");
    let (code, errors) = run(&["errors", "101"]);
    assert!(code == Some(0) && errors.starts_with("LAST"), "{errors}");
}

#[actix::test]
async fn commands_show_and_release_the_writes_of_a_closed_location() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]);
    let (_process, mut caller) = started(&installation).await;
    let server = format!("http://{}", installation.operators);
    let run = |arguments: &[&str]| operate(&server, arguments);
    assert_eq!(run(&["pause", "101", "--writing"]).0, Some(0));
    let slot = process::offers(&mut caller, 101, 1).await.unwrap().remove(0);
    let patient = json!({"first_name": "Zoë", "last_name": "Łopata", "date_of_birth": "1990-02-28",
        "phone_number": "+1 312 555 0100", "email": "zoe@mail.example"});
    let booking = json!({"slot_token": slot, "idempotency_key": "closed", "patient": patient});
    let (status, booked) = caller.post(&process::path("/intent/booking/book", 101), &booking).await.unwrap();
    assert_eq!(status, 200, "{booked}");

    let text = fs::read_to_string(installation.config()).unwrap();
    fs::write(installation.config(), text.replacen("id = 101\n", "id = 101\nstatus = \"closed\"\n", 1)).unwrap();
    let (code, reloaded) = run(&["config", "reload"]);
    assert_eq!(code, Some(0), "{reloaded}");
    assert_eq!(caller.get(&process::path("/write_requests", 101)).await.unwrap().0, 404);
    let (_, table) = run(&["locations"]);
    let line: Vec<&str> = table.lines().find(|line| line.starts_with("101")).unwrap().split_whitespace().collect();
    assert_eq!(line[..6], ["101", "main-street", process::SUBDOMAIN, "closed", "2", "0"], "{table}");
    assert!(table.contains("not writing: an operator paused writing"), "{table}");
    let writes = || run(&["queue", "list", "--location", "101"]);
    let (code, parked) = writes();
    assert!(code == Some(0) && parked.matches(" parked ").count() == 2, "{parked}");
    assert_eq!(run(&["resume", "101"]).0, Some(0));
    until("both writes are done", async || {
        let (_, left) = writes();
        if left.lines().count() == 1 { Ok(()) } else { Err(left) }
    })
    .await;
}

#[actix::test]
async fn doctor_identifies_the_running_server_and_reports_its_state() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]);
    let _running = started(&installation).await;
    let server = format!("http://{}", installation.operators);
    let doctor = |config: &Path| {
        let mut command = Command::new(binary());
        command.args(["doctor", "--config"]).arg(config).env("PRACTICE_SYNC_TOKEN", process::OPERATOR_TOKEN);
        let ended = command.output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned())
    };
    let line =
        |text: &str, check: &str, part: &str| text.lines().any(|line| line.starts_with(check) && line.contains(part));
    let (_, well) = doctor(installation.config());
    assert!(line(&well, "server", "ready") && line(&well, "webhooks", "no endpoint fails"), "{well}");
    let mut pause = Command::new(binary());
    pause.args(["pause", "101", "--server", &server]).env("PRACTICE_SYNC_TOKEN", process::OPERATOR_TOKEN);
    assert!(pause.output().unwrap().status.success());
    let (code, paused) = doctor(installation.config());
    assert!(
        code == Some(1) && line(&paused, "locations", "101 main-street: not reading: an operator paused reading"),
        "{paused}"
    );
    // The same ports with another data directory.
    let text = fs::read_to_string(installation.config()).unwrap();
    let other = dir.path().join("other.toml");
    let data = dir.path().join("data").display().to_string();
    fs::write(&other, text.replacen(&data, &format!("{data}-of-another"), 1)).unwrap();
    let (code, foreign) = doctor(&other);
    assert!(code == Some(2) && line(&foreign, "server", "it is not the one of this configuration"), "{foreign}");
    assert!(!line(&foreign, "server", "ready"), "{foreign}");
}

/// A draining server is not ready, but serves requests as before.
#[actix::test]
async fn stop_drains_for_the_configured_time() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[("[http]", "[http]\ndrain = \"3s\"")]);
    let process = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process.signal("TERM").unwrap();
    let ready = async || {
        let mut connection = Connection::open(installation.address).await.unwrap();
        connection.send(&request("GET", "/readyz", &[], &[])).await.unwrap().status
    };
    until("the server is not ready", async || (ready().await == 503).then_some(())).await;
    for _ in 0..3 {
        assert_eq!(caller.get("/me").await.unwrap().0, 200);
        assert_eq!(ready().await, 503);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    tokio::task::spawn_blocking(|| process.stop()).await.unwrap().unwrap();
}

/// Checks the endpoint `TARGET`, which has one failed message.
fn webhooks(run: &impl Fn(&[&str]) -> (Option<i32>, String)) {
    let (code, json) = run(&["webhooks", "list", "--json"]);
    let endpoint: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((code, &endpoint["target_url"]), (Some(0), &json!(TARGET)), "{json}");
    let id = endpoint["id"].to_string();
    let (_, table) = run(&["webhooks", "list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("ID  STATUS") && lines[1].ends_with(TARGET), "{table}");
    let (code, json) = run(&["webhooks", "deliveries", &id, "--json"]);
    let message: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((code, &message["event_name"]), (Some(0), &json!("webhook_endpoint.test")), "{json}");
    let message = message["id"].as_str().unwrap();
    let (_, table) = run(&["webhooks", "deliveries", &id, "--status", "pending"]);
    assert!(table.lines().count() == 2 && table.contains(message), "{table}");
    assert_eq!(run(&["webhooks", "deliveries", &id, "--status", "delivered"]).1.lines().count(), 1);
    assert_eq!(run(&["webhooks", "redeliver", &id, message]), (Some(0), format!("{message} pending\n")));
    let (code, missing) = run(&["webhooks", "redeliver", "77", message]);
    assert!(code == Some(2) && missing.contains("404") && missing.contains("endpoint with id 77"), "{missing}");
    assert_eq!(run(&["webhooks", "deliveries", &id, "--status", "lost"]).0, Some(2));
    let (code, tested) = run(&["webhooks", "test", &id]);
    assert!(code == Some(0) && tested.starts_with(&format!("endpoint {id}: test message ")), "{tested}");
    let (code, again) = run(&["webhooks", "redeliver-failed", &id]);
    assert!(code == Some(0) && again.starts_with(&format!("endpoint {id}: messages sent again: ")), "{again}");
}

/// Returns the next notification to systemd, within ten seconds.
fn next_notification(socket: &UnixDatagram) -> String {
    let mut received = [0; 200];
    let length = socket.recv(&mut received).unwrap();
    String::from_utf8_lossy(&received[..length]).into_owned()
}

#[actix::test]
async fn service_manager_is_notified_and_second_signal_stops_at_once() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let socket = dir.path().join("notify");
    let systemd = UnixDatagram::bind(&socket).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let patient = ("[http]", "[http]\nshutdown_timeout = \"60s\"");
    let installation = installation(dir.path(), &ehr, &[patient]);
    let installation = installation.with_variable("NOTIFY_SOCKET", socket.display().to_string());
    let process = installation.start().await.unwrap();
    assert_eq!(next_notification(&systemd).trim(), "READY=1");
    process.signal("HUP").unwrap();
    let reloading = next_notification(&systemd);
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(next_notification(&systemd).trim(), "READY=1");
    let mut caller = installation.sign_in().await.unwrap();
    // Delays the orderly stop.
    let _held = mute_receiver(&mut caller).await;
    process.signal("TERM").unwrap();
    assert_eq!(next_notification(&systemd).trim(), "STOPPING=1");
    let took = tokio::task::spawn_blocking(|| process.stop()).await.unwrap().unwrap();
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// Runs a command, which must succeed, and returns its output.
fn succeeds(arguments: &[&str]) -> String {
    let ended = Command::new(binary()).args(arguments).output().unwrap();
    let output = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{arguments:?}: {output}");
    output
}

/// Runs a command, which must fail, and returns its output.
fn fails(arguments: &[&str]) -> String {
    let ended = Command::new(binary()).args(arguments).output().unwrap();
    let output = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {output}");
    output
}

/// Starts a process, which must end before it serves, and returns the reason.
async fn refused_start(installation: &Installation) -> String {
    installation.start().await.err().expect("the server must not serve").to_string()
}

/// Starts a process and returns the ids and names of all patients.
async fn patients(installation: &Installation) -> Vec<String> {
    let (process, mut caller) = started(installation).await;
    let list = format!("{}&per_page=100", process::path("/patients", process::LOCATIONS[0].0));
    let (status, listed) = caller.get(&list).await.unwrap();
    assert_eq!(status, 200, "{listed}");
    process.stop().unwrap();
    let patients = listed["data"].as_array().unwrap().iter();
    patients.map(|it| format!("{} {}", it["id"], it["last_name"])).collect()
}

#[actix::test]
async fn compacted_and_salvaged_stores_keep_their_records() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]);
    let before = patients(&installation).await;
    assert!(before.len() >= 10, "{before:?}");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();

    succeeds(&["store", "compact", "--data", &path("data")]);
    assert_eq!(patients(&installation).await, before);

    let config = installation.config().to_str().unwrap();
    succeeds(&["store", "salvage", "--config", config, "--to", &path("salvaged")]);
    let text = fs::read_to_string(config).unwrap();
    fs::write(config, text.replacen(&path("data"), &path("salvaged"), 1)).unwrap();
    fs::remove_dir_all(dir.path().join("data")).unwrap();

    // A failed salvage leaves no files.
    let lost = dir.path().join("lost");
    fs::create_dir(&lost).unwrap();
    fs::copy(path("salvaged/store.key"), lost.join("store.key")).unwrap();
    fails(&["store", "salvage", "--data", &path("lost"), "--to", &path("never")]);
    assert!(!dir.path().join("never").exists());
    assert_eq!(patients(&installation).await, before);
}

#[actix::test]
async fn a_store_moves_to_another_engine_and_back() {
    let (ehr, dir) = (small_practice(), tempfile::tempdir().unwrap());
    let installation = installation(dir.path(), &ehr, &[]).on_engine(EngineKind::Sled).unwrap();
    let before = patients(&installation).await;
    let data = dir.path().join("data");
    let (config, data_dir) = (installation.config().to_str().unwrap(), data.to_str().unwrap());
    let to_fjall = ["store", "migrate", "--config", config, "--to", "fjall"];
    let configure = |from: &str, to: &str| {
        let text = fs::read_to_string(config).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(config, text.replacen(from, to, 1)).unwrap();
    };

    // A sparse file, larger than the disk.
    let large = data.join("store/large");
    fs::File::create(&large).unwrap().set_len(1 << 43).unwrap();
    let full = fails(&to_fjall);
    assert!(full.contains("MiB of free disk space"), "{full}");
    assert!(!data.join("store.next").exists(), "nothing was begun");
    fs::remove_file(large).unwrap();

    let moved = succeeds(&to_fjall);
    for part in ["values were copied and compared", "of the engine fjall", "store_engine = \"fjall\"", "store.old-sled"]
    {
        assert!(moved.contains(part), "{part}: {moved}");
    }
    let again = succeeds(&to_fjall);
    assert!(again.contains("of the engine fjall") && !again.contains("copied"), "{again}");
    let refused = refused_start(&installation).await;
    assert!(refused.contains("fjall"), "the configuration names sled: {refused}");
    configure("\"sled\"", "\"fjall\"");
    assert_eq!(patients(&installation).await, before);

    // As after a power cut between the two renames.
    fs::rename(data.join("store"), data.join("store.next")).unwrap();
    fs::write(data.join("store.migrating"), "replacing sled fjall\nstate").unwrap();
    let refused = refused_start(&installation).await;
    assert!(refused.contains("not complete") && refused.contains("store migrate"), "{refused}");
    let completed = succeeds(&to_fjall);
    assert!(completed.contains("of the engine fjall") && completed.contains("store.old-sled"), "{completed}");
    assert!(!completed.contains("store_engine"), "the configuration names it: {completed}");
    assert_eq!(patients(&installation).await, before);

    let back = succeeds(&["store", "migrate", "--data", data_dir, "--to", "sled"]);
    assert!(back.contains("store_engine = \"sled\"") && back.contains("store.old-fjall"), "{back}");
    configure("\"fjall\"", "\"sled\"");
    assert_eq!(patients(&installation).await, before);
    let kept = fails(&to_fjall);
    assert!(kept.contains("store.old-sled is the store before an earlier move"), "{kept}");
}
