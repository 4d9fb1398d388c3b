//! Authenticated requests and their input. Key, grants, limits, body and query are checked here; `tenancy` checks the
//! institution and location.

use std::{net::IpAddr, ops::Deref, rc::Rc, sync::Arc};

use actix_web::{
    HttpMessage, HttpRequest,
    dev::Payload,
    http::header::{AUTHORIZATION, HeaderValue},
    web::{Bytes, Data},
};
use chrono_tz::Tz;
use engine::{PreconditionError, idempotency::IdempotencyKey};
use location::{Date, LocationId, Timestamp};

use super::{
    access_log::AccessLog,
    api::Api,
    authentication::{anonymous_key, api_key, bearer, for_operators, may, operator},
    directory::Directory,
    idempotency,
    keys::{ApiKey, Grants},
};
use crate::{
    http::{
        body::{self, BodyRules, JsonBytes},
        context::{RequestContext, TOOL, from_node},
        describe::Notes,
        endpoint::{Access, Endpoint},
        errors::ApiError,
        fields::Fields,
        notices::Notices,
        paging::{self, Cursors, Paging, QueryCursors},
        query::Params,
        row::Names,
    },
    values::{
        expected::Expected,
        kinds::{Kind, includes, reference::Reference, times::Clock},
        secret::Secret,
        times,
        versions::Version,
    },
};

/// Amount fields that each value of `include[]` adds to the response.
const INCLUDED_AMOUNTS: [(&str, &str); 2] =
    [("insurance_coverages", "insurance_coverages.plan.annual_max_individual"), ("procedures", "procedures.fee")];

/// Time zone where each date begins first.
const EARLIEST: Tz = Tz::Pacific__Kiritimati;

pub struct ApiCall {
    pub api: ApiRef,
    pub key: Arc<ApiKey>,
    pub version: Version,
    pub endpoint: &'static Endpoint,
    pub input: Input,
    /// Raw body for endpoints that take an adapter component instead of JSON.
    pub component: Bytes,
    path: Vec<(&'static str, String)>,
    idempotency_key: Option<IdempotencyKey>,
    /// Snapshot from the arrival of the call.
    pub directory: Arc<Directory>,
    /// Client address, behind the trusted proxies.
    pub client: Option<IpAddr>,
    /// `true` for part of a call to another node, which has already counted against the rate limits.
    pub counted: bool,
    /// Authorization header as sent, for the parts of the call that other nodes answer.
    pub authorization: Option<HeaderValue>,
    /// Name of the agents' tool that became the call.
    pub tool: Option<HeaderValue>,
    /// Accessed records, for the audit trail.
    pub shown: AccessLog,
    warning: Option<String>,
    /// Notices for the response, also if the handler fails.
    pub notices: Notices,
    /// Collected documentation if the call only describes its route.
    pub notes: Option<Notes>,
}

/// Input of a call: query parameters and body fields.
pub struct Input {
    pub query: Params,
    pub body: Fields,
    pub now: Timestamp,
    /// Date at the named location; without one, the latest date in any time zone.
    pub today: Date,
    /// Time zone of the named location; without one, that of the institution's locations if they share one.
    pub clock: Clock,
    /// Grants of the calling key. Parameters that need a missing grant are withheld.
    pub grants: Grants,
    pub version: Version,
    pub cursors: QueryCursors,
}

impl Input {
    /// Returns the values of `include[]`, and reports the included amounts that the key may not see.
    pub fn includes(&mut self, known: &'static [&'static str]) -> Vec<&'static str> {
        let asked = self.query.list("include", includes(known));
        let amounts = INCLUDED_AMOUNTS.iter().filter(|(name, _)| asked.contains(name));
        amounts.for_each(|(_, field)| self.withhold_amount(field));
        asked
    }

    /// Reports an amount that the key may not see.
    pub fn withhold_amount(&mut self, field: &str) {
        if !self.grants.financial {
            self.query.withheld(field, "financial");
        }
    }

    pub fn paging(&mut self) -> Paging {
        Paging::read(&mut self.query, self.version, self.cursors.clone(), self.now)
    }
}

