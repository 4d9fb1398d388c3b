//! A server's store is backed up while it serves and an EHR is down. Later the server is lost and the backup is
//! restored. The EHR contains no duplicates, later records are read back from the EHR, and no id is assigned twice.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sandbox_ehr::{
    Behaviours, Control, Down, HowDown, Profile,
    records::{Record, Resource},
};
use serde_json::Value;
use store::EngineKind;
use testing::until;
use tests::harness::{
    ehr_server::EhrServer,
    fixtures,
    http_client::Caller,
    process::{self, HASTY, Installation, LOCATIONS, OPERATOR_TOKEN, SUBDOMAIN, binary, booking, path},
};

/// Runs a command and returns its success and output.
fn command(arguments: &[&str]) -> (bool, String) {
    let program = binary();
    let ended = Command::new(program).args(arguments).env("PRACTICE_SYNC_TOKEN", OPERATOR_TOKEN).output().unwrap();
    (ended.status.success(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
}

fn succeeds(arguments: &[&str]) -> String {
    let (succeeded, output) = command(arguments);
    assert!(succeeded, "{arguments:?}: {output}");
    output
}

/// Counts the appointments of this test in the EHR by note.
fn in_the_ehr(ehr: &EhrServer) -> BTreeMap<String, usize> {
    let mut by_note = BTreeMap::new();
    for record in ehr.ehr().records(Resource::Appointments) {
        let Record::Appointment(appointment) = record else { continue };
        if let Some(note) = appointment.note.as_ref().filter(|note| note.starts_with("backup-")) {
            *by_note.entry(note.clone()).or_default() += 1;
        }
    }
    by_note
}

struct BackupBooking {
    booking_ref: String,
    id: u64,
}

async fn book(caller: &mut Caller, offer: &str, key: &str, person: u64) -> BackupBooking {
    let (status, answer) =
        caller.post(&path("/intent/booking/book", LOCATIONS[0].0), &booking(offer, key, person, key)).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let made = &answer["booking"];
    BackupBooking {
        booking_ref: made["booking_ref"].as_str().unwrap().into(),
        id: made["appointment_id"].as_u64().unwrap(),
    }
}

async fn is_written(caller: &mut Caller, booked: &BackupBooking) {
    let status = format!("/intent/booking/status?subdomain={SUBDOMAIN}&booking_ref={}", booked.booking_ref);
    until("the booking in the EHR", async || {
        let (_, answer) = caller.get(&status).await.unwrap();
        (answer["booking"]["ehr_writeback"] == "confirmed").then_some(())
    })
    .await;
}

async fn get_appointment(caller: &mut Caller, id: u64) -> (u16, Value) {
    caller.get(&format!("/appointments/{id}?subdomain={SUBDOMAIN}")).await.unwrap()
}

struct Server {
    dir: tempfile::TempDir,
    ehr: EhrServer,
    installation: Installation,
}

impl Server {
    fn new(engine: EngineKind) -> Server {
        let profile = Profile { booked_percent: 0, days_back: 0, days_ahead: 2, patients: 30, ..fixtures::profile(9) };
        let (ehr, dir) = (EhrServer::start(profile).unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(dir.path().join("backups")).unwrap();
        let rules = format!("{HASTY}\n[backup]\nfolder = \"{}\"\nkeep = 2\n", dir.path().join("backups").display());
        let program = binary();
        let installation = Installation::new(program, dir.path(), &ehr.url(), &rules).unwrap();
        let installation = installation.on_engine(engine).unwrap();
        let server = Server { dir, ehr, installation };
        server.behave(None);
        server
    }

    /// Sets up an EHR that is not idempotent: it repeats each repeated write.
    fn behave(&self, down: Option<Down>) {
        let behaviours = Behaviours { idempotent: false, down, ..Behaviours::default() };
        self.ehr.ehr().control(Control::Behave(behaviours)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn back_up(&self) -> PathBuf {
        let output = succeeds(&["backup", "--server", &format!("http://{}", self.installation.operators)]);
        self.path("backups").join(output.split_whitespace().next().unwrap())
    }

    fn serve_from(&self, data: &str) {
        let text = fs::read_to_string(self.installation.config()).unwrap();
        let line = format!("data_dir = \"{}\"", self.path("data").display());
        assert!(text.contains(&line));
        let instead = format!("data_dir = \"{}\"", self.path(data).display());
        fs::write(self.installation.config(), text.replacen(&line, &instead, 1)).unwrap();
    }
}

async fn the_practice_goes_on(engine: EngineKind) {
    let server = Server::new(engine);
    let process = server.installation.start().await.unwrap();
    let mut caller = server.installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let mut offers = process::offers(&mut caller, LOCATIONS[0].0, 10).await.unwrap();
    let mut offer = || offers.pop().unwrap();
    let early = book(&mut caller, &offer(), "backup-early", 1).await;
    is_written(&mut caller, &early).await;
    server.behave(Some(Down { until_ms: i64::MAX, how: HowDown::Unavailable }));
    let waiting = book(&mut caller, &offer(), "backup-waiting", 2).await;

    let backup = server.back_up();
    server.behave(None);
    is_written(&mut caller, &waiting).await;
    let late_offer = offer();
    let late = book(&mut caller, &late_offer, "backup-late", 3).await;
    is_written(&mut caller, &late).await;
    let changes = path("/changes", LOCATIONS[0].0);
    let (status, seen) = caller.get(&changes).await.unwrap();
    assert_eq!(status, 200, "{seen}");
    process.kill().unwrap();

    let (file, keys, to) = (backup.display().to_string(), server.path("data"), server.path("restored"));
    let (keys, to) = (keys.display().to_string(), to.display().to_string());
    let whole = succeeds(&["restore", &file, "--keys", &keys, "--check"]);
    assert!(whole.contains("The backup is whole"), "{whole}");
    let mut restore = vec!["restore", &file, "--keys", &keys, "--to", &to];
    let (unnamed, why) = command(&restore);
    assert!(!unnamed && why.contains("--engine"), "the backup does not name an engine: {why}");
    let config = server.installation.config().display().to_string();
    restore.extend(["--config", config.as_str()]);
    let output = succeeds(&restore);
    assert!(
        output.contains("values were restored") && output.contains(&format!("`store_engine` to \"{engine}\"")),
        "{output}"
    );
    let (again, why) = command(&restore);
    assert!(!again && why.contains("already exists"), "{why}");
    server.serve_from("restored");

    let _process = server.installation.start().await.unwrap();
    let mut caller = server.installation.sign_in().await.unwrap();
    // The slot was free at the time of the backup.
    let early_offer = booking(&late_offer, "backup-early-bird", 6, "backup-early-bird");
    let (status, answer) = caller.post(&path("/intent/booking/book", LOCATIONS[0].0), &early_offer).await.unwrap();
    assert!(matches!(status, 409 | 503), "nothing is booked before the EHR was read: {status} {answer}");
    process::first_sync(&mut caller).await.unwrap();
    is_written(&mut caller, &early).await;
    is_written(&mut caller, &waiting).await;
    // The restored store does not contain this booking. It is read from the EHR and gets another id.
    let listed = format!("{}&start={}&end={}&per_page=300", path("/appointments", LOCATIONS[0].0), day(0), day(90));
    let returned = until("the booking that the backup does not have", async || {
        let (status, answer) = caller.get(&listed).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        answer["data"].as_array().unwrap().iter().find(|it| it["note"] == "backup-late").cloned()
    })
    .await;
    assert!(returned["id"].as_u64().unwrap() > late.id + 1_000_000, "{returned}");
    assert_eq!(get_appointment(&mut caller, late.id).await.0, 404);
    let taken = booking(&late_offer, "backup-taken", 4, "backup-taken");
    let (status, answer) = caller.post(&path("/intent/booking/book", LOCATIONS[0].0), &taken).await.unwrap();
    assert_eq!(status, 409, "{answer}");
    let next = book(&mut caller, &offer(), "backup-next", 5).await;
    assert!(next.id > late.id + 1_000_000);
    is_written(&mut caller, &next).await;

    let once = ["early", "late", "next", "waiting"].map(|name| (format!("backup-{name}"), 1));
    assert_eq!(in_the_ehr(&server.ehr), BTreeMap::from(once));
    // A client that has seen all changes before the loss misses none of the later ones.
    let since = seen["page_info"]["end_cursor"].as_str().unwrap();
    let (status, news) = caller.get(&format!("{changes}&per_page=1000&since={since}")).await.unwrap();
    assert_eq!(status, 200, "{news}");
    let newer = news["data"].as_array().unwrap();
    assert!(
        newer.iter().any(|change| change["id"] == next.id) && newer.iter().any(|change| change["id"] == returned["id"])
    );
}

fn day(days: i32) -> String {
    location::zone::Date(fixtures::today()).add_days(days).to_string()
}

#[actix::test]
async fn nothing_is_written_twice_after_a_backup_is_restored_on_sled() {
    the_practice_goes_on(EngineKind::Sled).await;
}

#[actix::test]
async fn nothing_is_written_twice_after_a_backup_is_restored_on_fjall() {
    the_practice_goes_on(EngineKind::Fjall).await;
}

#[actix::test]
async fn a_backup_with_another_key_or_a_missing_end_is_refused() {
    let server = Server::new(EngineKind::Sled);
    let process = server.installation.start().await.unwrap();
    let mut caller = server.installation.sign_in().await.unwrap();
    process::first_sync(&mut caller).await.unwrap();
    let backup = server.back_up();
    process.stop().unwrap();
    let other = server.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("store.key"), "1".repeat(64)).unwrap();
    let (file, to) = (backup.display().to_string(), server.path("restored"));
    let refused = |file: &str, keys: &Path, with: &str| {
        let (keys, new) = (keys.display().to_string(), to.display().to_string());
        let (done, why) = command(&["restore", file, "--keys", &keys, "--to", &new, "--engine", "sled"]);
        assert!(!done && why.contains(with), "{why}");
        assert!(!to.exists(), "nothing is begun with a backup that is not whole");
    };
    refused(&file, &other, "another key");
    refused(&file, &server.path("nowhere"), "store.key");
    let cut = server.path("cut.backup");
    let whole = fs::read(&backup).unwrap();
    fs::write(&cut, &whole[..whole.len() - 100]).unwrap();
    refused(&cut.display().to_string(), &server.path("data"), "cut short");
    refused(&server.path("none.backup").display().to_string(), &server.path("data"), "none.backup");
}
