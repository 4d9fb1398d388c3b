//! POST /intent/booking/explain: the reasons why times can or cannot be booked (our addition).

use engine::commands::Offer;
use framework::values::limits::{MAX_SLOTS_SIFTED, SEARCH_DAYS};
use location::{
    Holder, Reason,
    explain::{ExplainQuery, ExplainedSlot, Explanation, Place, Question, TimeQuestion},
    rules::PatientFacts,
};

use super::{
    failure::BookingAnswer,
    freshness::{IntentCall, NeededSchedule, NeedsSchedule},
    offers::open,
    reasons::{self, NextTime},
    search::{SearchInput, unknown},
};
use crate::{
    prelude::*,
    resources::{
        practice::{operatories, providers},
        schedule::{
            available_slots::check_start_date,
            slot_weeks::{begin, week},
        },
    },
};

/// Days per question to the location, so that its actor can serve other requests between the weeks, as in a search.
const DAYS: u16 = 7;

/// The reasons why times can or cannot be booked. It contains no data of patients.
#[view]
pub struct BookingExplanation<'a> {
    ok: bool,
    /// The main reason as a sentence that may be read to the patient, with the next free time if it is known.
    message: String,
    /// Number of times that were considered. Each operatory of a provider counts separately. A day on which a provider
    /// does not work counts once.
    considered: u32,
    /// The considered times by reason: `offered` first, then the most frequent reasons. The first reason against a time
    /// counts.
    reasons: Vec<ReasonCountView>,
    /// The time of the request, in the place with the least obstacle. Absent if the request has neither `slot_token`
    /// nor `start_iso`.
    slot: Omittable<ExplainedSlotView>,
    /// A warning, such as the names of ignored parameters and fields; absent if there is none.
    description: Omittable<&'a str>,
}

/// The number of considered times with the same reason.
#[derive(Serialize, JsonSchema)]
struct ReasonCountView {
    /// The first reason against the times; `offered` if there is none.
    reason: Word<Reason>,
    /// Number of times.
    count: u32,
    /// Human-readable start of the earliest of them in the location's time zone: `Tue, Dec 1 2026, 9:30 AM EST`.
    example_start_local: String,
}

/// A time with the first reason against it.
#[view]
struct ExplainedSlotView {
    /// The first reason against the time; `offered` if there is none.
    reason: Word<Reason>,
    start_local: String,
    start_iso: String,
    duration_minutes: i64,
    /// Display name of the provider, or the full name if there is none; null if unknown.
    provider: Option<String>,
    /// Id of the provider; null if no provider works in the operatory.
    provider_id: Option<u32>,
    operatory_id: Option<u64>,
    /// The reason as a sentence, with the limit of the rule if there is one.
    detail: String,
}

/// The fields of a search, or a time: `slot_token`, or `start_iso` with its place.
#[input(unknown = unknown, check = ExplainInput::check)]
pub struct ExplainInput {
    /// Token of the time in question, from POST /intent/booking/search. The token may have expired.
    #[body(slot_token().omit_from_example(), nonempty)]
    slot_token: Option<String>,
    /// Start of the time in question. Without an offset it is in the location's time zone.
    #[body(instant(&input.clock).omit_from_example(), nonempty)]
    start_iso: Option<Timestamp>,
    /// With `start_iso`: only this provider.
    #[body(provider().omit_from_example())]
    provider_id: Option<u32>,
    /// With `start_iso`: only this operatory.
    #[body(operatory().omit_from_example())]
    operatory_id: Option<u64>,
    #[body(birth_date(input.today).omit_from_example(), nonempty)]
    date_of_birth: Option<Date>,
    search: SearchInput,
}

impl ExplainInput {
    fn check(&self, input: &mut Input) {
        if self.slot_token.is_some() && self.start_iso.is_some() {
            input.body.problem("slot_token and start_iso both name a time: send one of them.");
        }
        for (field, is_set) in
            [("provider_id", self.provider_id.is_some()), ("operatory_id", self.operatory_id.is_some())]
        {
            if is_set && self.start_iso.is_none() {
                input.body.problem(format!("{field} needs start_iso; a search takes {field}s."));
            }
        }
        let is_time = self.slot_token.is_some() || self.start_iso.is_some();
        let (providers, operatories) = (&self.search.providers, &self.search.operatories);
        for (field, is_set) in [("provider_id", !providers.is_empty()), ("operatory_id", !operatories.is_empty())] {
            if is_set && is_time {
                input.body.problem(format!("{field}s is for a search; start_iso takes {field}."));
            }
        }
    }

