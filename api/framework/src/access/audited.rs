//! Audit trail entries of calls: the records that a caller read or changed (`ApiCall::audit`).
//!
//! A response with records is sent only once its entries are durable. A change is stored durably together with its
//! caller (`engine::untold`), and its entries follow without delaying the response. Entries are retried while the
//! trail's disk fails; after a crash the next process appends the missing ones.

use std::{
    collections::BTreeSet,
    mem,
    net::IpAddr,
    rc::Rc,
    sync::{Arc, Weak},
    time::Duration,
};

use actix_web::{
    Error, HttpMessage, HttpRequest, HttpResponse,
    http::StatusCode,
    rt::{self, System},
    web::{self, Data},
};
use audit::{Actor, AuditEntry, AuditError, Filter, Trail};
use engine::{
    BackupEnded, Engine,
    origin::{self, DecisionId, Origin, OriginChange},
    records,
    untold::{AuditedRecord, OrphanedChange, UnauditedChange, What},
    workstations::Act,
};
use location::{
    ids::InstitutionId,
    resource::Resource,
    time::{MINUTE, Millis, Timestamp},
};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    api::Api,
    call::ApiCall,
    shown::{Access, AccessLog, AccessScope},
};
use crate::{
    http::{context::RequestContext, endpoint::Access as Allowed, errors::ApiError},
    values::failures::Failure,
};

/// Maximum number of record ids per entry, one page of a list. An entry may have 64 KiB, and a page with included
/// records can name thousands.
const IDS: usize = 1_000;
/// Interval between checks of whether the trail accepts entries again.
const RETRY: Duration = Duration::from_secs(1);
/// Tolerance for a clock that was set back between a change and its entry. An entry carries the time of the response.
const BEFORE: Millis = 10 * MINUTE;
/// Number of recent entries that are searched for changes of an ended process, some minutes of peak traffic. Changes
/// with older entries are recorded twice.
const LOOKED_THROUGH: usize = 100_000;
/// Record name in the entries of console sessions.
const CONSOLE: &str = "console";
/// Status of a change with an unknown response.
const COMMITTED: &str = "committed";

/// Caller identity for audit entries, with the records that the call accessed.
pub struct AuditCaller {
    actor: Actor,
    client: Option<IpAddr>,
    request_id: String,
    route: String,
    shown: AccessLog,
}

impl AuditCaller {
    pub fn from_call(call: &ApiCall, context: Option<&RequestContext>) -> AuditCaller {
        let name = call.key.name.clone();
        let actor = match call.endpoint.access {
            // A request with a pairing code belongs to a workstation without an identity.
            Allowed::Code => Actor::Workstation("not paired yet".to_owned()),
            _ if call.key.role.is_some() => Actor::Operator(name),
            _ => Actor::Key(name),
        };
        let id = context.and_then(|context| context.id.get()?.to_str().ok()).unwrap_or_default();
        AuditCaller {
            actor,
            client: call.client,
            request_id: id.to_owned(),
            route: call.endpoint.method_and_path(),
            shown: call.shown.clone(),
        }
    }

    /// An operator at the console.
    pub fn at_console(
        name: &str,
        client: Option<IpAddr>,
        request_id: &str,
        route: String,
        shown: AccessLog,
    ) -> AuditCaller {
        AuditCaller { actor: Actor::Operator(name.to_owned()), client, request_id: request_id.to_owned(), route, shown }
    }

    /// Creates the caller for an entry about a console session, such as a sign-in.
    pub fn for_session(name: &str, client: Option<IpAddr>, request: &HttpRequest, what: &'static str) -> AuditCaller {
        let context = request.extensions().get::<Rc<RequestContext>>().cloned();
        let id = context.as_deref().and_then(|context| context.id.get()?.to_str().ok()).unwrap_or_default();
        let shown = AccessLog::default();
        shown.audit_action(what, CONSOLE);
        let route = format!("{} {}", request.method(), request.path());
        AuditCaller::at_console(name, client, id, route, shown)
    }

