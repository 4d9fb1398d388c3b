//! The REST API.
//!
//! - `GET /v1/about`: the capabilities of the EHR.
//! - `GET /v1/<resource>?location=&since=&limit=`, with the names of `resources` in snake case (`patients`, `types`,
//!   `hours`, `insurance_plans`, `procedure_code_categories`, ...): the records after revision `since` (0 or absent:
//!   all), in the order of their changes. Responds with `{records, deleted, revision, more, total}`; with `more` the
//!   next page starts at `revision`, else the next delta does. `location` is required for operatories, hours and
//!   appointments.
//! - `GET /v1/<resource>/<id>`: one record.
//! - `GET /v1/writes/<write key>`: `{resource, id, version}` of the record of a write, 404 if no such write arrived. A
//!   deleted record has no version.
//! - `POST /v1/<resource>`, `PATCH` and `DELETE /v1/<resource>/<id>`: see `writes`.
//!
//! A refusal is `{error, message}`: 400 malformed, 404 unknown, 409 `slot_taken`, `stale`, `duplicate_patient`, 501
//! `unsupported_write`, 422 anything else.

use serde::Serialize;
use serde_json::json;

use super::{
    SandboxEhr,
    records::{Record, Resource, UntaggedRecord},
    refusals::not_found,
    wire::{SandboxReply, SandboxRequest, percent_decoded},
    write_kinds::WriteKind,
    writes,
};

const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1_000;

pub(super) fn handle(ehr: &mut SandboxEhr, now_ms: i64, request: &SandboxRequest) -> SandboxReply {
    let path: Vec<String> = request.path.trim_start_matches('/').split('/').map(percent_decoded).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (request.method.as_str(), path.as_slice()) {
        ("GET", ["v1", "about"]) => about(ehr),
        ("GET", ["v1", "writes", key]) => written(ehr, key),
        ("GET", ["v1", name]) => Resource::named(name).map_or_else(not_found, |resource| list(ehr, resource, request)),
        ("GET", ["v1", name, id]) => {
            let found = Resource::named(name).and_then(|resource| ehr.practice.get(resource, id));
            found.map_or_else(not_found, |record| SandboxReply::json(200, &UntaggedRecord(record)))
        }
        ("POST", ["v1", name]) => writes::create(ehr, now_ms, name, &request.body),
        ("PATCH", ["v1", name, id]) => writes::update(ehr, name, id, &request.body),
        ("DELETE", ["v1", name, id]) => writes::delete(ehr, name, id, &request.body),
        _ => not_found(),
    }
}

fn about(ehr: &SandboxEhr) -> SandboxReply {
    let switches = &ehr.behaviours;
    SandboxReply::json(
        200,
        &json!({
            "name": "Sandbox EHR",
            "locations": ehr.profile.locations.iter().map(|l| &l.key).collect::<Vec<_>>(),
            "writes": WriteKind::ALL.iter().filter(|kind| switches.supports(**kind)).collect::<Vec<_>>(),
            "new_patients": !switches.refuse_new_patients,
            "required_patient_fields": switches.required_patient_fields,
            "max_plan_name": switches.max_plan_name,
            "requests_per_minute": switches.requests_per_minute,
        }),
    )
}

fn written(ehr: &SandboxEhr, key: &str) -> SandboxReply {
    let Some(written) = ehr.practice.written(key) else { return not_found() };
    let version = ehr.practice.get(written.resource, &written.id).map(Record::version);
    SandboxReply::json(200, &json!({"resource": written.resource, "id": written.id, "version": version}))
}

#[derive(Serialize)]
struct ListBody<'a> {
    records: Vec<UntaggedRecord<'a>>,
    deleted: Vec<&'a str>,
    revision: u64,
    more: bool,
    total: usize,
}

fn list(ehr: &SandboxEhr, resource: Resource, request: &SandboxRequest) -> SandboxReply {
    let location = request.parameter("location").filter(|_| resource.is_local());
    if resource.is_local() && !location.as_ref().is_some_and(|key| ehr.profile.locations.iter().any(|l| l.key == *key))
    {
        return SandboxReply::error(400, "unknown_location", "location must name a location of this practice");
    }
    let number = |name: &str, absent: u64| request.parameter(name).map_or(Some(absent), |text| text.parse().ok());
    let (Some(since), Some(limit)) = (number("since", 0), number("limit", DEFAULT_LIMIT as u64)) else {
        return SandboxReply::error(400, "bad_parameter", "since and limit must be numbers");
    };
    let limit = usize::try_from(limit).unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT);
    let since = since.min(u64::MAX - 1);
    let stretch = ehr.practice.stretch(resource, location.as_deref(), since, limit);
    SandboxReply::json(
        200,
        &ListBody {
            records: stretch.records.into_iter().map(UntaggedRecord).collect(),
            deleted: stretch.deleted,
            revision: stretch.revision,
            more: stretch.more,
            total: ehr.practice.size(resource, location.as_deref()),
        },
    )
}
