//! GET /me: the caller's key, its grants, locations and limits (our addition).

use engine::setup::{Environment, Institution};
use framework::{
    http::{
        rate_limit::PATIENCE,
        rules::{HttpRules, RateRules},
    },
    values::grant::Grant,
};

use crate::{prelude::*, resources::practice::locations::is_visible};

/// The calling API key: its permissions, scope and limits.
#[derive(Serialize, JsonSchema)]
pub struct CallerView<'a> {
    /// Id of the API key. It is not a secret. A key that replaces another one under the same name has a different id.
    key_id: String,
    /// Name of the API key, chosen by the operator.
    key_name: &'a str,
    /// The organisation that owns the webhook endpoints created with this key.
    organisation: &'a str,
    /// The environment of the key. The key can access only institutions of this environment.
    environment: Word<Environment>,
    /// The API version of this request, without aliases: `v3.0.0`.
    api_version: &'static str,
    /// Additional permissions of the key.
    grants: Vec<Word<Grant>>,
    /// The institutions that the key can access, ordered by id.
    institutions: Vec<ReachedInstitution<'a>>,
    /// The limits in force for this key.
    limits: CallerLimits<'a>,
}

/// An institution that the caller can access.
#[view(value = Institution, named = "institution", args(locations: Vec<ReachedLocation<'a>>))]
struct ReachedInstitution<'a> {
    id: u32,
    subdomain: &'a str,
    name: &'a str,
    /// Locations of the institution, ordered by id.
    #[view(with = locations)]
    locations: Vec<ReachedLocation<'a>>,
}

/// A location that the caller can access.
#[view(value = LocationSetup, named = "location")]
struct ReachedLocation<'a> {
    /// Id of the location: the value of the query parameter `location_id`.
    id: u32,
    name: &'a str,
    /// IANA name of the location's time zone, as configured.
    #[view(with = entry.zone.name())]
    time_zone: &'a str,
    /// `true` if the location is closed. Calls for a closed location are refused with 404.
    #[view(with = entry.status == LocationStatus::Closed)]
    inactive: bool,
}

/// The limits of an API key, over all its locations.
#[derive(Serialize, JsonSchema)]
struct CallerLimits<'a> {
    /// Maximum number of calls per second; null if there is no such limit.
    calls_per_second: Option<u32>,
    /// Maximum number of calls per minute; null if there is no such limit.
    calls_per_minute: Option<u32>,
    /// Lower limits of single endpoints, in calls per second, by endpoint, such as `GET /appointments`.
    endpoint_calls_per_second: BTreeMap<&'a str, u32>,
    /// Maximum number of seconds that a call over a per-second limit waits before it is refused with 429.
    max_wait_seconds: u64,
    /// Maximum size of a request body in bytes.
    max_body_bytes: usize,
    /// Lifetime of a new bearer token of this key, in seconds.
    token_lifetime_seconds: i64,
}

pub async fn show(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<CallerView<'static>>> {
    let tenants = call.tenants();
    let mut institutions: Vec<_> = tenants.iter().map(|tenant| institution(&call, tenant)).collect();
    institutions.sort_by_key(|it| it.id);
    let edge = call.api.edge();
    Ok(call.show(CallerView {
        key_id: call.key.id(),
        key_name: &call.key.name,
        organisation: &call.key.organisation,
        environment: Word(call.key.environment),
        api_version: call.version.name(),
        grants: call.key.grants.listed().map(Word).collect(),
        institutions,
        limits: CallerLimits::new(&edge.rules, call.api.token_lifetime(call.key.environment)),
    }))
}

fn institution<'a>(call: &'a ApiCall, tenant: &'a Tenant) -> ReachedInstitution<'a> {
    let own = call.directory.locations_of(tenant.institution.id).iter().filter(|location| is_visible(call, location));
    let locations = own.map(|location| ReachedLocation::from_value(location)).collect();
    ReachedInstitution::from_value(&tenant.institution, locations)
}

impl<'a> CallerLimits<'a> {
    fn new(rules: &'a HttpRules, token_lifetime: Millis) -> CallerLimits<'a> {
        let RateRules { per_second, per_minute, endpoints } = &rules.rate_limits;
        let limited = |calls: u32| (calls > 0).then_some(calls);
        CallerLimits {
            calls_per_second: limited(*per_second),
            calls_per_minute: limited(*per_minute),
            endpoint_calls_per_second: endpoints
                .iter()
                .filter_map(|(endpoint, calls)| Some((endpoint.as_str(), limited(*calls)?)))
                .collect(),
            max_wait_seconds: PATIENCE.as_secs(),
            max_body_bytes: rules.max_body,
            token_lifetime_seconds: token_lifetime / SECOND,
        }
    }
}
