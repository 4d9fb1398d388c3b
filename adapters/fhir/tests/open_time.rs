//! Open time, as working hours minus the engine's appointments, compared minute by minute with a model of the standard.

use std::collections::BTreeSet;

use crate::server::Server;
use adapter_sdk::{
    Adapter, Record, Resource,
    records::Appointment,
    time::{instant_of, instant_text},
};
use fhir_adapter::Fhir;
use serde_json::{Value, json};

const DAY: &str = "2026-12-01";
/// Minute of the day, in the host's zone of UTC-5.
const OPENS: i64 = 8 * 60;
const CLOSES: i64 = 14 * 60;

fn instant(minute: i64) -> i64 {
    instant_of(&format!("{DAY}T05:00:00Z")).unwrap() + minute * 60
}

fn reference(to: &str) -> Value {
    json!({"reference": to})
}

fn dated(mut resource: Value) -> Value {
    resource["meta"] = json!({"versionId": "1", "lastUpdated": "2026-11-20T00:00:00Z"});
    resource
}

/// A site with two rooms and two practitioners, each practitioner in one of the rooms, and a room of another site.
fn practice(more: impl IntoIterator<Item = Value>) -> Server {
    let room = |id: &str, of: &str| json!({"resourceType": "Location", "id": id, "name": id, "partOf": reference(of)});
    let schedule =
        |id: &str, actors: [&str; 2]| json!({"resourceType": "Schedule", "id": id, "actor": actors.map(reference)});
    let fixed = [
        json!({"resourceType": "Location", "id": "site", "name": "Site"}),
        room("r1", "Location/site"),
        room("r2", "Location/site"),
        room("far", "Location/other"),
        schedule("s1", ["Practitioner/d1", "Location/r1"]),
        schedule("s2", ["Practitioner/d2", "Location/r2"]),
    ];
    Server::with_resources(fixed.into_iter().chain(more).map(dated).collect())
}

fn slot(id: &str, schedule: &str, status: &str, (start, end): (i64, i64)) -> Value {
    json!({"resourceType": "Slot", "id": id, "schedule": reference(&format!("Schedule/{schedule}")), "status": status,
        "start": instant_text(instant(start)), "end": instant_text(instant(end))})
}

fn appointment(id: &str, status: &str, (start, end): (i64, i64), actors: &[(&str, &str)]) -> Value {
    let participant = |(actor, status): &(&str, &str)| json!({"actor": reference(actor), "status": status});
    json!({"resourceType": "Appointment", "id": id, "status": status, "start": instant_text(instant(start)),
        "end": instant_text(instant(end)), "participant": actors.iter().map(participant).collect::<Vec<_>>()})
}

fn pulled(server: &Server, resource: Resource) -> Vec<Record> {
    let (mut records, mut cursor) = (Vec::new(), None);
    loop {
        let page = server.run(|| Fhir::pull(resource, cursor, 100)).unwrap();
        records.extend(page.records);
        if page.last {
            return records;
        }
        cursor = Some(page.cursor);
    }
}

fn appointments(server: &Server) -> Vec<Appointment> {
    let of = |record| match record {
        Record::Appointment(appointment) => appointment,
        other => panic!("{other:?}"),
    };
    pulled(server, Resource::Appointments).into_iter().map(of).collect()
}

/// Returns the minutes of the day at which a practitioner is open in a room, computed like the engine: hours without
/// appointments of either.
fn open(server: &Server, provider: &str, room: &str) -> BTreeSet<i64> {
    open_of(&pulled(server, Resource::WorkingHours), &appointments(server), provider, room)
}

fn open_of(hours: &[Record], appointments: &[Appointment], provider: &str, room: &str) -> BTreeSet<i64> {
    let mut open = BTreeSet::new();
    let minute = |text: &str| text[..2].parse::<i64>().unwrap() * 60 + text[3..].parse::<i64>().unwrap();
    for record in hours {
        let Record::WorkingHour(hour) = record else { panic!("no hours") };
        if hour.provider == provider && hour.operatory.as_deref() == Some(room) {
            assert_eq!(hour.specific_date.as_deref(), Some(DAY));
            open.extend(minute(&hour.begin_time)..minute(&hour.end_time));
        }
    }
    for a in appointments.iter().filter(|a| !a.cancelled && !a.patient_missed) {
        if a.provider.as_deref() == Some(provider) || a.operatory.as_deref() == Some(room) {
            open.retain(|minute| !(a.start..a.end).contains(&instant(*minute)));
        }
    }
    open
}

fn half_hours(open: &BTreeSet<i64>) -> Vec<i64> {
    (OPENS..CLOSES).step_by(30).filter(|start| (*start..start + 30).all(|minute| open.contains(&minute))).collect()
}

