//! Initial records: two providers, three operatories, forty patients, and appointments from two days ago to two weeks
//! ahead. The same current time gives the same records, and a day's appointments do not depend on the day of
//! creation.

use chrono::{DateTime, Datelike, Days, NaiveDate, TimeZone, Weekday};

use crate::{
    AppointmentStatus, CloudAppointment, CloudAppointmentType, CloudPatient, CloudPractice, Hours, Operatory, Provider,
};

const PATIENTS: u64 = 40;
const DAYS_BACK: u64 = 2;
const DAYS_AHEAD: u64 = 14;
/// Percentage of an operatory's time that is booked.
const TAKEN_PERCENT: u64 = 55;
const OPENS: u32 = 8 * 60;
const CLOSES: u32 = 17 * 60;
const LUNCH: u32 = 12 * 60;

const FIRST: [&str; 20] = [
    "Olivia", "Liam", "Zoë", "Noah", "Amara", "José", "Mei", "Elias", "Fatima", "Jonas", "Priya", "Łukasz", "Hana",
    "Mateo", "Ingrid", "Samuel", "Aylin", "Tomás", "Grace", "Henry",
];
const LAST: [&str; 20] = [
    "Bennett", "O’Brien", "García", "Nguyen", "Kowalska", "Okafor", "Lindqvist", "Patel", "Rossi", "Meyer", "Haddad",
    "Sato", "Dubois", "Novák", "Carter", "Silva", "Yılmaz", "Fischer", "Walker", "Moreau",
];
const STREETS: [&str; 5] = ["Maple Street", "Oak Avenue", "Harbor Road", "Second Street", "Hill Lane"];
const TYPES: [(&str, &str, u32); 4] =
    [("T-1", "Check-up", 30), ("T-2", "Cleaning", 45), ("T-3", "Filling", 60), ("T-4", "Crown", 90)];
const NOTES: [&str; 4] = ["Prefers mornings", "Bring x-rays", "Running late is likely", "Second visit"];

pub fn fill(practice: &mut CloudPractice, now: i64) {
    for (id, first, last, npi) in [("D-1", "Amelia", "Hart", "1902000017"), ("D-2", "Jonas", "Lindgren", "1902000025")]
    {
        let provider = Provider {
            id: id.into(),
            first_name: first.into(),
            last_name: last.into(),
            email: Some(format!("{}@practice.example", last.to_lowercase())),
            npi: Some(npi.into()),
            inactive: false,
        };
        let revision = practice.next_revision();
        practice.providers.put(id, provider, revision);
    }
    for (id, name) in [("O-1", "Chair 1"), ("O-2", "Chair 2"), ("O-3", "Hygiene")] {
        let revision = practice.next_revision();
        practice.operatories.put(id, Operatory { id: id.into(), name: name.into(), closed: false }, revision);
    }
    for (id, name, minutes) in TYPES {
        let revision = practice.next_revision();
        practice.types.put(id, CloudAppointmentType { id: id.into(), name: name.into(), minutes }, revision);
    }
    for (id, provider, operatory, begin, end) in [
        ("H-1", "D-1", "O-1", "08:00", "17:00"),
        ("H-2", "D-2", "O-2", "08:00", "17:00"),
        ("H-3", "D-2", "O-3", "09:00", "16:00"),
    ] {
        let hours = Hours {
            id: id.into(),
            provider: provider.into(),
            operatory: operatory.into(),
            days: ["mon", "tue", "wed", "thu", "fri"].map(str::to_owned).to_vec(),
            begin: begin.into(),
            end: end.into(),
        };
        let revision = practice.next_revision();
        practice.hours.put(id, hours, revision);
    }
    for n in 1..=PATIENTS {
        practice.keep_patient(patient(n));
    }
    let today = practice.local(now).date_naive();
    let days =
        (0..=DAYS_BACK + DAYS_AHEAD).filter_map(|n| (today - Days::new(DAYS_BACK)).checked_add_days(Days::new(n)));
    for day in days.filter(|day| !matches!(day.weekday(), Weekday::Sat | Weekday::Sun)) {
        for (operatory, provider) in [("O-1", "D-1"), ("O-2", "D-2"), ("O-3", "D-2")] {
            fill_day(practice, day, operatory, provider, now);
        }
    }
}

