//! A data directory of an earlier build: the current build opens it and answers as that build did.
//!
//! `earlier/data` is the directory of commit ea8fb331, before records were files of their own and before the log of
//! changes had followers. `earlier/answers.jsonl` has the answers of that build. `EARLIER_PROGRAM` names the executable
//! of a build that makes both again.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tests::harness::{
    http_client::{Connection, request},
    process::binary,
};

use super::{
    practice::{self, Practice},
    requests,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/earlier");

/// Routes whose answers depend on the present, or whose rows are deleted at an age.
const OF_THE_PRESENT: [&str; 6] =
    ["/changes", "/available_slots", "/appointment_slots", "/sync_status", "/write_requests", "/locations"];

/// Fields that depend on the present.
const FIELDS_OF_THE_PRESENT: [&str; 2] = ["upcoming_appts", "last_visited_appointment"];

/// Separates the request of a line from the body of its answer.
const BODY: &str = r#","status":200,"body":"#;

#[actix::test]
async fn a_data_directory_of_an_earlier_build_answers_as_before() {
    let folder = Path::new(FOLDER);
    if let Some(program) = env::var_os("EARLIER_PROGRAM") {
        return make(&PathBuf::from(program), folder).await;
    }
    let dir = tempfile::tempdir().unwrap();
    copy(&folder.join("data"), &dir.path().join("data"));
    // The EHR of the practice no longer exists.
    let installation = practice::installation(binary(), dir.path(), "http://127.0.0.1:9".to_owned());
    let process = installation.start().await.unwrap();
    let client = installation.sign_in().await.unwrap();
    let mut connection = Connection::open(installation.address).await.unwrap();
    let lines = fs::read_to_string(folder.join("answers.jsonl")).unwrap();
    assert!(lines.lines().count() > 100, "the file has the answers of the lists and records");
    for line in lines.lines() {
        let (asked, body) = line.split_once(BODY).unwrap();
        let asked: Value = serde_json::from_str(&format!("{asked}}}")).unwrap();
        for version in asked["versions"].as_array().unwrap() {
            let (path, version) = (asked["path"].as_str().unwrap(), version.as_str().unwrap());
            let headers = [("authorization", client.authorization()), ("svc-api-version", version)];
            let answer = connection.send(&request("GET", path, &headers, &[])).await.unwrap();
            let now = String::from_utf8(answer.body).unwrap();
            let earlier = body.strip_suffix('}').unwrap();
            assert_eq!((answer.status, lasting(&now)), (200, lasting(earlier)), "{version} {path}");
        }
    }
    process.stop().unwrap();
    assert_eq!(installation.panics().unwrap(), [""; 0]);
}

/// Returns a body without fields that depend on the present. Other bodies stay the same to the byte.
fn lasting(body: &str) -> String {
    if !FIELDS_OF_THE_PRESENT.iter().any(|field| body.contains(field)) {
        return body.to_owned();
    }
    let mut body: Value = serde_json::from_str(body).unwrap();
    remove_present(&mut body);
    body.to_string()
}

fn remove_present(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !FIELDS_OF_THE_PRESENT.contains(&name.as_str()));
            fields.values_mut().for_each(remove_present);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_present),
        _ => {}
    }
}

async fn make(program: &Path, folder: &Path) {
    let mut practice = Practice::start(program).await;
    practice.write_records().await;
    practice.read_twice().await;
    let mut lines = requests::record(&practice, None).await;
    lines.retain(|line| !OF_THE_PRESENT.iter().any(|route| line.contains(&format!(r#""path":"{route}"#))));
    let dir = practice.stop().await;
    copy(&dir.path().join("data"), &folder.join("data"));
    fs::write(folder.join("answers.jsonl"), lines.join("\n") + "\n").unwrap();
}

/// Copies a folder with its files and folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}
