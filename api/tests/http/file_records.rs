//! The files of the first location's patients, and the results of writes to its EHR.

use engine::records::ehr::{Address, EhrPatient, EhrRecord, Resource, Write};
use serde_json::{Value, json};
use testing::until;

use crate::support::{ApiWorld, MAIN, RIVAL};

/// 2024-01-01T00:00:00Z
const NEW_YEAR: i64 = 1_704_067_200;
const DAY: i64 = 86_400;

const PULLS: [Resource; 23] = [
    Resource::FeeSchedules,
    Resource::InsurancePlans,
    Resource::Coverages,
    Resource::HistoryItems,
    Resource::PatientHistoryItems,
    Resource::PatientAlerts,
    Resource::CommunicationLogs,
    Resource::Conversations,
    Resource::FormSchemas,
    Resource::FormResponses,
    Resource::ProcedureCodeCategories,
    Resource::ProcedureCodes,
    Resource::Procedures,
    Resource::TreatmentPlans,
    Resource::ClinicalNotes,
    Resource::RecallTypes,
    Resource::PatientRecalls,
    Resource::DocumentTypes,
    Resource::Documents,
    Resource::Charges,
    Resource::Payments,
    Resource::Adjustments,
    Resource::Claims,
];

pub fn pulls(location: u32) -> Vec<Resource> {
    if location == MAIN { PULLS.to_vec() } else { Vec::new() }
}

pub fn writes(location: u32) -> &'static [&'static str] {
    match location {
        RIVAL => &[],
        _ => &[
            "update-patient",
            "create-insurance-plan",
            "create-coverage",
            "delete-coverage",
            "save-patient-history-item",
            "create-patient-alert",
            "disable-patient-alert",
            "create-communication-log",
            "create-form-response",
        ],
    }
}

pub fn max_lengths() -> Vec<(String, u32)> {
    vec![("insurance_plan.name".into(), 32)]
}