    /// Returns the question about one time, if the request names one.
    fn time(&self, offer: Option<&Offer>, query: &SlotQuery) -> Option<TimeQuestion> {
        if let Some(offer) = offer {
            return Some(TimeQuestion {
                span: offer.span,
                place: Place::Exact { provider: offer.provider, operatory: offer.operatory },
                appointment_type: offer.appointment_type,
                join_blocks: offer.join_blocks,
                own: vec![Holder::Hold(offer.hold)],
            });
        }
        let start = self.start_iso?;
        Some(TimeQuestion {
            span: Span { start, end: start.plus(query.length) },
            place: Place::Matching {
                provider: self.provider_id.map(ProviderId),
                operatory: self.operatory_id.map(OperatoryId),
            },
            appointment_type: query.appointment_type,
            join_blocks: query.join_blocks,
            own: Vec::new(),
        })
    }

    /// Returns the facts about the patient, or `None` if the request describes none.
    fn patient(&self) -> Option<PatientFacts> {
        let described = self.search.new_patient || self.date_of_birth.is_some();
        described.then_some(PatientFacts { is_new: self.search.new_patient, date_of_birth: self.date_of_birth })
    }

    /// Returns `true` if rules refuse the described patient at any time.
    fn is_refused(&self, rules: &VisitRules) -> bool {
        let refuses = |it: PatientFacts| if it.is_new { !rules.new_patients } else { !rules.known_patients };
        self.patient().is_some_and(refuses)
    }
}

impl NeedsSchedule for InLocations<ExplainInput> {
    fn schedule(&self, call: &ApiCall) -> Option<NeededSchedule> {
        let InLocations(tenant, at, asked) = self;
        let location = match &asked.slot_token {
            Some(token) => open(call, tenant, at.as_ref(), token).ok()?.0,
            None => at.clone()?,
        };
        let fresh_within = asked.search.fresh_within;
        Some(NeededSchedule { location, intent: IntentCall::Search, fresh_within })
    }
}

pub async fn create(
    mut call: ApiCall,
    InLocations(tenant, at, asked): InLocations<ExplainInput>,
) -> BookingAnswer<BookingExplanation<'static>> {
    let token = asked.slot_token.as_deref();
    let found = token.map(|token| open(&call, &tenant, at.as_ref(), token)).transpose()?;
    let (location, offer) = match (found, at) {
        (Some((location, offer)), _) => (location, Some(offer)),
        (None, Some(location)) => (location, None),
        (None, None) => return Err(ApiError::bad("location_id is missing.").into()),
    };
    let (now, search) = (call.api.engine.now(), &asked.search);
    let today = times::local(now, location.setup.zone).0;
    let from = begin(&mut call, &location, search.start_date.unwrap_or(today));
    let all = |wrong| call.with_unknown(wrong, ExplainInput::unknown);
    check_start_date(from, now).map_err(all)?;
    asked.start_iso.map_or(Ok(()), |start| check_start(start, now)).map_err(all)?;
    let (query, kind) = search.query(&call, &location, from, now).map_err(all)?;
    if let Some(id) = asked.provider_id {
        providers::find(&call, &tenant, id).map_err(all)?;
    }
    if let Some(id) = asked.operatory_id {
        operatories::find(&call, location.setup.id, id).map_err(all)?;
    }
    search.warn_about_new_patients(&mut call, &location)?;
    if search.party_size.is_some() {
        call.warn("party_size has no effect: each time is explained for one patient.");
    }
    let explained = match asked.time(offer.as_ref(), &query) {
        Some(time) => one_time(&mut call, &location, &asked, time, query).await?,
        None => {
            let bookable = kind.is_none_or(|kind| kind.bookable_online);
            all_times(&mut call, &location, &asked, query, bookable).await?
        }
    };
    Ok(call.plain(BookingExplanation { description: call.description(), ..explained }))
}

/// Refuses a start that no search reaches.
fn check_start(start: Timestamp, now: Timestamp) -> Result<(), ApiError> {
    let ahead = MAX_DAYS_AHEAD + *SEARCH_DAYS.end();
    let problem = || format!("start_iso must not be more than {ahead} days ahead.");
    if start.since(now) > ahead * DAY { Err(ApiError::bad(problem())) } else { Ok(()) }
}

fn question(call: &ApiCall, asked: &ExplainInput, question: Question) -> ExplainQuery {
    ExplainQuery { question, channel: call.key.channel.clone(), patient: asked.patient() }
}

