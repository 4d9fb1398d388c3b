//! Appointments: as their own endpoints show them, and as the feed of changes and messages to subscribers do.

use engine::{
    records::{Appointment, Operatory, Patient, Provider, Writeback, record::Record},
    setup::LocationSetup,
    webhooks::views::ViewContext,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::parts::{WritebackState, foreign_id_type};
use crate::values::times::{self, At};

/// An appointment, or a block of unavailable time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentView<'a> {
    id: u64,
    patient_id: Option<u32>,
    provider_id: Option<u32>,
    provider_name: Option<String>,
    start_time: At,
    confirmed: bool,
    patient_missed: bool,
    created_at: At,
    updated_at: At,
    note: Option<&'a str>,
    end_time: At,
    unavailable: bool,
    cancelled: bool,
    timezone: &'static str,
    institution_id: u32,
    appointment_type_id: Option<u32>,
    checkin_at: Option<At>,
    location_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    misc: Option<()>,
    last_sync_time: Option<At>,
    patient_confirmed: bool,
    created_by_user_id: Option<()>,
    is_guardian: Option<bool>,
    patient_confirmed_at: Option<At>,
    cancelled_at: Option<At>,
    is_new_clients_patient: Option<bool>,
    confirmed_at: Option<At>,
    sooner_if_possible: Option<()>,
    operatory_id: Option<u64>,
    checked_out: bool,
    checked_out_at: Option<At>,
    referrer: Option<&'a str>,
    is_past_patient: Option<()>,
    timezone_offset: String,
    start_time_with_tz: String,
    end_time_with_tz: String,
    created_at_with_tz: String,
    /// Only for appointments created through the API (specification 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<WritebackState>")]
    ehr_writeback: Option<Writeback>,
    /// Why the health record system refused the appointment; absent unless it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'a str>,
}

impl<'a> AppointmentView<'a> {
    pub(crate) fn of(
        record: &'a Record<Appointment>,
        location: &LocationSetup,
        adapter: Option<&'a str>,
        provider_name: Option<String>,
    ) -> Self {
        let (span, zone) = (record.placement.span, location.zone);
        let booking = record.booking.as_ref();
        AppointmentView {
            id: record.id,
            patient_id: record.patient_id,
            provider_id: record.placement.provider.map(|it| it.0),
            provider_name,
            start_time: At(span.start),
            confirmed: record.confirmed,
            patient_missed: record.patient_missed,
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            note: record.note.as_deref(),
            end_time: At(span.end),
            unavailable: record.unavailable,
            cancelled: record.cancelled,
            timezone: zone.name(),
            institution_id: record.institution_id,
            appointment_type_id: record.appointment_type_id,
            checkin_at: record.checkin_at.map(At),
            location_id: record.location(),
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            misc: None,
            last_sync_time: record.last_sync_time.map(At),
            patient_confirmed: record.patient_confirmed,
            created_by_user_id: None,
            is_guardian: booking.map(|it| it.is_guardian),
            patient_confirmed_at: record.patient_confirmed_at.map(At),
            cancelled_at: record.cancelled_at.map(At),
            is_new_clients_patient: booking.map(|it| it.is_new_clients_patient),
            confirmed_at: record.confirmed_at.map(At),
            sooner_if_possible: None,
            operatory_id: record.placement.operatory.map(|it| it.0),
            checked_out: record.checked_out_at.is_some(),
            checked_out_at: record.checked_out_at.map(At),
            referrer: booking.and_then(|it| it.referrer.as_deref()),
            is_past_patient: None,
            timezone_offset: times::offset(span.start, zone),
            start_time_with_tz: times::with_zone(span.start, zone),
            end_time_with_tz: times::with_zone(span.end, zone),
            created_at_with_tz: times::with_zone(record.created_at, zone),
            ehr_writeback: booking.map(|it| it.writeback),
            failure_reason: booking.and_then(|it| it.failure_reason.as_deref()),
        }
    }
}

/// An appointment with the names of its patient, provider and operatory (specification 2.12).
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentEvent<'a> {
    #[serde(flatten)]
    appointment: AppointmentView<'a>,
    patient_name: Option<String>,
    operatory_name: Option<&'a str>,
    /// `cancelled`, `missed`, `checked_out`, `checked_in`, `confirmed`, `failed` or `scheduled`: the first that applies.
    #[schemars(extend("enum" = [
        "cancelled", "missed", "checked_out", "checked_in", "confirmed", "failed", "scheduled"
    ]))]
    status: &'static str,
    /// Whether the appointment has ended.
    is_past: bool,
    insurance_plan_id: Option<()>,
    insurance_carrier_id: Option<()>,
    insurance_description: Option<()>,
    insurance_choice_type: Option<()>,
}

impl<'a> AppointmentEvent<'a> {
    pub(crate) fn of(
        record: &'a Record<Appointment>,
        context: &ViewContext<'a>,
        patient: Option<&Record<Patient>>,
        provider: Option<&Record<Provider>>,
        operatory: Option<&'a Record<Operatory>>,
    ) -> AppointmentEvent<'a> {
        let (location, adapter) = (context.location, context.adapter(context.location.source));
        AppointmentEvent {
            appointment: AppointmentView::of(record, location, adapter, provider.map(|provider| provider.name())),
            patient_name: patient.map(|patient| patient.name()),
            operatory_name: operatory.map(|it| it.display_name.as_deref().unwrap_or(&it.name)),
            status: status(record),
            is_past: record.placement.span.end <= context.now,
            insurance_plan_id: None,
            insurance_carrier_id: None,
            insurance_description: None,
            insurance_choice_type: None,
        }
    }
}

/// What the appointment's own fields say, in one word; the specification leaves the values open.
fn status(appointment: &Record<Appointment>) -> &'static str {
    let failed = appointment.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    match &appointment.body {
        Appointment { cancelled: true, .. } => "cancelled",
        Appointment { patient_missed: true, .. } => "missed",
        Appointment { checked_out_at: Some(_), .. } => "checked_out",
        Appointment { checkin_at: Some(_), .. } => "checked_in",
        Appointment { confirmed: true, .. } => "confirmed",
        _ if failed => "failed",
        _ => "scheduled",
    }
}
