//! GET /write_requests, GET /write_requests/{id}, POST /write_requests/{id}/retry and /drop: pending writes to the EHR
//! and their results (our addition).

pub use engine::records::write::public_id;
use engine::{
    commands::{DropWrite, RetryWrite},
    write_requests::{Status, WriteRequest, merged},
};
use framework::{
    access::resource_names::{granted, name, resource},
    values::record_uuid::uuid,
};
use location::{Operation, WriteId, WriteIntent};

use crate::prelude::*;

/// A write to the health record system.
#[view(value = WriteRequest, args(source: Option<u32>))]
pub struct WriteRequestView {
    /// Id of the write request: the location id and the number of the write at the location, such as `101-8`.
    #[view(with = public_id(entry.location_id, entry.id))]
    id: String,
    /// Id of the location that the write belongs to.
    location_id: u32,
    /// Status of the write. `queued`: waits for its turn. `sending`: an attempt is in progress. `parked`: nothing is
    /// sent for now, because a gate is closed, a circuit breaker is open, credentials were refused or an operator
    /// paused writing. `done`, `failed`, `timed_out`: the write has ended.
    status: Word<Status>,
    #[view(with = name(subject(entry.work).0))]
    resource: &'static str,
    /// As the record's own endpoints show it.
    #[view(with = RecordId::new(entry.work, source))]
    record_id: RecordId,
    /// The operation on the record in the health record system. `replace`: creates an appointment at its new time,
    /// where the health record system cannot move appointments. `cancel_replaced`: cancels the one at the old time.
    #[schemars(extend("enum" = [
        "create", "update", "delete", "reschedule", "replace", "cancel_replaced", "cancel", "confirm", "check_in",
        "note"
    ]))]
    #[view(with = subject(entry.work).2)]
    operation: &'static str,
    /// Number of attempts started so far.
    attempts: u32,
    /// The result of the last attempt, or the reason why the write ended. Never contains patient data.
    reason: Option<String>,
    /// Time at which the write was queued, in UTC.
    queued_at: At,
    /// Time at which the write fails if it has not succeeded, in UTC; null once it has ended.
    deadline: Option<At>,
    /// Time at which the write ended, in UTC; null before that.
    finished_at: Option<At>,
    /// Id of the new write if an operator retried this one; null if it was not retried.
    #[view(with = entry.retried_as.map(|id| public_id(entry.location_id, id)))]
    retried_as: Option<String>,
    /// `true` if an operator dropped the write. A dropped write is not retried.
    dropped: bool,
}

/// The id of a record: a number, or a UUID for a few resources.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RecordId {
    /// Id of most records.
    Number(u64),
    /// Id of a request to append to a communication log.
    Uuid(Uuid),
}

impl RecordId {
    fn new(work: WriteIntent, source: Option<u32>) -> RecordId {
        match (subject(work), source) {
            ((resource @ Resource::CommunicationLogs, id, _), Some(source)) => {
                RecordId::Uuid(uuid(resource, source, id))
            }
            ((_, id, _), _) => RecordId::Number(id),
        }
    }

    fn is(&self, given: &str) -> bool {
        match self {
            RecordId::Number(id) => id.to_string() == given,
            RecordId::Uuid(id) => given.parse::<Uuid>().is_ok_and(|given| given == *id),
        }
    }
}

/// Returns the resource and id of the record, and the operation.
pub fn subject(work: WriteIntent) -> (Resource, u64, &'static str) {
    use Resource::{Appointments, Patients};
    match work {
        WriteIntent::CreatePatient(id) => (Patients, id.0.into(), "create"),
        WriteIntent::CreateAppointment(id) => (Appointments, id.0, "create"),
        WriteIntent::Reschedule(id) => (Appointments, id.0, "reschedule"),
        WriteIntent::Replace(id) => (Appointments, id.0, "replace"),
        WriteIntent::CancelReplaced { appointment: id, .. } => (Appointments, id.0, "cancel_replaced"),
        WriteIntent::Cancel(id) => (Appointments, id.0, "cancel"),
        WriteIntent::Confirm(id) => (Appointments, id.0, "confirm"),
        WriteIntent::CheckIn(id) => (Appointments, id.0, "check_in"),
        WriteIntent::Note(id) => (Appointments, id.0, "note"),
        WriteIntent::Record { resource, id, operation: Operation::Create } => (resource, id, "create"),
        WriteIntent::Record { resource, id, operation: Operation::Update } => (resource, id, "update"),
        WriteIntent::Record { resource, id, operation: Operation::Delete } => (resource, id, "delete"),
    }
}

/// Filters of a list.
#[input]
struct WriteRequestFilter {
    /// Only records with this status.
    #[query(word())]
    status: Option<Status>,
    /// `true` to list only writes that wait, and failed writes that were neither retried nor dropped; `false` to list
    /// only the other writes.
    #[query(boolean())]
    open: Option<bool>,
    #[query(resource())]
    resource: Option<Resource>,
    /// Only writes of the record with this id in the API.
    #[query(text(MAX_NAME), name = "record_id")]
    record: Option<String>,
    /// Only entries from this time on.
    #[query(instant(&input.clock))]
    since: Option<Timestamp>,
    #[query(updated_since(&input.clock))]
    updated_since: Option<Timestamp>,
}

