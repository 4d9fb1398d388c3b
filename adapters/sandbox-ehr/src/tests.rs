#![allow(clippy::unwrap_used)]

mod filed;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Behaviours, Change, Control, Delivery, OffsetFrom, Profile, SandboxEhr, SandboxReply, SandboxRequest, calendar,
    records::{Record, Resource, Status},
};

/// 2026-11-20, a Friday, 12:00 UTC.
const TODAY: i32 = 20_777;
const NOW: i64 = TODAY as i64 * 86_400_000 + 43_200_000;

fn profile() -> Profile {
    let offset = |seconds| vec![OffsetFrom { from: 0, seconds }];
    Profile::demo(7, TODAY, offset(-5 * 3_600), offset(-8 * 3_600))
}

fn ehr() -> SandboxEhr {
    SandboxEhr::new(profile())
}

fn send(ehr: &mut SandboxEhr, method: &str, target: &str, body: Value) -> SandboxReply {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request =
        SandboxRequest { method: method.into(), path: path.into(), query: query.into(), headers: Vec::new(), body };
    ehr.handle(NOW, &request)
}

fn get(ehr: &mut SandboxEhr, target: &str) -> Value {
    let reply = send(ehr, "GET", target, Value::Null);
    assert_eq!(reply.status, 200, "{target}");
    assert!(reply.changes.is_empty());
    reply.json_body()
}

/// Returns all records of a list and the deleted ids, read in pages of `limit`, and the last revision.
fn walk(
    ehr: &mut SandboxEhr,
    name: &str,
    location: &str,
    mut since: u64,
    limit: u32,
) -> (Vec<Value>, Vec<String>, u64) {
    let (mut records, mut deleted) = (Vec::new(), Vec::new());
    loop {
        let page = get(ehr, &format!("/v1/{name}?location={location}&since={since}&limit={limit}"));
        records.extend(page["records"].as_array().unwrap().clone());
        deleted.extend(page["deleted"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()));
        since = page["revision"].as_u64().unwrap();
        if page["more"] == false {
            return (records, deleted, since);
        }
    }
}

/// A booking on a Sunday without other appointments.
fn body(ehr: &SandboxEhr, key: &str) -> Value {
    let operatory = ehr.records(Resource::Operatories).next().unwrap().to_json();
    let patient = ehr.records(Resource::Patients).next().unwrap().id().to_owned();
    json!({"location": "main-street", "operatory": operatory["id"], "patient": patient, "write_key": key,
        "start": "2026-11-29T15:00:00Z", "end": "2026-11-29T15:30:00Z"})
}

#[test]
fn the_seed_decides_everything() {
    let lists = |mut ehr: SandboxEhr| walk(&mut ehr, "appointments", "lakeside", 0, 1_000);
    assert_eq!(lists(ehr()), lists(ehr()));
    let other = SandboxEhr::new(Profile { seed: 8, ..profile() });
    assert_ne!(lists(ehr()), lists(other));
}

#[test]
fn the_demo_has_free_time() {
    let ehr = ehr();
    let count = |resource| ehr.records(resource).count();
    assert_eq!((count(Resource::Operatories), count(Resource::Providers), count(Resource::Patients)), (14, 9, 240));
    let names: Vec<String> = ehr.records(Resource::Patients).map(|r| r.to_json().to_string()).collect();
    assert!(names.iter().any(|name| !name.is_ascii()));
    let hours: Vec<Value> = ehr.records(Resource::Hours).map(Record::to_json).collect();
    assert!(hours.iter().any(|h| h["block"] == true && !h["types"].as_array().unwrap().is_empty()));
    assert!(hours.iter().any(|h| h["every"]["number"] == 2) && hours.iter().any(|h| h["date"].is_string()));
    let booked: Vec<Value> = ehr.records(Resource::Appointments).map(Record::to_json).collect();
    assert!((500..4_000).contains(&booked.len()), "{}", booked.len());
    assert!(booked.iter().any(|a| a["blocked"] == true && a["patient"].is_null()));
    // 08:00 in New York is 13:00 UTC; no provider works earlier.
    assert!(booked.iter().all(|a| a["location"] != "main-street" || a["start"].as_str().unwrap()[11..13] >= *"12"));
}

