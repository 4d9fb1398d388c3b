//! Institutions and locations that a call may reach, and those that it names: the scopes of endpoints.

use std::sync::Arc;

use engine::{
    Engine,
    records::{Body, Record},
    setup::{Institution, LocationSetup, LocationStatus},
};
use location::LocationId;

use super::{
    access_log::AccessScope,
    arguments::{FromCall, FromPath, Id},
    call::{ApiCall, FromInput},
};
use crate::{
    http::errors::ApiError,
    values::{
        failures::Failure,
        kinds::{
            reference::Reference,
            shared::{location, subdomain},
        },
        times,
    },
};

/// Institution within the caller's reach.
#[derive(Clone)]
pub struct Tenant {
    pub institution: Arc<Institution>,
}

/// Location within the caller's reach: an active one, or any one for an operator.
#[derive(Clone)]
pub struct OpenLocation {
    pub institution: Arc<Institution>,
    pub setup: Arc<LocationSetup>,
}

impl OpenLocation {
    pub fn tenant(&self) -> Tenant {
        Tenant { institution: self.institution.clone() }
    }

    /// Returns the data source that owns the location's shared records; none without an EHR.
    pub fn sources(&self) -> Vec<u32> {
        self.setup.source.into_iter().collect()
    }
}

/// Location named by `subdomain` and `location_id`.
pub struct AtLocation<T>(pub OpenLocation, pub T);

/// Location named by `subdomain` and `location_id`, which the body may contain instead of the query.
pub struct AtLocationOfBody<T>(pub OpenLocation, pub T);

/// Institution named by `subdomain`.
pub struct InTenant<T>(pub Tenant, pub T);

/// Institution with an optional `location_id`. A call without `subdomain` in the query is refused (specification 5.7).
pub struct InLocationsOfQuery<T>(pub Tenant, pub Option<OpenLocation>, pub T);

/// Institution with an optional `location_id`.
pub struct InLocations<T>(pub Tenant, pub Option<OpenLocation>, pub T);

/// Institution named by `subdomain`, or all institutions of the key.
pub struct InTenants<T>(pub Vec<Tenant>, pub T);

/// Location with the `{id}` of the path; `subdomain` is optional.
pub struct OfLocation<T>(pub OpenLocation, pub T);

impl<T: FromInput> FromCall for AtLocation<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let tenant = call.tenant()?;
        let id = call.input.query.required_or_none("location_id", location());
        let location = call.named_location(tenant.as_ref(), id)?;
        let input = call.read_input()?;
        Ok(AtLocation(location.ok_or_else(ApiError::internal)?, input))
    }
}

impl<T: FromInput> FromCall for AtLocationOfBody<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let tenant = call.tenant()?;
        let in_query = call.input.query.optional("location_id", location());
        let in_body = call.input.body.optional("location_id", location());
        match (in_query, in_body) {
            // An invalid value was reported already.
            (None, None) if call.input.query.is_absent("location_id") && call.input.body.is_absent("location_id") => {
                call.input.query.problem("location_id is missing.");
            }
            (Some(query), Some(body)) if query != body => {
                call.input.query.problem("location_id names one location in the query and another in the body.");
            }
            _ => {}
        }
        let location = call.named_location(tenant.as_ref(), in_query.or(in_body))?;
        let input = call.read_input()?;
        Ok(AtLocationOfBody(location.ok_or_else(ApiError::internal)?, input))
    }
}

impl<T: FromInput> FromCall for InTenant<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let tenant = call.tenant()?;
        call.times_of(tenant.as_ref());
        let input = call.read_input()?;
        Ok(InTenant(tenant.ok_or_else(ApiError::internal)?, input))
    }
}

impl<T: FromInput> FromCall for InLocationsOfQuery<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let tenant = call.tenant()?;
        if tenant.is_none() && call.notes.is_none() {
            return Err(Failure::SubdomainMissing.into());
        }
        let InLocations(tenant, location, input) = call.in_locations(tenant)?;
        Ok(InLocationsOfQuery(tenant, location, input))
    }
}

impl<T: FromInput> FromCall for InLocations<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let tenant = call.tenant()?;
        call.in_locations(tenant)
    }
}

impl<T: FromInput> FromCall for InTenants<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let named = call.input.query.optional("subdomain", subdomain());
        let named = call.tenant_named(named)?;
        let input = call.read_input()?;
        Ok(InTenants(named.map_or_else(|| call.tenants(), |tenant| vec![tenant]), input))
    }
}

