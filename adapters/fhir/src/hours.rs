//! Working hours from a schedule's slots: what touches is one stretch, on one local date.

use adapter_sdk::records::{HourKind, WorkingHour};

use crate::{
    map::known_type,
    responses::{Schedule, Slot},
    settings::Settings,
    time::{instant_of, next_date},
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
    let (start, end) = (instant_of(&slot.start)?, instant_of(&slot.end)?);
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
        let kind = mark(&stretch.types);
        for (date, begin, end) in days(&to_local(stretch.start), &to_local(stretch.end)) {
            for (n, (provider, room)) in places.iter().enumerate() {
                hours.push(WorkingHour {
                    // Short whatever the ids: FHIR allows 64 characters to each.
                    id: format!("{}/{n}/{date}T{begin}{kind}", schedule.id),
                    provider: (*provider).clone(),
                    operatory: (*room).clone(),
                    begin_time: begin.clone(),
                    end_time: end.clone(),
                    days: Vec::new(),
                    specific_date: Some(date.clone()),
                    recurrence: None,
                    kind: HourKind::WorkingHour,
                    appointment_types: stretch.types.clone(),
                    label: schedule.comment.clone(),
                    active: true,
                    extra: Vec::new(),
                });
            }
        }
    }
    hours
}

/// What tells stretches apart that begin together: those of no type in particular need nothing, others the FNV-1a hash of their types.
fn mark(types: &[String]) -> String {
    if types.is_empty() {
        return String::new();
    }
    let bytes = types.iter().flat_map(|code| code.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("/{hash:016x}")
}

/// A stretch of local time as dates with times of day.
fn days(start: &str, end: &str) -> Vec<(String, String, String)> {
    let parts = |text: &str| Some((text.get(..10)?.to_owned(), text.get(11..16)?.to_owned()));
    let (Some((mut date, mut begin)), Some((last, end))) = (parts(start), parts(end)) else { return Vec::new() };
    let mut days = Vec::new();
    while date < last {
        let Some(next) = next_date(&date) else { return days };
        days.push((std::mem::replace(&mut date, next), std::mem::replace(&mut begin, "00:00".into()), "24:00".into()));
    }
    if begin < end {
        days.push((date, begin, end));
    }
    days
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use adapter_sdk::testing::Host;
    use serde_json::json;

    use super::*;

    fn settings() -> Settings {
        let types = r#"[{"id":"hyg","name":"Hygiene","minutes":60}]"#;
        Host::new()
            .manifest(include_str!("../adapter.toml"))
            .config("location", "L")
            .config("appointment_types", types)
            .run(|| Settings::read().unwrap())
    }

    fn slot(status: &str, from: &str, to: &str, code: Option<&str>) -> Slot {
        let at = |time: &str| format!("2026-12-01T{time}:00Z");
        let concepts = code.map(|code| json!([{"coding": [{"code": code}]}])).unwrap_or(json!([]));
        let slot = json!({"id": from, "status": status, "start": at(from), "end": at(to), "serviceType": concepts});
        serde_json::from_value(slot).unwrap()
    }

    fn times(slots: Vec<Slot>) -> Vec<(i64, i64, Vec<String>)> {
        let midnight = instant_of("2026-12-01T00:00:00Z").unwrap();
        let minutes = |at: i64| (at - midnight) / 60;
        let all = stretches(slots, &settings());
        all.into_iter().map(|s| (minutes(s.start), minutes(s.end), s.types)).collect()
    }

    #[test]
    fn slots_that_touch_are_one_stretch() {
        let slots = vec![
            slot("free", "09:30", "10:00", None),
            slot("busy", "09:00", "09:30", None),
            slot("free", "10:00", "10:30", None),
            slot("busy-unavailable", "10:30", "11:00", None),
            slot("entered-in-error", "11:00", "11:30", None),
            slot("busy-tentative", "13:00", "13:30", None),
            slot("free", "13:10", "13:20", None),
            slot("free", "15:00", "15:00", None),
        ];
        assert_eq!(times(slots), [(540, 630, vec![]), (780, 810, vec![])]);
    }

    #[test]
    fn slots_for_other_types_are_other_stretches() {
        let slots = vec![
            slot("free", "09:00", "09:30", Some("hyg")),
            slot("free", "09:30", "10:00", None),
            slot("free", "10:00", "10:30", Some("unknown")),
        ];
        assert_eq!(times(slots), [(540, 570, vec!["hyg".to_owned()]), (570, 630, vec![])]);
    }

    #[test]
    fn stretches_are_cut_at_midnight() {
        let day = |date: &str, begin: &str, end: &str| (date.to_owned(), begin.to_owned(), end.to_owned());
        assert_eq!(days("2026-12-31T09:00:00", "2026-12-31T12:00:00"), [day("2026-12-31", "09:00", "12:00")]);
        assert_eq!(
            days("2026-12-31T22:00:00", "2027-01-01T02:00:00"),
            [day("2026-12-31", "22:00", "24:00"), day("2027-01-01", "00:00", "02:00")]
        );
        assert_eq!(days("2026-12-31T22:00:00", "2027-01-01T00:00:00"), [day("2026-12-31", "22:00", "24:00")]);
        assert_eq!(days("2026-12-31T00:00:00", "2027-01-02T00:00:00").len(), 2);
    }

    #[test]
    fn hours_belong_to_each_practitioner_and_room() {
        let schedule: Schedule = serde_json::from_value(json!({"id": "s", "actor": [
            {"reference": "Practitioner/p"}, {"reference": "https://h/fhir/Location/r"}, {"reference": "Device/d"}]}))
        .unwrap();
        let stretches = [Stretch { start: 0, end: 3_600, types: vec![] }];
        let local = |at: i64| if at == 0 { "2026-12-01T08:00:00" } else { "2026-12-01T09:00:00" }.to_owned();
        let made = hours(&schedule, &["p".into(), "q".into()], &stretches, local);
        assert_eq!(made.len(), 2);
        assert_eq!((made[0].id.as_str(), made[0].operatory.as_deref()), ("s/0/2026-12-01T08:00", Some("r")));
        assert_eq!((made[1].provider.as_str(), made[1].end_time.as_str()), ("q", "09:00"));
    }

    #[test]
    fn stretches_of_different_types_that_begin_together_are_different_hours() {
        let schedule: Schedule =
            serde_json::from_value(json!({"id": "s", "actor": [{"reference": "Practitioner/p"}]})).unwrap();
        let stretch = |types: &[&str]| Stretch {
            start: 0,
            end: 3_600,
            types: types.iter().map(|code| (*code).to_owned()).collect(),
        };
        let stretches = [stretch(&[]), stretch(&["hyg"]), stretch(&["a", "b"]), stretch(&["ab"])];
        let local = |at: i64| if at == 0 { "2026-12-01T08:00:00" } else { "2026-12-01T09:00:00" }.to_owned();
        let ids = |stretches: &[Stretch]| -> Vec<String> {
            hours(&schedule, &["p".into()], stretches, local).into_iter().map(|hour| hour.id).collect()
        };
        let all = ids(&stretches);
        assert_eq!(all[0], "s/0/2026-12-01T08:00");
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{all:?}");
        assert_eq!(all[1], "s/0/2026-12-01T08:00/e9a296cc4d70cfd5", "it is called the same in every pass");
        // Whatever else there is.
        assert_eq!(ids(&stretches[2..]), all[2..]);
    }
}
