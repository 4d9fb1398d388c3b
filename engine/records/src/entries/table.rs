//! The table itself.

use std::fmt;

use location::{
    pull::Resource::{self, *},
    resource::Operation::{Create, Delete, Update},
};

use super::{Reference, Rules};
use crate::{catalogue, clinical, documents, entry::Body, forms, history, insurance, ledger, talk};

/// Something to do with the body of a resource that is only known at run time.
pub trait Visitor {
    type Output;

    fn visit<T: Body>(self) -> Self::Output;
}

macro_rules! entries {
    ($($resource:ident: $room:ident::$body:ident = $record:literal, $name:literal { $($rules:tt)* })*) => {
        /// The rules of a resource; none for those with a document of their own.
        pub fn rules(resource: Resource) -> Option<&'static Rules> {
            match resource {
                $($resource => {
                    const RULES: Rules =
                        Rules { resource: $resource, record: $record, name: $name, $($rules)* ..PLAIN };
                    Some(&RULES)
                })*
                Providers | Operatories | AppointmentTypes | Patients | WorkingHours | Appointments => None,
            }
        }

        /// Runs the visitor with the resource's body.
        pub fn on<V: Visitor>(resource: Resource, visitor: V) -> Option<V::Output> {
            match resource {
                $($resource => Some(visitor.visit::<$room::$body>()),)*
                Providers | Operatories | AppointmentTypes | Patients | WorkingHours | Appointments => None,
            }
        }

        /// Runs the visitor with every body there is.
        pub fn on_all<V: Visitor + Clone>(visitor: V) -> Vec<V::Output> {
            vec![$(visitor.clone().visit::<$room::$body>(),)*]
        }

        $(impl Body for $room::$body {
            const RESOURCE: Resource = $resource;
        }

        /// Patient data never reaches a log by accident.
        impl fmt::Debug for $room::$body {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($body), "(redacted)"))
            }
        })*
    };
}

/// Refers to nothing, is found by nothing but its id, and is never written to an EHR.
const PLAIN: Rules = Rules {
    // Every row of the table names its own.
    resource: Appointments,
    record: "",
    name: "",
    references: &[],
    index: &[],
    writes: &[],
    own: &[],
};

const fn one(field: &'static str, becomes: &'static str, to: Resource) -> Reference {
    Reference { within: None, field, becomes, to, many: false }
}

const fn many(field: &'static str, becomes: &'static str, to: Resource) -> Reference {
    Reference { within: None, field, becomes, to, many: true }
}

const fn within(within: &'static str, field: &'static str, becomes: &'static str, to: Resource) -> Reference {
    Reference { within: Some(within), field, becomes, to, many: false }
}

const PATIENT: Reference = one("patient", "patient_id", Patients);
const GUARANTOR: Reference = one("guarantor", "guarantor_id", Patients);
const PROVIDER: Reference = one("provider", "provider_id", Providers);
const PROCEDURE: Reference = one("procedure", "procedure_id", Procedures);
const APPOINTMENT: Reference = one("appointment", "appointment_id", Appointments);
const FEE_SCHEDULE: Reference = one("fee_schedule", "fee_schedule_id", FeeSchedules);
const CHARGE: Reference = one("charge", "charge_id", Charges);
const CLAIM: Reference = one("claim", "claim_id", Claims);
const CHARGE_SPLITS: Reference = within("charge_splits", "id", "charge_id", Charges);
const PROVIDER_SPLITS: Reference = within("provider_splits", "id", "provider_id", Providers);

