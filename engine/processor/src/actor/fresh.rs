//! Requests that wait for a read of the appointments, and hints from the EHR. All of them share one read.

use actix::{ActorFutureExt, fut::LocalBoxActorFuture};
use location::{Command, Timestamp, pull::Freshness};
use runtime::clock;

use super::{LocationActor, Reply, RequestJob, waiters::Waiter};

const TOO_MANY: &str = "too many requests wait for a read of the practice's system";

impl LocationActor {
    /// Replies once the EHR's changes before `since` are known, or at once if no read can start by `until`. Requests a
    /// read unless one that is early enough is requested or running.
    pub(super) fn refresh(
        &mut self,
        since: Timestamp,
        until: Timestamp,
        reply: Reply<Freshness>,
    ) -> LocalBoxActorFuture<Self, ()> {
        let known = self.in_memory().map(|processor| {
            let machine = &processor.machine;
            (machine.freshness(clock::now(), since, until), machine.needs_read_request(since))
        });
        match known {
            Err(error) => drop(reply.send(Err(error))),
            Ok((Freshness::Waiting, _)) if self.waiters.is_full() => {
                drop(reply.send(Ok(Freshness::Unavailable(TOO_MANY))));
            }
            Ok((Freshness::Waiting, needs_request)) => {
                self.waiters.push(Waiter { since, until, reply });
                if needs_request {
                    return self.request_read(false);
                }
            }
            Ok((known, _)) => drop(reply.send(Ok(known))),
        }
        self.done()
    }

    /// Requests a read because of a hint, unless the location has one pending or reading is suspended.
    pub(super) fn hinted(&mut self, everything: bool) -> LocalBoxActorFuture<Self, ()> {
        let useful = self.in_memory().is_ok_and(|processor| {
            let machine = &processor.machine;
            !machine.state.is_reading_suspended() && !machine.is_read_pending(clock::now(), everything)
        });
        if useful { self.request_read(everything) } else { self.done() }
    }

    /// Notes a search, hold or booking, which may bring the next cycle forward.
    pub(super) fn note_intent(&mut self, ctx: &mut actix::Context<Self>) {
        if let Some(processor) = &mut self.processor {
            processor.machine.last_intent = Some(clock::now());
            self.set_timer(ctx);
        }
    }

    fn request_read(&mut self, everything: bool) -> LocalBoxActorFuture<Self, ()> {
        let turn = self.turn_in_log(RequestJob::internal(Command::RequestRead { everything }));
        Box::pin(turn.map(|done, act, ctx| act.internal_turn_done(done, ctx)))
    }

    /// Answers the requests whose wait has ended with the last turn.
    pub(super) fn answer_waiters(&mut self) {
        if self.waiters.is_empty() {
            return;
        }
        let Some(processor) = &self.processor else { return };
        let (machine, now) = (&processor.machine, clock::now());
        self.waiters.answer(|since, until| machine.freshness(now, since, until));
    }
}