#[test]
fn the_seeded_calendar_has_no_overlaps() {
    let ehr = ehr();
    for record in ehr.records(Resource::Appointments) {
        let Record::Appointment(a) = record else { unreachable!() };
        assert!(
            !a.occupies() || ehr.practice.occupied(a.place().unwrap(), a.start, a.end, &a.id).is_none(),
            "{}",
            a.id
        );
    }
}

#[test]
fn a_booking_is_kept_found_and_shown() {
    let mut ehr = ehr();
    let (_, _, before) = walk(&mut ehr, "appointments", "main-street", 0, 1_000);
    let (_, _, elsewhere) = walk(&mut ehr, "appointments", "lakeside", 0, 1_000);
    let body = body(&ehr, "key 1");
    let reply = send(&mut ehr, "POST", "/v1/appointments", body);
    assert_eq!(reply.status, 201, "{}", reply.json_body());
    assert_eq!(reply.changes.len(), 1);
    let saved = reply.json_body();
    assert_eq!((&saved["status"], &saved["write_key"]), (&json!("scheduled"), &json!("key 1")));
    assert_eq!(get(&mut ehr, "/v1/writes/key%201")["id"], saved["id"]);
    assert_eq!(get(&mut ehr, &format!("/v1/appointments/{}", saved["id"].as_str().unwrap())), saved);
    let (delta, deleted, _) = walk(&mut ehr, "appointments", "main-street", before, 10);
    assert_eq!((delta, deleted), (vec![saved], vec![]));
    assert_eq!(walk(&mut ehr, "appointments", "lakeside", elsewhere, 10).0, Vec::<Value>::new());
}

#[test]
fn an_operatory_is_never_booked_twice() {
    let mut ehr = ehr();
    let first = body(&ehr, "a");
    assert_eq!(send(&mut ehr, "POST", "/v1/appointments", first.clone()).status, 201);
    let at = |start: &str, end: &str| {
        let mut other = first.clone();
        other["start"] = json!(format!("2026-11-29T{start}:00Z"));
        other["end"] = json!(format!("2026-11-29T{end}:00Z"));
        other["write_key"] = json!(format!("{start}{end}"));
        other
    };
    for (start, end) in
        [("15:00", "15:30"), ("14:45", "15:01"), ("15:29", "16:00"), ("14:00", "17:00"), ("15:10", "15:20")]
    {
        let reply = send(&mut ehr, "POST", "/v1/appointments", at(start, end));
        assert_eq!((reply.status, &reply.json_body()["error"]), (409, &json!("slot_taken")), "{start}");
        assert!(reply.changes.is_empty());
    }
    assert_eq!(send(&mut ehr, "POST", "/v1/appointments", at("14:30", "15:00")).status, 201);
    let after = send(&mut ehr, "POST", "/v1/appointments", at("15:30", "16:00"));
    assert_eq!(after.status, 201);
    let moved = format!("/v1/appointments/{}", after.json_body()["id"].as_str().unwrap());
    assert_eq!(send(&mut ehr, "PATCH", &moved, json!({"start": "2026-11-29T15:15:00Z"})).status, 409);
    assert_eq!(send(&mut ehr, "PATCH", &moved, json!({"end": "2026-11-29T15:45:00Z"})).status, 200);
}

