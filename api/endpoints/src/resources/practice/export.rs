//! GET /export: all records of a location that a key may read, as a stream of lines (our addition).
//!
//! A stream reads one page of records at a time, when its client has taken the previous one. Between two pages it holds
//! neither a read permit nor a snapshot of the store. Its memory is therefore that of one page. The position in
//! GET /changes is taken before the first page, so that later changes follow in that list.

use std::{
    borrow::Cow,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use actix_web::web::{self, Bytes, Data};
use engine::{Place, origin, records::rules};
use framework::{
    access::{
        access_log::AccessLog,
        audited::AuditCaller,
        keys::{ApiKey, Grants},
        resource_names::granted,
        respond::Lines,
    },
    http::{keyed_semaphore::KeyedPermit, paging::QueryCursors, response_body::Reserved},
    values::limits::MAX_EXPORTS,
};
use schemars::{Schema as JsonShape, SchemaGenerator, json_schema};

use super::changes;
use crate::{prelude::*, resources::record_views::schema_of};

/// Maximum number of records read for a page. A page takes some milliseconds.
const PAGE: usize = 200;
/// Size at which a page ends. Documents and forms of an EHR may have 64 KiB each.
const PAGE_BYTES: usize = 256 << 10;
/// Seconds until another export may be tried.
const RETRY_AFTER: u64 = 30;

/// The description of the lines of an export.
pub struct ExportLine;

impl JsonSchema for ExportLine {
    fn schema_name() -> Cow<'static, str> {
        "ExportLine".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> JsonShape {
        let kind = |name: &str| json!({"type": "string", "const": name, "description": "Type of the line."});
        let records = resource_names::all().map(|resource| {
            let (list, name) = (resource_names::name(resource), line_type(resource));
            let about = "The resource, as in GET /changes.";
            json!({"type": "object", "required": ["type", "resource", "id", "data"], "properties": {
                "type": kind(&name),
                "resource": {"type": "string", "const": list, "description": about},
                "id": {"type": "integer", "format": "int64", "description": "Id of the record, as in GET /changes."},
                "data": schema_of(resource)(schemas).to_value(),
            }})
        });
        let mut lines: Vec<Value> = records.collect();
        lines.push(json!({"type": "object", "required": ["type", "cursor"], "properties": {
            "type": kind("resume"),
            "cursor": {"type": "string", "description": "The `cursor` of a call that continues after this line."},
        }}));
        lines.push(json!({"type": "object", "required": ["type", "changes_cursor", "count"], "properties": {
            "type": kind("end"),
            "changes_cursor": {"type": "string", "description": "The first `since` of GET /changes."},
            "count": {"type": "integer", "format": "int64", "description":
                "Number of records of the whole export, including those before `cursor`."},
        }}));
        lines.push(json!({"type": "object", "required": ["type", "reason", "message", "description"], "properties": {
            "type": kind("error"),
            "reason": schemas.subschema_for::<Failure>().to_value(),
            "message": {"type": "string", "description": "The error."},
            "description": {"type": "string", "description": "Cause and fix."},
        }}));
        json_schema!({
            "description": "A line of an export: a record, a position, the end, or an error. The export is complete \
                            only if its last line has the type `end`.",
            "oneOf": lines,
        })
    }
}

/// A record as a line.
#[derive(Serialize)]
struct RecordLine<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    resource: &'static str,
    id: u64,
    data: &'a Value,
}

/// A line without a record.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StateLine<'a> {
    Resume { cursor: String },
    End { changes_cursor: String, count: u64 },
    Error { reason: &'a str, message: String, description: String },
}

/// Returns the type of a resource's lines: `Payment Type` becomes `payment_type`.
fn line_type(resource: Resource) -> String {
    name_of(resource).to_lowercase().replace(' ', "_")
}

#[input]
pub struct ExportRecords {
    /// The `cursor` of the last `resume` line of an interrupted export. Without it, the export starts from the
    /// beginning.
    #[query(text(MAX_TEXT).omit_from_example())]
    cursor: Option<String>,
}

