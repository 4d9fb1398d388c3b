//! Audit trail entries of calls: the records that a caller read or changed (`ApiCall::audit`).
//!
//! A response with records is sent only once its entries are durable. After a commit, a response is sent even if the
//! entries of its reads are refused: an error would hide the change. A change at a location is stored durably together
//! with its caller. Its entries follow the journal (`engine::AuditFollower`) without delaying the response: they are
//! retried while the trail's disk fails, and the next process continues at the stored position.

use std::{
    mem,
    net::IpAddr,
    rc::Rc,
    sync::{Arc, Weak},
    time::Duration,
};

use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse, http::StatusCode, rt};
use audit::{Actor, AuditEntry, AuditError, Trail};
use engine::{
    AuditFollower, BackupEnded,
    call_changes::CallChange,
    origin::{Caller, OriginChange},
    setup::Setup,
    workstations::Act,
};
use location::Timestamp;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    access_log::{Access, AccessLog, AccessScope},
    api::Api,
    call::ApiCall,
};
use crate::{
    http::{context::RequestContext, endpoint::Access as Allowed, errors::ApiError},
    values::failures::Failure,
};

/// Maximum number of record ids per entry, one page of a list. An entry may have 64 KiB, and a page with included
/// records can name thousands.
const IDS: usize = 1_000;
/// Maximum number of entries of committed changes that wait in the trail, about 1 MiB. A full queue also refuses the
/// entries that responses wait for.
const WAITING: usize = 4_000;
/// Interval between checks of whether the trail accepts entries again.
const RETRY: Duration = Duration::from_secs(1);
/// Action of an access that changes nothing.
const READ: &str = "read";
/// Record name in the entries of console sessions.
const CONSOLE: &str = "console";
/// Status of a change at a location. Its entry does not depend on the response.
const COMMITTED: &str = "committed";

/// Caller identity for audit entries, with the records that the call accessed.
pub struct AuditCaller {
    /// Shared with the commits of the call.
    caller: Arc<Caller>,
    kind: CallerKind,
    shown: AccessLog,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    KeyOrOperator,
    Workstation,
    Service,
}

impl AuditCaller {
    /// Returns `None` without a trail.
    pub fn of_request(call: &ApiCall, id: &str) -> Option<AuditCaller> {
        call.api.audit.as_ref()?;
        let (kind, name) = match call.endpoint.access {
            // A request with a pairing code belongs to a workstation without an identity.
            Allowed::Code => (CallerKind::Workstation, "not paired yet".to_owned()),
            _ => (CallerKind::KeyOrOperator, call.key.name.clone()),
        };
        let caller = Caller {
            request_id: id.to_owned(),
            name,
            operator: call.key.role.is_some(),
            client: call.client,
            route: call.endpoint.method_and_path.clone(),
            tool: call.tool.as_ref().and_then(|tool| Some(tool.to_str().ok()?.to_owned())),
        };
        Some(AuditCaller { caller: Arc::new(caller), kind, shown: call.shown.clone() })
    }

    /// An operator at the console.
    pub fn at_console(
        name: &str,
        client: Option<IpAddr>,
        request_id: &str,
        route: String,
        shown: AccessLog,
    ) -> AuditCaller {
        let (name, request_id) = (name.to_owned(), request_id.to_owned());
        let caller = Caller { request_id, name, operator: true, client, route, tool: None };
        AuditCaller { caller: Arc::new(caller), kind: CallerKind::KeyOrOperator, shown }
    }

    /// Creates the caller for an entry about a console session, such as a sign-in.
    pub fn for_session(name: &str, client: Option<IpAddr>, request: &HttpRequest, what: &'static str) -> AuditCaller {
        let context = request.extensions().get::<Rc<RequestContext>>().cloned();
        let id = context.as_deref().map_or("", RequestContext::request_id);
        let shown = AccessLog::default();
        shown.audit_action(what, CONSOLE);
        let route = format!("{} {}", request.method(), request.path());
        AuditCaller::at_console(name, client, id, route, shown)
    }

    /// Appends the entry of a console session. The session continues if the trail refuses the entry, so that an
    /// operator can free a full disk.
    pub async fn append_session_entry(&self, api: &Api) {
        let entries = self.entries(api.engine.now(), "done", None);
        if let Err(error) = api.keep(&entries).await {
            tracing::error!(%error, by = ?self.actor(), "the audit trail refused the entry of a console session");
        }
    }

