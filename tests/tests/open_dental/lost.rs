//! Requests and replies of a story are lost in turn, spread over seeds. Each record exists once in the end.

use location::{ids::AppointmentId, pull::Resource};
use processor::commands::SaveHistoryItem;
use records::{
    CommunicationLog, Coverage, Direction, HistoryCategory, InsurancePlan, Mode, Payment, Relation, money::Money,
};
use testing::until;
use tests::harness::{
    ehr_server::open_dental::{Fate, Switches},
    in_process::{LOCATION, open_dental::Harness, visitor},
};

use crate::open_dental::{NINE, once};

/// Default number of seeds.
const SEEDS: u64 = 24;
const VARIABLE: &str = "OPEN_DENTAL_SEEDS";

/// In one story, a new patient books, moves and cancels. A log, a payment, a plan with a coverage, and an allergy are
/// filed.
#[actix::test]
async fn each_record_exists_once_after_any_loss() {
    let harness = Harness::open().await;
    let seeds = std::env::var(VARIABLE).ok().map_or(SEEDS, |n| n.parse().expect("a number of seeds"));
    harness.server.database().switches = Switches::default();
    story(&harness, seeds).await;
    let requests = harness.server.database().switches.asked;
    once_of_each(&harness, seeds, "nothing lost");
    assert!((28..36).contains(&requests), "a story of {requests} requests is another one");
    for seed in 0..seeds {
        // Each request and each reply is lost in turn; a smaller number of seeds is spread over all of them.
        let at = if seeds < 2 * requests { seed * 2 * requests / seeds } else { seed % (2 * requests) };
        let (n, fate) = (at / 2, if at % 2 == 0 { Fate::ReplyLost } else { Fate::RequestLost });
        harness.fate(n, fate);
        story(&harness, seed).await;
        // The order of two concurrent writes varies, so the number of requests varies slightly.
        let met = harness.server.database().switches.fates.is_empty();
        assert!(met || n + 3 >= requests, "seed {seed}: request {n} of {requests} was not there");
        once_of_each(&harness, seed, &format!("seed {seed}: request {n} {fate:?}"));
    }
    harness.sync().await;
    let known = harness.appointments().into_iter().filter(|a| a.booking.is_some()).count();
    assert_eq!(known as u64, seeds + 1, "each booking is one record here");
    harness.engine.stop().await;
}

async fn story(harness: &Harness, seed: u64) {
    // Alternates rooms and times, because a cancelled appointment frees its time.
    let place = harness.place(usize::try_from(seed % 2).unwrap(), 1, NINE);
    let person = visitor("Lost", &format!("Seed {seed}"), &format!("+1 555 300 {seed:04}"));
    let booked = harness.book(place, &format!("lost-{seed}"), &person, "lost").await.unwrap().appointment.id;
    let record = harness.written(booked).await;
    let to = harness.place(usize::try_from(1 - seed % 2).unwrap(), 1, NINE + 60);
    harness.reschedule(booked, to).await.unwrap();
    harness.idle().await;
    assert_eq!(harness.appointment(booked).placement, to);
    let patient = record.patient_id.unwrap();
    let log = CommunicationLog {
        patient_id: patient,
        note: format!("Log {seed}."),
        mode: Mode::Phone,
        direction: Direction::Received,
        occurred_at: harness.at(-1, 0).into(),
        extra: Vec::new(),
    };
    harness.file(&log, Some(patient)).await;
    harness.file(&payment(harness, patient, seed), Some(patient)).await;
    let item_id = harness.id_of(Resource::HistoryItems, "allergy:1").unwrap();
    let note = Some(format!("Allergy {seed}."));
    let item =
        SaveHistoryItem { patient_id: patient, category: HistoryCategory::Allergies, item_id, note, active: true };
    harness.save(item).await;
    let plan = InsurancePlan {
        payer_id: Some("60054".into()),
        name: format!("Carrier {seed}."),
        address: None,
        group_number: Some(format!("G{seed}.")),
        employer_name: None,
        fee_schedule_id: None,
        annual_max_individual: None,
        benefit_year_renewal_month: None,
        extra: Vec::new(),
    };
    let plan_id = harness.file(&plan, None).await;
    harness.filed::<InsurancePlan>(plan_id).await;
    let coverage = Coverage {
        patient_id: patient,
        plan_id,
        relation: Relation::Oneself,
        priority: Some(1),
        subscriber_id: None,
        subscriber_name: None,
        subscriber_date_of_birth: None,
        subscriber_number: Some(format!("S{seed}.")),
        effective_date: None,
        expiration_date: None,
        insurance_type: None,
        active: true,
        extra: Vec::new(),
    };
    harness.file(&coverage, Some(patient)).await;
    harness.idle().await;
    harness.engine.cancel(LOCATION, AppointmentId(booked), Some("lost".into())).await.unwrap();
    harness.idle().await;
}

