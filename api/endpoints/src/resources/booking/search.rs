//! POST /intent/booking/search

use framework::values::{
    kinds::{shared::first_day, times::time_of_day},
    limits::{
        DAYS_LOOKED_AHEAD, MAX_SLOTS_SIFTED, PARTY_SIZES, SEARCH_DAYS, SEARCH_DAYS_DEFAULT, SEARCH_LIMIT,
        SEARCH_LIMIT_DEFAULT,
    },
};
use location::{
    Weekday,
    slots::{Arrangement, Party, StartFilter},
};

use super::{
    failure::{BookingAnswer, BookingFailure},
    freshness::{IntentCall, NeededSchedule, NeedsSchedule, fresh_within, schedule_as_of},
    offer_view::OfferView,
    offers::{OfferProperties, offers},
};
use crate::{
    prelude::*,
    resources::{
        practice::{operatories, providers},
        schedule::{
            appointment_types,
            available_slots::{check_start_date, minutes},
            slot_weeks::{begin, group_week, week},
        },
    },
};

/// The free slots that a search found.
#[derive(Serialize, JsonSchema)]
pub struct SlotSearchResult<'a> {
    /// Always true: the request was carried out.
    ok: bool,
    /// The result, as a human-readable sentence.
    message: String,
    /// Free slots; empty if there are none, and if the request has `party_size`.
    slots: Vec<OfferView>,
    /// Free slots for each group of patients, one group for each start. Only if the request has `party_size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<SlotGroup>>,
    /// If `slots` (or with `party_size`, `groups`) is empty: the next day with a free slot (group) in the location's
    /// time zone, `YYYY-MM-DD`; null if none is known. Otherwise null.
    next_available_date: Option<String>,
    /// Time up to which the changes of the practice's staff are known, in UTC; null if its appointments are not read.
    schedule_as_of: Option<At>,
    /// Today in the location's time zone, `YYYY-MM-DD`.
    today: String,
    /// Time zone of the location, such as `America/New_York`.
    timezone: &'static str,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// Free slots for patients who come together. They can be booked as a whole with `bookings` of `POST
/// /intent/booking/book`.
#[derive(Serialize, JsonSchema)]
pub struct SlotGroup {
    /// The slots, one for each patient: each begins when the one before it ends, or all begin at the same time.
    slots: Vec<OfferView>,
}

#[input(unknown = unknown, check = SearchInput::check)]
pub struct SearchInput {
    #[body(appointment_type().omit_from_example(), name = "appointment_type_id")]
    appointment_type: Option<u32>,
    /// Only these providers.
    #[body(id().referring_to(Resource::Providers).omit_from_example(), name = "provider_ids")]
    pub(super) providers: Vec<u32>,
    /// Only these operatories.
    #[body(long_id().referring_to(Resource::Operatories).omit_from_example(), name = "operatory_ids")]
    pub(super) operatories: Vec<u64>,
    #[body(first_day().omit_from_example())]
    pub(super) start_date: Option<Date>,
    /// The number of days.
    #[body(integer(SEARCH_DAYS).omit_from_example(), default = SEARCH_DAYS_DEFAULT)]
    days: i64,
    /// Earliest start of a slot, in the location's time zone.
    #[body(time_of_day().omit_from_example())]
    earliest: Option<i64>,
    /// Latest start of a slot, in the location's time zone. A time before `earliest` is on the next day.
    #[body(time_of_day().omit_from_example())]
    latest: Option<i64>,
    /// Only slots on these days of the week.
    #[body(weekday().omit_from_example())]
    days_of_week: Vec<Weekday>,
    /// Maximum number of results.
    #[body(integer(SEARCH_LIMIT).example_of(3).map(|limit| limit as usize), default = SEARCH_LIMIT_DEFAULT)]
    limit: usize,
    /// `true` if the patient is new to the practice.
    #[body(boolean().omit_from_example(), or = false)]
    pub(super) new_patient: bool,
    #[body(fresh_within())]
    pub(super) fresh_within: Option<i64>,
    /// Number of patients who come together. The response then contains `groups` instead of single slots.
    #[body(integer(PARTY_SIZES).omit_from_example())]
    pub(super) party_size: Option<i64>,
    #[body(arrangement().omit_from_example())]
    arrangement: Option<Arrangement>,
}

pub(super) fn unknown(named: Reference, location: Option<LocationId>) -> ApiError {
    match (named, location) {
        (Reference { resource: Resource::Operatories, id }, Some(location)) => operatories::missing(location, id),
        (Reference { resource, id }, _) => PreconditionError::NotFound { resource, id }.into(),
    }
}

