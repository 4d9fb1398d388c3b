//! A row of the table of routes: an endpoint and its handler.

use std::{future::Future, ops::Deref, pin::Pin};

use actix_web::{Error, HttpRequest, HttpResponse, http::Method, web::Payload};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    access::call::Call,
    http::{
        endpoint::{Access, Endpoint, SchemaOf, Success},
        errors::{ApiError, Fails},
    },
    values::{audience::Audience, versions::Version},
};

/// What a handler is about to answer.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<HttpResponse, Error>>>>;

pub struct Route {
    endpoint: Endpoint,
    pub handler: Handler,
}

impl Deref for Route {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

pub enum Handler {
    Call(Box<dyn Fn(Call) -> Answering + Send + Sync>),
    Open(Box<dyn Fn(HttpRequest, Payload) -> Answering + Send + Sync>),
}

fn route<F, R, E>(method: Method, path: &'static str, handler: F) -> Route
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, E>> + 'static,
    E: Fails + 'static,
{
    let handler = Handler::Call(Box::new(move |call| {
        let notices = call.notices.clone();
        let answering = handler(call);
        Box::pin(async move {
            let answer = answering.await;
            let mut answer = answer.unwrap_or_else(|failed| failed.answer(notices.sentence().as_deref()));
            notices.put_into(&mut answer);
            Ok(answer)
        })
    }));
    Route::new(method, path, Access::Token, handler)
}

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        pub fn $name<F, R, E>(path: &'static str, handler: F) -> Route
        where
            F: Fn(Call) -> R + Send + Sync + 'static,
            R: Future<Output = Result<HttpResponse, E>> + 'static,
            E: Fails + 'static,
        {
            route(Method::$method, path, handler)
        }
    )*};
}

methods!(get GET, post POST, patch PATCH, delete DELETE);

/// A GET without version, token and envelope, and not part of the documented API.
pub(crate) fn open<F, R>(path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    websocket(path, move |request, _| handler(request))
}

/// The same, for what the connection becomes a WebSocket by.
pub(crate) fn websocket<F, R>(path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest, Payload) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    let handler = Handler::Open(Box::new(move |request, payload| {
        let answering = handler(request, payload);
        Box::pin(async move { answering.await.map_err(Into::into) })
    }));
    Route::new(Method::GET, path, Access::Anyone, handler)
}

fn schema_of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

impl Route {
    fn new(method: Method, path: &'static str, access: Access, handler: Handler) -> Route {
        Route { endpoint: Endpoint::new(method, path, access), handler }
    }

    fn with(mut self, declare: impl FnOnce(&mut Endpoint)) -> Route {
        declare(&mut self.endpoint);
        self
    }

    fn answering(self, status: u16, success: Success, summary: &'static str, section: &'static str) -> Route {
        self.with(|it| (it.status, it.success, it.summary, it.section) = (status, success, summary, section))
    }

    /// A list by pages: the handler ends with `call.page`.
    pub(crate) fn lists<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Success::Page(schema_of::<T>), summary, section)
    }

    /// A list without pages: the handler ends with `call.list`.
    pub(crate) fn lists_all<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Success::List(schema_of::<T>), summary, section)
    }

    /// One record: the handler ends with `call.show`.
    pub fn shows<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Success::One(schema_of::<T>), summary, section)
    }

    /// 201 with the new record, by `call.show`. Takes an Idempotency-Key.
    pub(crate) fn creates<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Success::One(schema_of::<T>), summary, section)
    }

    /// 201 with a list of new records, by `call.list`. Takes an Idempotency-Key.
    pub(crate) fn creates_list<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Success::List(schema_of::<T>), summary, section)
    }

    /// 202 with the record as it is until the health record system has it, by `call.show`. Takes an Idempotency-Key.
    pub fn accepts<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(202, Success::One(schema_of::<T>), summary, section)
    }

    /// 204: the handler ends with `call.empty`.
    pub fn empty(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(204, Success::Empty, summary, section)
    }

    /// A body without envelope, as the booking intent has it.
    pub(crate) fn answers<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Success::Plain(schema_of::<T>), summary, section)
    }

    /// Also answers with this status, by `call.show_as`.
    pub(crate) fn or(self, status: u16) -> Route {
        self.with(|it| it.or_status = Some(status))
    }

    /// Needs the grant `financial` (specification 5.10).
    pub fn financial(self) -> Route {
        self.with(|it| it.financial = true)
    }

    pub fn audience(&self) -> Audience {
        match self.access {
            Access::Code => Audience::Workstations,
            _ if self.operator => Audience::Operators,
            _ => Audience::Clients,
        }
    }

    /// Needs the grant `operator`.
    pub(crate) fn operator(self) -> Route {
        self.with(|it| it.operator = true)
    }

    /// Only in v3.1.0, which needs the grant `beta`.
    pub fn beta(self) -> Route {
        self.only(&[Version::V3_1_0])
    }

    /// v3.0.0 and what falls through to it.
    pub(crate) fn since_v3(self) -> Route {
        self.only(&[Version::V3_0_0, Version::V3_1_0])
    }

    pub fn only(self, versions: &'static [Version]) -> Route {
        self.with(|it| it.versions = versions)
    }

    pub(crate) fn fails(self, failures: &'static [u16]) -> Route {
        self.with(|it| it.failures = failures)
    }

    /// Failures with a view of their own.
    pub(crate) fn fails_as<T: JsonSchema>(self, failures: &'static [u16]) -> Route {
        self.with(|it| (it.failures, it.failure_view) = (failures, Some(schema_of::<T> as SchemaOf)))
    }

    /// For the documentation: a name for the operation that its method and path do not give.
    pub(crate) fn named(self, name: &'static str) -> Route {
        self.with(|it| it.operation = Some(name))
    }

    /// Changes nothing, whatever its method says.
    pub(crate) fn reading(self) -> Route {
        self.with(|it| it.reads = true)
    }

    /// Takes a body of any sort and does not look at it.
    pub(crate) fn leaving_body(self) -> Route {
        self.with(|it| it.body_unread = true)
    }

    /// Takes a component of an adapter as it is: the handler finds it in `call.component`.
    pub(crate) fn takes_component(self) -> Route {
        self.with(|it| it.takes_component = true)
    }

    /// Its pages are never cached: they show more than the records of an institution.
    pub(crate) fn always_fresh(self) -> Route {
        self.with(|it| it.fresh = true)
    }

    pub(crate) fn noting(self, notes: &'static str) -> Route {
        self.with(|it| it.notes = notes)
    }

    /// Called with the API key itself.
    pub(crate) fn with_api_key(self) -> Route {
        self.with(|it| it.access = Access::ApiKey)
    }

    /// Called with a pairing code in the body, and nothing else.
    pub(crate) fn with_code(self) -> Route {
        self.with(|it| it.access = Access::Code)
    }

    /// 201 with a body without envelope.
    pub(crate) fn creates_plain<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Success::Plain(schema_of::<T>), summary, section)
    }

    pub(crate) fn in_group(self, group: &'static str) -> Route {
        self.with(|it| it.group = group)
    }

    /// None for routes that take no calls.
    pub(crate) fn answer(&self, call: Call) -> Option<Answering> {
        match &self.handler {
            Handler::Call(handler) => Some(handler(call)),
            Handler::Open(_) => None,
        }
    }
}
