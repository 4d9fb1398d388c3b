//! Names of resources in our additions: the path of the list, if there is one.

use location::pull::Resource::{self, *};

use super::keys::Grants;
use crate::values::kinds::{Kind, one_of};

macro_rules! names {
    ($($resource:ident $name:literal,)*) => {
        pub fn name(resource: Resource) -> &'static str {
            match resource {
                $($resource => $name,)*
            }
        }

        const ALL: &[(&str, Resource)] = &[$(($name, $resource),)*];
    };
}

names! {
    Providers "providers",
    Operatories "operatories",
    AppointmentTypes "appointment_types",
    Patients "patients",
    WorkingHours "working_hours",
    Appointments "appointments",
    AppointmentDescriptors "appointment_descriptors",
    FeeSchedules "fee_schedules",
    InsurancePlans "insurance_plans",
    Coverages "insurance_coverages",
    HistoryItems "medical_history_items",
    PatientHistoryItems "medical_history_patient_items",
    PatientAlerts "patient_alerts",
    CommunicationLogs "communication_logs",
    Conversations "conversations",
    FormSchemas "form_schemas",
    FormResponses "form_responses",
    ProcedureCodeCategories "procedure_code_categories",
    ProcedureCodes "procedure_codes",
    Fees "fee_schedule_procedures",
    Procedures "procedures",
    TreatmentPlans "treatment_plans",
    ClinicalNotes "clinical_notes",
    RecallTypes "recall_types",
    PatientRecalls "patient_recalls",
    DocumentTypes "document_types",
    Documents "patient_documents",
    PaymentTypes "payment_types",
    AdjustmentTypes "adjustment_types",
    Charges "charges",
    Claims "claims",
    PaymentPlans "payment_plans",
    Payments "payments",
    Adjustments "adjustments",
    GuarantorBalances "guarantor_balances",
    InsuranceBalances "insurance_balances",
}

pub fn all() -> impl Iterator<Item = Resource> {
    ALL.iter().map(|(_, resource)| *resource)
}

pub fn named(text: &str) -> Option<Resource> {
    ALL.iter().find(|(name, _)| *name == text).map(|(_, resource)| *resource)
}

pub fn resource() -> Kind<Resource> {
    one_of(ALL).about("Only these resources.")
}

/// Returns whether a key may see records of this resource. The grants are those of its endpoints.
pub fn granted(resource: Resource, grants: Grants) -> bool {
    match resource {
        Charges | Claims | PaymentPlans | Payments | Adjustments | GuarantorBalances | InsuranceBalances
        | FeeSchedules | Fees | InsurancePlans => grants.financial,
        HistoryItems
        | PatientHistoryItems
        | CommunicationLogs
        | FormSchemas
        | FormResponses
        | ProcedureCodeCategories
        | ProcedureCodes => grants.beta,
        _ => true,
    }
}
