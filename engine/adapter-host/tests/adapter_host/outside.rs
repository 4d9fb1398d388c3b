//! Tests of a guest's access to the world outside of the sandbox.

use std::{io::Write, sync::Arc};

use parking_lot::Mutex;
use records::ehr::{EhrPatient, Resource, Write as Ehr};
use setup::secret::Secret;

use crate::support::{DEADLINE, Does, TestEhr, adapter, connection, guest_report};

#[tokio::test]
async fn requests_go_below_the_base_url_with_credentials_hidden_from_the_guest() {
    let ehr = TestEhr::ok();
    assert_eq!(guest_report(&[("behaviour", "get"), ("path", "/a?b=c"), ("header", "X-Mine")], &ehr).await, "200 fine");
    let seen = ehr.seen.lock();
    assert_eq!((seen[0].method.as_str(), seen[0].url.as_str()), ("GET", "https://ehr.example/base/a?b=c"));
    let header = |name: &str, value: &str| (name.to_string(), value.to_string());
    assert_eq!(seen[0].headers, [header("x-mine", "mine"), header("authorization", "Bearer s3cret")]);
    assert!(!format!("{:?}", seen[0]).contains("s3cret"));
}

#[tokio::test]
async fn requests_against_the_locations_rules_are_refused_and_not_sent() {
    let ehr = TestEhr::ok();
    for (settings, expected) in [
        ([("path", "/../admin")].as_slice(), "`..`"),
        (&[("path", "//evil.example/")], "`//`"),
        (&[("path", "https://evil.example/")], "must begin"),
        (&[("path", "/a\r\nx: y")], "percent-encoded"),
        (&[("path", "/a"), ("header", "host")], "engine's"),
        (&[("path", "/a"), ("header", "authorization")], "configuration"),
        (&[("path", "/a"), ("header", "cookie")], "manifest"),
        (&[("path", "/a"), ("header", "x_token")], "header"),
        (&[("path", "/a"), ("header", "X-Rewrite-URL")], "another request"),
        (&[("path", "/a/..;/b")], "`..`"),
        (&[("path", "/a/%252e%252e/b")], "percent-encoded"),
        (&[("path", "/a"), ("header", "x\r\ny")], "header"),
    ] {
        let settings = [&[("behaviour", "get")], settings].concat();
        let answer = guest_report(&settings, &ehr).await;
        assert!(answer.starts_with("refused: ") && answer.contains(expected), "{settings:?}: {answer}");
    }
    let mut narrow = connection(&[("behaviour", "get"), ("path", "/b")], &ehr);
    narrow.allowed_paths = vec!["/a".into()];
    let answer = adapter().await.connect(narrow).unwrap().describe(DEADLINE).await.unwrap().name;
    assert!(answer.contains("outside what the location allows"), "{answer}");
    assert!(ehr.seen.lock().is_empty());
}

#[tokio::test]
async fn requests_and_answers_are_bounded() {
    let ehr = TestEhr::ok();
    let answer = guest_report(&[("behaviour", "many-requests")], &ehr).await;
    assert_eq!(answer, "request 20 refused: more than 20 requests in one call", "the manifest asks for 20");
    assert_eq!(ehr.seen.lock().len(), 20);
    let guest = crate::support::connected(&[("behaviour", "many-requests")], &ehr).await;
    guest.describe(DEADLINE).await.unwrap();
    assert_eq!((guest.take_requests_beyond(), guest.take_requests_beyond()), (19, 0), "a call counts as one anyway");
    let get = [("behaviour", "get"), ("path", "/")];
    let answer = guest_report(&get, &TestEhr::new(Does::AnswersBytes((8 << 20) + 1))).await;
    assert!(answer.starts_with("no answer: its body is longer"), "{answer}");
    assert!(guest_report(&get, &TestEhr::new(Does::AnswersBytes(8 << 20))).await.starts_with("200 xxx"));
    assert_eq!(guest_report(&get, &TestEhr::new(Does::RefusesConnections)).await, "not sent: connection refused");
    assert_eq!(guest_report(&get, &TestEhr::new(Does::Answers(503, "later".into()))).await, "503 later");
}

