//! Native stories of the adapter with the simulated EHR; the engine runs the same stories in the sandbox.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use adapter_sdk::{
    Adapter, AppointmentChange, Fault, MaxLength, Page, PatientField, Receipt, Record, Resource, RetryLater, Write,
    WriteKind,
    http::{Error, Request, Response},
    records::{Address, Appointment, Gender, HourKind, Patient, Recurrence, RecurrenceUnit, Weekday, WorkingHour},
    testing::Host,
};
use sandbox_adapter::Sandbox;
use sandbox_ehr::{Control, Delivery, OffsetFrom, Profile, SandboxEhr, SandboxRequest, records};
use serde_json::{Value, json};

/// 2026-11-20, 12:00 UTC.
const NOW_MS: i64 = 20_777 * 86_400_000 + 43_200_000;
/// 2026-11-29T15:00:00Z, a Sunday.
const SUNDAY: i64 = 1_795_964_400;

#[derive(Clone)]
struct SandboxPractice(Rc<RefCell<SandboxEhr>>);

impl SandboxPractice {
    fn new() -> SandboxPractice {
        let offset = |seconds| vec![OffsetFrom { from: 0, seconds }];
        let profile = Profile::demo(7, 20_777, offset(-18_000), offset(-28_800));
        SandboxPractice(Rc::new(RefCell::new(SandboxEhr::new(profile))))
    }

    fn switch(self, switches: Value) -> SandboxPractice {
        self.control(Control::Switch(switches.as_object().unwrap().clone()));
        self
    }

    fn control(&self, control: Control) {
        self.0.borrow_mut().control(control).unwrap();
    }

    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        self.host().run(work)
    }

    fn host(&self) -> Host {
        let ehr = self.0.clone();
        let host = Host::new().config("location", "main-street").at(NOW_MS / 1_000);
        host.answer(move |request| deliver(&mut ehr.borrow_mut(), request))
    }

    fn push(&self, key: &str, write: Write) -> Result<Receipt, Fault> {
        self.with(|| Sandbox::push(key.into(), write))
    }

    fn find(&self, key: &str) -> Result<Option<Receipt>, Fault> {
        self.with(|| Sandbox::find(key.into(), Write::CreatePatient(Patient::default())))
    }

    fn json(&self, resource: records::Resource, id: &str) -> Value {
        self.0.borrow().record(resource, id).unwrap().to_json()
    }

    /// Reads a whole pass from a cursor, in pages of `limit`.
    fn pass(&self, resource: Resource, mut cursor: Option<String>, limit: u32) -> SandboxPass {
        let mut pass = SandboxPass::default();
        loop {
            let page = self.with(|| Sandbox::pull(resource, cursor, limit)).unwrap();
            let Page { records, deleted, cursor: next, last, whole, .. } = page;
            assert!(records.len() + deleted.len() <= limit as usize);
            pass.records.extend(records);
            pass.deleted.extend(deleted);
            pass.whole = whole;
            cursor = Some(next);
            if last {
                pass.cursor = cursor;
                return pass;
            }
        }
    }
}

#[derive(Default)]
struct SandboxPass {
    records: Vec<Record>,
    deleted: Vec<String>,
    whole: bool,
    cursor: Option<String>,
}

fn deliver(ehr: &mut SandboxEhr, request: &Request) -> Result<Response, Error> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let reply = ehr.handle(
        NOW_MS,
        &SandboxRequest {
            method: request.method.to_string(),
            path: path.into(),
            query: query.into(),
            headers: request.headers.iter().cloned().map(Into::into).collect(),
            body: request.body.clone().unwrap_or_default(),
        },
    );
    match reply.delivery {
        Delivery::Answered => {
            let headers = reply.headers.into_iter().map(Into::into).collect();
            Ok(Response { status: reply.status, headers, body: reply.body })
        }
        Delivery::Lost => Err(Error::NoAnswer("the connection broke off".into())),
        Delivery::Refused => Err(Error::NotSent("the connection is refused".into())),
    }
}

fn zoe() -> Patient {
    Patient {
        first_name: "Zoë".into(),
        last_name: "Łopata-O’Brien".into(),
        date_of_birth: Some("1990-02-28".into()),
        gender: Some(Gender::Female),
        email: Some("zoe@mail.example".into()),
        cell_phone: Some("+1 312 555 0100".into()),
        address: Some(Address { line1: Some("1 Rue de l’Été".into()), ..Address::default() }),
        ..Patient::default()
    }
}

