//! What messages say: the appointment object of specification 2.12.

use location::{
    ids::{OperatoryId, ProviderId},
    time::{SECOND, Timestamp},
    zone::Zone,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    actor::{docs::Docs, turn::TurnError},
    records::{Appointment, AppointmentType, Operatory, Patient, Provider, Writeback},
};

/// Names the object shows beside ids.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub patient: Option<String>,
    pub provider: Option<String>,
    pub operatory: Option<String>,
    pub appointment_type: Option<String>,
}

impl Names {
    pub fn of(institution: u32, appointment: &Appointment, docs: &mut Docs<'_>) -> Result<Names, TurnError> {
        let place = &appointment.placement;
        let mut names = Names::default();
        if let Some(id) = appointment.patient_id {
            names.patient = docs.get::<Patient>(institution, u64::from(id))?.map(|patient| patient.name());
        }
        if let Some(id) = place.provider {
            names.provider = docs.get::<Provider>(institution, u64::from(id.0))?.map(|provider| provider.name());
        }
        if let Some(id) = place.operatory {
            let operatory = docs.get::<Operatory>(appointment.location_id, id.0)?;
            names.operatory = operatory.map(|operatory| operatory.display_name.unwrap_or(operatory.name));
        }
        if let Some(id) = appointment.appointment_type_id {
            names.appointment_type = docs.get::<AppointmentType>(institution, u64::from(id))?.map(|kind| kind.name);
        }
        Ok(names)
    }
}

/// Every field of specification 2.12, in its order. `()` is a field nothing fills: null.
#[derive(Serialize)]
struct AppointmentObject<'a> {
    id: u64,
    patient_id: Option<u32>,
    provider_id: Option<ProviderId>,
    appointment_type_id: Option<u32>,
    institution_id: u32,
    location_id: u32,
    operatory_id: Option<OperatoryId>,
    created_by_user_id: (),
    insurance_plan_id: (),
    insurance_carrier_id: (),
    start_time: String,
    end_time: String,
    created_at: String,
    updated_at: String,
    checkin_at: Option<String>,
    patient_confirmed_at: Option<String>,
    cancelled_at: Option<String>,
    confirmed_at: Option<String>,
    checked_out_at: Option<String>,
    last_sync_time: Option<String>,
    created_at_with_tz: String,
    start_time_with_tz: String,
    end_time_with_tz: String,
    timezone: &'a str,
    timezone_offset: String,
    confirmed: bool,
    patient_missed: bool,
    unavailable: bool,
    cancelled: bool,
    patient_confirmed: bool,
    is_guardian: (),
    is_new_clients_patient: (),
    sooner_if_possible: (),
    checked_out: bool,
    is_past: bool,
    is_past_patient: (),
    note: Option<&'a str>,
    patient_name: Option<&'a str>,
    provider_name: Option<&'a str>,
    operatory_name: Option<&'a str>,
    status: &'static str,
    referrer: (),
    insurance_description: (),
    insurance_choice_type: (),
    foreign_id: Option<&'a str>,
    foreign_id_type: &'static str,
}

/// `{"appointment": {...}}`, every field of specification 2.12 present.
pub fn appointment(appointment: &Appointment, names: &Names, zone: &Zone, now: Timestamp) -> Map<String, Value> {
    let span = appointment.placement.span;
    let offset = offset(zone, span.start);
    let body = AppointmentObject {
        id: appointment.id,
        patient_id: appointment.patient_id,
        provider_id: appointment.placement.provider,
        appointment_type_id: appointment.appointment_type_id,
        institution_id: appointment.institution_id,
        location_id: appointment.location_id,
        operatory_id: appointment.placement.operatory,
        created_by_user_id: (),
        insurance_plan_id: (),
        insurance_carrier_id: (),
        start_time: utc(span.start),
        end_time: utc(span.end),
        created_at: utc(appointment.created_at),
        updated_at: utc(appointment.updated_at),
        checkin_at: appointment.checkin_at.map(utc),
        patient_confirmed_at: appointment.patient_confirmed_at.map(utc),
        cancelled_at: appointment.cancelled_at.map(utc),
        confirmed_at: appointment.confirmed_at.map(utc),
        checked_out_at: appointment.checked_out_at.map(utc),
        last_sync_time: appointment.last_sync_time.map(utc),
        created_at_with_tz: local(zone, appointment.created_at),
        start_time_with_tz: local(zone, span.start),
        end_time_with_tz: local(zone, span.end),
        timezone: zone.name(),
        timezone_offset: offset,
        confirmed: appointment.confirmed,
        patient_missed: appointment.patient_missed,
        unavailable: appointment.unavailable,
        cancelled: appointment.cancelled,
        patient_confirmed: appointment.patient_confirmed,
        is_guardian: (),
        is_new_clients_patient: (),
        sooner_if_possible: (),
        checked_out: appointment.checked_out_at.is_some(),
        is_past: span.end <= now,
        is_past_patient: (),
        note: appointment.note.as_deref(),
        patient_name: names.patient.as_deref(),
        provider_name: names.provider.as_deref(),
        operatory_name: names.operatory.as_deref(),
        status: status(appointment),
        referrer: (),
        insurance_description: (),
        insurance_choice_type: (),
        foreign_id: appointment.foreign_id.as_deref(),
        foreign_id_type: if appointment.foreign_id.is_some() { "ehr" } else { "nex" },
    };
    let mut data = Map::new();
    if let Some(reason) = appointment.booking.as_ref().and_then(|booking| booking.failure_reason.as_ref()) {
        data.insert("failure_reason".to_owned(), Value::from(reason.as_str()));
    }
    data.insert("appointment".to_owned(), serde_json::to_value(body).expect("an object of plain fields makes JSON"));
    data
}

/// What the appointment's own fields say, in one word; the specification leaves the values open.
fn status(appointment: &Appointment) -> &'static str {
    let failed = appointment.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    match appointment {
        Appointment { cancelled: true, .. } => "cancelled",
        Appointment { patient_missed: true, .. } => "missed",
        Appointment { checked_out_at: Some(_), .. } => "checked_out",
        Appointment { checkin_at: Some(_), .. } => "checked_in",
        Appointment { confirmed: true, .. } => "confirmed",
        _ if failed => "failed",
        _ => "scheduled",
    }
}

/// `2026-12-01T14:30:00Z`
fn utc(at: Timestamp) -> String {
    text(at.0.div_euclid(SECOND)) + "Z"
}

/// `2026-12-01T09:30:00.000-05:00`
fn local(zone: &Zone, at: Timestamp) -> String {
    let change = zone.offset_at(at);
    text(at.0.div_euclid(SECOND) + i64::from(change.offset_seconds)) + ".000" + &offset(zone, at)
}

/// `-05:00`
fn offset(zone: &Zone, at: Timestamp) -> String {
    let seconds = zone.offset_at(at).offset_seconds;
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

fn text(seconds: i64) -> String {
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(String::new, |time| time.format("%Y-%m-%dT%H:%M:%S").to_string())
}
