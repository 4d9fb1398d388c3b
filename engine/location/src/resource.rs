//! What an EHR keeps, by kind of record, and what can be done to a record.

use serde::{Deserialize, Serialize};

/// A resource of the EHR, in the order in which a cycle pulls them: what others refer to comes first, and the schedule before the
/// files of the practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    Providers,
    Operatories,
    AppointmentTypes,
    Patients,
    WorkingHours,
    Appointments,
    AppointmentDescriptors,
    FeeSchedules,
    InsurancePlans,
    Coverages,
    HistoryItems,
    PatientHistoryItems,
    PatientAlerts,
    CommunicationLogs,
    Conversations,
    FormSchemas,
    FormResponses,
    ProcedureCodeCategories,
    ProcedureCodes,
    Fees,
    Procedures,
    TreatmentPlans,
    ClinicalNotes,
    RecallTypes,
    PatientRecalls,
    DocumentTypes,
    Documents,
    PaymentTypes,
    AdjustmentTypes,
    Charges,
    Claims,
    PaymentPlans,
    Payments,
    Adjustments,
    GuarantorBalances,
    InsuranceBalances,
}

impl Resource {
    /// Belongs to one location; all others are shared by the locations of a data source, and pulled by one of them.
    pub fn of_one_location(self) -> bool {
        matches!(self, Resource::Operatories | Resource::WorkingHours | Resource::Appointments)
    }

    pub fn shared(self) -> bool {
        !self.of_one_location()
    }
}

/// What a write does to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Create,
    Update,
    Delete,
}
