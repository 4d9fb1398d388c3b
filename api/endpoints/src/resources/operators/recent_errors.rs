//! GET /locations/{id}/errors: recent errors of a location, for operators (our addition).

use engine::{
    Engine,
    recent_errors::{ErrorSource, RecentError},
};
use framework::access::resource_names::name;

use crate::{
    prelude::*,
    resources::practice::write_requests::{public_id, subject},
};

/// An error at a location, which may have occurred several times.
#[derive(Serialize, JsonSchema)]
pub struct RecentErrorView {
    /// Time of the last occurrence, in UTC.
    pub at: At,
    /// Time of the first occurrence, in UTC.
    pub first_at: At,
    /// Number of occurrences.
    pub times: u64,
    /// Failed part: reading a resource (`pull`), a write to the health record system (`write`), the `adapter` before
    /// either, the workstation `gate`, or the records and commits of the `location` itself.
    #[schemars(extend("enum" = ["pull", "write", "adapter", "gate", "location"]))]
    pub part: &'static str,
    /// The resource that was read or written; null for other parts.
    pub resource: Option<&'static str>,
    /// Id of the write request, such as `101-8`; null for other parts.
    pub write_request_id: Option<String>,
    /// Reason for the error. Never contains patient data.
    pub reason: String,
    /// `X-Request-Id` of the request that caused the work, as in logs and webhook messages; null for work that no
    /// request caused.
    pub request_id: Option<String>,
}

impl RecentErrorView {
    fn new(location: LocationId, it: RecentError) -> RecentErrorView {
        let (part, resource, write) = match it.part {
            ErrorSource::Pull(resource) => ("pull", Some(resource), None),
            ErrorSource::Write(id, work) => ("write", Some(subject(work).0), Some(public_id(location.0, id.0))),
            ErrorSource::Adapter => ("adapter", None, None),
            ErrorSource::Gate => ("gate", None, None),
            ErrorSource::Location => ("location", None, None),
        };
        RecentErrorView {
            at: At(it.at),
            first_at: At(it.first),
            times: it.times,
            part,
            resource: resource.map(name),
            write_request_id: write,
            reason: it.reason,
            request_id: it.request,
        }
    }
}

/// Returns the errors, latest first.
pub fn recent_errors(engine: &Engine, location: LocationId) -> Vec<RecentErrorView> {
    engine.recent_errors(location).into_iter().map(|it| RecentErrorView::new(location, it)).collect()
}

pub async fn list(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<Listed<RecentErrorView>> {
    Ok(call.list(&recent_errors(&call.api.engine, location.setup.id)))
}
