//! Refusals of the office and its rate limit.

use std::time::Duration;

use location::ids::AppointmentId;
use records::Writeback;
use testing::until;
use tests::harness::{
    ehr_server::open_dental::Switches,
    in_process::{
        LOCATION, ZONE,
        open_dental::{Harness, whole_passes},
        visitor,
    },
};

use crate::open_dental::{NINE, TEN};

#[actix::test]
async fn refusals_contain_the_reason_without_patient_data() {
    let harness = Harness::open().await;
    // The refusal contains a patient's name, date of birth and telephone number.
    harness.server.database().switches = Switches {
        out: Some((400, "\"Zoë Łopata, born 1985-07-14, 555-010-1234, is on a list\"")),
        ..Switches::default()
    };
    let person = visitor("Zoë", "Łopata", "555-010-1234");
    let id = harness.book(harness.place(0, 1, NINE), "no", &person, "x").await.unwrap().appointment.id;
    let ended = async || {
        let booking = harness.appointment(id).body.booking?;
        (booking.writeback == Writeback::Failed).then_some(booking.failure_reason?)
    };
    let reason = until("the refusal", ended).await;
    for secret in ["Zoë", "Łopata", "1985", "1234"] {
        assert!(!reason.contains(secret), "{reason}");
    }
    assert!(reason.starts_with("Open Dental: ") && reason.ends_with("is on a list"), "{reason}");
    harness.engine.stop().await;
}

#[actix::test]
async fn disabled_key_parks_writes_and_missing_permission_fails_them() {
    let harness = Harness::open().await;
    let person = visitor("Olga", "Ожидание", "555-011-0001");
    harness.server.database().keys = "other/keys".into();
    let id = harness.book(harness.place(0, 1, NINE), "parked", &person, "").await.unwrap().appointment.id;
    let parked = async || harness.engine.sync_state(LOCATION).await.unwrap().write_reason;
    until("the refused keys", parked).await;
    assert_eq!(harness.appointment(id).body.booking.unwrap().writeback, Writeback::Pending);
    harness.server.database().keys = tests::harness::in_process::open_dental::KEYS.into();
    harness.written(id).await;
    harness.server.database().forbidden = vec!["PUT appointments"];
    harness.engine.cancel(LOCATION, AppointmentId(id), None).await.unwrap();
    harness.idle().await;
    assert!(!harness.appointment(id).cancelled, "what the EHR refuses is taken back");
    harness.engine.stop().await;
}

#[actix::test]
async fn throttling_delays_writes_and_loses_none() {
    let harness = Harness::open_with(ZONE, |_, _| (), whole_passes).await;
    harness.server.database().switches = Switches { per_second: Some(6), ..Switches::default() };
    let booked = harness.book(harness.place(0, 1, TEN), "slow", &visitor("Slow", "Motion", "555-012-0001"), "").await;
    harness.written(booked.unwrap().appointment.id).await;
    let refused = harness.server.database().log.iter().filter(|(_, _, status)| *status == 429).count();
    assert!(refused > 0, "the story needs more than its share");
    assert_eq!(harness.ours("appointments", "Note").len(), 1);
    harness.engine.stop().await;
}

#[actix::test]
async fn unavailable_econnector_is_not_a_refusal() {
    let harness = Harness::open().await;
    harness.server.database().switches =
        Switches { out: Some((400, "The eConnector is not running.")), ..Switches::default() };
    let person = visitor("Away", "Home", "555-013-0001");
    let id = harness.book(harness.place(0, 1, TEN), "away", &person, "").await.unwrap().appointment.id;
    let attempts = async || {
        let database = harness.server.database();
        (database.log.iter().filter(|(_, _, status)| *status == 400).count() >= 3).then_some(())
    };
    until("some attempts", attempts).await;
    assert_eq!(harness.appointment(id).body.booking.unwrap().writeback, Writeback::Pending);
    harness.server.database().switches = Switches { delay: Duration::from_millis(5), ..Switches::default() };
    harness.written(id).await;
    harness.engine.stop().await;
}

/// Rows that appear and disappear during a walk hide no others: pages overlap, and an incomplete pass is repeated.
#[actix::test]
async fn deletions_are_read_and_other_rows_remain() {
    let harness = Harness::open_with(
        ZONE,
        |_, _| (),
        |place| {
            whole_passes(place);
            place.settings_mut().pull.page = 4;
        },
    )
    .await;
    let gone = harness.seeded.patients[10];
    harness.server.database().change("patients", gone, serde_json::json!({"PatStatus": "Deleted"}));
    harness.server.database().remove("appointments", harness.seeded.booked);
    harness.sync().await;
    assert!(harness.patient_by_foreign(gone).inactive);
    let inactive = harness.seeded.patients.iter().filter(|key| harness.patient_by_foreign(*key).inactive).count();
    assert_eq!(inactive, 2, "that one, and the one who was");
    assert!(harness.seen(&harness.seeded.booked.to_string()).unwrap().cancelled);
    assert_eq!(harness.free_times(0, 0).await[0], "09:00");
    harness.engine.stop().await;
}
