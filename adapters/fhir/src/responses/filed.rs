//! What a practice files beside its schedule: the parts of those R4 resources this adapter reads.

use serde::Deserialize;
use serde_json::Value;

use super::elements::{Address, CodeableConcept, Extension, Identifier, Meta, Money, Period, Reference};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Annotation {
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub struct Organization {
    pub id: String,
    pub name: Option<String>,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    #[serde(default)]
    pub address: Vec<Address>,
    #[serde(default)]
    pub extension: Vec<Extension>,
}

#[derive(Debug, Deserialize)]
pub struct InsurancePlan {
    pub id: String,
    pub name: Option<String>,
    #[serde(default)]
    pub identifier: Vec<Identifier>,
    #[serde(default)]
    pub contact: Vec<PlanContact>,
    #[serde(default)]
    pub extension: Vec<Extension>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlanContact {
    pub address: Option<Address>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    pub id: String,
    pub status: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: CodeableConcept,
    #[serde(default)]
    pub subscriber: Reference,
    pub subscriber_id: Option<String>,
    #[serde(default)]
    pub beneficiary: Reference,
    #[serde(default)]
    pub relationship: CodeableConcept,
    #[serde(default)]
    pub period: Period,
    #[serde(default)]
    pub payor: Vec<Reference>,
    #[serde(default)]
    pub class: Vec<Class>,
    pub order: Option<u32>,
    /// The subscriber, where they are no patient.
    #[serde(default)]
    pub contained: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Class {
    #[serde(rename = "type")]
    pub kind: CodeableConcept,
    pub value: Option<String>,
}

/// AllergyIntolerance, Condition or MedicationStatement: what one calls `patient`, another calls `subject`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    pub id: String,
    #[serde(alias = "subject", default)]
    pub patient: Reference,
    #[serde(alias = "medicationCodeableConcept", default)]
    pub code: CodeableConcept,
    /// What a statement is about, where it only points there and `enrich` could not tell.
    pub medication_reference: Option<Reference>,
    #[serde(default)]
    pub clinical_status: CodeableConcept,
    #[serde(default)]
    pub verification_status: CodeableConcept,
    pub status: Option<String>,
    #[serde(default)]
    pub note: Vec<Annotation>,
}

#[derive(Debug, Deserialize)]
pub struct Flag {
    pub id: String,
    #[serde(default)]
    pub meta: Meta,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub code: CodeableConcept,
    #[serde(default)]
    pub subject: Reference,
    #[serde(default)]
    pub period: Period,
}

#[derive(Debug, Deserialize)]
pub struct Communication {
    pub id: String,
    #[serde(default)]
    pub meta: Meta,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub subject: Reference,
    #[serde(default)]
    pub sender: Reference,
    #[serde(default)]
    pub recipient: Vec<Reference>,
    #[serde(default)]
    pub medium: Vec<CodeableConcept>,
    pub sent: Option<String>,
    pub received: Option<String>,
    #[serde(default)]
    pub payload: Vec<Payload>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Payload {
    pub content_string: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Questionnaire {
    pub id: String,
    pub url: Option<String>,
    pub name: Option<String>,
    pub title: Option<String>,
    pub version: Option<String>,
    #[serde(default)]
    pub item: Vec<Question>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub link_id: String,
    #[serde(rename = "type", default)]
    pub kind: String,
    pub text: Option<String>,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub repeats: bool,
    #[serde(default)]
    pub answer_option: Vec<Value>,
    #[serde(default)]
    pub item: Vec<Question>,
}

#[derive(Debug, Deserialize)]
pub struct QuestionnaireResponse {
    pub id: String,
    #[serde(default)]
    pub meta: Meta,
    pub questionnaire: Option<String>,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub subject: Reference,
    pub authored: Option<String>,
    #[serde(default)]
    pub item: Vec<Answered>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    pub link_id: String,
    #[serde(default)]
    pub answer: Vec<Value>,
    #[serde(default)]
    pub item: Vec<Answered>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentNotice {
    pub id: String,
    #[serde(default)]
    pub status: String,
    /// What is paid for: a patient's account, where we wrote it.
    #[serde(default)]
    pub request: Reference,
    pub payment_date: Option<String>,
    #[serde(default)]
    pub amount: Money,
    #[serde(default)]
    pub provider: Reference,
    #[serde(default)]
    pub contained: Vec<Value>,
}