#[test]
fn a_busy_slot_without_an_appointment_is_closed() {
    let server = practice([
        slot("a", "s1", "free", (540, 570)),
        slot("b", "s1", "busy", (570, 600)),
        slot("c", "s1", "free", (600, 630)),
    ]);
    assert_eq!(half_hours(&open(&server, "d1", "r1")), [540, 600]);
}

#[test]
fn a_busy_slot_is_working_time_where_a_known_appointment_occupies_it() {
    let patient = ("Patient/p", "accepted");
    let server = practice([
        slot("a", "s1", "free", (540, 570)),
        slot("b", "s1", "busy", (570, 630)),
        appointment(
            "x",
            "booked",
            (570, 600),
            &[patient, ("Practitioner/d1", "accepted"), ("Location/r1", "accepted")],
        ),
    ]);
    let Record::WorkingHour(hour) = pulled(&server, Resource::WorkingHours).remove(0) else { panic!("no hours") };
    assert_eq!((hour.begin_time.as_str(), hour.end_time.as_str()), ("09:00", "10:00"));
    assert_eq!(half_hours(&open(&server, "d1", "r1")), [540]);
}

#[test]
fn an_appointment_without_a_room_occupies_its_practitioners_time() {
    let patient = ("Patient/p", "accepted");
    let mut displayed = appointment("x", "booked", (540, 570), &[patient, ("Practitioner/d1", "accepted")]);
    let room = json!({"actor": {"display": "Room 1"}, "status": "accepted"});
    displayed["participant"].as_array_mut().unwrap().push(room);
    let mut by_slot = appointment("y", "booked", (570, 600), &[patient, ("Practitioner/d1", "accepted")]);
    by_slot["slot"] = json!([reference("Slot/b")]);
    // A booked appointment without times occupies those of its slot.
    let mut without_times = appointment("z", "booked", (0, 1), &[patient, ("Practitioner/d1", "accepted")]);
    without_times["slot"] = json!([reference("Slot/d")]);
    without_times["start"].take();
    without_times["end"].take();
    let elsewhere = appointment(
        "w",
        "booked",
        (660, 690),
        &[patient, ("Practitioner/d1", "accepted"), ("Location/far", "accepted")],
    );
    let server = practice([
        slot("a", "s1", "free", (540, 570)),
        slot("b", "s1", "busy", (570, 600)),
        slot("c", "s1", "free", (600, 630)),
        slot("d", "s1", "busy", (630, 660)),
        slot("e", "s1", "free", (660, 720)),
        displayed,
        by_slot,
        without_times,
        elsewhere,
    ]);
    let shown = appointments(&server);
    let places: Vec<_> = shown.iter().map(|a| (a.id.as_str(), a.provider.as_deref(), a.operatory.as_deref())).collect();
    let d1 = Some("d1");
    assert_eq!(places, [("x", d1, None), ("y", d1, Some("r1")), ("z", d1, Some("r1"))], "nothing of another site");
    assert_eq!((shown[2].start, shown[2].end), (instant(630), instant(660)));
    assert_eq!(half_hours(&open(&server, "d1", "r1")), [600, 690]);
}

#[test]
fn participants_take_part_unless_they_declined() {
    let taking = |actors: &[(&str, &str)]| {
        let server = practice([
            slot("a", "s1", "free", (540, 570)),
            slot("b", "s2", "free", (540, 570)),
            appointment("x", "booked", (540, 570), actors),
        ]);
        let open = |provider, room| !open(&server, provider, room).is_empty();
        (open("d1", "r1"), open("d2", "r2"))
    };
    let patient = ("Patient/p", "accepted");
    let (d1, d2) = (("Practitioner/d1", "accepted"), ("Practitioner/d2", "accepted"));
    let (r1, r2) = (("Location/r1", "accepted"), ("Location/r2", "accepted"));
    assert_eq!(taking(&[patient, d1, ("Location/r2", "declined"), r1]), (false, true));
    assert_eq!(taking(&[patient, ("Practitioner/d1", "declined"), d2, r2]), (true, false));
    assert_eq!(taking(&[patient, d1, d2, r1]), (false, false), "two practitioners");
    assert_eq!(taking(&[patient, d1, r1, r2]), (false, false), "two rooms");
}

#[test]
fn an_appointment_takes_time_by_its_status() {
    for (status, takes) in [
        ("proposed", true),
        ("pending", true),
        ("booked", true),
        ("arrived", true),
        ("checked-in", true),
        ("fulfilled", true),
        ("waitlist", false),
        ("cancelled", false),
        ("noshow", false),
        ("entered-in-error", false),
    ] {
        for room in ["Location/r1", "Location/far"] {
            let actors = [("Patient/p", "accepted"), ("Practitioner/d1", "accepted"), (room, "accepted")];
            let a = appointment("x", status, (540, 570), &actors);
            let server = practice([slot("a", "s1", "free", (540, 570)), a]);
            assert_eq!(open(&server, "d1", "r1").is_empty(), takes, "{status} {room}");
        }
    }
}

