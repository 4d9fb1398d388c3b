//! Conversions of a record's fields to those of its view, for the attribute [`view_macro::view`].

use engine::{
    records::{AdjustmentAction, ClaimStatus, RecordWrite},
    setup::country::CountryCode,
};

use crate::prelude::*;

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

copied!(bool, u8, u32, u64, f64, Uuid, AdjustmentAction, ClaimStatus);

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
