//! /communication_logs: requests to append to a patient's log in the EHR (specification 4.5)

use engine::records::{CommunicationLog, Direction, Mode};
use framework::{
    access::respond::Accepted,
    values::{kinds::shared::sorts, record_uuid},
};

use crate::{
    prelude::*,
    views::common::{failure_reason, second, status},
};

/// A request to append to a patient's communication log.
#[view(of = CommunicationLog, named = "request", published)]
pub struct CommunicationLogView<'a> {
    #[view(with = record_uuid::uuid(CommunicationLog::RESOURCE, entry.source(), entry.id))]
    id: Uuid,
    /// The state of the write to the health record system.
    #[view(with = status(entry))]
    status: Word<WriteStatus>,
    /// Id of the patient.
    patient_id: u32,
    /// The text of the entry.
    note: &'a str,
    /// The means of communication; `none` if none was specified.
    mode: Word<Mode>,
    /// Direction of the communication: `sent` by the practice, or `received` by it.
    direction: Word<Direction>,
    /// Time at which the communication took place, in UTC.
    #[view(with = second(entry.body.occurred_at, entry.created_at))]
    occurred_at: At,
    created_at: At,
    updated_at: At,
    /// Reason for which the health record system refused the entry; null unless the status is `failed`.
    #[view(with = failure_reason(entry))]
    failure_reason: Option<&'a str>,
}

/// Days that a list covers, by default and at most.
const SINCE_DAYS: i64 = 30;
const MOST_DAYS: i64 = 90;

/// Tolerance for clocks of clients that are fast.
const CLOCKS_APART: Millis = 5 * MINUTE;

/// Ids rise with the time of creation, so their order is the order by `created_at`.
#[input]
pub struct ListCommunicationLogs {
    /// Only records with this status.
    #[query(word())]
    status: Option<WriteStatus>,
    #[read(created_since(input))]
    since: Timestamp,
    #[query(sorts(&["created_at"]), single)]
    sort: Option<Vec<Sort>>,
    #[read(input.listing().patient().done())]
    listing: Listing,
}

fn created_since(input: &mut Input) -> Timestamp {
    let kind = instant(&input.clock).about("Only records created at or after this time.");
    let since = input.query.optional("created_since", kind);
    if since.is_some_and(|since| since < input.now.minus(MOST_DAYS * DAY)) {
        input.query.problem(format!("created_since must not be more than {MOST_DAYS} days ago."));
    }
    since.unwrap_or(input.now.minus(SINCE_DAYS * DAY))
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListCommunicationLogs { status, since, sort, listing }): AtLocation<ListCommunicationLogs>,
) -> Answer<Paged<CommunicationLogView<'static>>> {
    let sort = sort.unwrap_or_default();
    let listing = listing.descending(sort.first().is_some_and(|sort| sort.descending));
    // A record created since then was also changed since then, which the index supports.
    let listing = listing.filtered([Filter::UpdatedSince(since)]);
    let here = Some(location.setup.id.0);
    let page = listing.entries(&call, &location.sources(), |it: &Record<CommunicationLog>| {
        // Logs entered in the EHR have no write.
        let write = it.write.as_ref().map(|write| write.status);
        let wanted = write.is_some_and(|write| status.is_none_or(|status| status == write));
        wanted && it.created_at >= since && it.location_id == here
    })?;
    call.page_of(&page, CommunicationLogView::from_record)
}

pub async fn show(call: ApiCall, Id(id): Id<Uuid>, tenant: Tenant) -> Answer<One<CommunicationLogView<'static>>> {
    let missing = || ApiError::not_found(format!("Communication Log with id {id}"));
    let (source, own) =
        record_uuid::id_in(CommunicationLog::RESOURCE, call.sources(&tenant), &id).ok_or_else(missing)?;
    let entry: Option<Record<CommunicationLog>> = call.api.engine.entry(source, own)?;
    let entry = entry.filter(|it| it.write.is_some() && call.is_visible(it)).ok_or_else(missing)?;
    call.audit("read", "Communication Log", own);
    Ok(call.show(CommunicationLogView::from_record(&entry)))
}

#[input(container("communication_log", "The entry."), check = NewCommunicationLog::check)]
pub struct NewCommunicationLog {
    #[body(patient())]
    patient_id: u32,
    #[body(filled(note()))]
    note: String,
    /// The means of communication.
    #[body(word(), default = "none")]
    mode: Mode,
    /// The direction of the communication.
    #[body(word(), default = "sent")]
    direction: Direction,
    /// Time of the communication; not in the future. Default: now.
    #[body(instant(&input.clock).example_of("2026-06-01T14:30:00Z"), or = input.now)]
    occurred_at: Timestamp,
}

impl NewCommunicationLog {
    fn check(&self, input: &mut Input) {
        if self.occurred_at > input.now.plus(CLOCKS_APART) {
            input.body.problem("communication_log.occurred_at must not be in the future.");
        }
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, new): AtLocation<NewCommunicationLog>,
) -> Answer<Accepted<CommunicationLogView<'static>>> {
    let NewCommunicationLog { patient_id, note, mode, direction, occurred_at } = new;
    let occurred_at = occurred_at.into();
    let log = CommunicationLog { patient_id, note, mode, direction, occurred_at, extra: Vec::new() };
    if location.setup.source.is_none() {
        return Err(Failure::LogsNotSupported.into());
    }
    let saved = call.save_entry(&location, &log, Some(log.patient_id)).await.map_err(|refused| match refused {
        EngineError::Refused(Refusal::NotSupportedByEhr) => ApiError::from(Failure::LogsNotSupported),
        other => other.into(),
    })?;
    Ok(call.created(saved.replay, CommunicationLogView::from_record(&saved.record)))
}
