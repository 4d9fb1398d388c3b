//! A request on its way to a handler: version, token, grants, limits, subdomain and location are checked here and nowhere else.

use std::{net::IpAddr, ops::Deref, rc::Rc, sync::Arc};

use actix_web::{
    HttpMessage, HttpRequest,
    dev::Payload,
    http::header::{AUTHORIZATION, HeaderMap},
    web::Data,
};
use chrono_tz::Tz;
use engine::{
    Engine,
    once::Once,
    setup::{Environment, Institution, LocationSetup, LocationStatus},
};
use location::{ids::LocationId, time::Timestamp, zone::Date};

use crate::{
    access::{
        api::Api,
        audit::Trail,
        directory::Places,
        idempotency,
        keys::{ApiKey, Grants},
    },
    http::{
        body::{self, BodyRules, Fields},
        describe::{Expected, Notes},
        errors::ApiError,
        notices::Noted,
        paging::{self, Paging},
        query::Params,
    },
    routes::route::{Access, Route},
    server::guard::About,
    values::{
        cursor::{Bound, Cursors},
        kinds::{Clock, Kind, id, text},
        limits::MAX_TEXT,
        reasons::Reason,
        secret::Secret,
        times,
        token::{TokenFault, looks_like_a_token},
        versions::Version,
    },
};

/// An authenticated request.
pub struct Call {
    pub api: Shared,
    pub key: Arc<ApiKey>,
    pub version: Version,
    pub route: &'static Route,
    input: Input,
    /// Names and values of the path.
    path: Vec<(String, String)>,
    once: Option<Once>,
    /// As they were when the call came.
    pub places: Arc<Places>,
    /// Whose call it is, behind the proxies that are trusted.
    pub client: Option<IpAddr>,
    /// Of the rights it was received under, see `Kept`.
    pub generation: u64,
    /// What it was shown.
    pub trail: Trail,
    warning: Option<String>,
    /// For whoever answers, also where the handler fails.
    pub noted: Noted,
    /// Instead of all the rest, when the call only describes its route.
    notes: Option<Notes>,
}

/// What every request may use. A describing call has none of it, and ends its handler before that matters.
pub struct Shared(Option<Data<Api>>);

impl Deref for Shared {
    type Target = Api;

    fn deref(&self) -> &Api {
        self.0
            .as_ref()
            .expect("a handler reads its input before it uses the engine; describing every route in a test shows it")
    }
}

/// What the client sent, to be read by name.
pub struct Input {
    pub query: Params,
    pub body: Fields,
    pub now: Timestamp,
    /// Of the location that is named. Where none is, the latest date there is anywhere.
    pub today: Date,
    /// Of the location that is named; where none is, of all locations of the institution, if theirs are alike.
    pub clock: Clock,
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

impl Call {
    /// Whoever calls, whatever for: the checks all routes have in common.
    pub async fn receive(
        route: &'static Route,
        version: Version,
        request: &HttpRequest,
        payload: Payload,
    ) -> Result<Call, ApiError> {
        let api = request.app_data::<Data<Api>>().cloned().ok_or(ApiError::Internal)?;
        let generation = api.kept.generation();
        let client = api.client(request);
        let key = match route.access {
            Access::ApiKey => presented(&api, request.headers()).map_err(|why| ("API key", why)),
            Access::Token | Access::Anyone => bearer(&api, request.headers()).map_err(|why| ("bearer token", why)),
            Access::Code => Ok(Arc::new(nobody())),
        };
        let key = key.map_err(|(what, why)| api.strangers.refused(client, what, why))?;
        if let Some(grant) = lacking(route, version, key.grants)
            && route.access == Access::Token
        {
            return Err(ApiError::grant_missing(grant));
        }
        // Codes that are guessed have a limit of their own.
        if route.access != Access::Code {
            let checked = api.limits.admit(&key.hash, &route.endpoint()).await;
            if let Some(about) = request.extensions().get::<Rc<About>>() {
                about.standing.set(checked.as_ref().map_or_else(|exceeded| Some(exceeded.standing), |it| *it));
            }
            checked?;
        }
        let body = match route.access {
            Access::Token if route.body_unread => Fields::default(),
            Access::Token | Access::Code => {
                let rules = BodyRules { max_bytes: api.rules.max_body, timeout: api.rules.body_timeout };
                Fields::new(body::read(request.headers(), payload, rules).await?)
            }
            Access::ApiKey | Access::Anyone => Fields::default(),
        };
        let query = Params::parse(request.query_string()).map_err(ApiError::bad)?;
        let once = if route.takes_key() { idempotency::read(&key, request, &query, body.whole())? } else { None };
        let cursors = api.cursors.bound_to(request.path(), query.pairs_except(&paging::PARAMETERS));
        let path = request.match_info().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let now = api.engine.now();
        let input =
            Input { query, body, now, today: times::local(now, EARLIEST).0, clock: Clock::default(), version, cursors };
        let places = api.directory.places();
        Ok(Call {
            api: Shared(Some(api)),
            key,
            version,
            route,
            input,
            path,
            once,
            places,
            client,
            generation,
            trail: Trail::default(),
            warning: None,
            noted: Noted::default(),
            notes: None,
        })
    }