impl WriteRequestFilter {
    fn takes(&self, it: &WriteRequest, source: Option<u32>) -> bool {
        // A pending write may change at any moment.
        let changed = |since| it.finished_at.is_none_or(|at| at >= since);
        self.status.is_none_or(|status| status == it.status)
            && self.open.is_none_or(|open| open == is_open(it))
            && self.resource.is_none_or(|wanted| wanted == subject(it.work).0)
            && self.record.as_ref().is_none_or(|given| RecordId::new(it.work, source).is(given))
            && self.since.is_none_or(|since| it.queued_at >= since)
            && self.updated_since.is_none_or(changed)
    }
}

/// Returns whether the write is pending or needs an operator.
fn is_open(it: &WriteRequest) -> bool {
    match it.status {
        Status::Queued | Status::Sending | Status::Parked => true,
        Status::Failed | Status::TimedOut => it.needs_operator(),
        Status::Done => false,
    }
}

#[input]
pub struct ListWriteRequests {
    filter: WriteRequestFilter,
    #[query(sort(&["queued_at"]), default = "-queued_at")]
    sort: Sort,
    paging: Paging,
}

/// Lists the writes, newest first by default.
pub async fn list(
    call: ApiCall,
    AtLocation(location, ListWriteRequests { filter, sort, paging }): AtLocation<ListWriteRequests>,
) -> Answer<Paged<WriteRequestView>> {
    let (id, source) = (location.setup.id, location.setup.source);
    let waiting = call.api.engine.unfinished_writes(id).await?;
    let page = paging.collect(
        sort.descending,
        |range| Ok(merged(waiting.clone(), call.api.engine.ended_writes(id, range)?, range)),
        |it| filter.takes(it, source) && granted(subject(it.work).0, call.key.grants),
        |it| Position::id(it.id),
    )?;
    Ok(call.page(&page.views(|it| WriteRequestView::from_value(it, source))))
}

/// The write named by the path, at the location of the query.
pub struct OneWriteRequest {
    location: OpenLocation,
    id: u64,
}

impl FromCall for OneWriteRequest {
    fn from_call(call: &mut ApiCall) -> Result<OneWriteRequest, ApiError> {
        let (location_id, id) = call.path("id", write_id().about("Id of the record."))?;
        let AtLocation(location, ()) = AtLocation::from_call(call)?;
        if location.setup.id.0 != location_id {
            return Err(not_found(location_id, id));
        }
        Ok(OneWriteRequest { location, id })
    }
}

pub async fn show(call: ApiCall, OneWriteRequest { location, id }: OneWriteRequest) -> Answer<One<WriteRequestView>> {
    let found = find(&call.api, location.setup.id, id).await?;
    match granted(subject(found.work).0, call.key.grants) {
        true => Ok(call.show(WriteRequestView::from_value(&found, location.setup.source))),
        false => Err(not_found(location.setup.id.0, id)),
    }
}

/// Operators' actions on a write.
pub enum WriteAction {
    Retry,
    Drop,
}

pub async fn retry(call: ApiCall, OneWriteRequest { location, id }: OneWriteRequest) -> Answer<One<WriteRequestView>> {
    Ok(call.show(act(&call.action(), (location.setup.id, WriteId(id)), WriteAction::Retry).await?))
}

pub(crate) async fn give_up(
    call: ApiCall,
    OneWriteRequest { location, id }: OneWriteRequest,
) -> Answer<One<WriteRequestView>> {
    Ok(call.show(act(&call.action(), (location.setup.id, WriteId(id)), WriteAction::Drop).await?))
}

/// Retries a failed write as a new write, or drops a waiting or failed write permanently.
pub async fn act(
    action: &ActionContext<'_>,
    (location, write): (LocationId, WriteId),
    wanted: WriteAction,
) -> Answer<WriteRequestView> {
    let engine = &action.api.engine;
    find(action.api, location, write.0).await?;
    let (what, shown) = match wanted {
        WriteAction::Retry => ("retry", engine.send(location, RetryWrite(write)).await?),
        WriteAction::Drop => ("drop", engine.send(location, DropWrite(write)).await.map(|()| write)?),
    };
    action.shown.audit(what, "write request", write.0);
    // Operators have all grants, so they see writes of all resources.
    let source = engine.setup().locations.get(&location).and_then(|setup| setup.source);
    Ok(WriteRequestView::from_value(&find(action.api, location, shown.0).await?, source))
}

/// Parses an id into the location and the number of the write.
pub fn parsed(id: &str) -> Option<(u32, u64)> {
    let (location, number) = id.split_once('-')?;
    Some((location.parse().ok()?, number.parse::<u64>().ok()?.checked_sub(1)?))
}

fn write_id() -> Kind<(u32, u64)> {
    let schema = || json!({"type": "string", "pattern": "^(?:[0-9]{1,9}|[1-3][0-9]{9})-[1-9][0-9]{0,18}$"});
    Kind::for_text(schema, "101-8", |given| {
        parsed(given).ok_or_else(|| "must be an id of a write request, such as 101-8".to_owned())
    })
}

async fn find(api: &Api, location: LocationId, id: u64) -> Answer<WriteRequest> {
    let found = api.engine.write_request(location, id).await?;
    found.ok_or_else(|| not_found(location.0, id))
}

fn not_found(location: u32, id: u64) -> ApiError {
    ApiError::not_found(format!("Write Request with id {}", public_id(location, id)))
}