pub async fn export(
    call: ApiCall,
    AtLocation(location, ExportRecords { cursor }): AtLocation<ExportRecords>,
) -> Answer<Lines<ExportLine>> {
    let api = call.api.shared().clone();
    let generation = api.rights_generation();
    let running = api.exports.try_acquire(call.key.hash, MAX_EXPORTS).ok_or_else(|| {
        let message = format!("An API key may run {MAX_EXPORTS} exports concurrently; wait until one has ended.");
        ApiError::too_many(message, RETRY_AFTER)
    })?;
    let cursors = cursors(&call, &location);
    let resumed = cursor.map(|cursor| opened(&cursors, &cursor)).transpose()?;
    let place = location.setup.id;
    let begin = reading(&api, move |api| match resumed {
        Some(position) => {
            // Fails if the changes since the start of the export are no longer complete.
            api.engine.changes(place, Some(position.changes), &[], 1)?;
            Ok(position)
        }
        None => Ok(ExportPosition::start(api.engine.changes(place, None, &[], 1)?.next)),
    });
    let at = begin.await?;
    call.audit("export", "location", place.0.into());
    let request_id = origin::current();
    let export = Export {
        caller: AuditCaller::of_request(&call, request_id.as_deref().unwrap_or_default()),
        key: call.key.clone(),
        version: call.version,
        location,
        api,
        cursors,
        generation,
        at,
        pause: Duration::ZERO,
        unread: None,
        outcome: None,
        _running: running,
    };
    Ok(call.lines(export, Export::next))
}

/// Returns the cursors of one location, data source, API key and version. Other keys may read other records, and the
/// records of two data sources are no copy of either.
fn cursors(call: &ApiCall, location: &OpenLocation) -> QueryCursors {
    let (key, place) = (call.key.id(), location.setup.id.to_string());
    let (grants, source) = (format!("{:?}", call.key.grants), format!("{:?}", location.setup.source));
    let bound = vec![
        ("location_id", place.as_str()),
        ("source", source.as_str()),
        ("key", key.as_str()),
        ("grants", grants.as_str()),
        ("version", call.version.name()),
    ];
    call.api.cursors.bound_to("/export", bound)
}

fn opened(cursors: &QueryCursors, cursor: &str) -> Result<ExportPosition, ApiError> {
    let problem = "cursor is not one of an export of this location and its EHR, with this API key, its grants and \
                   this version. Start again without cursor.";
    ExportPosition::open(cursors, cursor).ok_or_else(|| ApiError::bad(problem))
}

/// Reads on the blocking pool, behind the semaphore of clients' reads.
async fn reading<T: Send + 'static>(
    api: &Data<Api>,
    read: impl FnOnce(&Api) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let permits = api.readers(false);
    let _permit = permits.take().await;
    let api = api.clone();
    web::block(move || read(&api)).await.map_err(|_| {
        tracing::error!("a page of an export ended in a panic");
        ApiError::internal()
    })?
}

/// The position after a record of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExportPosition {
    /// Position in the feed of changes at the start of the export.
    changes: u64,
    resource: Resource,
    /// Position of the last record of the resource.
    after: Position,
    /// Number of records up to here.
    count: u64,
}

impl ExportPosition {
    fn start(changes: u64) -> ExportPosition {
        ExportPosition { changes, resource: Resource::Providers, after: Position::id(0), count: 0 }
    }

    /// Returns the cursor. It contains the stored tag of the resource, which no later version changes.
    fn seal(self, cursors: &QueryCursors) -> String {
        let ExportPosition { changes, resource, after: Position { at, id }, count } = self;
        cursors.seal_numbers([changes, rules(resource).tag.into(), at.0 as u64, id, count])
    }

    fn open(cursors: &QueryCursors, cursor: &str) -> Option<ExportPosition> {
        let [changes, tag, at, id, count] = cursors.open_numbers(cursor)?;
        let resource = resource_names::all().find(|resource| u64::from(rules(*resource).tag) == tag)?;
        Some(ExportPosition { changes, resource, after: Position { at: Timestamp(at as i64), id }, count })
    }
}