    /// For `describe`.
    pub fn describing(route: &'static Route, version: Version, notes: Notes) -> Call {
        let cursors = Cursors::new(&Secret::from_bytes([0; 32])).bound_to(route.path, Vec::new());
        let (query, body) = (Params::describing(), Fields::describing());
        Call {
            api: Shared(None),
            key: Arc::new(nobody()),
            version,
            route,
            // Late enough for every example.
            input: Input {
                query,
                body,
                now: Timestamp(4_102_444_800_000),
                today: Date::MAX,
                clock: Clock::default(),
                version,
                cursors,
            },
            path: Vec::new(),
            once: None,
            places: Arc::default(),
            client: None,
            generation: 0,
            trail: Trail::default(),
            warning: None,
            noted: Noted::default(),
            notes: Some(notes),
        }
    }
}

/// Where the date changes first.
const EARLIEST: Tz = Tz::Pacific__Kiritimati;

/// The key of calls without one: it reaches nothing.
fn nobody() -> ApiKey {
    ApiKey {
        name: String::new(),
        hash: [0; 32],
        environment: Environment::Sandbox,
        institutions: Vec::new(),
        locations: Some(Vec::new()),
        grants: Grants::default(),
        organisation: String::new(),
    }
}

/// The raw text of the Authorization header.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let one = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(one)
}

fn presented(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let key = authorization(headers).ok_or(ApiError::Credentials)?;
    api.keys().presented(key).cloned().ok_or(ApiError::Credentials)
}

/// The scheme is written in any case (RFC 9110, 11.1).
fn bearer_of(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token)
}

fn bearer(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let no = |reason| ApiError::Token.because(reason);
    let given = authorization(headers).map(str::trim).ok_or(no(Reason::TokenMissing))?;
    let token = bearer_of(given).map(str::trim);
    let token = token.filter(|token| looks_like_a_token(token)).ok_or_else(|| no(not_a_token(given)))?;
    let claims = api.tokens.verify(token, api.engine.now()).map_err(|fault| match fault {
        TokenFault::Expired => no(Reason::TokenExpired),
        TokenFault::Invalid => no(Reason::TokenInvalid),
    })?;
    api.keys().by_id(&claims.sub).cloned().ok_or(no(Reason::KeyRevoked))
}

/// Judged by its form alone: whether it is a key of ours is not told here.
fn not_a_token(given: &str) -> Reason {
    let bare = bearer_of(given).unwrap_or(given).trim();
    let one_word = !bare.is_empty() && !bare.contains(char::is_whitespace);
    if one_word && !looks_like_a_token(bare) { Reason::ApiKeyInsteadOfToken } else { Reason::TokenMalformed }
}

/// The grant a call would need and the key lacks.
fn lacking(route: &Route, version: Version, grants: Grants) -> Option<&'static str> {
    let needed = [
        ("beta", version == Version::V3_1_0 && !grants.beta),
        ("financial", route.financial && !grants.financial),
        ("operator", route.operator && !grants.operator),
    ];
    needed.into_iter().find(|(_, lacks)| *lacks).map(|(grant, _)| grant)
}

impl Call {
    /// For endpoints without institution: reads parameters and fields, and answers all problems at once.
    pub fn anywhere<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<T, ApiError> {
        let value = read(&mut self.input);
        self.finish(value)
    }

