//! Calls to the EHR, made as decided by the machine. Their answers reach the actor as requests.

use std::{sync::Arc, time::Duration};

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture, fut::LocalBoxActorFuture};
use location::{
    Call, Command, MachineSettings, Millis, Resource, Timestamp, WriteId, command::Failure, event::CallKind,
};
use records::{Description, Ehr, Fault, Page, write::public_id};
use runtime::{Origin, clock};
use tracing::Instrument;

use super::{
    LocationActor, RequestJob, SelfMessage, TRY_AGAIN,
    prefetch::{PageRequest, PageTask},
    send_to_self, send_to_self_later, span,
};
use crate::{disk_share, ingest::IngestPage, push_payload, turn::PendingCommit};

/// Time by which a call ends before the machine gives it up, so that the answer of the call comes first.
const MARGIN: Millis = 500;
/// Interval between requests for a description of the EHR.
const DESCRIBE_EVERY: Duration = Duration::from_secs(24 * 3_600);
/// The first pause after a failed description. It doubles up to the cap.
const DESCRIBE_AGAIN: Duration = Duration::from_secs(15);
const DESCRIBE_AGAIN_CAP: Duration = Duration::from_secs(15 * 60);
const DESCRIBE_DEADLINE: Duration = Duration::from_secs(30);

/// The call that a page in flight answers.
pub(super) struct Pulling {
    request: PageRequest<PageTask>,
    call: u64,
    is_prefetched: bool,
}

impl LocationActor {
    /// Requests the next page while the turn is still being committed, unless it was prefetched. A pull changes nothing
    /// in the EHR, and its answer is handled only after the commit. A cycle takes the longer of both times instead of
    /// their sum.
    pub(super) fn begin_pull(&mut self, turn: &PendingCommit) -> Option<Pulling> {
        let (resource, call, cursor, until) = turn.pull()?;
        let asked = turn.asks_for_prefetched();
        let prefetched = if asked { self.prefetch.take(resource, cursor.as_deref()) } else { None };
        // Two requests at the same time would double the load on the EHR.
        self.prefetch.abort();
        let is_prefetched = prefetched.is_some();
        let request = prefetched.or_else(|| self.request_page(resource, cursor.clone(), until))?;
        Some(Pulling { request, call, is_prefetched })
    }

    /// Keeps a prefetched page whose turn was not committed, for the next attempt of the turn.
    pub(super) fn keep_prefetched(&mut self, pulling: Option<Pulling>) {
        if let Some(pulling) = pulling.filter(|pulling| pulling.is_prefetched) {
            self.prefetch.set(pulling.request);
        }
    }

    fn request_page(
        &self,
        resource: Resource,
        cursor: Option<String>,
        until: Timestamp,
    ) -> Option<PageRequest<PageTask>> {
        let (Some(processor), Some(ehr)) = (&self.processor, self.means.ehr.clone()) else { return None };
        let (limit, deadline) = (processor.settings().pull.page, call_time(processor.settings(), until));
        let (setup, health) = (self.deps.setup.load_full(), self.deps.store.health());
        // At least half of the time is left to the EHR.
        let patience = i64::try_from(deadline.as_millis() / 2).unwrap_or(0);
        let may_read = disk_share::may_read(&self.share, &setup.engine, &health, clock::now(), patience);
        let (asked, from) = (ehr.clone(), cursor.clone());
        let answer = actix_rt::spawn(async move {
            let wait = Duration::from_millis(may_read?.unsigned_abs());
            // Even a sleep of length zero ends at the next tick, a millisecond later.
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            asked.pull(resource, from, limit, deadline.saturating_sub(wait)).await
        });
        Some(PageRequest { resource, cursor, page: PageTask { ehr, answer } })
    }

