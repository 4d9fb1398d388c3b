//! A request on its way to a handler: version, token, grants, limits, subdomain and location are checked here and nowhere else.

use std::{future::Future, pin::Pin, sync::Arc};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{AUTHORIZATION, HeaderMap},
    web::Data,
};
use engine::setup::{Institution, LocationSetup, LocationStatus};
use location::ids::LocationId;

use crate::{
    app::Api,
    body::{self, BodyRules, Fields},
    cursor::Bound,
    errors::ApiError,
    keys::ApiKey,
    pages::{self, Paging},
    query::{self, Params, Parsed, text},
    versions::Version,
};

/// An authenticated request.
pub struct Call {
    pub api: Data<Api>,
    pub key: Arc<ApiKey>,
    pub version: Version,
    input: Input,
    path_id: Option<String>,
    warning: Option<String>,
}

/// What the client sent, to be read by name.
pub struct Input {
    pub query: Params,
    pub body: Fields,
    version: Version,
    cursors: Bound,
}

/// An institution the caller may reach.
#[derive(Clone)]
pub struct Tenant {
    pub institution: Arc<Institution>,
}

/// A location the caller may reach.
#[derive(Clone)]
pub struct Place {
    pub institution: Arc<Institution>,
    pub location: Arc<LocationSetup>,
}

impl FromRequest for Call {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Call, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let (api, version) = versioned(&request)?;
            let key = bearer(&api, request.headers())?;
            if version == Version::V3_1_0 && !key.grants.beta {
                return Err(ApiError::Forbidden);
            }
            within_limits(&api, &key, &request)?;
            let rules = BodyRules { max_bytes: api.rules.max_body, timeout: api.rules.body_timeout };
            let body = Fields::new(body::read(request.headers(), payload, rules).await?);
            let query = Params::parse(request.query_string());
            let cursors = api.cursors.bound_to(request.path(), query.pairs_except(&pages::PARAMETERS));
            let path_id = request.match_info().get("id").map(str::to_owned);
            let input = Input { query, body, version, cursors };
            Ok(Call { api, key, version, input, path_id, warning: None })
        })
    }
}

/// The checks every route of the API has in common, also the one that needs no token.
pub fn versioned(request: &HttpRequest) -> Result<(Data<Api>, Version), ApiError> {
    let api = request.app_data::<Data<Api>>().cloned().ok_or(ApiError::Internal)?;
    let version = Version::of(request.headers())?;
    let route = request.match_pattern().unwrap_or_default();
    if version.has(&route) { Ok((api, version)) } else { Err(ApiError::NoSuchRoute) }
}

pub fn within_limits(api: &Api, key: &ApiKey, request: &HttpRequest) -> Result<(), ApiError> {
    let endpoint = format!("{} {}", request.method(), request.match_pattern().unwrap_or_default());
    api.limits.check(&key.hash, &endpoint)
}

/// The raw text of the Authorization header.
pub fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let one = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(one)
}

fn bearer(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let token = authorization(headers).and_then(|text| text.strip_prefix("Bearer ")).ok_or(ApiError::Token)?;
    let claims = api.tokens.verify(token.trim(), api.engine.now()).ok_or(ApiError::Token)?;
    api.keys().by_id(&claims.sub).cloned().ok_or(ApiError::Token)
}

impl Call {
    /// For endpoints without institution: reads parameters and fields, and answers all problems at once.
    pub fn anywhere<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<T, ApiError> {
        let value = read(&mut self.input);
        self.finish(value)
    }

