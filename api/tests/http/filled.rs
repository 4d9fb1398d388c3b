//! An EHR with records of every resource, which change on demand. Each text contains the name of its owner.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use engine::records::{
    ehr::{
        Address, Description, Ehr, EhrAppointment, EhrAppointmentType, EhrFuture, EhrOperatory, EhrPatient,
        EhrProvider, EhrRecord, EhrWorkingHour, Fault, Page, PullAbility, Receipt, Resource, Skipped, Write,
    },
    schema::{RESOURCES, rules},
};
use location::{
    hours::Weekday,
    time::{DAY, HOUR, MINUTE, SECOND as ONE_SECOND},
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};

use crate::support::{midnight_utc, monday};

/// EHR of one location. Instances of one owner show the same shared records.
pub struct Filled {
    owner: &'static str,
    /// Part of the names of operatories, working hours and appointments.
    location: u32,
    rows: Mutex<ChangeCounts>,
    /// Names of the writes that are not supported.
    refuses: Vec<&'static str>,
    /// Unreadable records.
    unreadable: Mutex<BTreeSet<(Resource, u32)>>,
    /// Number of patients who own the records in turn. By default all records except appointments belong to the first.
    patients: Option<u32>,
}

/// Number of changes of each record, by resource and number.
type ChangeCounts = BTreeMap<(Resource, u32), u32>;

impl Filled {
    pub fn new(owner: &'static str, location: u32, of_each: u32) -> Arc<Filled> {
        let all = resources().into_iter();
        let rows = all.flat_map(|resource| (0..of_each).map(move |n| ((resource, n), 0))).collect();
        let (rows, unreadable) = (Mutex::new(rows), Mutex::default());
        Arc::new(Filled { owner, location, rows, refuses: Vec::new(), unreadable, patients: None })
    }

    pub fn about_patients(self: Arc<Filled>, count: u32) -> Arc<Filled> {
        let mut ehr = Arc::into_inner(self).unwrap();
        ehr.patients = Some(count);
        Arc::new(ehr)
    }

    pub fn without_writes(self: Arc<Filled>, names: &[&'static str]) -> Arc<Filled> {
        let mut ehr = Arc::into_inner(self).unwrap();
        ehr.refuses = names.to_vec();
        Arc::new(ehr)
    }

    fn rows(&self) -> MutexGuard<'_, ChangeCounts> {
        self.rows.lock()
    }

    /// Creates the record, or changes it.
    pub fn touch(&self, resource: Resource, n: u32) {
        self.rows().entry((resource, n)).and_modify(|version| *version += 1).or_default();
    }

    pub fn remove(&self, resource: Resource, n: u32) {
        self.rows().remove(&(resource, n));
    }

    /// Makes the record unreadable, or readable again.
    pub fn set_unreadable(&self, resource: Resource, n: u32, unreadable: bool) {
        let mut all = self.unreadable.lock();
        if unreadable {
            all.insert((resource, n))
        } else {
            all.remove(&(resource, n))
        };
    }

    /// Returns a text with the name of the owner.
    fn text(&self, what: &str, n: u32) -> String {
        format!("{} {what} {n}", self.owner)
    }

    fn key(&self, resource: Resource, n: u32) -> String {
        let place = if resource.of_one_location() { self.location } else { 0 };
        format!("{}-{place}-{resource:?}-{n}", self.owner)
    }

    fn record(&self, resource: Resource, n: u32, version: u32) -> EhrRecord {
        let id = self.key(resource, n);
        let text = |what: &str| self.text(what, n);
        let changed = |what: &str| format!("{} {version}", self.text(what, n));
        let to = |resource| Some(self.key(resource, 0));
        match resource {
            Resource::Providers => EhrRecord::Provider(EhrProvider {
                id,
                first_name: text("given"),
                last_name: changed("family"),
                ..EhrProvider::default()
            }),
            Resource::Operatories => EhrRecord::Operatory(EhrOperatory {
                id,
                name: changed("chair"),
                active: true,
                bookable_online: true,
                ..EhrOperatory::default()
            }),
            Resource::AppointmentTypes => EhrRecord::AppointmentType(EhrAppointmentType {
                id,
                name: changed("type"),
                minutes: 30,
                bookable_online: true,
                ..EhrAppointmentType::default()
            }),
            Resource::Patients => EhrRecord::Patient(EhrPatient {
                id,
                first_name: text("given"),
                last_name: changed("family"),
                date_of_birth: Some(format!("19{:02}-05-06", n % 100)),
                email: Some(format!("{}{n}@mail.example", self.owner)),
                address: Some(Address { line1: Some(text("street")), ..Address::default() }),
                guarantor: to(Resource::Patients),
                provider: to(Resource::Providers),
                ..EhrPatient::default()
            }),
            Resource::WorkingHours => EhrRecord::WorkingHour(EhrWorkingHour {
                id,
                provider: self.key(Resource::Providers, n),
                operatory: Some(self.key(Resource::Operatories, n)),
                days: vec![Weekday::Monday, Weekday::Tuesday],
                label: Some(text("label")),
                ..testing::working_hour("09:00", if version.is_multiple_of(2) { "17:00" } else { "16:00" })
            }),
            Resource::Appointments => EhrRecord::Appointment(self.appointment(id, n, version)),
            _ => EhrRecord::from_fields(resource, &id, self.fields(resource, n, version).into()).unwrap(),
        }
    }

