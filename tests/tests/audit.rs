//! The audit trail of a running server: it contains bookings that were answered right before `kill -9`, and the
//! operators' command detects later changes.

use std::{fs, process::Command};

use serde_json::Value;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    process::{self, HASTY, Installation, LOCATIONS, binary, booking, path},
};

fn audit(installation: &Installation, command: &[&str]) -> (Option<i32>, String) {
    let program = binary();
    let ended =
        Command::new(program).arg("audit").args(command).arg("--config").arg(installation.config()).output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
}

/// Exports the entries once `action` is among them. Changes not audited before a crash are audited shortly after the
/// next start.
async fn exported_at_last(installation: &Installation, filters: &[&str], action: &str) -> Vec<Value> {
    until(action, async || {
        let entries = installation.audit_entries(filters).unwrap();
        if entries.iter().any(|entry| entry["action"] == action) { Ok(entries) } else { Err(entries) }
    })
    .await
}

#[actix::test]
async fn acknowledged_bookings_are_audited_and_later_edits_are_detected() {
    let (ehr, dir) = (EhrServer::start(fixtures::small_profile(9)).unwrap(), tempfile::tempdir().unwrap());
    let program = binary();
    let installation = Installation::new(program, dir.path(), &ehr.url(), HASTY).unwrap();
    let server = installation.start().await.unwrap();
    let mut caller = installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let offer = process::offers(&mut caller, LOCATIONS[0].0, 1).await.unwrap().pop().unwrap();
    let body = booking(&offer, "audited", 1, "audited");
    let (status, booked) = caller.post(&path("/intent/booking/book", LOCATIONS[0].0), &body).await.unwrap();
    assert_eq!(status, 200, "{booked}");
    let id = booked["booking"]["appointment_id"].to_string();
    // The process is killed without an orderly shutdown.
    server.kill().unwrap();

    let (code, output) = audit(&installation, &["verify"]);
    assert!(code == Some(0) && output.contains("is whole") && output.contains("was not rolled back: "), "{output}");
    let server = installation.start().await.unwrap();
    let entries = exported_at_last(&installation, &["--record", "appointment", "--id", &id], "create").await;
    let made = entries.iter().find(|entry| entry["action"] == "create").unwrap();
    assert_eq!(made["route"], "POST /intent/booking/book");
    assert_eq!(made["location"], LOCATIONS[0].0, "{made}");
    assert_eq!(made["status"], "committed", "{made}");
    assert!(made["actor"]["key"].is_string() && made["client"] == "127.0.0.1", "{made}");
    assert_eq!(installation.audit_entries(&["--to", "2020-01-01"]).unwrap(), Vec::<Value>::new());

    // An edited entry is reported with its place.
    let mut caller = installation.sign_in().await.unwrap();
    caller.get(&format!("/appointments/{id}?subdomain={}", process::SUBDOMAIN)).await.unwrap();
    server.stop().unwrap();
    assert!(installation.audit_entries(&["--id", &id]).unwrap().len() > entries.len());
    let file = fs::read_dir(dir.path().join("data/audit")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).min().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("POST /intent/booking/book", "POST /intent/booking/look", 1)).unwrap();
    let (code, output) = audit(&installation, &["verify"]);
    assert!(code == Some(2) && output.contains("audit-"), "{output}");
}