    /// For endpoints of an institution, named by `subdomain`.
    pub fn in_tenant<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Tenant, T), ApiError> {
        let tenant = self.tenant()?;
        let value = read(&mut self.input);
        self.finish(tenant.zip(value))
    }

    /// For endpoints of a location, named by `subdomain` and `location_id`.
    pub fn in_place<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Place, T), ApiError> {
        let tenant = self.tenant()?;
        let id = self.input.query.required("location_id", query::id);
        let place = match (&tenant, id) {
            (Some(tenant), Some(id)) => Some(self.place(tenant, LocationId(id))?),
            _ => None,
        };
        let value = read(&mut self.input);
        self.finish(place.zip(value))
    }

    /// For endpoints where `location_id` narrows: one location, or all of the institution the caller may reach.
    pub fn in_places<T>(
        &mut self,
        read: impl FnOnce(&mut Input) -> Option<T>,
    ) -> Result<(Tenant, Option<Place>, T), ApiError> {
        let tenant = self.tenant()?;
        let place = match (&tenant, self.input.query.optional("location_id", query::id)) {
            (Some(tenant), Some(id)) => Some(self.place(tenant, LocationId(id))?),
            _ => None,
        };
        let value = read(&mut self.input);
        let (tenant, value) = self.finish(tenant.zip(value))?;
        Ok((tenant, place, value))
    }

    /// The id in the path.
    pub fn path_id<T>(&self, kind: impl Fn(&str) -> Parsed<T>) -> Result<T, ApiError> {
        let given = self.path_id.as_deref().unwrap_or_default();
        kind(given).map_err(|problem| ApiError::bad(format!("id {problem}.")))
    }

    /// A location of the institution that is open to the caller (specification 5.9 and 7.3).
    pub fn place(&self, tenant: &Tenant, id: LocationId) -> Result<Place, ApiError> {
        let place = self.api.engine.setup().locations.get(&id);
        let here = place.filter(|place| place.institution == tenant.institution.id && self.key.reaches(id));
        let location = here.ok_or_else(|| ApiError::location_not_found(id))?.clone();
        match location.status {
            LocationStatus::Active => Ok(Place { institution: tenant.institution.clone(), location }),
            LocationStatus::Pending => Err(ApiError::Forbidden),
            LocationStatus::Closed => Err(ApiError::location_not_found(id)),
        }
    }

    /// All locations of the institution that are open to the caller.
    pub fn open_places(&self, tenant: &Tenant) -> Vec<Place> {
        let all = self.api.directory.locations(tenant.institution.id).iter();
        let open = all.filter(|place| place.status == LocationStatus::Active && self.key.reaches(place.id));
        open.map(|location| Place { institution: tenant.institution.clone(), location: location.clone() }).collect()
    }

    /// All institutions of the key.
    pub fn tenants(&self) -> Vec<Tenant> {
        let known = self.key.institutions.iter().filter_map(|id| self.api.engine.setup().institutions.get(id));
        let own = known.filter(|institution| institution.environment == self.key.environment);
        own.map(|institution| Tenant { institution: institution.clone() }).collect()
    }

    /// The institution `subdomain` names, where it is given.
    pub fn optional_tenant(&mut self) -> Result<Option<Tenant>, ApiError> {
        let subdomain = self.input.query.optional("subdomain", text(crate::bounds::MAX_TEXT));
        subdomain.map(|subdomain| self.tenant_named(&subdomain)).transpose()
    }

    /// None is among the problems.
    fn tenant(&mut self) -> Result<Option<Tenant>, ApiError> {
        let subdomain = self.input.query.required("subdomain", text(crate::bounds::MAX_TEXT));
        subdomain.map(|subdomain| self.tenant_named(&subdomain)).transpose()
    }

    /// One answer for all that is not the caller's, so that it tells nothing about others.
    fn tenant_named(&self, subdomain: &str) -> Result<Tenant, ApiError> {
        let found = self.api.directory.institution(subdomain);
        let own = found.filter(|it| self.key.institutions.contains(&it.id) && it.environment == self.key.environment);
        own.map(|institution| Tenant { institution: institution.clone() }).ok_or(ApiError::Forbidden)
    }

    fn finish<T>(&mut self, value: Option<T>) -> Result<T, ApiError> {
        let mut problems = self.input.query.take_problems();
        problems.extend(self.input.body.take_problems());
        self.warning = self.input.query.ignored();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            None if problems.is_empty() => Err(ApiError::Internal),
            _ => Err(ApiError::BadRequest(problems)),
        }
    }

    /// Records that patient data left the house: who was shown which record, and nothing of what is in it.
    pub fn audit(&self, what: &'static str, record: &'static str, id: u64) {
        tracing::info!(target: "audit", key = %self.key.name, what, record, id);
    }

    /// The warning of a successful answer.
    pub fn description(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    pub fn warn(&mut self, text: &str) {
        self.warning = Some(match self.warning.take() {
            Some(before) => format!("{text} {before}"),
            None => text.to_owned(),
        });
    }
}

impl Input {
    pub fn paging(&mut self) -> Paging {
        Paging::read(&mut self.query, self.version, self.cursors.clone())
    }

    /// For lists that are alike in all versions.
    pub fn paging_by_cursor(&mut self) -> Paging {
        Paging::read(&mut self.query, Version::V3_0_0, self.cursors.clone())
    }
}
