//! Pulls of rows with documented fields and our own values, run natively without a real office.

use std::{cell::RefCell, rc::Rc};

use adapter_sdk::{
    Adapter, Fault, Page, PullAbility, Record, Resource,
    http::{Header, Request, Response},
    records::{ExtraValue, IntervalUnit},
    tables::Tables,
    testing::Host,
    time::instant_of,
};
use opendental_adapter::OpenDental;
use serde_json::{Value, json};

/// 08:00 in an office at UTC-5.
const NOW: &str = "2026-12-01T13:00:00Z";

fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn answer(body: &Value) -> Response {
    Response { status: 200, headers: Vec::new(), body: body.to_string().into_bytes() }
}

/// An office that responds from fixtures, and the requested paths.
fn client(extra: impl Fn(&str) -> Option<Value> + 'static) -> (Host, Rc<RefCell<Vec<String>>>) {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let paths = asked.clone();
    let host = Host::new()
        .manifest(include_str!("../adapter.toml"))
        .offset_seconds(-5 * 3_600)
        .at(instant_of(NOW).unwrap())
        .config("location", "office");
    let host = host.answer(move |request: &Request| {
        paths.borrow_mut().push(request.path.clone());
        assert!(
            request.headers.contains(&Header::new("content-type", "application/json")),
            "documented for every request"
        );
        assert!(!request.headers.iter().any(|header| header.name == "authorization"), "the keys are the host's");
        let path = request.path.as_str();
        let kind = |kind: &str| path.contains(&format!("SchedType={kind}"));
        let body = match extra(path) {
            Some(body) => body,
            None if path.starts_with("/schedules") => {
                let rows = fixture("schedules");
                let of = ["Provider", "Practice", "Blockout"].into_iter().find(|name| kind(name)).unwrap();
                // All entries are in the first week.
                if path.contains("dateStart=2026-11-30") { rows[of].clone() } else { json!([]) }
            }
            None => fixture(path.split(['?', '/']).nth(1).unwrap()),
        };
        Ok(answer(&body))
    });
    (host, asked)
}

fn pull(resource: Resource, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
    OpenDental::pull(resource, cursor.map(str::to_owned), limit)
}

#[test]
fn appointments_have_their_place_their_note_and_their_key() {
    let (host, asked) = client(|_| None);
    let page = host.run(|| pull(Resource::Appointments, None, 500).unwrap());
    assert_eq!(asked.borrow()[0], "/appointments?dateStart=2026-11-01&dateEnd=2027-12-01&Offset=0&Limit=100");
    assert!(page.whole && !page.last, "the blockouts are still to come");
    let [Record::Appointment(first), Record::Appointment(second)] = page.records.as_slice() else {
        panic!("{:?}", page.records)
    };
    assert_eq!(
        (first.start, first.end),
        (instant_of("2026-12-01T14:00:00Z").unwrap(), instant_of("2026-12-01T14:30:00Z").unwrap())
    );
    assert_eq!(first.note.as_deref(), Some("Window seat\nCalled twice"));
    assert_eq!(first.write_key.as_deref(), Some("ps-7-3-00ff"));
    assert!(first.confirmed && !first.cancelled);
    assert_eq!(first.checkin_at, instant_of("2026-12-01T13:52:31Z"));
    assert_eq!(first.version.as_deref(), Some("Scheduled/2026-12-01 09:00:00/2/6/1"));
    assert!(second.cancelled && !second.confirmed && second.checkin_at.is_none(), "a date alone is no arrival");
    assert_eq!((second.provider.as_deref(), second.note.as_deref()), (Some("5"), Some("by telephone")));
    assert!(second.extra.contains(&ExtraValue::new("reason", "ill")));
    let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
    assert_eq!((skipped, page.deleted.len()), (vec!["14"], 0), "what was known of one without a readable length stays");
}

