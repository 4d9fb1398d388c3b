//! Catalogues of a practice: no patient data in them.

use serde::{Deserialize, Serialize};

use super::{money::Money, values::Extra};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentDescriptor {
    pub kind: String,
    pub name: String,
    pub code: Option<String>,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeSchedule {
    pub name: String,
    pub active: Option<bool>,
    #[serde(default)]
    pub extra: Extra,
}

/// The fee of one procedure code in a fee schedule.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fee {
    pub fee_schedule_id: u64,
    pub procedure_code_id: Option<u64>,
    pub code: Option<String>,
    pub amount: Money,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentType {
    pub name: String,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjustmentType {
    pub name: String,
    pub active: bool,
    pub action: AdjustmentAction,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdjustmentAction {
    Credit,
    Debit,
    Unknown,
}