impl NeedsSchedule for AtLocation<SearchInput> {
    fn schedule(&self, _: &ApiCall) -> Option<NeededSchedule> {
        let AtLocation(location, SearchInput { fresh_within, .. }) = self;
        Some(NeededSchedule { location: location.clone(), intent: IntentCall::Search, fresh_within: *fresh_within })
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, request): AtLocation<SearchInput>,
) -> BookingAnswer<SlotSearchResult<'static>> {
    let now = call.api.engine.now();
    let today = times::local(now, location.setup.zone).0;
    let from = begin(&mut call, &location, request.start_date.unwrap_or(today));
    let all = |wrong| call.with_unknown(wrong, SearchInput::unknown);
    check_start_date(from, now).map_err(all)?;
    let (query, kind) = request.query(&call, &location, from, now).map_err(all)?;
    request.warn_about_new_patients(&mut call, &location)?;
    let closed = kind.filter(|kind| !kind.bookable_online);
    let wanted_type = request.appointment_type.map(AppointmentTypeId);
    let channel = call.key.channel.as_deref();
    let refuses_patient =
        request.new_patient && !location.setup.settings.booking.rules.effective(wanted_type, channel).new_patients;
    let party = request.party();
    let (groups, next) = match closed.is_some() || refuses_patient {
        true => (Vec::new(), None),
        false => {
            let found = request.find(&mut call, &location, query, party).await;
            found.map_err(|error| not_read(error, &location))?
        }
    };
    let wanted = OfferProperties { appointment_type: wanted_type, join_blocks: !call.version.is_v2() };
    let mut slots = offers(&call, &location, wanted, &groups.concat())?;
    let next = next.map(|date| date.to_string());
    let message = match closed {
        Some(kind) => format!("Only {} can book {}; please call the practice.", location.setup.name, kind.name),
        None if refuses_patient => {
            format!(
                "{} does not book this visit for new patients this way; please call the practice.",
                location.setup.name
            )
        }
        None => message(&location, slots.first(), next.as_deref(), party),
    };
    let groups = party.map(|party| {
        let mut members = std::mem::take(&mut slots).into_iter();
        let mut group = || SlotGroup { slots: members.by_ref().take(usize::from(party.size)).collect() };
        groups.iter().map(|_| group()).collect()
    });
    Ok(call.plain(SlotSearchResult {
        ok: true,
        message,
        slots,
        groups,
        next_available_date: next,
        schedule_as_of: schedule_as_of(&call, &location),
        today: today.to_string(),
        timezone: location.setup.zone.name(),
        description: call.description(),
    }))
}

/// Explains the failure in words for a caller.
fn not_read(error: ApiError, location: &OpenLocation) -> BookingFailure {
    match error.failure() {
        Failure::ScheduleNotRead => BookingFailure::not_read(&location.setup.name),
        _ => error.into(),
    }
}

impl SearchInput {
    /// Warns if the patient is new and the practice's system accepts no new patients.
    pub(super) fn warn_about_new_patients(&self, call: &mut ApiCall, location: &OpenLocation) -> Result<(), ApiError> {
        let ehr = || call.api.engine.description(location.setup.id).map_err(ApiError::from);
        if self.new_patient && ehr()?.is_some_and(|ehr| !ehr.new_patients) {
            call.warn(
                "The practice's system does not accept new patients through the API: only existing patients can be \
                 booked.",
            );
        }
        Ok(())
    }

    fn check(&self, input: &mut Input) {
        if self.arrangement.is_some() && input.body.is_absent("party_size") {
            input.body.problem("arrangement needs party_size, the number of patients who come together.");
        }
    }

    fn party(&self) -> Option<Party> {
        let arrangement = self.arrangement.unwrap_or_default();
        self.party_size.map(|size| Party { size: size as u8, arrangement })
    }

    pub(super) fn query(
        &self,
        call: &ApiCall,
        location: &OpenLocation,
        from: Date,
        now: Timestamp,
    ) -> Result<(SlotQuery, Option<Record<AppointmentType>>), ApiError> {
        let tenant = Tenant { institution: location.institution.clone() };
        let here = std::slice::from_ref(location);
        let kind = self.appointment_type.map(|id| appointment_types::find(call, &tenant, here, id)).transpose()?;
        for id in &self.providers {
            providers::find(call, &tenant, *id)?;
        }
        for id in &self.operatories {
            operatories::find(call, location.setup.id, *id)?;
        }
        let query = SlotQuery {
            from,
            days: self.days as u16,
            length: minutes(None, kind.as_ref()) * MINUTE,
            interval: None,
            appointment_type: self.appointment_type.map(AppointmentTypeId),
            providers: self.providers.iter().copied().map(ProviderId).collect(),
            operatories: self.operatories.iter().copied().map(OperatoryId).collect(),
            source: None,
            hours: None,
            join_blocks: !call.version.is_v2(),
            overlapping_operatory_slots: false,
            appointments_per_timeslot: 1,
            not_before: now,
            limit: self.limit,
        };
        Ok((query, kind))
    }

