//! The resources of an EHR, and the operations on a record.

use serde::{Deserialize, Serialize};

/// A resource of the EHR, in pull order: referenced resources first, and the schedule before the files of the practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Providers.
    Providers,
    /// Operatories.
    Operatories,
    /// Appointment types.
    AppointmentTypes,
    /// Patients.
    Patients,
    /// Working hours.
    WorkingHours,
    /// Appointments.
    Appointments,
    /// Appointment descriptors.
    AppointmentDescriptors,
    /// Fee schedules.
    FeeSchedules,
    /// Insurance plans.
    InsurancePlans,
    /// Coverages.
    Coverages,
    /// History items.
    HistoryItems,
    /// Patient history items.
    PatientHistoryItems,
    /// Patient alerts.
    PatientAlerts,
    /// Communication logs.
    CommunicationLogs,
    /// Conversations.
    Conversations,
    /// Form schemas.
    FormSchemas,
    /// Form responses.
    FormResponses,
    /// Procedure code categories.
    ProcedureCodeCategories,
    /// Procedure codes.
    ProcedureCodes,
    /// Fees.
    Fees,
    /// Procedures.
    Procedures,
    /// Treatment plans.
    TreatmentPlans,
    /// Clinical notes.
    ClinicalNotes,
    /// Recall types.
    RecallTypes,
    /// Patient recalls.
    PatientRecalls,
    /// Document types.
    DocumentTypes,
    /// Documents.
    Documents,
    /// Payment types.
    PaymentTypes,
    /// Adjustment types.
    AdjustmentTypes,
    /// Charges.
    Charges,
    /// Claims.
    Claims,
    /// Payment plans.
    PaymentPlans,
    /// Payments.
    Payments,
    /// Adjustments.
    Adjustments,
    /// Guarantor balances.
    GuarantorBalances,
    /// Insurance balances.
    InsuranceBalances,
}

impl Resource {
    /// Returns `true` if each record belongs to one location. Other resources are shared by the locations of a data
    /// source, and pulled by one of them.
    pub fn of_one_location(self) -> bool {
        matches!(self, Resource::Operatories | Resource::WorkingHours | Resource::Appointments)
    }

    /// Returns `true` if the records are shared by the locations of a data source.
    pub fn shared(self) -> bool {
        !self.of_one_location()
    }
}

/// The operation of a write on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The record is new.
    Create,
    /// The record changes.
    Update,
    /// The record is removed.
    Delete,
}
