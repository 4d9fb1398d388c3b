//! Requests to a location in the simulation, from clients and from itself, as one type.

use location::{
    command::{Command, DecisionContext},
    decision::{Decision, Refusal},
    ids::{AppointmentId, WriteId},
};
use processor::{
    commands::{BookSlot, BookSlots, Booked, ConfirmVisit, DropWrite, RescheduleVisit, RetryWrite},
    error::Reject,
    ingest::IngestPage,
    processor::Processor,
    request::Request,
    unit_of_work::UnitOfWork,
};

#[expect(clippy::large_enum_variant, reason = "few at a time")]
pub enum SimRequest {
    Book(Box<BookSlot>),
    BookGroup(Box<BookSlots>),
    Reschedule(Box<RescheduleVisit>),
    Confirm(AppointmentId),
    Page(IngestPage),
    Command(Command),
    Retry(WriteId),
    Drop(WriteId),
}

impl Request for SimRequest {
    type Reply = Option<Booked>;

    fn prepare(
        &self,
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(Decision, Option<Booked>), Reject> {
        match self {
            SimRequest::Book(book) => book.prepare(at, cx, unit).map(|(decision, booked)| (decision, Some(booked))),
            SimRequest::BookGroup(group) => group.prepare(at, cx, unit).map(|(decision, _)| (decision, None)),
            SimRequest::Reschedule(visit) => if_here(visit.prepare(at, cx, unit)),
            SimRequest::Confirm(appointment) => {
                if_here(ConfirmVisit { appointment: *appointment }.prepare(at, cx, unit))
            }
            SimRequest::Page(page) => page.prepare(at, cx, unit).map(|(decision, ())| (decision, None)),
            SimRequest::Command(command) => command.prepare(at, cx, unit).map(|(decision, ())| (decision, None)),
            SimRequest::Retry(write) => RetryWrite(*write).prepare(at, cx, unit).map(|(decision, _)| (decision, None)),
            SimRequest::Drop(write) => DropWrite(*write).prepare(at, cx, unit).map(|(decision, ())| (decision, None)),
        }
    }
}

/// Turns the error about a visit that staff moved to another location since the request was sent into a refusal.
fn if_here<T>(prepared: Result<(Decision, T), Reject>) -> Result<(Decision, Option<Booked>), Reject> {
    match prepared {
        Err(Reject::Precondition(_)) => Err(Reject::Refused(Refusal::AppointmentNotFound)),
        prepared => prepared.map(|(decision, _)| (decision, None)),
    }
}
