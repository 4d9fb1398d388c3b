//! Adapter for the simulated EHR. It has every part an adapter needs, in the layout all of ours share: `requests` builds,
//! `responses` parses, `map` translates, `faults` judges, and this file joins them.

pub mod cursor;
pub mod faults;
pub mod map;
pub mod requests;
pub mod responses;

use adapter_sdk::{
    Adapter, AppointmentChange, Deletions, Description, Fault, Page, PullAbility, Receipt, Resource, Write, WriteKind,
    config,
    http::{self, Response},
    records::Patient,
    warn,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use cursor::Cursor;
use map::Mapped;
use responses::{About, List, Written};

pub struct Sandbox;

adapter_sdk::export_adapter!(Sandbox);

/// In the order in which they refer to each other.
const PULLS: [Resource; 6] = [
    Resource::Providers,
    Resource::AppointmentTypes,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
];

const WRITES: [WriteKind; 8] = [
    WriteKind::CreatePatient,
    WriteKind::UpdatePatient,
    WriteKind::CreateAppointment,
    WriteKind::RescheduleAppointment,
    WriteKind::ConfirmAppointment,
    WriteKind::CheckInAppointment,
    WriteKind::CancelAppointment,
    WriteKind::NoteAppointment,
];

impl Adapter for Sandbox {
    fn describe() -> Result<Description, Fault> {
        let about: About = read(requests::ABOUT)?.json()?;
        let ability = |resource| PullAbility { resource, delta: true, deletions: Deletions::Reported };
        Ok(Description {
            name: about.name,
            version: env!("CARGO_PKG_VERSION").into(),
            hosting: "cloud".into(),
            pulls: PULLS.map(ability).to_vec(),
            writes: WRITES.to_vec(),
            required_patient_fields: about.required_patient_fields.iter().map(|name| api_field(name)).collect(),
            max_lengths: about.max_plan_name.map(|n| ("insurance_plan.name".into(), n)).into_iter().collect(),
            new_patients: about.new_patients,
            operatories: true,
            requests_per_minute: about.requests_per_minute,
            gated: false,
            extra: Vec::new(),
        })
    }

    fn pull(resource: Resource, cursor: Option<String>, limit: u32) -> Result<Page, Fault> {
        match resource {
            Resource::Providers => page::<responses::Provider>("providers", false, cursor, limit),
            Resource::AppointmentTypes => page::<responses::AppointmentType>("types", false, cursor, limit),
            Resource::Patients => page::<responses::Patient>("patients", false, cursor, limit),
            Resource::Operatories => page::<responses::Operatory>("operatories", true, cursor, limit),
            Resource::WorkingHours => page::<responses::Hours>("hours", true, cursor, limit),
            Resource::Appointments => page::<responses::Appointment>("appointments", true, cursor, limit),
            _ => Err(Fault::unsupported("the sandbox EHR keeps no such records")),
        }
    }

    fn push(key: String, write: Write) -> Result<Receipt, Fault> {
        let update = |change: &AppointmentChange, body: Value| patch("appointments", &change.appointment.id, &body);
        match &write {
            Write::CreatePatient(patient) => post("patients", &patient_fields(&key, patient)),
            Write::UpdatePatient(patient) => patch("patients", &patient.id, &patient_fields(&key, patient)),
            Write::CreateAppointment(change) => {
                let location = config::require("location")?;
                post("appointments", &requests::new_appointment(&key, &location, &change.appointment))
            }
            Write::RescheduleAppointment(c) => update(c, requests::reschedule(&key, &c.appointment)),
            Write::ConfirmAppointment(c) => update(c, requests::confirm(&key, &c.appointment)),
            Write::CheckInAppointment(c) => update(c, requests::check_in(&key, &c.appointment)),
            Write::NoteAppointment(c) => update(c, requests::note(&key, &c.appointment)),
            Write::CancelAppointment(c) => cancel(&key, c),
            _ => Err(Fault::unsupported("the sandbox EHR has no such write")),
        }
    }

    fn find(key: String, _: Write) -> Result<Option<Receipt>, Fault> {
        let answer = http::get(requests::written(&key)).send_any()?;
        match answer.status {
            200 => answer.json().map(|written| Some(receipt(written))),
            // Only the EHR's own word counts: a proxy's 404 says nothing about the write.
            404 if faults::code(&answer).as_deref() == Some("not_found") => Ok(None),
            404 => Err(Fault::retry_later("the EHR's base URL answers 404", None)),
            _ => Err(faults::of_answer(&answer, true)),
        }
    }
}

/// The dialect's name of a patient's field, as the API has it.
fn api_field(name: &str) -> String {
    match name {
        "born" => "date_of_birth",
        "cell" | "home" | "work" => "phone_number",
        other => other,
    }
    .into()
}

fn page<T: Mapped + DeserializeOwned>(
    name: &str,
    local: bool,
    cursor: Option<String>,
    limit: u32,
) -> Result<Page, Fault> {
    let at = Cursor::parse(cursor.as_deref()).ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    let location = if local { Some(config::require("location")?) } else { None };
    let list: List<T> = read(&requests::list(name, location.as_deref(), at.revision, limit))?.json()?;
    let records = list.records.into_iter().filter_map(|record| {
        let id = record.id().to_owned();
        let mapped = record.mapped();
        if mapped.is_none() {
            warn!("{name} {id} is left out: it contradicts itself");
        }
        mapped
    });
    Ok(Page {
        records: records.collect(),
        deleted: list.deleted,
        cursor: at.next(list.revision, list.more).to_string(),
        last: !list.more,
        whole: at.whole,
        estimate: at.whole.then_some(list.total),
    })
}

fn patient_fields(key: &str, patient: &Patient) -> Value {
    let lost = requests::unsupported(patient);
    if !lost.is_empty() {
        warn!("the EHR has no field for {}", lost.join(", "));
    }
    requests::patient(key, patient)
}

fn read(path: &str) -> Result<Response, Fault> {
    judged(http::get(path).send_any()?, true)
}

fn post(name: &str, body: &Value) -> Result<Receipt, Fault> {
    let answer = http::post(format!("/v1/{name}")).json(body)?.send_any()?;
    judged(answer, false)?.written_json().map(receipt)
}

/// What staff have cancelled already is as cancelled as it was to be.
fn cancel(key: &str, change: &AppointmentChange) -> Result<Receipt, Fault> {
    let (id, body) = (&change.appointment.id, requests::cancel(key, &change.appointment, change.reason.as_deref()));
    let answer = http::patch(requests::record("appointments", id)).json(&body)?.send_any()?;
    if answer.status == 422 && faults::code(&answer).as_deref() == Some("cancelled") {
        return Ok(Receipt { id: id.clone(), version: None });
    }
    judged(answer, false)?.written_json().map(receipt)
}

fn patch(name: &str, id: &str, body: &Value) -> Result<Receipt, Fault> {
    let answer = http::patch(requests::record(name, id)).json(body)?.send_any()?;
    judged(answer, false)?.written_json().map(receipt)
}

fn judged(answer: Response, reads: bool) -> Result<Response, Fault> {
    match answer.status {
        200..=299 => Ok(answer),
        _ => Err(faults::of_answer(&answer, reads)),
    }
}

fn receipt(written: Written) -> Receipt {
    Receipt { id: written.id, version: written.version.map(|version| version.to_string()) }
}
