//! Properties of a location under random actions of clients, staff, clock and EHR. Its invariants hold after each step,
//! no write is applied twice, and all work ends eventually.

use crate::sim::{How, Sim, SimStep, Staff, Variant};
use location::{
    gate::{Gate, Shut},
    pause::Directions,
    resource::Operation,
    settings::Quota,
    time::{HOUR, MINUTE, SECOND},
};
use proptest::prelude::*;

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        6 => Just(How::Well),
        1 => Just(How::DoneUnknown),
        1 => Just(How::DoneSilent),
        1 => Just(How::Unknown),
        1 => Just(How::Silent),
        1 => Just(How::Rejected),
        1 => Just(How::RetryLater),
        1 => Just(How::NotReady),
        1 => Just(How::NotBegun),
        1 => Just(How::GateClosed),
        1 => Just(How::Unauthorized),
    ]
}

fn step() -> impl Strategy<Value = SimStep> {
    let staff = prop_oneof![Just(Staff::Book), Just(Staff::Move), Just(Staff::Cancel), Just(Staff::Delete)];
    let operation = prop_oneof![Just(Operation::Update), Just(Operation::Delete)];
    let time = prop_oneof![
        3 => 1..2 * SECOND,
        3 => SECOND..40 * SECOND,
        2 => MINUTE..20 * MINUTE,
        1 => HOUR..9 * HOUR,
    ];
    prop_oneof![
        8 => (any::<u8>(), 0..5_u8, 0..12_u8, any::<bool>(), any::<bool>(), 0..4_u8)
            .prop_map(|(slot, patient, key, data, new, hold)| SimStep::Book { slot, patient, key, data, new, hold }),
        3 => (prop::collection::vec((any::<u8>(), 0..4_u8), 2..5), 0..4_u8, any::<bool>())
            .prop_map(|(members, key, new)| SimStep::BookGroup { members, key, new }),
        2 => (any::<u8>(), 0..4_u8).prop_map(|(slot, hold)| SimStep::Hold { slot, hold }),
        1 => (0..4_u8).prop_map(|hold| SimStep::Release { hold }),
        5 => (any::<u8>(), any::<u8>()).prop_map(|(which, slot)| SimStep::Move { which, slot }),
        3 => any::<u8>().prop_map(|which| SimStep::Cancel { which }),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(which, slot)| SimStep::Change { which, slot }),
        3 => (0..5_u8, 0..40_u8, operation)
            .prop_map(|(patient, record, operation)| SimStep::Save { patient, record, operation }),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(which, what)| SimStep::Hour { which, what }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(which, what)| SimStep::StaffHour { which, what }),
        2 => any::<u8>().prop_map(|which| SimStep::Retry { which }),
        1 => any::<u8>().prop_map(|which| SimStep::Drop { which }),
        16 => (any::<u8>(), how()).prop_map(|(which, how)| SimStep::Answer { which, how }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(which, off)| SimStep::Again { which, off }),
        4 => (any::<u8>(), staff, any::<u8>()).prop_map(|(which, what, slot)| SimStep::Staff { which, what, slot }),
        6 => time.prop_map(SimStep::Pass),
        5 => Just(SimStep::UntilDue),
        2 => Just(SimStep::Sync),
        2 => any::<bool>().prop_map(SimStep::Read),
        1 => Just(SimStep::Intent),
        2 => Just(SimStep::Gate(Gate::Open)),
        2 => (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(reading, writing, paused)| SimStep::Pause(Directions { reading, writing }, paused)),
        1 => prop_oneof![Just(Shut::NoWorkstation), Just(Shut::LoggedOut)].prop_map(|why| SimStep::Gate(Gate::Shut(why))),
        1 => Just(SimStep::Accept),
        1 => Just(SimStep::Restart),
    ]
}

fn variant(staff: bool) -> impl Strategy<Value = Variant> {
    let quota = prop_oneof![
        Just(Quota::default()),
        Just(Quota { per_minute: 60, burst: 2 }),
        Just(Quota { per_minute: 10, burst: 1 }),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (flags, 1..4_u8, quota).prop_map(move |((whole, move_on_conflict, moves), concurrency, quota)| Variant {
        whole,
        move_on_conflict,
        concurrency,
        quota,
        moves,
        staff,
    })
}

/// Runs the steps. A failure is reported with the whole log.
fn tell(variant: &Variant, steps: &[SimStep]) -> Result<(), TestCaseError> {
    let mut sim = Sim::new(variant);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for step in steps {
            sim.step(step);
        }
        sim.settle();
    }));
    result.map_err(|panic| {
        let message = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        TestCaseError::fail(format!("{}\n{}", sim.log.join("\n"), message.unwrap_or_default()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Staff change the EHR at the same time.
    #[test]
    fn invariants_hold_with_changes_by_staff(variant in variant(true), steps in prop::collection::vec(step(), 1..120)) {
        tell(&variant, &steps)?;
    }

    /// Only our writes change the EHR, so it never has two appointments in one slot.
    #[test]
    fn ehr_is_never_double_booked_without_changes_by_staff(variant in variant(false), steps in prop::collection::vec(step(), 1..120)) {
        tell(&variant, &steps)?;
    }
}
