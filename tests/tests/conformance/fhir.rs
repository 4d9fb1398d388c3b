//! Medplum's router, a third-party FHIR R4 server, with the data of a small practice.

use location::resource::Operation;
use records::ehr::{EhrAppointment, Resource, Write};
use serde_json::{Value, json};
use tests::{
    conformance::{EhrAddress, EhrUnderTest, ExistingIds},
    harness::ehr_server::fhir::{FhirServer, Program, Seeded},
};

const TOKEN: &str = "s3cret-of-the-clinic";
const ZONE: chrono_tz::Tz = chrono_tz::America::New_York;
const FIRST_DAY: &str = "2027-01-11";
const OFFSET: &str = "-05:00";
const DAYS: usize = 25;
/// Slots per day: nine to twelve and one to five.
const A_DAY: usize = 14;
const TYPES: &str = r#"[{"id":"CHECKUP","system":"urn:clinic:types","name":"Check-up – kurz","minutes":30}]"#;
const HISTORY: &str = r#"[{"category":"allergies","system":"http://snomed.info/sct","code":"91936005","name":"Penicillin allergy"},
    {"category":"conditions","system":"http://hl7.org/fhir/sid/icd-10","code":"I10","name":"Hypertension"},
    {"category":"medications","name":"Ibuprofen 400 mg"}]"#;

pub struct Fhir {
    server: FhirServer,
    seeded: Seeded,
    payee: String,
}

impl Fhir {
    /// Returns `None` if the suite is not selected.
    pub async fn start() -> Option<Fhir> {
        let server = FhirServer::start(Program::Medplum, TOKEN).await?;
        let seeded = server.seed(FIRST_DAY, OFFSET, u32::try_from(DAYS).unwrap()).await;
        let created = async |resource: Value| server.create(&resource).await["id"].as_str().unwrap().to_owned();
        let payee = created(json!({"resourceType": "Organization", "name": "Harbour Dental"})).await;
        let patient = format!("Patient/{}", seeded.patients[0]);
        created(json!({"resourceType": "Condition", "subject": {"reference": patient},
            "clinicalStatus": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical",
                "code": "active"}]},
            "code": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10", "code": "E11", "display": "Type 2 diabetes"}]}}))
        .await;
        created(json!({"resourceType": "Questionnaire", "status": "active", "url": "http://clinic.example/q/intake",
            "title": "Anamnèse", "item": [{"linkId": "n", "type": "string", "text": "N?"}]}))
        .await;
        created(json!({"resourceType": "PractitionerRole", "active": true,
            "practitioner": {"reference": format!("Practitioner/{}", seeded.practitioners[0])},
            "specialty": [{"coding": [{"system": "http://nucc.org/provider-taxonomy", "code": "122300000X"}]}]}))
        .await;
        Some(Fhir { server, seeded, payee })
    }

    async fn matching(&self, resource_type: &str, fits: impl Fn(&Value) -> bool) -> usize {
        let parameters: &[(&str, &str)] = &[];
        self.server.search(resource_type, parameters).await.iter().filter(|resource| fits(resource)).count()
    }

    async fn appointments(&self, a: &EhrAppointment) -> usize {
        let start = |held: &Value| {
            let at = chrono::DateTime::parse_from_rfc3339(held["start"].as_str().unwrap()).unwrap();
            at.timestamp() == a.start
        };
        let room = format!("Location/{}", a.operatory.as_deref().unwrap());
        let in_room = |held: &Value| {
            held["participant"].as_array().unwrap().iter().any(|p| p["actor"]["reference"] == room.as_str())
        };
        self.matching("Appointment", |held| start(held) && in_room(held)).await
    }
}

/// Returns the FHIR resource of a foreign id as type and id.
fn kept(resource: Resource, id: &str) -> Option<(String, String)> {
    let name = match resource {
        Resource::Patients => "Patient",
        Resource::Providers => "Practitioner",
        Resource::Operatories => "Location",
        Resource::Appointments => "Appointment",
        Resource::InsurancePlans => "Organization",
        Resource::Coverages => "Coverage",
        Resource::PatientAlerts => "Flag",
        Resource::CommunicationLogs => "Communication",
        Resource::FormSchemas => "Questionnaire",
        Resource::PatientHistoryItems => {
            return id.split_once('/').map(|(name, id)| (name.to_owned(), id.to_owned()));
        }
        _ => return None,
    };
    Some((name.to_owned(), id.to_owned()))
}

fn holds(resource: &Value, text: &str) -> bool {
    match resource {
        Value::String(held) => held == text,
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(fields) => fields.values().any(|field| holds(field, text)),
        _ => false,
    }
}