    /// Appends the entry of a console session. The session continues if the trail refuses the entry, so that an
    /// operator can free a full disk.
    pub async fn append_session_entry(&self, api: &Api) {
        let entries = self.entries(api.engine.now(), "done", &[]);
        if let Err(error) = api.keep(&entries).await {
            tracing::error!(%error, by = ?self.actor, "the audit trail refused the entry of a console session");
        }
    }

    /// Restores the caller of a change that its handler did not record, due to a failure or the end of the process.
    fn from_unaudited_change(untold: &UnauditedChange, institution: Option<InstitutionId>) -> AuditCaller {
        let origin::Caller { request_id, name, operator, client, route } = untold.caller.clone();
        let (location, _) = untold.decision;
        let shown = AccessLog::default();
        institution.into_iter().for_each(|institution| shown.set_scope(institution, Some(location)));
        for AuditedRecord { what, record } in &untold.touched {
            let (record, id) = match record {
                What::Record(Resource::Patients, id) => ("patient", *id),
                What::Record(Resource::Appointments, id) => ("appointment", *id),
                What::Record(resource, id) => (records::rules(*resource).name, *id),
                What::WriteRequest(id) => ("write request", *id),
                What::Location => ("location", location.0.into()),
            };
            shown.audit(what, record, id);
        }
        AuditCaller {
            actor: if operator { Actor::Operator(name) } else { Actor::Key(name) },
            client,
            request_id,
            route,
            shown,
        }
    }

    /// Returns the change context that locations store with their commits. Returns `None` for workstations and the
    /// service.
    fn changing(&self) -> Option<Arc<OriginChange>> {
        let (name, operator) = match &self.actor {
            Actor::Key(name) => (name, false),
            Actor::Operator(name) => (name, true),
            Actor::Workstation(_) | Actor::Service => return None,
        };
        let (name, request_id, route) = (name.clone(), self.request_id.clone(), self.route.clone());
        Some(OriginChange::new(origin::Caller { request_id, name, operator, client: self.client, route }))
    }

    /// Returns an entry for each action and kind of record, with the ids of all its records.
    fn entries(&self, now: Timestamp, status: &str, decisions: &[DecisionId]) -> Vec<AuditEntry> {
        let AccessScope { institution, location } = self.shown.scope();
        let decisions: Vec<_> = decisions.iter().map(|(location, number)| (location.0.into(), *number)).collect();
        let mut entries: Vec<AuditEntry> = Vec::new();
        for Access { what, record, id } in &self.shown.accesses() {
            let alike =
                |entry: &&mut AuditEntry| entry.action == *what && entry.record == *record && entry.ids.len() < IDS;
            if let Some(entry) = entries.iter_mut().find(alike) {
                entry.ids.extend(*id);
                continue;
            }
            entries.push(AuditEntry {
                at: now.0,
                request_id: self.request_id.clone(),
                actor: self.actor.clone(),
                client: self.client.map(|address| address.to_string()),
                institution: institution.map(|id| id.0.into()),
                location: location.map(|id| id.0.into()),
                action: (*what).to_owned(),
                record: (*record).to_owned(),
                ids: id.iter().copied().collect(),
                route: self.route.clone(),
                status: status.to_owned(),
                decisions: if is_change(what) { decisions.clone() } else { Vec::new() },
            });
        }
        entries
    }
}

/// Returns the error response for an unavailable audit trail.
fn without_trail() -> ApiError {
    Failure::AuditUnavailable.into()
}

fn is_change(what: &str) -> bool {
    what != "read"
}

impl Api {
    /// Returns an error if the trail does not accept entries, so that no change is made without its entry.
    pub fn may_change(&self) -> Result<(), ApiError> {
        let Some(error) = self.audit.as_ref().and_then(|trail| trail.takes_entries().err()) else { return Ok(()) };
        tracing::error!(%error, "a change was refused because the audit trail accepts no entries");
        Err(without_trail())
    }

    /// Returns the response once its entries are durable. Fails if they cannot be written.
    pub async fn audited(
        &self,
        caller: &AuditCaller,
        answer: Result<HttpResponse, Error>,
    ) -> Result<HttpResponse, Error> {
        if self.audit.is_none() {
            return answer;
        }
        let entries = caller.entries(self.engine.now(), status(&answer).as_str(), &[]);
        self.kept(&entries, answer).await
    }

