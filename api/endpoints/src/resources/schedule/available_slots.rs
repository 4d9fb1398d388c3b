//! GET /available_slots; in v2.2.2 GET /appointment_slots

use framework::values::{
    kinds::shared::{appointments_per_timeslot, first_day, operatories, providers},
    limits::{DEFAULT_MINUTES, MAX_SLOTS, SLOT_DAYS, SLOT_INTERVAL, SLOT_MINUTES},
};
use location::WorkingHourId;

use super::{
    appointment_types,
    slot_weeks::{begin, week},
    working_hour_labels::label_id,
};
use crate::{
    prelude::*,
    resources::practice::{operatories, providers},
};

pub(crate) const NONE_FOUND: &str =
    "Next available slot not found. Please confirm that the provider has active availabilities.";

/// The free slots of one provider in one operatory.
#[derive(Serialize, JsonSchema)]
pub struct AvailableSlotsView {
    /// Id of the location.
    lid: u32,
    /// Id of the provider; null in an entry without slots if no provider was requested.
    pid: Option<u32>,
    /// Id of the operatory; null in an entry without slots, and if the working hours have no operatory.
    operatory_id: Option<u64>,
    /// Free slots; empty if there are none.
    slots: Vec<SlotView>,
    /// Without slots: the next day that has free slots, `YYYY-MM-DD`; null if none is known. With slots: null, or the
    /// `start_date` of the next call if the response was cut short.
    next_available_date: Option<String>,
}

/// A free time slot of a provider in an operatory.
#[view]
struct SlotView {
    /// Start time in the location's time zone, with its offset: `2026-12-01T09:30:00.000-05:00`.
    time: String,
    /// End time in the location's time zone, with its offset: `2026-12-01T10:00:00.000-05:00`.
    end_time: String,
    operatory_id: Option<u64>,
    /// Id of the provider.
    provider_id: u32,
    /// Id of the requested label; null if none was requested.
    working_hour_label_id: Option<u64>,
}

#[input]
pub struct SlotsInput {
    period: SlotPeriod,
    #[query(providers(), name = "pids")]
    providers: Vec<u32>,
    #[query(operatories(), name = "operatory_ids")]
    operatories: Vec<u64>,
}

#[input(check = SlotPeriod::check)]
struct SlotPeriod {
    #[query(first_day())]
    start_date: Date,
    /// The number of days.
    #[query(integer(SLOT_DAYS), required)]
    days: Option<i64>,
    #[query(appointment_type(), name = "appointment_type_id")]
    appointment_type: Option<u32>,
    /// Only working hours created through the API (`manual`), or only those of the health record system (`synced`).
    #[query(word(), name = "working_hour_source")]
    source: Option<HourSource>,
    /// Only working hours with this label.
    #[query(long_id(), name = "working_hour_label_id")]
    label: Option<u64>,
    /// Length of a slot in minutes. Default: the length of the appointment type, or 30 without a type.
    #[query(integer(SLOT_MINUTES), name = "slot_length")]
    length: Option<i64>,
    /// Minutes from the start of one slot to the next. Default: the length of a slot.
    #[query(integer(SLOT_INTERVAL), name = "slot_interval")]
    interval: Option<i64>,
    /// `true` if slots of several operatories may overlap for one provider.
    #[query(boolean(), name = "overlapping_operatory_slots", default = false)]
    overlapping: bool,
    #[query(appointments_per_timeslot().map(|most| most as u8), name = "appointments_per_timeslot", default = 1)]
    per_timeslot: u8,
    #[read(locations(input))]
    locations: Vec<u32>,
}

fn locations(input: &mut Input) -> Vec<u32> {
    let mut locations = input.query.required_list("lids", id().about("Ids of the locations to search."));
    locations.sort_unstable();
    locations.dedup();
    locations
}

impl SlotPeriod {
    fn check(&self, input: &mut Input) {
        let (most, asked_for) = (SLOT_DAYS.end(), self.days.unwrap_or_default() * self.locations.len() as i64);
        if asked_for > *most {
            input.query.problem(format!("days times locations must not be more than {most}, and it is {asked_for}."));
        }
    }
}

pub async fn list(
    mut call: ApiCall,
    InTenant(tenant, asked): InTenant<SlotsInput>,
) -> Answer<Listed<AvailableSlotsView>> {
    check_start_date(asked.period.start_date, call.api.engine.now())?;
    let locations: Vec<OpenLocation> = asked
        .period
        .locations
        .iter()
        .map(|id| call.location(&tenant, LocationId(*id)))
        .collect::<Result<_, ApiError>>()?;
    let kind =
        asked.period.appointment_type.map(|id| appointment_types::find(&call, &tenant, &locations, id)).transpose()?;
    asked.check_ids(&call, &tenant, &locations)?;
    let labelled = asked.labelled(&call, &locations)?;
    let query = asked.query(&call, kind.as_ref());
    let bookable = kind.as_ref().is_none_or(|kind| kind.bookable_online);
    if !bookable {
        call.warn(NOT_ONLINE);
    }
    let mut gathered = SlotCollector { any: !bookable, ..SlotCollector::default() };
    for (location, hours) in locations.into_iter().zip(labelled) {
        let next = bookable.then(|| begin(&mut call, &location, asked.period.start_date));
        let query = SlotQuery { from: next.unwrap_or(query.from), hours, ..query.clone() };
        gathered.of.push(LocationSlots { location, query, slots: Vec::new(), next });
    }
    gathered.collect(&mut call).await?;
    let rows = gathered.rows(&asked);
    match gathered.end {
        Some(end) if gathered.crowded => call.warn(&crowded(end.add_days(-1))),
        Some(end) => call.warn(&cut(end)),
        None if !gathered.any => call.warn(NONE_FOUND),
        None => {}
    }
    Ok(call.list(&rows))
}