/// Parameters and body fields of an endpoint, as declared by `#[input]` (crate `view-macro`).
pub trait FromInput: Sized {
    /// Reads every parameter and field. Problems are recorded and example values substituted, so that one response
    /// reports all problems. The set of fields must not depend on the input, because the documentation is generated
    /// with an empty call.
    fn from_input(input: &mut Input) -> Self;

    /// Returns the error for a nonexistent record that the body references.
    fn unknown(Reference { resource, id }: Reference, _: Option<LocationId>) -> ApiError {
        PreconditionError::NotFound { resource, id }.into()
    }
}

impl FromInput for () {
    fn from_input(_: &mut Input) {}
}

impl FromInput for Paging {
    fn from_input(input: &mut Input) -> Paging {
        input.paging()
    }
}

/// Shared state of all requests. It is absent in a describing call, where only the arguments are read.
pub struct ApiRef(Option<Data<Api>>);

impl Deref for ApiRef {
    type Target = Api;

    fn deref(&self) -> &Api {
        self.shared()
    }
}

impl ApiRef {
    /// Returns the shared pointer, for work that outlives the call.
    pub fn shared(&self) -> &Data<Api> {
        self.0.as_ref().expect("a describing call runs no handler, and argument readers do not use the engine")
    }
}

/// Context of an operators' action, which an HTTP call or a page of the console performs.
pub struct ActionContext<'a> {
    pub api: &'a Api,
    pub shown: &'a AccessLog,
}

impl ApiCall {
    /// Authenticates a request and runs the checks that all routes share. `fields` are the fields of its body.
    pub async fn receive(
        endpoint: &'static Endpoint,
        fields: &'static Names,
        version: Version,
        request: &HttpRequest,
        payload: Payload,
    ) -> Result<ApiCall, ApiError> {
        let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
        let edge = api.edge();
        let client = api.client(request);
        let key = match endpoint.access {
            Access::ApiKey => api_key(&api, request.headers()).map_err(|why| ("API key", why)),
            Access::Token | Access::Anyone if for_operators(request) => {
                operator(&api, request.headers()).map_err(|why| ("operator's token", why))
            }
            Access::Token | Access::Anyone => bearer(&api, request.headers()).map_err(|why| ("bearer token", why)),
            Access::Code => Ok(Arc::new(anonymous_key())),
        };
        let key = key.map_err(|(what, why)| edge.rejected_callers.refused(client, what, why))?;
        // A retry after a permission change has the same key name, so a failed `set` is harmless.
        if let Some(context) = request.extensions().get::<Rc<RequestContext>>() {
            let _ = context.key.set(key.name.clone());
        }
        if endpoint.access == Access::Token {
            may(endpoint, version, &key)?;
        }
        let counted = from_node(request).is_some_and(|call| call.counted);
        // Guessed pairing codes have a separate limit.
        if endpoint.access != Access::Code && !counted {
            let checked = edge.rate_limits.admit(&key.hash, &endpoint.method_and_path).await;
            if let Some(context) = request.extensions().get::<Rc<RequestContext>>() {
                context.limit_state.set(checked.as_ref().map_or_else(|exceeded| Some(exceeded.limit_state), |it| *it));
            }
            checked?;
        }
        let (mut component, mut sent) = (Bytes::new(), JsonBytes::default());
        match endpoint.access {
            Access::Token if endpoint.body_unread => {}
            Access::Token if endpoint.takes_component => {
                component = body::component(request.headers(), payload, edge.rules.body_timeout).await?;
            }
            Access::Token | Access::Code => {
                let rules = BodyRules { max_bytes: edge.rules.max_body, timeout: edge.rules.body_timeout };
                sent = body::json(request.headers(), payload, rules).await?;
            }
            Access::ApiKey | Access::Anyone => {}
        }
        let body = Fields::parse(&sent, fields)?;
        let query = Params::parse(request.query_string()).map_err(ApiError::bad)?;
        let idempotency_key =
            if endpoint.takes_key() { idempotency::read(&key, request, &query, &sent)? } else { None };
        let cursors = api.cursors.bound_to(request.path(), query.pairs_except(&paging::PARAMETERS));
        let path = endpoint.parameters(request.match_info().as_str());
        let path = path.map(|(name, value)| (name, value.to_owned())).collect();
        let now = api.engine.now();
        let (today, grants) = (times::local(now, EARLIEST).0, key.grants);
        let input = Input { query, body, now, today, clock: Clock::default(), grants, version, cursors };
        let directory = api.directory();
        Ok(ApiCall {
            api: ApiRef(Some(api)),
            key,
            version,
            endpoint,
            input,
            component,
            path,
            idempotency_key,
            directory,
            client,
            counted,
            authorization: request.headers().get(AUTHORIZATION).cloned(),
            tool: request.headers().get(TOOL).cloned(),
            shown: AccessLog::default(),
            warning: None,
            notices: Notices::default(),
            notes: None,
        })
    }

