//! Working hours of slots.

use adapter_sdk::time::instant_of;
use fhir_adapter::{
    hours::{OpenPeriod, hours, stretches},
    responses::{Schedule, Slot},
    settings::Settings,
};
use serde_json::json;

use crate::parts::host;

fn settings() -> Settings {
    let types = r#"[{"id":"hyg","name":"Hygiene","minutes":60}]"#;
    host().config("appointment_types", types).run(Settings::read).unwrap()
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
    let all = stretches(&slots, &[], &settings());
    all.into_iter().map(|s| (minutes(s.start), minutes(s.end), s.types)).collect()
}

#[test]
fn adjacent_free_slots_are_merged_and_busy_time_is_subtracted() {
    let slots = vec![
        slot("free", "09:30", "10:00", None),
        slot("busy", "08:30", "09:00", None),
        slot("free", "09:00", "09:30", None),
        slot("free", "10:00", "10:30", None),
        slot("busy-unavailable", "10:30", "11:00", None),
        slot("entered-in-error", "11:00", "11:30", None),
        slot("busy-tentative", "13:00", "13:30", None),
        slot("free", "13:10", "13:40", None),
        slot("free", "14:00", "18:00", None),
        slot("busy-unavailable", "15:00", "16:00", None),
        slot("free", "15:00", "15:00", None),
    ];
    assert_eq!(times(slots), [(540, 630, vec![]), (810, 820, vec![]), (840, 900, vec![]), (960, 1080, vec![])]);
}

#[test]
fn slots_of_different_types_are_not_merged() {
    let slots = vec![
        slot("free", "09:00", "09:30", Some("hyg")),
        slot("free", "09:30", "10:00", None),
        slot("free", "10:00", "10:30", Some("unknown")),
    ];
    assert_eq!(times(slots), [(540, 570, vec!["hyg".to_owned()]), (570, 630, vec![])]);
}

#[test]
fn periods_are_split_at_midnight() {
    let schedule: Schedule = serde_json::from_value(json!({"id": "s"})).unwrap();
    let days = |start: &str, end: &str| -> Vec<(String, String, String)> {
        let local = |at: i64| if at == 0 { start } else { end }.to_owned();
        let made = hours(&schedule, &["p".into()], |_, _| vec![OpenPeriod { start: 0, end: 1, types: vec![] }], local);
        made.into_iter().map(|hour| (hour.specific_date.unwrap(), hour.begin_time, hour.end_time)).collect()
    };
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
    let open = |_: &str, _: Option<&str>| vec![OpenPeriod { start: 0, end: 3_600, types: vec![] }];
    let local = |at: i64| if at == 0 { "2026-12-01T08:00:00" } else { "2026-12-01T09:00:00" }.to_owned();
    let made = hours(&schedule, &["p".into(), "q".into()], open, local);
    assert_eq!(made.len(), 2);
    assert_eq!((made[0].id.as_str(), made[0].operatory.as_deref()), ("s/0/2026-12-01T08:00", Some("r")));
    assert_eq!((made[1].provider.as_str(), made[1].end_time.as_str()), ("q", "09:00"));
}

#[test]
fn periods_with_the_same_start_and_different_types_have_different_ids() {
    let schedule: Schedule =
        serde_json::from_value(json!({"id": "s", "actor": [{"reference": "Practitioner/p"}]})).unwrap();
    let stretch = |types: &[&str]| OpenPeriod {
        start: 0,
        end: 3_600,
        types: types.iter().map(|code| (*code).to_owned()).collect(),
    };
    let stretches = [stretch(&[]), stretch(&["hyg"]), stretch(&["a", "b"]), stretch(&["ab"])];
    let local = |at: i64| if at == 0 { "2026-12-01T08:00:00" } else { "2026-12-01T09:00:00" }.to_owned();
    let ids = |stretches: &[OpenPeriod]| -> Vec<String> {
        hours(&schedule, &["p".into()], |_, _| stretches.to_vec(), local).into_iter().map(|hour| hour.id).collect()
    };
    let all = ids(&stretches);
    assert_eq!(all[0], "s/0/2026-12-01T08:00");
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{all:?}");
    assert_eq!(all[1], "s/0/2026-12-01T08:00/e9a296cc4d70cfd5", "it is called the same in every pass");
    // Whatever other periods exist.
    assert_eq!(ids(&stretches[2..]), all[2..]);
}