fn booking(start: i64) -> AppointmentChange {
    let appointment = Appointment {
        patient: Some("P-00001".into()),
        provider: Some("D-00001".into()),
        operatory: Some("O-00001".into()),
        appointment_type: Some("T-00002".into()),
        start,
        end: start + 1_800,
        note: Some("first visit".into()),
        ..Appointment::default()
    };
    AppointmentChange { appointment, reason: None }
}

#[test]
fn it_describes_the_capabilities_of_the_ehr() {
    let switches = json!({"required_patient_fields": ["born", "cell"], "requests_per_minute": 600});
    let description = SandboxPractice::new().switch(switches).with(Sandbox::describe).unwrap();
    assert_eq!(description.name, "Sandbox EHR");
    assert_eq!(description.required_patient_fields, [PatientField::DateOfBirth, PatientField::CellPhone]);
    assert_eq!(description.max_lengths, [MaxLength::new("insurance-plan.name", 32)]);
    assert_eq!((description.new_patients, description.requests_per_minute), (true, Some(600)));
}

#[test]
fn a_whole_pass_shows_every_record_and_the_next_only_what_changed() {
    let practice = SandboxPractice::new();
    for (resource, ours, count) in [
        (Resource::Providers, records::Resource::Providers, 9),
        (Resource::AppointmentTypes, records::Resource::Types, 7),
        (Resource::Patients, records::Resource::Patients, 240),
        (Resource::Operatories, records::Resource::Operatories, 8),
    ] {
        let pass = practice.pass(resource, None, 7);
        assert_eq!((pass.records.len(), pass.whole), (count, true), "{ours:?}");
        let next = practice.pass(resource, pass.cursor, 1_000);
        assert_eq!((next.records.len(), next.whole), (0, false));
    }
    let before = practice.pass(Resource::Patients, None, 1_000).cursor;
    practice.control(Control::Delete { resource: records::Resource::Patients, ids: vec!["P-00009".into()] });
    let fields = json!({"no_texts": true}).as_object().unwrap().clone();
    practice.control(Control::StaffEdits { resource: records::Resource::Patients, id: "P-00003".into(), fields });
    let delta = practice.pass(Resource::Patients, before, 1);
    assert_eq!((delta.records.len(), delta.deleted), (1, vec!["P-00009".to_owned()]));
    let Record::Patient(patient) = &delta.records[0] else { panic!("not a patient") };
    assert!(patient.unsubscribed_sms && patient.id == "P-00003");
}

#[test]
fn records_arrive_whole() {
    let practice = SandboxPractice::new();
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for record in practice.pass(Resource::WorkingHours, None, 1_000).records {
        let Record::WorkingHour(hour) = record else { panic!("not hours") };
        *kinds.entry(if hour.kind == HourKind::SchedulableBlock { "block" } else { "hours" }).or_default() += 1;
        *kinds.entry(if hour.recurrence.is_some() { "every" } else { "plain" }).or_default() += 1;
        *kinds.entry(if hour.specific_date.is_some() { "date" } else { "no date" }).or_default() += 1;
    }
    assert!(["block", "hours", "every", "date"].iter().all(|kind| kinds.contains_key(kind)), "{kinds:?}");
    let Record::Patient(patient) = practice.pass(Resource::Patients, None, 1_000).records.remove(0) else { panic!() };
    assert!(patient.address.is_some() && patient.cell_phone.is_some() && patient.chart_id.is_some());
    let appointments = practice.pass(Resource::Appointments, None, 1_000).records;
    let some = |what: fn(&Appointment) -> bool| {
        appointments.iter().filter(|r| matches!(r, Record::Appointment(a) if what(a))).count()
    };
    assert!(some(|a| a.unavailable && a.patient.is_none()) > 0);
    assert!(some(|a| a.cancelled) > 0 && some(|a| a.patient_missed) > 0 && some(|a| a.patient_confirmed) > 0);
    assert_eq!(some(|a| a.version.is_none() || a.end <= a.start), 0);
}