    /// Returns the caller of a committed change, or the service if the caller cannot be decoded.
    fn from_change(caller: Option<Arc<Caller>>, shown: AccessLog) -> AuditCaller {
        let kind = if caller.is_some() { CallerKind::KeyOrOperator } else { CallerKind::Service };
        AuditCaller { caller: caller.unwrap_or_default(), kind, shown }
    }

    fn actor(&self) -> Actor {
        let name = || self.caller.name.clone();
        match self.kind {
            CallerKind::KeyOrOperator if self.caller.operator => Actor::Operator(name()),
            CallerKind::KeyOrOperator => Actor::Key(name()),
            CallerKind::Workstation => Actor::Workstation(name()),
            CallerKind::Service => Actor::Service,
        }
    }

    /// Returns the caller of a part of the response, with the records of that part.
    pub fn of_part(&self, shown: AccessLog) -> AuditCaller {
        AuditCaller { caller: self.caller.clone(), kind: self.kind, shown }
    }

    /// Returns the change context that locations store with their commits. Returns `None` for workstations and the
    /// service.
    pub fn changing(&self) -> Option<Arc<OriginChange>> {
        (self.kind == CallerKind::KeyOrOperator).then(|| OriginChange::new(self.caller.clone()))
    }

    /// Returns an entry for each action and kind of record, with the ids of all its records. Records that the call has
    /// changed at a location are left out, because their entries follow the journal.
    fn entries(&self, at: Timestamp, status: &str, change: Option<&OriginChange>) -> Vec<AuditEntry> {
        let AccessScope { institution, location } = self.shown.scope();
        let mut entries: Vec<AuditEntry> = Vec::new();
        for Access { what, record, id } in &self.shown.accesses() {
            let is_followed = || change.zip(*id).is_some_and(|(change, id)| change.has_committed((*record, id)));
            if *what != READ && is_followed() {
                continue;
            }
            let alike =
                |entry: &&mut AuditEntry| entry.action == *what && entry.record == *record && entry.ids.len() < IDS;
            if let Some(entry) = entries.iter_mut().find(alike) {
                entry.ids.extend(*id);
                continue;
            }
            entries.push(AuditEntry {
                request_id: self.caller.request_id.clone(),
                actor: self.actor(),
                client: self.caller.client.map(|address| address.to_string()),
                institution: institution.map(|id| id.0.into()),
                location: location.map(|id| id.0.into()),
                ids: id.iter().copied().collect(),
                tool: self.caller.tool.clone(),
                ..service_entry(at, what, record, status, &self.caller.route)
            });
        }
        entries
    }
}

fn without_trail() -> ApiError {
    Failure::AuditUnavailable.into()
}

impl Api {
    /// Returns an error if the trail does not accept entries, so that no change is made without its entry.
    pub fn may_change(&self) -> Result<(), ApiError> {
        let Some(error) = self.audit.as_ref().and_then(|trail| trail.takes_entries().err()) else { return Ok(()) };
        tracing::error!(%error, "a change was refused because the audit trail accepts no entries");
        Err(without_trail())
    }

    /// Returns the response once its entries are durable. Fails if they cannot be written, unless the call has
    /// committed a change at a location. `caller` is `None` without a trail.
    pub async fn audited(
        &self,
        caller: Option<&AuditCaller>,
        change: Option<&OriginChange>,
        answer: Result<HttpResponse, Error>,
    ) -> Result<HttpResponse, Error> {
        let Some(caller) = caller else { return answer };
        let entries = caller.entries(self.engine.now(), status(&answer).as_str(), change);
        match self.keep(&entries).await {
            Ok(()) => answer,
            Err(error) => {
                let is_committed = change.is_some_and(OriginChange::is_committed);
                // A change elsewhere remains made; the log is its only record.
                for entry in entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()) {
                    tracing::error!(%error, entry, withheld = !is_committed, "the audit trail refused an entry of a response");
                }
                if is_committed { answer } else { Err(without_trail().into()) }
            }
        }
    }

    /// Returns once the entries of a part of a response are durable. Fails if they cannot be written; the part must not
    /// be sent then.
    pub async fn audited_part(&self, part: &AuditCaller) -> Result<(), ApiError> {
        let entries = part.entries(self.engine.now(), StatusCode::OK.as_str(), None);
        self.keep(&entries).await.map_err(|error| {
            tracing::error!(%error, "the audit trail refused entries of a streamed response");
            without_trail()
        })
    }

    /// Appends the entry of the end of a response without waiting. Usable while the response is dropped.
    pub fn append_end(&self, end: &AuditCaller, status: &str) {
        let Some(trail) = &self.audit else { return };
        for entry in end.entries(self.engine.now(), status, None) {
            if let (Err(error), Ok(entry)) = (trail.append_soon(&entry), serde_json::to_string(&entry)) {
                tracing::error!(%error, entry, "the audit trail refused the entry of the end of a response");
            }
        }
    }

    async fn keep(&self, entries: &[AuditEntry]) -> Result<(), AuditError> {
        let Some(trail) = &self.audit else { return Ok(()) };
        let written = entries.iter().map(|entry| trail.append(entry)).collect::<Result<Vec<_>, _>>()?;
        for entry in written {
            entry.await?;
        }
        Ok(())
    }

    /// Appends an entry that no response waits for.
    pub fn append_of_service(&self, entry: AuditEntry) {
        self.audit.iter().for_each(|trail| append(trail, entry.clone()));
    }
}