impl<T: FromInput> FromCall for OfLocation<T> {
    fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
        let Id(id) = Id::<u32>::from_path(call)?;
        let InTenants(tenants, input) = InTenants::from_call(call)?;
        Ok(OfLocation(call.location_of_any(&tenants, LocationId(id))?, input))
    }
}

macro_rules! scopes_without_input {
    ($($bare:ty: $scope:ident($part:ident);)*) => {$(
        impl FromCall for $bare {
            fn from_call(call: &mut ApiCall) -> Result<Self, ApiError> {
                $scope::<()>::from_call(call).map(|$scope($part, ())| $part)
            }
        }
    )*};
}

scopes_without_input! {
    OpenLocation: AtLocation(location);
    Tenant: InTenant(tenant);
    Vec<Tenant>: InTenants(tenants);
}

impl ApiCall {
    /// Reads the input. Errors also name the nonexistent records that the body references.
    fn read_input<T: FromInput>(&mut self) -> Result<T, ApiError> {
        self.anywhere(T::from_input).map_err(|wrong| self.with_unknown(wrong, T::unknown))
    }

    /// Reads an optional `location_id` and the input.
    fn in_locations<T: FromInput>(&mut self, tenant: Option<Tenant>) -> Result<InLocations<T>, ApiError> {
        let id = self.input.query.optional("location_id", location());
        let location = self.named_location(tenant.as_ref(), id)?;
        self.times_of(tenant.as_ref());
        let input = self.read_input()?;
        Ok(InLocations(tenant.ok_or_else(ApiError::internal)?, location, input))
    }

    /// Returns a location of the institution that is open to the caller (specification 5.9 and 7.3).
    pub fn location(&self, tenant: &Tenant, id: LocationId) -> Result<OpenLocation, ApiError> {
        let known = self.directory.location(id);
        let here = known.filter(|it| it.institution == tenant.institution.id && self.key.reaches(id));
        let setup = here.ok_or_else(|| self.no_location(id))?.clone();
        // Operators reach inactive locations, whose writes are still sent.
        match setup.status {
            LocationStatus::Pending if self.key.role.is_none() => Err(Failure::LocationPending.into()),
            LocationStatus::Closed if self.key.role.is_none() => Err(ApiError::location_not_found(id)),
            _ => Ok(OpenLocation { institution: tenant.institution.clone(), setup }),
        }
    }

    /// Returns the location that the query names. Its time zone determines the date of today from then on.
    fn named_location(&mut self, tenant: Option<&Tenant>, id: Option<u32>) -> Result<Option<OpenLocation>, ApiError> {
        let Some((tenant, id)) = tenant.zip(id) else { return Ok(None) };
        let location = self.location(tenant, LocationId(id))?;
        self.shown.set_scope(tenant.institution.id, Some(location.setup.id));
        self.input.today = times::local(self.input.now, location.setup.zone).0;
        if !self.input.clock.has_zone() {
            self.input.clock.set(location.setup.zone);
        }
        Ok(Some(location))
    }

    /// Interprets times without an offset in the zone of the location that `named` returns, whatever the query names.
    pub fn times_at(&mut self, named: impl FnOnce(&Engine) -> Option<LocationId>) {
        if self.notes.is_none()
            && let Some(location) = named(&self.api.engine).and_then(|id| self.directory.location(id))
            && self.key.institutions.contains(&location.institution)
            && self.opens(location)
        {
            self.input.clock.set(location.zone);
            self.shown.set_scope(location.institution, Some(location.id));
        }
    }

    /// Adds an error for each record that the body references and that does not exist, so that one response reports all
    /// problems.
    pub fn with_unknown(&self, wrong: ApiError, unknown: fn(Reference, Option<LocationId>) -> ApiError) -> ApiError {
        let AccessScope { institution: Some(institution), location } = self.shown.scope() else { return wrong };
        let mut problems = vec![wrong];
        for named in &self.input.body.references {
            let problem = unknown(*named, location);
            let reported = problems.iter().any(|known| known.messages().contains(&problem.to_string()));
            let found = self.api.engine.may_name(institution, location, named.resource, named.id);
            problems.extend((found == Ok(false) && !reported).then_some(problem));
        }
        if problems.len() > 1 { ApiError::all(problems) } else { problems.remove(0) }
    }

