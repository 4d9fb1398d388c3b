//! The patients' charts: coverage, history, messages, forms, treatment, recalls, documents.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    super::records::{Record, Resource, Status},
    Seed,
    catalogues::{Catalogues, Code},
    date_text, forms, usd,
};

/// Maximum number of patients with a chart.
const FILES: usize = 400;
/// Number of past and future visits with procedures.
const VISITS: usize = 160;
const TO_COME: usize = 40;
const DAY: i64 = 86_400;

pub(super) struct Chart {
    pub(super) patient: String,
    pub(super) guarantor: String,
    pub(super) provider: Option<String>,
}

/// A completed procedure, to be charged.
pub(super) struct Done {
    pub(super) id: String,
    pub(super) patient: String,
    pub(super) guarantor: String,
    pub(super) provider: Option<String>,
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) cents: i64,
    /// Days since 1970.
    pub(super) day: i64,
}

#[derive(Default)]
pub(super) struct Charts {
    pub(super) charts: Vec<Chart>,
    pub(super) done: Vec<Done>,
    /// Primary plan by patient.
    pub(super) covered: BTreeMap<String, String>,
}

struct SeedVisit {
    id: String,
    patient: String,
    provider: Option<String>,
    day: i64,
}

impl Seed<'_> {
    pub(super) fn charts(&mut self, catalogues: &Catalogues) -> Charts {
        let charts = self.on_file();
        let covered = self.coverages(&charts, &catalogues.plans);
        for (n, chart) in charts.iter().enumerate() {
            self.history_of(n, chart, catalogues);
            self.messages(n, chart);
            self.paper(n, chart, catalogues);
        }
        let done = self.treatment(&charts, &catalogues.codes);
        self.recalls(&charts, &catalogues.recalls);
        Charts { charts, done, covered }
    }

    fn on_file(&self) -> Vec<Chart> {
        let patients = self.practice.all(Resource::Patients).filter_map(|record| match record {
            Record::Patient(patient) => Some(patient),
            _ => None,
        });
        let chart = |patient: &super::Patient| Chart {
            patient: patient.id.clone(),
            guarantor: patient.guarantor.clone().unwrap_or_else(|| patient.id.clone()),
            provider: patient.provider.clone(),
        };
        patients.take(FILES).map(|patient| chart(patient)).collect()
    }

    fn ago(&self, days: usize) -> i64 {
        i64::from(self.profile.today) - i64::try_from(days).unwrap_or(0)
    }

    /// Two patients of three have a plan, some a second one; those with a guarantor are covered through the guarantor.
    fn coverages(&mut self, charts: &[Chart], plans: &[String]) -> BTreeMap<String, String> {
        let mut covered = BTreeMap::new();
        for (n, chart) in charts.iter().enumerate().filter(|(n, _)| n % 3 != 2) {
            let plan = plans[n % (plans.len() - 1)].clone();
            let dependent = chart.guarantor != chart.patient;
            let year = date_text(self.ago(330 - n % 200));
            self.file(
                Resource::Coverages,
                json!({
                    "patient": chart.patient, "plan": plan, "relation": if dependent { "child" } else { "self" },
                    "priority": 1, "subscriber": chart.guarantor, "subscriber_number": format!("SUB{n:06}"),
                    "effective_date": year, "insurance_type": "dental", "active": n % 19 != 18,
                    "expiration_date": (n % 19 == 18).then(|| date_text(self.ago(20))),
                }),
            );
            if n % 10 == 4 {
                let row = json!({
                    "patient": chart.patient, "plan": plans[plans.len() - 1], "relation": "spouse", "priority": 2,
                    "subscriber_name": "Alex Example", "subscriber_date_of_birth": "1979-05-17",
                    "subscriber_number": format!("SEC{n:06}"), "effective_date": year, "insurance_type": "dental",
                    "active": true,
                });
                self.file(Resource::Coverages, row);
            }
            covered.insert(chart.patient.clone(), plan);
        }
        covered
    }

    fn history_of(&mut self, n: usize, chart: &Chart, catalogues: &Catalogues) {
        let (category, items) = &catalogues.history[n % catalogues.history.len()];
        if n.is_multiple_of(2) {
            let item = &items[n / 2 % items.len()];
            let note = (n.is_multiple_of(8)).then_some("Told at the first visit – läuft");
            let row = json!({"patient": chart.patient, "category": category, "item": item, "note": note, "active": n % 14 != 12});
            self.file(Resource::PatientHistoryItems, row);
        }
        if n % 6 == 1 {
            let note = ["Premedicate before surgery", "Prefers to be called by first name", "Very nervous: take time"]
                [n / 6 % 3];
            let disabled = (n % 24 == 19).then(|| self.ago(40) * DAY);
            self.file(
                Resource::PatientAlerts,
                json!({"patient": chart.patient, "note": note, "disabled_at": disabled}),
            );
        }
    }

    /// Creates communications of the last four weeks.
    fn messages(&mut self, n: usize, chart: &Chart) {
        if n % 4 == 2 {
            let modes = ["phone", "text", "email", "in_person", "mail"];
            let direction = if n.is_multiple_of(3) { "received" } else { "sent" };
            let row = json!({
                "patient": chart.patient, "note": "Reminded of the next visit", "mode": modes[n / 4 % modes.len()],
                "direction": direction, "occurred_at": self.ago(1 + n % 28) * DAY + 15 * 3_600,
            });
            self.file(Resource::CommunicationLogs, row);
        }
        if n % 80 == 7 {
            let at = |hour: i64| self.ago(2) * DAY + hour * 3_600;
            let messages = json!([
                {"from": "patient", "text": "Can I come a bit later tomorrow?", "at": at(14)},
                {"from": "practice", "text": "Yes, up to ten minutes is fine.", "at": at(15)},
            ]);
            let row = json!({"patient": chart.patient, "subject": "Tomorrow's visit", "messages": messages});
            self.file(Resource::Conversations, row);
        }
    }

    fn paper(&mut self, n: usize, chart: &Chart, catalogues: &Catalogues) {
        if n % 8 == 5 {
            let form = n / 8 % forms::SCHEMAS.len();
            let row = json!({
                "patient": chart.patient, "form_schema": catalogues.forms[form],
                "answers_json": forms::SCHEMAS[form].answers(n).to_string(),
                "submitted_at": self.ago(n % 90) * DAY + 17 * 3_600,
            });
            self.file(Resource::FormResponses, row);
        }
        if n % 4 == 1 {
            let kinds = [
                ("xray", "dcm", "application/dicom"),
                ("consent", "pdf", "application/pdf"),
                ("letter", "pdf", "application/pdf"),
            ];
            let (name, suffix, media) = kinds[n / 4 % kinds.len()];
            let row = json!({
                "patient": chart.patient, "filename": format!("{name}-{n:04}.{suffix}"), "media_type": media,
                "document_type": catalogues.document_types[n / 4 % kinds.len()],
                "created_at": self.ago(5 + n % 300) * DAY + 12 * 3_600,
            });
            self.file(Resource::Documents, row);
        }
    }

    fn visits(&self, wanted: impl Fn(Status) -> bool, most: usize) -> Vec<SeedVisit> {
        let visits = self.practice.all(Resource::Appointments).filter_map(|record| match record {
            Record::Appointment(a) if wanted(a.status) => Some(SeedVisit {
                id: a.id.clone(),
                patient: a.patient.clone()?,
                provider: a.provider.clone(),
                day: a.start.div_euclid(DAY),
            }),
            _ => None,
        });
        visits.take(most).collect()
    }

    /// Creates procedures of visits, of past months, and planned ones.
    fn treatment(&mut self, charts: &[Chart], codes: &[Code]) -> Vec<Done> {
        let guarantors: BTreeMap<&str, &str> =
            charts.iter().map(|chart| (chart.patient.as_str(), chart.guarantor.as_str())).collect();
        let guarantor = |patient: &str| guarantors.get(patient).map_or(patient, |id| *id).to_owned();
        let mut done = Vec::new();
        for (n, visit) in self.visits(|status| status == Status::Done, VISITS).into_iter().enumerate() {
            let code = &codes[(n * 7 + 5) % codes.len()];
            let guarantor = guarantor(&visit.patient);
            let SeedVisit { id, patient, provider, day } = visit;
            done.push(self.performed(n, Done::new(patient, guarantor, provider, code, day), Some(id)));
        }
        for (n, chart) in charts.iter().enumerate().filter(|(n, _)| n % 3 == 1) {
            let code = &codes[(n * 5 + 2) % codes.len()];
            let (patient, guarantor) = (chart.patient.clone(), chart.guarantor.clone());
            let day = self.ago(15 + n * 7 % 150);
            done.push(self.performed(n, Done::new(patient, guarantor, chart.provider.clone(), code, day), None));
        }
        for (n, visit) in self.visits(|status| status == Status::Scheduled, TO_COME).into_iter().enumerate() {
            let code = &codes[n % codes.len()];
            let row = json!({
                "patient": visit.patient, "provider": visit.provider, "appointment": visit.id, "code": code.code,
                "name": code.name, "status": "scheduled", "fee": usd(code.cents), "start_date": date_text(visit.day),
            });
            self.file(Resource::Procedures, row);
        }
        charts.iter().enumerate().filter(|(n, _)| n % 6 == 3).for_each(|(n, chart)| self.plan(n, chart, codes));
        done
    }

    /// Saves a completed procedure, and a note for every second one.
    fn performed(&mut self, n: usize, mut done: Done, appointment: Option<String>) -> Done {
        let date = date_text(done.day);
        let teeth = if done.code >= "D1351" { vec![(1 + n % 32).to_string()] } else { Vec::new() };
        let surface = done.code.starts_with("D239").then_some("MO");
        done.id = self.file(
            Resource::Procedures,
            json!({
                "patient": done.patient, "provider": done.provider, "appointment": appointment, "code": done.code,
                "name": done.name, "status": "completed", "teeth": teeth, "surface": surface, "fee": usd(done.cents),
                "start_date": date, "end_date": date,
            }),
        );
        if n.is_multiple_of(2) {
            let row = json!({
                "patient": done.patient, "procedure": done.id, "entered_at": done.day * DAY + 20 * 3_600,
                "content": format!("{} without complications. Patient tolerated it well.", done.name),
                "signed": n % 6 != 4, "completed": true,
            });
            self.file(Resource::ClinicalNotes, row);
        }
        done
    }

    /// Saves a treatment plan and its procedures, which refer to it.
    fn plan(&mut self, n: usize, chart: &Chart, codes: &[Code]) {
        let (kind, status) = [
            ("planned", "proposed"),
            ("planned", "accepted"),
            ("inactive", "rejected"),
            ("referred", "accepted"),
            ("planned", "not_applicable"),
        ][n / 6 % 5];
        let name = format!("Plan {}", 1 + n / 6);
        let plan =
            self.file(Resource::TreatmentPlans, json!({"name": name, "patient": chart.patient, "status": status}));
        let mut procedures = Vec::new();
        for step in 0..2 {
            let code = &codes[(n + step * 3 + 9) % codes.len()];
            procedures.push(self.file(
                Resource::Procedures,
                json!({
                    "patient": chart.patient, "provider": chart.provider, "code": code.code, "name": code.name,
                    "status": kind, "teeth": [(1 + n % 32).to_string()], "fee": usd(code.cents),
                    "treatment_plans": [plan],
                }),
            ));
        }
        if let Some(Record::Filed(resource, row)) = self.practice.get(Resource::TreatmentPlans, &plan) {
            let (resource, mut row) = (*resource, row.clone());
            row.fields.insert("procedures".into(), procedures.into());
            self.save(Record::Filed(resource, row));
        }
    }

    fn recalls(&mut self, charts: &[Chart], types: &[String]) {
        let coming: BTreeMap<String, String> = self
            .visits(|status| matches!(status, Status::Scheduled | Status::Confirmed), usize::MAX)
            .into_iter()
            .map(|visit| (visit.patient, visit.id))
            .collect();
        for (n, chart) in charts.iter().enumerate().filter(|(n, _)| n.is_multiple_of(2)) {
            let due = i64::from(self.profile.today) + i64::try_from(n % 180).unwrap_or(0) - 30;
            let row = json!({
                "patient": chart.patient, "recall_type": types[n / 2 % types.len()], "date_due": date_text(due),
                "appointment": coming.get(&chart.patient).filter(|_| n % 4 == 2),
            });
            self.file(Resource::PatientRecalls, row);
        }
    }
}

impl Done {
    fn new(patient: String, guarantor: String, provider: Option<String>, code: &Code, day: i64) -> Done {
        let Code { code, name, cents } = *code;
        Done { id: String::new(), patient, guarantor, provider, code, name, cents, day }
    }
}
