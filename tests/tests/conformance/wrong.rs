//! EHRs with one defect each. The case for the defect must fail, and must pass without it.

use adapter_conformance::{CaseEnd, CaseResult, FromFile, SubjectFile};
use runtime::clock;
use sandbox_ehr::{SandboxEhr, SandboxRequest};
use serde_json::{Value, json};
use tests::harness::{
    components,
    ehr_server::fake::{FakeRequest, FakeServer, Respond, Response},
};

/// Defect added to the simulated EHR's answers.
#[derive(Clone, Copy)]
enum Wrong {
    Nothing,
    /// The first search for a write finds nothing, like an index that lags.
    LateIndex,
    /// The answer to each creation contains the id of the first one.
    OneId,
    /// Records changed by staff are missing from later pages.
    LostInTheWalk,
    /// Unreadable working hours are omitted without a report.
    SilentlyLeftOut,
    /// Working hours of a date are shifted by one hour.
    AnHourLater,
    /// Items of a patient's history stay active.
    NeverEnded,
}

struct WrongEhr {
    ehr: SandboxEhr,
    wrong: Wrong,
    looked_for: Vec<String>,
    first: Option<Value>,
}

impl WrongEhr {
    /// Applies the defect to the body and returns the status.
    fn corrupt(&mut self, request: &SandboxRequest, status: u16, body: &mut Value) -> u16 {
        let (method, path) = (request.method.as_str(), request.path.as_str());
        let mut without = |out: &dyn Fn(&Value) -> bool| {
            if let Some(records) = body["records"].as_array_mut() {
                records.retain(|record| !out(record));
            }
        };
        match (self.wrong, method) {
            (Wrong::LateIndex, "GET")
                if path.starts_with("/v1/writes/") && status == 200 && !self.looked_for.contains(&request.path) =>
            {
                self.looked_for.push(path.to_owned());
                *body = json!({"error": "not_found", "message": "There is no such record or route"});
                return 404;
            }
            (Wrong::OneId, "POST") if path == "/v1/communication_logs" => {
                body["id"] = self.first.get_or_insert_with(|| body["id"].clone()).clone();
            }
            (Wrong::LostInTheWalk, "GET") if path == "/v1/patients" => {
                without(&|record| record["email"].as_str().is_some_and(|mail| mail.starts_with("by staff")));
            }
            (Wrong::SilentlyLeftOut, "GET") if path == "/v1/hours" => {
                without(&|record| record["days"].is_array() && record["date"].is_string());
            }
            (Wrong::AnHourLater, "GET") if path == "/v1/hours" => {
                let records = body["records"].as_array_mut().into_iter().flatten();
                for hours in records.filter(|hours| hours["date"].is_string() && hours["begin"] == "00:30") {
                    hours["begin"] = "01:30".into();
                }
            }
            (Wrong::NeverEnded, "GET") if path == "/v1/patient_history_items" => {
                let records = body["records"].as_array_mut().into_iter().flatten();
                records.for_each(|item| item["active"] = true.into());
            }
            _ => (),
        }
        status
    }
}

impl Respond for WrongEhr {
    fn respond(&mut self, request: FakeRequest) -> Response {
        let FakeRequest { method, path, query, headers, body } = request;
        let request = SandboxRequest { method, path, query, headers, body };
        let reply = self.ehr.handle(clock::now().0, &request);
        let mut body = serde_json::from_slice(&reply.body).unwrap_or_default();
        let status = self.corrupt(&request, reply.status, &mut body);
        let (body, delay) = (body.to_string().into_bytes(), std::time::Duration::ZERO);
        Response { status, headers: reply.headers, body, delay, lost: false }
    }
}

/// Returns the outcome of a case on this EHR, with the subject file of a new adapter.
async fn outcome(wrong: Wrong, case: &str) -> CaseResult {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("my-ehr");
    adapter_kit::scaffold(&new, "my-ehr", adapter_kit::Start::Minimal).unwrap();
    let mut subject = SubjectFile::read(&new.join("subject.toml")).ok().unwrap();
    let ehr = SandboxEhr::new(sandbox_host::practice());
    let server = FakeServer::serving(WrongEhr { ehr, wrong, looked_for: Vec::new(), first: None }).unwrap();
    subject.local.base_url = server.url();
    let adapter = adapter_conformance::load(&components::component("sandbox"), &components::compiled()).await.unwrap();
    let ehr = FromFile::new(subject, &adapter).await.ok().unwrap();
    let report = adapter_conformance::run(&adapter, ehr, &[case.to_owned()], &mut |_| ()).await.unwrap();
    report.cases[0].outcome.clone()
}

#[actix::test]
async fn each_case_detects_its_defect() {
    for (wrong, case, expected) in [
        (Wrong::LateIndex, "a_write_is_found_before_the_index_knows_it", "a receipt, or `retry-later`"),
        (Wrong::OneId, "two_writes_have_two_receipts", "another record than"),
        (Wrong::LostInTheWalk, "a_walk_while_records_change_misses_none", "every record: staff changed two of them"),
        (Wrong::LostInTheWalk, "churn_between_pages_hides_no_record_twice", "every record in one of the two passes"),
        (Wrong::SilentlyLeftOut, "one_broken_record_leaves_the_others", "among the skipped"),
        (
            Wrong::AnHourLater,
            "working_hours_keep_the_clock_of_the_wall_where_it_changes",
            "1 after working-hour-insert",
        ),
        (Wrong::NeverEnded, "written_records_are_pulled_unchanged", "an item that is not active"),
    ] {
        assert_eq!(outcome(Wrong::Nothing, case).await, Ok(()), "{case}");
        match outcome(wrong, case).await {
            Err(CaseEnd::Failed(finding)) => assert!(finding.expected.contains(expected), "{case}: {finding}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}