/// Explains all times of a search.
async fn all_times(
    call: &mut ApiCall,
    location: &OpenLocation,
    asked: &ExplainInput,
    query: SlotQuery,
    bookable: bool,
) -> Result<BookingExplanation<'static>, ApiError> {
    let end = query.from.add_days(query.days.into());
    let (mut from, mut explained) = (query.from, Explanation::default());
    while from < end && !explained.truncated {
        let days = end.days_since(from).clamp(1, i64::from(DAYS)) as u16;
        let limit = MAX_SLOTS_SIFTED.saturating_sub(explained.considered as usize);
        let week =
            Question::Search { query: SlotQuery { from, days, limit, ..query.clone() }, starts: asked.search.starts() };
        let week = call.api.engine.explain(location.setup.id, question(call, asked, week)).await?;
        explained = explained.merged(week);
        from = from.add_days(days.into());
    }
    let helps = |reason| !matches!(reason, Reason::ScheduleNotRead | Reason::PatientNotEligible);
    let is_possible = bookable && !asked.is_refused(&explained.rules);
    let can_be_searched = is_possible && explained.reasons.iter().all(|it| helps(it.reason));
    let next = match explained.offered() == 0 && can_be_searched {
        true => asked.search.find(call, location, query, None).await?.1.map(NextTime::Day),
        false => None,
    };
    Ok(view(location, &explained, reasons::of_search(location, &explained, next), None))
}

/// Explains one time.
async fn one_time(
    call: &mut ApiCall,
    location: &OpenLocation,
    asked: &ExplainInput,
    time: TimeQuestion,
    query: SlotQuery,
) -> Result<BookingExplanation<'static>, ApiError> {
    let (provider, operatory) = match time.place {
        Place::Exact { provider, .. } => (Some(provider), None),
        Place::Matching { provider, operatory } => (provider, operatory),
    };
    let query = SlotQuery {
        length: time.span.length(),
        appointment_type: time.appointment_type,
        providers: provider.into_iter().collect(),
        operatories: operatory.into_iter().collect(),
        join_blocks: time.join_blocks,
        ..query
    };
    let time_asked = question(call, asked, Question::Time(time));
    let explained = call.api.engine.explain(location.setup.id, time_asked).await?;
    let slot = explained.slot.ok_or_else(ApiError::internal)?;
    let next = match asked.is_refused(&explained.rules) {
        true => None,
        false => next_time(call, location, slot, query).await?,
    };
    let name = |id: ProviderId| call.api.engine.provider_name(location.institution.id, id.0);
    let provider = slot.provider.map(name).transpose()?.flatten();
    let shown = ExplainedSlotView {
        reason: Word(slot.reason),
        start_local: times::for_people(slot.span.start, location.setup.zone),
        start_iso: times::utc(slot.span.start),
        duration_minutes: slot.span.length() / MINUTE,
        provider,
        provider_id: slot.provider.map(|id| id.0),
        operatory_id: slot.operatory.map(|id| id.0),
        detail: reasons::detail(slot.reason, &explained.rules, asked.patient()),
    };
    Ok(view(location, &explained, reasons::of_time(location, slot, next), Some(shown)))
}

/// Returns the next free time after a time that cannot be booked, unless no other time would help.
async fn next_time(
    call: &mut ApiCall,
    location: &OpenLocation,
    slot: ExplainedSlot,
    query: SlotQuery,
) -> Result<Option<NextTime>, ApiError> {
    let kind = query.appointment_type.map(|id| call.api.engine.appointment_type(location.institution.id, id.0));
    let kind = kind.transpose()?.flatten();
    if !reasons::depends_on_time(slot.reason) || kind.is_some_and(|kind| !kind.bookable_online) {
        return Ok(None);
    }
    // Later times are beyond the horizon, too.
    let later = slot.reason != Reason::BeyondHorizon;
    let not_before = if later { slot.span.start.max(query.not_before) } else { query.not_before };
    let from = times::local(not_before, location.setup.zone).0;
    let query = SlotQuery { from, not_before, limit: 1, ..query };
    let week = week(call, location, &query, from.add_days(i32::from(DAYS)), 1, true).await?;
    let free = week.slots.first().map(|free| NextTime::Start(free.span.start));
    Ok(free.or(week.next.filter(|_| week.slots.is_empty()).map(NextTime::Day)))
}

fn view(
    location: &OpenLocation,
    explained: &Explanation,
    message: String,
    slot: Option<ExplainedSlotView>,
) -> BookingExplanation<'static> {
    let reasons = explained.reasons.iter().map(|it| ReasonCountView {
        reason: Word(it.reason),
        count: it.count,
        example_start_local: times::for_people(it.example, location.setup.zone),
    });
    let considered = explained.considered;
    BookingExplanation { ok: true, message, considered, reasons: reasons.collect(), slot, description: None }
}
