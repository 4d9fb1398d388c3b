//! Identifiers, allotted by counters of the store. Ids that the API declares as int32 stay below `i32::MAX`.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl TryFrom<i64> for $name {
            type Error = std::num::TryFromIntError;

            fn try_from(id: i64) -> Result<$name, std::num::TryFromIntError> {
                <$inner>::try_from(id).map($name)
            }
        }
    )*};
}

ids! {
    /// An institution: the tenant, addressed by its subdomain.
    InstitutionId(u32),
    /// A practice location of an institution.
    LocationId(u32),
    /// A chair, column or room.
    OperatoryId(u64),
    /// A provider of care.
    ProviderId(u32),
    PatientId(u32),
    /// A kind of appointment.
    AppointmentTypeId(u32),
    /// An appointment or a block of unavailable time.
    AppointmentId(u64),
    /// A record of working hours.
    WorkingHourId(u32),
    /// One write to the EHR, counted per location.
    WriteId(u64),
}