    /// Returns an appointment three weeks after the Monday of the tests; each version is at another hour.
    fn appointment(&self, id: String, n: u32, version: u32) -> EhrAppointment {
        let first = midnight_utc(monday(engine::clock::now())).plus(21 * DAY);
        let start = first.plus(i64::from((n * 7 + version * 5) % 48) * HOUR);
        EhrAppointment {
            id,
            patient: Some(self.key(Resource::Patients, self.patients.map_or(n, |count| n % count))),
            provider: Some(self.key(Resource::Providers, n)),
            operatory: Some(self.key(Resource::Operatories, n)),
            appointment_type: Some(self.key(Resource::AppointmentTypes, 0)),
            start: start.0 / ONE_SECOND,
            end: start.plus(30 * MINUTE).0 / ONE_SECOND,
            note: Some(self.text("note", n)),
            ..EhrAppointment::default()
        }
    }

    /// Returns the fields of an entry: the field names of the contract, with references as foreign ids.
    fn fields(&self, resource: Resource, n: u32, version: u32) -> Map<String, Value> {
        let text = |what: &str| self.text(what, n);
        let money = json!({"amount": format!("{n}.{:02}", version % 100), "currency": "USD"});
        let (day, second) = ("2026-11-02", 1_700_000_000);
        let texts = json!({
            "name": format!("{} {version}", text("name")), "title": text("title"), "kind": text("kind"),
            "code": text("code"), "description": text("description"), "note": format!("{} {version}", text("note")),
            "content": format!("{} {version}", text("content")), "filename": format!("{}.pdf", text("file")),
            "media_type": "application/pdf", "slug": text("slug"), "subject": text("subject"),
            "payer_id": text("payer"), "group_number": text("group"), "employer_name": text("employer"),
            "subscriber_number": text("subscriber"), "surface": text("surface"), "version": version.to_string(),
            "transaction_id": text("transaction"), "procedure_code": text("code"),
            "messages_json": json!([{"text": text("words")}]).to_string(), "answers_json": "{}",
            "schema_json": json!({"components": [], "title": text("schema")}).to_string(),
        });
        let rest = json!({
            "active": version.is_multiple_of(2), "category": "allergies", "relation": "self", "priority": 1, "action": "credit",
            "interval_number": 6 + version, "interval_unit": "month", "teeth": [], "totals": {}, "fee": money,
            "amount": money, "total": money, "submitted_at": second, "entered_at": second, "sent_at": second,
            "created_at": second, "date_due": day, "date_of_service": day, "charged_at": day, "paid_at": day,
            "adjusted_at": day,
        });
        let (Value::Object(mut fields), Value::Object(rest)) = (texts, rest) else { unreachable!("made as objects") };
        fields.extend(rest);
        let known = rules(resource);
        for (field, to) in known.refers_to {
            let about = self.patients.filter(|_| *to == Resource::Patients);
            let target = self.key(*to, about.map_or(0, |count| n % count));
            let many = matches!(*field, "treatment_plans" | "procedures");
            fields.insert((*field).into(), if many { json!([target]) } else { json!(target) });
        }
        fields
    }
}

/// Returns every resource that can be pulled from an EHR.
pub fn resources() -> Vec<Resource> {
    RESOURCES.iter().copied().filter(|resource| *resource != Resource::CommunicationLogs).collect()
}

impl Ehr for Filled {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        let pull = |resource| PullAbility { resource, delta: false, deletions_by_absence: true };
        let all = resources();
        let of_entries = all.iter().flat_map(|resource| rules(*resource).writes);
        let writes = ["create-patient", "update-patient", "create-appointment", "reschedule-appointment"];
        let writes = writes.iter().chain(&["cancel-appointment", "create-communication-log"]).copied();
        let writes = writes.chain(of_entries.map(|(_, name)| *name)).filter(|name| !self.refuses.contains(name));
        let writes: Vec<String> = writes.map(str::to_owned).collect();
        let description = Description {
            name: "Filled".into(),
            version: "1".into(),
            hosting: "cloud".into(),
            pulls: all.into_iter().map(pull).collect(),
            writes,
            new_patients: !self.refuses.contains(&"create-patient"),
            operatories: true,
            ..Description::default()
        };
        Box::pin(async move { Ok(description) })
    }

    fn pull(&self, resource: Resource, _: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        let rows = self.rows().clone();
        let rows = rows.into_iter().filter(move |((of, _), _)| *of == resource);
        let unreadable = self.unreadable.lock().clone();
        let (skipped, rows): (Vec<_>, Vec<_>) = rows.partition(|(row, _)| unreadable.contains(row));
        let skipped = skipped.into_iter().map(|((_, n), _)| self.key(resource, n));
        let skipped = skipped.map(|id| Skipped { id, reason: "it has no name".to_owned() }).collect();
        let records: Vec<_> = rows.into_iter().map(|((_, n), version)| self.record(resource, n, version)).collect();
        let estimate = Some(records.len() as u64);
        let page =
            Page { records, skipped, cursor: "end".into(), last: true, whole: true, estimate, ..Page::default() };
        Box::pin(async move { Ok(page) })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        Box::pin(std::future::pending())
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        Box::pin(async { Err::<_, Fault>(Fault::Unknown("not now".into())) })
    }
}