    /// Collects the groups of slots of a party, or each slot as a group without a party, week by week, filtered by time
    /// of day and day of the week. Without a match it returns the next date with one.
    pub(super) async fn find(
        &self,
        call: &mut ApiCall,
        location: &OpenLocation,
        mut query: SlotQuery,
        party: Option<Party>,
    ) -> Result<(Vec<Vec<Slot>>, Option<Date>), ApiError> {
        let end = query.from.add_days(query.days.into());
        // Without these filters the engine finds the next date of a slot itself.
        let engine_finds_next = party.is_none() && !self.filters();
        let horizon = if engine_finds_next { end } else { end.add_days(DAYS_LOOKED_AHEAD) };
        let starts = self.starts();
        let suits = |slot: &Slot| {
            let (date, minute) = times::local(slot.span.start, location.setup.zone);
            starts.admits(date, minute)
        };
        let (mut groups, mut next): (Vec<Vec<Slot>>, Option<Date>) = (Vec::new(), None);
        while groups.len() < self.limit && query.from < if groups.is_empty() { horizon } else { end } {
            let most = if self.filters() { MAX_SLOTS_SIFTED } else { self.limit - groups.len() };
            let until = if query.from < end { end } else { horizon };
            let suiting: Vec<Vec<Slot>> = match party {
                Some(party) => {
                    let week = group_week(call, location, &query, party, until, most).await?;
                    next = week.next;
                    week.groups.into_iter().filter(|group| group.iter().all(suits)).collect()
                }
                None => {
                    let week = week(call, location, &query, until, most, true).await?;
                    next = week.next;
                    week.slots.into_iter().filter(suits).map(|slot| vec![slot]).collect()
                }
            };
            if query.from < end {
                groups.extend(suiting.into_iter().take(self.limit - groups.len()));
            } else if let Some(first) = suiting.first().and_then(|group| group.first()) {
                return Ok((groups, Some(times::local(first.span.start, location.setup.zone).0)));
            }
            let Some(from) = next else { break };
            query.from = from;
        }
        let next = next.filter(|_| engine_finds_next && groups.is_empty());
        Ok((groups, next))
    }

    fn filters(&self) -> bool {
        self.earliest.is_some() || self.latest.is_some() || !self.days_of_week.is_empty()
    }

    /// Returns the restriction of the starts, in the local time of the location.
    pub(super) fn starts(&self) -> StartFilter {
        StartFilter { earliest: self.earliest, latest: self.latest, weekdays: self.days_of_week.clone() }
    }
}

fn weekday() -> Kind<Weekday> {
    let names = || Weekday::ALL.map(|day| format!("{day:?}").to_lowercase());
    Kind::for_text(
        move || json!({"type": "string", "enum": names()}),
        "monday",
        |name| {
            let same = |day: &&Weekday| format!("{day:?}").eq_ignore_ascii_case(name);
            Weekday::ALL.iter().find(same).copied().ok_or_else(|| "must be a day of the week such as monday".into())
        },
    )
}

fn arrangement() -> Kind<Arrangement> {
    let about = "Order of the visits of a group: one after the other without a gap, or all at the same time in \
        different operatories. Only with `party_size`; without it, `consecutive`.";
    let kind = Kind::for_text(
        || json!({"type": "string", "enum": Arrangement::ALL.map(Arrangement::name)}),
        Arrangement::default().name(),
        |name| {
            let named = Arrangement::ALL.into_iter().find(|arrangement| arrangement.name() == name);
            named.ok_or_else(|| "must be consecutive or parallel".into())
        },
    );
    kind.about(about)
}

/// Describes the result. The search stops when it has enough slots, so the total is unknown.
fn message(location: &OpenLocation, first: Option<&OfferView>, next: Option<&str>, party: Option<Party>) -> String {
    let name = &location.setup.name;
    let (one, several) = match party {
        None => ("slot".to_owned(), "slots".to_owned()),
        Some(Party { size, .. }) => (format!("time for {size} patients"), format!("times for {size} patients")),
    };
    match (first, next) {
        (Some(first), _) => format!("The first free {one} at {name} is {}.", first.start_local),
        (None, Some(date)) => {
            format!("There is no such {one} at {name} on these days; the next day with free {several} is {date}.")
        }
        (None, None) => format!("There is no such {one} at {name}."),
    }
}