#[test]
fn a_patient_and_an_appointment_are_written_changed_and_cancelled() {
    let practice = SandboxPractice::new();
    let patient = practice.push("w1", Write::CreatePatient(zoe())).unwrap();
    let shown = practice.json(records::Resource::Patients, &patient.id);
    assert_eq!((&shown["last_name"], &shown["gender"]), (&json!("Łopata-O’Brien"), &json!("F")));
    assert_eq!(shown["address"]["street"], "1 Rue de l’Été");

    let mut change = booking(SUNDAY);
    change.appointment.patient = Some(patient.id);
    let booked = practice.push("w2", Write::CreateAppointment(change.clone())).unwrap();
    assert_eq!(practice.find("w2").unwrap(), Some(booked.clone()));
    assert_eq!(practice.json(records::Resource::Appointments, &booked.id)["start"], "2026-11-29T15:00:00Z");

    (change.appointment.id, change.appointment.version) = (booked.id.clone(), booked.version.clone());
    (change.appointment.start, change.appointment.end) = (SUNDAY + 3_600, SUNDAY + 7_200);
    let moved = practice.push("w3", Write::RescheduleAppointment(change.clone())).unwrap();
    assert_ne!(moved.version, booked.version);
    // The old version: another user could have changed the record.
    let stale = practice.push("w4", Write::RescheduleAppointment(change.clone()));
    assert_eq!(stale, Err(Fault::rejected("the record was changed in the EHR since it was read")));

    change.appointment.version = moved.version;
    change.appointment.confirmed = true;
    let confirmed = practice.push("w5", Write::ConfirmAppointment(change.clone())).unwrap();
    change.appointment.version = confirmed.version;
    change.reason = Some("ill".into());
    practice.push("w6", Write::CancelAppointment(change.clone())).unwrap();
    let shown = practice.json(records::Resource::Appointments, &booked.id);
    assert_eq!(
        (&shown["status"], &shown["reason"], &shown["end"]),
        (&json!("cancelled"), &json!("ill"), &json!("2026-11-29T17:00:00Z"))
    );
    change.appointment.version = None;
    practice.push("w7", Write::CancelAppointment(change)).unwrap();
    assert_eq!(practice.find("never").unwrap(), None);
}

#[test]
fn an_occupied_operatory_is_refused() {
    let practice = SandboxPractice::new();
    practice.push("a", Write::CreateAppointment(booking(SUNDAY))).unwrap();
    let taken = practice.push("b", Write::CreateAppointment(booking(SUNDAY + 900)));
    assert_eq!(taken, Err(Fault::rejected("the operatory is occupied at that time")));
}

#[test]
fn a_write_whose_answer_is_lost_is_found_and_one_that_was_lost_is_not() {
    for (switch, written) in [("lose_next_replies", true), ("drop_next_writes", false)] {
        let practice = SandboxPractice::new().switch(json!({switch: 1, "idempotent": false}));
        let lost = practice.push("k", Write::CreateAppointment(booking(SUNDAY)));
        assert!(matches!(lost, Err(Fault::Unknown(_))), "{lost:?}");
        assert_eq!(practice.find("k").unwrap().is_some(), written, "{switch}");
    }
}

#[test]
fn every_trouble_has_its_fault() {
    let write = |switches| SandboxPractice::new().switch(switches).push("k", Write::CreatePatient(zoe())).unwrap_err();
    let down = |how: &str| json!({"down": {"until_ms": NOW_MS + 1, "how": how}});
    assert!(matches!(write(down("unavailable")), Fault::RetryLater(RetryLater { seconds: None, .. })));
    assert!(matches!(write(down("broken")), Fault::Unknown(_)));
    assert!(matches!(write(down("silent")), Fault::Unknown(_)));
    assert!(matches!(write(down("refused")), Fault::RetryLater(_)));
    assert!(matches!(
        write(json!({"throttle_next": 1, "retry_after_seconds": 9})),
        Fault::RetryLater(RetryLater { seconds: Some(9), .. })
    ));
    assert!(matches!(write(json!({"token": "t"})), Fault::Unauthorized(_)));
    assert!(matches!(write(json!({"refuse_new_patients": true})), Fault::Rejected(_)));
    assert!(matches!(write(json!({"required_patient_fields": ["language"]})), Fault::Rejected(_)));
    let refused = write(json!({"reject": [{"code": "hygienist_away", "message": "Zoë Łopata"}]}));
    assert_eq!(refused, Fault::rejected("the EHR refuses it: hygienist_away"));
    let read = |how| {
        let practice = SandboxPractice::new().switch(down(how));
        practice.with(|| Sandbox::pull(Resource::Patients, None, 10)).unwrap_err()
    };
    for how in ["unavailable", "broken", "silent", "refused"] {
        assert!(matches!(read(how), Fault::RetryLater(_)), "{how}");
    }
    // A failed lookup proves nothing about the write.
    assert!(matches!(SandboxPractice::new().switch(down("broken")).find("k"), Err(Fault::RetryLater(_))));
}

