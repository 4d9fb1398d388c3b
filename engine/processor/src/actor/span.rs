//! Spans of an actor. Log lines within them name the location and the request. The spans have the level of errors,
//! because filters drop spans by level, and errors should name their request, too.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix::{Actor, ActorFuture, fut::LocalBoxActorFuture};
use location::{LocationId, WriteId};
use records::write::public_id;
use tracing::{Span, error_span, trace_span};

/// Returns the span of a turn for a request. Internal work has none, because its log lines name the location
/// themselves.
pub(super) fn turn(location: LocationId, request: Option<&str>) -> Span {
    request.map_or_else(Span::none, |request| error_span!("turn", %location, request))
}

/// Returns the span of a turn's wait for the store, for traces only.
pub(super) fn commit() -> Span {
    if Span::current().is_none() { Span::none() } else { trace_span!("commit") }
}

/// Returns the span of a call to the EHR for a write.
pub(super) fn call(
    location: LocationId,
    call: &'static str,
    write: WriteId,
    attempt: u32,
    request: Option<&str>,
) -> Span {
    let write = public_id(location.0, write.0);
    error_span!(parent: None, "ehr_call", %location, call, write, attempt, request)
}

/// An actor's future within a span, like `tracing::Instrumented` for other futures.
pub(super) struct InSpan<A: Actor, T> {
    work: LocalBoxActorFuture<A, T>,
    span: Span,
}

impl<A: Actor, T> InSpan<A, T> {
    pub(super) fn new(work: impl ActorFuture<A, Output = T> + 'static, span: Span) -> InSpan<A, T> {
        InSpan { work: Box::pin(work), span }
    }
}

impl<A: Actor, T> ActorFuture<A> for InSpan<A, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, actor: &mut A, ctx: &mut A::Context, task: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let _within = this.span.enter();
        this.work.as_mut().poll(actor, ctx, task)
    }
}
