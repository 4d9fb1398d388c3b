//! Lost requests and replies at every request of every write. An unknown outcome is looked up, a write reported as not
//! done is sent again, and in the end one record exists.

use std::rc::Rc;

use records::ehr::{Fault, Receipt, Write};

use super::{kinds, writing::met};
use crate::{
    display,
    effect::{due, left, record},
    ehr_under_test::EhrUnderTest,
    fault_injector::{InjectedFault, When},
    report::CaseResult,
    subject::Subject,
};

/// Attempts after which an undisturbed write must have ended.
const ATTEMPTS: usize = 4;
/// Maximum number of requests of one write.
const MOST_REQUESTS: usize = 100;

const LOOK_FIRST: &str = "say `unknown` where a request of the write may have arrived, and `retry-later` only where none can have; \
    let `push` look for the key before it writes, and `find` answer by the EHR's own word";

pub async fn a_lost_reply_is_found_and_written_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    at_each_request(&subject, InjectedFault::LoseReply).await
}

pub async fn a_lost_request_is_written_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    at_each_request(&subject, InjectedFault::LoseRequest).await
}

async fn at_each_request<S: EhrUnderTest>(subject: &Subject<S>, fault: InjectedFault) -> CaseResult {
    for kind in kinds(subject)? {
        for n in 1.. {
            subject.hold(
                n < MOST_REQUESTS,
                format!("fewer than {MOST_REQUESTS} requests"),
                "write with fewer requests",
            )?;
            let (key, write) = (subject.key(), subject.fresh(kind).await?);
            let before = subject.injector.injected();
            subject.injector.set(When::Nth(n), fault.clone());
            let pushed = subject.push(&key, &write).await;
            subject.injector.clear();
            let receipt =
                ended(subject, &key, &write, pushed?, &format!("{fault:?} at request {n} of the write")).await?;
            met(subject, &write, &receipt.id).await?;
            let found = subject.answered(subject.find(&key, &write).await?)?;
            subject.hold(
                found.is_some_and(|found| found.id == receipt.id),
                format!("a receipt for {}, which was written", receipt.id),
                LOOK_FIRST,
            )?;
            // The write took fewer requests: each was lost once.
            if subject.injector.injected() == before {
                subject.hold(
                    n > 1,
                    "at least one request: something was written",
                    "write to the EHR and nowhere else",
                )?;
                break;
            }
        }
    }
    Ok(())
}

/// Handles an outcome as the engine does, until the write has ended.
async fn ended<S: EhrUnderTest>(
    subject: &Subject<S>,
    key: &str,
    write: &Write,
    mut pushed: Result<Receipt, Fault>,
    at: &str,
) -> CaseResult<Receipt> {
    for _ in 0..ATTEMPTS {
        match pushed {
            Ok(receipt) => return Ok(receipt),
            Err(Fault::Unknown(_)) => {
                tokio::time::sleep(subject.system.settle()).await;
                let found = subject.answered(subject.find(key, write).await?)?;
                let reply =
                    found.as_ref().map_or_else(|| "none".to_owned(), |receipt| format!("a receipt for {}", receipt.id));
                let there = has_effect(subject, write).await?;
                let truth =
                    if there { "a receipt: the record is in the EHR" } else { "none: no such record is in the EHR" };
                subject.hold_seen(
                    found.is_some() == there,
                    format!("the look-up said {reply}"),
                    format!("{truth}, after {at}: {}", display::write(write)),
                    LOOK_FIRST,
                )?;
                if let Some(receipt) = found {
                    return Ok(receipt);
                }
            }
            Err(Fault::RetryLater { .. }) => {
                let there = has_effect(subject, write).await?;
                subject.hold_seen(
                    !there,
                    "retry-later, though the record is in the EHR".to_owned(),
                    format!("unknown or a receipt, after {at}: {}", display::write(write)),
                    LOOK_FIRST,
                )?;
            }
            Err(_) => return Err(subject.failed(format!("a receipt, unknown or retry-later, after {at}"), LOOK_FIRST)),
        }
        pushed = subject.push(key, write).await?;
    }
    Err(subject.failed(format!("an end within {ATTEMPTS} attempts, after {at}"), LOOK_FIRST))
}

/// Returns `true` if the EHR has the expected effect of the write, according to the EHR's own API.
async fn has_effect<S: EhrUnderTest>(subject: &Subject<S>, write: &Write) -> CaseResult<bool> {
    let (resource, written) = left(write);
    // Counted once: an EHR that is reached only through the adapter lists all records for each count.
    let copies = subject.copies(write).await;
    if copies.is_some_and(|copies| copies > 1) {
        subject.hold_copies(write, copies, due(write))?;
    }
    let has = |wanted| copies.is_none_or(|copies| copies == wanted);
    let Some(written) = written else { return Ok(has(due(write))) };
    let id = record(write).map(|record| record.id().to_owned()).unwrap_or_default();
    // Without an id or a list of the resource, one copy in the EHR proves the write.
    if id.is_empty() || subject.ability(resource).is_none() {
        return Ok(has(1));
    }
    let shown = subject.listed_record(resource, &id).await?;
    Ok(shown.is_some_and(|shown| subject.differences(resource, &written, &shown).is_empty()))
}