#[test]
fn unsupported_fields_are_logged_without_their_values() {
    let practice = SandboxPractice::new();
    let ehr = practice.0.clone();
    let host =
        Host::new().config("location", "main-street").answer(move |request| deliver(&mut ehr.borrow_mut(), request));
    let patient = Patient { ssn: Some("078-05-1120".into()), ..zoe() };
    let (pushed, lines) = host.run_logged(|| Sandbox::push("k".into(), Write::CreatePatient(patient)));
    pushed.unwrap();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].1.contains("ssn") && !lines[0].1.contains("078"), "{}", lines[0].1);
}

#[test]
fn other_writes_and_cursors_are_refused() {
    let practice = SandboxPractice::new();
    let pull = |resource, cursor: Option<&str>| practice.with(|| Sandbox::pull(resource, cursor.map(Into::into), 10));
    assert!(matches!(pull(Resource::Patients, Some("nonsense")), Err(Fault::Rejected(_))));
    let without = SandboxPractice::new().switch(json!({"unsupported": ["delete_hours"]}));
    assert!(matches!(without.push("k", Write::DeleteWorkingHour("x".into())), Err(Fault::Unsupported(_))));
    let nowhere = Host::new().run(|| Sandbox::pull(Resource::Appointments, None, 10));
    assert!(matches!(nowhere, Err(Fault::Unsupported(_))));
}

#[test]
fn a_patient_checks_in_and_the_note_changes() {
    let practice = SandboxPractice::new();
    let mut change = booking(SUNDAY);
    let booked = practice.push("a", Write::CreateAppointment(change.clone())).unwrap();
    change.appointment.id = booked.id.clone();
    change.appointment.checkin_at = Some(SUNDAY - 60);
    practice.push("b", Write::CheckInAppointment(change.clone())).unwrap();
    change.appointment.note = Some("in a wheelchair".into());
    practice.push("c", Write::NoteAppointment(change)).unwrap();
    let shown = practice.json(records::Resource::Appointments, &booked.id);
    assert_eq!((&shown["status"], &shown["note"]), (&json!("arrived"), &json!("in a wheelchair")));
    let appointments = practice.pass(Resource::Appointments, None, 1_000).records;
    let checked_in =
        |r: &&Record| matches!(r, Record::Appointment(a) if a.id == booked.id && a.checkin_at == Some(SUNDAY - 60));
    assert_eq!(appointments.iter().filter(checked_in).count(), 1);
}

#[test]
fn hours_are_made_changed_and_removed() {
    let practice = SandboxPractice::new();
    let shown = |id: &str| {
        let records = practice.pass(Resource::WorkingHours, None, 1_000).records.into_iter();
        records.filter_map(|r| if let Record::WorkingHour(hour) = r { Some(hour) } else { None }).find(|it| it.id == id)
    };
    let mut hour = WorkingHour {
        id: String::new(),
        provider: "D-00001".into(),
        operatory: Some("O-00001".into()),
        begin_time: "18:00".into(),
        end_time: "24:00".into(),
        days: vec![Weekday::Monday, Weekday::Sunday],
        specific_date: None,
        recurrence: None,
        kind: HourKind::WorkingHour,
        appointment_types: vec!["T-00001".into()],
        label: Some("Late".into()),
        active: true,
        extra: Vec::new(),
    };
    let made = practice.push("a", Write::CreateWorkingHour(hour.clone())).unwrap();
    assert_eq!(practice.push("a", Write::CreateWorkingHour(hour.clone())).unwrap().id, made.id);
    assert_eq!(practice.find("a").unwrap().unwrap().id, made.id);
    hour.id = made.id.clone();
    assert_eq!(format!("{:?}", shown(&made.id).unwrap()), format!("{hour:?}"));
    // The new rule replaces the earlier one.
    hour.days.clear();
    hour.recurrence = Some(Recurrence { number: 2, unit: RecurrenceUnit::Week, reference: "2026-12-06".into() });
    (hour.label, hour.operatory, hour.active) = (None, None, false);
    practice.push("b", Write::UpdateWorkingHour(hour.clone())).unwrap();
    assert_eq!(format!("{:?}", shown(&made.id).unwrap()), format!("{hour:?}"));
    let nowhere = WorkingHour { id: String::new(), operatory: Some("O-00099".into()), ..hour.clone() };
    assert!(matches!(practice.push("c", Write::CreateWorkingHour(nowhere)), Err(Fault::Rejected(_))));
    let both = WorkingHour { specific_date: Some("2026-12-06".into()), ..hour.clone() };
    assert!(matches!(practice.push("d", Write::UpdateWorkingHour(both)), Err(Fault::Rejected(_))));
    practice.push("e", Write::DeleteWorkingHour(made.id.clone())).unwrap();
    practice.push("f", Write::DeleteWorkingHour(made.id.clone())).unwrap();
    assert!(shown(&made.id).is_none());
}