impl EhrUnderTest for Fhir {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.server.address())
    }

    fn base_path(&self) -> &str {
        self.server.base_path()
    }

    fn credentials(&self) -> Vec<(String, String)> {
        vec![("Authorization".into(), format!("Bearer {TOKEN}"))]
    }

    fn settings(&self) -> Vec<(String, String)> {
        let settings = [
            ("resources", ""),
            ("appointment_types", TYPES),
            ("history_items", HISTORY),
            ("payee", &self.payee),
            ("slot_days", "120"),
        ];
        let settings = settings.map(|(name, value)| match name {
            // All resources of the adapter.
            "resources" => (name.to_owned(), ALL.join(",")),
            _ => (name.to_owned(), value.to_owned()),
        });
        settings.into()
    }

    fn location(&self) -> &str {
        &self.seeded.site
    }

    fn zone(&self) -> chrono_tz::Tz {
        ZONE
    }

    fn existing_ids(&self) -> ExistingIds {
        ExistingIds {
            patient: self.seeded.patients[0].clone(),
            provider: self.seeded.practitioners[0].clone(),
            operatory: Some(self.seeded.rooms[0].clone()),
            appointment_type: Some("CHECKUP".into()),
        }
    }

    /// Returns a seeded slot from the second day on, or a half hour after the last slot.
    fn free(&self, n: usize) -> i64 {
        let (day, nth) = (1 + n / A_DAY, n % A_DAY);
        let half_hours = if nth < 6 { 18 + nth } else { 20 + nth };
        let midnight = chrono::DateTime::parse_from_rfc3339(&format!("{FIRST_DAY}T00:00:00{OFFSET}")).unwrap();
        midnight.timestamp() + i64::try_from(day * 86_400 + half_hours * 1_800).unwrap()
    }

    async fn copies(&self, write: &Write) -> usize {
        match write {
            Write::CreatePatient(p) | Write::UpdatePatient(p, _) => {
                self.matching("Patient", |held| holds(held, &p.last_name) && holds(held, p.email.as_deref().unwrap()))
                    .await
            }
            Write::CreateAppointment(a)
            | Write::RescheduleAppointment(a, _)
            | Write::ConfirmAppointment(a)
            | Write::CheckInAppointment(a)
            | Write::NoteAppointment(a)
            | Write::CancelAppointment(a, _) => self.appointments(a).await,
            Write::CreateWorkingHour(_) | Write::UpdateWorkingHour(_) | Write::DeleteWorkingHour(_) => {
                panic!("working hours are not written there")
            }
            Write::Record(Operation::Delete, entry) => self.matching("Coverage", |held| held["id"] == entry.id()).await,
            Write::Record(_, entry) => {
                let text = |field: &str| entry.fields()[field].as_str().unwrap().to_owned();
                match entry.resource() {
                    Resource::InsurancePlans => self.matching("Organization", |held| holds(held, &text("name"))).await,
                    Resource::Coverages => {
                        self.matching("Coverage", |held| held["subscriberId"] == text("subscriber_number").as_str())
                            .await
                    }
                    Resource::PatientHistoryItems => {
                        let resource_type = match text("category").as_str() {
                            "allergies" => "AllergyIntolerance",
                            "conditions" => "Condition",
                            _ => "MedicationStatement",
                        };
                        self.matching(resource_type, |held| holds(&held["note"], &text("note"))).await
                    }
                    Resource::PatientAlerts => {
                        self.matching("Flag", |held| held["code"]["text"] == text("note").as_str()).await
                    }
                    Resource::CommunicationLogs => {
                        self.matching("Communication", |held| holds(&held["payload"], &text("note"))).await
                    }
                    Resource::FormResponses => {
                        let answers: Value = serde_json::from_str(&text("answers_json")).unwrap();
                        let n = answers["n"].as_str().unwrap();
                        self.matching("QuestionnaireResponse", |held| held["item"][0]["answer"][0]["valueString"] == n)
                            .await
                    }
                    Resource::Payments => {
                        let amount: f64 = entry.fields()["amount"]["amount"].as_str().unwrap().parse().unwrap();
                        self.matching("PaymentNotice", |held| held["amount"]["value"] == json!(amount)).await
                    }
                    other => panic!("the adapter does not write {other:?}"),
                }
            }
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let Some((name, id)) = kept(resource, id) else { return false };
        let mut held = self.server.read(&name, &id).await;
        let text = format!("by staff {id}");
        match name.as_str() {
            "Patient" | "Practitioner" => {
                held["telecom"] = json!([{"system": "email", "value": format!("{id}@staff.example")}]);
            }
            "Location" | "Organization" => held["name"] = text.into(),
            "Questionnaire" => held["title"] = text.into(),
            "Appointment" => held["comment"] = text.into(),
            "Coverage" => held["subscriberId"] = text.into(),
            "Flag" => held["code"] = json!({"text": text}),
            "Communication" => held["payload"] = json!([{"contentString": text}]),
            _ => held["note"] = json!([{"text": text}]),
        }
        self.server.update(&held).await;
        true
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        let Some((name, id)) = kept(resource, id) else { return false };
        if matches!(name.as_str(), "Location" | "Practitioner" | "Questionnaire") {
            // Other resources depend on them.
            return false;
        }
        self.server.delete(&name, &id).await;
        true
    }

    /// The server's validator rejects an invalid date.
    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(mut patient) = write else { return None };
        patient.date_of_birth = Some("28.02.1990".into());
        Some(Write::CreatePatient(patient))
    }
}

/// All resource types of the adapter.
const ALL: [&str; 17] = [
    "Patient", "Practitioner", "PractitionerRole", "Location", "Schedule", "Slot", "Appointment", "Organization",
    "Coverage", "AllergyIntolerance", "Condition", "MedicationStatement", "Flag", "Communication", "Questionnaire",
    "QuestionnaireResponse", "PaymentNotice",
];
