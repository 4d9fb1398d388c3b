//! The page of a write: its attempts with times and answers, its request and booking, and operators' actions.

use actix_web::web::Path;
use audit::{Filter, Recorded};
use endpoints::resources::practice::write_requests::{parsed, public_id, subject};
use engine::{
    records::{Appointment, Record},
    write_history::{Happened, Step},
    write_requests::WriteRequest,
};
use location::{AppointmentId, Resource};

use crate::{audit as audit_page, location_page::Write, prelude::*};

/// Maximum number of audit entries shown per kind.
const ENTRIES: usize = 20;

#[derive(Template)]
#[template(path = "console/write.html")]
struct WritePage {
    frame: PageFrame,
    write: Write,
    location: LocationId,
    location_name: String,
    institution: String,
    request: Option<String>,
    booking: Option<String>,
    retried_as: Option<String>,
    steps: Vec<StepRow>,
    incomplete: bool,
    rows: Vec<audit_page::AuditRow>,
    operates: bool,
}

struct StepRow {
    at: RelativeTime,
    badge: Badge,
    /// The write that was retried, or its retry.
    other: Option<String>,
    text: String,
    next: Option<RelativeTime>,
}

pub(super) fn not_found(location: LocationId, id: u64) -> ApiError {
    ApiError::not_found(format!("Write {}", public_id(location.0, id)))
}

/// Formats the operation and state of a write in one line:
/// `Write 101-14: create appointments 2169; failed: the operatory is occupied`.
pub(crate) fn described(visit: &ConsoleRequest, it: &WriteRequest) -> String {
    let write = Write::from_request(it, visit, visit.api.engine.now());
    let record = write.record.map_or_else(String::new, |record| format!(" {record}"));
    let reason = if write.reason.is_empty() { String::new() } else { format!(": {}", write.reason) };
    format!("Write {}: {}{record}; {}{reason}", write.id, write.what, write.badge.text)
}

pub(crate) async fn show(visit: ConsoleRequest, id: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let known = parsed(&id).ok_or_else(|| ApiError::not_found(format!("Write {id}")))?;
    let page =
        read_blocking(&visit, move |visit| async move { read(&visit, (LocationId(known.0), known.1)).await }).await?;
    visit.show("GET /console/writes/{id}", &page).await
}

async fn read(visit: &ConsoleRequest, (id, write): (LocationId, u64)) -> Result<WritePage, ConsoleError> {
    let (location, institution) = visit.local_location(id)?;
    visit.about(&location);
    let (engine, now) = (&visit.api.engine, visit.api.engine.now());
    let found = engine.write_request(id, write).await?.ok_or_else(|| not_found(id, write))?;
    let history = engine.write_history(id, &found)?;
    let row = Write::from_request(&found, visit, now);
    Ok(WritePage {
        frame: visit.frame("fleet", format!("Write {}", row.id)),
        location: id,
        location_name: location.name.clone(),
        institution: institution.name.clone(),
        request: found.origin.clone(),
        booking: booking(visit, &found)?,
        retried_as: found.retried_as.map(|other| public_id(id.0, other)),
        steps: history.steps.into_iter().map(|step| StepRow::from_step(step, id, now)).collect(),
        incomplete: history.incomplete,
        rows: entries(visit, &found)?.into_iter().map(audit_page::AuditRow::from_recorded).collect(),
        operates: visit.may(Role::Operator),
        write: row,
    })
}

/// Returns the reference of the booking that the write belongs to, if the role may see records of patients.
fn booking(visit: &ConsoleRequest, it: &WriteRequest) -> Result<Option<String>, ConsoleError> {
    let (Resource::Appointments, id, _) = subject(it.work) else { return Ok(None) };
    if !visit.sees_patients() {
        return Ok(None);
    }
    let found: Option<Record<Appointment>> = visit.api.engine.appointment(AppointmentId(id))?;
    visit.note("read", "appointment", id);
    Ok(found.and_then(|it| it.body.booking).map(|booking| booking.booking_ref))
}

/// Returns audit entries about the write and about its request, newest first.
fn entries(visit: &ConsoleRequest, it: &WriteRequest) -> Result<Vec<Recorded>, ConsoleError> {
    let Some(trail) = visit.api.audit.as_ref().filter(|_| visit.may(Role::Operator)) else { return Ok(Vec::new()) };
    let of_write = Filter {
        from: Some(it.queued_at.0),
        location: Some(it.location_id.into()),
        record: Some("write request".to_owned()),
        id: Some(it.id),
        ..Filter::default()
    };
    let of_request = it.origin.clone().map(|request| Filter {
        from: Some(it.queued_at.0),
        request: Some(request),
        ..Filter::default()
    });
    let mut found: Vec<Recorded> = Vec::new();
    for filter in std::iter::once(of_write).chain(of_request) {
        let newest = trail.newest(filter, ENTRIES).map_err(audit_page::unreadable_trail)?;
        found.extend(newest.entries);
    }
    let here = |entry: &Recorded| {
        let location = entry.entry.location.or(entry.entry.decisions.first().map(|(location, _)| *location));
        location == Some(it.location_id.into())
    };
    found.retain(|entry| entry.entry.record != "write request" || here(entry));
    found.sort_by_key(|entry| std::cmp::Reverse(entry.seq));
    found.dedup_by_key(|entry| entry.seq);
    Ok(found)
}

