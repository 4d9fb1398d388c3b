//! The dialect's records as the contract's.

use adapter_sdk::{
    Record,
    records::{self, ExtraValue, Gender, HourKind, Recurrence, RecurrenceUnit, Weekday},
    time::instant_of,
};

use crate::responses::{Address, Appointment, AppointmentType, Day, Hours, Operatory, Patient, Provider, Status, Unit};

/// None where the EHR shows something that cannot be such a record.
pub trait Mapped {
    fn mapped(self) -> Option<Record>;
}

impl Mapped for Patient {
    fn mapped(self) -> Option<Record> {
        Some(Record::Patient(records::Patient {
            id: self.id,
            first_name: self.first_name,
            middle_name: self.middle_name,
            last_name: self.last_name,
            date_of_birth: self.born,
            gender: self.gender.as_deref().map(gender),
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

impl Mapped for Provider {
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

impl Mapped for Operatory {
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

impl Mapped for AppointmentType {
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

impl Mapped for Hours {
    fn mapped(self) -> Option<Record> {
        // Exactly one of the three says when.
        if usize::from(!self.days.is_empty()) + usize::from(self.date.is_some()) + usize::from(self.every.is_some())
            != 1
        {
            return None;
        }
        let every = self.every.map(|e| Recurrence { number: e.number, unit: unit(e.unit), reference: e.from });
        Some(Record::WorkingHour(records::WorkingHour {
            id: self.id,
            provider: self.provider,
            operatory: self.operatory,
            begin_time: self.begin,
            end_time: self.end,
            days: self.days.into_iter().map(weekday).collect(),
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

impl Mapped for Appointment {
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

fn gender(letter: &str) -> Gender {
    match letter {
        "F" => Gender::Female,
        "M" => Gender::Male,
        _ => Gender::Other,
    }
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

fn unit(unit: Unit) -> RecurrenceUnit {
    match unit {
        Unit::Day => RecurrenceUnit::Day,
        Unit::Week => RecurrenceUnit::Week,
        Unit::Month => RecurrenceUnit::Month,
    }
}