const NOT_ONLINE: &str = "Only the practice can book appointments of this type: bookable_online is false.";

fn cut(end: Date) -> String {
    format!(
        "The answer ends before {end}, as it may have {MAX_SLOTS} slots. Ask again with start_date={end} for the rest."
    )
}

fn crowded(day: Date) -> String {
    format!(
        "The answer has {MAX_SLOTS} slots, and {day} alone has more. Ask for fewer locations, providers or operatories, or \
         with a longer slot_interval."
    )
}

/// Slots of several locations, up to the limit of one response. Each day has the slots of all locations.
#[derive(Default)]
struct SlotCollector {
    of: Vec<LocationSlots>,
    any: bool,
    /// The response ends before this date, because the limit was reached.
    end: Option<Date>,
    /// The first day has more slots than the limit.
    crowded: bool,
}

/// The slots of one location.
struct LocationSlots {
    location: OpenLocation,
    query: SlotQuery,
    slots: Vec<Slot>,
    /// The next date to search. `None` if no later date has slots.
    next: Option<Date>,
}

fn local_date(location: &OpenLocation, slot: &Slot) -> Date {
    times::local(slot.span.start, location.setup.zone).0
}

impl SlotCollector {
    /// Adds the slots week by week, always of the location with the earliest date to search.
    async fn collect(&mut self, call: &mut ApiCall) -> Result<(), ApiError> {
        let Some(first) = self.of.iter().filter_map(|one| one.next).min() else { return Ok(()) };
        while let Some((from, at)) = self.earliest() {
            let one = &self.of[at];
            let query = SlotQuery { from, ..one.query.clone() };
            let week = week(call, &one.location, &query, self.end_of(one), MAX_SLOTS, false).await?;
            self.any |= week.any_hours && (!week.slots.is_empty() || week.next.is_some());
            self.of[at].next = week.next;
            self.of[at].slots.extend(week.slots);
            if week.crowded && from > first {
                // The day may fit into a response that begins with it.
                self.end_before(from);
            } else if let Some(next) = week.next.filter(|_| week.cut) {
                self.crowded |= week.crowded;
                self.end_before(next);
            }
            self.drop_last_days(first);
        }
        Ok(())
    }

    fn earliest(&self) -> Option<(Date, usize)> {
        let open = |(at, one): (usize, &LocationSlots)| Some((one.next.filter(|next| *next < self.end_of(one))?, at));
        self.of.iter().enumerate().filter_map(open).min()
    }

    fn end_of(&self, one: &LocationSlots) -> Date {
        let asked = one.query.from.add_days(one.query.days.into());
        self.end.map_or(asked, |end| end.min(asked))
    }

    fn end_before(&mut self, end: Date) {
        let end = self.end.map_or(end, |earlier| earlier.min(end));
        self.end = Some(end);
        for LocationSlots { location, slots, .. } in &mut self.of {
            slots.retain(|slot| local_date(location, slot) < end);
        }
    }

    /// Restores the limit: drops the last days of all locations, and of the first day the slots beyond the limit.
    fn drop_last_days(&mut self, first: Date) {
        if self.of.iter().map(|one| one.slots.len()).sum::<usize>() <= MAX_SLOTS {
            return;
        }
        let dates =
            |one: &LocationSlots| one.slots.iter().map(|slot| local_date(&one.location, slot)).collect::<Vec<_>>();
        let mut dates: Vec<Date> = self.of.iter().flat_map(dates).collect();
        dates.sort_unstable();
        let beyond = dates[MAX_SLOTS];
        self.end_before(beyond.max(first.add_days(1)));
        if beyond == first {
            self.crowded = true;
            let mut left = MAX_SLOTS;
            for one in &mut self.of {
                one.slots.truncate(left);
                left -= one.slots.len();
            }
        }
    }

    fn rows(&self, asked: &SlotsInput) -> Vec<AvailableSlotsView> {
        let next = |one: &LocationSlots| self.end.or(one.next.filter(|_| one.slots.is_empty()));
        self.of.iter().flat_map(|one| grouped(&one.location, asked, &one.slots, next(one))).collect()
    }
}

