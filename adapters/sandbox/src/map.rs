//! The dialect's records as the contract's.

use adapter_sdk::{
    PatientField, Record, Resource, json,
    records::{self, ExtraValue, Gender, HourKind, Recurrence},
    streams::{Mapped, shown},
    time::instant_of,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    client::Sandbox,
    requests::GENDERS,
    responses::{Address, Appointment, AppointmentType, Hours, Operatory, Patient, Provider, Status},
};

/// serde's own words may quote a value.
const UNREADABLE: &str = "a field is missing or not as expected";

/// A row of the dialect's own.
pub fn typed<T: Own + DeserializeOwned>(_: &Sandbox, _: Resource, row: Value) -> Mapped {
    let row: T = serde_json::from_value(row).map_err(|_| UNREADABLE)?;
    shown(row.mapped().ok_or("it contradicts itself")?)
}

/// Everything else has the contract's names and fields.
pub fn filed(_: &Sandbox, resource: Resource, row: Value) -> Mapped {
    let fields = serde_json::from_value(row).map_err(|_| UNREADABLE)?;
    shown(json::record(resource, fields).map_err(|_| UNREADABLE)?)
}

/// The dialect's name of a patient's field. Names of people are needed anyhow.
pub fn field(name: &str) -> Option<PatientField> {
    Some(match name {
        "middle_name" => PatientField::MiddleName,
        "born" => PatientField::DateOfBirth,
        "gender" => PatientField::Gender,
        "email" => PatientField::Email,
        "cell" => PatientField::CellPhone,
        "home" => PatientField::HomePhone,
        "work" => PatientField::WorkPhone,
        "address" => PatientField::Address,
        "guarantor" => PatientField::Guarantor,
        "provider" => PatientField::Provider,
        "chart" => PatientField::ChartId,
        "language" => PatientField::PreferredLanguage,
        _ => return None,
    })
}

/// None where the EHR shows something that cannot be such a record.
pub trait Own {
    fn mapped(self) -> Option<Record>;
}

impl Own for Patient {
    fn mapped(self) -> Option<Record> {
        Some(Record::Patient(records::Patient {
            id: self.id,
            first_name: self.first_name,
            middle_name: self.middle_name,
            last_name: self.last_name,
            date_of_birth: self.born,
            gender: self.gender.map(|letter| GENDERS.meaning(&letter).unwrap_or(Gender::Other)),
            email: self.email,
            cell_phone: self.cell,
            home_phone: self.home,
            work_phone: self.work,
            address: self.address.map(address),
            guarantor: self.guarantor,
            provider: self.provider,
            chart_id: self.chart,
            preferred_language: self.language,
            inactive: self.inactive,
            new_patient: self.new,
            unsubscribed_sms: self.no_texts,
            unsubscribed_email: self.no_emails,
            extra: vec![ExtraValue::new("version", self.version.to_string())],
            ..records::Patient::default()
        }))
    }
}

impl Own for Provider {
    fn mapped(self) -> Option<Record> {
        let title = self.title.map(|title| format!("{} {}, {title}", self.first_name, self.last_name));
        Some(Record::Provider(records::Provider {
            id: self.id,
            first_name: self.first_name,
            last_name: self.last_name,
            display_name: title,
            email: self.email,
            npi: self.npi,
            specialty_code: self.specialty,
            inactive: self.retired,
            ..records::Provider::default()
        }))
    }
}

impl Own for Operatory {
    fn mapped(self) -> Option<Record> {
        Some(Record::Operatory(records::Operatory {
            id: self.id,
            name: self.name,
            active: self.in_use,
            bookable_online: self.web_booking,
            appointment_types: self.types,
            ..records::Operatory::default()
        }))
    }
}

impl Own for AppointmentType {
    fn mapped(self) -> Option<Record> {
        Some(Record::AppointmentType(records::AppointmentType {
            id: self.id,
            name: self.name,
            minutes: self.minutes,
            bookable_online: self.web_booking,
            ..records::AppointmentType::default()
        }))
    }
}

impl Own for Hours {
    fn mapped(self) -> Option<Record> {
        // Exactly one of the three says when.
        if usize::from(!self.days.is_empty()) + usize::from(self.date.is_some()) + usize::from(self.every.is_some())
            != 1
        {
            return None;
        }
        let every = self.every.map(|e| Recurrence { number: e.number, unit: e.unit, reference: e.from });
        Some(Record::WorkingHour(records::WorkingHour {
            id: self.id,
            provider: self.provider,
            operatory: self.operatory,
            begin_time: self.begin,
            end_time: self.end,
            days: self.days,
            specific_date: self.date,
            recurrence: every,
            kind: if self.block { HourKind::SchedulableBlock } else { HourKind::WorkingHour },
            appointment_types: self.types,
            label: self.label,
            active: self.active,
            extra: Vec::new(),
        }))
    }
}

impl Own for Appointment {
    fn mapped(self) -> Option<Record> {
        let (start, end) = (instant_of(&self.start)?, instant_of(&self.end)?);
        if end <= start {
            return None;
        }
        Some(Record::Appointment(records::Appointment {
            id: self.id,
            patient: self.patient,
            provider: self.provider,
            operatory: self.operatory,
            appointment_type: self.kind,
            start,
            end,
            note: self.note,
            unavailable: self.blocked,
            cancelled: self.status == Status::Cancelled,
            confirmed: matches!(self.status, Status::Confirmed | Status::Arrived | Status::Done),
            patient_confirmed: self.patient_confirmed,
            patient_missed: self.status == Status::Missed,
            checkin_at: self.arrived_at.as_deref().and_then(instant_of),
            checked_out_at: self.left_at.as_deref().and_then(instant_of),
            write_key: self.write_key,
            version: Some(self.version.to_string()),
            extra: self.reason.map(|reason| ExtraValue::new("reason", reason)).into_iter().collect(),
        }))
    }
}

fn address(a: Address) -> records::Address {
    records::Address {
        line1: a.street,
        line2: a.street2,
        city: a.city,
        region: a.state,
        postal_code: a.zip,
        country: a.country,
    }
}