#[test]
fn schedules_are_hours_less_holidays_and_blockouts_are_blocked_time() {
    let (host, asked) = client(|_| None);
    let hours = host.run(|| pull(Resource::WorkingHours, None, 500).unwrap());
    let [Record::WorkingHour(first), Record::WorkingHour(second)] = hours.records.as_slice() else {
        panic!("{:?}", hours.records)
    };
    assert_eq!((first.id.as_str(), second.id.as_str()), ("3101:2", "3101:3"));
    assert_eq!((first.begin_time.as_str(), first.end_time.as_str()), ("08:00", "17:00"));
    assert_eq!(first.specific_date.as_deref(), Some("2026-12-02"));
    assert!(asked.borrow()[0].starts_with("/schedules?dateStart=2026-11-30&dateEnd=2026-12-06&SchedType=Provider"));

    let (host, _) = client(|_| None);
    let blocked = host.run(|| {
        let first = pull(Resource::Appointments, None, 500).unwrap();
        pull(Resource::Appointments, Some(&first.cursor), 500).unwrap()
    });
    let [Record::Appointment(meeting)] = blocked.records.as_slice() else { panic!("{:?}", blocked.records) };
    assert!(meeting.unavailable && meeting.patient.is_none());
    assert_eq!((meeting.id.as_str(), meeting.note.as_deref()), ("blockout:3301:2", Some("Huddle")));
    assert_eq!(meeting.start, instant_of("2026-12-02T18:30:00Z").unwrap());
}

#[test]
fn patients_of_every_status() {
    let (host, asked) = client(|path| path.starts_with("/patients/Simple").then(|| fixture("patients")));
    let (page, delta) = host.run(|| {
        let page = pull(Resource::Patients, None, 500).unwrap();
        let delta = pull(Resource::Patients, Some(&page.cursor), 500).unwrap();
        (page, delta)
    });
    let [Record::Patient(zoe), Record::Patient(jan)] = page.records.as_slice() else { panic!("{:?}", page.records) };
    assert!(zoe.new_patient && zoe.unsubscribed_sms && !zoe.inactive && zoe.guarantor.is_none());
    assert_eq!((zoe.work_phone.as_deref(), zoe.work_phone_extension.as_deref()), (Some("(536)555-0182"), Some("12")));
    assert_eq!(zoe.preferred_language.as_deref(), Some("es"));
    assert_eq!(zoe.address.as_ref().unwrap().postal_code.as_deref(), Some("60601"));
    assert!(jan.inactive && jan.gender.is_none() && jan.date_of_birth.is_none() && jan.preferred_language.is_none());
    assert_eq!(jan.guarantor.as_deref(), Some("48"));
    assert!(page.whole && page.last && !delta.whole && delta.last);
    // Five minutes before the office's clock at the start of the pass.
    assert_eq!(asked.borrow()[1], "/patients/Simple?DateTStamp=2026-12-01%2007%3A55%3A05&Offset=0&Limit=100");
}