fn patient(n: u64) -> CloudPatient {
    let mut dice = Dice::new(n);
    let first = FIRST[dice.below(20) as usize];
    // Each last name twice, so that there are families.
    let last = LAST[(n % 20) as usize];
    let phone = |kind: u64| Some(format!("+1 518 555 {:04}", kind * 1_000 + n));
    CloudPatient {
        id: format!("P-{n:02}"),
        first_name: first.into(),
        last_name: last.into(),
        born: Some(format!("{}-{:02}-{:02}", 1940 + dice.below(75), 1 + dice.below(12), 1 + dice.below(28))),
        sex: Some(["female", "male", "other"][dice.below(3) as usize].into()),
        email: Some(format!("patient{n}@mail.example")),
        mobile: phone(1),
        home_phone: phone(2).filter(|_| n.is_multiple_of(3)),
        street: Some(format!("{} {}", 1 + dice.below(200), STREETS[dice.below(5) as usize])),
        city: Some("Springfield".into()),
        state: Some("NY".into()),
        zip: Some("12345".into()),
        country: Some("US".into()),
        language: Some(if n.is_multiple_of(7) { "es" } else { "en" }.into()),
        provider: Some(if n.is_multiple_of(2) { "D-2" } else { "D-1" }.into()),
        chart: Some(format!("M{:04}", 1_000 + n)),
        ..CloudPatient::default()
    }
}

fn fill_day(practice: &mut CloudPractice, day: NaiveDate, operatory: &str, provider: &str, now: i64) {
    let seed = u64::try_from(day.num_days_from_ce()).unwrap_or_default() * 7 + u64::from(operatory.as_bytes()[2]);
    let mut dice = Dice::new(seed);
    let zone = practice.zone;
    let at = |minute: u32| {
        let local = day.and_hms_opt(minute / 60, minute % 60, 0)?;
        zone.from_local_datetime(&local).earliest().map(|at: DateTime<_>| at.timestamp())
    };
    let named =
        |minute: u32| format!("A{}-{}-{:02}{:02}", day.format("%y%m%d"), &operatory[2..], minute / 60, minute % 60);
    if let (Some(start), Some(end)) = (at(LUNCH), at(LUNCH + 60)) {
        practice.keep_appointment(CloudAppointment {
            id: named(LUNCH),
            operatory: operatory.into(),
            start,
            end,
            note: Some("Lunch".into()),
            block: true,
            ..CloudAppointment::default()
        });
    }
    let mut minute = OPENS;
    while minute < CLOSES {
        if minute == LUNCH {
            minute += 60;
            continue;
        }
        let (kind, _, length) = TYPES[if operatory == "O-3" { 1 } else { dice.below(4) as usize }];
        let free_until = if minute < LUNCH { LUNCH } else { CLOSES };
        let taken = dice.below(100) < TAKEN_PERCENT && minute + length <= free_until;
        let patient = format!("P-{:02}", 1 + dice.below(PATIENTS));
        let (word, note) = (dice.below(100), dice.below(12) as usize);
        if let (true, Some(start), Some(end)) = (taken, at(minute), at(minute + length)) {
            let over = end <= now;
            let status = match word {
                0..5 => AppointmentStatus::Cancelled,
                5..10 if over => AppointmentStatus::Missed,
                _ if over => AppointmentStatus::Completed,
                _ if start <= now => AppointmentStatus::Arrived,
                10..60 => AppointmentStatus::Confirmed,
                _ => AppointmentStatus::Scheduled,
            };
            let came = matches!(status, AppointmentStatus::Arrived | AppointmentStatus::Completed);
            practice.keep_appointment(CloudAppointment {
                id: named(minute),
                patient: Some(patient),
                provider: Some(provider.into()),
                operatory: operatory.into(),
                kind: Some(kind.into()),
                start,
                end,
                note: NOTES.get(note).map(|note| (*note).to_owned()),
                status,
                confirmed_by_patient: status == AppointmentStatus::Confirmed && word < 30,
                arrived_at: came.then_some(start - 300),
                left_at: (status == AppointmentStatus::Completed).then_some(end),
                ..CloudAppointment::default()
            });
        }
        minute += if taken { length } else { 30 };
        if minute > LUNCH && minute < LUNCH + 60 {
            minute = LUNCH + 60;
        }
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}