#[test]
fn a_cancelled_appointment_frees_its_time_and_stays_cancelled() {
    let mut ehr = ehr();
    let booked = body(&ehr, "a");
    let first = send(&mut ehr, "POST", "/v1/appointments", booked).json_body();
    let path = format!("/v1/appointments/{}", first["id"].as_str().unwrap());
    let cancelled = send(&mut ehr, "PATCH", &path, json!({"status": "cancelled", "reason": "ill", "write_key": "b"}));
    assert_eq!((cancelled.status, &cancelled.json_body()["status"]), (200, &json!("cancelled")));
    assert_eq!(get(&mut ehr, "/v1/writes/b")["id"], first["id"]);
    let again = send(&mut ehr, "PATCH", &path, json!({"status": "scheduled"}));
    assert_eq!((again.status, &again.json_body()["error"]), (422, &json!("cancelled")));
    let second = body(&ehr, "c");
    assert_eq!(send(&mut ehr, "POST", "/v1/appointments", second).status, 201);
}

#[test]
fn a_write_key_writes_once_unless_switched_off() {
    let mut ehr = ehr();
    let patient = json!({"first_name": "Zoë", "last_name": "Łopata", "born": "1990-02-28", "write_key": "p"});
    let first = send(&mut ehr, "POST", "/v1/patients", patient.clone());
    let second = send(&mut ehr, "POST", "/v1/patients", patient.clone());
    assert_eq!((first.status, second.status, second.changes.len()), (201, 200, 0));
    assert_eq!(first.json_body(), second.json_body());
    ehr.control(Control::Switch(json!({"idempotent": false}).as_object().unwrap().clone())).unwrap();
    let third = send(&mut ehr, "POST", "/v1/patients", patient);
    assert_eq!(third.status, 201);
    assert_ne!(first.json_body()["id"], third.json_body()["id"]);
}

#[test]
fn a_stale_version_is_refused() {
    let mut ehr = ehr();
    let booked = body(&ehr, "a");
    let saved = send(&mut ehr, "POST", "/v1/appointments", booked).json_body();
    let path = format!("/v1/appointments/{}", saved["id"].as_str().unwrap());
    let change = json!({"note": "x", "version": saved["version"]});
    assert_eq!(send(&mut ehr, "PATCH", &path, change.clone()).status, 200);
    let stale = send(&mut ehr, "PATCH", &path, change);
    assert_eq!((stale.status, &stale.json_body()["error"]), (409, &json!("stale")));
}

#[test]
fn without_operatory_a_provider_is_never_booked_twice() {
    let mut ehr = ehr();
    let provider = ehr.records(Resource::Providers).next().unwrap().to_json()["id"].clone();
    let with = |key: &str, provider: &Value| {
        let mut fields = body(&SandboxEhr::new(profile()), key);
        (fields["operatory"], fields["provider"]) = (Value::Null, provider.clone());
        fields
    };
    assert_eq!(send(&mut ehr, "POST", "/v1/appointments", with("a", &provider)).status, 201);
    let taken = send(&mut ehr, "POST", "/v1/appointments", with("b", &provider));
    assert_eq!((taken.status, taken.json_body()["error"].as_str()), (409, Some("slot_taken")));
    let nowhere = send(&mut ehr, "POST", "/v1/appointments", with("c", &Value::Null));
    assert_eq!((nowhere.status, nowhere.json_body()["error"].as_str()), (422, Some("missing_field")));
}

