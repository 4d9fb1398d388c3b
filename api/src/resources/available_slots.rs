//! GET /available_slots; in v2.2.2 GET /appointment_slots

use std::collections::BTreeMap;

use engine::{FreeSlots, records::AppointmentType};
use location::{
    hours::HourSource,
    ids::{AppointmentTypeId, LocationId, OperatoryId, ProviderId, WorkingHourId},
    slots::{Slot, SlotQuery},
    time::MINUTE,
    zone::Date,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, appointment_types, operatories, providers};
use crate::{
    bounds::{DEFAULT_MINUTES, MAX_DAYS_AHEAD, MAX_SLOTS, SLOT_DAYS, SLOT_MINUTES},
    errors::ApiError,
    kinds::{boolean, date, id, integer, long_id, one_of},
    query::Params,
    scope::{Call, Place, Tenant},
    views::hours::label_id,
    wire,
};

pub const NONE_FOUND: &str =
    "Next available slot not found. Please confirm that the provider has active availabilities.";

#[derive(Serialize, JsonSchema)]
pub struct SlotsView {
    #[schemars(with = "u32")]
    lid: LocationId,
    #[schemars(with = "Option<u32>")]
    pid: Option<ProviderId>,
    #[schemars(with = "Option<u64>")]
    operatory_id: Option<OperatoryId>,
    slots: Vec<SlotView>,
    next_available_date: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SlotView {
    time: String,
    end_time: String,
    #[schemars(with = "Option<u64>")]
    operatory_id: Option<OperatoryId>,
    #[schemars(with = "u32")]
    provider_id: ProviderId,
    /// The label that was asked for; null when none was.
    working_hour_label_id: Option<u64>,
}

struct Asked {
    start_date: Date,
    days: u16,
    appointment_type: Option<u32>,
    source: Option<HourSource>,
    label: Option<u64>,
    length: Option<i64>,
    interval: Option<i64>,
    overlapping: bool,
    per_timeslot: u8,
    locations: Vec<u32>,
    providers: Vec<u32>,
    operatories: Vec<u64>,
}

pub async fn list(mut call: Call) -> Answer {
    let (tenant, asked) = call.in_tenant(|input| Asked::read(&mut input.query))?;
    near(asked.start_date, call.api.engine.now())?;
    let places: Vec<Place> =
        asked.locations.iter().map(|id| call.place(&tenant, LocationId(*id))).collect::<Result<_, ApiError>>()?;
    let kind = asked.appointment_type.map(|id| appointment_types::find(&call, &tenant, &places, id)).transpose()?;
    asked.check_ids(&call, &tenant, &places)?;
    let labelled = asked.labelled(&call, &places)?;
    let (mut rows, mut any) = (Vec::new(), false);
    for (place, hours) in places.iter().zip(labelled) {
        let query = SlotQuery { hours, ..asked.query(&call, kind.as_ref()) };
        let free = call.api.engine.free_slots(place.location.id, query).await?;
        any |= free.any_hours && (!free.slots.is_empty() || free.next_available_date.is_some());
        rows.extend(grouped(place, &asked, free));
    }
    if !any {
        call.warn(NONE_FOUND);
    }
    Ok(call.list(&rows))
}

/// Slots are looked for only as far ahead as calendars are planned.
pub fn near(start: Date, now: location::time::Timestamp) -> Result<(), ApiError> {
    let today = now.0.div_euclid(location::time::DAY);
    let ahead = i64::from(start.0) - today;
    let problem = || format!("start_date must not lie more than {MAX_DAYS_AHEAD} days ahead.");
    if ahead > MAX_DAYS_AHEAD { Err(ApiError::bad(problem())) } else { Ok(()) }
}

/// How long a slot is: as asked, or as its type takes.
pub fn minutes(asked: Option<i64>, kind: Option<&AppointmentType>) -> i64 {
    let of_type = kind.map(|kind| i64::from(kind.minutes)).filter(|minutes| SLOT_MINUTES.contains(minutes));
    asked.or(of_type).unwrap_or(DEFAULT_MINUTES)
}

impl Asked {
    fn read(q: &mut Params) -> Option<Asked> {
        const SOURCES: &[(&str, HourSource)] = &[("manual", HourSource::Manual), ("synced", HourSource::Synced)];
        let (start_date, days) = (q.required("start_date", date()), q.required("days", integer(SLOT_DAYS)));
        let appointment_type = q.optional("appointment_type_id", id());
        let source = q.optional("working_hour_source", one_of(SOURCES));
        let label = q.optional("working_hour_label_id", long_id());
        let (length, interval) =
            (q.optional("slot_length", integer(SLOT_MINUTES)), q.optional("slot_interval", integer(SLOT_MINUTES)));
        let overlapping = q.defaulted("overlapping_operatory_slots", boolean(), false);
        let most = i64::from(SlotQuery::MAX_APPOINTMENTS_PER_TIMESLOT);
        let per_timeslot = q.defaulted("appointments_per_timeslot", integer(1..=most), 1) as u8;
        let mut locations = q.required_list("lids", id());
        locations.sort_unstable();
        locations.dedup();
        let (providers, operatories) = (q.list("pids", id()), q.list("operatory_ids", long_id()));
        Some(Asked {
            start_date: start_date?,
            days: days? as u16,
            appointment_type,
            source,
            label,
            length,
            interval,
            overlapping,
            per_timeslot,
            locations,
            providers,
            operatories,
        })
    }

