//! /communication_logs: requests to append to a patient's log in the EHR (specification 4.5)

use engine::{
    EngineError,
    lists::Filter,
    records::{
        CommunicationLog, Direction, Mode,
        record::{Record, Schema, WriteStatus},
    },
};
use framework::{
    access::{
        arguments::{AtLocation, FromInput, Id, InTenant},
        call::ApiCall,
        input::Input,
        respond::{Accepted, Answer, One, Paged},
    },
    http::errors::ApiError,
    records::listing::Listing,
    values::{
        failures::Failure,
        kinds::{
            filled,
            shared::{note, patient},
            sorts,
            times::instant,
        },
        record_uuid,
        words::word,
    },
};
use location::{
    decision::Refusal,
    time::{DAY, MINUTE, Millis, Timestamp},
};
use uuid::Uuid;

use crate::views::communications::CommunicationLogView;

/// Days that a list covers, by default and at most.
const SINCE_DAYS: i64 = 30;
const MOST_DAYS: i64 = 90;

/// Tolerance for clocks of clients that are fast.
const CLOCKS_APART: Millis = 5 * MINUTE;

pub struct ListCommunicationLogs {
    listing: Listing,
    status: Option<WriteStatus>,
    since: Timestamp,
}

impl FromInput for ListCommunicationLogs {
    /// Ids rise with the time of creation, so their order is the order by `created_at`.
    fn from_input(input: &mut Input) -> ListCommunicationLogs {
        let status = input.query.optional("status", word().about("Only records with this status."));
        let since = input
            .query
            .optional("created_since", instant(&input.clock).about("Only records created at or after this time."));
        if since.is_some_and(|since| since < input.now.minus(MOST_DAYS * DAY)) {
            input.query.problem(format!("created_since must not be more than {MOST_DAYS} days ago."));
        }
        let sort = input.query.optional("sort", sorts(&["created_at"])).unwrap_or_default();
        let since = since.unwrap_or(input.now.minus(SINCE_DAYS * DAY));
        let descending = sort.first().is_some_and(|sort| sort.descending);
        // A record created since then was also changed since then, which the index supports.
        let logs = input.listing().patient().descending(descending).filtered([Filter::UpdatedSince(since)]);
        ListCommunicationLogs { listing: logs.done(), status, since }
    }
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListCommunicationLogs { listing, status, since }): AtLocation<ListCommunicationLogs>,
) -> Answer<Paged<CommunicationLogView<'static>>> {
    let here = Some(location.setup.id.0);
    let page = listing.entries(&call, &location.sources(), |it: &Record<CommunicationLog>| {
        // Logs entered in the EHR have no write.
        let write = it.write.as_ref().map(|write| write.status);
        let wanted = write.is_some_and(|write| status.is_none_or(|status| status == write));
        wanted && it.created_at >= since && it.location_id == here
    })?;
    Ok(call.page_of(&page, CommunicationLogView::from_record))
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<Uuid>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<CommunicationLogView<'static>>> {
    let missing = || ApiError::not_found(format!("Communication Log with id {id}"));
    let (source, own) =
        record_uuid::id_in(CommunicationLog::RESOURCE, call.sources(&tenant), &id).ok_or_else(missing)?;
    let entry: Option<Record<CommunicationLog>> = call.api.engine.entry(source, own)?;
    let entry = entry.filter(|it| it.write.is_some() && call.is_visible(it)).ok_or_else(missing)?;
    call.audit("read", "Communication Log", own);
    Ok(call.show(CommunicationLogView::from_record(&entry)))
}

pub struct NewCommunicationLog(CommunicationLog);

impl FromInput for NewCommunicationLog {
    fn from_input(input: &mut Input) -> NewCommunicationLog {
        let b = &mut input.body;
        b.container("communication_log", "The entry.");
        let patient_id = b.required("communication_log.patient_id", patient());
        let note = b.required("communication_log.note", filled(note()));
        let mode = b.defaulted("communication_log.mode", word::<Mode>().about("The means of communication."), "none");
        let direction = b.defaulted(
            "communication_log.direction",
            word::<Direction>().about("The direction of the communication."),
            "sent",
        );
        let occurred_at = b.optional(
            "communication_log.occurred_at",
            instant(&input.clock)
                .example_of("2026-06-01T14:30:00Z")
                .about("Time of the communication; not in the future. Default: now."),
        );
        let occurred_at = occurred_at.unwrap_or(input.now);
        if occurred_at > input.now.plus(CLOCKS_APART) {
            b.problem("communication_log.occurred_at must not be in the future.");
        }
        let occurred_at = occurred_at.into();
        let log = CommunicationLog { patient_id, note, mode, direction, occurred_at, extra: Vec::new() };
        NewCommunicationLog(log)
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewCommunicationLog(log)): AtLocation<NewCommunicationLog>,
) -> Answer<Accepted<CommunicationLogView<'static>>> {
    if location.setup.source.is_none() {
        return Err(Failure::LogsNotSupported.into());
    }
    let saved = call.save_entry(&location, &log, Some(log.patient_id)).await.map_err(|refused| match refused {
        EngineError::Refused(Refusal::NotSupportedByEhr) => ApiError::from(Failure::LogsNotSupported),
        other => other.into(),
    })?;
    Ok(call.created(saved.replay, CommunicationLogView::from_record(&saved.record)))
}
