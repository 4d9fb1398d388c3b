//! Lost requests and replies, server downtime, and an engine that stops in the middle of a write.

use location::ids::AppointmentId;
use records::Writeback;
use testing::until;
use tests::harness::in_process::{LOCATION, fhir::FhirHarness, visitor};

use crate::fhir_server::{
    NINE, TEN,
    checks::{check_in_ehr, once_each, slot_of},
};

#[actix::test]
async fn each_write_happens_once_after_any_lost_request_or_reply() {
    let Some(harness) = FhirHarness::open().await else { return };
    let mut booked = Vec::new();
    // A booking writes the patient, the slot and the appointment.
    for (n, (fault, position)) in losses(3).into_iter().enumerate() {
        let place = harness.place(0, 1, NINE + 30 * i64::try_from(n).unwrap());
        let person = visitor("Lost", &format!("Of {fault} {position}"), &format!("555-030-{n:04}"));
        harness.server.fault(fault, position).await;
        let id = harness.book(place, &format!("lost-{n}"), &person, "lost").await.unwrap().appointment.id;
        let record = harness.written(id).await;
        nothing_more_is_lost(&harness).await;
        check_in_ehr(&harness, &record, place).await;
        once_each(&harness, n + 1, n + 1).await;
        booked.push(id);
    }
    // A move writes the new slot, the appointment and the old slot.
    let mut stands = slot_of(&harness.in_ehr(&harness.appointment(booked[0])).await);
    for (n, (fault, position)) in losses(3).into_iter().enumerate() {
        let to = harness.place(1 + n % 2, 2, NINE);
        harness.server.fault(fault, position).await;
        harness.reschedule(booked[0], to).await.unwrap();
        harness.idle().await;
        nothing_more_is_lost(&harness).await;
        assert_eq!(harness.appointment(booked[0]).placement, to);
        let moved = check_in_ehr(&harness, &harness.appointment(booked[0]), to).await;
        assert_eq!(harness.server.read("Slot", &stands).await["status"], "free", "{fault} {position}");
        stands = slot_of(&moved);
    }
    // A cancellation writes the appointment and the slot.
    for ((fault, position), id) in losses(2).into_iter().zip(&booked) {
        let slot = slot_of(&harness.in_ehr(&harness.appointment(*id)).await);
        harness.server.fault(fault, position).await;
        harness.engine.cancel(LOCATION, AppointmentId(*id), None).await.unwrap();
        harness.idle().await;
        nothing_more_is_lost(&harness).await;
        assert!(harness.appointment(*id).cancelled);
        assert_eq!(harness.in_ehr(&harness.appointment(*id)).await["status"], "cancelled", "{fault} {position}");
        assert_eq!(harness.server.read("Slot", &slot).await["status"], "free", "{fault} {position}");
    }
    let bookings = booked.len();
    once_each(&harness, bookings, bookings).await;
    harness.sync().await;
    assert_eq!(harness.appointments().len(), 5 + bookings, "each was known by its write key");
    harness.engine.stop().await;
}

/// Returns each fault of the server for each of `writes` writes.
fn losses(writes: u32) -> Vec<(&'static str, u32)> {
    ["drop_reply", "drop_request"].into_iter().flat_map(|fault| (1..=writes).map(move |n| (fault, n))).collect()
}

#[actix::test]
async fn downtime_and_restart_only_delay_a_booking() {
    let Some(mut harness) = FhirHarness::open().await else { return };
    harness.proxy.shut().await;
    let mut requests = Vec::new();
    for n in 0..3 {
        let person = visitor("Waits", &format!("For {n}"), &format!("555-040-{n:04}"));
        let request = harness.request(harness.place(n, 1, NINE), &format!("down-{n}"), &person, "down");
        let booked = harness.engine.book(request.clone()).await.unwrap().appointment;
        requests.push((request, booked.id));
    }
    let parked = async || {
        let state = harness.engine.sync_state(LOCATION).await.unwrap();
        state.write_reason.map(|reason| (reason, state.queued))
    };
    let (reason, queued) = until("the circuit breaker", parked).await;
    assert!(reason.contains("failed several writes"), "{reason}");
    assert_eq!(queued, 6, "three patients and three appointments");
    harness.engine.sync_now(LOCATION).await.unwrap();
    let unread = async || harness.engine.sync_state(LOCATION).await.unwrap().read_reason;
    until("a read cycle that fails", unread).await;

    let mut harness = harness.restart().await;
    assert_eq!(harness.engine.sync_state(LOCATION).await.unwrap().queued, 6);
    for (request, id) in &requests {
        let again = harness.engine.book(request.clone()).await.unwrap();
        assert_eq!((again.replay, again.appointment.id), (true, *id));
        assert_eq!(again.appointment.body.booking.unwrap().writeback, Writeback::Pending);
    }
    once_each(&harness, 0, 0).await;

    harness.proxy.open().await;
    for (request, id) in &requests {
        let record = harness.written(*id).await;
        check_in_ehr(&harness, &record, harness.appointment(*id).placement).await;
        assert_eq!(record.placement.span, request.offer.span);
    }
    let recovered = async || {
        let state = harness.engine.sync_state(LOCATION).await.unwrap();
        (state.write_ok && state.read_ok && state.queued == 0).then_some(())
    };
    until("reading and writing go on", recovered).await;
    once_each(&harness, 3, 3).await;
    harness.engine.stop().await;
}

#[actix::test]
async fn engine_resumes_a_booking_after_a_restart() {
    let Some(mut harness) = FhirHarness::open().await else { return };
    // Before the first write, after each write, and before the reply of the last one.
    for (n, writes) in [0, 1, 2, 3].into_iter().enumerate() {
        let place = harness.place(n % 3, 1, TEN + 30 * i64::try_from(n).unwrap());
        let person = visitor("Stopped", &format!("After {writes}"), &format!("555-050-{n:04}"));
        let before = harness.server.faults().await.writes;
        let id = harness.book(place, &format!("stop-{n}"), &person, "stopped").await.unwrap().appointment.id;
        let so_far = async || (harness.server.faults().await.writes - before >= writes).then_some(());
        until("the write to stop after", so_far).await;
        harness = harness.restart().await;
        let record = harness.written(id).await;
        check_in_ehr(&harness, &record, place).await;
        once_each(&harness, n + 1, n + 1).await;
    }
    harness.engine.stop().await;
}

/// A slot reserved for a booking that was never written is free for the next booking.
#[actix::test]
async fn booking_cancelled_before_it_was_written_frees_its_slot() {
    let Some(mut harness) = FhirHarness::open().await else { return };
    let place = harness.place(0, 1, NINE);
    harness.server.fault("drop_request", 3).await;
    let id = harness.book(place, "gone-1", &visitor("Never", "Came", "555-060-0000"), "").await.unwrap().appointment.id;
    let met = async || (harness.server.faults().await.drop_request == 0).then_some(());
    until("the appointment's request is lost", met).await;
    harness.proxy.shut().await;
    assert!(!harness.engine.cancel(LOCATION, AppointmentId(id), None).await.unwrap());
    harness.proxy.open().await;
    harness.idle().await;
    assert!(harness.appointment(id).cancelled);
    let next = visitor("Comes", "Instead", "555-060-0001");
    let id = harness.book(place, "gone-2", &next, "").await.unwrap().appointment.id;
    check_in_ehr(&harness, &harness.written(id).await, place).await;
    harness.engine.stop().await;
}

async fn nothing_more_is_lost(harness: &FhirHarness) {
    let faults = harness.server.faults().await;
    assert_eq!((faults.drop_reply, faults.drop_request), (0, 0), "the fault was met");
}
