//! The resources of the simulated EHR, named as in a path.

use serde::{Deserialize, Serialize, de::value::StrDeserializer};

macro_rules! resources {
    ($($name:ident $prefix:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Resource {
            $($name,)*
        }

        impl Resource {
            pub const ALL: &'static [Resource] = &[$(Resource::$name),*];

            pub(super) fn prefix(self) -> &'static str {
                match self { $(Resource::$name => $prefix,)* }
            }
        }
    };
}

resources! {
    Patients "P",
    Providers "D",
    Operatories "O",
    Types "T",
    Hours "H",
    Appointments "A",
    AppointmentDescriptors "AD",
    FeeSchedules "FS",
    InsurancePlans "I",
    Coverages "CV",
    HistoryItems "HI",
    PatientHistoryItems "PH",
    PatientAlerts "AL",
    CommunicationLogs "CL",
    Conversations "CO",
    FormSchemas "FO",
    FormResponses "FR",
    ProcedureCodeCategories "CC",
    ProcedureCodes "PC",
    Fees "FE",
    Procedures "PR",
    TreatmentPlans "TP",
    ClinicalNotes "CN",
    RecallTypes "RT",
    PatientRecalls "RC",
    DocumentTypes "DT",
    Documents "DO",
    PaymentTypes "PT",
    AdjustmentTypes "AT",
    Charges "CH",
    Claims "CM",
    PaymentPlans "PP",
    Payments "PY",
    Adjustments "AJ",
    GuarantorBalances "GB",
    InsuranceBalances "IB",
}

impl Resource {
    /// Parses the name in a path: `insurance_plans`.
    pub fn named(name: &str) -> Option<Resource> {
        Resource::deserialize(StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }

    /// Returns `true` if the records belong to one location; others are shared by the practice.
    pub(super) fn is_local(self) -> bool {
        matches!(self, Resource::Operatories | Resource::Hours | Resource::Appointments)
    }
}