#[test]
fn malformed_and_unknown_things_are_refused() {
    let mut ehr = ehr();
    let with = |name: &str, value: Value| {
        let mut fields = body(&SandboxEhr::new(profile()), "k");
        fields[name] = value;
        fields
    };
    for (fields, status, code) in [
        (with("operatory", json!("O-99999")), 422, "unknown_operatory"),
        (with("location", json!("lakeside")), 422, "unknown_operatory"),
        (with("patient", json!("P-99999")), 422, "unknown_patient"),
        (with("patient", Value::Null), 422, "missing_field"),
        (with("provider", json!("D-99999")), 422, "unknown_provider"),
        (with("type", json!("T-99999")), 422, "unknown_type"),
        (with("end", json!("2026-11-29T15:00:00Z")), 422, "bad_time"),
        (with("end", json!("2026-11-30T15:00:01Z")), 422, "bad_time"),
        (with("start", json!("2026-02-30T15:00:00Z")), 400, "malformed"),
        (with("start", json!(5)), 400, "malformed"),
        (with("colour", json!("red")), 400, "malformed"),
        (with("id", json!("A-1")), 400, "malformed"),
        (with("write_key", json!("")), 400, "malformed"),
        (json!([]), 400, "malformed"),
    ] {
        let reply = send(&mut ehr, "POST", "/v1/appointments", fields);
        assert_eq!((reply.status, reply.json_body()["error"].as_str().unwrap()), (status, code));
        assert!(reply.changes.is_empty());
    }
    for target in ["/", "/v1/nothing", "/v1/patients/P-99999", "/v1/writes/nope", "/v2/patients", "/v1/patients/%zz"] {
        assert_eq!(send(&mut ehr, "GET", target, Value::Null).status, 404, "{target}");
    }
    for target in ["/v1/hours", "/v1/hours?location=elsewhere", "/v1/patients?since=-1", "/v1/patients?limit=x"] {
        assert_eq!(send(&mut ehr, "GET", target, Value::Null).status, 400, "{target}");
    }
    assert_eq!(send(&mut ehr, "DELETE", "/v1/patients/P-00001", Value::Null).status, 404);
    assert_eq!(send(&mut ehr, "GET", "/v1/patients?since=18446744073709551615", Value::Null).status, 200);
}