/// A page of an export: lines of records, and the position after them.
struct ExportPage {
    lines: Vec<u8>,
    shown: AccessLog,
    at: ExportPosition,
    /// More records may follow.
    more: bool,
    took: Duration,
}

impl ExportPage {
    /// Reads the records after a position, in the order of resources.
    fn read(
        api: &Api,
        location: LocationId,
        version: Version,
        grants: Grants,
        at: ExportPosition,
    ) -> Result<ExportPage, ApiError> {
        let (begun, mut read) = (Instant::now(), 0);
        let (lines, shown) = (Vec::new(), AccessLog::default());
        let mut page = ExportPage { lines, shown, at, more: true, took: Duration::ZERO };
        let rest = resource_names::all().filter(|it| granted(*it, grants) && *it >= at.resource);
        for resource in rest {
            if resource != page.at.resource {
                (page.at.resource, page.at.after) = (resource, Position::id(0));
            }
            let (limit, kind) = (PAGE - read, line_type(resource));
            let records = api.engine.stored_after(location, resource, page.at.after, limit)?;
            read += records.len();
            let is_last = read < PAGE;
            for (position, stored) in records {
                page.at.after = position;
                let view = api.engine.view_at(location, resource, &stored, version.name(), grants.financial)?;
                let Some(data) = view else { continue };
                let line =
                    RecordLine { kind: &kind, resource: resource_names::name(resource), id: position.id, data: &data };
                push(&mut page.lines, &line);
                page.at.count += 1;
                page.shown.audit_read(rules(resource), position.id);
                if page.lines.len() >= PAGE_BYTES {
                    page.took = begun.elapsed();
                    return Ok(page);
                }
            }
            if !is_last {
                page.took = begun.elapsed();
                return Ok(page);
            }
        }
        page.more = false;
        Ok(page)
    }
}

/// The state of a stream.
struct Export {
    api: Data<Api>,
    key: Arc<ApiKey>,
    version: Version,
    location: OpenLocation,
    cursors: QueryCursors,
    /// `None` without an audit trail.
    caller: Option<AuditCaller>,
    /// Generation of permissions under which the key was last checked.
    generation: u64,
    at: ExportPosition,
    /// Time before the next page.
    pause: Duration,
    /// Bytes of the page that the client has not taken yet.
    unread: Option<Reserved>,
    /// `complete` or the reason of an error, once the last line is created.
    outcome: Option<&'static str>,
    _running: KeyedPermit<[u8; 32]>,
}

impl Export {
    /// Returns the next lines. An error becomes the last line.
    async fn next(mut self) -> Option<(Bytes, Export)> {
        if self.outcome.is_some() {
            return None;
        }
        let lines = match self.page().await {
            Ok(lines) => lines,
            Err(error) => self.fail(&error),
        };
        Some((lines.into(), self))
    }

    async fn page(&mut self) -> Result<Vec<u8>, ApiError> {
        // The client has taken the previous page.
        self.unread = None;
        // Reading uses at most half of the time of a processor, so that other calls are not delayed.
        tokio::time::sleep(self.pause).await;
        if self.api.leaving.load(Ordering::Relaxed) {
            return Err(ApiError::unavailable(1));
        }
        let (place, version, grants, at) = (self.location.setup.id, self.version, self.key.grants, self.at);
        let page = reading(&self.api, move |api| ExportPage::read(api, place, version, grants, at)).await?;
        self.check_rights()?;
        // A read is valid only while this node owns the institution.
        if self.api.engine.place(self.location.institution.id) != Place::Mine {
            return Err(Failure::LocationMoved.into());
        }
        let ExportPage { mut lines, shown, at, more, took } = page;
        let last = match more {
            true => StateLine::Resume { cursor: at.seal(&self.cursors) },
            false => {
                let changes_cursor = changes::end_cursor(&self.api, &self.location.setup, at.changes);
                StateLine::End { changes_cursor, count: at.count }
            }
        };
        push(&mut lines, &last);
        let limit = self.api.edge().rules.max_response_bytes;
        let unread = self.api.response_bytes.reserve(lines.len() as u64, limit).ok_or(Failure::ResponsesFull)?;
        if let Some(caller) = &self.caller {
            shown.set_scope(self.location.institution.id, Some(place));
            self.api.audited_part(&caller.of_part(shown)).await?;
        }
        (self.at, self.pause, self.unread) = (at, took, Some(unread));
        self.outcome = (!more).then_some("complete");
        Ok(lines)
    }

