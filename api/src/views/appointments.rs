//! Appointments, for their endpoints, the feed of changes and webhook messages.

use engine::{
    records::{Appointment, Operatory, Patient, Provider, Writeback, record::Record},
    setup::LocationSetup,
    webhooks::views::ViewContext,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::parts::{WriteState, foreign_id_type};
use crate::values::times::{self, At};

/// An appointment, or a block of unavailable time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentView<'a> {
    /// Id of the appointment.
    id: u64,
    /// Id of the patient; null for a block of unavailable time, and if the health record system names no patient.
    patient_id: Option<u32>,
    /// Id of the provider; null if the appointment has none.
    provider_id: Option<u32>,
    /// Display name of the provider, or else the full name; null if the appointment names no provider.
    provider_name: Option<String>,
    /// Start, in UTC.
    start_time: At,
    /// Whether the practice confirmed it.
    confirmed: bool,
    /// Whether the patient did not come.
    patient_missed: bool,
    /// When this service first stored the record, in UTC.
    created_at: At,
    /// When the record last changed in this service, in UTC.
    updated_at: At,
    /// Free text of staff or of a client; null if there is none.
    note: Option<&'a str>,
    /// End, in UTC.
    end_time: At,
    /// Whether it is a block of unavailable time, without a patient.
    unavailable: bool,
    /// Whether it is cancelled; also true once it was deleted in the health record system.
    cancelled: bool,
    /// IANA name of the location's time zone.
    timezone: &'static str,
    /// Id of the institution that the record belongs to.
    institution_id: u32,
    /// Id of the appointment type; null if the appointment has none.
    appointment_type_id: Option<u32>,
    /// When the patient checked in, in UTC; null before.
    checkin_at: Option<At>,
    /// Id of the location the appointment is at.
    location_id: u32,
    /// Identifier in the health record system, opaque; null for a record that exists only here.
    foreign_id: Option<&'a str>,
    /// Name of the health record system's adapter; `nex` for a record that exists only here.
    foreign_id_type: &'a str,
    /// Always null: no health record system provides it.
    misc: Option<()>,
    /// When the health record system last showed a change of the record or took a write of it, in UTC; null before the
    /// first time.
    last_sync_time: Option<At>,
    /// Whether the patient confirmed it.
    patient_confirmed: bool,
    /// Always null: users are not recorded.
    created_by_user_id: Option<()>,
    /// Whether the booking person is the patient's guardian, as given by the client; null for appointments that were
    /// not created through the API.
    is_guardian: Option<bool>,
    /// When this service learned that the patient confirmed it, in UTC; null if the patient did not.
    patient_confirmed_at: Option<At>,
    /// When this service learned that it is cancelled, in UTC; null if it is not.
    cancelled_at: Option<At>,
    /// Whether the patient is new to the practice, as given by the client; null for appointments that were not created
    /// through the API.
    is_new_clients_patient: Option<bool>,
    /// When this service learned that the practice confirmed it, in UTC; null if the practice did not.
    confirmed_at: Option<At>,
    /// Always null: no health record system provides it.
    sooner_if_possible: Option<()>,
    /// Id of the operatory: a chair, column or room. Null if the appointment names none.
    operatory_id: Option<u64>,
    /// Whether the patient checked out.
    checked_out: bool,
    /// When the patient checked out, in UTC; null before.
    checked_out_at: Option<At>,
    /// Who referred the patient, as given by the client; null if nobody was named, and null for appointments that were
    /// not created through the API.
    referrer: Option<&'a str>,
    /// Always null: no health record system provides it.
    is_past_patient: Option<()>,
    /// Offset of the location from UTC at the start: `-05:00`.
    timezone_offset: String,
    /// Start in the location's time zone, with its offset: `2026-12-01T09:30:00.000-05:00`.
    start_time_with_tz: String,
    /// End in the location's time zone, with its offset: `2026-12-01T10:00:00.000-05:00`.
    end_time_with_tz: String,
    /// The same time as `created_at`, in the location's time zone, with its offset.
    created_at_with_tz: String,
    #[serde(flatten)]
    write: WriteState<'a>,
}

impl<'a> AppointmentView<'a> {
    pub(crate) fn from_record(
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
            write: WriteState::from_appointment(record),
        }
    }
}

/// An appointment with the names of its patient, provider and operatory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppointmentEvent<'a> {
    #[serde(flatten)]
    appointment: AppointmentView<'a>,
    /// Full name of the patient; null if the appointment names no patient.
    patient_name: Option<String>,
    /// Display name of the operatory, or else its name; null if the appointment names no operatory.
    operatory_name: Option<&'a str>,
    /// `cancelled`, `missed`, `checked_out`, `checked_in`, `confirmed`, `failed` or `scheduled`: the first that
    /// applies.
    #[schemars(extend("enum" = [
        "cancelled", "missed", "checked_out", "checked_in", "confirmed", "failed", "scheduled"
    ]))]
    status: &'static str,
    /// Whether the appointment has ended.
    is_past: bool,
    /// Always null: appointments name no insurance.
    insurance_plan_id: Option<()>,
    /// Always null: appointments name no insurance.
    insurance_carrier_id: Option<()>,
    /// Always null: appointments name no insurance.
    insurance_description: Option<()>,
    /// Always null: appointments name no insurance.
    insurance_choice_type: Option<()>,
}

impl<'a> AppointmentEvent<'a> {
    pub(crate) fn from_record(
        record: &'a Record<Appointment>,
        context: &ViewContext<'a>,
        patient: Option<&Record<Patient>>,
        provider: Option<&Record<Provider>>,
        operatory: Option<&'a Record<Operatory>>,
    ) -> AppointmentEvent<'a> {
        let (location, adapter) = (context.location, context.adapter(context.location.source));
        AppointmentEvent {
            appointment: AppointmentView::from_record(
                record,
                location,
                adapter,
                provider.map(|provider| provider.name()),
            ),
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

/// Returns the status derived from the appointment's fields; the specification leaves the values open.
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