#[tokio::test]
async fn guests_see_the_settings_time_and_gate_of_their_location() {
    let ehr = TestEhr::ok();
    assert_eq!(guest_report(&[("behaviour", "config")], &ehr).await, r#"Some("L-7") Some("America/New_York") None"#);
    let mut clocked = connection(&[("behaviour", "clock")], &ehr);
    clocked.clock = Arc::new(|| 42);
    let answer = adapter().await.connect(clocked).unwrap().describe(DEADLINE).await.unwrap().name;
    assert_eq!(answer, "42 [1793511000, 1793514600] EDT");
    assert_eq!(
        guest_report(&[("behaviour", "gate")], &ehr).await,
        "State::Closed not sent: no workstation is connected"
    );
    assert_eq!(format!("{:?}", Secret::new("x")), "Secret(redacted)");
}

/// A readable log.
#[derive(Clone, Default)]
struct Lines {
    text: Arc<Mutex<Vec<u8>>>,
    /// The threads on which texts of pages were truncated during conversion.
    converted_on: Arc<Mutex<Vec<String>>>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.lock().extend_from_slice(bytes);
        if String::from_utf8_lossy(bytes).contains("are truncated") {
            let thread = std::thread::current().name().unwrap_or_default().to_owned();
            self.converted_on.lock().push(thread);
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The limits of the lines of a connection.
const BURST: usize = 200;
const LINES_PER_SECOND: usize = 20;

/// A single test, because the log of a process has one reader.
#[tokio::test]
async fn log_lines_name_adapter_and_location_and_are_rate_limited() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt().without_time().with_ansi(false).with_writer(move || writer.clone()).init();
    let began = std::time::Instant::now();
    guest_report(&[("behaviour", "log-flood")], &TestEhr::ok()).await;
    let most = BURST + (began.elapsed().as_secs() as usize + 1) * LINES_PER_SECOND;
    let guest = crate::support::connected(&[("behaviour", "flood-and-panic")], &TestEhr::ok()).await;
    let reason = guest.describe(DEADLINE).await.unwrap_err().to_string();
    assert!(reason.contains("src/lib.rs:"), "where it panicked is known after a flood too: {reason}");

    let text = String::from_utf8(lines.text.lock().clone()).unwrap();
    let id = |line: &str| line.split_once(" id=").unwrap().1.split(' ').next().unwrap().to_owned();
    let floods: Vec<&str> = text.lines().filter(|line| line.contains("forged")).collect();
    let (flood, after): (Vec<&str>, Vec<&str>) = floods.iter().partition(|line| id(line) == id(floods[0]));
    assert!((BURST..=most).contains(&flood.len()), "{} lines, at most {most}", flood.len());
    assert!(
        flood[0].contains("adapter=\"hostile\"") && flood[0].contains("location=\"test location\""),
        "{}",
        flood[0]
    );
    assert!(flood[0].contains("line 0 forged line xxx") && flood[0].len() < 2_300);
    assert!(!text.lines().any(|line| line.starts_with("forged")), "no line of the guest's own making");
    assert!(!text.contains("a bug in the adapter"), "the message of a panic may quote a record");
    let panic = text.lines().find(|line| line.contains("panicked at ") && line.contains("src/lib.rs:")).unwrap();
    assert!(!after.is_empty() && after.iter().all(|line| id(line) == id(panic)), "each call has an id: {after:?}");
    assert!(text.lines().any(|line| line.contains("lines of the adapter were suppressed") && id(line) == id(panic)));
    assert!(panic.contains("ERROR adapter::hostile:") && panic.contains("call=\"describe\" id="), "{panic}");

    let patient = EhrPatient {
        first_name: "Annabel".into(),
        last_name: "Fairweather".into(),
        date_of_birth: Some("1984-03-07".into()),
        email: Some("annabel@mail.example".into()),
        cell_phone: Some("3125550142".into()),
        ssn: Some("123-45-6789".into()),
        premedication: Some("amoxicillin".into()),
        ..EhrPatient::default()
    };
    for then in ["panic", "fault"] {
        let guest = crate::support::connected(&[("behaviour", "leak"), ("then", then)], &TestEhr::ok()).await;
        let ended = guest.push("key-4711".into(), Ehr::CreatePatient(patient.clone()), DEADLINE).await;
        let reason = ended.unwrap_err().to_string();
        without_the_patient(&reason);
        assert_eq!(reason.contains("[redacted]"), then == "fault", "{reason}");
    }
    let text = String::from_utf8(lines.text.lock().clone()).unwrap();
    without_the_patient(&text);
    let written = text.lines().find(|line| line.contains("writing {")).unwrap();
    assert!(written.contains("write=\"key-4711\"") && written.contains("call=\"push\""), "{written}");

    let guest = crate::support::connected(&[("behaviour", "huge-text")], &TestEhr::ok()).await;
    guest.pull(Resource::Patients, None, 1, DEADLINE).await.unwrap();

    let message = "token s3cret, api 'k3y-of-settings', mail ada@mail.example, forged\u{2028}line\u{202e}\u{1b}[2J";
    let settings = [("behaviour", "say"), ("text", message), ("api-key", "k3y-of-settings")];
    let guest = crate::support::connected(&settings, &TestEhr::ok()).await;
    let reason = guest.pull(Resource::Patients, None, 1, DEADLINE).await.unwrap_err().to_string();
    let expected = "token [redacted], api '[redacted]', mail [redacted], forged line  [2J";
    assert!(reason.ends_with(expected), "{reason}");
    let text = String::from_utf8(lines.text.lock().clone()).unwrap();
    assert!(
        text.lines().any(|line| line.contains("are truncated") && line.contains("texts=1")),
        "a truncation is logged"
    );
    let threads = lines.converted_on.lock().clone();
    assert!(
        !threads.is_empty() && threads.iter().all(|name| name == "adapter"),
        "the caller's only waits: {threads:?}"
    );
    assert!(text.lines().any(|line| line.contains(expected)) && !text.contains('\u{202e}'));
}

fn without_the_patient(text: &str) {
    for known in ["nnabel", "airweather", "1984", "3125550142", "123-45-6789", "amoxicillin"] {
        assert!(!text.contains(known), "{known} in {text}");
    }
}

#[tokio::test]
async fn a_name_is_shown_as_one_line_without_markup() {
    let name = guest_report(&[("behaviour", "named"), ("text", "<b>EHR</b>\nof\u{202e} many")], &TestEhr::ok()).await;
    assert_eq!(name, " b EHR /b  of  many");
}