/// Returns the EHR's names; all others are the contract's.
fn dialect(resource: Resource) -> records::Resource {
    match resource {
        Resource::AppointmentTypes => records::Resource::Types,
        Resource::WorkingHours => records::Resource::Hours,
        other => records::Resource::named(&adapter_sdk::json::name(other)).unwrap(),
    }
}

#[test]
fn every_resource_is_pulled_whole() {
    let practice = SandboxPractice::new();
    let description = practice.with(Sandbox::describe).unwrap();
    assert_eq!((description.pulls.len(), description.writes.len()), (36, 21));
    for resource in description.pulls.iter().map(|ability| ability.resource) {
        let kept = practice.0.borrow().records(dialect(resource)).count();
        let (pass, lines) = practice.host().run_logged(|| Sandbox::pull(resource, None, 1_000).unwrap());
        assert!(pass.whole && lines.is_empty(), "{resource:?}: {lines:?}");
        match resource {
            Resource::Operatories | Resource::WorkingHours | Resource::Appointments => (),
            _ => assert!(pass.last && pass.records.len() == kept && kept > 0, "{resource:?}: {kept}"),
        }
    }
    let Record::Claim(claim) = practice.pass(Resource::Claims, None, 1_000).records.remove(0) else { panic!() };
    assert!(claim.payouts[0].charge.is_some() && claim.totals.charge.is_none() && claim.totals.billed.is_some());
}

/// Returns one write of every filed kind, its resource, and the EHR's record after it.
fn filings() -> Vec<(Write, Resource, Value)> {
    let made = |resource: Resource, fields: Value| {
        let mut fields = fields.as_object().unwrap().clone();
        fields.entry("id").or_insert(json!(""));
        adapter_sdk::json::record(resource, fields).unwrap()
    };
    let patient = json!("P-00003");
    let money = json!({"amount": "12.50", "currency": "USD"});
    let mut all = Vec::new();
    for (resource, fields) in [
        (
            Resource::InsurancePlans,
            json!({"name": "Plan", "address": {"city": "Bern"}, "benefit_year_renewal_month": 7}),
        ),
        (Resource::Coverages, json!({"patient": patient, "plan": "I-00001", "relation": "self", "active": true})),
        (
            Resource::PatientHistoryItems,
            json!({"patient": patient, "category": "conditions", "item": "HI-00008", "active": true}),
        ),
        (
            Resource::PatientHistoryItems,
            json!({"id": "PH-00001", "patient": "P-00001", "category": "allergies", "item": "HI-00001", "active": false}),
        ),
        (Resource::PatientAlerts, json!({"patient": patient, "note": "n"})),
        (Resource::PatientAlerts, json!({"id": "AL-00001", "patient": "P-00002", "note": "n", "disabled_at": 7})),
        (
            Resource::CommunicationLogs,
            json!({"patient": patient, "note": "n", "mode": "text", "direction": "sent", "occurred_at": 5}),
        ),
        (
            Resource::FormResponses,
            json!({"patient": patient, "form_schema": "FO-00001", "answers_json": "{}", "submitted_at": 5}),
        ),
        (
            Resource::Payments,
            json!({"patient": patient, "amount": money, "payment_type": "PT-00002", "transaction_id": "t",
                "charge_splits": [{"id": "CH-00001", "amount": money}]}),
        ),
        (Resource::Adjustments, json!({"patient": patient, "amount": money, "adjustment_type": "AT-00001"})),
    ] {
        let write = match made(resource, fields.clone()) {
            Record::InsurancePlan(plan) => Write::CreateInsurancePlan(plan),
            Record::Coverage(coverage) => Write::CreateCoverage(coverage),
            Record::PatientHistoryItem(item) => Write::SavePatientHistoryItem(item),
            Record::PatientAlert(alert) if alert.id.is_empty() => Write::CreatePatientAlert(alert),
            Record::PatientAlert(alert) => Write::DisablePatientAlert(alert),
            Record::CommunicationLog(log) => Write::CreateCommunicationLog(log),
            Record::FormResponse(response) => Write::CreateFormResponse(response),
            Record::Payment(payment) => Write::CreatePayment(payment),
            Record::Adjustment(adjustment) => Write::CreateAdjustment(adjustment),
            other => panic!("{other:?}"),
        };
        all.push((write, resource, fields));
    }
    all
}

