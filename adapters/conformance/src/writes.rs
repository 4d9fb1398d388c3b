//! New writes of every kind, about a patient the EHR knows.

use chrono::{Days, NaiveDate};
use location::hours::HourKind;
use location::resource::Operation;
use records::ehr::{Address, EhrAppointment, EhrPatient, EhrRecord, EhrWorkingHour, Resource, Write};
use serde_json::{Map, Value, json};

use crate::{ehr_under_test::EhrUnderTest, report::CaseResult, subject::Subject};

/// The kinds of writes, by the contract's names.
pub const KINDS: [&str; 21] = [
    "create-patient",
    "update-patient",
    "create-appointment",
    "reschedule-appointment",
    "confirm-appointment",
    "check-in-appointment",
    "cancel-appointment",
    "note-appointment",
    "create-working-hour",
    "update-working-hour",
    "delete-working-hour",
    "create-insurance-plan",
    "create-coverage",
    "delete-coverage",
    "save-patient-history-item",
    "create-patient-alert",
    "disable-patient-alert",
    "create-communication-log",
    "create-form-response",
    "create-payment",
    "create-adjustment",
];

/// The id of a record that does not exist in the EHR.
const NOBODY: &str = "none-such-1";

impl<S: EhrUnderTest> Subject<S> {
    /// Returns a write of this kind. The record it changes is created first, if the EHR supports that; else the write
    /// refers to a missing record.
    pub async fn fresh(&self, kind: &str) -> CaseResult<Write> {
        let write = match kind {
            "create-patient" => Write::CreatePatient(self.new_patient()),
            "update-patient" => self.changed_patient().await?,
            "create-appointment" => Write::CreateAppointment(self.appointment()),
            "create-working-hour" => Write::CreateWorkingHour(self.hour()),
            "update-working-hour" => {
                let hour = EhrWorkingHour { end_time: "18:30".into(), ..self.known_hour().await? };
                Write::UpdateWorkingHour(hour)
            }
            "delete-working-hour" => Write::DeleteWorkingHour(self.known_hour().await?.id),
            "create-insurance-plan" => self.entry(Resource::InsurancePlans, self.plan()),
            "create-coverage" => self.entry(Resource::Coverages, self.coverage().await?),
            "delete-coverage" => self.deleted_coverage().await?,
            "save-patient-history-item" => self.entry(Resource::PatientHistoryItems, self.history().await?),
            "create-patient-alert" => self.entry(Resource::PatientAlerts, self.alert()),
            "disable-patient-alert" => self.disabled_alert().await?,
            "create-communication-log" => self.entry(Resource::CommunicationLogs, self.communication_log()),
            "create-form-response" => self.entry(Resource::FormResponses, self.answers().await?),
            "create-payment" => self.entry(Resource::Payments, self.payment(Resource::PaymentTypes).await?),
            "create-adjustment" => self.entry(Resource::Adjustments, self.payment(Resource::AdjustmentTypes).await?),
            of_appointment => return self.changed_appointment(of_appointment).await,
        };
        Ok(self.adjusted(write))
    }

    /// Creates a record if the EHR supports that. Returns its id, or that of a missing record.
    async fn created(&self, kind: &str, write: &Write) -> CaseResult<String> {
        if self.writes(kind) { Ok(self.written(write).await?.id) } else { Ok(NOBODY.into()) }
    }

    pub fn new_patient(&self) -> EhrPatient {
        let n = self.number();
        EhrPatient {
            first_name: "Zoë".into(),
            middle_name: Some("Ann".into()),
            last_name: format!("Łopata-O’Brien {}", letters(n)),
            date_of_birth: Some("1990-02-28".into()),
            gender: Some("Female".into()),
            email: Some(format!("zoe.{n}@mail.example")),
            cell_phone: Some(format!("+1 312 555 {:04}", n % 10_000)),
            home_phone: Some(format!("+1 312 556 {:04}", n % 10_000)),
            address: Some(Address {
                line1: Some("1 Rue de l’Été".into()),
                city: Some("Chicago".into()),
                region: Some("IL".into()),
                postal_code: Some("60601".into()),
                country: Some("US".into()),
                ..Address::default()
            }),
            preferred_language: Some("fr".into()),
            ..EhrPatient::default()
        }
    }

    /// At the next free half hour.
    pub fn appointment(&self) -> EhrAppointment {
        self.appointment_at(self.free(), self.number())
    }

    pub fn appointment_at(&self, start: i64, n: usize) -> EhrAppointment {
        let here = self.system.existing_ids();
        EhrAppointment {
            patient: Some(here.patient),
            provider: Some(here.provider),
            operatory: here.operatory,
            appointment_type: here.appointment_type,
            start,
            end: start + 1_800,
            note: Some(format!("Prüfung {n}: läuft ☺")),
            ..EhrAppointment::default()
        }
    }