fn status(answer: &Result<HttpResponse, Error>) -> StatusCode {
    match answer {
        Ok(answer) => answer.status(),
        Err(error) => error.as_response_error().status_code(),
    }
}

/// Appends the entries of changes that calls have committed at locations. Runs until the service ends.
pub async fn audit_committed_changes(follower: Arc<AuditFollower>, api: Weak<Api>) {
    loop {
        let mut batch = follower.next().await;
        let Some(api) = api.upgrade() else { return };
        let changes = mem::take(&mut batch.changes).into_iter();
        let (setup, now) = (api.engine.setup(), api.engine.now());
        let entries: Vec<AuditEntry> = changes.flat_map(|change| entries_of_change(&setup, now, change)).collect();
        // Without a trail, the positions move on, so that journals are pruned.
        if let Some(trail) = &api.audit
            && append_in_order(trail, &entries).await.is_err()
        {
            return;
        }
        follower.confirm(batch).await;
    }
}

/// Returns the entries of a change. The last one has the decision, because it implies the earlier ones.
fn entries_of_change(setup: &Setup, now: Timestamp, change: CallChange) -> Vec<AuditEntry> {
    let CallChange { decision: (location, number), at, institution, caller, records } = change;
    let shown = AccessLog::default();
    // Earlier versions did not store the institution.
    let current = || setup.locations.get(&location).map(|configured| configured.institution);
    if let Some(institution) = institution.or_else(current) {
        shown.set_scope(institution, Some(location));
    }
    records.iter().for_each(|record| shown.audit(record.action, record.kind, record.id));
    let mut entries = AuditCaller::from_change(caller, shown).entries(at.unwrap_or(now), COMMITTED, None);
    entries.last_mut().into_iter().for_each(|last| last.decisions.push((location.0.into(), number)));
    entries
}

/// Appends entries, and tries again until they are durable. Returns an error once the trail is closed: the next process
/// then appends them.
async fn append_in_order(trail: &Trail, mut entries: &[AuditEntry]) -> Result<(), AuditError> {
    loop {
        let (durable, outcome) = append_some(trail, &entries[..entries.len().min(WAITING)]).await;
        entries = &entries[durable..];
        let Some((first, later)) = entries.split_first() else { return Ok(()) };
        let Err(error) = outcome else { continue };
        let request = &first.request_id;
        match error {
            AuditError::Closed => return Err(error),
            AuditError::TooLarge { .. } | AuditError::Time { .. } => {
                tracing::error!(%error, request, "a change has no entry in the audit trail");
                entries = later;
            }
            _ => {
                tracing::error!(%error, request, "the audit entry of a change is retried until the audit trail accepts entries");
                loop {
                    rt::time::sleep(RETRY).await;
                    if !matches!(trail.takes_entries(), Err(AuditError::Interrupted { .. } | AuditError::Full)) {
                        break;
                    }
                }
            }
        }
    }
}

/// Appends entries up to the first that fails. Returns the number of durable ones.
async fn append_some(trail: &Trail, entries: &[AuditEntry]) -> (usize, Result<(), AuditError>) {
    // The trail counts refused entries and records them as lost.
    if let Err(error) = trail.takes_entries() {
        return (0, Err(error));
    }
    let (mut queued, mut refused) = (Vec::new(), Ok(()));
    for entry in entries {
        match trail.append_soon(entry) {
            Ok(written) => queued.push(written),
            Err(error) => {
                refused = Err(error);
                break;
            }
        }
    }
    let all = queued.len();
    // The writer completes entries in their order. Once the last one is complete, no other wakes this task.
    let last = match queued.pop() {
        Some(last) => last.await,
        None => Ok(()),
    };
    for (durable, written) in queued.into_iter().enumerate() {
        if let Err(error) = written.await {
            return (durable, Err(error));
        }
    }
    match last {
        Ok(()) => (all, refused),
        Err(error) => (all - 1, Err(error)),
    }
}