/// At most 100 rows per page, each page overlapping the last by a row. A deletion in between is detected by the missing
/// row.
#[test]
fn a_deletion_between_pages_hides_no_other_row() {
    let row = |n: u64| json!({"PatNum": n, "LName": "L", "FName": "F", "PatStatus": "Patient"});
    let gone = Rc::new(RefCell::new(false));
    let state = gone.clone();
    let (host, _) = client(move |path| {
        let offset: usize = path.split("Offset=").nth(1)?.split('&').next()?.parse().ok()?;
        let limit: usize = path.split("Limit=").nth(1)?.parse().ok()?;
        let rows = (1..=150).filter(|n| !(*state.borrow() && *n == 3)).map(row);
        Some(rows.skip(offset).take(limit).collect())
    });
    host.run(|| {
        let first = pull(Resource::Patients, None, 500).unwrap();
        assert_eq!((first.records.len(), first.last), (100, false));
        *gone.borrow_mut() = true;
        let second = pull(Resource::Patients, Some(&first.cursor), 500).unwrap();
        let ids: Vec<String> = second
            .records
            .iter()
            .map(|record| match record {
                Record::Patient(patient) => patient.id.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ids.first().map(String::as_str), Some("101"), "the row that moved up is shown");
        assert!(second.last && !second.whole, "what may have been missed shows no deletions");
        assert_eq!(ids.last().map(String::as_str), Some("150"));
        let again = pull(Resource::Patients, Some(&second.cursor), 500).unwrap();
        assert!(again.whole && again.records.len() == 100, "the next pass is whole again");
    });
}

/// Returns the number of patients in a whole pass over an office of `patients`, with this setting and the API's cap.
fn walked(patients: u64, page: &str, cap: usize) -> usize {
    let (host, _) = client(move |path| {
        let number = |name: &str| path.split(name).nth(1)?.split('&').next()?.parse::<usize>().ok();
        let rows = (1..=patients).map(|n| json!({"PatNum": n, "LName": "L", "FName": "F", "PatStatus": "Patient"}));
        Some(rows.skip(number("Offset=")?).take(number("Limit=")?.min(cap)).collect())
    });
    host.config("page", page).run(|| {
        let (mut records, mut cursor) = (0, None::<String>);
        loop {
            let page = pull(Resource::Patients, cursor.as_deref(), 500).unwrap();
            assert!(page.whole && (page.last || cursor.as_ref() != Some(&page.cursor)));
            records += page.records.len();
            if page.last {
                return records;
            }
            cursor = Some(page.cursor);
        }
    })
}

#[test]
fn pages_of_one_row_reach_the_end_of_a_list() {
    assert_eq!(walked(3, "1", 100), 3);
}

/// The setting is for the Local API, and the office uses the Remote API.
#[test]
fn a_page_with_fewer_rows_than_requested_by_a_cap_is_not_the_last() {
    assert_eq!(walked(250, "1000", 100), 250);
}

#[test]
fn lists_without_changes_are_not_read_before_the_next_whole_pass() {
    let (host, asked) = client(|path| path.starts_with("/feescheds").then(|| json!([])));
    host.run(|| {
        let first = pull(Resource::FeeSchedules, None, 500).unwrap();
        assert!(first.whole && first.last);
        let next = pull(Resource::FeeSchedules, Some(&first.cursor), 500).unwrap();
        assert!(next.last && !next.whole && next.records.is_empty() && next.cursor == first.cursor);
    });
    assert_eq!(asked.borrow().len(), 1);
}

#[test]
fn responses_that_are_not_rows_are_retried() {
    for body in [json!([[1], null]), json!({}), json!([{}]), json!("x"), json!([{"PatNum": null}])] {
        let (host, _) = client(move |_| Some(body.clone()));
        let pulled = host.run(|| pull(Resource::Patients, None, 500));
        assert!(matches!(pulled, Err(Fault::RetryLater(_))), "{pulled:?}");
    }
}

/// An office that lists patients, and gives this response to all other requests.
fn refusing(status: u16, body: &'static str) -> Host {
    Host::new().manifest(include_str!("../adapter.toml")).config("location", "office").answer(move |request: &Request| {
        if request.path.starts_with("/patients") {
            let rows = json!([{"PatNum": 48, "PatStatus": "Patient", "Guarantor": 48, "BalTotal": 5.0}, {"PatNum": 49, "PatStatus": "Deleted"}]);
            return Ok(answer(&rows));
        }
        if request.path.starts_with("/diseases") {
            return Ok(answer(&json!([])));
        }
        assert!(!request.path.contains("49"), "nothing is asked about a patient who is deleted: {}", request.path);
        Ok(Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() })
    })
}

/// A refused list is not empty; otherwise its records would be deleted.
#[test]
fn a_refused_lookup_is_not_an_empty_list() {
    let resources = [Resource::PatientHistoryItems, Resource::Adjustments, Resource::GuarantorBalances];
    for resource in resources {
        let to_the_end = || {
            let mut page = pull(resource, None, 500)?;
            while !page.last {
                page = pull(resource, Some(&page.cursor), 500)?;
            }
            Ok::<Page, Fault>(page)
        };
        let page = refusing(404, "\"Patient not found\"").run(to_the_end).unwrap();
        assert!(page.whole && page.records.is_empty(), "{resource:?}");
        for (status, body) in [
            (404, "<html>no such page</html>"),
            (404, ""),
            (400, "Something is amiss."),
            (401, "The developer key does not have the permission for this method."),
            (500, "oops"),
        ] {
            let refused = refusing(status, body).run(to_the_end);
            assert!(refused.is_err(), "{resource:?} {status}: {refused:?}");
        }
    }
    // Neither is a list with too many rows.
    let rows: Vec<Value> = (1..=100).map(|n| json!({"AdjNum": n, "PatNum": 48})).collect();
    let endless = json!(rows).to_string().leak();
    assert!(matches!(refusing(200, endless).run(|| pull(Resource::Adjustments, None, 500)), Err(Fault::RetryLater(_))));
}

