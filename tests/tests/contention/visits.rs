//! Concurrent reschedules of one visit among rivals, and groups with common slots. Afterwards each accepted booking is
//! one live visit, in the calendar and in the EHR.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tests::harness::{
    intents::{BOOK, RESCHEDULE, group, in_calendar, in_ehr, member_note, reschedule, settled},
    process::booking,
    random::SeededRandom,
};

use super::{CLIENTS, Contest, Moves, accepted, booking_ref, contest, contest_on, outcomes, refused};

/// Number of slots that the clients compete for.
const CONTESTED: usize = CLIENTS / 2;
/// Note and key of the visit that all clients move.
const VISIT: &str = "visit";

#[actix::test]
async fn concurrent_reschedules_keep_one_live_visit_in_an_ehr_that_moves() {
    concurrent_reschedules_keep_one_live_visit(contest_on(Moves::Supported).await).await;
}

#[actix::test]
async fn concurrent_reschedules_keep_one_live_visit_in_an_ehr_that_cannot_move() {
    concurrent_reschedules_keep_one_live_visit(contest_on(Moves::Unsupported).await).await;
}

async fn concurrent_reschedules_keep_one_live_visit(mut contest: Contest) {
    let home = contest.offers[CONTESTED].clone();
    let made = contest.book(vec![booking(&home, VISIT, 0, VISIT)]).await;
    let [(200, made)] = made.as_slice() else { panic!("{made:?}") };
    let visit = booking_ref(made).to_owned();

    let mut random = SeededRandom::new(1);
    let mut requests = Vec::new();
    for n in 0..CLIENTS {
        let mut slot = || contest.offers[random.below(CONTESTED)].clone();
        requests.push((RESCHEDULE, reschedule(&visit, &slot(), &format!("move-{n}"))));
        let rival = format!("rival-{n}");
        requests.push((BOOK, booking(&slot(), &rival, 1 + n as u64, &rival)));
    }
    let answers = contest.post(requests.clone()).await;
    let taken = refused(&answers, "slot_taken").len();
    assert_eq!(accepted(&answers).len() + taken, 2 * CLIENTS, "{:?}", outcomes(&answers));

    let (mut starts, mut rivals, mut slots) = (BTreeSet::from([start(&made["booking"])]), BTreeMap::new(), Vec::new());
    for ((route, body), (status, answer)) in requests.iter().zip(&answers).filter(|(_, (status, _))| *status == 200) {
        assert_eq!((*status, &answer["replay"]), (200, &json!(false)), "{answer}");
        if *route == RESCHEDULE {
            assert_eq!(booking_ref(answer), visit, "a visit keeps its reference");
            assert_eq!(answer["booking"]["appointment_id"], made["booking"]["appointment_id"]);
            starts.insert(start(&answer["booking"]));
        } else {
            slots.push(body["slot_token"].as_str().unwrap());
            rivals.insert(body["note"].as_str().unwrap().to_owned(), booking_ref(answer).to_owned());
        }
    }
    assert!(starts.len() > 1, "at least one client moved the visit: {:?}", outcomes(&answers));
    assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len(), "a slot has two bookings: {slots:?}");

    let last = settled(&mut contest.caller, &visit).await;
    assert_eq!((&last["booking_status"], &last["ehr_writeback"]), (&json!("confirmed"), &json!("confirmed")), "{last}");
    assert_ne!(last["reschedule"]["status"], "failed", "{last}");
    assert!(starts.contains(&start(&last)), "the visit is at a place that no client was given: {last}");
    rivals.insert(VISIT.to_owned(), visit);
    contest.each_is_one_live_visit(&rivals).await;
}

#[actix::test]
async fn overlapping_groups_are_booked_whole_or_not_at_all() {
    let mut contest = contest().await;
    let mut random = SeededRandom::new(2);
    let groups: Vec<Vec<usize>> = (0..CLIENTS).map(|_| some_slots(&mut random)).collect();
    let body = |n: usize, slots: &[usize]| {
        let tokens: Vec<&str> = slots.iter().map(|slot| contest.offers[*slot].as_str()).collect();
        group(&tokens, &group_key(n), 10 * n as u64)
    };
    let bodies: Vec<Value> = groups.iter().enumerate().map(|(n, slots)| body(n, slots)).collect();
    let answers = contest.book(bodies.clone()).await;
    let taken = refused(&answers, "slot_taken").len();
    assert_eq!(accepted(&answers).len() + taken, CLIENTS, "{:?}", outcomes(&answers));

    let mut holder = BTreeMap::new();
    for (n, slots) in groups.iter().enumerate().filter(|(n, _)| answers[*n].0 == 200) {
        for slot in slots {
            let before = holder.insert(*slot, n);
            assert_eq!(before, None, "slot {slot} was given to group {n} as well");
        }
    }
    assert!(!holder.is_empty() && taken > 0, "{:?}", outcomes(&answers));
    let mut booked = BTreeMap::new();
    for (n, (slots, (status, answer))) in groups.iter().zip(&answers).enumerate() {
        if *status == 200 {
            booked.extend(members(n, slots.len(), answer));
        } else {
            let index = answer["index"].as_u64().unwrap_or_else(|| panic!("a refusal names the member: {answer}"));
            assert!(holder.contains_key(&slots[index as usize]), "member {index} of group {n} was free: {answer}");
        }
    }

    // A replay returns all members; a refused group has left nothing, so that its key can be used with other slots.
    let winner = (0..CLIENTS).find(|n| answers[*n].0 == 200).unwrap();
    let loser = (0..CLIENTS).find(|n| answers[*n].0 == 409).unwrap();
    let free = [CONTESTED, CONTESTED + 1];
    let again = contest.book(vec![bodies[winner].clone(), body(loser, &free)]).await;
    assert_eq!((again[0].0, &again[0].1["replay"]), (200, &json!(true)), "{}", again[0].1);
    assert_eq!(
        members(winner, groups[winner].len(), &again[0].1),
        members(winner, groups[winner].len(), &answers[winner].1)
    );
    assert_eq!((again[1].0, &again[1].1["replay"]), (200, &json!(false)), "{}", again[1].1);
    booked.extend(members(loser, free.len(), &again[1].1));
    contest.each_is_one_live_visit(&booked).await;
}

