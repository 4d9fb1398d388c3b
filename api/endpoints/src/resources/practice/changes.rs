//! GET /changes: changes at a location and in its EHR, in the order of commits (our addition).

use engine::{
    feed::{ChangeKind, FeedEntry},
    records::{ChangedBy, VisitFact, rules},
};
use framework::{
    access::resource_names::{granted, name, resource},
    http::paging::{ListInfo, PageInfo, QueryCursors},
    values::limits::{CHANGES_DEFAULT, PER_PAGE},
};

use crate::prelude::*;

/// The latest change of a record since the previous page.
#[view]
pub struct RecordChangeView {
    resource: &'static str,
    /// Id of the record as a number, even if its own endpoints show a UUID.
    id: u64,
    /// Kind of change: the record was created, updated or deleted.
    #[schemars(extend("enum" = ["created", "updated", "deleted"]))]
    change: &'static str,
    /// Time at which the change was committed, in UTC.
    changed_at: At,
    /// Facts of an appointment since the previous page, oldest first: what happened to the visit. Absent if there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<VisitFactView>,
    /// The current record; null if it was deleted.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    record: Value,
}

/// A fact of a visit, and the party that caused it.
#[view]
struct VisitFactView {
    /// The fact. The messages about it have the same name after `appointment_`.
    #[schemars(extend("enum" = ["cancelled", "rescheduled", "confirmed", "arrived", "completed", "missed"]))]
    fact: &'static str,
    /// The party: the patient through a booking intent, a client or operator through another call, the staff in the
    /// health record system.
    #[schemars(extend("enum" = ["patient", "client", "staff", "unknown"]))]
    by: &'static str,
    /// Start before the reschedule, in UTC. Absent for other facts.
    from: Omittable<At>,
    /// Start after the reschedule, in UTC. Absent for other facts.
    to: Omittable<At>,
}

impl VisitFactView {
    fn from_entry((fact, by): &(VisitFact, ChangedBy)) -> VisitFactView {
        let (from, to) = fact.starts().unzip();
        VisitFactView { fact: fact.name(), by: by.name(), from: from.map(At), to: to.map(At) }
    }
}

/// Amounts in records that are visible without the grant `financial`.
const AMOUNTS: [(Resource, &str); 2] =
    [(Resource::Procedures, "record.fee"), (Resource::TreatmentPlans, "record.procedures.fee")];

#[input(check = ListChanges::check)]
pub struct ListChanges {
    /// The `end_cursor` of the previous page.
    #[query(text(MAX_TEXT).omit_from_example())]
    since: Option<String>,
    #[query(resource(), name = "resource")]
    asked: Vec<Resource>,
    /// Number of records per page.
    #[query(page_size(), default = CHANGES_DEFAULT)]
    per_page: usize,
}

fn page_size() -> Kind<usize> {
    integer(*PER_PAGE.start() as i64..=*PER_PAGE.end() as i64).map(|size| size as usize)
}

impl ListChanges {
    fn check(&self, input: &mut Input) {
        for (resource, field) in AMOUNTS {
            if self.asked.is_empty() || self.asked.contains(&resource) {
                input.withhold_amount(field);
            }
        }
    }
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, ListChanges { since, asked, per_page }): AtLocation<ListChanges>,
) -> Answer<Paged<RecordChangeView>> {
    if asked.iter().any(|resource| !granted(*resource, call.key.grants)) {
        return Err(ApiError::grant_missing("financial` or `beta"));
    }
    let all = || resource_names::all().filter(|resource| granted(*resource, call.key.grants)).collect();
    let resources = if asked.is_empty() { all() } else { asked };
    let from = since.as_deref().map(|since| opened(&call.api, &location.setup, since)).transpose()?;
    let changes =
        call.api.engine.changes(location.setup.id, from, &resources, per_page).map_err(|error| match error {
            EngineError::Expired => ApiError::from(Failure::SinceExpired),
            other => other.into(),
        })?;
    let mut rows = Vec::with_capacity(changes.entries.len());
    for entry in &changes.entries {
        rows.extend(view(&call, &location, entry)?);
    }
    let info = PageInfo {
        has_previous_page: false,
        has_next_page: changes.more,
        start_cursor: since.unwrap_or_default(),
        end_cursor: end_cursor(&call.api, &location.setup, changes.next),
    };
    Ok(call.page(&ListPage { rows, info: ListInfo::Cursors(info) }))
}

/// Returns the cursors of a location's changes. They are bound to the location only, not to other parameters.
fn cursors(api: &Api, location: LocationId) -> QueryCursors {
    api.cursors.bound_to("/changes", vec![("location_id", &location.to_string())])
}

/// Returns the cursor after a change. It contains the data source in place of a time: the changes of another source do
/// not continue a copy.
pub(super) fn end_cursor(api: &Api, location: &LocationSetup, position: u64) -> String {
    let position = Position { at: source_mark(location), id: position };
    cursors(api, location.id).seal(position, Timestamp(0))
}

/// Returns the data source of a location as cursors contain it.
fn source_mark(location: &LocationSetup) -> Timestamp {
    Timestamp(location.source.map_or(1, |id| i64::from(id) + 2))
}

/// Returns the position of a cursor. Cursors of earlier versions contain 0 and are accepted, because their data source
/// is unknown. They expire within 30 days.
fn opened(api: &Api, location: &LocationSetup, since: &str) -> Result<u64, ApiError> {
    let opened = cursors(api, location.id).open(since);
    let (Position { at, id }, _) =
        opened.ok_or_else(|| ApiError::bad("since is not an end_cursor of the changes of this location."))?;
    match at == Timestamp(0) || at == source_mark(location) {
        true => Ok(id),
        false => Err(Failure::SinceOfOtherEhr.into()),
    }
}

/// Returns the view of a change, or `None` for records made at another location.
fn view(call: &ApiCall, location: &OpenLocation, entry: &FeedEntry) -> Result<Option<RecordChangeView>, ApiError> {
    let (at, version, amounts) = (location.setup.id, call.version.name(), call.key.grants.financial);
    let shown = call.api.engine.record_view(at, entry.resource, entry.id, version, amounts)?;
    if shown.as_ref().is_some_and(|shown| shown.made_at.is_some_and(|own| own != at.0)) {
        return Ok(None);
    }
    let (record, change) = match (shown.filter(|shown| !shown.deleted), entry.change) {
        (None, _) | (_, ChangeKind::Deleted) => (Value::Null, "deleted"),
        (Some(shown), ChangeKind::Created) => (shown.record, "created"),
        (Some(shown), ChangeKind::Updated) => (shown.record, "updated"),
    };
    if !record.is_null() {
        call.shown.audit_read(rules(entry.resource), entry.id);
    }
    let (resource, changed_at) = (name(entry.resource), At(entry.at));
    let facts = entry.facts.iter().map(VisitFactView::from_entry).collect();
    Ok(Some(RecordChangeView { resource, id: entry.id, change, changed_at, facts, record }))
}