#[test]
fn totals_without_their_sum_are_not_zero() {
    for body in ["{}", "{\"error\": \"busy\"}", "{\"Total\": null}", "[]"] {
        let pulled = refusing(200, body).run(|| pull(Resource::GuarantorBalances, None, 500));
        assert!(matches!(pulled, Err(Fault::RetryLater(_))), "{body}: {pulled:?}");
    }
}

#[test]
fn an_unreadable_row_is_not_deleted() {
    let rows = |broken: Value| {
        json!([
            {"serverDateTime": "2026-12-01 08:00:05", "AptNum": 7, "AptStatus": "Scheduled", "Pattern": "XX", "Op": 2,
             "AptDateTime": "2026-12-01 09:00:00"},
            {"AptNum": 8, "AptStatus": "Scheduled", "Pattern": "XX", "Op": broken, "AptDateTime": "2026-12-01 10:00:00"}
        ])
    };
    for (op, readable) in [(json!(2), true), (json!({"of": "another kind"}), false)] {
        let rows = rows(op);
        let (host, _) =
            client(move |path| Some(if path.starts_with("/appointments") { rows.clone() } else { json!([]) }));
        host.run(|| {
            let mut page = pull(Resource::Appointments, None, 500).unwrap();
            assert_eq!((page.records.len(), page.deleted.len()), (1 + usize::from(readable), 0));
            let skipped: Vec<&str> = page.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
            assert_eq!(skipped, if readable { &[][..] } else { &["8"] }, "it is named, and what it was before stays");
            while !page.last {
                page = pull(Resource::Appointments, Some(&page.cursor), 500).unwrap();
            }
            assert!(page.whole, "all others are shown");
            // Changes since: not reported either.
            let delta = pull(Resource::Appointments, Some(&page.cursor), 500).unwrap();
            assert!(delta.deleted.is_empty() && !delta.whole, "{delta:?}");
        });
    }
}

/// An office whose clock is an hour slow, and a row that is changed after an empty pass.
#[test]
fn a_slow_office_clock_misses_no_changes() {
    let changed = Rc::new(RefCell::new(None::<String>));
    // `DateTStamp` selects rows changed after it, by the office's clock. Logs do not contain its time, providers do.
    let office_with = |path: &'static str, key: &'static str, tells: bool| {
        let rows = changed.clone();
        Host::new().manifest(include_str!("../adapter.toml")).at(instant_of(NOW).unwrap()).config("location", "office").answer(move |request: &Request| {
            if request.path.starts_with("/providers") {
                return Ok(answer(&json!([{"ProvNum": 1, "serverDateTime": "2026-12-01 12:00:00"}])));
            }
            assert!(request.path.starts_with(path), "{}", request.path);
            let since = request.path.split("DateTStamp=").nth(1).and_then(|rest| rest.split('&').next());
            let since = since.map(|since| since.replace("%20", " ").replace("%3A", ":"));
            let shown = rows.borrow().clone().filter(|stamp| since.is_none_or(|since| *stamp > since));
            let row = |stamp: String| {
                let mut row = json!({key: 5, "DateTStamp": stamp, "LName": "L", "FName": "F", "PatNum": 5, "Note": "n",
                    "CommDateTime": "2026-12-01 09:00:00"});
                if tells {
                    row["serverDateTime"] = "2026-12-01 12:00:00".into();
                }
                row
            };
            Ok(answer(&json!(shown.map(row).into_iter().collect::<Vec<_>>())))
        })
    };
    for (resource, path, key, tells) in [
        (Resource::Patients, "/patients/Simple", "PatNum", true),
        (Resource::CommunicationLogs, "/commlogs", "CommlogNum", false),
    ] {
        let pass = |cursor: Option<&str>| {
            let page = office_with(path, key, tells).run(|| pull(resource, cursor, 500)).unwrap();
            assert!(page.last);
            (page.records.len(), page.cursor)
        };
        *changed.borrow_mut() = None;
        let (none, first) = pass(None);
        let (still, second) = pass(Some(&first));
        *changed.borrow_mut() = Some("2026-12-01 12:00:30".to_owned());
        let (one, third) = pass(Some(&second));
        assert_eq!((none, still, one), (0, 0, 1), "{resource:?}");
        // The office's clock is used, so changes of the next hour are not missed.
        *changed.borrow_mut() = Some("2026-12-01 12:01:00".to_owned());
        assert_eq!(pass(Some(&third)).0, 1, "{resource:?}");
    }
}

