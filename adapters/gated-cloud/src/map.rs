//! The application's records as the contract's.

use adapter_sdk::{
    Fault, Record, Resource,
    records::{self, Address, ExtraValue, Gender, HourKind, Weekday},
};
use serde_json::Value;

use crate::{
    markup::{self, Names},
    responses::{Appointment, AppointmentType, Day, Hours, Operatory, Patient, Provider, Status, typed},
};

/// A kind of record: what calls name it, where its fields are, and what it becomes.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub names: Names,
    /// The inner error is the id of what contradicts itself.
    pub record: fn(Value) -> Result<Result<Record, String>, Fault>,
}

pub const PATIENTS: Kind = Kind { name: "patients", names: markup::PATIENT, record: patient };
pub const APPOINTMENTS: Kind = Kind { name: "appointments", names: markup::APPOINTMENT, record: appointment };

pub fn kind(resource: Resource) -> Option<Kind> {
    Some(match resource {
        Resource::Patients => PATIENTS,
        Resource::Appointments => APPOINTMENTS,
        Resource::Providers => Kind { name: "providers", names: markup::PROVIDER, record: provider },
        Resource::Operatories => Kind { name: "operatories", names: markup::OPERATORY, record: operatory },
        Resource::AppointmentTypes => Kind { name: "types", names: markup::TYPE, record: appointment_type },
        Resource::WorkingHours => Kind { name: "hours", names: markup::HOURS, record: hours },
        _ => return None,
    })
}

fn read<T: serde::de::DeserializeOwned>(own: Value) -> Result<T, Fault> {
    typed(own).map_err(|why| Fault::retry_later(why, None))
}

fn patient(own: Value) -> Result<Result<Record, String>, Fault> {
    let p: Patient = read(own)?;
    let address =
        Address { line1: p.street, line2: None, city: p.city, region: p.state, postal_code: p.zip, country: p.country };
    let known = [&address.line1, &address.city, &address.region, &address.postal_code, &address.country];
    let address = known.iter().any(|part| part.is_some()).then_some(address);
    Ok(Ok(Record::Patient(records::Patient {
        id: p.id,
        first_name: p.first_name,
        middle_name: p.middle_name,
        last_name: p.last_name,
        date_of_birth: p.born,
        gender: p.sex.as_deref().map(gender),
        email: p.email,
        cell_phone: p.mobile,
        home_phone: p.home_phone,
        work_phone: p.work_phone,
        address,
        provider: p.provider,
        chart_id: p.chart,
        preferred_language: p.language,
        inactive: p.inactive,
        ..records::Patient::default()
    })))
}

fn gender(sex: &str) -> Gender {
    match sex {
        "female" => Gender::Female,
        "male" => Gender::Male,
        _ => Gender::Other,
    }
}

fn provider(own: Value) -> Result<Result<Record, String>, Fault> {
    let p: Provider = read(own)?;
    Ok(Ok(Record::Provider(records::Provider {
        id: p.id,
        first_name: p.first_name,
        last_name: p.last_name,
        email: p.email,
        npi: p.npi,
        inactive: p.inactive,
        ..records::Provider::default()
    })))
}

fn operatory(own: Value) -> Result<Result<Record, String>, Fault> {
    let o: Operatory = read(own)?;
    Ok(Ok(Record::Operatory(records::Operatory {
        id: o.id,
        name: o.name,
        active: !o.closed,
        bookable_online: !o.closed,
        ..records::Operatory::default()
    })))
}

fn appointment_type(own: Value) -> Result<Result<Record, String>, Fault> {
    let t: AppointmentType = read(own)?;
    Ok(match t.minutes {
        1..=1_440 => Ok(Record::AppointmentType(records::AppointmentType {
            id: t.id,
            name: t.name,
            minutes: t.minutes,
            bookable_online: true,
            ..records::AppointmentType::default()
        })),
        _ => Err(t.id),
    })
}

fn hours(own: Value) -> Result<Result<Record, String>, Fault> {
    let h: Hours = read(own)?;
    if h.days.is_empty() {
        return Ok(Err(h.id));
    }
    Ok(Ok(Record::WorkingHour(records::WorkingHour {
        id: h.id,
        provider: h.provider,
        operatory: Some(h.operatory),
        begin_time: h.begin,
        end_time: h.end,
        days: h.days.into_iter().map(weekday).collect(),
        specific_date: None,
        recurrence: None,
        kind: HourKind::WorkingHour,
        appointment_types: Vec::new(),
        label: None,
        active: true,
        extra: Vec::new(),
    })))
}

fn weekday(day: Day) -> Weekday {
    match day {
        Day::Mon => Weekday::Monday,
        Day::Tue => Weekday::Tuesday,
        Day::Wed => Weekday::Wednesday,
        Day::Thu => Weekday::Thursday,
        Day::Fri => Weekday::Friday,
        Day::Sat => Weekday::Saturday,
        Day::Sun => Weekday::Sunday,
    }
}

fn appointment(own: Value) -> Result<Result<Record, String>, Fault> {
    let a: Appointment = read(own)?;
    if a.end <= a.start {
        return Ok(Err(a.id));
    }
    Ok(Ok(Record::Appointment(records::Appointment {
        confirmed: is_confirmed(a.status),
        cancelled: a.status == Status::Cancelled,
        patient_missed: a.status == Status::Missed,
        id: a.id,
        patient: a.patient,
        provider: a.provider,
        operatory: Some(a.operatory),
        appointment_type: a.kind,
        start: a.start,
        end: a.end,
        note: a.note,
        unavailable: a.block,
        patient_confirmed: a.confirmed_by_patient,
        checkin_at: a.arrived_at,
        checked_out_at: a.left_at,
        write_key: a.reference,
        version: Some(a.revision.to_string()),
        extra: a.cancel_reason.map(|reason| ExtraValue::new("cancel_reason", reason)).into_iter().collect(),
    })))
}

/// Who came was expected.
pub fn is_confirmed(status: Status) -> bool {
    matches!(status, Status::Confirmed | Status::Arrived | Status::Completed)
}
