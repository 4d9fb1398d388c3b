//! Insurance plans, and who is covered by them.

use serde::{Deserialize, Serialize};

use super::{
    money::Money,
    values::{Address, Day, Extra},
};

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct InsurancePlan {
    pub payer_id: Option<String>,
    pub name: String,
    pub address: Option<Address>,
    pub group_number: Option<String>,
    pub employer_name: Option<String>,
    pub fee_schedule_id: Option<u64>,
    pub annual_max_individual: Option<Money>,
    /// 1 to 12.
    pub benefit_year_renewal_month: Option<u8>,
    #[serde(default)]
    pub extra: Extra,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    pub patient_id: u32,
    pub plan_id: u64,
    pub relation: Relation,
    /// 1 is primary.
    pub priority: Option<u32>,
    /// Where the subscriber is a patient; else the name and date of birth tell who it is.
    pub subscriber_id: Option<u32>,
    pub subscriber_name: Option<String>,
    pub subscriber_date_of_birth: Option<Day>,
    pub subscriber_number: Option<String>,
    pub effective_date: Option<Day>,
    pub expiration_date: Option<Day>,
    pub insurance_type: Option<InsuranceType>,
    pub active: bool,
    #[serde(default)]
    pub extra: Extra,
}

/// What the patient is to the subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    #[default]
    #[serde(rename = "self")]
    Oneself,
    Spouse,
    Child,
    Employee,
    HandicapDep,
    SignifOther,
    InjuredPlaintiff,
    LifePartner,
    Dependent,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsuranceType {
    Dental,
    Medical,
    Vision,
}