entries! {
    AppointmentDescriptors: catalogue::AppointmentDescriptor = "appointment-descriptor", "Appointment Descriptor" {}
    FeeSchedules: catalogue::FeeSchedule = "fee-schedule", "Fee Schedule" {}
    InsurancePlans: insurance::InsurancePlan = "insurance-plan", "Insurance Plan" {
        references: &[FEE_SCHEDULE],
        index: &["payer_id", "group_number"],
        writes: &[(Create, "create-insurance-plan")],
    }
    Coverages: insurance::Coverage = "coverage", "Insurance Coverage" {
        references: &[PATIENT, one("plan", "plan_id", InsurancePlans), one("subscriber", "subscriber_id", Patients)],
        index: &["patient_id", "plan_id", "subscriber_id"],
        writes: &[(Create, "create-coverage"), (Delete, "delete-coverage")],
    }
    HistoryItems: history::HistoryItem = "history-item", "Medical History Item" {
        index: &["category"],
    }
    PatientHistoryItems: history::PatientHistoryItem = "patient-history-item", "Patient Medical History Item" {
        references: &[PATIENT, one("item", "item_id", HistoryItems)],
        index: &["patient_id"],
        writes: &[(Create, "save-patient-history-item"), (Update, "save-patient-history-item")],
    }
    PatientAlerts: talk::PatientAlert = "patient-alert", "Patient Alert" {
        references: &[PATIENT],
        index: &["patient_id"],
        writes: &[(Create, "create-patient-alert"), (Update, "disable-patient-alert")],
    }
    CommunicationLogs: talk::CommunicationLog = "communication-log", "Communication Log" {
        references: &[PATIENT],
        index: &["patient_id"],
        writes: &[(Create, "create-communication-log")],
    }
    Conversations: talk::Conversation = "conversation", "Conversation" {
        references: &[PATIENT],
        index: &["patient_id"],
    }
    FormSchemas: forms::FormSchema = "form-schema", "Form Schema" {}
    FormResponses: forms::FormResponse = "form-response", "Form Response" {
        references: &[PATIENT, one("form_schema", "form_schema_id", FormSchemas)],
        index: &["patient_id"],
        writes: &[(Create, "create-form-response")],
    }
    ProcedureCodeCategories: clinical::ProcedureCodeCategory = "procedure-code-category", "Procedure Code Category" {}
    ProcedureCodes: clinical::ProcedureCode = "procedure-code", "Procedure Code" {
        references: &[one("category", "category_id", ProcedureCodeCategories)],
        index: &["category_id"],
    }
    Fees: catalogue::Fee = "fee", "Fee" {
        references: &[FEE_SCHEDULE, one("procedure_code", "procedure_code_id", ProcedureCodes)],
        index: &["fee_schedule_id"],
    }
    Procedures: clinical::Procedure = "procedure", "Procedure" {
        references: &[
            PATIENT,
            PROVIDER,
            APPOINTMENT,
            many("treatment_plans", "treatment_plan_ids", TreatmentPlans),
        ],
        index: &["patient_id", "provider_id", "appointment_id"],
    }
    TreatmentPlans: clinical::TreatmentPlan = "treatment-plan", "Treatment Plan" {
        references: &[PATIENT, many("procedures", "procedure_ids", Procedures)],
        index: &["patient_id"],
    }
    ClinicalNotes: clinical::ClinicalNote = "clinical-note", "Clinical Note" {
        references: &[PATIENT, PROCEDURE],
        index: &["patient_id", "procedure_id"],
    }
    RecallTypes: clinical::RecallType = "recall-type", "Recall Type" {}
    PatientRecalls: clinical::PatientRecall = "patient-recall", "Patient Recall" {
        references: &[PATIENT, APPOINTMENT, one("recall_type", "recall_type_id", RecallTypes)],
        index: &["patient_id", "recall_type_id"],
    }
    DocumentTypes: documents::DocumentType = "document-type", "Document Type" {}
    Documents: documents::Document = "document", "Document" {
        references: &[PATIENT, one("document_type", "document_type_id", DocumentTypes)],
        index: &["patient_id"],
        own: &["upload"],
    }
    PaymentTypes: catalogue::PaymentType = "payment-type", "Payment Type" {}
    AdjustmentTypes: catalogue::AdjustmentType = "adjustment-type", "Adjustment Type" {}
    Charges: ledger::Charge = "charge", "Charge" {
        references: &[PATIENT, GUARANTOR, PROVIDER, PROCEDURE],
        index: &["patient_id", "guarantor_id", "provider_id", "procedure_id"],
    }
    Claims: ledger::Claim = "claim", "Claim" {
        references: &[
            PATIENT,
            PROVIDER,
            GUARANTOR,
            one("primary_plan", "primary_plan_id", InsurancePlans),
            one("secondary_plan", "secondary_plan_id", InsurancePlans),
            within("totals", "charge", "charge_id", Charges),
            within("payouts", "charge", "charge_id", Charges),
        ],
        index: &["patient_id", "provider_id", "guarantor_id", "date_of_service", "payouts.charge_id"],
    }
    PaymentPlans: ledger::PaymentPlan = "payment-plan", "Payment Plan" {
        references: &[PATIENT, GUARANTOR],
        index: &["patient_id", "guarantor_id"],
    }
    Payments: ledger::Payment = "payment", "Payment" {
        references: &[
            PATIENT,
            GUARANTOR,
            PROVIDER,
            CHARGE,
            CLAIM,
            one("payment_plan", "payment_plan_id", PaymentPlans),
            one("insurance_plan", "insurance_plan_id", InsurancePlans),
            one("payment_type", "payment_type_id", PaymentTypes),
            CHARGE_SPLITS,
            PROVIDER_SPLITS,
        ],
        index: &[
            "patient_id",
            "guarantor_id",
            "provider_id",
            "provider_splits.provider_id",
            "charge_id",
            "charge_splits.charge_id",
            "claim_id",
            "transaction_id",
        ],
        writes: &[(Create, "create-payment")],
    }
    Adjustments: ledger::Adjustment = "adjustment", "Adjustment" {
        references: &[
            PATIENT,
            GUARANTOR,
            PROVIDER,
            CHARGE,
            CLAIM,
            one("adjustment_type", "adjustment_type_id", AdjustmentTypes),
            CHARGE_SPLITS,
            PROVIDER_SPLITS,
        ],
        index: &[
            "patient_id",
            "guarantor_id",
            "provider_id",
            "provider_splits.provider_id",
            "charge_id",
            "charge_splits.charge_id",
            "claim_id",
        ],
        writes: &[(Create, "create-adjustment")],
    }
    GuarantorBalances: ledger::GuarantorBalance = "balance", "Guarantor Balance" {
        references: &[PATIENT, GUARANTOR],
        index: &["guarantor_id"],
    }
    InsuranceBalances: ledger::InsuranceBalance = "balance", "Insurance Balance" {
        references: &[PATIENT, GUARANTOR],
        index: &["patient_id", "guarantor_id"],
    }
}
