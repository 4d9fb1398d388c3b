//! Procedures.

use record_macro::record;

use crate::{Day, Money, words::ProcedureStatus};

/// A planned or performed procedure.
#[record(resource = Procedures, tag = 34, id = u64, scope = Source, contract = "procedure", name = "Procedure")]
pub struct Procedure {
    #[record(refers(patient = Patients), find = Patient)]
    pub patient_id: Option<u32>,
    #[record(refers(provider = Providers), find = Provider)]
    pub provider_id: Option<u32>,
    /// Appointment it is planned for or was performed in.
    #[record(refers(appointment = Appointments), find = Appointment)]
    pub appointment_id: Option<u64>,
    /// Treatment plans it is part of.
    #[record(refers(treatment_plans = TreatmentPlans))]
    #[serde(default)]
    pub treatment_plan_ids: Vec<u64>,
    pub code: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// planned, scheduled, completed, inactive or referred.
    pub status: Option<ProcedureStatus>,
    /// Teeth it concerns.
    #[serde(default)]
    pub teeth: Vec<String>,
    /// Surfaces it concerns.
    pub surface: Option<String>,
    pub fee: Option<Money>,
    /// First day.
    pub start_date: Option<Day>,
    /// Last day.
    pub end_date: Option<Day>,
}
