//! The problems of a location, each with its next step and a page of the operators' documents (our addition).

use engine::{records::sync_state::Cause, setup::Setup};

use crate::prelude::*;

/// A problem of a location, for operators.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ProblemView {
    /// The affected direction: reading or writing.
    #[schemars(extend("enum" = ["reading", "writing"]))]
    pub direction: &'static str,
    /// The affected resource; null if all resources are affected.
    pub resource: Option<&'static str>,
    /// Reason for the problem, as reported by the health record system if it provides one. Never contains patient data.
    pub reason: String,
    /// Host and port of the health record system if it does not respond; otherwise null.
    pub address: Option<String>,
    /// Recommended next step.
    pub next_step: String,
    /// Path of the runbook on the operators' listener.
    pub runbook: &'static str,
}

/// Returns the problems of a location: reading first; a common problem of both directions appears once. An inactive
/// location is not read, and its writes need attention only while one waits, or if they cannot be loaded.
pub fn problems(setup: &Setup, location: &LocationSetup, state: &SyncState) -> Vec<ProblemView> {
    let mut problems: Vec<ProblemView> = Vec::new();
    for (direction, reason) in [("reading", &state.read_reason), ("writing", &state.write_reason)] {
        let Some(reason) = reason else { continue };
        if problems.iter().any(|known| known.reason == *reason) {
            continue;
        }
        let cause = Cause::from_reason(reason);
        let is_affected = location.status == LocationStatus::Active || (direction == "writing" && state.queued > 0);
        if !is_affected && !matches!(cause, Cause::Damaged | Cause::OtherSource) {
            continue;
        }
        let stopped = || state.guarded.first().copied();
        let resource = match cause {
            Cause::Deletions => stopped(),
            Cause::Ehr if direction == "reading" => state.reading,
            _ => None,
        };
        let unreached = matches!(cause, Cause::Ehr | Cause::FirstCycle | Cause::Credentials);
        problems.push(ProblemView {
            direction,
            resource: resource.map(resource_names::name),
            reason: reason.clone(),
            address: address(setup, location).filter(|_| unreached),
            next_step: next_step(cause, location.id, resource),
            runbook: runbook(cause),
        });
    }
    problems
}

/// Returns host and port of a location's EHR. Returns `None` without an EHR, and for the simulated one.
pub fn address(setup: &Setup, location: &LocationSetup) -> Option<String> {
    let url = &setup.sources.get(&location.source?)?.base_url;
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    Some(if has_port { host.to_owned() } else { format!("{host}:{port}") })
}

fn next_step(cause: Cause, location: LocationId, resource: Option<Resource>) -> String {
    match cause {
        Cause::Damaged => "Delete nothing. Restore or salvage the store as the runbook describes.".to_owned(),
        Cause::Adapter => "Check the adapter file: `practice-sync adapter check FILE`.".to_owned(),
        Cause::Paused => format!("When the reason is gone: `practice-sync resume {location}`."),
        Cause::Workstation => "Staff must log in to the EHR at a paired workstation.".to_owned(),
        Cause::Approval => "Staff must approve the writes at their workstation.".to_owned(),
        Cause::Credentials => "Put the current credential into the configuration.".to_owned(),
        Cause::Deletions => {
            let resource = resource.map_or("RESOURCE", resource_names::name);
            format!(
                "Compare with the EHR. If the records are gone there: `practice-sync accept-deletions {location} {resource}`."
            )
        }
        Cause::Stuck => format!("See which write waits: `practice-sync queue list --location {location}`."),
        Cause::FirstCycle => "Wait for the first read cycle. Nothing is offered before a schedule was read.".to_owned(),
        Cause::OtherSource => "Configure the former data source and `foreign_id` of the location again.".to_owned(),
        Cause::Ehr => format!(
            "Check that the EHR answers. The server tries again by itself; `practice-sync sync {location}` tries at once."
        ),
    }
}

/// Returns the page of the operators' documents about a cause.
pub fn runbook(cause: Cause) -> &'static str {
    match cause {
        Cause::Damaged => "/console/docs/runbooks#the-store-or-a-location-is-damaged",
        Cause::Adapter => "/console/docs/runbooks#adapters_refused",
        Cause::Paused => "/console/docs/commands#pause-and-resume",
        Cause::Workstation | Cause::Approval => "/console/docs/workstations",
        Cause::Credentials => "/console/docs/runbooks#an-ehr-does-not-accept-the-credentials",
        Cause::Deletions => "/console/docs/runbooks#deletions-were-stopped",
        Cause::Stuck => "/console/docs/runbooks#oldest_write_seconds",
        Cause::OtherSource => "/console/docs/runbooks#a-location-has-another-data-source",
        Cause::FirstCycle | Cause::Ehr => "/console/docs/runbooks#an-ehr-is-down-for-a-day",
    }
}
