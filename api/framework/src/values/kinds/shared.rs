//! Values with the same meaning in several endpoints.

use std::ops::RangeInclusive;

use location::{Date, SlotQuery, Timestamp, pull::Resource::*};
use serde_json::json;

use super::{
    FieldKind, Kind, Parsed, boolean, id, integer, long_id, person_name, plain, text,
    times::{Clock, date, instant},
};
use crate::values::limits::{MAX_NAME, MAX_NOTE, MAX_TEXT, MAX_TOKEN};

macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident(): $value:ty = $kind:expr, $about:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> Kind<$value> {
            static KIND: FieldKind = FieldKind::new();
            KIND.get(|| $kind.about($about))
        }
    )*};
}

shared! {
    subdomain(): String = text(MAX_TEXT), "Subdomain of the institution, in lower case.";
    location(): u32 = id(), "Id of the practice location.";
    patient(): u32 = id().referring_to(Patients), "Id of the patient.";
    provider(): u32 = id().referring_to(Providers), "Id of the provider.";
    /// For lists; see `http::query` for aliases.
    providers(): u32 = id().referring_to(Providers),
        "Only these providers. A single provider can also be sent as `provider_id`.";
    operatory(): u64 = long_id().referring_to(Operatories), "Id of the operatory: a chair, column or room.";
    operatories(): u64 = long_id().referring_to(Operatories),
        "Only these operatories. A single operatory can also be sent as `operatory_id`.";
    appointment_type(): u32 = id().referring_to(AppointmentTypes),
        "Id of the appointment type. Its length determines the length of the slots.";
    appointments_per_timeslot(): i64 = integer(PER_TIMESLOT), "Maximum number of appointments that may share a slot.";
    first_day(): Date = date(), "The first day, in the location's time zone.";
    slot_token(): String = text(MAX_TOKEN), "The token of a slot from POST /intent/booking/search.";
    visit_token(): String = text(MAX_TOKEN).example_of("vis_<from /intent/booking/find>"),
        "The token of a visit from POST /intent/booking/find. Valid for 30 minutes.";
    bookable_online(): bool = boolean(), BOOKABLE_ONLINE;
    active(): bool = boolean(), "`true` if the record is in use.";
    inactive(): bool = boolean(), "`true` if the record is no longer in use.";
    part_of_name(): String = text(MAX_NAME), "Only records whose name contains this text.";
    given_name(): String = person_name(MAX_NAME), "Given name.";
    family_name(): String = person_name(MAX_NAME), "Family name.";
    note(): String = text(MAX_NOTE), "Free text.";
}

pub fn updated_since(clock: &Clock) -> Kind<Timestamp> {
    instant(clock).about(UPDATED_SINCE)
}

const PER_TIMESLOT: RangeInclusive<i64> = 1..=SlotQuery::MAX_APPOINTMENTS_PER_TIMESLOT as i64;

const BOOKABLE_ONLINE: &str = "`true` if patients may book the type themselves. If false, slot searches and bookings \
    by slot token exclude the type; `POST /appointments` may use it.";
const UPDATED_SINCE: &str = "Only records changed at or after this time; also accepted as `updated_after` or `since`.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    pub by: &'static str,
    pub descending: bool,
}

fn sort_by(names: &'static [&'static str], given: &str) -> Parsed<Sort> {
    let (name, descending) = given.strip_prefix('-').map_or((given, false), |name| (name, true));
    let known = names.iter().find(|known| **known == name);
    let all = || names.iter().map(|name| format!("{name}, -{name}")).collect::<Vec<_>>().join(", ");
    known.map(|by| Sort { by, descending }).ok_or_else(|| format!("must be one of {}", all()))
}

const SORT: &str = "The sort order; a leading `-` means descending.";

/// Reads `sort=id` or `sort=-id`.
pub fn sort(names: &'static [&'static str]) -> Kind<Sort> {
    let example = names.first().copied().unwrap_or_default();
    let all = move || -> Vec<String> { names.iter().flat_map(|name| [name.to_string(), format!("-{name}")]).collect() };
    Kind::for_text(move || json!({"type": "string", "enum": all()}), example, move |given| sort_by(names, given))
        .about(SORT)
}

/// Reads `sort=created_at,-id`; the first key is the most significant.
pub fn sorts(names: &'static [&'static str]) -> Kind<Vec<Sort>> {
    let example = names.first().map(|name| format!("-{name}")).unwrap_or_default();
    let one = names.join("|");
    let schema =
        move || json!({"type": "string", "pattern": format!("^-?({one})(,-?({one}))*$"), "maxLength": MAX_NAME});
    Kind::for_text(schema, example, move |given| {
        let given = plain(given.trim(), MAX_NAME)?;
        given.split(',').map(|given| sort_by(names, given.trim())).collect()
    })
    .about(SORT)
}
