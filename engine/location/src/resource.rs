//! What an EHR keeps, by kind of record, and what can be done to a record.

use serde::{Deserialize, Serialize};

/// A resource of the EHR, in the order in which a cycle pulls them: what others refer to comes first, and the schedule before the
/// files of the practice.
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
    /// Belongs to one location; all others are shared by the locations of a data source, and pulled by one of them.
    pub fn of_one_location(self) -> bool {
        matches!(self, Resource::Operatories | Resource::WorkingHours | Resource::Appointments)
    }

    /// Shared by the locations of a data source.
    pub fn shared(self) -> bool {
        !self.of_one_location()
    }
}

/// What a write does to a record.
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
