//! Requests and replies that are lost, each of a write in turn: what is said to be unknown is looked up, what is said not to be written
//! is sent again, and at the end there is one record.

use std::rc::Rc;

use records::ehr::{Fault, Receipt, Write};

use super::writing::met;
use crate::{
    conformance::{
        EhrUnderTest, KINDS, Subject,
        writes::{due, left},
    },
    harness::flaky_proxy::{Trouble, When},
};

/// Attempts after which a write that nothing disturbs any more must have ended.
const ATTEMPTS: usize = 4;
/// No write takes as many.
const MOST_REQUESTS: usize = 100;

pub async fn a_lost_reply_is_found_and_written_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    at_each_request(&subject, Trouble::LoseReply).await;
}

pub async fn a_lost_request_is_written_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    at_each_request(&subject, Trouble::LoseRequest).await;
}

async fn at_each_request<S: EhrUnderTest>(subject: &Subject<S>, trouble: Trouble) {
    for kind in KINDS.into_iter().filter(|kind| subject.writes(kind)) {
        for n in 1.. {
            assert!(n < MOST_REQUESTS, "{kind} takes {n} requests");
            let (key, write) = (subject.key(), subject.fresh(kind).await);
            let before = subject.proxy.spoilt();
            subject.proxy.set(When::Nth(n), trouble.clone());
            let pushed = subject.push(&key, &write).await;
            subject.proxy.calm();
            let receipt = ended(subject, &key, &write, pushed, &format!("{kind}, {trouble:?} {n}")).await;
            met(subject, &write, &receipt.id).await;
            let found = subject.find(&key, &write).await.unwrap_or_else(|fault| panic!("{kind}: {fault}"));
            assert_eq!(found.map(|found| found.id), Some(receipt.id), "{kind}: what was written is found");
            // It took fewer requests: each was lost once.
            if subject.proxy.spoilt() == before {
                assert!(n > 1, "{kind} is written without a request");
                break;
            }
        }
    }
}

/// What the engine does with an outcome, until the write has ended.
async fn ended<S: EhrUnderTest>(
    subject: &Subject<S>,
    key: &str,
    write: &Write,
    mut pushed: Result<Receipt, Fault>,
    at: &str,
) -> Receipt {
    for _ in 0..ATTEMPTS {
        match pushed {
            Ok(receipt) => return receipt,
            Err(Fault::Unknown(_)) => {
                let found = subject.find(key, write).await.unwrap_or_else(|fault| panic!("{at}, find: {fault}"));
                let there = is_there(subject, write).await;
                assert_eq!(found.is_some(), there, "{at}: the lookup does not tell what is in the EHR");
                if let Some(receipt) = found {
                    return receipt;
                }
            }
            Err(Fault::RetryLater { .. }) => {
                assert!(!is_there(subject, write).await, "{at}: it is said not to be written, and is");
            }
            Err(fault) => panic!("{at}: {fault}"),
        }
        pushed = subject.push(key, write).await;
    }
    panic!("{at}: it does not end: {pushed:?}")
}

/// Whether the EHR has what the write was to leave there, by looking.
async fn is_there<S: EhrUnderTest>(subject: &Subject<S>, write: &Write) -> bool {
    let copies = subject.system.copies(write).await;
    assert!(copies <= 1, "{copies} records of {write:?}");
    let (resource, written) = left(write);
    let Some(written) = written else { return copies == due(write) };
    let id = match written_id(write) {
        // It creates: a copy is the proof.
        None => return copies == 1,
        Some(id) => id,
    };
    if subject.ability(resource).is_none() {
        return copies == 1;
    }
    let shown = subject.shown(resource, &id).await;
    shown.is_some_and(|shown| subject.differences(resource, &written, &shown).is_empty())
}

fn written_id(write: &Write) -> Option<String> {
    let id = match write {
        Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => &patient.id,
        Write::CreateAppointment(a)
        | Write::RescheduleAppointment(a)
        | Write::ConfirmAppointment(a)
        | Write::CheckInAppointment(a)
        | Write::NoteAppointment(a)
        | Write::CancelAppointment(a, _) => &a.id,
        Write::CreateWorkingHour(hour) | Write::UpdateWorkingHour(hour) => &hour.id,
        Write::DeleteWorkingHour(id) => id,
        Write::Record(_, entry) => return (!entry.id().is_empty()).then(|| entry.id().to_owned()),
    };
    (!id.is_empty()).then(|| id.clone())
}