impl StepRow {
    fn from_step(Step { at, what }: Step, location: LocationId, now: Timestamp) -> StepRow {
        let when = |at| RelativeTime::new(at, now);
        let other = |id: u64| Some(public_id(location.0, id));
        let row = |badge, text: String| StepRow { at: when(at), badge, other: None, text, next: None };
        match what {
            Happened::Queued => row(Badge::plain("queued"), String::new()),
            Happened::QueuedAsRetryOf(of) => {
                StepRow { other: other(of.0), ..row(Badge::plain("queued"), "as the retry of".to_owned()) }
            }
            Happened::RetriedAs(id) => {
                StepRow { other: other(id.0), ..row(Badge::plain("retried"), "by an operator, as".to_owned()) }
            }
            Happened::Called { attempt, lookup: false } => row(Badge::plain("sent"), format!("attempt {attempt}")),
            Happened::Called { attempt, lookup: true } => {
                row(Badge::plain("looked up"), format!("attempt {attempt}: is it in the EHR already?"))
            }
            Happened::Deferred { reason, not_before } => {
                StepRow { next: Some(when(not_before)), ..row(Badge::warn("not written"), reason) }
            }
            Happened::Unknown { reason, not_before } => {
                StepRow { next: Some(when(not_before)), ..row(Badge::warn("outcome unknown"), reason) }
            }
            Happened::Done => row(Badge::good("done"), "the EHR has it".to_owned()),
            Happened::Failed { reason } => row(Badge::bad("failed"), reason),
            Happened::Dropped => row(Badge::plain("dropped"), "by an operator".to_owned()),
        }
    }
}

/// The writes caused by a request, newest first, and its audit entries.
pub(super) struct RequestHistory {
    pub writes: Vec<Write>,
    pub rows: Vec<audit_page::AuditRow>,
}

/// Maximum number of ended writes searched per location.
const LOOKED_THROUGH: usize = 1_000;
/// Maximum number of writes shown for a request.
const WRITES: usize = 50;

/// Finds a request by its `X-Request-Id`. Returns `None` if no write and no audit entry is found. Searches
/// pending writes and the newest ended ones of each location.
pub(super) async fn find_request(
    visit: &ConsoleRequest,
    request: &str,
) -> Result<Option<RequestHistory>, ConsoleError> {
    use engine::{Place, lists::Range, store::Direction};
    let (engine, now) = (&visit.api.engine, visit.api.engine.now());
    let mut rows = Vec::new();
    if let Some(trail) = visit.api.audit.as_ref().filter(|_| visit.may(Role::Operator)) {
        let filter = Filter { request: Some(request.to_owned()), ..Filter::default() };
        let newest = trail.newest(filter, ENTRIES).map_err(audit_page::unreadable_trail)?;
        rows = newest.entries.into_iter().map(audit_page::AuditRow::from_recorded).collect();
    }
    let (mut writes, location_health) = (Vec::new(), engine.location_health());
    for location in visit.api.directory().locations() {
        if location.source.is_none() || engine.place(location.institution) != Place::Mine {
            continue;
        }
        let newest = Range { from: None, direction: Direction::Backward, limit: LOOKED_THROUGH };
        let mut of_location = engine.ended_writes(location.id, newest)?;
        if location_health.get(&location.id).is_some_and(|health| health.queued > 0) {
            of_location.extend(engine.unfinished_writes(location.id).await?);
        }
        writes.extend(of_location.into_iter().filter(|it| it.origin.as_deref() == Some(request)));
    }
    if writes.is_empty() && rows.is_empty() {
        return Ok(None);
    }
    writes.sort_by_key(|it| std::cmp::Reverse((it.queued_at, it.id)));
    let writes = writes.iter().take(WRITES).map(|it| Write::from_request(it, visit, now)).collect();
    Ok(Some(RequestHistory { writes, rows }))
}

/// Returns the writes of a booking, newest first: the pending ones and the newest ended ones.
pub(super) async fn appointment_writes(
    visit: &ConsoleRequest,
    location: LocationId,
    id: u64,
) -> Result<Vec<Write>, ConsoleError> {
    use engine::{lists::Range, store::Direction};
    let (engine, now) = (&visit.api.engine, visit.api.engine.now());
    let newest = Range { from: None, direction: Direction::Backward, limit: LOOKED_THROUGH };
    let mut all = engine.unfinished_writes(location).await?;
    all.extend(engine.ended_writes(location, newest)?);
    all.retain(|it| matches!(subject(it.work), (Resource::Appointments, of, _) if of == id));
    all.sort_by_key(|it| std::cmp::Reverse(it.id));
    Ok(all.iter().map(|it| Write::from_request(it, visit, now)).collect())
}
