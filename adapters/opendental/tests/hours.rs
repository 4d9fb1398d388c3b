//! Schedules as working hours.

use adapter_sdk::{Adapter, Page, Record, Resource, http::Response, testing::Host, time::instant_of};
use opendental_adapter::OpenDental;
use serde_json::{Value, json};

const DAY: &str = "2026-12-01";

/// An office with these schedules of a provider and of the practice.
struct Office {
    operatories: Value,
    provider: Vec<Value>,
    practice: Vec<Value>,
    settings: &'static [(&'static str, &'static str)],
}

fn entry(date: &str, start: &str, stop: &str) -> Value {
    json!({"ScheduleNum": 1, "SchedDate": date, "StartTime": start, "StopTime": stop, "ProvNum": "7"})
}

/// Hours of one provider in the provider's operatories.
fn office(provider: Vec<Value>, practice: Vec<Value>) -> Office {
    let operatories = json!([{"OperatoryNum": 1, "ProvDentist": 7}]);
    Office { operatories, provider, practice, settings: &[] }
}

impl Office {
    /// Returns operatory, start and end.
    fn hours(self) -> Vec<(Option<String>, String, String)> {
        let page = self.page();
        let hour = |record| match record {
            Record::WorkingHour(hour) => (hour.operatory, hour.begin_time, hour.end_time),
            other => panic!("{other:?}"),
        };
        page.records.into_iter().map(hour).collect()
    }

    fn page(self) -> Page {
        let host = Host::new().at(instant_of("2026-12-01T13:00:00Z").unwrap()).config("schedule_days", "1");
        let host = self.settings.iter().fold(host, |host, (name, value)| host.config(name, value));
        let host = host.manifest(include_str!("../adapter.toml")).answer(move |request| {
            let rows = match request.path.as_str() {
                path if path.starts_with("/operatories") => self.operatories.clone(),
                path if path.contains("SchedType=Provider") => json!(self.provider),
                _ => json!(self.practice),
            };
            Ok(Response { status: 200, headers: Vec::new(), body: rows.to_string().into_bytes() })
        });
        host.run(|| OpenDental::pull(Resource::WorkingHours, None, 500)).unwrap()
    }
}

fn times(office: Office) -> Vec<(String, String)> {
    office.hours().into_iter().map(|(_, begin, end)| (begin, end)).collect()
}

fn spans(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(begin, end)| ((*begin).to_owned(), (*end).to_owned())).collect()
}

#[test]
fn the_practices_entries_open_and_close() {
    let day = || vec![entry(DAY, "08:00:00", "17:00:00")];
    let holiday = || entry(DAY, "00:00:00", "00:00:00");
    let open = spans(&[("08:00", "17:00")]);
    assert_eq!(times(office(day(), vec![])), open);
    assert_eq!(times(office(day(), vec![entry("2026-12-02", "00:00:00", "00:00:00")])), open);
    assert!(times(office(day(), vec![holiday()])).is_empty());
    let notes = Office { settings: &[("day_notes", "ignore")], ..office(day(), vec![holiday()]) };
    assert_eq!(times(notes), open);
    let (morning, evening) = (entry(DAY, "07:00:00", "12:00:00"), entry(DAY, "13:00:00", "20:00:00"));
    let both = spans(&[("08:00", "12:00"), ("13:00", "17:00")]);
    assert_eq!(times(office(day(), vec![evening, morning])), both);
}

#[test]
fn entries_without_operatories_are_for_the_providers_own() {
    let rooms = |operatories: &str, provider: &str, location: &'static [(&'static str, &'static str)]| {
        let entry = json!({"ScheduleNum": 1, "SchedDate": DAY, "StartTime": "08:00:00", "StopTime": "17:00:00",
            "ProvNum": provider, "operatories": operatories});
        let operatories = json!([
            {"OperatoryNum": 1, "ProvDentist": 7, "IsHidden": "false"},
            {"OperatoryNum": 2, "ProvDentist": 8, "IsHidden": "false"},
            {"OperatoryNum": 3, "ProvDentist": 7, "IsHidden": "true"},
        ]);
        let office = Office { operatories, settings: location, ..office(vec![entry], vec![]) };
        office.hours().into_iter().map(|(room, ..)| room).collect::<Vec<_>>()
    };
    let room = |id: &str| Some(id.to_owned());
    assert_eq!(rooms("2,1,9", "7", &[]), [room("2"), room("1")]);
    assert_eq!(rooms("", "7", &[]), [room("1")]);
    assert_eq!(rooms("", "9", &[]), [None]);
    // An office with other clinics, to which the entry may belong.
    assert!(rooms("", "9", &[("location", "3")]).is_empty());
}

#[test]
fn times_of_day() {
    let shown = |start: &str, stop: &str| times(office(vec![entry(DAY, start, stop)], vec![]));
    assert_eq!(shown("08:30:00", "12:00:00"), spans(&[("08:30", "12:00")]));
    assert_eq!(shown("20:00:00", "00:00:00"), spans(&[("20:00", "24:00")]));
    assert_eq!(shown("00:00:00", "23:59:00"), spans(&[("00:00", "24:00")]));
    for (start, stop) in [("8:30 AM", "12:00 PM"), ("08:30", "12:00"), (" 08:30:00.000 ", "12:00:00")] {
        assert_eq!(shown(start, stop), spans(&[("08:30", "12:00")]), "{start} {stop}");
    }
    assert_eq!(shown("12:00 AM", "1:00 pm"), spans(&[("00:00", "13:00")]));
}

#[test]
fn an_unreadable_entry_is_skipped_and_deletes_nothing() {
    let whole = |provider: Vec<Value>, practice: Vec<Value>| {
        let page = office(provider, practice).page();
        (page.records.len(), page.whole, page.deleted.len(), page.skipped.len())
    };
    let good =
        || json!({"ScheduleNum": 2, "SchedDate": DAY, "StartTime": "18:00:00", "StopTime": "19:00:00", "ProvNum": "7"});
    for (start, stop) in [("00:00:00", "00:00:00"), ("", ""), ("08:00:00", "08:00:00")] {
        assert_eq!(whole(vec![entry(DAY, start, stop), good()], vec![]), (1, true, 0, 0), "an entry without hours");
    }
    for (start, stop) in [
        ("12:00:00", "08:00:00"),
        ("", "08:00:00"),
        ("08:00:00", ""),
        ("25:00:00", "26:00:00"),
        ("8", "12"),
        ("soon", "12:00:00"),
        ("13:00 PM", "18:00:00"),
        ("08:60:00", "12:00:00"),
    ] {
        assert_eq!(whole(vec![entry(DAY, start, stop), good()], vec![]), (1, false, 0, 0), "{start} {stop}");
        // The practice may be closed then.
        assert_eq!(whole(vec![good()], vec![entry(DAY, start, stop)]), (0, false, 0, 0), "{start} {stop}");
    }
    for (field, value) in
        [("SchedDate", json!("soon")), ("SchedDate", json!("2026-13-01")), ("operatories", json!("1,x"))]
    {
        let mut entry = entry(DAY, "08:00:00", "12:00:00");
        entry[field] = value;
        assert_eq!(whole(vec![entry, good()], vec![]), (1, false, 0, 0), "{field}");
    }
    // A date with a time is that day; a day outside the request is ignored.
    let dated = |date: &str| whole(vec![entry(date, "08:00:00", "12:00:00")], vec![]);
    assert_eq!(dated("2026-12-01T00:00:00"), (1, true, 0, 0));
    assert_eq!(dated("2027-01-05"), (0, true, 0, 0));
}