    async fn kept(&self, entries: &[AuditEntry], answer: Result<HttpResponse, Error>) -> Result<HttpResponse, Error> {
        match self.keep(entries).await {
            Ok(()) => answer,
            Err(error) => {
                // The change remains committed; the log is its only record.
                for entry in entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()) {
                    tracing::error!(%error, entry, "a response was withheld because the audit trail accepts no entries");
                }
                Err(without_trail().into())
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

    /// Appends an entry that no response waits for, with low priority.
    async fn keep_soon(&self, entry: &AuditEntry) -> Result<(), AuditError> {
        match &self.audit {
            Some(trail) => trail.append_soon(entry)?.await,
            None => Ok(()),
        }
    }
}

fn status(answer: &Result<HttpResponse, Error>) -> StatusCode {
    match answer {
        Ok(answer) => answer.status(),
        Err(error) => error.as_response_error().status_code(),
    }
}

/// Returns the response to a call that may have changed records. Entries of committed changes are appended in the
/// background.
pub async fn changed(
    api: &Data<Api>,
    caller: &AuditCaller,
    handling: &AuditGuard,
    answer: Result<HttpResponse, Error>,
) -> Result<HttpResponse, Error> {
    let decisions = handling.committed();
    if decisions.is_empty() {
        return api.audited(caller, answer).await;
    }
    let entries = caller.entries(api.engine.now(), status(&answer).as_str(), &decisions);
    let (changes, reads): (Vec<AuditEntry>, Vec<AuditEntry>) =
        entries.into_iter().partition(|entry| is_change(&entry.action));
    if changes.is_empty() {
        // Without named records (or after a failed handler), the stored decisions provide the entries.
        for untold in api.engine.untold().unaudited(&decisions) {
            append_decision(api, &untold, api.engine.now(), status(&answer).as_str());
        }
    } else {
        append_with_retries(api, changes, decisions);
    }
    api.kept(&reads, answer).await
}

/// Appends the entries in order, with retries. Only the last entry carries the decision ids, since it implies the
/// earlier ones.
fn append_with_retries(api: &Data<Api>, mut entries: Vec<AuditEntry>, decisions: Vec<DecisionId>) {
    if api.audit.is_none() {
        return api.engine.untold().mark_audited(&decisions);
    }
    if let Some((_, earlier)) = entries.split_last_mut() {
        earlier.iter_mut().for_each(|entry| entry.decisions.clear());
    }
    let api = api.clone();
    // On the arbiter, because a worker may end before its tasks do.
    System::current().arbiter().spawn(async move {
        for entry in entries {
            while let Err(error) = api.keep_soon(&entry).await {
                match error {
                    // The next start finds the decisions without a last entry and appends the entries.
                    AuditError::Closed => return,
                    // Retries with smaller entries, one per decision.
                    AuditError::TooLarge { .. } if decisions.len() > 1 => return api.engine.untold().leave(&decisions),
                    AuditError::TooLarge { .. } | AuditError::Time { .. } => {
                        tracing::error!(%error, request = entry.request_id, "a change has no entry in the audit trail");
                        break;
                    }
                    _ => {}
                }
                tracing::error!(%error, request = entry.request_id, "the audit entry of a change is retried until the audit trail accepts entries");
                // The trail counts refused entries and records them as lost.
                loop {
                    rt::time::sleep(RETRY).await;
                    let takes = api.audit.as_ref().map_or(Ok(()), Trail::takes_entries);
                    if !matches!(takes, Err(AuditError::Interrupted { .. } | AuditError::Full)) {
                        break;
                    }
                }
            }
        }
        api.engine.untold().mark_audited(&decisions);
    });
}

/// Appends the entry of one decision from its stored change, without its handler.
fn append_decision(api: &Data<Api>, untold: &UnauditedChange, at: Timestamp, status: &str) {
    let institution = api.engine.setup().locations.get(&untold.decision.0).map(|location| location.institution);
    let decisions = vec![untold.decision];
    append_with_retries(
        api,
        AuditCaller::from_unaudited_change(untold, institution).entries(at, status, &decisions),
        decisions,
    );
}

/// Drop guard of a call: if the handler ends early, its commits are audited by the background task.
pub struct AuditGuard {
    engine: Arc<Engine>,
    change: Option<Arc<OriginChange>>,
}

impl AuditGuard {
    pub fn new(api: &Api, caller: &AuditCaller) -> AuditGuard {
        AuditGuard { engine: api.engine.clone(), change: api.audit.as_ref().and_then(|_| caller.changing()) }
    }

    /// Adds the change context of the call to the origin of its work.
    pub fn within(&self, origin: Origin) -> Origin {
        self.change.iter().cloned().fold(origin, Origin::changing)
    }

    fn committed(&self) -> Vec<DecisionId> {
        self.change.as_deref().map(OriginChange::take).unwrap_or_default()
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        self.engine.untold().leave(&self.committed());
    }
}

/// Appends the entries of committed changes that no handler recorded. Runs until the service ends.
pub async fn audit_orphaned_changes(engine: Arc<Engine>, api: Weak<Api>) {
    loop {
        let left = engine.untold().left().await;
        let Some(api) = api.upgrade().map(Data::from) else { return };
        let earliest = left.iter().filter(|left| left.may_be_audited).map(|left| left.untold.at).min();
        let known = match earliest {
            Some(earliest) => known_since(&api, earliest.minus(BEFORE)).await,
            None => AuditedChanges::new(),
        };
        let mut told = Vec::new();
        for OrphanedChange { untold, may_be_audited } in left {
            let (location, number) = untold.decision;
            if may_be_audited && known.contains(&(untold.caller.request_id.clone(), (location.0.into(), number))) {
                told.push(untold.decision);
            } else {
                append_decision(&api, &untold, untold.at, COMMITTED);
            }
        }
        api.engine.untold().mark_audited(&told);
    }
}

/// Appends the entries of workstation actions. Refused entries are logged.
pub async fn audit_workstation_actions(mut acts: UnboundedReceiver<Act>, api: Weak<Api>) {
    while let Some(act) = acts.recv().await {
        let Some(api) = api.upgrade() else { return };
        let Some(trail) = &api.audit else { continue };
        let (setup, about_writes) = (api.engine.setup(), !act.writes.is_empty());
        let entry = AuditEntry {
            at: act.at.0,
            request_id: String::new(),
            actor: Actor::Workstation(act.workstation.to_string()),
            client: act.client.map(|address| address.to_string()),
            institution: setup.locations.get(&act.location).map(|location| location.institution.0.into()),
            location: Some(act.location.0.into()),
            action: act.what.to_owned(),
            record: if about_writes { "write request" } else { "location" }.to_owned(),
            ids: if about_writes { act.writes } else { vec![act.location.0.into()] },
            route: String::new(),
            status: act.status,
            decisions: Vec::new(),
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

type AuditedChanges = BTreeSet<(String, (u64, u64))>;

/// Returns the changes that have entries. Returns an empty set if the trail cannot be read: a duplicate entry is better
/// than a missing one.
async fn known_since(api: &Data<Api>, from: Timestamp) -> AuditedChanges {
    let reading = api.clone();
    let read = web::block(move || {
        let filter = Filter { from: Some(from.0), ..Filter::default() };
        reading.audit.as_ref().map(|trail| trail.newest(filter, LOOKED_THROUGH)).transpose()
    });
    let newest = match read.await {
        Ok(Ok(newest)) => newest.unwrap_or_default(),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the audit trail could not be read; some changes may have duplicate entries");
            return AuditedChanges::new();
        }
        Err(_) => return AuditedChanges::new(),
    };
    let entries = newest.entries.into_iter().map(|recorded| recorded.entry);
    let decided = |mut entry: AuditEntry| {
        let decisions = mem::take(&mut entry.decisions);
        decisions.into_iter().map(move |decision| (entry.request_id.clone(), decision))
    };
    entries.flat_map(decided).collect()
}