#[test]
fn pages_show_every_record_once_even_while_records_change() {
    let mut ehr = ehr();
    let first = get(&mut ehr, "/v1/patients?limit=100");
    assert_eq!((first["records"].as_array().unwrap().len(), &first["total"]), (100, &json!(240)));
    let edit = json!({"email": "new@mail.example"}).as_object().unwrap().clone();
    ehr.control(Control::StaffEdits { resource: Resource::Patients, id: "P-00001".into(), fields: edit }).unwrap();
    ehr.control(Control::Delete { resource: Resource::Patients, ids: vec!["P-00002".into(), "P-00200".into()] })
        .unwrap();
    let (rest, deleted, _) = walk(&mut ehr, "patients", "", first["revision"].as_u64().unwrap(), 100);
    assert_eq!(deleted, ["P-00002", "P-00200"]);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for record in first["records"].as_array().unwrap().iter().chain(&rest) {
        seen.insert(record["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen.len(), 239);
    assert_eq!(rest.last().unwrap()["email"], "new@mail.example");
}

#[test]
fn replay_gives_the_same_practice() {
    let mut ehr = ehr();
    let mut kept: Vec<String> = Vec::new();
    let mut keep = |changes: &[Change]| kept.extend(changes.iter().map(|c| serde_json::to_string(c).unwrap()));
    let booked = body(&ehr, "a");
    let reply = send(&mut ehr, "POST", "/v1/appointments", booked);
    keep(&reply.changes);
    let path = format!("/v1/appointments/{}", reply.json_body()["id"].as_str().unwrap());
    keep(&send(&mut ehr, "PATCH", &path, json!({"status": "confirmed", "write_key": "b"})).changes);
    keep(
        &send(&mut ehr, "POST", "/v1/patients", json!({"first_name": "A", "last_name": "B", "write_key": "c"})).changes,
    );
    let payment = json!({"patient": "P-00001", "amount": {"amount": "5", "currency": "USD"}, "write_key": "d"});
    keep(&send(&mut ehr, "POST", "/v1/payments", payment).changes);
    keep(&send(&mut ehr, "DELETE", "/v1/coverages/CV-00001", json!({"write_key": "e"})).changes);
    keep(&ehr.control(Control::MassDelete { resource: Resource::Appointments, percent: 30 }).unwrap());
    let changes = kept.iter().map(|line| serde_json::from_str(line).unwrap());
    let mut again = SandboxEhr::replay(profile(), changes);
    for name in ["appointments", "patients", "hours", "insurance_plans", "coverages", "payments"] {
        for since in [0, 400] {
            let both = [&mut ehr, &mut again].map(|e| walk(e, name, "main-street", since, 1_000));
            assert_eq!(both[0], both[1], "{name}");
        }
    }
    for key in ["c", "d", "e"] {
        let target = format!("/v1/writes/{key}");
        assert_eq!(get(&mut again, &target), get(&mut ehr, &target));
    }
    let next = json!({"first_name": "C", "last_name": "D"});
    let both = [&mut ehr, &mut again].map(|e| send(e, "POST", "/v1/patients", next.clone()).json_body());
    assert_eq!(both[0], both[1]);
}

fn switched(switches: Value) -> SandboxEhr {
    let mut ehr = ehr();
    ehr.control(Control::Switch(switches.as_object().unwrap().clone())).unwrap();
    ehr
}

#[test]
fn a_lost_reply_has_been_written_and_a_dropped_request_has_not() {
    let patient = json!({"first_name": "A", "last_name": "B", "write_key": "k"});
    let mut losing = switched(json!({"lose_next_replies": 1}));
    let lost = send(&mut losing, "POST", "/v1/patients", patient.clone());
    assert_eq!((lost.delivery, lost.changes.len()), (Delivery::Lost, 1));
    assert_eq!(send(&mut losing, "GET", "/v1/writes/k", Value::Null).status, 200);
    assert_eq!(send(&mut losing, "POST", "/v1/patients", patient.clone()).delivery, Delivery::Answered);
    let mut dropping = switched(json!({"drop_next_writes": 1}));
    let dropped = send(&mut dropping, "POST", "/v1/patients", patient);
    assert_eq!((dropped.delivery, dropped.changes.len()), (Delivery::Lost, 0));
    assert_eq!(send(&mut dropping, "GET", "/v1/writes/k", Value::Null).status, 404);
}

#[test]
fn each_step_of_a_move_can_be_refused_lost_or_forgotten() {
    let mut ehr = ehr();
    let booked = ehr.records(Resource::Appointments).find_map(|record| match record {
        Record::Appointment(known) if known.status == Status::Scheduled && !known.blocked => Some(known.clone()),
        _ => None,
    });
    let booked = booked.unwrap();
    let target = format!("/v1/appointments/{}", booked.id);
    let same_time = json!({"operatory": booked.operatory, "provider": booked.provider});
    let cancelled = json!({"status": "cancelled"});
    for (kind, other, body) in [
        ("move_appointment", "cancel_appointment", same_time),
        ("update_appointment", "move_appointment", json!({"note": "n"})),
        ("cancel_appointment", "move_appointment", cancelled),
    ] {
        let mut switch = |switches: Value| {
            ehr.control(Control::Switch(switches.as_object().unwrap().clone())).unwrap();
            send(&mut ehr, "PATCH", &target, body.clone())
        };
        let rules = |kind: &str| json!([{"write": kind, "times": 1}]);
        let refused = switch(json!({"reject": [{"write": kind, "times": 1, "code": "no"}]}));
        assert_eq!((refused.status, refused.changes.len()), (422, 0), "{kind}");
        let unsupported = switch(json!({"unsupported": [kind]}));
        assert_eq!((unsupported.status, unsupported.changes.len()), (501, 0), "{kind}");
        let forgotten = switch(json!({"unsupported": [], "forget": rules(kind)}));
        assert_eq!((forgotten.delivery, forgotten.changes.len()), (Delivery::Lost, 0), "{kind}");
        let lost = switch(json!({"lose": rules(kind), "forget": rules(other)}));
        assert_eq!((lost.delivery, lost.changes.len()), (Delivery::Lost, 1), "{kind}");
        assert!(ehr.behaviours().lose.is_empty(), "{kind}: the rule ends");
    }
}

#[test]
fn replies_get_lost_by_chance_and_by_seed() {
    let losses = || {
        let mut ehr = switched(json!({"lose_replies_per_mille": 300, "idempotent": false}));
        let patient = json!({"first_name": "A", "last_name": "B"});
        let mut lost = Vec::new();
        for _ in 0..200 {
            lost.push(send(&mut ehr, "POST", "/v1/patients", patient.clone()).delivery);
        }
        lost
    };
    let first = losses();
    assert_eq!(first, losses());
    let lost = first.iter().filter(|d| **d == Delivery::Lost).count();
    assert!((30..90).contains(&lost), "{lost}");
}

#[test]
fn each_switch_has_its_effect() {
    let patient = json!({"first_name": "A", "last_name": "B", "born": "2000-01-01", "write_key": "k"});
    let refusal = |switches: Value| {
        let mut ehr = switched(switches);
        let reply = send(&mut ehr, "POST", "/v1/patients", patient.clone());
        assert!(reply.changes.is_empty());
        (reply.status, reply.json_body()["error"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(refusal(json!({"refuse_new_patients": true})), (422, "new_patients_refused".into()));
    assert_eq!(refusal(json!({"required_patient_fields": ["born", "email"]})), (422, "missing_field".into()));
    assert_eq!(refusal(json!({"throttle_next": 1})), (429, "throttled".into()));
    assert_eq!(refusal(json!({"token": "t"})), (401, "unauthorized".into()));
    let rule = json!({"reject": [{"write": "create_patient", "times": 1, "code": "no", "message": "m"}]});
    assert_eq!(refusal(rule.clone()), (422, "no".into()));
    let mut once = switched(rule);
    send(&mut once, "POST", "/v1/patients", patient.clone());
    assert_eq!(send(&mut once, "POST", "/v1/patients", patient.clone()).status, 201);
    assert!(once.behaviours().reject.is_empty());

    let mut slow = switched(json!({"delay_ms": 1_500}));
    assert_eq!(send(&mut slow, "GET", "/v1/about", Value::Null).delay_ms, 1_500);
    let mut twins = switched(json!({"refuse_duplicate_patients": true}));
    assert_eq!(send(&mut twins, "POST", "/v1/patients", patient.clone()).status, 201);
    let mut other_key = patient.clone();
    other_key["write_key"] = json!("l");
    assert_eq!(send(&mut twins, "POST", "/v1/patients", other_key).status, 409);
    let mut plans = ehr();
    assert_eq!(send(&mut plans, "POST", "/v1/insurance_plans", json!({"name": "ß".repeat(32)})).status, 201);
    assert_eq!(send(&mut plans, "POST", "/v1/insurance_plans", json!({"name": "ß".repeat(33)})).status, 422);
    let mut quota = switched(json!({"requests_per_minute": 2}));
    let statuses = [0; 3].map(|_| send(&mut quota, "GET", "/v1/about", Value::Null));
    assert_eq!(statuses.each_ref().map(|r| r.status), [200, 200, 429]);
    // The minute has just begun.
    assert!(statuses[2].headers.contains(&("retry-after".into(), "60".into())));
}

#[test]
fn down_lasts_until_its_end() {
    for (how, status, delivery) in [
        ("unavailable", 503, Delivery::Answered),
        ("broken", 500, Delivery::Answered),
        ("silent", 0, Delivery::Lost),
        ("refused", 0, Delivery::Refused),
    ] {
        let mut ehr = switched(json!({"down": {"until_ms": NOW + 1, "how": how}}));
        let reply = send(&mut ehr, "POST", "/v1/patients", json!({"first_name": "A", "last_name": "B"}));
        assert_eq!((reply.status, reply.delivery, reply.changes.len()), (status, delivery, 0), "{how}");
        let mut ended = switched(json!({"down": {"until_ms": NOW, "how": how}}));
        assert_eq!(send(&mut ended, "GET", "/v1/about", Value::Null).status, 200);
    }
}

#[test]
fn staff_change_records_without_the_adapter() {
    let mut ehr = ehr();
    let mut appointment = body(&ehr, "");
    appointment.as_object_mut().unwrap().remove("write_key");
    let book = |force| json!({"staff_books": {"appointment": appointment, "force": force}});
    let reply = send(&mut ehr, "POST", "/control", book(false));
    assert_eq!((reply.status, reply.changes.len()), (200, 1));
    assert_eq!(send(&mut ehr, "POST", "/control", book(false)).status, 409);
    assert_eq!(send(&mut ehr, "POST", "/control", book(true)).status, 200);
    let id = reply.json_body()["changes"][0]["saved"]["id"].clone();
    let cancel = json!({"staff_edits": {"resource": "appointments", "id": id, "fields": {"status": "cancelled"}}});
    assert_eq!(send(&mut ehr, "POST", "/control", cancel).status, 200);
    let Some(Record::Appointment(cancelled)) = ehr.record(Resource::Appointments, id.as_str().unwrap()) else {
        panic!()
    };
    assert_eq!(cancelled.status, Status::Cancelled);
    assert_eq!(send(&mut ehr, "POST", "/control", json!({"nonsense": {}})).status, 400);
    assert_eq!(send(&mut ehr, "POST", "/control", json!({"switch": {"nonsense": 1}})).status, 400);
    assert_eq!(serde_json::from_value::<Behaviours>(get(&mut ehr, "/control")).unwrap(), Behaviours::default());
    let mut closed = SandboxEhr::new(Profile { control: false, ..profile() });
    assert_eq!(send(&mut closed, "GET", "/control", Value::Null).status, 404);
}

#[test]
fn a_record_moved_to_another_location_is_deleted_at_the_previous_one() {
    let mut ehr = ehr();
    let new = body(&ehr, "key 1");
    let id = send(&mut ehr, "POST", "/v1/appointments", new).json_body()["id"].as_str().unwrap().to_owned();
    let listed = |ehr: &mut SandboxEhr, location: &str, since: u64| {
        let (records, deleted, _) = walk(ehr, "appointments", location, since, 1_000);
        (records.iter().any(|record| record["id"] == id.as_str()), deleted.contains(&id))
    };
    let before = ehr.record(Resource::Appointments, &id).unwrap().version();
    let move_to = |to: &str| {
        let edit = json!({"resource": "appointments", "id": id, "fields": {"location": to}});
        json!({"staff_edits": edit})
    };
    assert_eq!(send(&mut ehr, "POST", "/control", move_to("lakeside")).status, 200);
    for since in [0, before] {
        assert_eq!(listed(&mut ehr, "main-street", since), (false, true), "main-street since {since}");
        assert_eq!(listed(&mut ehr, "lakeside", since), (true, false), "lakeside since {since}");
    }
    assert_eq!(send(&mut ehr, "POST", "/control", move_to("main-street")).status, 200);
    for since in [0, before] {
        assert_eq!(listed(&mut ehr, "main-street", since), (true, false), "main-street since {since}");
        assert_eq!(listed(&mut ehr, "lakeside", since), (false, true), "lakeside since {since}");
    }
}

#[test]
fn dates_round_trip() {
    assert_eq!(calendar::date_text(i64::from(TODAY)), "2026-11-20");
    for days in (-800_000..800_000).step_by(37) {
        let (year, month, day) = calendar::civil(days);
        assert_eq!(calendar::days_of(year, month, day), days);
    }
    assert_eq!(
        calendar::instant_of("2026-12-01T15:00:00Z").map(calendar::instant_text).unwrap(),
        "2026-12-01T15:00:00Z"
    );
    for bad in [
        "2026-12-01", "2026-12-01T15:00:00", "2026-12-01T24:00:00Z", "2026-13-01T00:00:00Z", "ä",
        "+026-12-01T15:00:00Z",
    ] {
        assert_eq!(calendar::instant_of(bad), None, "{bad}");
    }
}

/// Registers a patient with that name. Returns the status, and the patient or the refusal.
fn register(ehr: &mut SandboxEhr, last_name: &str, more: Value) -> (u16, Value) {
    let mut patient = json!({"first_name": "Rae", "last_name": last_name, "new": true});
    patient.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let reply = send(ehr, "POST", "/v1/patients", patient);
    (reply.status, reply.json_body())
}

fn book_for(ehr: &mut SandboxEhr, patient: &Value) -> (u16, Value) {
    let mut wanted = body(ehr, "for a name");
    wanted["patient"] = patient["id"].clone();
    let reply = send(ehr, "POST", "/v1/appointments", wanted);
    (reply.status, reply.json_body()["error"].clone())
}

#[test]
fn only_exact_trigger_names_in_any_case_have_an_effect() {
    for harmless in ["Sandbox", "Reject", "Sandbox-Rejected", "Sandbox Reject", "Von Sandbox-Reject"] {
        let mut ehr = ehr();
        let (status, patient) = register(&mut ehr, harmless, json!({}));
        assert_eq!((status, book_for(&mut ehr, &patient).0), (201, 201), "{harmless}");
    }
    let mut ehr = ehr();
    let (status, patient) = register(&mut ehr, "SANDBOX-reject", json!({}));
    assert_eq!((status, book_for(&mut ehr, &patient)), (201, (422, json!("rehearsal"))));
    let note = json!({"patient": patient["id"], "note": "n", "mode": "phone", "direction": "sent", "occurred_at": 1});
    assert_eq!(send(&mut ehr, "POST", "/v1/communication_logs", note).status, 422);
    // With another name the writes succeed.
    let path = format!("/v1/patients/{}", patient["id"].as_str().unwrap());
    assert_eq!(send(&mut ehr, "PATCH", &path, json!({"last_name": "Wells"})).status, 200);
    assert_eq!(book_for(&mut ehr, &patient).0, 201);
    let update = send(&mut ehr, "PATCH", &path, json!({"last_name": "Sandbox-Timeout"}));
    assert_eq!(update.status, 503);
}

#[test]
fn the_slot_taken_name_blocks_the_operatory_first() {
    let mut ehr = ehr();
    let (_, patient) = register(&mut ehr, "Sandbox-Slot-Taken", json!({}));
    let mut wanted = body(&ehr, "late");
    wanted["patient"] = patient["id"].clone();
    let reply = send(&mut ehr, "POST", "/v1/appointments", wanted.clone());
    assert_eq!((reply.status, reply.json_body()["error"].as_str()), (409, Some("slot_taken")));
    let [Change::Saved { record, write_key: None }] = &reply.changes[..] else { panic!("{:?}", reply.changes) };
    let block = record.to_json();
    assert_eq!((&block["blocked"], &block["patient"], &block["start"]), (&json!(true), &Value::Null, &wanted["start"]));
    assert_eq!(send(&mut ehr, "GET", "/v1/writes/late", Value::Null).status, 404, "it is not what was to be written");
    assert_eq!(send(&mut ehr, "POST", "/v1/appointments", wanted).changes, [], "one block is enough");
}

#[test]
fn trigger_names_of_new_patients() {
    let mut ehr = ehr();
    let error = |(status, reply): (u16, Value)| (status, reply["error"].as_str().unwrap_or_default().to_owned());
    let none = register(&mut ehr, "Sandbox-Not-Accepted", json!({}));
    assert_eq!(error(none), (422, "new_patients_refused".into()));
    assert_eq!(error(register(&mut ehr, "Sandbox-Timeout", json!({}))), (503, "unavailable".into()));
    let less = register(&mut ehr, "Sandbox-More-Fields", json!({"email": "rae@mail.example"}));
    assert_eq!(error(less), (422, "missing_field".into()));
    assert_eq!(register(&mut ehr, "Sandbox-More-Fields", json!({"gender": "F"})).0, 201);
    let (_, unconverted) = register(&mut ehr, "Sandbox-Unconverted", json!({}));
    assert_eq!(unconverted["id"], "P-00242_np");
    assert_eq!(register(&mut ehr, "Wells", json!({})).1["id"], "P-00243", "numbers go on");
}