/// Appends the entries of workstation actions. Refused entries are logged.
pub async fn audit_workstation_actions(mut acts: UnboundedReceiver<Act>, api: Weak<Api>) {
    while let Some(act) = acts.recv().await {
        let Some(api) = api.upgrade() else { return };
        let Some(trail) = &api.audit else { continue };
        let (setup, about_writes) = (api.engine.setup(), !act.writes.is_empty());
        let record = if about_writes { "write request" } else { "location" };
        let entry = AuditEntry {
            actor: Actor::Workstation(act.workstation.to_string()),
            client: act.client.map(|address| address.to_string()),
            institution: setup.locations.get(&act.location).map(|location| location.institution.0.into()),
            location: Some(act.location.0.into()),
            ids: if about_writes { act.writes } else { vec![act.location.0.into()] },
            ..service_entry(act.at, act.what, record, &act.status, "")
        };
        append(trail, entry);
    }
}

/// Appends the entries of finished backups, including scheduled ones.
pub async fn audit_backups(mut ended: UnboundedReceiver<BackupEnded>, api: Weak<Api>) {
    while let Some(BackupEnded { at, made }) = ended.recv().await {
        let Some(api) = api.upgrade() else { return };
        api.append_of_service(service_entry(at, "end backup", "store", if made { "made" } else { "failed" }, ""));
    }
}

/// Creates the entry of an action by the service itself or by a command without the service.
pub fn service_entry(at: Timestamp, action: &str, record: &str, status: &str, route: &str) -> AuditEntry {
    AuditEntry {
        at: at.0,
        request_id: String::new(),
        actor: Actor::Service,
        client: None,
        institution: None,
        location: None,
        action: action.to_owned(),
        record: record.to_owned(),
        ids: Vec::new(),
        route: route.to_owned(),
        tool: None,
        status: status.to_owned(),
        decisions: Vec::new(),
    }
}

/// Appends an entry in the background. Refused entries are logged.
fn append(trail: &Trail, entry: AuditEntry) {
    let written = trail.append(&entry);
    rt::spawn(async move {
        let outcome = match written {
            Ok(written) => written.await,
            Err(error) => Err(error),
        };
        if let (Err(error), Ok(entry)) = (outcome, serde_json::to_string(&entry)) {
            tracing::error!(%error, entry, "the audit trail refused an entry");
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use audit::Rules;
    use engine::call_changes::ChangedRecord;
    use location::{InstitutionId, LocationId};

    use super::*;

    #[test]
    fn entry_of_an_unreadable_change_names_its_location_and_number() {
        let records = vec![ChangedRecord { action: "unreadable change", kind: "location", id: 7 }];
        let (decision, institution) = ((LocationId(7), 12), Some(InstitutionId(3)));
        let change = CallChange { decision, at: None, institution, caller: None, records };
        let entries = entries_of_change(&Setup::default(), Timestamp(5), change);
        let [entry] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((entry.at, &entry.actor, entry.institution), (5, &Actor::Service, Some(3)));
        assert_eq!((entry.action.as_str(), entry.record.as_str()), ("unreadable change", "location"));
        assert_eq!((entry.ids.as_slice(), entry.decisions.as_slice()), (&[7][..], &[(7, 12)][..]));
    }

    #[tokio::test]
    async fn entries_above_the_limit_are_appended_once_the_earlier_ones_are_durable() {
        let (folder, gather) = (tempfile::tempdir().unwrap(), Duration::from_millis(200));
        let trail = Trail::open(folder.path(), &[5; 32], Rules { gather, ..Rules::default() }).unwrap();
        let entries = vec![service_entry(Timestamp(5), "end backup", "store", "made", ""); WAITING + 1];
        let started = Instant::now();
        append_in_order(&trail, &entries).await.unwrap();
        assert!(started.elapsed() >= 2 * gather, "entries wait for others, so each group takes this time");
        assert_eq!(trail.written(), entries.len() as u64);
    }
}
