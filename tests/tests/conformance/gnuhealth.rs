//! A real GNU Health server with the practice of `tests/gnuhealth`.

use std::cell::Cell;

use location::resource::Operation;
use records::ehr::{EhrAppointment, EhrRecord, Resource, Write};
use serde_json::{Value, json};
use tests::{
    conformance::{EhrAddress, EhrUnderTest, ExistingIds},
    harness::ehr_server::gnuhealth::{BASE_PATH, GnuHealth, LOGIN, PASSWORD, day, moment},
};

const ZONE: chrono_tz::Tz = chrono_tz::America::New_York;
/// 2027-01-11T14:00:00Z
const FIRST_FREE: i64 = 1_799_676_000;
const TYPES: &str = r#"[{"id":"CHECKUP","name":"Check-up – kurz","minutes":30}]"#;

/// Number of invoices. GNU Health tries all combinations of an invoice's payments, so each gets about a dozen at
/// most.
const INVOICES: usize = 30;

pub struct Clinic {
    server: GnuHealth,
    authorization: String,
    invoices: Vec<i64>,
    paid: Cell<usize>,
}

impl Clinic {
    /// Returns `None` if the suite is not selected.
    pub async fn start() -> Option<Clinic> {
        use base64::Engine;
        let server = GnuHealth::start().await?;
        let credentials = base64::engine::general_purpose::STANDARD.encode(format!("{LOGIN}:{PASSWORD}"));
        let authorization = format!("Basic {credentials}");
        let mut clinic = Clinic { server, authorization, invoices: Vec::new(), paid: Cell::new(0) };
        for _ in 0..INVOICES {
            // An amount that the payments of the suite never reach.
            clinic.invoices.push(clinic.server.invoice(1, "100000.00", "2026-01-15").await);
        }
        clinic.fill().await;
        Some(clinic)
    }

    /// Creates a record of each kind that the adapter reads.
    async fn fill(&self) {
        let server = &self.server;
        let party = server.one("gnuhealth.patient", json!([["id", "=", 1]]), &["party"]).await["party"].clone();
        let company = server.one("party.party", json!([["name", "=", "Delta Dental"]]), &["id"]).await["id"].clone();
        server
            .create(
                "gnuhealth.insurance",
                json!({"party": party, "company": company, "number": "D-1", "plan_id": 1,
                "member_since": day("2025-01-01")}),
            )
            .await;
        server
            .create(
                "gnuhealth.dentistry.treatment",
                json!({"patient": 1, "healthprof": 1, "procedures": [["create", [
                {"procedure": 1, "tooth": "11", "occlusal": true, "mesial": true}]]]}),
            )
            .await;
        server.create("ir.note", json!({"resource": "gnuhealth.patient,1", "message": "called back\nno answer"})).await;
        for n in 0..2 {
            let start = FIRST_FREE - 86_400 + n * 1_800;
            server
                .create("gnuhealth.appointment", json!({"state": "free", "patient": null, "healthprof": 2, "institution": 1,
                    "comments": null, "appointment_date": moment(start), "appointment_date_end": moment(start + 1_800)}))
                .await;
        }
    }

    async fn matching(&self, model: &str, domain: Value) -> usize {
        self.server.search(model, domain, &["id"]).await.len()
    }

    async fn appointments(&self, a: &EhrAppointment) -> usize {
        let domain = json!([
            ["healthprof", "=", number(a.provider.as_deref().unwrap())],
            ["appointment_date", "=", moment(a.start)],
            ["state", "!=", "free"]
        ]);
        self.matching("gnuhealth.appointment", domain).await
    }
}

fn number(id: &str) -> i64 {
    id.parse().unwrap_or(-1)
}

/// Returns the model and the id of a foreign id in the EHR.
fn kept(resource: Resource, id: &str) -> Option<(String, i64)> {
    if let Some((model, id)) = id.split_once(',') {
        return Some((model.to_owned(), number(id)));
    }
    let model = match resource {
        Resource::Patients => "gnuhealth.patient",
        Resource::Providers => "gnuhealth.healthprofessional",
        Resource::WorkingHours | Resource::Appointments => "gnuhealth.appointment",
        Resource::Coverages => "gnuhealth.insurance",
        Resource::CommunicationLogs => "ir.note",
        Resource::Procedures => "gnuhealth.dentistry.treatment.procedure",
        Resource::PaymentTypes => "account.invoice.payment.method",
        _ => return None,
    };
    Some((model.to_owned(), number(id)))
}

/// Returns a field that staff could change.
fn field(model: &str) -> Option<&'static str> {
    Some(match model {
        "gnuhealth.appointment" => "comments",
        "gnuhealth.pathology" | "account.invoice.payment.method" | "party.party" => "name",
        "gnuhealth.patient.disease" => "extra_info",
        "gnuhealth.patient.medication" => "notes",
        "gnuhealth.insurance" => "number",
        "gnuhealth.procedure" => "description",
        "ir.note" => "message",
        _ => return None,
    })
}

