//! The closed list of reasons for or against a candidate time.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $word:literal,)*) => {
        /// The result of judging a candidate time: the first reason against it, or `Offered`. The reasons are checked
        /// in this order. The list only grows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Reason {$(
            $(#[$doc])*
            $name,
        )*}

        impl Reason {
            /// All reasons, in the order in which they are checked.
            pub const ALL: &[Reason] = &[$(Reason::$name,)*];

            /// Returns the word of the API.
            pub fn word(self) -> &'static str {
                match self {$(Reason::$name => $word,)*}
            }
        }
    };
}

reasons! {
    /// No reason against the time.
    Offered "offered",
    /// The schedule has not been read completely yet.
    ScheduleNotRead "schedule_not_read",
    /// All working hours of the provider are inactive.
    ProviderInactive "provider_inactive",
    /// The provider has no working hours on that day.
    NoWorkingHours "no_working_hours",
    /// The provider works on that day, but not at that time in that operatory.
    OutsideHours "outside_hours",
    /// The working hours do not accept the appointment type.
    TypeNotOfferedHere "type_not_offered_here",
    /// The practice books appointments of this type itself.
    TypeNotBookableOnline "type_not_bookable_online",
    /// The practice closed the operatory to patients.
    OperatoryNotBookableOnline "operatory_not_bookable_online",
    /// An appointment occupies the start.
    Taken "taken",
    /// A hold occupies the start.
    Held "held",
    /// A block of unavailable time occupies the start.
    Blocked "blocked",
    /// The start is free, but the gap is shorter than the visit.
    TooShort "too_short",
    /// Earlier than the minimum notice allows.
    TooSoon "too_soon",
    /// Today's cutoff has passed, so the day is no longer bookable.
    AfterCutoff "after_cutoff",
    /// Later than the horizon.
    BeyondHorizon "beyond_horizon",
    /// Too close to another visit.
    Buffer "buffer",
    /// The day has its maximum number of visits or minutes.
    DailyCap "daily_cap",
    /// The practice is closed.
    Closed "closed",
    /// The start is not a multiple of the alignment.
    NotAligned "not_aligned",
    /// The patient may not book the type.
    PatientNotEligible "patient_not_eligible",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
