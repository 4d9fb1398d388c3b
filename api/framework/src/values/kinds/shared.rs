//! Values with the same meaning in several endpoints.

use std::ops::RangeInclusive;

use location::{Date, SlotQuery, Timestamp, pull::Resource::*};

use super::{
    Kind, boolean,
    field_kind::FieldKind,
    id, integer, long_id, person_name, text,
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
