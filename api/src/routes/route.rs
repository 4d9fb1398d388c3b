//! One endpoint as the table of `routes` declares it: what the code cannot say of itself. Dispatch, grants, versions, rate limits and
//! the documentation all read it.

use std::{future::Future, pin::Pin, rc::Rc};

use actix_web::{
    Error, HttpMessage, HttpRequest, HttpResponse, ResponseError,
    body::MessageBody,
    dev,
    http::{Method, StatusCode, header::HeaderMap},
    web::{self, Bytes, Data, Payload, ServiceConfig},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::{
    access::{api::Api, call::Call, page_cache::Known},
    http::errors::{ApiError, Fails},
    server::guard::About,
    values::{reasons::Reason, versions::Version},
};

type Answering = Pin<Box<dyn Future<Output = Result<HttpResponse, Error>>>>;
/// Registers a type with a document's schemas and refers to it.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub summary: &'static str,
    /// Of the specification.
    pub section: &'static str,
    /// Under which the documentation groups it.
    pub group: &'static str,
    pub access: Access,
    pub financial: bool,
    pub operator: bool,
    pub versions: &'static [Version],
    pub status: u16,
    /// Another status of success, with the same shape.
    pub or_status: Option<u16>,
    pub form: Form,
    /// Statuses of failure beyond those every endpoint of its sort has.
    pub failures: &'static [u16],
    /// What a failure with a status of `failures` looks like where it is not the envelope.
    pub failure_form: Option<SchemaOf>,
    /// Whatever body comes is left unread.
    pub body_unread: bool,
    /// What it shows changes without any record of the institution changing.
    fresh: bool,
    /// What the summary has no room for.
    pub notes: &'static str,
    name: Option<&'static str>,
    handler: Handler,
}

/// Who may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Operators' machines and readers of the documentation: no version, no token, no User-Agent rule.
    Anyone,
    /// The API key itself.
    ApiKey,
    Token,
    /// Who knows a pairing code: no version and no token.
    Code,
}

/// The shape of success.
#[derive(Clone, Copy)]
pub enum Form {
    /// A page of a list, by cursor or, in v2.2.2, by number.
    Page(SchemaOf),
    /// A whole list, with its count.
    List(SchemaOf),
    One(SchemaOf),
    /// As it is, without envelope.
    Plain(SchemaOf),
    Empty,
}

enum Handler {
    Call(Box<dyn Fn(Call) -> Answering + Send + Sync>),
    Open(Box<dyn Fn(HttpRequest, Payload) -> Answering + Send + Sync>),
}

pub const ALL_VERSIONS: &[Version] = &[Version::V2_2_2, Version::V3_0_0, Version::V3_1_0];

