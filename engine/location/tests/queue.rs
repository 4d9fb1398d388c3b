//! The deadlines of a write queue, compared with a walk over all writes.

use crate::support;
use location::{
    ids::{PatientId, WriteId},
    intent::{CallKind, WriteIntent},
    order::OrderingKey,
    queue::{Queue, Write, WriteState},
    time::Timestamp,
};
use proptest::prelude::*;

const LATEST: i64 = 50;

#[derive(Clone, Debug)]
enum QueueStep {
    Push { deadline: i64 },
    Wait { which: usize, unknown: bool },
    Call { which: usize, until: i64 },
    Extend { which: usize, deadline: i64 },
    Remove { which: usize },
    SetBack { by: i64 },
    Outlast { at: i64 },
    Reload,
}

fn step() -> impl Strategy<Value = QueueStep> {
    let which = any::<usize>;
    prop_oneof![
        6 => (0..LATEST).prop_map(|deadline| QueueStep::Push { deadline }),
        4 => (which(), any::<bool>()).prop_map(|(which, unknown)| QueueStep::Wait { which, unknown }),
        4 => (which(), 0..LATEST).prop_map(|(which, until)| QueueStep::Call { which, until }),
        2 => (which(), 0..LATEST).prop_map(|(which, deadline)| QueueStep::Extend { which, deadline }),
        3 => which().prop_map(|which| QueueStep::Remove { which }),
        1 => (0..LATEST).prop_map(|by| QueueStep::SetBack { by }),
        1 => (0..LATEST).prop_map(|at| QueueStep::Outlast { at }),
        1 => Just(QueueStep::Reload),
    ]
}

/// Creates a write with its own ordering key, so that any write may be in flight.
fn write(id: WriteId, deadline: i64) -> Write {
    let patient = PatientId(u32::try_from(id.0).unwrap());
    Write {
        work: WriteIntent::CreatePatient(patient),
        ordering_key: OrderingKey::Patient(patient),
        key: format!("key-{id}"),
        queued_at: Timestamp(0),
        clock_changed: false,
        deadline: Timestamp(deadline),
        attempts: 0,
        state: WriteState::Waiting { not_before: Timestamp(0) },
        unknown: false,
        restored: false,
        not_found: 0,
        sent: None,
        sent_hour: None,
        superseded: false,
        reason: None,
        origin: None,
    }
}

fn update(queue: &mut Queue, id: Option<WriteId>, change: impl FnOnce(&mut Write)) {
    if let Some(id) = id {
        queue.update(id, change);
    }
}

fn apply(queue: &mut Queue, step: &QueueStep) {
    let ids: Vec<WriteId> = queue.iter().map(|(id, _)| id).collect();
    let pick = |which: usize| which.checked_rem(ids.len()).map(|index| ids[index]);
    match *step {
        QueueStep::Wait { which, unknown } => update(queue, pick(which), |write| {
            (write.state, write.unknown) = (WriteState::Waiting { not_before: Timestamp(0) }, unknown);
        }),
        QueueStep::Call { which, until } => update(queue, pick(which), |write| {
            write.state = WriteState::Calling { kind: CallKind::Push, until: Timestamp(until) };
        }),
        QueueStep::Extend { which, deadline } => {
            update(queue, pick(which), |write| write.deadline = Timestamp(deadline));
        }
        QueueStep::Push { deadline } => {
            let id = queue.next_id(0);
            queue.push(id, write(id, deadline));
        }
        QueueStep::Remove { which } => drop(pick(which).and_then(|id| queue.remove(id))),
        QueueStep::SetBack { by } => queue.set_back(Timestamp(0), by),
        QueueStep::Outlast { at } => queue.outlast(Timestamp(at)),
        QueueStep::Reload => {
            let stored = serde_json::to_string(queue).unwrap();
            let loaded: Queue = serde_json::from_str(&stored).unwrap();
            assert_eq!(loaded, *queue);
            *queue = loaded;
        }
    }
}

/// Returns the deadlines and ids of the writes selected by `wanted`, earliest first.
fn deadlines(queue: &Queue, wanted: fn(&Write) -> bool) -> Vec<(Timestamp, WriteId)> {
    let chosen = queue.iter().filter(|(_, write)| wanted(write));
    let mut chosen: Vec<_> = chosen.map(|(id, write)| (write.deadline, id)).collect();
    chosen.sort_unstable();
    chosen
}

proptest! {
    #![proptest_config(support::cases(256))]

    #[test]
    fn deadlines_equal_those_of_a_walk_over_all_writes(steps in prop::collection::vec(step(), 1..80)) {
        let mut queue = Queue::default();
        for step in &steps {
            apply(&mut queue, step);
            queue.check();
            let withdrawable = deadlines(&queue, Write::withdrawable);
            let unknown = deadlines(&queue, |write| matches!(write.state, WriteState::Waiting { .. }) && write.unknown);
            prop_assert_eq!(queue.next_deadline(), withdrawable.first().map(|(at, _)| *at));
            let first = queue.first_unknown().map(|(id, write)| (write.deadline, id));
            prop_assert_eq!(first, unknown.first().copied());
            for now in [0, LATEST / 2, LATEST].map(Timestamp) {
                let expired: Vec<_> = queue.expired(now).map(|(id, write)| (write.deadline, id)).collect();
                let passed: Vec<_> = withdrawable.iter().copied().take_while(|(at, _)| *at <= now).collect();
                prop_assert_eq!(expired, passed);
            }
        }
    }
}