    /// For endpoints where `subdomain` narrows: one institution, or all of the key.
    pub fn in_tenants<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Vec<Tenant>, T), ApiError> {
        let named = self.input.query.optional("subdomain", text(MAX_TEXT));
        let named = self.tenant_named(named)?;
        let value = read(&mut self.input);
        let value = self.finish(value)?;
        Ok((named.map_or_else(|| self.tenants(), |tenant| vec![tenant]), value))
    }

    /// Like `in_tenant`; a caller who names no institution in the query is refused access, and may name one of its locations there
    /// (specification 5.7).
    pub fn in_tenant_of_query<T>(
        &mut self,
        read: impl FnOnce(&mut Input) -> Option<T>,
    ) -> Result<(Tenant, T), ApiError> {
        self.in_places_of_query(read).map(|(tenant, _, value)| (tenant, value))
    }

    /// The same where `location_id` narrows.
    pub fn in_places_of_query<T>(
        &mut self,
        read: impl FnOnce(&mut Input) -> Option<T>,
    ) -> Result<(Tenant, Option<Place>, T), ApiError> {
        let tenant = self.tenant()?;
        if tenant.is_none() && self.notes.is_none() {
            return Err(ApiError::Forbidden.because(Reason::SubdomainMissing));
        }
        let location = self.input.query.optional("location_id", id());
        let place = self.named_place(tenant.as_ref(), location)?;
        self.times_of(tenant.as_ref());
        let value = read(&mut self.input);
        let (tenant, value) = self.finish(tenant.zip(value))?;
        Ok((tenant, place, value))
    }

    /// For endpoints of an institution, named by `subdomain`.
    pub fn in_tenant<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Tenant, T), ApiError> {
        let tenant = self.tenant()?;
        self.times_of(tenant.as_ref());
        let value = read(&mut self.input);
        self.finish(tenant.zip(value))
    }

    /// For endpoints of a location, named by `subdomain` and `location_id`.
    pub fn in_place<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Place, T), ApiError> {
        let tenant = self.tenant()?;
        let id = self.input.query.required("location_id", id());
        let place = self.named_place(tenant.as_ref(), id)?;
        let value = read(&mut self.input);
        self.finish(place.zip(value))
    }

    /// The same; the location may also be named in the body.
    pub fn in_place_of_body<T>(&mut self, read: impl FnOnce(&mut Input) -> Option<T>) -> Result<(Place, T), ApiError> {
        let tenant = self.tenant()?;
        let in_query = self.input.query.optional("location_id", id());
        let in_body = self.input.body.optional("location_id", id());
        match (in_query, in_body) {
            (None, None) => self.input.query.problem("location_id is missing."),
            (Some(query), Some(body)) if query != body => {
                self.input.query.problem("location_id names one location in the query and another in the body.");
            }
            _ => {}
        }
        let place = self.named_place(tenant.as_ref(), in_query.or(in_body))?;
        let value = read(&mut self.input);
        self.finish(place.zip(value))
    }

    /// For endpoints where `location_id` narrows: one location, or all of the institution the caller may reach.
    pub fn in_places<T>(
        &mut self,
        read: impl FnOnce(&mut Input) -> Option<T>,
    ) -> Result<(Tenant, Option<Place>, T), ApiError> {
        let tenant = self.tenant()?;
        let id = self.input.query.optional("location_id", id());
        let place = self.named_place(tenant.as_ref(), id)?;
        self.times_of(tenant.as_ref());
        let value = read(&mut self.input);
        let (tenant, value) = self.finish(tenant.zip(value))?;
        Ok((tenant, place, value))
    }

    /// The `{id}` of the path. Read before the call's `in_*`, so that the documentation knows of it.
    pub fn path_id<T: 'static>(&self, kind: Kind<T>) -> Result<T, ApiError> {
        self.path("id", kind)
    }

    /// Another part of the path: `{alert_id}`. Read before the call's `in_*`.
    pub fn path<T: 'static>(&self, name: &str, kind: Kind<T>) -> Result<T, ApiError> {
        if let Some(notes) = &self.notes {
            notes.add(|notes| notes.path.push(Expected::of(name, &kind).required()));
            return kind.example().ok_or(ApiError::Internal);
        }
        let given = self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        kind.text(given).map_err(|problem| ApiError::bad(format!("{name} {problem}.")))
    }

    /// A parameter of the query, before anyone reads it.
    pub fn query_text(&self, name: &str) -> Option<&str> {
        self.input.query.text(name)
    }

    /// What makes this call one that may be sent again; None without Idempotency-Key.
    pub fn once(&self) -> Option<Once> {
        self.once
    }

    /// A location of the institution that is open to the caller (specification 5.9 and 7.3).
    pub fn place(&self, tenant: &Tenant, id: LocationId) -> Result<Place, ApiError> {
        let place = self.places.get(id);
        let here = place.filter(|place| place.institution == tenant.institution.id && self.key.reaches(id));
        let location = here.ok_or_else(|| ApiError::location_not_found(id))?.clone();
        match location.status {
            LocationStatus::Active => Ok(Place { institution: tenant.institution.clone(), location }),
            LocationStatus::Pending => Err(ApiError::Forbidden.because(Reason::LocationPending)),
            LocationStatus::Closed => Err(ApiError::location_not_found(id)),
        }
    }

    /// The location a query names, whose date is today's from here on.
    fn named_place(&mut self, tenant: Option<&Tenant>, id: Option<u32>) -> Result<Option<Place>, ApiError> {
        let Some((tenant, id)) = tenant.zip(id) else { return Ok(None) };
        let place = self.place(tenant, LocationId(id))?;
        self.input.today = times::local(self.input.now, place.location.zone).0;
        if !self.input.clock.has_zone() {
            self.input.clock.set(place.location.zone);
        }
        Ok(Some(place))
    }

    /// Times without an offset are those of this location's clocks, whatever location the query names. Before the call's `in_*`.
    pub fn times_at(&mut self, location: impl FnOnce(&Engine) -> Option<LocationId>) {
        if self.notes.is_none()
            && let Some(place) = location(&self.api.engine).and_then(|id| self.places.get(id))
            && self.key.institutions.contains(&place.institution)
            && self.opens(place)
        {
            self.input.clock.set(place.zone);
        }
    }

    /// Where no location is named: as the clocks of the institution's locations show, if they agree.
    fn times_of(&mut self, tenant: Option<&Tenant>) {
        let Some(tenant) = tenant.filter(|_| !self.input.clock.has_zone()) else { return };
        let mut zones: Vec<Tz> = self.open_places(tenant).iter().map(|place| place.location.zone).collect();
        zones.dedup();
        if let [zone] = zones[..] {
            self.input.clock.set(zone);
        }
    }

    /// The same where no institution is named.
    pub fn place_of_any(&self, tenants: &[Tenant], id: LocationId) -> Result<Place, ApiError> {
        let institution = self.places.get(id).map(|location| location.institution);
        let tenant = tenants.iter().find(|tenant| Some(tenant.institution.id) == institution);
        self.place(tenant.ok_or_else(|| ApiError::location_not_found(id))?, id)
    }

    /// All locations of the institution that are open to the caller.
    pub fn open_places(&self, tenant: &Tenant) -> Vec<Place> {
        let all = self.places.of_institution(tenant.institution.id).iter();
        let open = all.filter(|location| self.opens(location));
        open.map(|location| Place { institution: tenant.institution.clone(), location: location.clone() }).collect()
    }

    /// Whether what was made at a location is shown to the caller.
    pub fn is_open(&self, id: LocationId) -> bool {
        self.places.get(id).is_some_and(|location| self.opens(location))
    }

    fn opens(&self, location: &LocationSetup) -> bool {
        location.status == LocationStatus::Active && self.key.reaches(location.id)
    }

    /// All institutions of the key.
    pub fn tenants(&self) -> Vec<Tenant> {
        let known = self.key.institutions.iter().filter_map(|id| self.api.engine.setup().institutions.get(id));
        let own = known.filter(|institution| institution.environment == self.key.environment);
        own.map(|institution| Tenant { institution: institution.clone() }).collect()
    }

    /// None is among the problems.
    fn tenant(&mut self) -> Result<Option<Tenant>, ApiError> {
        let subdomain = self.input.query.required("subdomain", text(MAX_TEXT));
        self.tenant_named(subdomain)
    }

    /// One answer for all that is not the caller's, so that it tells nothing about others.
    fn tenant_named(&self, subdomain: Option<String>) -> Result<Option<Tenant>, ApiError> {
        let Some(subdomain) = subdomain.filter(|_| self.notes.is_none()) else { return Ok(None) };
        let found = self.api.directory.institution(&subdomain);
        let own = found.filter(|it| self.key.institutions.contains(&it.id) && it.environment == self.key.environment);
        let own = own.map(|institution| Some(Tenant { institution: institution.clone() }));
        own.ok_or(ApiError::Forbidden.because(Reason::SubdomainOutOfReach))
    }

    /// A describing call ends its handler here.
    fn finish<T>(&mut self, value: Option<T>) -> Result<T, ApiError> {
        if let Some(notes) = &self.notes {
            let Input { query, body, .. } = &mut self.input;
            notes.add(|notes| {
                notes.query = query.expected();
                notes.body = body.expected();
                notes.read = true;
            });
            return Err(ApiError::Internal);
        }
        let mut problems = self.input.query.take_problems();
        problems.extend(self.input.body.take_problems());
        let mut ignored = self.input.query.ignored();
        ignored.extend(self.input.body.ignored());
        self.noted.write(self.input.clock.take_read(), ignored, &self.input.query.take_withheld());
        self.warning = self.noted.sentence();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            None if problems.is_empty() => Err(ApiError::Internal),
            _ => Err(ApiError::BadRequest(problems)),
        }
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
        Paging::read(&mut self.query, self.version, self.cursors.clone(), self.now)
    }

    /// For lists that are alike in all versions.
    pub fn paging_by_cursor(&mut self) -> Paging {
        Paging::read(&mut self.query, Version::V3_0_0, self.cursors.clone(), self.now)
    }
}