/// The outcome of a write.
pub enum WriteOutcome {
    Taken,
    Refused(&'static str),
    /// The write never ends.
    Slow,
}

pub fn fate(write: &Write) -> WriteOutcome {
    let (name, note) = match write {
        Write::CreatePatient(patient) => (patient.last_name.clone(), None),
        Write::Record(_, record) => (String::new(), record.fields().remove("note")),
        _ => (String::new(), None),
    };
    match (name.as_str(), note.as_ref().and_then(Value::as_str).unwrap_or_default()) {
        ("Slow", _) | (_, "slow") => WriteOutcome::Slow,
        ("Refused", _) => WriteOutcome::Refused("nobody is called so"),
        (_, "refused") => WriteOutcome::Refused("not such a note"),
        _ => WriteOutcome::Taken,
    }
}

pub fn patients() -> Vec<EhrPatient> {
    let quinn = EhrPatient {
        id: "quinn".into(),
        first_name: "Quinn".into(),
        last_name: "Present".into(),
        date_of_birth: Some("2015-01-02".into()),
        guarantor: Some("pat".into()),
        inactive: true,
        ..EhrPatient::default()
    };
    let ada = EhrPatient {
        id: "ada".into(),
        first_name: "Ada".into(),
        middle_name: Some("Maria".into()),
        last_name: "Lübke".into(),
        date_of_birth: Some("1990-03-04".into()),
        gender: Some("Female".into()),
        email: Some("ada@example.com".into()),
        cell_phone: Some("(555) 010-2030".into()),
        provider: Some("anna".into()),
        guarantor: Some("ada".into()),
        chart_id: Some("C-7".into()),
        new_patient: true,
        address: Some(Address {
            line1: Some("2 Side Street".into()),
            city: Some("Springfield".into()),
            ..Address::default()
        }),
        ..EhrPatient::default()
    };
    let lead = EhrPatient {
        id: "lead".into(),
        first_name: "Lea".into(),
        last_name: "Lead".into(),
        non_patient: true,
        ..EhrPatient::default()
    };
    vec![quinn, ada, lead]
}

pub fn records(location: u32, resource: Resource) -> Vec<EhrRecord> {
    let rows = if location == MAIN { rows(resource) } else { Vec::new() };
    let entry = |(id, fields): (&str, Value)| EhrRecord::from_fields(resource, id, fields).unwrap();
    rows.into_iter().map(entry).collect()
}

fn rows(resource: Resource) -> Vec<(&'static str, Value)> {
    let usd = |amount: &str| json!({"amount": amount, "currency": "USD"});
    match resource {
        Resource::InsurancePlans => vec![
            (
                "gold",
                json!({
                    "name": "Gold", "payer_id": "P1", "group_number": "G1", "employer_name": "Mill", "fee_schedule": "ucr",
                    "annual_max_individual": usd("1500.00"), "benefit_year_renewal_month": 1,
                    "address": {"line1": "1 Plan Street", "city": "Albany", "region": "NY", "country": "US"},
                }),
            ),
            ("silver", json!({"name": "Silver", "payer_id": "P2"})),
        ],
        Resource::Coverages => vec![
            (
                "ada gold",
                json!({
                    "patient": "ada", "plan": "gold", "relation": "self", "priority": 1, "subscriber_number": "S-1",
                    "effective_date": "2024-01-01", "active": true,
                }),
            ),
            (
                "pat gold",
                json!({
                    "patient": "pat", "plan": "gold", "relation": "spouse", "priority": 2, "subscriber_name": "Sam Sub",
                    "subscriber_date_of_birth": "1970-01-01", "active": true,
                }),
            ),
            ("ada silver", json!({"patient": "ada", "plan": "silver", "relation": "self", "active": false})),
        ],
        Resource::HistoryItems => vec![
            ("penicillin", json!({"category": "allergies", "name": "Penicillin"})),
            ("latex", json!({"category": "allergies", "name": "Latex"})),
            ("asthma", json!({"category": "conditions", "name": "Asthma"})),
        ],
        Resource::PatientHistoryItems => vec![
            (
                "ada penicillin",
                json!({
                    "patient": "ada", "category": "allergies", "item": "penicillin", "note": "severe", "active": true,
                }),
            ),
            ("ada asthma", json!({"patient": "ada", "category": "conditions", "item": "asthma", "active": false})),
        ],
        Resource::PatientAlerts => vec![
            ("alert 1", json!({"patient": "ada", "note": "Afraid of heights"})),
            ("alert 2", json!({"patient": "ada", "note": "Old", "disabled_at": NEW_YEAR})),
        ],
        Resource::CommunicationLogs => vec![(
            "log 1",
            json!({
                "patient": "ada", "note": "Recorded in the EHR", "mode": "phone", "direction": "sent", "occurred_at": NEW_YEAR,
            }),
        )],
        Resource::Conversations => vec![(
            "talk 1",
            json!({
                "patient": "ada", "subject": "Hello", "messages_json": r#"[{"from":"patient","text":"Hi"}]"#,
            }),
        )],
        Resource::FormSchemas => vec![(
            "intake",
            json!({
                "title": "Intake", "slug": "intake", "version": "3",
                "schema_json": json!({"components": [
                    {"key": "name", "type": "textfield", "input": true, "validate": {"required": true}},
                    {"key": "age", "type": "number", "input": true},
                    {"key": "smoker", "type": "radio", "input": true, "values": [{"value": "yes"}, {"value": "no"}]},
                    {"key": "since", "type": "textfield", "input": true, "validate": {"required": true},
                        "conditional": {"show": true, "when": "smoker", "eq": "yes"}},
                ]}).to_string(),
            }),
        )],
        Resource::FormResponses => vec![(
            "response 1",
            json!({
                "patient": "ada", "form_schema": "intake", "answers_json": r#"{"name":"Ada"}"#, "submitted_at": NEW_YEAR,
            }),
        )],
        Resource::ProcedureCodeCategories => vec![("preventive", json!({"name": "Preventive"}))],
        Resource::ProcedureCodes => vec![
            ("code 1", json!({"code": "D1110", "description": "Cleaning", "category": "preventive", "active": true})),
            ("code 2", json!({"code": "D0120", "description": "Check-up", "active": false})),
        ],
        Resource::Procedures => vec![
            (
                "procedure 1",
                json!({
                    "patient": "ada", "provider": "anna", "appointment": "appointment 1", "code": "D1110", "name": "Cleaning",
                    "status": "completed", "teeth": ["3"], "surface": "MO", "fee": usd("105.00"), "start_date": "2024-02-01",
                    "end_date": "2024-02-02",
                }),
            ),
            (
                "procedure 2",
                json!({
                    "patient": "pat", "provider": "ben", "code": "D0120", "status": "planned", "start_date": "2024-03-01",
                    "treatment_plans": ["plan 1"],
                }),
            ),
        ],
        Resource::TreatmentPlans => vec![
            ("plan 1", json!({"name": "Plan", "patient": "pat", "status": "accepted", "procedures": ["procedure 2"]})),
            ("plan 2", json!({"patient": "ada", "status": "proposed"})),
        ],
        Resource::ClinicalNotes => vec![
            (
                "note 1",
                json!({
                    "patient": "ada", "procedure": "procedure 1", "entered_at": NEW_YEAR, "content": "All went well", "signed": true,
                }),
            ),
            ("note 2", json!({"patient": "pat", "entered_at": NEW_YEAR + 10 * DAY, "content": "Later"})),
        ],
        Resource::RecallTypes => vec![
            ("half-yearly", json!({"name": "Check-up", "interval_number": 6, "interval_unit": "month"})),
            ("yearly", json!({"name": "X-ray", "interval_number": 1, "interval_unit": "year"})),
        ],
        Resource::PatientRecalls => vec![
            ("recall 1", json!({"patient": "ada", "recall_type": "half-yearly", "date_due": "2024-06-01"})),
            ("recall 2", json!({"patient": "pat", "recall_type": "yearly", "date_due": "2025-06-01"})),
        ],
        Resource::DocumentTypes => {
            vec![
                ("consent", json!({"name": "Consent", "active": true})),
                ("fax", json!({"name": "Fax", "active": false})),
            ]
        }
        Resource::Documents => vec![(
            "paper",
            json!({
                "patient": "ada", "filename": "paper.pdf", "media_type": "application/pdf", "document_type": "consent",
                "created_at": NEW_YEAR,
            }),
        )],
        _ => Vec::new(),
    }
}

impl ApiWorld {
    /// Returns the id of one of the patients above.
    pub async fn patient(&self, foreign_id: &str) -> u64 {
        self.one_of(&format!("/patients?subdomain=acme&location_id=1&foreign_id={foreign_id}")).await["id"]
            .as_u64()
            .unwrap()
    }