fn route<F, R, E>(method: Method, path: &'static str, handler: F) -> Route
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, E>> + 'static,
    E: Fails + 'static,
{
    let handler = Handler::Call(Box::new(move |call| {
        let noted = call.noted.clone();
        let answering = handler(call);
        Box::pin(async move {
            let answer = answering.await;
            let mut answer = answer.unwrap_or_else(|failed| failed.answer(noted.sentence().as_deref()));
            noted.put_into(&mut answer);
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
pub fn open<F, R>(path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    websocket(path, move |request, _| handler(request))
}

/// The same, for what the connection becomes a WebSocket by.
pub fn websocket<F, R>(path: &'static str, handler: F) -> Route
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
        Route {
            method,
            path,
            summary: "",
            section: "",
            group: "",
            access,
            financial: false,
            operator: false,
            versions: ALL_VERSIONS,
            status: 200,
            or_status: None,
            form: Form::Empty,
            failures: &[],
            failure_form: None,
            body_unread: false,
            fresh: false,
            notes: "",
            name: None,
            handler,
        }
    }

    fn answering(self, status: u16, form: Form, summary: &'static str, section: &'static str) -> Route {
        Route { status, form, summary, section, ..self }
    }

    /// A list by pages: the handler ends with `call.page`.
    pub fn lists<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Form::Page(schema_of::<T>), summary, section)
    }

    /// A list without pages: the handler ends with `call.list`.
    pub fn lists_all<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Form::List(schema_of::<T>), summary, section)
    }

    /// One record: the handler ends with `call.show`.
    pub fn shows<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Form::One(schema_of::<T>), summary, section)
    }

    /// 201 with the new record, by `call.show`. Takes an Idempotency-Key.
    pub fn creates<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Form::One(schema_of::<T>), summary, section)
    }

    /// 201 with a list of new records, by `call.list`. Takes an Idempotency-Key.
    pub fn creates_list<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Form::List(schema_of::<T>), summary, section)
    }

    /// 202 with the record as it is until the health record system has it, by `call.show`. Takes an Idempotency-Key.
    pub fn accepts<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(202, Form::One(schema_of::<T>), summary, section)
    }

    /// 204: the handler ends with `call.empty`.
    pub fn empty(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(204, Form::Empty, summary, section)
    }

    /// A body without envelope, as the booking intent has it.
    pub fn answers<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(200, Form::Plain(schema_of::<T>), summary, section)
    }

    /// Also answers with this status, by `call.show_as`.
    pub fn or(self, status: u16) -> Route {
        Route { or_status: Some(status), ..self }
    }

    /// Needs the grant `financial` (specification 5.10).
    pub fn financial(self) -> Route {
        Route { financial: true, ..self }
    }

    /// Needs the grant `operator`.
    pub fn operator(self) -> Route {
        Route { operator: true, ..self }
    }

    /// Only in v3.1.0, which needs the grant `beta`.
    pub fn beta(self) -> Route {
        self.only(&[Version::V3_1_0])
    }

    /// v3.0.0 and what falls through to it.
    pub fn from_v3(self) -> Route {
        self.only(&[Version::V3_0_0, Version::V3_1_0])
    }

    pub fn only(self, versions: &'static [Version]) -> Route {
        Route { versions, ..self }
    }

    pub fn fails(self, failures: &'static [u16]) -> Route {
        Route { failures, ..self }
    }

    /// Failures of a shape of their own.
    pub fn fails_as<T: JsonSchema>(self, failures: &'static [u16]) -> Route {
        Route { failures, failure_form: Some(schema_of::<T>), ..self }
    }

    /// For the documentation: a name for the operation that its method and path do not give.
    pub fn named(self, name: &'static str) -> Route {
        Route { name: Some(name), ..self }
    }

    /// Takes a body of any sort and does not look at it.
    pub fn leaving_body(self) -> Route {
        Route { body_unread: true, ..self }
    }

    /// Its pages are never kept: they show more than the records of an institution.
    pub fn always_fresh(self) -> Route {
        Route { fresh: true, ..self }
    }

    /// Whether its pages may be kept for clients that poll.
    pub fn is_kept(&self) -> bool {
        matches!(self.form, Form::Page(_)) && !self.fresh
    }

    pub fn noting(self, notes: &'static str) -> Route {
        Route { notes, ..self }
    }

    /// Called with the API key itself.
    pub fn with_api_key(self) -> Route {
        Route { access: Access::ApiKey, ..self }
    }

    /// Called with a pairing code in the body, and nothing else.
    pub fn with_code(self) -> Route {
        Route { access: Access::Code, ..self }
    }

    /// 201 with a body without envelope.
    pub fn creates_plain<T: JsonSchema>(self, summary: &'static str, section: &'static str) -> Route {
        self.answering(201, Form::Plain(schema_of::<T>), summary, section)
    }

    pub fn in_group(self, group: &'static str) -> Route {
        Route { group, ..self }
    }

    /// Whether the limits of API keys count it.
    pub fn is_limited(&self) -> bool {
        matches!(self.access, Access::ApiKey | Access::Token)
    }

    /// For labels. The table has these methods and no others.
    pub fn method_name(&self) -> &'static str {
        match self.method.as_str() {
            "GET" => "GET",
            "POST" => "POST",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            _ => "other",
        }
    }

    /// As rate limits name it: `GET /appointments`.
    pub fn endpoint(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The name under which v2.2.2 nests this list: that of patients, and no other.
    pub fn nested_as(&self) -> Option<&'static str> {
        (self.path == "/patients").then_some("patients")
    }

    /// Whether an Idempotency-Key counts: POSTs that create something.
    pub fn takes_key(&self) -> bool {
        self.method == Method::POST && self.access == Access::Token && matches!(self.status, 201 | 202)
    }

    pub fn has_body(&self) -> bool {
        let reads = matches!(self.access, Access::Token | Access::Code);
        reads && self.method != Method::GET && !self.body_unread
    }

    /// `list_patient_alerts`, `update_working_hour`.
    pub fn operation_id(&self) -> String {
        if let Some(name) = self.name {
            return name.to_owned();
        }
        let verb = match (self.method.as_str(), &self.form) {
            ("GET", Form::Page(_) | Form::List(_)) => "list",
            ("GET", _) => "get",
            ("PATCH", _) => "update",
            ("DELETE", _) => "delete",
            _ => "create",
        };
        let segments: Vec<&str> = self.path.split('/').filter(|segment| !segment.is_empty()).collect();
        let mut words = vec![verb.to_owned()];
        for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.starts_with('{')) {
            let one = segments.get(at + 1).is_some_and(|next| next.starts_with('{'))
                || (at + 1 == segments.len() && verb == "create");
            words.push(if one { singular(segment) } else { (*segment).to_owned() });
        }
        words.join("_")
    }

    /// None for routes that take no calls.
    pub fn answer(&self, call: Call) -> Option<Answering> {
        match &self.handler {
            Handler::Call(handler) => Some(handler(call)),
            Handler::Open(_) => None,
        }
    }
}

fn singular(noun: &str) -> String {
    match noun.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => noun.strip_suffix('s').unwrap_or(noun).to_owned(),
    }
}

