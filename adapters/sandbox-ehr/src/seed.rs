//! The initial data of the practice: people, operatories, hours and a month of appointments, all derived from the seed.

mod catalogues;
mod charts;
mod forms;
mod ledger;

use serde_json::Value;

use super::{
    calendar::{date_text, weekday},
    change::Change,
    practice::PracticeDatabase,
    profile::{LocationProfile, Profile},
    random::SplitMix64,
    records::{
        Address, Appointment, Every, Filed, Hours, Operatory, Patient, Provider, Record, Resource,
        SandboxAppointmentType, Status,
    },
};

const FIRST: [&str; 36] = [
    "Anna", "Zoë", "Łukasz", "María José", "Søren", "Ольга", "Nguyễn", "Þóra", "Jean-Luc", "François", "İpek",
    "Siobhán", "Mīra", "محمد", "秀英", "Ekaterini", "Noah", "Olivia", "Ama", "Kwame", "Ingrid", "Mateo", "Chloé",
    "Björn", "Grace", "Tomáš", "Ayşe", "Émile", "Ruth", "Isaac", "Lê", "Marta", "Omar", "Priya", "Zsófia", "Wei",
];
const LAST: [&str; 34] = [
    "Garcia", "O’Brien", "O'Neill", "Müller-Lüdenscheidt", "de la Cruz", "Kowalski", "Nakamura", "Петрова", "Trần",
    "Smith", "Johnson", "van der Berg", "Åkesson", "Jónsdóttir", "St. John", "Mbeki", "D'Angelo", "Łopata", "Ibáñez",
    "Straße", "حسين", "王", "Papadopoulos", "Yıldız", "Cohen", "Lee", "Ng", "Øverland", "Dvořáková", "Patel", "Okafor",
    "Schmidt", "Quincy", "Rivière",
];
const CITIES: [(&str, &str, &str); 4] = [
    ("Springfield", "IL", "62704"),
    ("Québec", "QC", "G1R 2B5"),
    ("Portland", "OR", "97205"),
    ("Cañon City", "CO", "81212"),
];
/// Name, minutes, and `true` if it can be booked online.
const TYPES: [(&str, u32, bool); 7] = [
    ("Cleaning", 60, true),
    ("Exam", 30, true),
    ("Crown", 90, false),
    ("Emergency", 30, true),
    ("Filling", 60, false),
    ("New patient exam", 60, true),
    ("Whitening", 45, true),
];
const CLEANING: usize = 0;
const EMERGENCY: usize = 3;
const WEEK: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Providers per location; the last one is shared with the next location.
const STAFF: usize = 5;

/// Working hours in one operatory, in minutes after midnight.
struct Shift {
    operatory: String,
    provider: String,
    begin: i64,
    end: i64,
    days: Vec<usize>,
}

pub(super) fn practice(profile: &Profile) -> PracticeDatabase {
    let mut seed = Seed { practice: PracticeDatabase::default(), random: SplitMix64::new(profile.seed), profile };
    let types = seed.types();
    let providers = seed.providers();
    let patients = seed.patients(&providers);
    for (index, location) in profile.locations.iter().enumerate() {
        let staff: Vec<String> = (0..STAFF).map(|n| providers[index * (STAFF - 1) + n].clone()).collect();
        let shifts = seed.shifts(index, location, &staff, &types);
        seed.days_off_and_on(location, &staff, &types);
        seed.appointments(location, &shifts, &patients, &types);
    }
    let catalogues = seed.catalogues();
    let charts = seed.charts(&catalogues);
    seed.ledger(&catalogues, &charts);
    seed.practice
}

/// Formats dollars and cents as the contract's money.
fn usd(cents: i64) -> Value {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.abs();
    serde_json::json!({"amount": format!("{sign}{}.{:02}", cents / 100, cents % 100), "currency": "USD"})
}

struct Seed<'a> {
    practice: PracticeDatabase,
    random: SplitMix64,
    profile: &'a Profile,
}

