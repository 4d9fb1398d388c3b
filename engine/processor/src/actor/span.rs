//! Spans of what an actor does: the lines that are logged meanwhile name the location, and the request it is done for. They have the level of
//! errors, because a filter drops spans as it drops lines, and an error should name its request too.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix::{Actor, ActorFuture, fut::LocalBoxActorFuture};
use location::ids::{LocationId, WriteId};
use records::write::public_id;
use tracing::{Span, error_span, trace_span};

/// None for what nobody asked for: its lines name the location themselves.
pub(super) fn turn(location: LocationId, request: Option<&str>) -> Span {
    request.map_or_else(Span::none, |request| error_span!("turn", %location, request))
}

/// The part of a turn that waits for the store; for traces alone.
pub(super) fn commit() -> Span {
    if Span::current().is_none() { Span::none() } else { trace_span!("commit") }
}

/// A call to the EHR on behalf of a write.
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

/// A future of an actor within a span, as `tracing::Instrumented` is for others.
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
