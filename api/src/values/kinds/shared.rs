//! Values that several endpoints take in the same meaning.

use location::{slots::SlotQuery, time::Timestamp, zone::Date};

use super::{
    Kind, boolean, id, integer, long_id, person_name, text,
    times::{Clock, date, instant},
};
use crate::values::limits::{MAX_NAME, MAX_NOTE, MAX_TEXT, MAX_TOKEN};

pub(crate) fn subdomain() -> Kind<String> {
    text(MAX_TEXT).about("The institution, in lower case.")
}

pub(crate) fn location() -> Kind<u32> {
    id().about("The practice location.")
}

pub(crate) fn patient() -> Kind<u32> {
    id().about("The patient.")
}

pub(crate) fn provider() -> Kind<u32> {
    id().about("The provider.")
}

/// In lists: see `http::query` for their other names.
pub(crate) fn providers() -> Kind<u32> {
    id().about("Only these providers; one alone also as `provider_id`.")
}

pub(crate) fn operatory() -> Kind<u64> {
    long_id().about("The operatory: a chair, column or room.")
}

/// In lists.
pub(crate) fn operatories() -> Kind<u64> {
    long_id().about("Only these operatories; one alone also as `operatory_id`.")
}

pub(crate) fn appointment_type() -> Kind<u32> {
    id().about("The appointment type; its length becomes the length of slots.")
}

pub(crate) fn appointments_per_timeslot() -> Kind<i64> {
    integer(1..=SlotQuery::MAX_APPOINTMENTS_PER_TIMESLOT.into()).about("How many appointments may share a slot.")
}

pub(crate) fn first_day() -> Kind<Date> {
    date().about("The first day, in the location's time zone.")
}

pub(crate) fn slot_token() -> Kind<String> {
    text(MAX_TOKEN).about("The token of a slot from POST /intent/booking/search.")
}

pub(crate) fn bookable_online() -> Kind<bool> {
    boolean().about(
        "Whether patients may book it themselves. If false, slot searches and bookings by slot token leave it out; \
         `POST /appointments` may use it.",
    )
}

pub(crate) fn active() -> Kind<bool> {
    boolean().about("Whether it is in use.")
}

pub(crate) fn inactive() -> Kind<bool> {
    boolean().about("Whether the record is no longer in use.")
}

pub(crate) fn updated_since(clock: &Clock) -> Kind<Timestamp> {
    instant(clock).about("Only records changed at or after this time; also accepted as `updated_after` or `since`.")
}

pub(crate) fn part_of_name() -> Kind<String> {
    text(MAX_NAME).about("Only names that contain this.")
}

pub(crate) fn given_name() -> Kind<String> {
    person_name(MAX_NAME).about("Given name.")
}

pub(crate) fn family_name() -> Kind<String> {
    person_name(MAX_NAME).about("Family name.")
}

pub(crate) fn note() -> Kind<String> {
    text(MAX_NOTE).about("Free text.")
}
