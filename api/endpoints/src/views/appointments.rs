//! Appointments, for their endpoints, the feed of changes and webhook messages.

use crate::prelude::*;

/// An appointment, or a block of unavailable time.
#[view(of = Appointment, named = "appointment", args(location: &LocationSetup, provider_name: Option<String>))]
pub struct AppointmentView<'a> {
    id: u64,
    /// Id of the patient; null for a block of unavailable time, and if the health record system provides no patient.
    patient_id: Option<u32>,
    /// Id of the provider; null if the appointment has none.
    #[view(with = entry.placement.provider.map(|it| it.0))]
    provider_id: Option<u32>,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    #[view(with = provider_name)]
    provider_name: Option<String>,
    #[view(with = At(entry.placement.span.start))]
    start_time: At,
    confirmed: bool,
    /// `true` if the patient missed the appointment.
    patient_missed: bool,
    created_at: At,
    updated_at: At,
    /// Free text by staff or by a client; null if there is none.
    note: Option<&'a str>,
    #[view(with = At(entry.placement.span.end))]
    end_time: At,
    /// `true` for a block of unavailable time, without a patient.
    unavailable: bool,
    /// `true` if the appointment is cancelled or was deleted in the health record system.
    cancelled: bool,
    /// IANA name of the location's time zone.
    #[view(with = location.zone.name())]
    timezone: &'static str,
    institution_id: u32,
    /// Id of the appointment type; null if the appointment has none.
    appointment_type_id: Option<u32>,
    /// Time at which the patient checked in, in UTC; null before check-in.
    checkin_at: Option<At>,
    /// Id of the location of the appointment.
    #[view(with = entry.location())]
    location_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    misc: Option<()>,
    last_sync_time: Option<At>,
    /// `true` if the patient confirmed the appointment.
    patient_confirmed: bool,
    /// Always null: users are not recorded.
    created_by_user_id: Option<()>,
    /// `true` if the person who books is the patient's guardian, as specified by the client; null for appointments that
    /// were not created through the API.
    #[view(with = entry.booking.as_ref().map(|it| it.is_guardian))]
    is_guardian: Option<bool>,
    /// Time at which this service detected the confirmation by the patient, in UTC; null if there is none.
    patient_confirmed_at: Option<At>,
    /// Time at which this service detected the cancellation, in UTC; null if the appointment is not cancelled.
    cancelled_at: Option<At>,
    /// `true` if the patient is new to the practice, as specified by the client; null for appointments that were not
    /// created through the API.
    #[view(with = entry.booking.as_ref().map(|it| it.is_new_clients_patient))]
    is_new_clients_patient: Option<bool>,
    /// Time at which this service detected the confirmation by the practice, in UTC; null if there is none.
    confirmed_at: Option<At>,
    sooner_if_possible: Option<()>,
    /// Id of the operatory: a chair, column or room. Null if the appointment has none.
    #[view(with = entry.placement.operatory.map(|it| it.0))]
    operatory_id: Option<u64>,
    /// `true` if the patient has checked out.
    #[view(with = entry.checked_out_at.is_some())]
    checked_out: bool,
    /// Time at which the patient checked out, in UTC; null before checkout.
    checked_out_at: Option<At>,
    /// Person or source that referred the patient, as specified by the client; null if none was specified, and for
    /// appointments that were not created through the API.
    #[view(with = entry.booking.as_ref().and_then(|it| it.referrer.as_deref()))]
    referrer: Option<&'a str>,
    is_past_patient: Option<()>,
    /// Offset of the location from UTC at the start: `-05:00`.
    #[view(with = times::offset(entry.placement.span.start, location.zone))]
    timezone_offset: String,
    /// Start time in the location's time zone, with its offset: `2026-12-01T09:30:00.000-05:00`.
    #[view(with = times::with_zone(entry.placement.span.start, location.zone))]
    start_time_with_tz: String,
    /// End time in the location's time zone, with its offset: `2026-12-01T10:00:00.000-05:00`.
    #[view(with = times::with_zone(entry.placement.span.end, location.zone))]
    end_time_with_tz: String,
    /// The same time as `created_at`, in the location's time zone, with its offset.
    #[view(with = times::with_zone(entry.created_at, location.zone))]
    created_at_with_tz: String,
    #[view(flatten = WriteState::from_appointment(entry))]
    write: WriteState<'a>,
}

/// An appointment with the names of its patient, provider and operatory.
#[view(
    of = Appointment,
    args(
        context: &ViewContext<'a>,
        patient: Option<&Record<Patient>>,
        provider: Option<&Record<Provider>>,
        operatory: Option<&'a Record<Operatory>>
    )
)]
pub(crate) struct AppointmentEvent<'a> {
    #[view(flatten = {
        let (location, adapter) = (context.location, context.adapter(context.location.source));
        AppointmentView::from_record(entry, location, provider.map(|it| it.name()), adapter)
    })]
    appointment: AppointmentView<'a>,
    /// Full name of the patient; null if the appointment has no patient.
    #[view(with = patient.map(|it| it.name()))]
    patient_name: Option<String>,
    /// Display name of the operatory, or its name if there is none; null if the appointment has no operatory.
    #[view(with = operatory.map(|it| it.display_name.as_deref().unwrap_or(&it.name)))]
    operatory_name: Option<&'a str>,
    /// Status of the appointment: the first of `cancelled`, `missed`, `checked_out`, `checked_in`, `confirmed`,
    /// `failed` and `scheduled` that applies.
    #[schemars(extend("enum" = [
        "cancelled", "missed", "checked_out", "checked_in", "confirmed", "failed", "scheduled"
    ]))]
    #[view(with = status(entry))]
    status: &'static str,
    /// `true` if the appointment has ended.
    #[view(with = entry.placement.span.end <= context.now)]
    is_past: bool,
    /// Always null: appointments do not refer to insurance.
    insurance_plan_id: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_carrier_id: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_description: Option<()>,
    /// Always null: appointments do not refer to insurance.
    insurance_choice_type: Option<()>,
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
