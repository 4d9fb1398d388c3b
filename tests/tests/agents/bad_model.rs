//! Thousands of dialogues of a bad model: wrong dates and types, invented and changed tokens, repeated and parallel
//! calls, names that look like instructions, and details that do not belong together. In the end, each booking is one
//! visit, no two visits overlap, and no result discloses a patient.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    time::Instant,
};

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use location::zone::Date;
use sandbox_ehr::Profile;
use serde_json::Value;
use tests::harness::{
    ehr_server::EhrServer,
    external::say,
    fixtures,
    http_client::Caller,
    intents::{in_ehr, settled},
    process::{LOCATIONS, path},
};

use super::{
    AgentsPractice,
    dialogue::{DAYS, Dialogue, Tally},
    patients::{Patients, overlaps},
};

const DIALOGUES: usize = 600;
/// Dialogues at the same time, with two connections each.
const PARALLEL: usize = 8;
/// Begin of the notes of all bookings.
const NOTE: &str = "agent ";

/// Begin, end and id of an appointment.
type Stay = (DateTime<Utc>, DateTime<Utc>, u64);

#[actix::test]
async fn bad_model_books_nothing_twice_and_sees_no_data_of_patients() {
    let variable = |name: &str, default: usize| env::var(name).ok().map_or(default, |number| number.parse().unwrap());
    let (dialogues, seed) = (variable("AGENT_DIALOGUES", DIALOGUES), variable("AGENT_SEED", 1) as u64);
    let profile = Profile { booked_percent: 20, days_back: 0, days_ahead: 30, ..fixtures::profile(44) };
    let ehr = EhrServer::start(profile).unwrap();
    let marked = Patients::mark(&ehr);
    let overlapping = overlaps(&ehr);
    let practice = AgentsPractice::start(ehr).await;
    let patients = Patients::identified(marked, &mut practice.installation.sign_in().await.unwrap()).await;

    let began = Instant::now();
    let worker = |first: usize| {
        let (installation, patients) = (&practice.installation, &patients);
        async move {
            let mut callers = [installation.sign_in().await.unwrap(), installation.sign_in().await.unwrap()];
            let mut tally = Tally::default();
            for number in (first..dialogues).step_by(PARALLEL) {
                Dialogue::new(seed, number, patients, &mut callers, &mut tally).run().await;
            }
            tally
        }
    };
    let mut total = Tally::default();
    for tally in join_all((0..PARALLEL).map(worker)).await {
        total.calls += tally.calls;
        for (outcome, count) in tally.outcomes {
            *total.outcomes.entry(outcome).or_default() += count;
        }
        total.booking_refs.extend(tally.booking_refs);
    }
    let (calls, made) = (total.calls, total.booking_refs.len());
    say(&format!("AGENT_SEED={seed}: {dialogues} dialogues, {calls} calls, {made} bookings, {:?}", began.elapsed()));
    for (outcome, count) in &total.outcomes {
        say(&format!("  {count:>7} {outcome}"));
    }
    for outcome in [
        "book: new",
        "book: repeated",
        "book: slot_taken",
        "book: invalid_request",
        "book: slot_not_found",
        "find_visits: with visits",
        "change_visit: done",
        "cancel_visit: done",
        "cancel_visit: booking_not_found",
    ] {
        assert!(total.outcomes.contains_key(outcome), "AGENT_SEED={seed}: no call had the outcome {outcome}");
    }
    // The server has closed connections that were idle during the dialogues.
    let mut caller = practice.installation.sign_in().await.unwrap();
    each_booking_is_one_visit(&practice, &mut caller, &total.booking_refs, seed).await;
    let new: Vec<_> = overlaps(&practice.ehr).into_iter().filter(|pair| !overlapping.contains(pair)).collect();
    assert!(new.is_empty(), "AGENT_SEED={seed}: appointments overlap in the EHR: {new:?}");
    assert_eq!(practice.installation.panics().unwrap(), [""; 0]);
}

/// Waits until all bookings are written. Then each open one must be one visit in the calendar, which overlaps no other
/// one, and one in the EHR, and there must be no others.
async fn each_booking_is_one_visit(practice: &AgentsPractice, caller: &mut Caller, booking_refs: &[String], seed: u64) {
    let booking_refs: BTreeSet<&String> = booking_refs.iter().collect();
    let mut open = BTreeSet::new();
    for booking_ref in booking_refs {
        let last = settled(caller, booking_ref).await;
        if last["booking_status"] == "cancelled" {
            assert_ne!(last["cancellation_writeback"], "failed", "AGENT_SEED={seed}: {last}");
        } else {
            // The EHR refuses an appointment only if its time is taken.
            assert_eq!(last["ehr_writeback"], "confirmed", "AGENT_SEED={seed}: {last}");
            open.insert(last["appointment_id"].as_u64().unwrap());
        }
    }
    let calendar = calendar(caller).await;
    let mut foreign_ids = BTreeSet::new();
    let mut places: BTreeMap<String, Vec<Stay>> = BTreeMap::new();
    for (id, row) in &calendar {
        let span = (moment(&row["start_time"]), moment(&row["end_time"]), *id);
        places.entry(row["operatory_id"].to_string()).or_default().push(span);
        if row["note"].as_str().is_some_and(|note| note.starts_with(NOTE)) {
            foreign_ids.insert(row["foreign_id"].as_str().unwrap().to_owned());
        }
    }
    for spans in places.values_mut() {
        spans.sort();
        for pair in spans.windows(2) {
            let is_new = open.contains(&pair[0].2) || open.contains(&pair[1].2);
            assert!(!is_new || pair[0].1 <= pair[1].0, "AGENT_SEED={seed}: visits overlap: {pair:?}");
        }
    }
    let missing: Vec<&u64> = open.iter().filter(|id| !calendar.contains_key(*id)).collect();
    assert!(missing.is_empty(), "AGENT_SEED={seed}: bookings without a visit: {missing:?}");
    assert_eq!(foreign_ids.len(), open.len(), "AGENT_SEED={seed}: visits without an open booking");
    let in_ehr: Vec<String> = in_ehr(&practice.ehr, NOTE).into_values().flatten().map(|visit| visit.id).collect();
    assert_eq!(in_ehr.len(), open.len(), "AGENT_SEED={seed}: visits in the EHR");
    assert_eq!(in_ehr.into_iter().collect::<BTreeSet<_>>(), foreign_ids, "AGENT_SEED={seed}");
}

/// Returns the live appointments of the location by id, read week by week.
async fn calendar(caller: &mut Caller) -> BTreeMap<u64, Value> {
    let mut all = BTreeMap::new();
    for day in (-7..DAYS + 14).step_by(7) {
        let [start, end] = [day, day + 7].map(|day| Date(fixtures::today()).add_days(day));
        let period = format!("start={start}T00:00:00Z&end={end}T00:00:00Z");
        let list = path("/appointments", LOCATIONS[0].0);
        let list = format!("{list}&{period}&cancelled=false&unavailable=false&per_page=1000");
        let (status, answer) = caller.get(&list).await.unwrap();
        assert_eq!(status, 200, "{answer}");
        let rows = answer["data"].as_array().unwrap();
        assert!(rows.len() < 1_000, "the list has more than one page");
        all.extend(rows.iter().map(|row| (row["id"].as_u64().unwrap(), row.clone())));
    }
    assert!(!all.is_empty());
    all
}

fn moment(value: &Value) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap().to_utc()
}
