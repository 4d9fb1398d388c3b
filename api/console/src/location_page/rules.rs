//! The booking rules in force at a location, and the reasons why its times can or cannot be booked.

use std::sync::Arc;

use actix_web::web::Path;
use endpoints::resources::{booking::reasons::detail, schedule::available_slots::minutes};
use engine::setup::Institution;
use framework::values::limits::MAX_SLOTS_SIFTED;
use location::{
    AppointmentTypeId, Date, MINUTE, Millis, OperatoryId, ProviderId, Reason, RuleSet, SlotQuery, Span, VisitRules,
    explain::{ExplainQuery, ExplainedSlot, Explanation, Place, Question, TimeQuestion},
    rules::{DailyCaps, PatientFacts},
    slots::StartFilter,
};

use crate::{prelude::*, words::span};

#[derive(Template)]
#[template(path = "console/rules.html")]
struct RulesPage {
    frame: PageFrame,
    location: Arc<LocationSetup>,
    institution: Arc<Institution>,
    tables: Vec<RuleTable>,
    /// Channels that rules mention.
    channels: Vec<String>,
    question: QuestionFields,
    explained: Option<ExplainedTimes>,
    operates: bool,
}

/// The rules that differ from the neutral ones, for some visits.
struct RuleTable {
    about: String,
    rows: Vec<RuleRow>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct RuleRow {
    pub key: &'static str,
    pub value: String,
}

/// The fields of the form, as submitted. Empty fields were not submitted.
struct QuestionFields {
    day: String,
    time: String,
    provider: String,
    operatory: String,
    appointment_type: String,
    channel: String,
    is_new: bool,
}

struct ExplainedTimes {
    about: String,
    /// `true` if only the first times were considered.
    truncated: bool,
    considered: u32,
    rows: Vec<ReasonRow>,
    /// The place with the least obstacle, for one time.
    slot: Option<String>,
}

struct ReasonRow {
    badge: Badge,
    count: u32,
    example: String,
    detail: String,
}

pub(crate) async fn show(visit: ConsoleRequest, id: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let id = id.parse().map(LocationId).map_err(|_| ApiError::not_found(format!("Location {id}")))?;
    let page = read_blocking(&visit, move |visit| read(visit, id)).await?;
    visit.show("GET /console/locations/{id}/rules", &page).await
}

async fn read(visit: ConsoleRequest, id: LocationId) -> Result<RulesPage, ConsoleError> {
    let (location, institution) = visit.local_location(id)?;
    visit.about(&location);
    let today = times::local(visit.api.engine.now(), location.zone).0;
    let question = QuestionFields::read(&visit, today);
    let explained = match visit.query_value("day") {
        Some(_) => Some(question.explain(&visit, &location, today).await?),
        None => None,
    };
    Ok(RulesPage {
        frame: visit.frame("fleet", format!("Booking rules of {}", location.name)),
        tables: tables(&visit, &location)?,
        channels: location.settings.booking.rules.channels.keys().cloned().collect(),
        question,
        explained,
        operates: visit.may(Role::Operator),
        location,
        institution,
    })
}

/// Returns the rules in force for all visits, and for each type and channel that overrides rules.
fn tables(visit: &ConsoleRequest, location: &LocationSetup) -> Result<Vec<RuleTable>, ConsoleError> {
    let rules: &RuleSet = &location.settings.booking.rules;
    let mut tables = vec![RuleTable { about: "All visits".to_owned(), rows: rows(&rules.plain) }];
    for id in rules.types.keys() {
        let known = visit.api.engine.appointment_type(location.institution, id.0)?;
        let name = known.map_or_else(|| "unknown".to_owned(), |it| it.body.name);
        tables.push(RuleTable {
            about: format!("Appointment type {id}, {name}"),
            rows: rows(&rules.effective(Some(*id), None)),
        });
    }
    for channel in rules.channels.keys() {
        let about = format!("API keys with the channel {channel}");
        tables.push(RuleTable { about, rows: rows(&rules.effective(None, Some(channel))) });
    }
    Ok(tables)
}

/// Returns the values that differ from the neutral ones, by the keys of the configuration.
pub fn rows(rules: &VisitRules) -> Vec<RuleRow> {
    let VisitRules {
        minimum_notice,
        minimum_notice_days,
        cutoff,
        horizon_days,
        buffer_before,
        buffer_after,
        daily_visits,
        daily_minutes,
        daily_visits_per_provider,
        daily_minutes_per_provider,
        closures,
        align,
        new_patients,
        known_patients,
        age_min,
        age_max,
        cancel_notice,
        reschedule_notice,
        instead,
        type_caps,
    } = rules;
    let neutral = VisitRules::default();
    let length = |length: Millis| (length != 0).then(|| span(length));
    let count = |number: Option<u32>| number.map(|number| number.to_string());
    let age = |age: Option<u16>| age.map(|age| format!("{age} years"));
    let refused = |allowed: bool| (!allowed).then(|| "refused".to_owned());
    let days = |days: u16, neutral: u16| (days != neutral).then(|| format!("{days} d"));
    let closures: Vec<String> = closures.iter().map(ToString::to_string).collect();
    let DailyCaps { visits, minutes, visits_per_provider, minutes_per_provider } = *type_caps;
    let values = [
        ("minimum_notice", length(*minimum_notice)),
        ("minimum_notice_days", days(*minimum_notice_days, neutral.minimum_notice_days)),
        ("cutoff", cutoff.map(|minute| format!("{:02}:{:02}", minute / 60, minute % 60))),
        ("horizon", days(*horizon_days, neutral.horizon_days)),
        ("buffer_before", length(*buffer_before)),
        ("buffer_after", length(*buffer_after)),
        ("daily_visits", count(*daily_visits)),
        ("daily_minutes", count(*daily_minutes)),
        ("daily_visits_per_provider", count(*daily_visits_per_provider)),
        ("daily_minutes_per_provider", count(*daily_minutes_per_provider)),
        ("daily_visits of the type", count(visits)),
        ("daily_minutes of the type", count(minutes)),
        ("daily_visits_per_provider of the type", count(visits_per_provider)),
        ("daily_minutes_per_provider of the type", count(minutes_per_provider)),
        ("closures", (!closures.is_empty()).then(|| closures.join(", "))),
        ("align", align.map(|minutes| format!("{minutes} min"))),
        ("new_patients", refused(*new_patients)),
        ("known_patients", refused(*known_patients)),
        ("age_min", age(*age_min)),
        ("age_max", age(*age_max)),
        ("cancel_notice", length(*cancel_notice)),
        ("reschedule_notice", length(*reschedule_notice)),
        ("instead", instead.as_ref().map(ToString::to_string)),
    ];
    values.into_iter().filter_map(|(key, value)| Some(RuleRow { key, value: value? })).collect()
}

impl QuestionFields {
    fn read(visit: &ConsoleRequest, today: Date) -> QuestionFields {
        let value = |name| visit.query_value(name).unwrap_or_default().to_owned();
        QuestionFields {
            day: visit.query_value("day").map_or_else(|| today.to_string(), str::to_owned),
            time: value("time"),
            provider: value("provider"),
            operatory: value("operatory"),
            appointment_type: value("type"),
            channel: value("channel"),
            is_new: visit.query_value("new_patient").is_some(),
        }
    }