    async fn changed_patient(&self) -> CaseResult<Write> {
        let mut patient = self.new_patient();
        let made = self.adjusted(Write::CreatePatient(patient.clone()));
        patient.id = self.created("create-patient", &made).await?;
        patient.cell_phone = Some(format!("+1 312 777 {:04}", self.number() % 10_000));
        patient.home_phone = None;
        Ok(Write::UpdatePatient(patient, None))
    }

    async fn changed_appointment(&self, kind: &str) -> CaseResult<Write> {
        let mut a = self.appointment();
        a.id = NOBODY.into();
        if self.writes("create-appointment") {
            let write = self.adjusted(Write::CreateAppointment(a.clone()));
            let receipt = self.written(&write).await?;
            if let Write::CreateAppointment(adjusted) = write {
                a = EhrAppointment { id: receipt.id, version: receipt.version, ..adjusted };
            }
        }
        let write = match kind {
            "reschedule-appointment" => {
                let start = self.free();
                Write::RescheduleAppointment(EhrAppointment { start, end: start + (a.end - a.start), ..a }, None)
            }
            "confirm-appointment" => {
                Write::ConfirmAppointment(EhrAppointment { confirmed: true, patient_confirmed: true, ..a })
            }
            "check-in-appointment" => {
                Write::CheckInAppointment(EhrAppointment { checkin_at: Some(a.start - 300), ..a })
            }
            "cancel-appointment" => {
                Write::CancelAppointment(EhrAppointment { cancelled: true, ..a }, Some("feels better already".into()))
            }
            "note-appointment" => {
                let note = format!("in a wheelchair {}", self.number());
                Write::NoteAppointment(EhrAppointment { note: Some(note), ..a })
            }
            other => panic!("{other} is no kind of write"),
        };
        Ok(self.adjusted(write))
    }

    /// On a separate day, so that none overlaps another.
    fn hour(&self) -> EhrWorkingHour {
        let day = NaiveDate::from_ymd_opt(2030, 1, 1).expect("a date") + Days::new((self.number() % 3_000) as u64);
        self.hour_on(day, "09:00", "12:30")
    }

    pub fn hour_on(&self, day: NaiveDate, begin: &str, end: &str) -> EhrWorkingHour {
        let here = self.system.existing_ids();
        EhrWorkingHour {
            id: String::new(),
            provider: here.provider,
            operatory: here.operatory,
            begin_time: begin.into(),
            end_time: end.into(),
            days: Vec::new(),
            specific_date: Some(day.to_string()),
            recurrence: None,
            kind: HourKind::WorkingHour,
            appointment_types: here.appointment_type.into_iter().collect(),
            label: None,
            active: true,
            extra: Vec::new(),
        }
    }

    /// Creates working hours if the EHR supports that.
    async fn known_hour(&self) -> CaseResult<EhrWorkingHour> {
        let made = self.adjusted(Write::CreateWorkingHour(self.hour()));
        let id = self.created("create-working-hour", &made).await?;
        match made {
            Write::CreateWorkingHour(hour) => Ok(EhrWorkingHour { id, ..hour }),
            other => panic!("{other:?} is no new hour"),
        }
    }

    fn entry(&self, resource: Resource, fields: Value) -> Write {
        Write::Record(
            Operation::Create,
            EhrRecord::from_fields(resource, "", fields).expect("a record of the contract"),
        )
    }

    /// Returns the same entry as another operation on an existing record.
    async fn over(&self, kind: &str, operation: Operation, made: Write, change: Value) -> CaseResult<Write> {
        let Write::Record(_, entry) = made else { panic!("a record") };
        let id = self.created(kind, &Write::Record(Operation::Create, entry.clone())).await?;
        let mut fields = entry.fields();
        if let Value::Object(change) = change {
            fields.extend(change);
        }
        let entry = EhrRecord::from_fields(entry.resource(), &id, fields.into()).expect("a record of the contract");
        Ok(Write::Record(operation, entry))
    }

    fn plan(&self) -> Value {
        json!({
            "name": format!("Plan {}", self.number()),
            "payer_id": "60054",
            "group_number": format!("G-{}", self.number()),
            "address": {"line1": "5 Payer Road", "city": "Hartford", "region": "CT", "postal_code": "06101"},
        })
    }