/// A generator: the same seed produces the same day.
struct DayGenerator(u64);

impl DayGenerator {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((z ^ (z >> 31)) % u64::try_from(n).unwrap()).unwrap()
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.below(i64::try_from(words.len()).unwrap())).unwrap()]
    }

    fn span(&mut self) -> (i64, i64) {
        let start = OPENS + self.below((CLOSES - OPENS) / 15) * 15;
        (start, (start + (1 + self.below(6)) * 15).min(CLOSES))
    }
}

/// Slots and appointments in every state, overlapping.
fn day(random: &mut DayGenerator) -> Vec<Value> {
    let mut all = Vec::new();
    for n in 0..12 {
        let status = random
            .pick(&["free", "free", "free", "free", "busy", "busy-unavailable", "busy-tentative", "entered-in-error"]);
        all.push(slot(&format!("slot{n}"), random.pick(&["s1", "s2"]), status, random.span()));
    }
    for n in 0..random.below(6) {
        let statuses = ["booked", "booked", "pending", "proposed", "arrived", "waitlist", "cancelled", "noshow"];
        let mut actors = vec![("Patient/p", "accepted")];
        for actor in ["Practitioner/d1", "Practitioner/d2", "Location/r1", "Location/r2", "Location/far"] {
            if random.below(3) == 0 {
                actors.push((actor, random.pick(&["accepted", "accepted", "tentative", "needs-action", "declined"])));
            }
        }
        all.push(appointment(&format!("a{n}"), random.pick(&statuses), random.span(), &actors));
    }
    all
}

/// R4, minute by minute: a slot of the schedule is free, no slot is busy, and no active appointment occupies
/// practitioner or room.
fn expected(all: &[Value], schedule: &str, provider: &str, room: &str) -> BTreeSet<i64> {
    let covers = |resource: &Value, minute: i64| {
        let at = |field: &str| instant_of(resource[field].as_str().unwrap()).unwrap();
        (at("start")..at("end")).contains(&instant(minute))
    };
    let of = |kind: &'static str| all.iter().filter(move |resource| resource["resourceType"] == kind);
    let slot_with = |minute: i64, statuses: &[&str]| {
        of("Slot").any(|slot| {
            slot["schedule"]["reference"] == format!("Schedule/{schedule}")
                && statuses.iter().any(|status| slot["status"] == *status)
                && covers(slot, minute)
        })
    };
    let taken = |minute: i64| {
        of("Appointment").any(|a| {
            let takes = ["booked", "pending", "proposed", "arrived"].iter().any(|status| a["status"] == *status);
            let has = a["participant"].as_array().unwrap().iter().any(|p| {
                let actor = &p["actor"]["reference"];
                p["status"] != "declined"
                    && (*actor == format!("Practitioner/{provider}") || *actor == format!("Location/{room}"))
            });
            takes && has && covers(a, minute)
        })
    };
    let closed = ["busy", "busy-unavailable", "busy-tentative"];
    (OPENS..CLOSES).filter(|m| slot_with(*m, &["free"]) && !slot_with(*m, &closed) && !taken(*m)).collect()
}

#[test]
fn open_time_is_that_of_the_standard_on_random_days() {
    let mut some = 0;
    for seed in 0..100 {
        let all = day(&mut DayGenerator(seed));
        let server = practice(all.clone());
        let (hours, shown) = (pulled(&server, Resource::WorkingHours), appointments(&server));
        for (schedule, provider, room) in [("s1", "d1", "r1"), ("s2", "d2", "r2")] {
            let expected = expected(&all, schedule, provider, room);
            some += expected.len();
            assert_eq!(open_of(&hours, &shown, provider, room), expected, "seed {seed} {schedule}: {all:#?}");
        }
    }
    assert!(some > 5_000, "{some} open minutes");
}

#[test]
fn working_hours_need_five_requests_per_schedule() {
    let a = |n: i64| {
        let actors = [("Practitioner/d1", "accepted"), ("Location/r1", "accepted")];
        appointment(&format!("a{n}"), "booked", (n * 30, n * 30 + 30), &actors)
    };
    let server =
        practice((0..40).map(|n| slot(&format!("x{n}"), "s1", "busy", (n * 30, n * 30 + 30))).chain((0..40).map(a)));
    pulled(&server, Resource::WorkingHours);
    // Rooms, the schedule, its slots, practitioners and appointments; a schedule without slots needs no more.
    assert_eq!(server.0.borrow().requests.len(), 5 + 3, "{:#?}", server.0.borrow().requests);
}