    /// Returns an error if the key has lost a permission, or the location has another data source, since the start.
    fn check_rights(&mut self) -> Result<(), ApiError> {
        let generation = self.api.rights_generation();
        if generation == self.generation {
            return Ok(());
        }
        let (keys, directory) = (self.api.keys(), self.api.directory());
        let key = keys.by_id(&self.key.id()).ok_or(Failure::KeyRevoked)?;
        let (started, institution) = (&self.location.setup, self.location.institution.id);
        let open = directory.location(started.id).is_some_and(|known| {
            known.institution == institution && known.source == started.source && known.status == LocationStatus::Active
        });
        if **key != *self.key || !open {
            let why = "The permissions of the API key or the location have changed. Start again without `cursor`.";
            return Err(ApiError::from(Failure::OutOfReach).explained(why));
        }
        self.generation = generation;
        Ok(())
    }

    /// Returns the line of an error.
    fn fail(&mut self, error: &ApiError) -> Vec<u8> {
        let (failure, advice) = (error.failure(), error.advice());
        let reason = failure.reason();
        if failure.status().is_server_error() {
            tracing::warn!(reason, location = self.location.setup.id.0, "an export ended with an error");
        }
        let resume = "Continue with the cursor of the last `resume` line.";
        let description = match failure {
            Failure::KeyRevoked | Failure::OutOfReach => advice.to_owned(),
            _ if advice.is_empty() => resume.to_owned(),
            _ => format!("{advice} {resume}"),
        };
        let mut line = Vec::new();
        push(&mut line, &StateLine::Error { reason, message: error.to_string(), description });
        self.outcome = Some(reason);
        line
    }
}

/// The entry of the end has the outcome and the number of records, also of a stream that its client did not read to the
/// end.
impl Drop for Export {
    fn drop(&mut self) {
        let Some(caller) = &self.caller else { return };
        let (shown, place) = (AccessLog::default(), self.location.setup.id);
        shown.set_scope(self.location.institution.id, Some(place));
        shown.audit("end export", "location", place.0.into());
        let status = format!("{}, {} records", self.outcome.unwrap_or("interrupted"), self.at.count);
        self.api.append_end(&caller.of_part(shown), &status);
    }
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *lines, line).expect("text keys and values can be written to memory");
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use framework::{http::paging::Cursors, values::secret::Secret};

    use super::*;

    #[test]
    fn a_cursor_opens_to_the_sealed_position() {
        let cursors = Cursors::new(&Secret::from_bytes([1; 32])).bound_to("/export", Vec::new());
        for resource in resource_names::all() {
            let after = Position { at: Timestamp(i64::MAX), id: u64::MAX };
            let position = ExportPosition { changes: u64::MAX, resource, after, count: u64::MAX };
            assert_eq!(ExportPosition::open(&cursors, &position.seal(&cursors)), Some(position));
        }
        assert_eq!(ExportPosition::start(7).resource, resource_names::all().next().unwrap());
    }

    #[test]
    fn each_resource_has_its_own_line_type() {
        let types: BTreeSet<String> = resource_names::all().map(line_type).collect();
        assert_eq!(types.len(), resource_names::all().count());
        assert!(types.iter().all(|it| it.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')), "{types:?}");
        assert!(types.contains("patient") && types.contains("payment_type"), "{types:?}");
    }
}