    /// Creates a call without a request, for `describe`.
    pub fn describing(endpoint: &'static Endpoint, version: Version, notes: Notes) -> ApiCall {
        let cursors = Cursors::new(&Secret::from_bytes([0; 32])).bound_to(endpoint.path, Vec::new());
        let (query, body) = (Params::describing(), Fields::describing());
        ApiCall {
            api: ApiRef(None),
            key: Arc::new(anonymous_key()),
            version,
            endpoint,
            // A time after every example.
            input: Input {
                query,
                body,
                now: Timestamp(4_102_444_800_000),
                today: Date::MAX,
                clock: Clock::default(),
                grants: anonymous_key().grants,
                version,
                cursors,
            },
            component: Bytes::new(),
            path: Vec::new(),
            idempotency_key: None,
            directory: Arc::default(),
            client: None,
            counted: false,
            authorization: None,
            tool: None,
            shown: AccessLog::default(),
            warning: None,
            notices: Notices::default(),
            notes: Some(notes),
        }
    }

    /// Reads the input, after the institution and location if the endpoint has them. Reports all problems at once.
    pub fn anywhere<T>(&mut self, read: impl FnOnce(&mut Input) -> T) -> Result<T, ApiError> {
        let value = read(&mut self.input);
        self.finish()?;
        Ok(value)
    }

    /// Returns a path parameter, such as `{id}` or `{alert_id}`.
    pub fn path<T: 'static>(&self, name: &str, kind: Kind<T>) -> Result<T, ApiError> {
        if let Some(notes) = &self.notes {
            notes.add(|notes| notes.path.push(Expected::new(name, &kind).required()));
            return kind.example().ok_or_else(ApiError::internal);
        }
        let given = self.path.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        kind.text(given).map_err(|problem| ApiError::bad(format!("{name} {problem}.")))
    }

    pub fn idempotency_key(&self) -> Option<IdempotencyKey> {
        self.idempotency_key
    }

    /// Ends the reading of arguments. Reports all problems; for a describing call, stores the collected parameters and
    /// fields.
    pub fn finish(&mut self) -> Result<(), ApiError> {
        if let Some(notes) = &self.notes {
            let Input { query, body, .. } = &mut self.input;
            notes.add(|notes| {
                notes.query = query.expected();
                notes.body = body.expected();
                notes.read = true;
            });
            return Err(ApiError::internal());
        }
        if let Some(field) = self.endpoint.amounts {
            self.input.withhold_amount(field);
        }
        let mut problems = self.input.query.take_problems();
        problems.extend(self.input.body.take_problems());
        let mut ignored = self.input.query.ignored();
        ignored.extend(self.input.body.ignored());
        self.notices.write(self.input.clock.take_read(), ignored, &self.input.query.take_withheld());
        self.warning = self.notices.sentence();
        if problems.is_empty() { Ok(()) } else { Err(ApiError::invalid(problems)) }
    }

    /// Warning of a successful response.
    pub fn description(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    pub fn warn(&mut self, text: &str) {
        self.warning = Some(match self.warning.take() {
            Some(before) => format!("{text} {before}"),
            None => text.to_owned(),
        });
    }

    pub fn action(&self) -> ActionContext<'_> {
        ActionContext { api: &self.api, shown: &self.shown }
    }

    /// Adds a read or changed record to the audit entries of the call.
    pub fn audit(&self, what: &'static str, record: &'static str, id: u64) {
        self.shown.audit(what, record, id);
    }

    /// Adds an action that concerns no record to the audit entries of the call.
    pub fn audit_action(&self, what: &'static str, subject: &'static str) {
        self.shown.audit_action(what, subject);
    }
}