    async fn coverage(&self) -> CaseResult<Value> {
        let plan = match self.writes("create-insurance-plan") {
            true => {
                let plan = self.adjusted(self.entry(Resource::InsurancePlans, self.plan()));
                self.written(&plan).await?.id
            }
            false => self.first(Resource::InsurancePlans, |_| true).await?.map_or_else(|| NOBODY.into(), |(id, _)| id),
        };
        Ok(json!({
            "patient": self.system.existing_ids().patient, "plan": plan, "relation": "self", "priority": 1, "active": true,
            "subscriber_number": format!("S-{}", self.number()), "effective_date": "2026-01-01",
        }))
    }

    async fn deleted_coverage(&self) -> CaseResult<Write> {
        let made = self.adjusted(self.entry(Resource::Coverages, self.coverage().await?));
        self.over("create-coverage", Operation::Delete, made, Value::Null).await
    }

    /// About an entry of any catalogue.
    async fn history(&self) -> CaseResult<Value> {
        let item = self.first(Resource::HistoryItems, |_| true).await?;
        let (id, category) = match item {
            Some((id, fields)) => (id, fields["category"].clone()),
            None => (NOBODY.into(), json!("conditions")),
        };
        Ok(self.history_of(&id, category))
    }

    fn history_of(&self, item: &str, category: Value) -> Value {
        json!({
            "patient": self.system.existing_ids().patient, "category": category, "item": item, "active": true,
            "note": format!("since childhood {}", self.number()),
        })
    }

    /// Returns, for each catalogue with an entry, a new item and the write that ends another item.
    pub async fn ended_histories(&self) -> CaseResult<Vec<(Write, Write)>> {
        let mut all = Vec::new();
        for category in ["allergies", "conditions", "medications"] {
            let of_it = |fields: &Map<String, Value>| fields["category"] == category;
            let Some((item, _)) = self.first(Resource::HistoryItems, of_it).await? else { continue };
            let made = || {
                let fields = self.history_of(&item, category.into());
                self.adjusted(self.entry(Resource::PatientHistoryItems, fields))
            };
            let ended =
                self.over("save-patient-history-item", Operation::Update, made(), json!({"active": false})).await?;
            all.push((made(), ended));
        }
        Ok(all)
    }

    fn alert(&self) -> Value {
        json!({"patient": self.system.existing_ids().patient, "note": format!("Latex! {}", self.number())})
    }

    async fn disabled_alert(&self) -> CaseResult<Write> {
        let made = self.adjusted(self.entry(Resource::PatientAlerts, self.alert()));
        self.over("create-patient-alert", Operation::Update, made, json!({"disabled_at": 1_790_000_000})).await
    }

    fn communication_log(&self) -> Value {
        json!({
            "patient": self.system.existing_ids().patient, "note": format!("Reminded by text {}", self.number()),
            "mode": "text", "direction": "sent", "occurred_at": 1_790_000_000 + self.number() % 1_000_000,
        })
    }

    async fn answers(&self) -> CaseResult<Value> {
        let form = self.first(Resource::FormSchemas, |_| true).await?;
        Ok(json!({
            "patient": self.system.existing_ids().patient, "form_schema": form.map_or_else(|| NOBODY.into(), |(id, _)| id),
            "answers_json": json!({"n": self.number().to_string()}).to_string(), "submitted_at": 1_790_000_000,
        }))
    }

    /// A payment or an adjustment, depending on the resource of its type.
    async fn payment(&self, types: Resource) -> CaseResult<Value> {
        let kind = self.first(types, |fields| fields["active"] != json!(false)).await?.map(|(id, _)| id);
        let amount = json!({"amount": format!("{}.50", self.number() % 90_000), "currency": "USD"});
        let (kind_field, day) = match types {
            Resource::PaymentTypes => ("payment_type", "paid_at"),
            _ => ("adjustment_type", "adjusted_at"),
        };
        let mut fields = json!({"patient": self.system.existing_ids().patient, "amount": amount, day: "2026-11-02"});
        if let Some(kind) = kind {
            fields[kind_field] = kind.into();
        }
        Ok(fields)
    }

    /// Returns the first matching record of a resource that can be pulled.
    async fn first(
        &self,
        resource: Resource,
        fits: impl Fn(&Map<String, Value>) -> bool,
    ) -> CaseResult<Option<(String, Map<String, Value>)>> {
        if self.ability(resource).is_none() {
            return Ok(None);
        }
        let records = self.everything(resource).await?.records;
        let mut all = records.into_iter().map(|(id, record)| (id, record.fields()));
        Ok(all.find(|(_, fields)| fits(fields)))
    }
}

/// Formats a number as letters, because some EHRs reject digits in names.
pub(crate) fn letters(mut n: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'a' + u8::try_from(n % 26).expect("below 26")));
        n /= 26;
        if n == 0 {
            return text;
        }
    }
}
