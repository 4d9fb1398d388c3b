//! Records other than appointments, in both directions: insurance, medical history, alerts, the communication log.

use std::collections::BTreeMap;

use location::pull::Resource;
use processor::{
    commands::{ChangePatient, ChangeRecord, CreateRecord, PatientChange, SaveHistoryItem},
    reply::Saved,
    request::Request,
};
use records::{
    self, CommunicationLog, Coverage, HistoryCategory, HistoryItem, InsurancePlan, PatientAlert, PatientHistoryItem,
    document::DocumentKind,
    record::{Body, Record, WriteStatus},
    schema,
};
use serde_json::{Value, json};
use setup::LocationSetup;
use tests::harness::{
    fixtures::{INSTITUTION, SOURCE},
    in_process::{LOCATION, fhir::FhirHarness},
};

/// All resources of the adapter.
pub const RESOURCES: &str = "Patient,Practitioner,PractitionerRole,Location,HealthcareService,Schedule,Slot,Appointment,\
                             Organization,Coverage,AllergyIntolerance,Condition,MedicationStatement,Flag,Communication,\
                             Questionnaire,QuestionnaireResponse";
const HISTORY: &str =
    r#"[{"category":"allergies","system":"http://snomed.info/sct","code":"91936005","name":"Penicillin allergy"}]"#;

pub fn everything(place: &mut LocationSetup) {
    for (name, value) in [("resources", RESOURCES), ("history_items", HISTORY), ("whole_pass_minutes", "0")] {
        place.extras.get_or_insert_default().adapter_config.insert(name.to_owned(), value.to_owned());
    }
}

/// Returns the stored record with this foreign id, whether read or written.
pub fn entry<T: Body>(harness: &FhirHarness, foreign_id: &str) -> Option<Record<T>> {
    let id = harness.engine.id_of_foreign(SOURCE, DocumentKind::Of(T::RESOURCE), foreign_id).unwrap()?;
    harness.engine.entry(SOURCE, id).unwrap()
}

pub async fn save<T, R: Request<Reply = Saved<T>> + Clone>(harness: &FhirHarness, request: R) -> T {
    let saved = harness.engine.send(LOCATION, request).await;
    saved.unwrap_or_else(|refused| panic!("{refused:?}")).record
}

pub fn new<T: Body>(patient: Option<u32>, body: Value) -> CreateRecord<T> {
    CreateRecord { body: schema::read(body).unwrap(), patient, number: None }
}

/// Returns the record after it was written to the EHR.
pub async fn filed<T: Body>(harness: &FhirHarness, id: u64) -> Record<T> {
    harness.idle().await;
    let entry: Record<T> = harness.engine.entry(SOURCE, id).unwrap().unwrap();
    let write = entry.write.as_ref().unwrap();
    assert_eq!((write.status, &write.reason), (WriteStatus::Succeeded, &None));
    entry
}

pub fn patient_of_seed(harness: &FhirHarness, n: usize) -> Record<records::Patient> {
    harness.patient_by_foreign(&harness.seeded.patients[n])
}

pub fn talk(patient: u32, note: &str) -> Value {
    json!({"patient_id": patient, "note": note, "mode": "text", "direction": "sent", "occurred_at": 1_790_000_000})
}

#[actix::test]
async fn files_are_synchronized_in_both_directions() {
    let Some(harness) = FhirHarness::open_with(everything).await else { return };
    let zoe = patient_of_seed(&harness, 0);
    let theirs = format!("Patient/{}", zoe.foreign_id.as_deref().unwrap());
    insurance_goes_both_ways(&harness, zoe.id, &theirs).await;
    history_goes_both_ways(&harness, zoe.id, &theirs).await;
    talk_goes_both_ways(&harness, zoe.id, &theirs).await;
    alerts_are_raised_and_disabled(&harness, zoe.id, &theirs).await;
    a_patients_change_keeps_what_staff_wrote(&harness, &zoe).await;
    let harness = a_restart_in_the_middle_files_once(harness, zoe.id).await;
    nothing_changes_by_reading_again(&harness).await;
    harness.engine.stop().await;
}

