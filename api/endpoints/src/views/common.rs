//! Common parts of views: money, the state of a write, the origin of a record, dates. Conversions of a record's fields
//! to those of its view, for the attribute [`view_macro::view`].

use engine::{
    records::{AdjustmentAction, ClaimStatus, RecordWrite},
    setup::country::CountryCode,
};

use crate::prelude::*;

/// An optional related record: absent unless requested, null if it does not exist.
pub(crate) type Included<T> = Option<Option<T>>;
/// An optional value, absent from the response if it is `None`.
pub(crate) type Omittable<T> = Option<T>;
/// Related records: absent unless requested.
pub(crate) type IncludedList<T> = Option<Vec<T>>;

/// An amount of money.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Price {
    /// Amount in whole units of the currency, with its decimals: `-12.50`.
    amount: String,
    /// ISO 4217 code of the currency.
    currency: String,
}

impl Price {
    pub(crate) fn from_money(money: &Money) -> Price {
        let money = money.spelled();
        Price { amount: money.amount.to_string(), currency: money.currency.to_string() }
    }

    pub(crate) fn maybe(money: &Option<Money>) -> Option<Price> {
        money.as_ref().map(Price::from_money)
    }
}

/// The state of a record's last write to the health record system. Empty for a record that no client has written.
#[view]
#[derive(Clone, Copy)]
pub struct WriteState<'a> {
    /// State of the last write to the health record system. Present only for records that a client created or changed
    /// through the API.
    ehr_writeback: Omittable<Word<Writeback>>,
    /// Reason for which the health record system refused the record or its last change; absent unless it was refused.
    failure_reason: Omittable<&'a str>,
}

impl<'a> WriteState<'a> {
    pub(crate) fn from_write(write: Option<&'a RecordWrite>) -> WriteState<'a> {
        WriteState::new(write.map(RecordWrite::writeback))
    }

    /// Returns the state of an appointment's insert, then of its last change.
    pub(crate) fn from_appointment(appointment: &'a Record<Appointment>) -> WriteState<'a> {
        WriteState::new(appointment.last_write())
    }

    fn new(write: Option<(Writeback, Option<&'a str>)>) -> WriteState<'a> {
        WriteState {
            ehr_writeback: write.map(|(state, _)| Word(state)),
            failure_reason: write.and_then(|(_, reason)| reason),
        }
    }
}

/// Returns the state of the write to the EHR. Records read from the EHR have succeeded.
pub fn status<T: Body>(entry: &Record<T>) -> Word<WriteStatus> {
    Word(entry.write.as_ref().map_or(WriteStatus::Succeeded, |write| write.status))
}

pub fn failure_reason<T: Body>(entry: &Record<T>) -> Option<&str> {
    entry.write.as_ref().and_then(refusal)
}

fn refusal(write: &RecordWrite) -> Option<&str> {
    Some(write).filter(|write| write.status == WriteStatus::Failed)?.reason.as_deref()
}

/// Returns a time with a resolution of seconds, but not before `created_at` if both are in the same second.
pub fn second(at: Seconds, created_at: Timestamp) -> At {
    At(if Seconds::from(created_at) == at { created_at } else { at.at() })
}

/// A date on the wire.
pub fn day(day: &Option<engine::records::values::Day>) -> Option<String> {
    day.map(|day| day.to_string())
}

/// Returns the system of a foreign id. Records without one in the EHR have `nex`.
pub fn foreign_id_type<'a>(foreign_id: Option<&str>, adapter: Option<&'a str>) -> &'a str {
    match (foreign_id, adapter) {
        (Some(_), Some(adapter)) => adapter,
        _ => "nex",
    }
}

/// A field of a view, made from the field of type `Source` of a record.
pub(crate) trait ViewField<'a, Source: ?Sized> {
    fn view(source: &'a Source) -> Self;
}

/// Fields that have the same value in the view.
macro_rules! copied {
    ($($type:ty),* $(,)?) => { $(
        impl ViewField<'_, $type> for $type {
            fn view(source: &$type) -> $type {
                *source
            }
        }

        impl ViewField<'_, Option<$type>> for Option<$type> {
            fn view(source: &Option<$type>) -> Option<$type> {
                *source
            }
        }

        /// A field that is always known and may be null in other views.
        impl ViewField<'_, $type> for Option<$type> {
            fn view(source: &$type) -> Option<$type> {
                Some(*source)
            }
        }
    )* };
}

