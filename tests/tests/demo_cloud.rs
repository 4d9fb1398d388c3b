//! The walkthrough of `practice-sync demo --cloud`, with a simulated workstation instead of a browser.

use std::{
    net::SocketAddr,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};
use tests::harness::process::binary;

use reqwest::{Client, redirect::Policy};
use serde_json::Value;
use tests::harness::workstation::TestWorkstation;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// Time limit of a start, which may include a build of the adapter.
const BUILT: Duration = Duration::from_secs(400);
const STEP: Duration = Duration::from_secs(600);

pub struct Demo {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Demo {
    fn start(dir: &Path, more: &[&str]) -> Demo {
        let mut command = Command::new(binary());
        command
            .args(["demo", "--cloud", "--listen", "127.0.0.1:0", "--operators", "127.0.0.1:0", "--data"])
            .arg(dir)
            .args(more);
        Demo::spawn(command)
    }

    /// Runs a command that starts a demo.
    pub fn spawn(mut command: Command) -> Demo {
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Demo { process, lines }
    }

    /// Waits for the next line with this prefix and returns the rest of it.
    pub async fn says(&mut self, beginning: &str, within: Duration) -> String {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = timeout(left, self.lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("no line begins with {beginning:?}")).unwrap();
            let line = line.unwrap_or_else(|| panic!("the demo ended before a line began with {beginning:?}"));
            assert!(!line.starts_with("the walkthrough stopped"), "{line}");
            if let Some(rest) = line.trim().strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }
}

fn facts(dir: &Path) -> Value {
    let file = dir.join("demo.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "it holds a key and a token");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Logs in on the login page with the printed credentials and returns the session cookie.
async fn log_in(cloud: &Value) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
    let text = |name: &str| cloud[name].as_str().unwrap();
    let form = format!("user={}&password={}", text("user"), text("password"));
    let request = client.post(format!("{}/login", text("url")));
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
    let answer = request.send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

#[actix::test]
async fn booking_waits_for_a_login_and_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut demo = Demo::start(dir.path(), &[]);
    let address = demo.says("address  http://", BUILT).await;
    let address: SocketAddr = address.parse().unwrap();
    let code = demo.says("code ", STEP).await;
    let code = code.split_whitespace().next().unwrap();
    let cloud = facts(dir.path())["cloud_ehr"].take();

    let workstation = TestWorkstation::pair(address, code, "Front desk").await.unwrap();
    let running = workstation.start().await.unwrap();
    demo.says("A workstation is connected.", STEP).await;
    workstation.browser.log_in(&log_in(&cloud).await);
    running.state(true, false);
    demo.says("4. Now log out", STEP).await;
    workstation.browser.forget();
    running.state(false, false);
    demo.says("The gate is closed.", STEP).await;
    let gate = demo.says("GET /sync_status: gate", STEP).await;
    assert_eq!(gate, "logged_out, writes waiting 2", "the patient and the visit");
    workstation.browser.log_in(&log_in(&cloud).await);
    running.state(true, false);
    let held = demo.says("in the cloud EHR: ", STEP).await;
    assert!(held.contains("Ada Example"), "{held}");
    assert!(demo.says("appointment_insertion.complete at", STEP).await.ends_with("signature verified"));
    demo.says("Done.", STEP).await;
}

#[actix::test]
async fn demo_without_walkthrough_only_serves_and_keeps_its_port() {
    let dir = tempfile::tempdir().unwrap();
    let mut ports = Vec::new();
    for _ in 0..2 {
        let mut demo = Demo::start(dir.path(), &["--no-walkthrough"]);
        demo.says("Try it yourself", BUILT).await;
        let cloud = facts(dir.path())["cloud_ehr"].take();
        assert!(log_in(&cloud).await.starts_with("ehr_session="));
        ports.push(cloud["port"].clone());
        demo.process.kill().await.unwrap();
    }
    assert_eq!(ports[0], ports[1]);
    let other = Command::new(binary()).args(["demo", "--listen", "127.0.0.1:0", "--data"]).arg(dir.path()).output();
    let other = other.await.unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("holds the data of the other demo"));
}