async fn insurance_goes_both_ways(harness: &FhirHarness, patient: u32, theirs: &str) {
    let plan = json!({"name": "Delta Zähne", "payer_id": "60054", "group_number": "G-7"});
    let plan: Record<InsurancePlan> = save(harness, new(None, plan)).await;
    let body = json!({"patient_id": patient, "plan_id": plan.id, "relation": "self", "priority": 1, "active": true,
        "subscriber_number": "S-1"});
    // The coverage is written after its plan.
    let plan = filed::<InsurancePlan>(harness, plan.id).await;
    let coverage: Record<Coverage> = save(harness, new(Some(patient), body)).await;
    let coverage = filed::<Coverage>(harness, coverage.id).await;
    let mut there = harness.server.read("Coverage", coverage.foreign_id.as_deref().unwrap()).await;
    assert_eq!(there["beneficiary"]["reference"], theirs);
    let payer = format!("Organization/{}", plan.foreign_id.as_deref().unwrap());
    assert_eq!((&there["payor"][0]["reference"], &there["subscriberId"]), (&json!(payer), &json!("S-1")));

    there["subscriberId"] = json!("S-2");
    harness.server.update(&there).await;
    let second = harness
        .server
        .create(&json!({"resourceType": "Coverage", "status": "active",
        "beneficiary": {"reference": theirs}, "payor": [{"reference": payer}], "order": 2,
        "period": {"start": "2026-01-01"}}))
        .await;
    harness.sync().await;
    let of = |foreign_id: &str| entry::<Coverage>(harness, foreign_id).unwrap();
    assert_eq!(of(coverage.foreign_id.as_deref().unwrap()).body.subscriber_number.as_deref(), Some("S-2"));
    let second = of(second["id"].as_str().unwrap());
    assert_eq!((second.body.plan_id, second.body.priority, second.body.patient_id), (plan.id, Some(2), patient));

    // Each side deletes one.
    harness.server.delete("Coverage", second.foreign_id.as_deref().unwrap()).await;
    let _: Record<Coverage> = save(harness, ChangeRecord::<Coverage> { id: coverage.id, body: None }).await;
    harness.idle().await;
    assert!(harness.server.search("Coverage", &[]).await.is_empty(), "the one was removed here, the other there");
    harness.sync_of_none(Resource::Coverages).await;
    let gone: Record<Coverage> = harness.engine.entry(SOURCE, second.id).unwrap().unwrap();
    assert!(gone.deleted_at.is_some());
}

