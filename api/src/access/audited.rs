//! Who was shown or changed which records. What a call says of it (`Call::audit`) becomes entries of the audit trail, which are durable before
//! the answer leaves.

use std::{net::IpAddr, sync::atomic::Ordering};

use actix_web::{Error, HttpResponse, http::StatusCode};
use audit::{Actor, AuditError, Entry};
use location::time::Timestamp;

use super::{
    api::Api,
    call::Call,
    shown::{Access, Shown, Whose},
};
use crate::http::{context::RequestContext, endpoint::Access as Allowed, errors::ApiError};

/// Ids in an entry: a page of a list. An entry may have 64 KiB, and a page with all that belongs to its patients is many thousand records.
const IDS: usize = 1_000;
/// When a disk that was full, or failed, may take entries again.
const RETRY_LATER: u64 = 30;

/// Whose call it is, for the entries of what it is shown.
pub(crate) struct Caller {
    actor: Actor,
    client: Option<IpAddr>,
    request_id: String,
    route: String,
    shown: Shown,
}

impl Caller {
    pub(crate) fn of(call: &Call, context: Option<&RequestContext>) -> Caller {
        let name = call.key.name.clone();
        let actor = match call.endpoint.access {
            // Who has a pairing code is nobody yet.
            Allowed::Code => Actor::Workstation("not paired yet".to_owned()),
            _ if call.key.role.is_some() => Actor::Operator(name),
            _ => Actor::Key(name),
        };
        let id = context.and_then(|context| context.id.get()?.to_str().ok()).unwrap_or_default();
        Caller {
            actor,
            client: call.client,
            request_id: id.to_owned(),
            route: call.endpoint.method_and_path(),
            shown: call.shown.clone(),
        }
    }

    /// An operator at the console.
    pub(crate) fn at_console(
        name: &str,
        client: Option<IpAddr>,
        request_id: &str,
        route: String,
        shown: Shown,
    ) -> Caller {
        Caller { actor: Actor::Operator(name.to_owned()), client, request_id: request_id.to_owned(), route, shown }
    }

    /// One for all records of a sort that the same was done to.
    fn entries(&self, now: Timestamp, status: StatusCode) -> Vec<Entry> {
        let Whose { institution, location } = self.shown.whose();
        let mut entries: Vec<Entry> = Vec::new();
        for Access { what, record, id } in &self.shown.accesses() {
            let alike = |entry: &&mut Entry| entry.action == *what && entry.record == *record && entry.ids.len() < IDS;
            if let Some(entry) = entries.iter_mut().find(alike) {
                entry.ids.push(*id);
                continue;
            }
            entries.push(Entry {
                at: now.0,
                request_id: self.request_id.clone(),
                actor: self.actor.clone(),
                client: self.client.map(|address| address.to_string()),
                institution: institution.map(|id| id.0.into()),
                location: location.map(|id| id.0.into()),
                action: (*what).to_owned(),
                record: (*record).to_owned(),
                ids: vec![*id],
                route: self.route.clone(),
                status: status.as_str().to_owned(),
            });
        }
        entries
    }
}

impl Api {
    /// Whether the trail takes what a change would leave: nothing is changed that could not be told of.
    pub(crate) fn may_change(&self) -> Result<(), ApiError> {
        let Some(error) = self.audit.as_ref().and_then(|trail| trail.takes_entries().err()) else { return Ok(()) };
        tracing::error!(%error, "a change is refused, since the audit trail takes no entry");
        Err(ApiError::Unavailable { retry_after: RETRY_LATER })
    }

    /// The answer, once its entries are durable. Where they cannot be written nothing is shown; what a call has changed stays, and shows when it
    /// is sent again.
    pub(crate) async fn audited(
        &self,
        caller: &Caller,
        answer: Result<HttpResponse, Error>,
    ) -> Result<HttpResponse, Error> {
        let status = match &answer {
            Ok(answer) => answer.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        let entries = caller.entries(self.engine.now(), status);
        match self.keep(&entries).await {
            Ok(()) => answer,
            Err(error) => {
                // What was changed stays so: somebody has to know.
                for entry in entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()) {
                    tracing::error!(%error, entry, "not answered, since the audit trail takes no entry");
                }
                Err(ApiError::Unavailable { retry_after: RETRY_LATER }.into())
            }
        }
    }

    async fn keep(&self, entries: &[Entry]) -> Result<(), AuditError> {
        let Some(trail) = &self.audit else { return Ok(()) };
        let written = entries.iter().map(|entry| trail.append(entry)).collect::<Result<Vec<_>, _>>()?;
        for entry in written {
            entry.await?;
            self.audit_entries.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
