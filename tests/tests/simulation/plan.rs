//! Setup of a run, drawn from the seed: institutions, data sources, locations and initial EHR records.

use std::{collections::BTreeMap, sync::Arc};

use chrono_tz::Tz;
use location::{
    ids::{InstitutionId, LocationId},
    settings::{
        BookingRules, BookingSettings, ConflictRule, LocationSettings, PullRules, Quota, WorkstationRules, WriteRules,
    },
    time::{HOUR, MINUTE, Millis, SECOND, Timestamp},
    zone::Date,
};
use processor::patients::PatientDetails;
use records::ehr::{
    Description, EhrAppointmentType, EhrOperatory, EhrPatient, EhrProvider, EhrRecord, EhrWorkingHour, PullAbility,
    Resource,
};
use setup::{DataSource, EngineRules, Environment, Institution, LocationSetup, Setup};

use super::{ehr::SimEhr, rules};
use tests::harness::random::SeededRandom;

/// Instants of clock changes in at least one of the zones: New York, Berlin and London in spring and autumn of 2026.
const CHANGES: [(i64, &[Tz]); 4] = [
    (1_772_953_200_000, &[chrono_tz::America::New_York, chrono_tz::America::Chicago, chrono_tz::America::Phoenix]),
    (1_774_746_000_000, &[chrono_tz::Europe::Berlin, chrono_tz::Europe::London, chrono_tz::Asia::Kolkata]),
    (1_792_890_000_000, &[chrono_tz::Europe::Berlin, chrono_tz::Europe::London, chrono_tz::UTC]),
    (1_793_512_800_000, &[chrono_tz::America::New_York, chrono_tz::America::Chicago, chrono_tz::Australia::Lord_Howe]),
];

/// The location without an EHR.
pub const ALONE: LocationId = LocationId(9);
/// Number of persons who book per institution. The EHRs initially know the first [`KNOWN_PERSONS`].
pub const PERSONS: usize = 14;
const KNOWN_PERSONS: usize = 4;

pub struct SimPlan {
    pub setup: Arc<Setup>,
    pub descriptions: BTreeMap<u32, Description>,
    pub start: Timestamp,
    /// Duration of actions by clients and staff, and of faults.
    pub busy: Millis,
    /// Staff are quick and crashes frequent.
    pub hectic: bool,
}

impl SimPlan {
    pub fn draw(random: &mut SeededRandom) -> (SimPlan, BTreeMap<u32, SimEhr>) {
        let (change, zones) = CHANGES[random.below(CHANGES.len())];
        let start = Timestamp(change - random.between(2..=10) * HOUR - random.between(0..=59) * MINUTE);
        let mut setup = Setup { engine: EngineRules::default(), ..Setup::default() };
        for id in [1, 2] {
            setup.institutions.insert(InstitutionId(id), Arc::new(institution(id)));
        }
        // Source 1 is shared by two or three locations, source 2 has one, source 3 two.
        let shared_by = random.between(2..=3);
        let mut members = vec![(1, 1, 1), (2, 1, 1), (4, 1, 2), (5, 2, 3), (6, 2, 3)];
        members.extend((shared_by == 3).then_some((3, 1, 1)));
        members.sort_unstable();
        let common = draw_settings(random);
        let location = |id, institution, source, zone| location(&common, id, institution, source, zone);
        for (id, institution, source) in &members {
            let zone = zones[random.below(zones.len())];
            let mut setup_of = location(LocationId(*id), InstitutionId(*institution), Some(*source), zone);
            setup_of.map_by_operatory = *id == 5;
            setup.locations.insert(setup_of.id, Arc::new(setup_of));
        }
        let alone = location(ALONE, InstitutionId(1), None, zones[0]);
        setup.locations.insert(ALONE, Arc::new(alone));
        let (mut descriptions, mut ehrs) = (BTreeMap::new(), BTreeMap::new());
        for (source, institution) in [(1, 1), (2, 1), (3, 2)] {
            setup.sources.insert(source, Arc::new(data_source(source, InstitutionId(institution))));
            let locations: Vec<LocationId> =
                members.iter().filter(|(_, _, of)| *of == source).map(|(id, _, _)| LocationId(*id)).collect();
            let mut ehr = SimEhr::new(source, random);
            furnish(&mut ehr, institution, &locations, random);
            descriptions.insert(source, description(&ehr));
            ehrs.insert(source, ehr);
        }
        let busy = random.between(14..=24) * HOUR;
        let hectic = random.chance(250);
        (SimPlan { setup: Arc::new(setup), descriptions, start, busy, hectic }, ehrs)
    }
}