#[test]
fn every_filing_is_written_once_found_and_pulled() {
    let practice = SandboxPractice::new();
    for (n, (write, resource, mut fields)) in filings().into_iter().enumerate() {
        let key = format!("key {n}");
        let before = practice.pass(resource, None, 1_000).cursor;
        let receipt = practice.push(&key, write.clone()).unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        assert_eq!(practice.find(&key).unwrap(), Some(receipt.clone()));
        assert_eq!(practice.push(&key, write.clone()).unwrap(), receipt, "the same key writes once");
        if matches!(write, Write::DisablePatientAlert(_)) {
            // Only the end of the alert.
            fields.as_object_mut().unwrap().retain(|name, _| name == "id" || name == "disabled_at");
        }
        let shown = practice.json(dialect(resource), &receipt.id);
        for (field, value) in fields.as_object().unwrap().iter().filter(|(name, _)| *name != "id") {
            assert_eq!(shown[field], *value, "{resource:?}, {field}");
        }
        assert_eq!(practice.pass(resource, before, 1_000).records.len(), 1, "{resource:?}");
    }
}

#[test]
fn a_coverage_is_deleted_once_and_for_all() {
    let practice = SandboxPractice::new();
    let before = practice.pass(Resource::Coverages, None, 1_000).cursor;
    let gone = practice.push("k", Write::DeleteCoverage("CV-00001".into())).unwrap();
    assert_eq!((gone.id.as_str(), practice.find("k").unwrap()), ("CV-00001", Some(gone.clone())));
    assert_eq!(practice.push("k", Write::DeleteCoverage("CV-00001".into())).unwrap(), gone);
    assert_eq!(practice.push("l", Write::DeleteCoverage("CV-00001".into())).unwrap(), gone, "gone is gone");
    assert_eq!(practice.pass(Resource::Coverages, before, 10).deleted, ["CV-00001"]);
}

#[test]
fn each_filing_can_be_refused_lost_or_not_supported() {
    for (write, ..) in filings() {
        let refused = SandboxPractice::new().switch(json!({"reject": [{"code": "no"}]})).push("k", write.clone());
        assert_eq!(refused, Err(Fault::rejected("the EHR refuses it: no")));
        for (switch, written) in [("lose_next_replies", true), ("drop_next_writes", false)] {
            let practice = SandboxPractice::new().switch(json!({switch: 1}));
            assert!(matches!(practice.push("k", write.clone()), Err(Fault::Unknown(_))));
            assert_eq!(practice.find("k").unwrap().is_some(), written, "{switch}");
        }
    }
    let unsupporting =
        SandboxPractice::new().switch(json!({"unsupported": ["create_communication_log", "update_patient_alert"]}));
    let writes = unsupporting.with(Sandbox::describe).unwrap().writes;
    assert!(!writes.contains(&WriteKind::CreateCommunicationLog) && !writes.contains(&WriteKind::DisablePatientAlert));
    assert_eq!(writes.len(), 19);
    for (write, ..) in filings() {
        let unsupported = matches!(write, Write::CreateCommunicationLog(_) | Write::DisablePatientAlert(_));
        let pushed = unsupporting.push(&format!("{write:?}"), write);
        assert_eq!(matches!(pushed, Err(Fault::Unsupported(_))), unsupported, "{pushed:?}");
    }
    let inactive = filings().into_iter().find_map(|(write, ..)| match write {
        Write::CreatePayment(payment) => Some(Write::CreatePayment(adapter_sdk::records::Payment {
            payment_type: Some("PT-00005".into()),
            ..payment
        })),
        _ => None,
    });
    let refused = SandboxPractice::new().push("k", inactive.unwrap());
    assert_eq!(refused, Err(Fault::rejected("the payment type is not in use any more")));
}