fn payment(harness: &Harness, patient: u32, seed: u64) -> Payment {
    Payment {
        patient_id: Some(patient),
        guarantor_id: None,
        provider_id: None,
        charge_id: None,
        claim_id: None,
        payment_plan_id: None,
        insurance_plan_id: None,
        payment_type_id: harness.id_of(Resource::PaymentTypes, &harness.seeded.check.to_string()),
        amount: Money::parse("10.00", "USD").unwrap(),
        paid_at: None,
        transaction_id: None,
        description: Some(format!("Payment {seed}.")),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    }
}

fn once_of_each(harness: &Harness, seed: u64, at: &str) {
    let database = harness.server.database();
    let named = |table: &str, field: &str, text: String| once(&database.holding(table, field, &text), at);
    let patients: Vec<_> = database
        .holding("patients", "LName", "Seed ")
        .into_iter()
        .filter(|row| row["LName"] == format!("Seed {seed}"))
        .collect();
    let patient = once(&patients, at)["PatNum"].clone();
    let of_patient =
        |table: &str| -> Vec<_> { database.rows(table).filter(|row| row["PatNum"] == patient).cloned().collect() };
    let appointment = once(&of_patient("appointments"), at);
    assert_eq!(appointment["AptStatus"], "UnschedList", "{at}: it is cancelled");
    let note = appointment["Note"].as_str().unwrap();
    assert_eq!(note.matches("Cancelled: lost").count(), 1, "{at}: {note}");
    once(&of_patient("commlogs"), at);
    once(&of_patient("payments"), at);
    once(&of_patient("allergies"), at);
    once(&of_patient("patplans"), at);
    named("carriers", "CarrierName", format!("Carrier {seed}."));
    named("insplans", "GroupNum", format!("G{seed}."));
    named("inssubs", "SubscriberID", format!("S{seed}."));
    assert_eq!(of_patient("paysplits").len(), 1, "{at}");
}

#[actix::test]
async fn downtime_and_restart_only_delay_a_booking() {
    let mut harness = Harness::open().await;
    harness.proxy.shut().await;
    let mut booked = Vec::new();
    for n in 0..3 {
        let person = visitor("Waits", &format!("For {n}"), &format!("555-040-{n:04}"));
        let request = harness.request(harness.place(n, 1, NINE), &format!("down-{n}"), &person, "down");
        booked.push((harness.engine.book(request.clone()).await.unwrap().appointment.id, request));
    }
    let parked = async || harness.engine.sync_state(LOCATION).await.unwrap().write_reason;
    let reason = until("the circuit breaker", parked).await;
    assert!(reason.contains("failed several writes"), "{reason}");
    let mut harness = harness.restart().await;
    assert_eq!(harness.engine.sync_state(LOCATION).await.unwrap().queued, 6);
    assert!(harness.ours("appointments", "Note").is_empty());
    harness.proxy.open().await;
    for (id, request) in &booked {
        let record = harness.written(*id).await;
        assert_eq!(record.placement.span, request.offer.span);
        assert!(harness.engine.book(request.clone()).await.unwrap().replay);
    }
    harness.idle().await;
    assert_eq!(harness.ours("appointments", "Note").len(), 3);
    assert_eq!(harness.server.database().holding("patients", "FName", "Waits").len(), 3);
    harness.engine.stop().await;
}
