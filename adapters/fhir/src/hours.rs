//! Working hours from a schedule's slots: free time minus occupied time, merged where it touches, and split by local
//! date.

use adapter_sdk::{
    mark,
    records::WorkingHour,
    spans::Span,
    time::{date_of, date_text},
};

use crate::{
    map::known_type,
    responses::{Schedule, Slot},
    settings::Settings,
};

/// A period of working time and its appointment types; empty for all types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPeriod {
    pub start: i64,
    pub end: i64,
    pub types: Vec<String>,
}

/// Time of a practitioner or a room occupied by an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupiedTime {
    pub span: Span,
    /// The engine has the appointment with this practitioner or room and subtracts its time itself.
    pub shown: bool,
}

/// Returns free time minus occupied time. A busy slot is working time if it has our mark, or as far as an appointment
/// known to the engine occupies it. Otherwise its time is occupied.
pub fn stretches(slots: &[Slot], taken: &[OccupiedTime], settings: &Settings) -> Vec<OpenPeriod> {
    let mut open: Vec<OpenPeriod> = Vec::new();
    let mut closed: Vec<Span> = taken.iter().filter(|taken| !taken.shown).map(|taken| taken.span).collect();
    let shown: Vec<Span> = taken.iter().filter(|taken| taken.shown).map(|taken| taken.span).collect();
    for slot in slots {
        let Some(whole) = stretch(slot, settings) else { continue };
        match slot.status.as_str() {
            "free" => open.push(whole),
            "busy" if slot.is_marked(settings) => open.push(whole),
            "busy" | "busy-tentative" => {
                let left = less((whole.start, whole.end), &shown);
                let ours = less((whole.start, whole.end), &left);
                open.extend(ours.into_iter().map(|(start, end)| OpenPeriod { start, end, types: whole.types.clone() }));
                closed.extend(left);
            }
            "entered-in-error" => (),
            // `busy-unavailable` and unknown statuses.
            _ => closed.push((whole.start, whole.end)),
        }
    }
    open.sort_by(|a, b| (&a.types, a.start).cmp(&(&b.types, b.start)));
    let mut merged: Vec<OpenPeriod> = Vec::new();
    for next in open {
        match merged.last_mut() {
            Some(last) if last.types == next.types && next.start <= last.end => last.end = last.end.max(next.end),
            _ => merged.push(next),
        }
    }
    let parts = |OpenPeriod { start, end, types }: OpenPeriod| {
        let left = less((start, end), &closed);
        left.into_iter().map(move |(start, end)| OpenPeriod { start, end, types: types.clone() })
    };
    let mut left: Vec<OpenPeriod> = merged.into_iter().flat_map(parts).collect();
    left.sort_by_key(|s| s.start);
    left
}

/// Returns the parts of a span outside `others`, in order.
fn less(whole: Span, others: &[Span]) -> Vec<Span> {
    let mut others = others.to_vec();
    others.sort_unstable();
    let (mut at, mut left) = (whole.0, Vec::new());
    for (start, end) in others {
        if at < start.min(whole.1) {
            left.push((at, start.min(whole.1)));
        }
        at = at.max(end);
    }
    if at < whole.1 {
        left.push((at, whole.1));
    }
    left
}

/// Converts a slot. Codes that are not configured types are ignored.
fn stretch(slot: &Slot, settings: &Settings) -> Option<OpenPeriod> {
    let (start, end) = slot.span()?;
    let concepts = slot.service_type.iter().chain(std::iter::once(&slot.appointment_type));
    let codes = concepts.flat_map(|concept| &concept.coding).filter_map(|coding| coding.code.clone());
    let mut types: Vec<String> =
        codes.filter(|code| !settings.types.is_empty() && known_type(settings, code)).collect();
    types.sort();
    types.dedup();
    (start < end).then_some(OpenPeriod { start, end, types })
}

/// Returns the hours of a schedule for each practitioner in each room: the result of `open` for the two, split at local
/// midnights. `to_local` returns `YYYY-MM-DDTHH:MM:SS`.
pub fn hours(
    schedule: &Schedule,
    practitioners: &[String],
    open: impl Fn(&str, Option<&str>) -> Vec<OpenPeriod>,
    to_local: impl Fn(i64) -> String,
) -> Vec<WorkingHour> {
    let rooms: Vec<Option<String>> = schedule.actor.iter().filter_map(|a| a.id_of("Location")).map(Some).collect();
    let rooms = if rooms.is_empty() { vec![None] } else { rooms };
    let places = practitioners.iter().flat_map(|p| rooms.iter().map(move |room| (p, room)));
    let mut hours = Vec::new();
    for (n, (provider, room)) in places.enumerate() {
        for stretch in open(provider, room.as_deref()) {
            let kind = suffix(&stretch.types);
            for (date, begin, end) in days(&to_local(stretch.start), &to_local(stretch.end)) {
                hours.push(WorkingHour {
                    // Short for all ids, since FHIR allows 64 characters each.
                    id: format!("{}/{n}/{date}T{begin}{kind}", schedule.id),
                    provider: provider.clone(),
                    operatory: room.clone(),
                    begin_time: begin,
                    end_time: end,
                    specific_date: Some(date),
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

/// Returns a suffix that distinguishes periods with the same start: empty for all types, else a hash of the types.
fn suffix(types: &[String]) -> String {
    if types.is_empty() {
        return String::new();
    }
    format!("/{}", mark::digest(types.iter().flat_map(|code| code.bytes().chain([0]))))
}

/// Splits a local period into dates with times of day.
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