    /// Requests the page after one that has just arrived, if the location may ask for it now. The turn that applies the
    /// arrived page takes the request over, or it is dropped.
    fn prefetch_next(&mut self, page: &Page, pulling: &Pulling, requests: u32) {
        let resource = pulling.request.resource;
        let is_current = self.means.ehr.as_ref().is_some_and(|ehr| Arc::ptr_eq(ehr, &pulling.request.page.ehr));
        if page.last || !is_current || self.share.has_large_pages() || !self.prefetch.wants(&page.cursor) {
            return;
        }
        let Some(processor) = &mut self.processor else { return };
        let deadline = processor.machine.prefetch(clock::now(), resource, pulling.call, requests);
        let request = deadline.and_then(|until| self.request_page(resource, Some(page.cursor.clone()), until));
        if let Some(request) = request {
            self.prefetch.set(request);
        }
    }

    /// Drops a prefetched page that the turn of its predecessor did not take over. Its request counts towards the
    /// quota before any other work starts.
    pub(super) fn drop_prefetched(&mut self) -> LocalBoxActorFuture<Self, ()> {
        let forget = |act: &mut Self, ctx: &mut Context<Self>| {
            if let Some(processor) = &mut act.processor {
                processor.machine.drop_prefetched();
                // A call may be due that had no request left.
                act.set_timer(ctx);
            }
        };
        if !self.prefetch.take_uncounted() {
            return Box::pin(self.done().map(move |(), act, ctx| forget(act, ctx)));
        }
        self.metrics.adapter_calls.add(1);
        let counted = RequestJob::internal(Command::RequestsSent { requests: 1 });
        if self.processor.is_none() {
            let later = |(), _: &mut Self, ctx: &mut Context<Self>| {
                send_to_self_later(ctx, SelfMessage::Do(counted), TRY_AGAIN);
            };
            return Box::pin(self.done().map(later));
        }
        Box::pin(self.turn_in_log(counted).map(move |_, act, ctx| forget(act, ctx)))
    }

    /// Awaits the page after the commit and handles it as a separate request.
    pub(super) fn await_page(&mut self, mut pulling: Pulling, ctx: &mut Context<Self>) {
        let loads = self.loads;
        let pulled = async move { ((&mut pulling.request.page.answer).await, pulling) };
        ctx.spawn(pulled.into_actor(self).map(move |(page, pulling), act, ctx| {
            let (resource, call) = (pulling.request.resource, pulling.call);
            let requests = charge(&pulling.request.page.ehr, ctx);
            if act.loads != loads {
                return;
            }
            let page = page.unwrap_or_else(|ended| Err(Fault::Unknown(format!("the call ended: {ended}"))));
            if let Ok(page) = &page {
                act.prefetch_next(page, &pulling, requests);
            }
            let outcome = page.map(Box::new).map_err(|fault| act.fault("pull", fault));
            let job = RequestJob::internal(IngestPage { resource, call, outcome });
            send_to_self(ctx, SelfMessage::Page { job, loads });
        }));
    }

