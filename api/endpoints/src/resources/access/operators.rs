//! GET /operator and /operators: the operators of the service (our addition).

use engine::setup::LocationStatus;

use framework::{access::operators::Operator, values::role::Role};

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
#[derive(Serialize, JsonSchema)]
struct OperatedInstitution<'a> {
    /// Id of the institution.
    #[schemars(with = "u32")]
    id: InstitutionId,
    /// Subdomain of the institution: the value of the query parameter `subdomain`.
    subdomain: &'a str,
    /// Name of the institution.
    name: &'a str,
    /// Locations of the institution, ordered by id, including locations that do not accept calls.
    locations: Vec<OperatedLocation<'a>>,
}

/// A location of the server.
#[derive(Serialize, JsonSchema)]
struct OperatedLocation<'a> {
    /// Id of the location.
    #[schemars(with = "u32")]
    id: LocationId,
    /// Name of the location.
    name: &'a str,
    /// IANA name of the location's time zone, as configured.
    time_zone: &'a str,
    /// Status of the location.
    status: Word<LocationStatus>,
}

impl<'a> OperatedInstitution<'a> {
    fn new(call: &'a ApiCall, tenant: &'a Tenant) -> OperatedInstitution<'a> {
        let location = |it: &'a LocationSetup| OperatedLocation {
            id: it.id,
            name: &it.name,
            time_zone: it.zone.name(),
            status: Word(it.status),
        };
        OperatedInstitution {
            id: tenant.institution.id,
            subdomain: &tenant.institution.subdomain,
            name: &tenant.institution.name,
            locations: call.directory.locations_of(tenant.institution.id).iter().map(|it| location(it)).collect(),
        }
    }
}

/// An operator's token.
#[derive(Serialize, JsonSchema)]
pub struct OperatorView {
    /// Id of the token. It is not a secret. A token that replaces another one under the same name has a different id.
    token_id: String,
    /// Name of the token in the configuration.
    name: String,
    /// The role of the token.
    role: Word<Role>,
    /// Time at which the token was last accepted; null if never. A time before the start of this server is accurate to
    /// the minute.
    last_used_at: Option<At>,
}

impl OperatorView {
    fn from_operator(operator: &Operator) -> OperatorView {
        OperatorView {
            token_id: operator.id(),
            name: operator.name.clone(),
            role: Word(operator.role),
            last_used_at: operator.last_used().map(At),
        }
    }
}

pub async fn show(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<One<CallingOperatorView<'static>>> {
    let tenants = call.tenants();
    let mut institutions: Vec<_> = tenants.iter().map(|tenant| OperatedInstitution::new(&call, tenant)).collect();
    institutions.sort_by_key(|it| it.id);
    let role = Word(call.key.role.unwrap_or(Role::Viewer));
    Ok(call.show(CallingOperatorView { name: &call.key.name, role, institutions }))
}

pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<Listed<OperatorView>> {
    let operators = call.api.operators();
    let mut all: Vec<OperatorView> = operators.all().map(|operator| OperatorView::from_operator(operator)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(call.list(&all))
}