/// A method that one key is not allowed to use does not stop other requests; invalid keys do.
#[test]
fn a_method_without_permission_differs_from_invalid_keys() {
    let client = |status: u16, body: &'static str, keys_work: bool| {
        Host::new().manifest(include_str!("../adapter.toml")).config("location", "office").answer(
            move |request: &Request| match request.path.as_str() {
                path if keys_work && path.starts_with("/operatories") => Ok(answer(&json!([]))),
                _ => Ok(Response { status, headers: Vec::new(), body: body.as_bytes().to_vec() }),
            },
        )
    };
    let log = adapter_sdk::Write::DeleteCoverage("5".into());
    for (status, body) in [
        (401, "The developer key does not have the permission for this method."),
        (401, "ApiComm is required."),
        (403, "Forbidden"),
        (403, ""),
    ] {
        let pulled = client(status, body, true).run(|| pull(Resource::Patients, None, 5));
        assert!(matches!(&pulled, Err(Fault::Unsupported(why)) if why.starts_with("GET patients: ")), "{pulled:?}");
        let pushed = client(status, body, true).run(|| OpenDental::push("k".into(), log.clone()));
        assert!(matches!(&pushed, Err(Fault::Unsupported(why)) if why.starts_with("DELETE patplans: ")), "{pushed:?}");
        let described = client(status, "no", false).run(OpenDental::describe);
        assert!(matches!(described, Err(Fault::Unauthorized(_))), "{described:?}");
    }
    for status in [401, 403] {
        let pulled = client(status, "Invalid credentials.", false).run(|| pull(Resource::Patients, None, 5));
        assert!(matches!(pulled, Err(Fault::Unauthorized(_))), "{pulled:?}");
    }
    let gone = client(410, "This method is deprecated.", true).run(|| pull(Resource::Fees, None, 5));
    assert!(matches!(&gone, Err(Fault::Unsupported(why)) if why.starts_with("GET fees: ")), "{gone:?}");
}

/// Every stream with deltas sends a parameter for changes.
#[test]
fn a_delta_asks_for_what_changed() {
    let (host, asked) = client(|_| Some(json!([])));
    host.run(|| {
        for stream in OpenDental::STREAMS {
            let PullAbility { resource, delta, .. } = stream.ability();
            let mut page = pull(resource, None, 500).unwrap();
            while !page.last {
                page = pull(resource, Some(&page.cursor), 500).unwrap();
            }
            asked.borrow_mut().clear();
            pull(resource, Some(&page.cursor), 500).unwrap();
            let names = ["DateTStamp=", "SecDateTEdit=", "DateEntry="];
            let since = asked.borrow().iter().any(|path| names.iter().any(|name| path.contains(name)));
            // The list of conditions comes first and is read whole.
            assert_eq!(since, delta && resource != Resource::PatientHistoryItems, "{resource:?}");
        }
    });
}

#[test]
fn intervals_of_recalls_have_one_unit() {
    for (text, expected) in [
        ("6m1d", Some((6, IntervalUnit::Month))),
        ("1y", Some((1, IntervalUnit::Year))),
        ("1y6m20d", Some((18, IntervalUnit::Month))),
        ("0y0m3w0d", Some((3, IntervalUnit::Week))),
        ("10d", Some((10, IntervalUnit::Day))),
        ("", None),
        ("0d", None),
    ] {
        let (host, _) = client(move |_| Some(json!([{"RecallTypeNum": 1, "DefaultInterval": text}])));
        let page = host.run(|| pull(Resource::RecallTypes, None, 500)).unwrap();
        let shown = page.records.first().map(|record| match record {
            Record::RecallType(kind) => (kind.interval_number, kind.interval_unit),
            other => panic!("{other:?}"),
        });
        assert_eq!(shown, expected, "{text}");
    }
}