async fn history_goes_both_ways(harness: &FhirHarness, patient: u32, theirs: &str) {
    let penicillin = entry::<HistoryItem>(harness, "allergies:http://snomed.info/sct|91936005").unwrap();
    assert_eq!(
        (penicillin.body.name.as_str(), penicillin.body.category),
        ("Penicillin allergy", HistoryCategory::Allergies)
    );
    let item = |active| {
        let note = Some("Ausschlag".to_owned());
        SaveHistoryItem {
            patient_id: patient,
            category: HistoryCategory::Allergies,
            item_id: penicillin.id.into(),
            note,
            active,
        }
    };
    let made: Record<PatientHistoryItem> = save(harness, item(true)).await;
    let made = filed::<PatientHistoryItem>(harness, made.id).await;
    let foreign_id = made.foreign_id.clone().unwrap();
    let id = foreign_id.strip_prefix("AllergyIntolerance/").unwrap();
    let there = harness.server.read("AllergyIntolerance", id).await;
    assert_eq!((&there["patient"]["reference"], &there["note"][0]["text"]), (&json!(theirs), &json!("Ausschlag")));
    assert_eq!(there["code"]["coding"][0]["display"], "Penicillin allergy");

    let ended: Record<PatientHistoryItem> = save(harness, item(false)).await;
    assert_eq!(ended.id, made.id);
    harness.idle().await;
    let mut there = harness.server.read("AllergyIntolerance", id).await;
    assert_eq!(there["clinicalStatus"]["coding"][0]["code"], "inactive");

    there["note"][0]["text"] = json!("doch nicht");
    harness.server.update(&there).await;
    let condition = harness
        .server
        .create(&json!({"resourceType": "Condition", "subject": {"reference": theirs},
        "clinicalStatus": {"coding": [{"code": "active"}]},
        "code": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10", "code": "E11", "display": "Diabetes"}]}}))
        .await;
    harness.sync().await;
    let seen = entry::<PatientHistoryItem>(harness, &foreign_id).unwrap();
    assert_eq!((seen.body.note.as_deref(), seen.body.active), (Some("doch nicht"), false));
    let seen =
        entry::<PatientHistoryItem>(harness, &format!("Condition/{}", condition["id"].as_str().unwrap())).unwrap();
    let diabetes = entry::<HistoryItem>(harness, "conditions:http://hl7.org/fhir/sid/icd-10|E11").unwrap();
    assert_eq!((seen.body.item_id, diabetes.body.name.as_str()), (diabetes.id.into(), "Diabetes"));
}

async fn talk_goes_both_ways(harness: &FhirHarness, patient: u32, theirs: &str) {
    let log: Record<CommunicationLog> = save(harness, new(Some(patient), talk(patient, "Erinnert – läuft"))).await;
    let log = filed::<CommunicationLog>(harness, log.id).await;
    let there = harness.server.search("Communication", &[]).await;
    assert_eq!(there.len(), 1);
    assert_eq!(there[0]["id"].as_str(), log.foreign_id.as_deref());
    assert_eq!(
        (&there[0]["payload"][0]["contentString"], &there[0]["sent"]),
        (&json!("Erinnert – läuft"), &json!("2026-09-21T14:13:20Z"))
    );
    let call = harness
        .server
        .create(&json!({"resourceType": "Communication", "status": "completed",
        "subject": {"reference": theirs}, "sender": {"reference": theirs}, "received": "2026-11-02T09:00:00-07:00",
        "medium": [{"coding": [{"code": "PHONE"}]}], "payload": [{"contentString": "Asks for a later time"}]}))
        .await;
    harness.sync().await;
    let call = entry::<CommunicationLog>(harness, call["id"].as_str().unwrap()).unwrap();
    let communication = serde_json::to_value(&call.body).unwrap();
    assert_eq!(
        (&communication["mode"], &communication["direction"], &communication["note"]),
        (&json!("phone"), &json!("received"), &json!("Asks for a later time"))
    );
}

async fn alerts_are_raised_and_disabled(harness: &FhirHarness, patient: u32, theirs: &str) {
    let body = json!({"patient_id": patient, "note": "Latex!"});
    let alert: Record<PatientAlert> = save(harness, new(Some(patient), body)).await;
    let alert = filed::<PatientAlert>(harness, alert.id.into()).await;
    let id = alert.foreign_id.clone().unwrap();
    let mut there = harness.server.read("Flag", &id).await;
    assert_eq!((&there["subject"]["reference"], &there["status"]), (&json!(theirs), &json!("active")));
    there["status"] = json!("inactive");
    there["period"] = json!({"end": "2026-11-20T10:00:00Z"});
    harness.server.update(&there).await;
    harness.sync().await;
    let seen = serde_json::to_value(&entry::<PatientAlert>(harness, &id).unwrap().body).unwrap();
    assert_eq!(seen["disabled_at"], json!(1_795_168_800));
}

async fn a_patients_change_keeps_what_staff_wrote(harness: &FhirHarness, zoe: &Record<records::Patient>) {
    let id = zoe.foreign_id.as_deref().unwrap();
    let mut there = harness.server.read("Patient", id).await;
    there["maritalStatus"] = json!({"text": "married"});
    harness.server.update(&there).await;
    let change = PatientChange { cell_phone: Some("+1 312 555 9999".to_owned()), ..PatientChange::default() };
    let saved = save(harness, ChangePatient { id: zoe.id, change }).await;
    assert_eq!(saved.cell_phone.as_deref(), Some("+1 312 555 9999"));
    harness.idle().await;
    let there = harness.server.read("Patient", id).await;
    let phones: Vec<_> = there["telecom"].as_array().unwrap().iter().filter(|p| p["use"] == "mobile").collect();
    assert_eq!((phones.len(), &phones[0]["value"]), (1, &json!("+1 312 555 9999")));
    assert_eq!((&there["maritalStatus"]["text"], &there["name"][0]["use"]), (&json!("married"), &json!("nickname")));
}

async fn a_restart_in_the_middle_files_once(harness: FhirHarness, patient: u32) -> FhirHarness {
    let before = harness.server.search("Communication", &[]).await.len();
    let log: Record<CommunicationLog> = save(&harness, new(Some(patient), talk(patient, "in the middle"))).await;
    let harness = harness.restart().await;
    filed::<CommunicationLog>(&harness, log.id).await;
    assert_eq!(harness.server.search("Communication", &[]).await.len(), before + 1);
    harness
}

async fn nothing_changes_by_reading_again(harness: &FhirHarness) {
    harness.sync().await;
    let stamps = || -> BTreeMap<String, i64> {
        let patients = harness.patients().into_iter().map(|p| (format!("P{}", p.id), p.updated_at.0));
        let appointments = harness.appointments().into_iter().map(|a| (format!("A{}", a.id), a.updated_at.0));
        let logs = (1..100).filter_map(|id| harness.engine.entry::<CommunicationLog>(SOURCE, id).unwrap());
        let histories = (1..100).filter_map(|id| harness.engine.entry::<PatientHistoryItem>(SOURCE, id).unwrap());
        let logs = logs.map(|log| (format!("L{}", log.id), log.updated_at.0));
        patients
            .chain(appointments)
            .chain(logs)
            .chain(histories.map(|h| (format!("H{}", h.id), h.updated_at.0)))
            .collect()
    };
    let before = stamps();
    assert!(before.keys().any(|key| key.starts_with('L')) && before.keys().any(|key| key.starts_with('H')));
    harness.sync().await;
    assert_eq!(stamps(), before);
    assert!(harness.engine.patient(INSTITUTION, 1).unwrap().is_some());
}