    /// Returns the only row of a list.
    pub async fn one_of(&self, path: &str) -> Value {
        let rows = self.edge(path).await;
        assert_eq!(rows.as_array().unwrap().len(), 1, "{path}: {rows}");
        rows[0].clone()
    }

    /// Returns the rows of a list in the version that has all fields.
    pub async fn edge(&self, path: &str) -> Value {
        let joint = if path.contains('?') { "&" } else { "?" };
        self.get(&format!("{path}{joint}per_page=100")).version("v3.1.0").ok().await["data"].clone()
    }

    /// Repeats the request until the condition holds.
    pub async fn data_until(&self, path: &str, so: impl Fn(&Value) -> bool) -> Value {
        until(path, async || {
            let found = self.get(path).version("v3.1.0").ok().await["data"].clone();
            if so(&found) { Ok(found) } else { Err(found) }
        })
        .await
    }

    /// Waits for `count` records of a resource that were written to the EHR in frames.
    pub async fn wait_for_writes(&self, resource: Resource, count: usize) -> Vec<EhrRecord> {
        until("writes of the record", async || {
            let sent = self.books.all();
            let entries = sent.iter().filter_map(|write| match write {
                Write::Record(_, entry) if entry.resource() == resource => Some(entry.clone()),
                _ => None,
            });
            let written: Vec<EhrRecord> = entries.collect();
            if written.len() >= count { Ok(written) } else { Err(written) }
        })
        .await
    }
}