impl EhrUnderTest for Clinic {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.server.address())
    }

    fn base_path(&self) -> &str {
        BASE_PATH
    }

    fn credentials(&self) -> Vec<(String, String)> {
        vec![("Authorization".into(), self.authorization.clone())]
    }

    fn settings(&self) -> Vec<(String, String)> {
        [("appointment_types", TYPES), ("country", "US"), ("slot_days", "120")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    fn location(&self) -> &str {
        "1"
    }

    fn zone(&self) -> chrono_tz::Tz {
        ZONE
    }

    fn existing_ids(&self) -> ExistingIds {
        ExistingIds {
            patient: "1".into(),
            provider: "1".into(),
            operatory: None,
            appointment_type: Some("CHECKUP".into()),
        }
    }

    fn free(&self, n: usize) -> i64 {
        FIRST_FREE + 1_800 * i64::try_from(n).unwrap()
    }

    /// Assigns payments to invoices in rotation.
    fn adjust(&self, write: &mut Write) {
        if let Write::Record(Operation::Create, EhrRecord::Payment(payment)) = write {
            let turn = self.paid.replace(self.paid.get() + 1);
            payment.charge = Some(self.invoices[turn % INVOICES].to_string());
        }
    }

    async fn copies(&self, write: &Write) -> usize {
        match write {
            Write::CreatePatient(p) | Write::UpdatePatient(p, _) => {
                let domain =
                    json!([["party.lastname", "=", p.last_name], ["party.contact_mechanisms.value", "=", p.email]]);
                self.matching("gnuhealth.patient", domain).await
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
            Write::Record(Operation::Delete, entry) => {
                self.matching("gnuhealth.insurance", json!([["id", "=", number(entry.id())]])).await
            }
            Write::Record(_, entry) => {
                let text = |field: &str| entry.fields()[field].as_str().unwrap().to_owned();
                let begins = |field: &str| format!("{}%", text(field));
                match entry.resource() {
                    Resource::InsurancePlans => {
                        self.matching("party.party", json!([["name", "=", text("name")]])).await
                    }
                    Resource::Coverages => {
                        let domain = json!([["number", "=", text("subscriber_number")]]);
                        self.matching("gnuhealth.insurance", domain).await
                    }
                    Resource::PatientHistoryItems if text("category") == "medications" => {
                        self.matching("gnuhealth.patient.medication", json!([["notes", "like", begins("note")]])).await
                    }
                    Resource::PatientHistoryItems => {
                        let domain = json!([["extra_info", "like", begins("note")]]);
                        self.matching("gnuhealth.patient.disease", domain).await
                    }
                    Resource::CommunicationLogs => {
                        let lines = format!("{}\n%", text("note"));
                        self.matching("ir.note", json!([["message", "like", lines]])).await
                    }
                    Resource::Payments => {
                        let amount = &entry.fields()["amount"]["amount"];
                        let decimal = json!({"__class__": "Decimal", "decimal": amount});
                        let domain = json!([["credit", "=", decimal], ["invoice_payment", "!=", null]]);
                        self.matching("account.move.line", domain).await
                    }
                    other => panic!("the adapter does not write {other:?}"),
                }
            }
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let Some((model, id)) = kept(resource, id) else { return false };
        match (resource, model.as_str()) {
            // Contact data of patients and professionals is stored with their party.
            (Resource::Patients | Resource::Providers, _) => {
                let party =
                    self.server.one(&model, json!([["id", "=", id]]), &["party"]).await["party"].as_i64().unwrap();
                let mail = json!([["create", [{"type": "email", "value": format!("{id}@staff.example")}]]]);
                let held = json!([["party", "=", party], ["type", "=", "email"]]);
                for held in self.server.search("party.contact_mechanism", held, &["id"]).await {
                    self.server.delete("party.contact_mechanism", held["id"].as_i64().unwrap()).await;
                }
                self.server.write("party.party", party, json!({"contact_mechanisms": mail})).await;
                true
            }
            (Resource::WorkingHours, _) => {
                let row = self.server.one(&model, json!([["id", "=", id]]), &["appointment_date"]).await;
                let hour = row["appointment_date"]["hour"].as_i64().unwrap();
                let mut end = row["appointment_date"].clone();
                end["hour"] = (hour + 2).into();
                self.server.write(&model, id, json!({"appointment_date_end": end})).await;
                true
            }
            (_, model) => {
                let Some(field) = field(model) else { return false };
                self.server.write(model, id, json!({field: format!("by staff {id}")})).await;
                true
            }
        }
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        let Some((model, id)) = kept(resource, id) else { return false };
        // Other records depend on them, and the EHR does not delete parties named in its books.
        let kept = ["gnuhealth.healthprofessional", "account.invoice.payment.method", "gnuhealth.patient"];
        if kept.contains(&model.as_str())
            || matches!(resource, Resource::HistoryItems | Resource::InsurancePlans | Resource::ProcedureCodes)
        {
            return false;
        }
        self.server.delete(&model, id).await;
        true
    }

    /// Reuses the EHR's unique number of a person.
    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(mut patient) = write else { return None };
        patient.chart_id = Some("C-0".into());
        Some(Write::CreatePatient(patient))
    }
}