/// Every path once, with all that the table has for it.
pub fn serve(table: &'static [Route], app: &mut ServiceConfig) {
    let mut paths: Vec<&'static str> = table.iter().map(|route| route.path).collect();
    paths.sort_unstable();
    paths.dedup();
    for path in paths {
        let here: Vec<&'static Route> = table.iter().filter(|route| route.path == path).collect();
        let here: &'static [&'static Route] = here.leak();
        app.service(
            web::resource(path).to(move |request: HttpRequest, payload: Payload| dispatch(here, request, payload)),
        );
    }
}

async fn dispatch(here: &[&'static Route], request: HttpRequest, payload: Payload) -> Result<HttpResponse, Error> {
    // HEAD is a GET whose answer comes without its body (RFC 9110, 9.3.2), which the connection leaves out.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let mut of_method = here.iter().filter(|route| route.method == method).peekable();
    let Some(first) = of_method.peek() else {
        let version = Version::of(request.headers()).ok();
        return Err(ApiError::Method { allowed: allowed(here, version) }.into());
    };
    let about = request.extensions().get::<Rc<About>>().cloned();
    let here_is = |route: &'static Route| about.iter().for_each(|about| about.route.set(Some(route)));
    if let Handler::Open(handler) = &first.handler {
        here_is(first);
        return handler(request, payload).await;
    }
    let version = match first.access {
        Access::Code => Version::V3_0_0,
        _ => Version::of(request.headers())?,
    };
    let elsewhere = || elsewhere(here, request.method(), version);
    let route = of_method.find(|route| route.versions.contains(&version)).copied().ok_or_else(elsewhere)?;
    here_is(route);
    let api = request.app_data::<Data<Api>>().cloned().ok_or(ApiError::Internal)?;
    let mut payload = payload.into_inner();
    for _ in 0..READ_UNDER_RIGHTS {
        let generation = api.kept.generation();
        let call = Call::receive(route, version, &request, std::mem::replace(&mut payload, dev::Payload::None)).await?;
        let answer = match api.kept.look_up(&api, &call, request.path(), request.query_string()) {
            Known::Answered(answer) => Ok(answer),
            Known::Open(open) => finish(route, call).await.map(|answer| api.kept.keep(open, answer)),
            Known::Never => finish(route, call).await,
        };
        if route.method != Method::GET || generation == api.kept.generation() {
            return answer;
        }
    }
    Err(ApiError::Unavailable { retry_after: 1 }.into())
}

/// What was read while the rights of keys changed is not given out, but read again under those there are now: so many times.
const READ_UNDER_RIGHTS: usize = 3;

/// Reading is the work of processor and disk, and may be much: threads of its own do it, so that those who wait for an answer of another
/// sort, a probe of the process for one, do not wait for it.
async fn finish(route: &'static Route, call: Call) -> Result<HttpResponse, Error> {
    if route.method != Method::GET {
        return route.answer(call).ok_or(ApiError::Internal)?.await;
    }
    let runtime = tokio::runtime::Handle::current();
    let read = web::block(move || {
        let Some(answering) = route.answer(call) else { return Finished::of(ApiError::Internal.error_response()) };
        let answer = runtime.block_on(answering);
        Finished::of(answer.unwrap_or_else(|error| error.error_response()))
    });
    let finished = read.await.map_err(|_| {
        tracing::error!(route = route.path, "a request ended in a panic");
        ApiError::Internal
    })?;
    Ok(finished.answer())
}

/// An answer that may go from one thread to another.
struct Finished {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Finished {
    fn of(answer: HttpResponse) -> Finished {
        let (head, body) = answer.into_parts();
        let (status, headers) = (head.status(), head.headers().clone());
        match body.try_into_bytes() {
            Ok(body) => Finished { status, headers, body },
            // No GET with a token answers with a stream.
            Err(_) => Finished::of(ApiError::Internal.error_response()),
        }
    }

    fn answer(self) -> HttpResponse {
        let mut answer = HttpResponse::with_body(self.status, self.body).map_into_boxed_body();
        *answer.headers_mut() = self.headers;
        answer
    }
}

/// The endpoint is there in other versions only.
fn elsewhere(here: &[&'static Route], method: &Method, asked: Version) -> ApiError {
    let of_method = here.iter().filter(|route| route.method == method);
    let names: Vec<&str> = of_method.flat_map(|route| route.versions).map(|version| version.name()).collect();
    let why =
        format!("{} does not have this endpoint; send `Svc-Api-Version: {}`.", asked.name(), names.join("` or `"));
    ApiError::NoSuchRoute.explained(Reason::VersionWithoutEndpoint, why)
}

/// The methods of a path in the version asked for; of all versions where it is not there in that one.
fn allowed(here: &[&'static Route], version: Option<Version>) -> String {
    let of_version = |route: &&&Route| version.is_some_and(|version| route.versions.contains(&version));
    let anywhere = !here.iter().any(|route| of_version(&route));
    let mut methods: Vec<&str> = Vec::new();
    for route in here.iter().filter(|route| anywhere || of_version(route)) {
        let with_head = (route.method == Method::GET).then_some("HEAD");
        for method in [route.method.as_str()].into_iter().chain(with_head) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
    }
    methods.join(", ")
}