    /// Providers belong to the institution; an operatory to one of the locations asked about.
    fn check_ids(&self, call: &Call, tenant: &Tenant, places: &[Place]) -> Result<(), ApiError> {
        for id in &self.providers {
            providers::find(call, tenant, *id)?;
        }
        for id in &self.operatories {
            let mut found = Err(ApiError::NotFound(format!("Operatory with id {id}")));
            for place in places {
                found = found.or_else(|_| operatories::find(call, place.location.id, *id));
            }
            found?;
        }
        Ok(())
    }

    /// For each location its working hours with the label that is asked for; none: all of them.
    fn labelled(&self, call: &Call, places: &[Place]) -> Result<Vec<Option<Vec<WorkingHourId>>>, ApiError> {
        let Some(label) = self.label else { return Ok(vec![None; places.len()]) };
        let mut labelled = Vec::with_capacity(places.len());
        for place in places {
            let mut hours = call.api.engine.working_hours(place.location.id)?;
            hours.retain(|it| it.label.as_ref().is_some_and(|name| label_id(it.location_id, name) == label));
            labelled.push(Some(hours.iter().map(|it| WorkingHourId(it.id)).collect::<Vec<_>>()));
        }
        if labelled.iter().flatten().all(Vec::is_empty) {
            return Err(ApiError::NotFound(format!("Working Hour Label with id {label}")));
        }
        Ok(labelled)
    }

    fn query(&self, call: &Call, kind: Option<&AppointmentType>) -> SlotQuery {
        SlotQuery {
            from: self.start_date,
            days: self.days,
            length: minutes(self.length, kind) * MINUTE,
            interval: self.interval.map(|minutes| minutes * MINUTE),
            appointment_type: self.appointment_type.map(AppointmentTypeId),
            providers: self.providers.iter().copied().map(ProviderId).collect(),
            operatories: self.operatories.iter().copied().map(OperatoryId).collect(),
            source: self.source,
            hours: None,
            join_blocks: !call.version.is_v2(),
            overlapping_operatory_slots: self.overlapping,
            appointments_per_timeslot: self.per_timeslot,
            not_before: call.api.engine.now(),
            limit: MAX_SLOTS,
        }
    }
}

/// One entry per provider and operatory that has slots. Where there is none: one per provider asked for, with the next date.
fn grouped(place: &Place, asked: &Asked, free: FreeSlots) -> Vec<SlotsView> {
    let lid = place.location.id;
    if free.slots.is_empty() {
        let next = free.next_available_date.map(|date| date.to_string());
        let pids = asked.providers.iter().map(|id| Some(ProviderId(*id)));
        let pids: Vec<_> = if asked.providers.is_empty() { vec![None] } else { pids.collect() };
        let empty =
            |pid| SlotsView { lid, pid, operatory_id: None, slots: Vec::new(), next_available_date: next.clone() };
        return pids.into_iter().map(empty).collect();
    }
    let mut groups: BTreeMap<(ProviderId, Option<OperatoryId>), Vec<SlotView>> = BTreeMap::new();
    for slot in &free.slots {
        groups.entry((slot.provider, slot.operatory)).or_default().push(view(place, asked, slot));
    }
    let entry = |((pid, operatory_id), slots)| SlotsView {
        lid,
        pid: Some(pid),
        operatory_id,
        slots,
        next_available_date: None,
    };
    groups.into_iter().map(entry).collect()
}

fn view(place: &Place, asked: &Asked, slot: &Slot) -> SlotView {
    SlotView {
        time: wire::with_zone(slot.span.start, place.location.zone),
        end_time: wire::with_zone(slot.span.end, place.location.zone),
        operatory_id: slot.operatory,
        provider_id: slot.provider,
        working_hour_label_id: asked.label,
    }
}
