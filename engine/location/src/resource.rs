//! The resources of an EHR, and the operations on a record.

use serde::{Deserialize, Serialize};

/// A resource of the EHR, in pull order: referenced resources first, and the schedule before the files of the practice.
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
    Create,
    Update,
    Delete,
}