impl SimPlan {
    /// Draws the EHRs that cannot move appointments.
    pub fn draw_moves(&mut self, ehrs: &mut BTreeMap<u32, SimEhr>, random: &mut SeededRandom) {
        for (source, ehr) in ehrs.iter_mut().filter(|_| random.chance(300)) {
            ehr.moves = false;
            if let Some(description) = self.descriptions.get_mut(source) {
                description.writes.retain(|kind| kind != "reschedule-appointment");
            }
        }
    }

    /// Draws the EHRs that take confirmations.
    pub fn draw_confirmations(&mut self, ehrs: &mut BTreeMap<u32, SimEhr>, random: &mut SeededRandom) {
        for (source, ehr) in ehrs.iter_mut().filter(|_| random.chance(700)) {
            ehr.confirms = true;
            if let Some(description) = self.descriptions.get_mut(source) {
                description.writes.push("confirm-appointment".to_owned());
            }
        }
    }
}

/// Draws the settings that all locations of a run share.
fn draw_settings(random: &mut SeededRandom) -> Arc<LocationSettings> {
    let rule = [ConflictRule::Fail, ConflictRule::MoveOperatory][random.below(2)];
    let lifetime = [24 * HOUR, 2 * HOUR][random.below(2)];
    let limits = BookingRules { on_conflict: rule, key_lifetime: lifetime, max_holds: 12, ..BookingRules::default() };
    let max_queue = [10_000, 10][random.weighted(&[4, 1])];
    let concurrency = [1, 2, 4][random.below(3)];
    let deadline = [72 * HOUR, 5 * HOUR][random.below(2)];
    let write = WriteRules { max_queue, concurrency, deadline, ..WriteRules::default() };
    let every = [30 * MINUTE, HOUR, 2 * HOUR][random.below(3)];
    let page = [4, 20, 500][random.below(3)];
    let guard_at_least = [20, 3][random.weighted(&[3, 1])];
    let pull = PullRules { every, page, guard_at_least, keep_past: 3 * HOUR, ..PullRules::default() };
    let quota = [Quota::default(), Quota { per_minute: 20, burst: 5 }][random.weighted(&[4, 1])];
    let booking = BookingSettings { limits, rules: rules::draw(random) };
    Arc::new(LocationSettings { booking, write, pull, quota, workstation: WorkstationRules::default() })
}

fn location(
    settings: &Arc<LocationSettings>,
    id: LocationId,
    institution: InstitutionId,
    source: Option<u32>,
    zone: Tz,
) -> LocationSetup {
    LocationSetup {
        name: format!("Location {id}"),
        zone,
        source,
        foreign_id: source.map(|_| format!("site-{id}").into()),
        settings: settings.clone(),
        ..testing::location(id, institution.0, 0)
    }
}

fn institution(id: u32) -> Institution {
    Institution {
        subdomain: format!("practice{id}"),
        name: format!("Practice {id}"),
        environment: Environment::Production,
        ..testing::institution(id)
    }
}

fn data_source(id: u32, institution: InstitutionId) -> DataSource {
    DataSource {
        name: format!("Source {id}").into(),
        adapter: String::new(),
        base_url: String::new(),
        guest_requests_per_call: 8,
        ..testing::source(id, institution.0)
    }
}