copied!(bool, u8, u32, u64, Uuid, AdjustmentAction, ClaimStatus);

/// Ids are numbers on the wire.
macro_rules! ids {
    ($($id:ty: $number:ty),*) => { $(
        impl ViewField<'_, $id> for $number {
            fn view(source: &$id) -> $number {
                source.0
            }
        }

        impl ViewField<'_, Option<$id>> for Option<$number> {
            fn view(source: &Option<$id>) -> Option<$number> {
                source.map(|id| id.0)
            }
        }
    )* };
}

ids!(InstitutionId: u32, LocationId: u32, EndpointId: i32, SubscriptionId: i32);

/// Ids are wider on the wire.
impl ViewField<'_, u32> for u64 {
    fn view(source: &u32) -> u64 {
        (*source).into()
    }
}

impl<'a> ViewField<'a, String> for &'a str {
    fn view(source: &'a String) -> &'a str {
        source
    }
}

impl<'a> ViewField<'a, Option<String>> for Option<&'a str> {
    fn view(source: &'a Option<String>) -> Option<&'a str> {
        source.as_deref()
    }
}

impl<'a> ViewField<'a, Option<Box<str>>> for Option<&'a str> {
    fn view(source: &'a Option<Box<str>>) -> Option<&'a str> {
        source.as_deref()
    }
}

impl<'a> ViewField<'a, Option<CountryCode>> for Option<&'a str> {
    fn view(source: &'a Option<CountryCode>) -> Option<&'a str> {
        source.as_ref().map(CountryCode::as_str)
    }
}

macro_rules! cloned {
    ($($type:ty),*) => { $(
        impl ViewField<'_, $type> for $type {
            fn view(source: &$type) -> $type {
                source.clone()
            }
        }
    )* };
}

cloned!(String, Option<String>);

impl<'a, T> ViewField<'a, Vec<T>> for &'a [T] {
    fn view(source: &'a Vec<T>) -> &'a [T] {
        source
    }
}

impl ViewField<'_, Timestamp> for At {
    fn view(source: &Timestamp) -> At {
        At(*source)
    }
}

impl ViewField<'_, Option<Timestamp>> for Option<At> {
    fn view(source: &Option<Timestamp>) -> Option<At> {
        source.map(At)
    }
}

impl ViewField<'_, Seconds> for At {
    fn view(source: &Seconds) -> At {
        At(source.at())
    }
}

impl ViewField<'_, Option<Seconds>> for Option<At> {
    fn view(source: &Option<Seconds>) -> Option<At> {
        source.map(|at| At(at.at()))
    }
}

/// A date is text on the wire.
impl ViewField<'_, Option<Day>> for Option<String> {
    fn view(source: &Option<Day>) -> Option<String> {
        source.map(|day| day.to_string())
    }
}

impl ViewField<'_, Money> for Price {
    fn view(source: &Money) -> Price {
        Price::from_money(source)
    }
}

impl ViewField<'_, Option<Money>> for Option<Price> {
    fn view(source: &Option<Money>) -> Option<Price> {
        Price::maybe(source)
    }
}

impl<T: Copy> ViewField<'_, T> for Word<T> {
    fn view(source: &T) -> Word<T> {
        Word(*source)
    }
}

impl<T: Copy> ViewField<'_, Option<T>> for Option<Word<T>> {
    fn view(source: &Option<T>) -> Option<Word<T>> {
        source.map(Word)
    }
}

impl<'a> ViewField<'a, Option<RecordWrite>> for WriteState<'a> {
    fn view(source: &'a Option<RecordWrite>) -> WriteState<'a> {
        WriteState::from_write(source.as_ref())
    }
}