    async fn explain(
        &self,
        visit: &ConsoleRequest,
        location: &LocationSetup,
        today: Date,
    ) -> Result<ExplainedTimes, ConsoleError> {
        visit.needs(Role::Operator)?;
        let engine = &visit.api.engine;
        let zone = engine.zone(location.id).ok_or_else(|| ApiError::location_not_found(location.id))?;
        let date = self.day.parse::<Date>().map_err(|_| ApiError::bad("day must be a date such as 2026-12-01"))?;
        if date < today {
            return Err(ApiError::bad(format!("day must be {today} or later")).into());
        }
        let provider = id(&self.provider, "provider")?.map(ProviderId);
        let operatory = id(&self.operatory, "operatory")?.map(OperatoryId);
        let appointment_type = id(&self.appointment_type, "type")?.map(AppointmentTypeId);
        let kind = match appointment_type {
            Some(id) => {
                let known = engine.appointment_type(location.institution, id.0)?;
                Some(known.ok_or_else(|| ApiError::not_found(format!("Appointment Type with id {id}")))?)
            }
            None => None,
        };
        let length = minutes(None, kind.as_ref()) * MINUTE;
        let question = match time_of_day(&self.time)? {
            Some(minute) => {
                let start = zone.resolve(date, minute).first();
                let span = Span { start, end: start.plus(length) };
                let place = Place::Matching { provider, operatory };
                let own = Vec::new();
                Question::Time(TimeQuestion { span, place, appointment_type, join_blocks: true, own })
            }
            None => Question::Search {
                query: SlotQuery {
                    from: date,
                    days: 1,
                    length,
                    interval: None,
                    appointment_type,
                    providers: provider.into_iter().collect(),
                    operatories: operatory.into_iter().collect(),
                    source: None,
                    hours: None,
                    join_blocks: true,
                    overlapping_operatory_slots: false,
                    appointments_per_timeslot: 1,
                    not_before: engine.now(),
                    limit: MAX_SLOTS_SIFTED,
                },
                starts: StartFilter::default(),
            },
        };
        let channel = Some(self.channel.clone()).filter(|channel| !channel.is_empty());
        let patient = self.is_new.then_some(PatientFacts { is_new: true, date_of_birth: None });
        let found = engine.explain(location.id, ExplainQuery { question, channel, patient }).await?;
        let about = format!("{date} {}", self.time).trim_end().to_owned();
        Ok(ExplainedTimes::new(visit, location, &found, patient, about))
    }
}

impl ExplainedTimes {
    fn new(
        visit: &ConsoleRequest,
        location: &LocationSetup,
        found: &Explanation,
        patient: Option<PatientFacts>,
        about: String,
    ) -> ExplainedTimes {
        let rows = found.reasons.iter().map(|it| ReasonRow {
            badge: match it.reason {
                Reason::Offered => Badge::good(it.reason.word()),
                _ => Badge::plain(it.reason.word()),
            },
            count: it.count,
            example: times::for_people(it.example, location.zone),
            detail: detail(it.reason, &found.rules, patient),
        });
        ExplainedTimes {
            about,
            truncated: found.truncated,
            considered: found.considered,
            rows: rows.collect(),
            slot: found.slot.map(|slot| place(visit, location, slot)),
        }
    }
}

/// Describes the place of a time in one line.
fn place(visit: &ConsoleRequest, location: &LocationSetup, slot: ExplainedSlot) -> String {
    let engine = &visit.api.engine;
    let provider = slot.provider.map(|id| {
        let name = engine.provider_name(location.institution, id.0).ok().flatten();
        name.map_or_else(|| format!("provider {id}"), |name| format!("{name} ({id})"))
    });
    let operatory = slot.operatory.map(|id| {
        let known = engine.operatory(location.id, id.0).ok().flatten();
        known.map_or_else(|| format!("operatory {id}"), |it| format!("{} ({id})", it.body.name))
    });
    let places: Vec<String> = provider.into_iter().chain(operatory).collect();
    let reason = slot.reason.word().replace('_', " ");
    if places.is_empty() { reason } else { format!("{}: {reason}", places.join(", ")) }
}

/// Parses the id of a field, or returns `None` if the field is empty.
fn id<T: std::str::FromStr>(text: &str, field: &str) -> Result<Option<T>, ApiError> {
    let wrong = |_| ApiError::bad(format!("{field} must be the id of a record"));
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(wrong) }
}

/// Parses a local time into minutes after midnight, or returns `None` if the field is empty.
fn time_of_day(text: &str) -> Result<Option<u16>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let parts = text.split_once(':').and_then(|(hour, minute)| hour.parse().ok().zip(minute.parse().ok()));
    let known = parts.filter(|(hour, minute): &(u16, u16)| *hour < 24 && *minute < 60);
    let wrong = || ApiError::bad("time must be a local time such as 14:30");
    known.map(|(hour, minute)| Some(hour * 60 + minute)).ok_or_else(wrong)
}