fn description(ehr: &SimEhr) -> Description {
    let resources = [
        Resource::Providers,
        Resource::Operatories,
        Resource::AppointmentTypes,
        Resource::Patients,
        Resource::WorkingHours,
        Resource::Appointments,
    ];
    let ability = |resource| PullAbility {
        resource,
        delta: !ehr.whole.contains(&resource),
        deletions_by_absence: ehr.whole.contains(&resource),
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Description {
        name: "Lying EHR".to_owned(),
        version: "1".to_owned(),
        hosting: "on_premise".to_owned(),
        pulls: resources.map(ability).to_vec(),
        writes: names(&["create-patient", "create-appointment", "reschedule-appointment", "cancel-appointment"]),
        required_patient_fields: names(&["first_name", "last_name", "date_of_birth", "phone_number"]),
        unkept_patient_fields: Vec::new(),
        max_lengths: Vec::new(),
        new_patients: true,
        operatories: true,
        requests_per_minute: None,
        gated: true,
    }
}

/// Adds the EHR's initial providers, operatories, types, hours and patients.
fn furnish(ehr: &mut SimEhr, institution: u32, locations: &[LocationId], random: &mut SeededRandom) {
    let providers: Vec<String> = (0..2)
        .map(|n| {
            let provider = EhrProvider {
                first_name: format!("Pro{n}"),
                last_name: format!("Vider{}", ehr.source),
                ..EhrProvider::default()
            };
            ehr.add(None, EhrRecord::Provider(provider))
        })
        .collect();
    let types: Vec<String> = [30, 60]
        .map(|minutes| {
            let kind = EhrAppointmentType {
                name: format!("{minutes} minutes"),
                minutes,
                bookable_online: true,
                ..EhrAppointmentType::default()
            };
            ehr.add(None, EhrRecord::AppointmentType(kind))
        })
        .to_vec();
    for number in 0..KNOWN_PERSONS {
        ehr.add(None, EhrRecord::Patient(patient_of(&person(institution, number))));
    }
    for location in locations {
        let operatories: Vec<String> = (0..random.between(2..=3))
            .map(|n| {
                let operatory = EhrOperatory {
                    name: format!("Chair {n}"),
                    active: true,
                    bookable_online: true,
                    ..EhrOperatory::default()
                };
                ehr.add(Some(*location), EhrRecord::Operatory(operatory))
            })
            .collect();
        for (n, provider) in providers.iter().enumerate() {
            for operatory in &operatories {
                // The first provider works by day, the second through the night in which clocks change.
                let (begin, end) = [("08:00", "17:00"), ("22:00", "06:00")][n % 2];
                let kinds = if random.chance(300) { vec![types[0].clone()] } else { Vec::new() };
                ehr.add(Some(*location), EhrRecord::WorkingHour(hours(provider, Some(operatory), begin, end, kinds)));
            }
        }
        if *location == LocationId(2) && random.chance(500) {
            let alone = hours(&providers[0], None, "08:00", "12:00", Vec::new());
            ehr.add(Some(*location), EhrRecord::WorkingHour(alone));
        }
    }
}

fn hours(provider: &str, operatory: Option<&String>, begin: &str, end: &str, types: Vec<String>) -> EhrWorkingHour {
    EhrWorkingHour {
        provider: provider.to_owned(),
        operatory: operatory.cloned(),
        appointment_types: types,
        ..testing::working_hour(begin, end)
    }
}

/// Returns a client's description of a person. Names are unique within an institution.
pub fn person(institution: u32, number: usize) -> PatientDetails {
    PatientDetails {
        first_name: format!("Given{number}"),
        last_name: format!("Family{institution}x{number}"),
        date_of_birth: Some(Date(3_650 + number as i32 * 37)),
        phone_number: Some(format!("555{institution:02}{number:05}")),
        ..PatientDetails::default()
    }
}

pub fn patient_of(details: &PatientDetails) -> EhrPatient {
    EhrPatient {
        first_name: details.first_name.clone(),
        last_name: details.last_name.clone(),
        date_of_birth: details.date_of_birth.map(|date| date.to_string()),
        cell_phone: details.phone_number.clone(),
        ..EhrPatient::default()
    }
}

/// Converts the machine's milliseconds into the EHR's seconds.
pub fn seconds(at: Timestamp) -> i64 {
    at.0.div_euclid(SECOND)
}
