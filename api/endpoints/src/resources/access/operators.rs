//! GET /operator and /operators: the operators of the service (our addition).

use engine::setup::Institution;

use framework::access::operators::Operator;

use crate::prelude::*;

/// The operator who owns the token of the call.
#[derive(Serialize, JsonSchema)]
pub struct CallingOperatorView<'a> {
    /// Name of the token in the configuration.
    name: &'a str,
    /// The role of the token.
    role: Word<Role>,
    /// All institutions, ordered by id.
    institutions: Vec<OperatedInstitution<'a>>,
}

/// An institution of the server.
#[view(value = Institution, named = "institution", args(locations: Vec<OperatedLocation<'a>>))]
struct OperatedInstitution<'a> {
    id: u32,
    subdomain: &'a str,
    name: &'a str,
    /// Locations of the institution, ordered by id, including locations that do not accept calls.
    #[view(with = locations)]
    locations: Vec<OperatedLocation<'a>>,
}

/// A location of the server.
#[view(value = LocationSetup, named = "location")]
struct OperatedLocation<'a> {
    id: u32,
    name: &'a str,
    /// IANA name of the location's time zone, as configured.
    #[view(with = entry.zone.name())]
    time_zone: &'a str,
    /// Status of the location.
    status: Word<LocationStatus>,
}

fn institution<'a>(call: &'a ApiCall, tenant: &'a Tenant) -> OperatedInstitution<'a> {
    let locations = call.directory.locations_of(tenant.institution.id).iter();
    let locations = locations.map(|location| OperatedLocation::from_value(location)).collect();
    OperatedInstitution::from_value(&tenant.institution, locations)
}

/// An operator's token.
#[view(value = Operator)]
pub struct OperatorView {
    /// Id of the token. It is not a secret. A token that replaces another one under the same name has a different id.
    #[view(with = entry.id())]
    token_id: String,
    /// Name of the token in the configuration.
    name: String,
    /// The role of the token.
    role: Word<Role>,
    /// Time at which the token was last accepted; null if never. A time before the start of this server is accurate to
    /// the minute.
    #[view(with = entry.last_used().map(At))]
    last_used_at: Option<At>,
}

pub async fn show(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<CallingOperatorView<'static>>> {
    let tenants = call.tenants();
    let mut institutions: Vec<_> = tenants.iter().map(|tenant| institution(&call, tenant)).collect();
    institutions.sort_by_key(|it| it.id);
    let role = Word(call.key.role.unwrap_or(Role::Viewer));
    Ok(call.show(CallingOperatorView { name: &call.key.name, role, institutions }))
}

pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<Listed<OperatorView>> {
    let operators = call.api.operators();
    let mut all: Vec<OperatorView> = operators.all().map(|operator| OperatorView::from_value(operator)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(call.list(&all))
}
