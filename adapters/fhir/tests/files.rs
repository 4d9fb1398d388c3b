//! Records other than the schedule, read by the adapter as recorded from Medplum's router (`fixtures/files.json`).

use crate::server::Server;
use adapter_sdk::{
    Adapter, Record, Resource, WriteKind,
    log::Level,
    records::{self, CommunicationDirection, CommunicationMode, HistoryCategory, InsuranceType, Relation},
    time::instant_of,
};
use fhir_adapter::Fhir;
use serde_json::{Value, json};

const RESOURCES: &str = "Patient,Practitioner,PractitionerRole,Organization,Coverage,AllergyIntolerance,Condition,\
                         MedicationStatement,Flag,Communication,Questionnaire,QuestionnaireResponse,PaymentNotice";

fn server() -> Server {
    let bundle: Value = serde_json::from_str(include_str!("fixtures/files.json")).unwrap();
    let resources = bundle["entry"].as_array().unwrap().iter().map(|entry| entry["resource"].clone());
    // The site, which is in the schedule's fixtures.
    let site = json!({"resourceType": "Location", "id": "site", "name": "Harbour Dental", "status": "active"});
    Server::with_resources(resources.chain([site]).collect())
}

/// A whole pass with small pages, and the log meanwhile.
fn all(resource: Resource) -> (Vec<Record>, Vec<String>) {
    let (server, mut cursor, mut records, mut lines) = (server(), None, Vec::new(), Vec::new());
    loop {
        let pull = || Fhir::pull(resource, cursor, 2);
        let (page, log) = server.run_with(&[("resources", RESOURCES)], pull);
        let page = page.unwrap_or_else(|fault| panic!("{resource:?}: {fault:?}"));
        assert!(page.records.len() <= 2 && page.whole);
        lines.extend(log.into_iter().filter(|(level, _)| *level == Level::Warn).map(|(_, line)| line));
        records.extend(page.records);
        cursor = Some(page.cursor);
        if page.last {
            return (records, lines);
        }
    }
}

macro_rules! of_kind {
    ($name:ident, $kind:ident) => {
        fn $name(resource: Resource) -> Vec<records::$kind> {
            let of_kind = |record| match record {
                Record::$kind(record) => record,
                other => panic!("{other:?}"),
            };
            all(resource).0.into_iter().map(of_kind).collect()
        }
    };
}

of_kind!(providers, Provider);
of_kind!(plans, InsurancePlan);
of_kind!(coverages, Coverage);
of_kind!(items, HistoryItem);
of_kind!(histories, PatientHistoryItem);
of_kind!(alerts, PatientAlert);
of_kind!(talks, CommunicationLog);
of_kind!(forms, FormSchema);
of_kind!(answers, FormResponse);
of_kind!(payments, Payment);

#[test]
fn providers_have_their_numbers_and_the_specialty_of_their_role() {
    let provider = providers(Resource::Providers).remove(0);
    assert_eq!((provider.tin.as_deref(), provider.state_license.as_deref()), (Some("12-3456789"), Some("IL-7")));
    assert_eq!(provider.specialty_code.as_deref(), Some("122300000X"));
}

#[test]
fn plans_and_coverages() {
    // Organisations that are not payers are no plans; the server's search excludes them.
    let plan = plans(Resource::InsurancePlans).into_iter().find(|plan| plan.payer_id.is_some()).unwrap();
    assert_eq!((plan.name.as_str(), plan.payer_id.as_deref()), ("Delta Zähne", Some("60054")));
    assert_eq!(plan.address.unwrap().line1.as_deref(), Some("5 Payer Road"));
    let coverages = coverages(Resource::Coverages);
    let (first, second) = (&coverages[0], &coverages[1]);
    assert_eq!((first.relation, first.priority, first.active), (Relation::Child, Some(1), true));
    assert!(first.subscriber.is_some() && first.subscriber_number.as_deref() == Some("S-1"));
    assert_eq!(first.insurance_type, Some(InsuranceType::Dental));
    assert_eq!(first.expiration_date.as_deref(), Some("2026-12-31"), "of an instant the date");
    assert_eq!((second.relation, second.active), (Relation::LifePartner, false));
    assert_eq!(second.subscriber_name.as_deref(), Some("Ana O’Brien"));
    assert_eq!((&second.subscriber, second.subscriber_date_of_birth.as_deref()), (&None, Some("1960-01-02")));
    assert!(coverages.iter().all(|coverage| coverage.plan == plan.id));
}

#[test]
fn histories_of_three_types_and_their_catalogue() {
    let histories = histories(Resource::PatientHistoryItems);
    let states: Vec<_> = histories.iter().map(|h| (h.category, h.active)).collect();
    let (a, c, m) = (HistoryCategory::Allergies, HistoryCategory::Conditions, HistoryCategory::Medications);
    assert_eq!(states, [(a, true), (c, false), (c, true), (m, true), (m, false)]);
    assert_eq!(histories[0].note.as_deref(), Some("Ausschlag\nseit 2001"));
    let (_, lines) = all(Resource::PatientHistoryItems);
    assert!(lines.len() == 1 && lines[0].contains("entered-in-error") && !lines[0].contains("Latex"), "{lines:?}");
    let items = items(Resource::HistoryItems);
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["Allergy to penicillin", "Latex", "Type 2 diabetes", "Gicht", "ibuprofen", "Aspirin"]);
    assert!(histories.iter().all(|h| items.iter().any(|item| item.id == h.item && item.category == h.category)));
}

