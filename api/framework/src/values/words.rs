//! Closed lists of words, each declared once: all values of a type, their spellings on the wire, and the name of the
//! list in the documents and generated clients.

use std::borrow::Cow;

use engine::{
    records::{
        Direction, InsuranceType, IntervalUnit, Mode, PlanStatus, Relation, WriteStatus, Writeback,
        words::Word as Spelled,
    },
    setup::{Environment, LocationStatus},
    write_requests::Status as WriteRequestStatus,
};
use location::{HourSource, Reason, Weekday, hours::RecurrenceUnit};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::kinds::{Kind, named};

/// Type with a fixed set of wire values.
pub trait WireEnum: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const ALL: &'static [Self];

    fn word(self) -> &'static str;
}

/// Assigns words to the values of a type.
#[macro_export]
macro_rules! closed {
    ($($value:ident: $name:literal $about:literal { $($variant:ident = $word:literal),+ $(,)? })*) => {$(
        impl $crate::values::words::WireEnum for $value {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const ALL: &'static [Self] = &[$($value::$variant),+];

            fn word(self) -> &'static str {
                match self {
                    $($value::$variant => $word,)+
                }
            }
        }
    )*};
}

pub use closed;

closed! {
    Writeback: "WritebackState" "The status of a write to the health record system." {
        Pending = "pending", Confirmed = "confirmed", Failed = "failed",
    }
    WriteStatus: "FilingStatus" "The filing status of a record in the health record system." {
        Pending = "pending", Succeeded = "succeeded", Failed = "failed",
    }
    Environment: "EnvironmentName"
        "The environment of an API key. The key can access only institutions of this environment." {
        Sandbox = "sandbox", Production = "production",
    }
    LocationStatus: "LocationStatus"
        "The status of a location. `pending`: calls are not accepted yet. `closed`: calls are no longer accepted." {
        Active = "active", Pending = "pending", Closed = "closed",
    }
    HourSource: "WorkingHourSource" "Source of working hours: this API or the health record system." {
        Manual = "manual", Synced = "synced",
    }
    RecurrenceUnit: "RecurrenceUnit" "The unit of a recurrence." {
        Day = "day", Week = "week", Month = "month",
    }
WriteRequestStatus: "WriteStatus" "The status of a write request." {
        Queued = "queued", Sending = "sending", Parked = "parked", Done = "done", Failed = "failed", TimedOut = "timed_out",
    }
    Weekday: "Weekday" "A day of the week." {
        Sunday = "Sunday", Monday = "Monday", Tuesday = "Tuesday", Wednesday = "Wednesday", Thursday = "Thursday", Friday = "Friday",
        Saturday = "Saturday",
    }
}

/// Implements `WireEnum` for types whose words the contract of adapters defines.
macro_rules! closed_in_records {
    ($($value:ty: $name:literal $about:literal;)*) => {$(
        impl WireEnum for $value {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;
            const ALL: &'static [Self] = <$value as Spelled>::ALL;

            fn word(self) -> &'static str {
                Spelled::word(self)
            }
        }
    )*};
}

closed_in_records! {
    Relation: "SubscriptionRelation" "A patient's relation to the subscriber.";
    InsuranceType: "InsuranceType" "The kind of care that an insurance covers.";
    IntervalUnit: "IntervalUnit" "The unit of an interval.";
    Direction: "CommunicationDirection" "The direction of a communication.";
    Mode: "CommunicationMode" "The means of a communication.";
    PlanStatus: "TreatmentPlanStatus" "The status of a treatment plan.";
}

impl WireEnum for Reason {
    const NAME: &'static str = "BookingReason";
    const ABOUT: &'static str = "The first reason against a time, or `offered` if it can be booked. The list may grow.";
    const ALL: &'static [Reason] = Reason::ALL;

    fn word(self) -> &'static str {
        Reason::word(self)
    }
}

/// A value as responses show it.
#[derive(Clone, Copy)]
pub struct Word<T>(pub T);

impl<T: WireEnum> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<T: WireEnum> JsonSchema for Word<T> {
    // Inline, because the description of the field stays with the words until the named schema is built.
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        named(T::NAME, T::ABOUT, &all::<T>())
    }
}

/// Parses a word of a request.
pub fn word<T: WireEnum>() -> Kind<T> {
    let example = all::<T>().first().copied().unwrap_or_default();
    Kind::for_text(
        || named(T::NAME, T::ABOUT, &all::<T>()).to_value(),
        example,
        |text| spelled(text).ok_or_else(|| format!("must be one of {}", all::<T>().join(", "))),
    )
}

pub fn spelled<T: WireEnum>(text: &str) -> Option<T> {
    T::ALL.iter().copied().find(|value| value.word() == text)
}

/// Returns the words with their values.
pub fn pairs<T: WireEnum>() -> Vec<(&'static str, T)> {
    T::ALL.iter().map(|value| (value.word(), *value)).collect()
}

pub fn all<T: WireEnum>() -> Vec<&'static str> {
    T::ALL.iter().map(|value| value.word()).collect()
}
