//! Other records of a practice: the parts of those R4 resources that this adapter reads.

use serde::Deserialize;
use serde_json::Value;

use super::elements::{Address, CodeableConcept, Extension, Identifier, Meta, Money, Period, Reference};

elements! {
    Annotation {
        text: String,
    }
    Organization [id: String] {
        name: Option<String>,
        identifier: Vec<Identifier>,
        address: Vec<Address>,
        extension: Vec<Extension>,
    }
    InsurancePlan [id: String] {
        name: Option<String>,
        identifier: Vec<Identifier>,
        contact: Vec<PlanContact>,
        extension: Vec<Extension>,
    }
    PlanContact {
        address: Option<Address>,
    }
    Coverage [id: String] {
        status: Option<String>,
        #[serde(rename = "type")]
        kind: CodeableConcept,
        subscriber: Reference,
        subscriber_id: Option<String>,
        beneficiary: Reference,
        relationship: CodeableConcept,
        period: Period,
        payor: Vec<Reference>,
        class: Vec<Class>,
        order: Option<u32>,
        /// The subscriber, if not a patient.
        contained: Vec<Value>,
    }
    Class {
        #[serde(rename = "type")]
        kind: CodeableConcept,
        value: Option<String>,
    }
    /// AllergyIntolerance, Condition, MedicationStatement or MedicationRequest. The patient is in `patient` or
    /// `subject`.
    History [id: String] {
        #[serde(alias = "subject")]
        patient: Reference,
        #[serde(alias = "medicationCodeableConcept")]
        code: CodeableConcept,
        /// The medication of a statement, if only referenced and not resolved by `enrich`.
        medication_reference: Option<Reference>,
        clinical_status: CodeableConcept,
        verification_status: CodeableConcept,
        status: Option<String>,
        intent: Option<String>,
        do_not_perform: bool,
        note: Vec<Annotation>,
    }
    Flag [id: String] {
        meta: Meta,
        status: String,
        code: CodeableConcept,
        subject: Reference,
        period: Period,
    }
    Communication [id: String] {
        meta: Meta,
        status: String,
        subject: Reference,
        sender: Reference,
        recipient: Vec<Reference>,
        medium: Vec<CodeableConcept>,
        sent: Option<String>,
        received: Option<String>,
        payload: Vec<Payload>,
    }
    Payload {
        content_string: Option<String>,
    }
    Questionnaire [id: String] {
        url: Option<String>,
        name: Option<String>,
        title: Option<String>,
        version: Option<String>,
        item: Vec<Question>,
    }
    Question [link_id: String] {
        #[serde(rename = "type")]
        kind: String,
        text: Option<String>,
        required: bool,
        repeats: bool,
        answer_option: Vec<Value>,
        item: Vec<Question>,
    }
    QuestionnaireResponse [id: String] {
        meta: Meta,
        questionnaire: Option<String>,
        status: String,
        subject: Reference,
        authored: Option<String>,
        item: Vec<Answered>,
    }
    Answered [link_id: String] {
        answer: Vec<Value>,
        item: Vec<Answered>,
    }
    PaymentNotice [id: String] {
        status: String,
        /// The subject of the payment; a patient's account in our own writes.
        request: Reference,
        payment_date: Option<String>,
        amount: Money,
        provider: Reference,
        contained: Vec<Value>,
    }
}