impl Seed<'_> {
    fn save(&mut self, record: Record) -> String {
        match self.practice.save(record, None) {
            Change::Saved { record, .. } => record.id().to_owned(),
            Change::Deleted { id, .. } => id,
        }
    }

    /// Saves a row without its null fields.
    fn file(&mut self, resource: Resource, fields: Value) -> String {
        let mut row = Filed::default();
        if let Value::Object(fields) = fields {
            row.fields = fields;
        }
        row.fields.retain(|_, value| !value.is_null());
        self.save(Record::Filed(resource, row))
    }

    fn types(&mut self) -> Vec<(String, u32)> {
        let saved = TYPES.map(|(name, minutes, web_booking)| {
            let kind =
                SandboxAppointmentType { name: name.into(), minutes, web_booking, ..SandboxAppointmentType::default() };
            (self.save(Record::Type(kind)), minutes)
        });
        saved.to_vec()
    }

    fn providers(&mut self) -> Vec<String> {
        let count = self.profile.locations.len() * (STAFF - 1) + 1;
        let provider = |seed: &mut Self, n: usize| {
            let hygienist = n % STAFF >= 3;
            let last_name = LAST[(n * 5 + 3) % LAST.len()].to_owned();
            seed.save(Record::Provider(Provider {
                first_name: FIRST[(n * 7 + 1) % FIRST.len()].into(),
                email: Some(format!("provider{n}@practice.example")),
                last_name,
                title: Some(if hygienist { "RDH" } else { "DDS" }.into()),
                npi: Some(format!("{:010}", 1_234_567_890 + n)),
                specialty: Some(if hygienist { "124Q00000X" } else { "1223G0001X" }.into()),
                ..Provider::default()
            }))
        };
        (0..count).map(|n| provider(self, n)).collect()
    }

    fn patients(&mut self, providers: &[String]) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for n in 0..self.profile.patients {
            let patient = self.patient(n, providers, ids.last());
            ids.push(self.save(Record::Patient(Box::new(patient))));
        }
        ids
    }

    fn patient(&mut self, n: u32, providers: &[String], before: Option<&String>) -> Patient {
        let random = &mut self.random;
        // Spread so that each pair of names occurs once before any is repeated.
        let pair = n as usize * 331 + 17;
        let (city, state, zip) = *random.pick(&CITIES);
        let born = -20_000 + i64::try_from(random.below(36_000)).expect("small");
        let line = random.below(10_000);
        Patient {
            first_name: FIRST[pair % FIRST.len()].into(),
            middle_name: (n.is_multiple_of(5)).then(|| "J.".into()),
            last_name: LAST[pair / FIRST.len() % LAST.len()].into(),
            born: Some(date_text(born)),
            gender: Some((*random.pick(&["F", "M", "F", "M", "X"])).into()),
            email: (n % 7 != 3).then(|| format!("patient{n}@mail.example")),
            cell: Some(format!("(312) 555-{line:04}")),
            home: (n.is_multiple_of(4)).then(|| format!("+1 312 556 {line:04}")),
            address: Some(Address {
                street: Some(format!("{} Élm Street", 10 + line)),
                city: Some(city.into()),
                state: Some(state.into()),
                zip: Some(zip.into()),
                country: Some(if state == "QC" { "CA" } else { "US" }.into()),
                street2: (n.is_multiple_of(9)).then(|| format!("Apt {}", line % 40)),
            }),
            guarantor: before.filter(|_| n % 6 == 5).cloned(),
            provider: Some(random.pick(providers).clone()),
            chart: Some(format!("C{n:06}")),
            language: Some((*random.pick(&["en", "en", "es", "fr", "vi"])).into()),
            inactive: n % 31 == 30,
            no_texts: n % 13 == 12,
            ..Patient::default()
        }
    }

    /// Creates operatories with their weekly hours and reserved blocks.
    fn shifts(&mut self, index: usize, at: &LocationProfile, staff: &[String], types: &[(String, u32)]) -> Vec<Shift> {
        let mut shifts = Vec::new();
        for n in 0..at.operatories as usize {
            let hygiene = n % 4 == 3;
            let purpose = if hygiene { "Hygiene" } else { "Operatory" };
            let operatory = self.save(Record::Operatory(Operatory {
                location: at.key.clone(),
                name: format!("{purpose} {}", n + 1),
                in_use: true,
                web_booking: n % 5 != 4,
                types: if hygiene { vec![types[CLEANING].0.clone()] } else { Vec::new() },
                ..Operatory::default()
            }));
            let provider = staff[n % staff.len()].clone();
            for (begin, end) in if hygiene { vec![(450, 930)] } else { vec![(480, 720), (780, 1_020)] } {
                let days = working_days(index, n % staff.len(), self.profile.locations.len());
                let shift = Shift { operatory: operatory.clone(), provider: provider.clone(), begin, end, days };
                let label = hygiene.then(|| "Hygiene".to_owned());
                self.save(Record::Hours(Hours { label, ..hours(at, &shift) }));
                shifts.push(shift);
            }
            if n == 0 || hygiene {
                let kind = if hygiene { CLEANING } else { EMERGENCY };
                let (begin, end) = if hygiene { (480, 720) } else { (660, 720) };
                let days = if hygiene { vec![1, 3] } else { (0..5).collect() };
                let shift = Shift { operatory, provider, begin, end, days };
                let label = Some(if hygiene { "Recall block" } else { "Kept for emergencies" }.to_owned());
                let types = vec![types[kind].0.clone()];
                self.save(Record::Hours(Hours { block: true, types, label, ..hours(at, &shift) }));
            }
        }
        shifts
    }

    /// Creates hours on every second Saturday, and on one evening by date.
    fn days_off_and_on(&mut self, at: &LocationProfile, staff: &[String], types: &[(String, u32)]) {
        let today = i64::from(self.profile.today);
        let saturday = today + (5 - i64::try_from(weekday(today)).expect("below 7")).rem_euclid(7);
        let base = Hours { location: at.key.clone(), provider: staff[0].clone(), active: true, ..Hours::default() };
        let saturdays = Every { number: 2, unit: "week".into(), from: date_text(saturday) };
        let (begin, end) = ("09:00".to_owned(), "13:00".to_owned());
        self.save(Record::Hours(Hours { begin, end, every: Some(saturdays), ..base.clone() }));
        let date = Some(date_text(today + 10));
        let (begin, end) = ("18:00".to_owned(), "20:30".to_owned());
        let types = vec![types[EMERGENCY].0.clone()];
        self.save(Record::Hours(Hours { begin, end, date, types, label: Some("Evening".into()), ..base }));
    }

    fn appointments(&mut self, at: &LocationProfile, shifts: &[Shift], patients: &[String], types: &[(String, u32)]) {
        let today = self.profile.today;
        let back = i32::try_from(self.profile.days_back).unwrap_or(i32::MAX);
        let ahead = i32::try_from(self.profile.days_ahead).unwrap_or(i32::MAX);
        for day in today.saturating_sub(back)..today.saturating_add(ahead) {
            for shift in shifts.iter().filter(|s| s.days.contains(&weekday(i64::from(day)))) {
                self.fill(at, shift, day, patients, types);
            }
        }
    }

    /// Books one shift of one day with gaps; a shift across noon has its lunch blocked.
    fn fill(&mut self, at: &LocationProfile, shift: &Shift, day: i32, patients: &[String], types: &[(String, u32)]) {
        let mut minute = shift.begin;
        let lunch = 720..750;
        let over_noon = shift.begin < lunch.start && lunch.end < shift.end;
        while minute < shift.end {
            let booked = self.random.below(100) < self.profile.booked_percent as usize && !patients.is_empty();
            let (kind, minutes) = types[self.random.below(types.len())].clone();
            let end = minute + i64::from(minutes);
            if over_noon && minute < lunch.end && end > lunch.start {
                if minute <= lunch.start {
                    self.save(Record::Appointment(Appointment {
                        note: Some("Lunch".into()),
                        blocked: true,
                        ..appointment(at, shift, day, lunch.start, lunch.end)
                    }));
                }
                minute = lunch.end;
            } else if booked && end <= shift.end {
                let patient = self.random.pick(patients).clone();
                let status = self.status(day);
                let base = appointment(at, shift, day, minute, end);
                let patient_confirmed = status == Status::Confirmed;
                let note = (self.random.below(6) == 0).then(|| "Prefers mornings – läuft".to_owned());
                let (patient, kind) = (Some(patient), Some(kind));
                let came = status == Status::Done;
                let (arrived_at, left_at) = (came.then_some(base.start - 300), came.then_some(base.end));
                self.save(Record::Appointment(Appointment {
                    patient,
                    kind,
                    status,
                    patient_confirmed,
                    note,
                    arrived_at,
                    left_at,
                    ..base
                }));
                minute = end;
            } else {
                minute += 30;
            }
        }
    }

    fn status(&mut self, day: i32) -> Status {
        let past = day < self.profile.today;
        match (past, self.random.below(20)) {
            (_, 0) => Status::Cancelled,
            (true, 1) => Status::Missed,
            (true, _) => Status::Done,
            (false, 1..=7) => Status::Confirmed,
            (false, _) => Status::Scheduled,
        }
    }
}

/// A provider shared by two locations works early in the week at the first and late at the second.
fn working_days(location: usize, provider: usize, locations: usize) -> Vec<usize> {
    let shared_with_next = provider == STAFF - 1 && location + 1 < locations;
    let shared_with_last = provider == 0 && location > 0;
    match (shared_with_next, shared_with_last) {
        (true, _) => vec![0, 1, 2],
        (_, true) => vec![3, 4],
        _ => vec![0, 1, 2, 3, 4],
    }
}

fn hours(at: &LocationProfile, shift: &Shift) -> Hours {
    let time = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
    Hours {
        location: at.key.clone(),
        provider: shift.provider.clone(),
        operatory: Some(shift.operatory.clone()),
        begin: time(shift.begin),
        end: time(shift.end),
        days: shift.days.iter().map(|day| WEEK[*day].to_owned()).collect(),
        active: true,
        ..Hours::default()
    }
}

fn appointment(at: &LocationProfile, shift: &Shift, day: i32, from: i64, to: i64) -> Appointment {
    Appointment {
        location: at.key.clone(),
        provider: Some(shift.provider.clone()),
        operatory: Some(shift.operatory.clone()),
        start: at.instant(day, from),
        end: at.instant(day, to),
        ..Appointment::default()
    }
}
