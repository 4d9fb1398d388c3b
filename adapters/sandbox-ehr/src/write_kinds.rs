//! The kinds of writes, by which switches and behaviours name them.

use serde::{Deserialize, Serialize};

macro_rules! write_kinds {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// All writes from outside.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WriteKind {
            $($(#[$doc])* $name,)*
        }

        impl WriteKind {
            pub const ALL: &'static [WriteKind] = &[$(WriteKind::$name),*];
        }
    };
}

write_kinds! {
    CreatePatient,
    UpdatePatient,
    CreateAppointment,
    /// Any update of an appointment except a move or a cancellation.
    UpdateAppointment,
    /// An update of the time, operatory or provider of an appointment.
    MoveAppointment,
    CancelAppointment,
    CreateHours,
    UpdateHours,
    DeleteHours,
    CreateInsurancePlan,
    CreateCoverage,
    DeleteCoverage,
    CreatePatientHistoryItem,
    UpdatePatientHistoryItem,
    CreatePatientAlert,
    UpdatePatientAlert,
    CreateCommunicationLog,
    CreateFormResponse,
    CreatePayment,
    CreateAdjustment,
}