/// Limits the search to the days that practices plan ahead.
pub(crate) fn check_start_date(start: Date, now: location::time::Timestamp) -> Result<(), ApiError> {
    let today = now.0.div_euclid(location::time::DAY);
    let ahead = i64::from(start.0) - today;
    let problem = || format!("start_date must not be more than {MAX_DAYS_AHEAD} days ahead.");
    if ahead > MAX_DAYS_AHEAD { Err(ApiError::bad(problem())) } else { Ok(()) }
}

/// Returns the length of a slot: as requested, or that of its type.
pub fn minutes(asked: Option<i64>, kind: Option<&Record<AppointmentType>>) -> i64 {
    let of_type = kind.map(|kind| i64::from(kind.minutes)).filter(|minutes| SLOT_MINUTES.contains(minutes));
    asked.or(of_type).unwrap_or(DEFAULT_MINUTES)
}

impl SlotsInput {
    /// Checks the providers against the institution, and the operatories against the locations of the request.
    fn check_ids(&self, call: &ApiCall, tenant: &Tenant, locations: &[OpenLocation]) -> Result<(), ApiError> {
        for id in &self.providers {
            providers::find(call, tenant, *id)?;
        }
        for id in &self.operatories {
            let mut found = Err(ApiError::not_found(format!("Operatory with id {id}")));
            for location in locations {
                found = found.or_else(|_| operatories::find(call, location.setup.id, *id));
            }
            found?;
        }
        Ok(())
    }

    /// Returns for each location the working hours with the requested label, or `None` without a label.
    fn labelled(
        &self,
        call: &ApiCall,
        locations: &[OpenLocation],
    ) -> Result<Vec<Option<Vec<WorkingHourId>>>, ApiError> {
        let Some(label) = self.period.label else { return Ok(vec![None; locations.len()]) };
        let mut labelled = Vec::with_capacity(locations.len());
        for location in locations {
            let mut hours = call.api.engine.working_hours(location.setup.id)?;
            hours.retain(|it| it.label.as_ref().is_some_and(|name| label_id(it.location(), name) == label));
            labelled.push(Some(hours.iter().map(|it| WorkingHourId(it.id)).collect::<Vec<_>>()));
        }
        if labelled.iter().flatten().all(Vec::is_empty) {
            return Err(ApiError::not_found(format!("Working Hour Label with id {label}")));
        }
        Ok(labelled)
    }

    fn query(&self, call: &ApiCall, kind: Option<&Record<AppointmentType>>) -> SlotQuery {
        let length = minutes(self.period.length, kind);
        let interval = self.period.interval.unwrap_or(length).max(*SLOT_INTERVAL.start());
        SlotQuery {
            from: self.period.start_date,
            days: self.period.days.unwrap_or_default() as u16,
            length: length * MINUTE,
            interval: Some(interval * MINUTE),
            appointment_type: self.period.appointment_type.map(AppointmentTypeId),
            providers: self.providers.iter().copied().map(ProviderId).collect(),
            operatories: self.operatories.iter().copied().map(OperatoryId).collect(),
            source: self.period.source,
            hours: None,
            join_blocks: !call.version.is_v2(),
            overlapping_operatory_slots: self.period.overlapping,
            appointments_per_timeslot: self.period.per_timeslot,
            not_before: call.api.engine.now(),
            limit: MAX_SLOTS,
        }
    }
}

/// Returns one entry per provider and operatory with slots. Without slots it returns one per requested provider.
fn grouped(location: &OpenLocation, asked: &SlotsInput, slots: &[Slot], next: Option<Date>) -> Vec<AvailableSlotsView> {
    let lid = location.setup.id.0;
    let next = next.map(|date| date.to_string());
    if slots.is_empty() {
        let pids = asked.providers.iter().copied().map(Some);
        let pids: Vec<_> = if asked.providers.is_empty() { vec![None] } else { pids.collect() };
        let empty = |pid| AvailableSlotsView {
            lid,
            pid,
            operatory_id: None,
            slots: Vec::new(),
            next_available_date: next.clone(),
        };
        return pids.into_iter().map(empty).collect();
    }
    let mut groups: BTreeMap<(u32, Option<u64>), Vec<SlotView>> = BTreeMap::new();
    for slot in slots {
        let view = view(location, asked, slot);
        groups.entry((view.provider_id, view.operatory_id)).or_default().push(view);
    }
    let entry = |((pid, operatory_id), slots)| AvailableSlotsView {
        lid,
        pid: Some(pid),
        operatory_id,
        slots,
        next_available_date: next.clone(),
    };
    groups.into_iter().map(entry).collect()
}

fn view(location: &OpenLocation, asked: &SlotsInput, slot: &Slot) -> SlotView {
    SlotView {
        time: times::with_zone(slot.span.start, location.setup.zone),
        end_time: times::with_zone(slot.span.end, location.setup.zone),
        operatory_id: slot.operatory.map(|id| id.0),
        provider_id: slot.provider.0,
        working_hour_label_id: asked.period.label,
    }
}