#[actix::test]
async fn one_key_and_the_same_group_make_one_group() {
    let mut contest = contest().await;
    let tokens: Vec<&str> = contest.offers[..3].iter().map(String::as_str).collect();
    let body = group(&tokens, &group_key(0), 0);
    let answers = contest.book(vec![body; CLIENTS]).await;
    let all = accepted(&answers);
    assert_eq!(all.len(), CLIENTS, "{:?}", outcomes(&answers));
    assert_eq!(all.iter().filter(|answer| answer["replay"] == false).count(), 1);
    let groups: BTreeSet<_> = all.into_iter().map(|answer| members(0, 3, answer)).collect();
    assert_eq!(groups.len(), 1, "{groups:?}");
    let booked = groups.into_iter().next().unwrap();
    contest.each_is_one_live_visit(&booked).await;
}

impl Contest {
    /// Waits until all bookings are written. Then each note must have one live visit in the calendar and in the EHR, at
    /// the same time, no other note may have any, and no operatory may have two at once.
    async fn each_is_one_live_visit(&mut self, booked: &BTreeMap<String, String>) {
        for (note, booking_ref) in booked {
            let last = settled(&mut self.caller, booking_ref).await;
            assert_eq!(last["ehr_writeback"], "confirmed", "{note}: {last}");
        }
        let (calendar, ehr) = (in_calendar(&mut self.caller, self.location, "").await, in_ehr(&self.ehr, ""));
        let ours = |note: &str| ["visit", "rival-", "group-"].iter().any(|ours| note.starts_with(ours));
        let mut busy: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (note, rows) in calendar.iter().filter(|(note, _)| ours(note)) {
            assert!(booked.contains_key(note), "{note} was refused and is in the calendar: {rows:?}");
        }
        for (note, rows) in ehr.iter().filter(|(note, _)| ours(note)) {
            assert!(booked.contains_key(note), "{note} was refused and is in the EHR: {rows:?}");
        }
        for note in booked.keys() {
            let (here, there) = (calendar.get(note), ehr.get(note));
            let (Some([row]), Some([appointment])) = (here.map(Vec::as_slice), there.map(Vec::as_slice)) else {
                panic!("{note} is not one live visit: {here:?} in the calendar, {there:?} in the EHR")
            };
            assert_eq!(row["foreign_id"], appointment.id, "{note}");
            let span = (moment(&row["start_time"]), moment(&row["end_time"]));
            assert_eq!((span.0.timestamp(), span.1.timestamp()), (appointment.start, appointment.end), "{note}");
            busy.entry(row["operatory_id"].to_string()).or_default().push(span);
        }
        for (operatory, mut spans) in busy {
            spans.sort();
            let apart = spans.windows(2).all(|pair| pair[0].1 <= pair[1].0);
            assert!(apart, "operatory {operatory} is booked twice: {spans:?}");
        }
        assert_eq!(self.installation.panics().unwrap(), [""; 0]);
    }
}

fn group_key(n: usize) -> String {
    format!("group-{n}")
}

/// Returns two to four of the contested slots.
fn some_slots(random: &mut SeededRandom) -> Vec<usize> {
    let (size, mut slots) = (2 + random.below(3), Vec::new());
    while slots.len() < size {
        let slot = random.below(CONTESTED);
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    slots
}

/// Returns the references of a booked group by note.
fn members(n: usize, size: usize, answer: &Value) -> BTreeMap<String, String> {
    let bookings = answer["bookings"].as_array().unwrap_or_else(|| panic!("no bookings: {answer}"));
    assert_eq!(bookings.len(), size, "{answer}");
    let reference = |made: &Value| made["booking_ref"].as_str().unwrap().to_owned();
    let members = bookings.iter().enumerate().map(|(index, made)| (member_note(&group_key(n), index), reference(made)));
    let members: BTreeMap<String, String> = members.collect();
    assert_eq!(members.values().collect::<BTreeSet<_>>().len(), size, "each member has its own reference: {answer}");
    members
}

fn start(booking: &Value) -> String {
    booking["start_iso"].as_str().unwrap().to_owned()
}

fn moment(value: &Value) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap().to_utc()
}