    /// Sets the time zone that the institution's open locations share, unless a zone is set already.
    fn times_of(&mut self, tenant: Option<&Tenant>) {
        let Some(tenant) = tenant.filter(|_| !self.input.clock.has_zone()) else { return };
        let locations = self.directory.locations_of(tenant.institution.id).iter();
        let mut zones = locations.filter(|location| self.opens(location)).map(|location| location.zone);
        if let Some(zone) = zones.next().filter(|zone| zones.all(|other| other == *zone)) {
            self.input.clock.set(zone);
        }
    }

    /// Like `location`, but searches all given institutions.
    pub fn location_of_any(&self, tenants: &[Tenant], id: LocationId) -> Result<OpenLocation, ApiError> {
        let institution = self.directory.location(id).map(|location| location.institution);
        let tenant = tenants.iter().find(|tenant| Some(tenant.institution.id) == institution);
        let tenant = tenant.ok_or_else(|| self.no_location(id))?;
        self.shown.set_scope(tenant.institution.id, Some(id));
        self.location(tenant, id)
    }

    /// Returns all locations of the institution that are open to the caller.
    pub fn open_locations(&self, tenant: &Tenant) -> Vec<OpenLocation> {
        let all = self.directory.locations_of(tenant.institution.id).iter();
        let open = all.filter(|setup| self.opens(setup));
        open.map(|setup| OpenLocation { institution: tenant.institution.clone(), setup: setup.clone() }).collect()
    }

    /// Returns `true` if records of the location are visible to the caller.
    pub fn is_open(&self, id: LocationId) -> bool {
        self.directory.location(id).is_some_and(|location| self.opens(location))
    }

    /// Returns `true` if the record came from the EHR or was created at a location that is open to the caller.
    pub fn is_visible<T: Body>(&self, entry: &Record<T>) -> bool {
        entry.location_id.is_none_or(|id| self.is_open(LocationId(id)))
    }

    /// Returns the data sources of the institution's open locations.
    pub fn sources(&self, tenant: &Tenant) -> Vec<u32> {
        let mut sources: Vec<u32> =
            self.open_locations(tenant).iter().filter_map(|location| location.setup.source).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Returns the data sources of one location, or of all that are open to the caller.
    pub fn sources_at(&self, tenant: &Tenant, location: Option<&OpenLocation>) -> Vec<u32> {
        location.map_or_else(|| self.sources(tenant), OpenLocation::sources)
    }

    fn opens(&self, location: &LocationSetup) -> bool {
        location.status == LocationStatus::Active && self.key.reaches(location.id)
    }

    pub fn tenants(&self) -> Vec<Tenant> {
        let own = self.directory.institutions().filter(|institution| self.key.reaches_institution(institution));
        own.map(|institution| Tenant { institution: institution.clone() }).collect()
    }

    /// Returns `None` if `subdomain` is invalid; the problem is recorded.
    fn tenant(&mut self) -> Result<Option<Tenant>, ApiError> {
        let subdomain = self.input.query.required_or_none("subdomain", subdomain());
        self.tenant_named(subdomain)
    }

    /// Returns the same error for an unknown institution and for another customer's, which hides the existence of the
    /// latter.
    fn tenant_named(&self, subdomain: Option<String>) -> Result<Option<Tenant>, ApiError> {
        let Some(subdomain) = subdomain.filter(|_| self.notes.is_none()) else { return Ok(None) };
        let found = self.directory.institution_named(&subdomain);
        let own = found.filter(|it| self.key.reaches_institution(it));
        own.iter().for_each(|institution| self.shown.set_scope(institution.id, None));
        let own = own.map(|institution| Some(Tenant { institution: institution.clone() }));
        own.ok_or_else(|| {
            let missing = Failure::SubdomainOutOfReach.into();
            if found.is_some() { missing } else { self.missing_or_unavailable(missing) }
        })
    }

    /// Returns the error for a location that the caller cannot reach.
    pub fn no_location(&self, id: LocationId) -> ApiError {
        let missing = ApiError::location_not_found(id);
        if self.directory.location(id).is_some() { missing } else { self.missing_or_unavailable(missing) }
    }

    /// Returns "unavailable" while nodes have different configurations, because another node may know the location.
    fn missing_or_unavailable(&self, missing: ApiError) -> ApiError {
        match self.api.engine.nodes_configured_differently().is_empty() {
            true => missing,
            false => ApiError::unavailable(1),
        }
    }
}
