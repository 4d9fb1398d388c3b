//! GET /write_requests, GET /write_requests/{id}, POST /write_requests/{id}/retry and /drop: what is on its way to the health record
//! system, and what became of it (our addition).

use engine::write_requests::{Status, WriteRequest, merged};
use location::{event::Work, ids::WriteId, pull::Verb};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Answer,
    resource_names::{granted, name},
};
use crate::{
    cursor::Position,
    errors::ApiError,
    kinds::{integer, one_of},
    pages::stretch,
    scope::{Call, Place},
    wire::At,
};

/// A write to the health record system.
#[derive(Serialize, JsonSchema)]
pub struct WriteRequestView {
    /// Counted by location.
    id: u64,
    location_id: u32,
    #[schemars(extend("enum" = ["queued", "sending", "parked", "done", "failed", "timed_out"]))]
    status: &'static str,
    resource: &'static str,
    record_id: u64,
    #[schemars(extend("enum" = ["create", "update", "delete", "reschedule", "cancel", "confirm", "check_in", "note"]))]
    operation: &'static str,
    attempts: u32,
    /// What the last attempt said, or why it ended without being written. Never patient data.
    reason: Option<String>,
    queued_at: At,
    /// It is given up then; null once it has ended.
    deadline: Option<At>,
    finished_at: Option<At>,
    /// The write as which an operator had it tried again.
    retried_as: Option<u64>,
    /// Given up by an operator: it will not be tried again.
    dropped: bool,
}

const STATUSES: &[(&str, Status)] = &[
    ("queued", Status::Queued),
    ("sending", Status::Sending),
    ("parked", Status::Parked),
    ("done", Status::Done),
    ("failed", Status::Failed),
    ("timed_out", Status::TimedOut),
];

impl WriteRequestView {
    fn of(it: &WriteRequest) -> WriteRequestView {
        let (resource, record_id, operation) = subject(it.work);
        let status = STATUSES.iter().find(|(_, status)| *status == it.status).map_or("", |(name, _)| name);
        WriteRequestView {
            id: it.id,
            location_id: it.location_id,
            status,
            resource: name(resource),
            record_id,
            operation,
            attempts: it.attempts,
            reason: it.reason.clone(),
            queued_at: At(it.queued_at),
            deadline: it.deadline.map(At),
            finished_at: it.finished_at.map(At),
            retried_as: it.retried_as,
            dropped: it.dropped,
        }
    }
}

/// Which record, and what is done with it.
fn subject(work: Work) -> (location::pull::Resource, u64, &'static str) {
    use location::pull::Resource::{Appointments, Patients};
    match work {
        Work::CreatePatient(id) => (Patients, id.0.into(), "create"),
        Work::CreateAppointment(id) => (Appointments, id.0, "create"),
        Work::Reschedule(id) => (Appointments, id.0, "reschedule"),
        Work::Cancel(id) => (Appointments, id.0, "cancel"),
        Work::Confirm(id) => (Appointments, id.0, "confirm"),
        Work::CheckIn(id) => (Appointments, id.0, "check_in"),
        Work::Note(id) => (Appointments, id.0, "note"),
        Work::Record { resource, id, verb: Verb::Create } => (resource, id, "create"),
        Work::Record { resource, id, verb: Verb::Update } => (resource, id, "update"),
        Work::Record { resource, id, verb: Verb::Delete } => (resource, id, "delete"),
    }
}

pub async fn list(mut call: Call) -> Answer {
    let (place, (status, paging)) = call.in_place(|input| {
        let status = input.query.optional("status", one_of(STATUSES));
        Some((status, input.paging()))
    })?;
    let location = place.location.id;
    let waiting = call.api.engine.unfinished_writes(location).await?;
    let page = paging.collect(
        false,
        |at, backwards, limit| {
            let part = stretch(at, backwards, limit);
            let mut found = merged(waiting.clone(), call.api.engine.ended_writes(location, part)?, part);
            if backwards {
                found.reverse();
            }
            Ok(found)
        },
        |it| status.is_none_or(|status| status == it.status) && granted(subject(it.work).0, call.key.grants),
        |it| Position::id(it.id),
    )?;
    Ok(call.page(&page.views(WriteRequestView::of)))
}

pub async fn show(mut call: Call) -> Answer {
    let (place, id) = place_and_id(&mut call)?;
    Ok(call.show(WriteRequestView::of(&find(&call, &place, id).await?)))
}

/// What failed to be made in the health record system is tried again, as a new write.
pub async fn retry(mut call: Call) -> Answer {
    let (place, id) = place_and_id(&mut call)?;
    find(&call, &place, id).await?;
    let again = call.api.engine.retry_write(place.location.id, WriteId(id)).await?;
    call.audit("retry", "write request", id);
    Ok(call.show(WriteRequestView::of(&find(&call, &place, again.0).await?)))
}

/// Given up for good.
pub async fn give_up(mut call: Call) -> Answer {
    let (place, id) = place_and_id(&mut call)?;
    find(&call, &place, id).await?;
    call.api.engine.drop_write(place.location.id, WriteId(id)).await?;
    call.audit("drop", "write request", id);
    Ok(call.show(WriteRequestView::of(&find(&call, &place, id).await?)))
}

fn place_and_id(call: &mut Call) -> Result<(Place, u64), ApiError> {
    // They are counted by location, from 0.
    let id = call.path_id(integer(0..=i64::MAX))?;
    Ok((call.in_place(|_| Some(()))?.0, id.unsigned_abs()))
}

async fn find(call: &Call, place: &Place, id: u64) -> Result<WriteRequest, ApiError> {
    let found = call.api.engine.write_request(place.location.id, id).await?;
    let found = found.filter(|it| granted(subject(it.work).0, call.key.grants));
    found.ok_or_else(|| ApiError::NotFound(format!("Write Request with id {id}")))
}