#[test]
fn a_catalogue_is_walked_again_only_when_an_entry_changed() {
    let server = server();
    let pull = |cursor: Option<String>| {
        let before = server.0.borrow().requests.len();
        let page = server.run_with(&[("resources", RESOURCES)], || Fhir::pull(Resource::HistoryItems, cursor, 100));
        (page.0.unwrap(), server.0.borrow().requests.len() - before)
    };
    let (first, _) = pull(None);
    assert_eq!((first.records.len(), first.whole, first.last), (6, true, true));
    let (none, requests) = pull(Some(first.cursor.clone()));
    assert_eq!((none.records.len(), none.whole, none.last, requests), (0, false, true, 3));
    // Another name of the same code: the item's name does not depend on the request.
    let mut other = server.all("Condition").into_iter().find(|c| c["code"]["coding"][0]["code"] == "E11").unwrap();
    other["id"] = json!("another");
    other["code"]["coding"][0]["display"] = json!("Zuckerkrankheit");
    other["meta"]["lastUpdated"] = json!("2026-11-30T00:52:00Z");
    server.0.borrow_mut().resources.push(other);
    let (again, _) = pull(Some(none.cursor));
    assert_eq!((&again.records, again.whole), (&first.records, true));
}

#[test]
fn alerts_and_communications() {
    let alerts = alerts(Resource::PatientAlerts);
    assert_eq!((alerts[0].note.as_str(), alerts[0].disabled_at), ("Latex!", None));
    // A date is the beginning of its day at the location, five hours west of UTC.
    assert_eq!((alerts[1].note.as_str(), alerts[1].disabled_at), ("May fall", instant_of("2026-11-20T05:00:00Z")));
    let talks = talks(Resource::CommunicationLogs);
    assert_eq!((talks.len(), talks[0].note.as_str()), (2, "Erinnerung\nzweiter Teil"));
    assert_eq!((talks[0].mode, talks[0].direction), (CommunicationMode::Email, CommunicationDirection::Sent));
    assert_eq!(Some(talks[0].occurred_at), instant_of("2026-11-20T15:00:00Z"));
    assert_eq!((talks[1].mode, talks[1].direction), (CommunicationMode::Text, CommunicationDirection::Received));
    assert_eq!(talks[0].patient, talks[1].patient, "who sent it is who it is of");
}

#[test]
fn forms_and_their_answers() {
    let form = forms(Resource::FormSchemas).remove(0);
    assert_eq!(
        (form.title.as_str(), form.slug.as_deref(), form.version.as_deref()),
        ("Anamnèse", Some("intake"), Some("3"))
    );
    let schema: Value = serde_json::from_str(&form.schema_json).unwrap();
    assert_eq!(schema["components"][0]["components"][0]["type"], "checkbox");
    let answers = answers(Resource::FormResponses);
    // By its canonical address, and by its id.
    assert!(answers.len() == 2 && answers.iter().all(|answer| answer.form_schema == form.id));
    let given: Value = serde_json::from_str(&answers[0].answers_json).unwrap();
    assert_eq!(given, json!({"smokes": false, "n": 7}));
}

#[test]
fn payments_are_exact() {
    let payment = payments(Resource::Payments).remove(0);
    assert_eq!((payment.amount.amount.as_str(), payment.amount.currency.as_str()), ("12.50", "USD"));
    assert_eq!((payment.paid_at.as_deref(), payment.transaction_id.as_deref()), (Some("2026-11-19"), Some("tx-1")));
    assert!(payment.patient.is_some());
}

#[test]
fn resource_types_outside_the_setting_are_neither_read_nor_written() {
    let server = server();
    let describe = |list: &str| server.run_with(&[("resources", list)], Fhir::describe).0.unwrap();
    let named = describe("Patient, Flag");
    let pulls: Vec<Resource> = named.pulls.iter().map(|ability| ability.resource).collect();
    assert_eq!(pulls, [Resource::Patients, Resource::PatientAlerts]);
    let writes = [
        WriteKind::CreatePatient,
        WriteKind::UpdatePatient,
        WriteKind::CreatePatientAlert,
        WriteKind::DisablePatientAlert,
    ];
    assert_eq!(named.writes, writes);
    // Payments need a recipient.
    assert!(!describe(RESOURCES).writes.contains(&WriteKind::CreatePayment));
    let paid = server.run_with(&[("resources", RESOURCES), ("payee", "o")], Fhir::describe).0.unwrap();
    assert!(paid.writes.contains(&WriteKind::CreatePayment));
}
