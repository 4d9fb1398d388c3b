//! Working hours from a schedule's slots: what touches is one stretch, on one local date.

use adapter_sdk::{
    mark,
    records::WorkingHour,
    time::{date_of, date_text},
};

use crate::{
    map::known_type,
    responses::{Schedule, Slot},
    settings::Settings,
};

/// A stretch of time somebody works, and the appointment types it is for; none means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: i64,
    pub end: i64,
    pub types: Vec<String>,
}

/// Free and busy slots that touch or overlap become one stretch. What is `busy-unavailable` is nobody's working time.
pub fn stretches(slots: Vec<Slot>, settings: &Settings) -> Vec<Stretch> {
    let worked = slots.into_iter().filter(|s| matches!(s.status.as_str(), "free" | "busy" | "busy-tentative"));
    let mut all: Vec<Stretch> = worked.filter_map(|slot| stretch(&slot, settings)).collect();
    all.sort_by(|a, b| (&a.types, a.start).cmp(&(&b.types, b.start)));
    let mut merged: Vec<Stretch> = Vec::new();
    for next in all {
        match merged.last_mut() {
            Some(last) if last.types == next.types && next.start <= last.end => last.end = last.end.max(next.end),
            _ => merged.push(next),
        }
    }
    merged.sort_by_key(|s| s.start);
    merged
}

/// Codes that are not among the configured types say nothing to us.
fn stretch(slot: &Slot, settings: &Settings) -> Option<Stretch> {
    let (start, end) = slot.span()?;
    let concepts = slot.service_type.iter().chain(std::iter::once(&slot.appointment_type));
    let codes = concepts.flat_map(|concept| &concept.coding).filter_map(|coding| coding.code.clone());
    let mut types: Vec<String> =
        codes.filter(|code| !settings.types.is_empty() && known_type(settings, code)).collect();
    types.sort();
    types.dedup();
    (start < end).then_some(Stretch { start, end, types })
}

/// The hours of a schedule: each stretch, cut at local midnights, for each of its practitioners in each of its rooms.
/// `to_local` gives `YYYY-MM-DDTHH:MM:SS`.
pub fn hours(
    schedule: &Schedule,
    practitioners: &[String],
    stretches: &[Stretch],
    to_local: impl Fn(i64) -> String,
) -> Vec<WorkingHour> {
    let rooms: Vec<Option<String>> = schedule.actor.iter().filter_map(|a| a.id_of("Location")).map(Some).collect();
    let rooms = if rooms.is_empty() { vec![None] } else { rooms };
    let places: Vec<_> = practitioners.iter().flat_map(|p| rooms.iter().map(move |room| (p, room))).collect();
    let mut hours = Vec::new();
    for stretch in stretches {
        let kind = suffix(&stretch.types);
        for (date, begin, end) in days(&to_local(stretch.start), &to_local(stretch.end)) {
            for (n, (provider, room)) in places.iter().enumerate() {
                hours.push(WorkingHour {
                    // Short whatever the ids: FHIR allows 64 characters to each.
                    id: format!("{}/{n}/{date}T{begin}{kind}", schedule.id),
                    provider: (*provider).clone(),
                    operatory: (*room).clone(),
                    begin_time: begin.clone(),
                    end_time: end.clone(),
                    specific_date: Some(date.clone()),
                    appointment_types: stretch.types.clone(),
                    label: schedule.comment.clone(),
                    active: true,
                    ..WorkingHour::default()
                });
            }
        }
    }
    hours
}

/// What tells stretches apart that begin together: those of no type in particular need nothing, others a mark of their types.
fn suffix(types: &[String]) -> String {
    if types.is_empty() {
        return String::new();
    }
    format!("/{}", mark::of(types.iter().flat_map(|code| code.bytes().chain([0]))))
}

/// A stretch of local time as dates with times of day.
fn days(start: &str, end: &str) -> Vec<(String, String, String)> {
    let parts = |text: &str| Some((date_of(text.get(..10)?)?, text.get(11..16)?.to_owned()));
    let (Some((first, begin)), Some((last, end))) = (parts(start), parts(end)) else { return Vec::new() };
    let day = |day: i64| {
        let begin = if day == first { &begin } else { "00:00" };
        let end = if day == last { &end } else { "24:00" };
        (begin < end).then(|| (date_text(day), begin.to_owned(), end.to_owned()))
    };
    (first..=last).filter_map(day).collect()
}