    /// Makes a call to the EHR and handles its answer as a separate request.
    pub(super) fn call(&mut self, call: Call, ctx: &mut Context<Self>) {
        let (Some(processor), Some(ehr)) = (&self.processor, self.means.ehr.clone()) else { return };
        self.metrics.adapter_calls.add(1);
        match call {
            // In flight since the commit began.
            Call::Pull { .. } => {}
            Call::Write { write, attempt, kind, work, key, placement, until } => {
                let origin = processor.machine.state.queue.get(write).and_then(|write| write.origin.as_deref());
                let origin = origin.map(Origin::from);
                let what = match kind {
                    CallKind::Push => "push",
                    CallKind::Find => "find",
                };
                // Created where the call runs, because a span joins the trace that is current at its creation. Here,
                // that may be the trace of another request.
                let (location, request) = (self.id, origin.clone());
                let span = move || span::call(location, what, write, attempt, request.as_deref());
                let prepared = processor.outgoing(work, &key, placement);
                let deadline = call_time(processor.settings(), until);
                let composed = match (prepared, kind) {
                    (Ok(Ok(outgoing)), _) => Ok(outgoing),
                    (Ok(Err(failure)), CallKind::Push) => Err(failure),
                    (Ok(Err(failure)), CallKind::Find) => {
                        let restored = processor.machine.state.queue.get(write).is_some_and(|write| write.restored);
                        Err(push_payload::lookup_failure(work, failure, restored))
                    }
                    (Err(error), _) => {
                        let write = public_id(self.id.0, write.0);
                        tracing::error!(location = %self.id, write, %error, "the payload of a write could not be built");
                        Err(Failure::NotReady("its records could not be read".to_owned()))
                    }
                };
                let outgoing = match composed {
                    Ok(outgoing) => outgoing,
                    Err(failure) => {
                        let command = failed_call(write, attempt, kind, failure);
                        return send_to_self(ctx, SelfMessage::Do(RequestJob::internal_for(command, origin)));
                    }
                };
                match kind {
                    CallKind::Push => {
                        let asked = ehr.clone();
                        let pushed = async move {
                            let span = span();
                            let receipt = asked.push(key, outgoing, deadline).instrument(span.clone()).await;
                            (receipt, span)
                        };
                        ctx.spawn(pushed.into_actor(self).map(move |(receipt, span), act, ctx| {
                            charge(&ehr, ctx);
                            let outcome = receipt.map(push_payload::written);
                            let outcome = span.in_scope(|| act.outcome(what, outcome));
                            let command = Command::Pushed { write, attempt, outcome };
                            send_to_self(ctx, SelfMessage::Do(RequestJob::internal_for(command, origin)));
                        }));
                    }
                    CallKind::Find => {
                        let asked = ehr.clone();
                        let found = async move {
                            let span = span();
                            let receipt = asked.find(key, outgoing, deadline).instrument(span.clone()).await;
                            (receipt, span)
                        };
                        ctx.spawn(found.into_actor(self).map(move |(receipt, span), act, ctx| {
                            charge(&ehr, ctx);
                            let outcome = receipt.map(|found| found.map(push_payload::written));
                            let outcome = span.in_scope(|| act.outcome(what, outcome));
                            let command = Command::Found { write, attempt, outcome };
                            send_to_self(ctx, SelfMessage::Do(RequestJob::internal_for(command, origin)));
                        }));
                    }
                }
            }
        }
    }

    fn outcome<T>(&self, what: &'static str, answer: Result<T, Fault>) -> Result<T, Failure> {
        if answer.is_ok() {
            tracing::debug!("the EHR call has ended");
        }
        answer.map_err(|fault| self.fault(what, fault))
    }

    fn fault(&self, what: &str, fault: Fault) -> Failure {
        if let Fault::NotBegun(reason) = fault {
            tracing::debug!(location = %self.id, call = what, reason, "the EHR call was put off");
            return Failure::NotBegun(reason);
        }
        self.metrics.adapter_faults.add(1);
        if what == "push" && matches!(fault, Fault::Rejected(_) | Fault::Unsupported(_)) {
            tracing::warn!(location = %self.id, call = what, %fault, "the EHR rejected the write; it is not tried again");
        } else {
            tracing::info!(location = %self.id, call = what, %fault, "the EHR call did not succeed");
        }
        push_payload::failure(fault)
    }

    pub(super) fn describe(&mut self, ctx: &mut Context<Self>) {
        let Some(ehr) = self.means.ehr.clone().filter(|_| !self.has_other_source()) else { return };
        self.metrics.adapter_calls.add(1);
        let asked = async move { (ehr.describe(DESCRIBE_DEADLINE).await, ehr) };
        ctx.spawn(asked.into_actor(self).map(|(described, ehr), act, ctx| {
            // If the location was reconfigured meanwhile, only the answer of the current EHR counts.
            if !act.means.ehr.as_ref().is_some_and(|now| Arc::ptr_eq(now, &ehr)) {
                return;
            }
            match described.as_ref().map(drop).map_err(|fault| push_payload::failure(fault.clone())) {
                // The call was not made.
                Err(Failure::NotBegun(_)) => {}
                outcome => {
                    act.metrics.adapter_faults.add(u64::from(outcome.is_err()));
                    send_to_self(ctx, SelfMessage::Do(RequestJob::internal(Command::Described { outcome })));
                }
            }
            send_to_self(ctx, SelfMessage::Described(described));
        }));
    }

