//! Days with a clock change. The office's times are local, without an offset.

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;
use location::time::{HOUR, MINUTE, Timestamp};
use records::Writeback;
use runtime::clock;
use serde_json::json;
use tests::harness::in_process::{open_dental::Harness, visitor};

const ZONE: Tz = chrono_tz::America::New_York;

#[actix::test]
async fn skipped_and_ambiguous_local_times_are_read_and_written_consistently() {
    let (forward, back) = changes();
    let local = |at: Timestamp| DateTime::from_timestamp_millis(at.0).unwrap().with_timezone(&ZONE);
    let day = |at: Timestamp| local(at).format("%Y-%m-%d").to_string();
    let nights = [day(forward), day(back)];
    let seed = nights.clone();
    let harness = Harness::open_with(
        ZONE,
        move |database, seeded| {
            for date in &seed {
                // A provider works through the night.
                let night = json!({"SchedDate": date, "StartTime": "00:00:00", "StopTime": "06:00:00",
                    "ProvNum": seeded.providers[0].to_string(), "operatories": seeded.operatories[0].to_string()});
                database.insert("schedules", night);
            }
            for (date, time) in [(&seed[0], "02:30:00"), (&seed[1], "01:30:00")] {
                let row = json!({"PatNum": seeded.patients[3], "Op": seeded.operatories[1], "ProvNum": seeded.providers[1],
                    "AptDateTime": format!("{date} {time}"), "Pattern": "XXXXXX", "Note": "by night"});
                database.insert("appointments", row);
            }
        },
        |place| {
            for (name, value) in [("schedule_days", "400"), ("ahead_days", "400")] {
                place.extras.get_or_insert_default().adapter_config.insert(name.to_owned(), value.to_owned());
            }
        },
    )
    .await;

    // A skipped time is read as the time one hour later, an ambiguous time as the first of the two.
    let seen: Vec<Timestamp> = harness
        .appointments()
        .into_iter()
        .filter(|a| a.note.as_deref() == Some("by night"))
        .map(|a| a.placement.span.start)
        .collect();
    assert_eq!(seen, [forward.plus(30 * MINUTE), back.plus(-30 * MINUTE)]);

    // No slots are offered in the skipped hour.
    let night = ZONE.from_local_datetime(&local(forward).date_naive().into()).earliest().unwrap();
    let night = Timestamp(night.timestamp_millis());
    let from = location::zone::Date::from_ymd(
        nights[0][..4].parse().unwrap(),
        nights[0][5..7].parse().unwrap(),
        nights[0][8..].parse().unwrap(),
    )
    .unwrap();
    let starts: Vec<i64> =
        harness.free_on(0, from).await.into_iter().map(|slot| slot.span.start.since(night) / MINUTE).collect();
    assert!(starts.iter().all(|minute| *minute <= 5 * 60 - 30), "06:00 is five hours after midnight: {starts:?}");

    // Times before and after the skipped hour, and the first of two ambiguous ones, are written as local times and
    // read back unchanged.
    let at = [forward.plus(-30 * MINUTE), forward, back.plus(-HOUR), back.plus(HOUR)];
    for (n, start) in at.into_iter().enumerate() {
        let person = visitor("Night", &format!("Owl {n}"), &format!("555-060-{n:04}"));
        let booked = harness.book(harness.place_at(0, start), &format!("night-{n}"), &person, "").await.unwrap();
        let record = harness.written(booked.appointment.id).await;
        assert_eq!(harness.in_ehr(&record)["AptDateTime"], local(start).format("%Y-%m-%d %H:%M:%S").to_string());
        harness.sync().await;
        assert_eq!(harness.appointment(record.id).placement.span.start, start);
    }

    // The second of two ambiguous times cannot be represented: it would become the first.
    let person = visitor("Night", "Twice", "555-060-0099");
    let id = harness.book(harness.place_at(0, back), "twice", &person, "").await.unwrap().appointment.id;
    harness.idle().await;
    let booking = harness.appointment(id).body.booking.unwrap();
    assert_eq!(booking.writeback, Writeback::Failed);
    assert!(booking.failure_reason.unwrap().contains("show this time twice"));
    harness.engine.stop().await;
}

/// Returns the next instants at which the clocks go forward and back.
fn changes() -> (Timestamp, Timestamp) {
    let offset = |at: i64| {
        let naive = DateTime::from_timestamp(at, 0).unwrap().naive_utc();
        ZONE.offset_from_utc_datetime(&naive).fix().local_minus_utc()
    };
    let now = clock::now().0 / 1_000;
    let first = now - now.rem_euclid(3_600) + 2 * 86_400;
    let hours = (0..398 * 24).map(|n| first + n * 3_600);
    let changes: Vec<i64> = hours.filter(|at| offset(*at) != offset(at - 3_600)).collect();
    let of = |forward: bool| {
        let change = changes.iter().find(|at| (offset(**at) > offset(**at - 3_600)) == forward);
        Timestamp(change.expect("both within a year") * 1_000)
    };
    (of(true), of(false))
}
