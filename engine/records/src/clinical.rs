//! Care: procedures and their codes, treatment plans, clinical notes, recalls.

use serde::{Deserialize, Serialize};

use super::{
    money::Money,
    values::{Day, Extra, Seconds},
};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureCodeCategory {
    pub name: String,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureCode {
    pub code: String,
    pub description: String,
    pub category_id: Option<u64>,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Procedure {
    pub patient_id: Option<u32>,
    pub provider_id: Option<u32>,
    pub appointment_id: Option<u64>,
    pub code: Option<String>,
    pub name: Option<String>,
    pub status: Option<ProcedureStatus>,
    #[serde(default)]
    pub teeth: Vec<String>,
    pub surface: Option<String>,
    pub fee: Option<Money>,
    pub start_date: Option<Day>,
    pub end_date: Option<Day>,
    #[serde(default)]
    pub treatment_plan_ids: Vec<u64>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcedureStatus {
    Planned,
    Scheduled,
    Completed,
    Inactive,
    Referred,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreatmentPlan {
    pub name: Option<String>,
    pub patient_id: Option<u32>,
    pub status: Option<PlanStatus>,
    #[serde(default)]
    pub procedure_ids: Vec<u64>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    NotApplicable,
    Proposed,
    Accepted,
    Rejected,
    Completed,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClinicalNote {
    pub patient_id: Option<u32>,
    pub procedure_id: Option<u64>,
    pub entered_at: Option<Seconds>,
    pub content: String,
    pub signed: Option<bool>,
    pub completed: Option<bool>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallType {
    pub name: String,
    pub description: Option<String>,
    pub interval_number: u32,
    pub interval_unit: IntervalUnit,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalUnit {
    Day,
    Week,
    Month,
    Year,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatientRecall {
    pub patient_id: Option<u32>,
    pub appointment_id: Option<u64>,
    pub recall_type_id: Option<u64>,
    pub date_due: Option<Day>,
    #[serde(default)]
    pub extra: Extra,
}
