//! After the loss of any single request or reply, of reads and writes alike, each record is in the EHR once.
//! `PRACTICE_SYNC_SEEDS` specifies the number of stories.

use adapter_conformance::flaky_proxy::{InjectedFault, When};
use location::{command::Placement, ids::AppointmentId};
use processor::commands::{AppointmentChange, ChangeAppointment};
use records::{self, CommunicationLog, record::Record};
use tests::harness::in_process::{LOCATION, fhir::FhirHarness, visitor};

use crate::fhir_server::{
    checks::{check_in_ehr, once_each},
    files::{everything, filed, new, patient_of_seed, save, talk},
};

const VARIABLE: &str = "PRACTICE_SYNC_SEEDS";
const FEW: u64 = 4;
/// Maximum number of stories per clinic, limited by its free slots.
const AT_ONE_CLINIC: u64 = 20;
/// Requests per booking: two for the patient, six for the appointment and its slot.
const REQUESTS: u64 = 8;

/// SplitMix64 generator; each seed produces one story.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

#[actix::test]
async fn each_write_is_in_the_ehr_once_after_any_loss() {
    let seeds = std::env::var(VARIABLE).map_or(FEW, |text| text.parse().unwrap());
    let mut done = 0;
    while done < seeds {
        let Some(harness) = FhirHarness::open_with(everything).await else { return };
        let here = AT_ONE_CLINIC.min(seeds - done);
        for nth in 0..here {
            story(&harness, done + nth, usize::try_from(nth).unwrap()).await;
        }
        // Some writes have fewer requests than the index of the request to lose.
        assert!(
            harness.proxy.injector.injected() as u64 >= 2 * here,
            "{} of {here} stories",
            harness.proxy.injector.injected()
        );
        done += here;
        harness.engine.stop().await;
    }
}

async fn story(harness: &FhirHarness, seed: u64, nth: usize) {
    let mut random = Random(seed);
    let mut lose = || {
        let trouble = if random.below(2) == 0 { InjectedFault::LoseReply } else { InjectedFault::LoseRequest };
        let at = usize::try_from(random.below(REQUESTS) + 1).unwrap();
        harness.proxy.injector.set(When::Nth(at), trouble);
    };
    let person = visitor("Told", &format!("Of Seed {seed}"), &format!("555-{seed:03}-{nth:04}"));
    let place = free(harness, nth).await;
    lose();
    let booked = harness.book(place, &format!("seed-{seed}"), &person, "told").await.unwrap();
    let record = harness.written(booked.appointment.id).await;
    check_in_ehr(harness, &record, place).await;
    once_each(harness, nth + 1, nth + 1).await;

    let to = free(harness, nth + 1).await;
    lose();
    harness.reschedule(record.id, to).await.unwrap();
    harness.idle().await;
    let moved = harness.appointment(record.id);
    assert_eq!(moved.placement, to, "seed {seed}");
    check_in_ehr(harness, &moved, to).await;

    let note = format!("of seed {seed}");
    lose();
    let change = AppointmentChange { note: Some(note.clone()), join_blocks: true, ..AppointmentChange::default() };
    save(harness, ChangeAppointment { id: AppointmentId(record.id), change }).await;
    harness.idle().await;
    assert_eq!(harness.in_ehr(&harness.appointment(record.id)).await["comment"], note.as_str(), "seed {seed}");

    let zoe = patient_of_seed(harness, 0);
    lose();
    let log: Record<CommunicationLog> = save(harness, new(Some(zoe.id), talk(zoe.id, &note))).await;
    filed::<CommunicationLog>(harness, log.id).await;
    let there = harness.server.search("Communication", &[]).await;
    let of_it = there.iter().filter(|log| log["payload"][0]["contentString"] == note.as_str()).count();
    assert_eq!((of_it, there.len()), (1, nth + 1), "seed {seed}");

    lose();
    harness.engine.cancel(LOCATION, AppointmentId(record.id), None).await.unwrap();
    harness.idle().await;
    assert_eq!(harness.in_ehr(&harness.appointment(record.id)).await["status"], "cancelled", "seed {seed}");
    harness.proxy.injector.clear();
    once_each(harness, nth + 1, nth + 1).await;
}

/// Returns the first free slot of a room.
async fn free(harness: &FhirHarness, room: usize) -> Placement {
    let room = room % 3;
    for day in 0..3 {
        if let Some(slot) = harness.free(room, day).await.first() {
            return Placement { operatory: slot.operatory, provider: Some(slot.provider), span: slot.span };
        }
    }
    panic!("room {room} has nothing left")
}