    pub(super) fn described(
        &mut self,
        described: Result<Description, Fault>,
        ctx: &mut Context<Self>,
    ) -> LocalBoxActorFuture<Self, ()> {
        let description = match described {
            Ok(description) => description,
            // The call was not made.
            Err(Fault::NotBegun(_)) => {
                self.describe_later(ctx, DESCRIBE_AGAIN);
                return self.done();
            }
            Err(error) => {
                self.describe_failures = self.describe_failures.saturating_add(1);
                let again = describe_again(self.describe_failures);
                tracing::warn!(location = %self.id, %error, ?again, "the EHR did not describe its capabilities");
                self.describe_later(ctx, again);
                return self.done();
            }
        };
        self.describe_failures = 0;
        let news = self.processor.as_ref().filter(|processor| processor.description.as_ref() != Some(&description));
        let batch = match news.map(|processor| processor.describing(&description)) {
            Some(Ok(batch)) => batch,
            known => {
                if let Some(Err(error)) = known {
                    tracing::error!(location = %self.id, %error, "the capabilities of the EHR cannot be stored");
                }
                self.describe_later(ctx, DESCRIBE_EVERY);
                return self.done();
            }
        };
        let stored = self.deps.store.commit(batch).into_actor(self);
        let stored = stored.map(move |result, act, ctx| match (result, &mut act.processor) {
            (Ok(()), processor) => {
                processor.iter_mut().for_each(|processor| processor.described(description.clone()));
                act.describe_later(ctx, DESCRIBE_EVERY);
                act.set_timer(ctx);
            }
            (Err(error), _) => {
                tracing::warn!(location = %act.id, %error, "the capabilities of the EHR were not stored; they are requested again");
                act.describe_later(ctx, DESCRIBE_AGAIN);
            }
        });
        Box::pin(stored)
    }

    /// Replaces the timer of the next description.
    fn describe_later(&mut self, ctx: &mut Context<Self>, after: Duration) {
        let next = ctx.run_later(after, |act, ctx| act.describe(ctx));
        if let Some(before) = self.describe.replace(next) {
            ctx.cancel_future(before);
        }
    }
}

/// Reports the extra requests of a call before its answer is handled, so that the next call waits for their quota.
/// Returns their number.
fn charge(ehr: &Arc<dyn Ehr>, ctx: &mut Context<LocationActor>) -> u32 {
    let requests = ehr.take_requests_beyond();
    if requests > 0 {
        send_to_self(ctx, SelfMessage::Do(RequestJob::internal(Command::RequestsSent { requests })));
    }
    requests
}

/// Returns the outcome of a call that was not made, as the command for its kind.
fn failed_call(write: WriteId, attempt: u32, kind: CallKind, failure: Failure) -> Command {
    match kind {
        CallKind::Push => Command::Pushed { write, attempt, outcome: Err(failure) },
        CallKind::Find => Command::Found { write, attempt, outcome: Err(failure) },
    }
}

/// Returns the deadline of a call: the time until the machine gives it up, minus the wait for a place and the margin.
fn call_time(settings: &MachineSettings, until: Timestamp) -> Duration {
    Duration::from_millis((until.since(clock::now()) - settings.place_wait - MARGIN).max(1).unsigned_abs())
}

/// Returns the pause after a number of consecutive failures.
fn describe_again(failures: u32) -> Duration {
    DESCRIBE_AGAIN.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(DESCRIBE_AGAIN_CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_describe_calls_are_retried_with_backoff() {
        let pauses: Vec<u64> = (1..9).map(|failures| describe_again(failures).as_secs()).collect();
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 900, 900]);
        assert_eq!(describe_again(u32::MAX), DESCRIBE_AGAIN_CAP);
    }

    /// Answered as a push, the failure would match no call, and the look-up would wait for its deadline.
    #[test]
    fn skipped_call_is_answered_with_its_own_kind() {
        let failed = |kind| failed_call(WriteId(7), 2, kind, Failure::NotReady("no id yet".to_owned()));
        let write = WriteId(7);
        assert!(
            matches!(failed(CallKind::Find), Command::Found { write: of, attempt: 2, outcome: Err(_) } if of == write)
        );
        assert!(
            matches!(failed(CallKind::Push), Command::Pushed { write: of, attempt: 2, outcome: Err(_) } if of == write)
        );
    }
}
