//! What the feed of changes and messages to subscribers show of an appointment, and what only messages have.

use engine::{
    records::{Appointment, Operatory, Patient, Provider, Writeback},
    webhooks::shapes::Scene,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::history::PatientHistoryItemView;
use crate::resources::appointments::AppointmentView;

/// An appointment with the names of who and what it is for (specification 2.12).
#[derive(Serialize, JsonSchema)]
pub struct AppointmentTold<'a> {
    #[serde(flatten)]
    appointment: AppointmentView<'a>,
    patient_name: Option<String>,
    operatory_name: Option<&'a str>,
    /// `cancelled`, `missed`, `checked_out`, `checked_in`, `confirmed`, `failed` or `scheduled`: the first that holds.
    #[schemars(extend("enum" = [
        "cancelled", "missed", "checked_out", "checked_in", "confirmed", "failed", "scheduled"
    ]))]
    status: &'static str,
    /// It has ended.
    is_past: bool,
    insurance_plan_id: Option<()>,
    insurance_carrier_id: Option<()>,
    insurance_description: Option<()>,
    insurance_choice_type: Option<()>,
}

impl<'a> AppointmentTold<'a> {
    pub fn of(
        record: &'a Appointment,
        scene: &Scene<'a>,
        patient: Option<&Patient>,
        provider: Option<&Provider>,
        operatory: Option<&'a Operatory>,
    ) -> AppointmentTold<'a> {
        let (location, adapter) = (scene.location, scene.adapter(scene.location.source));
        AppointmentTold {
            appointment: AppointmentView::of(record, location, adapter, provider.map(Provider::name)),
            patient_name: patient.map(Patient::name),
            operatory_name: operatory.map(|it| it.display_name.as_deref().unwrap_or(&it.name)),
            status: status(record),
            is_past: record.placement.span.end <= scene.now,
            insurance_plan_id: None,
            insurance_carrier_id: None,
            insurance_description: None,
            insurance_choice_type: None,
        }
    }
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

/// The items of a patient's medical history that changed together.
#[derive(Serialize, JsonSchema)]
pub struct MedicalHistoryTold<'a> {
    patient_id: u32,
    patient_items: Vec<PatientHistoryItemView<'a>>,
}
