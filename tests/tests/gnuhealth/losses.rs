//! Loses requests and replies between engine and server at each call of a booking in turn. Each booking creates one
//! patient and one appointment. `GNUHEALTH_SEEDS` limits the number of bookings.

use adapter_conformance::flaky_proxy::{InjectedFault, When};
use serde_json::{Value, json};
use tests::harness::ehr_server::gnuhealth::{LOGIN, moment};

use crate::gnuhealth::practice::GnuHealthHarness;

/// Calls of a booking with a new patient: three for the patient, three for the appointment. One more ensures that
/// none is missed.
const CALLS: u64 = 7;
/// Each call once with its request and once with its reply.
const SEEDS: u64 = 2 * CALLS;

#[actix::test]
async fn booking_creates_one_patient_and_one_appointment_after_any_loss() {
    let Some(mut practice) = GnuHealthHarness::open(LOGIN).await else { return };
    let seeds = std::env::var("GNUHEALTH_SEEDS").ok().map_or(SEEDS, |text| text.parse().expect("a number"));
    for seed in 0..seeds {
        let (day, minute) = time_of(seed);
        let (start, time) = (practice.at(day, minute), format!("{:02}:{:02}", minute / 60, minute % 60));
        open_a_place(&practice, start).await;
        let trouble = if seed.is_multiple_of(2) { InjectedFault::LoseReply } else { InjectedFault::LoseRequest };
        let nth = usize::try_from(1 + seed / 2 % CALLS).unwrap();
        let attempt = format!("seed {seed}: {trouble:?} {nth}");
        practice.proxy.injector.set(When::Nth(nth), trouble);
        let name = format!("Lost {seed}");
        let person = json!({"first_name": "Zoë", "last_name": name, "date_of_birth": "1990-02-28",
            "phone_number": format!("+1 555 030 {seed:04}"), "email": format!("lost{seed}@mail.example"), "gender": "Female"});
        let booking = practice.book("1", day, &time, &format!("lost-{seed}"), &person).await;
        let id = booking["appointment_id"].as_u64().unwrap();
        practice.written(id).await;
        practice.proxy.injector.clear();
        let patients =
            practice.server.search("gnuhealth.patient", json!([["party.lastname", "=", name]]), &["id"]).await;
        assert_eq!(patients.len(), 1, "{attempt}");
        let parties = practice.server.search("party.party", json!([["lastname", "=", name]]), &["id"]).await;
        assert_eq!(parties.len(), 1, "{attempt}");
        let theirs = json!([["patient", "=", patients[0]["id"]]]);
        let there: Vec<Value> = practice.server.search("gnuhealth.appointment", theirs, &["state"]).await;
        assert_eq!(there.len(), 1, "{attempt}: {there:?}");
        let at = json!([["appointment_date", "=", moment(start)], ["healthprof", "=", 1]]);
        assert_eq!(practice.server.search("gnuhealth.appointment", at, &["id"]).await.len(), 1, "{attempt}");
    }
    practice.close().await;
}

/// Returns a distinct time per seed within the synchronized days, as day and minute after midnight.
fn time_of(seed: u64) -> (i64, i64) {
    let (days, seed) = (50, i64::try_from(seed).unwrap());
    let minute = 15 * 60 + seed / days * 30;
    assert!(minute < 24 * 60, "as many seeds as there are places");
    (3 + seed % days, minute)
}

async fn open_a_place(practice: &GnuHealthHarness, start: i64) {
    let place = json!({"state": "free", "patient": null, "healthprof": 1, "institution": 1, "comments": null,
        "appointment_date": moment(start), "appointment_date_end": moment(start + 1_800)});
    practice.server.create("gnuhealth.appointment", place).await;
    practice.sync().await;
}
