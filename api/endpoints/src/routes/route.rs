//! A row of the table of routes: endpoint and handler. The map finds the rows of a request's path.

use std::{future::Future, ops::Deref, pin::Pin, str::Split, sync::OnceLock};

use actix_web::{Error, HttpRequest, HttpResponse, http::Method, web::Payload};
use framework::{
    access::{arguments::FromPath, respond::schema_of},
    http::{
        describe::{Described, Notes},
        endpoint::{ALL_VERSIONS, Access, Endpoint, Group, SchemaOf},
        errors::Fails,
        row::Names,
    },
    values::audience::Audience,
};

use crate::{
    prelude::*,
    resources::{
        booking::freshness::{NeedsSchedule, OutdatedSchedule, freshen, outdated_schedule},
        operators::operator_actions::Action,
    },
};

/// Key of the child for path parameters.
const PARAMETER: &str = "{}";

/// Future of a handler's response.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<HttpResponse, Error>>>>;

/// A call that has begun.
pub enum Begun {
    /// The handler can run.
    Answering(Answering),
    /// The handler must wait for a read of the schedule.
    Waiting(Box<WaitingCall>),
}

/// A call whose handler waits. It can be sent to another thread.
pub struct WaitingCall {
    call: Box<ApiCall>,
    schedule: OutdatedSchedule,
    run: HandlerRun,
}

/// The run of a handler with the arguments of its call.
type HandlerRun = Box<dyn FnOnce(Box<ApiCall>) -> Answering + Send>;

impl WaitingCall {
    /// Waits. Returns the run of the handler.
    pub(crate) async fn wait(self) -> impl FnOnce() -> Answering + Send {
        let WaitingCall { mut call, schedule, run } = self;
        freshen(&mut call, schedule).await;
        move || run(call)
    }
}

pub struct Route {
    endpoint: Endpoint,
    pub serves: Serves,
    /// Names of the fields of the body.
    fields: OnceLock<Names>,
}

impl Deref for Route {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

pub enum Serves {
    Call {
        begin: Box<dyn Fn(Box<ApiCall>) -> Begun + Send + Sync>,
        describe: fn(ApiCall),
    },
    Open(Box<dyn Fn(HttpRequest, Payload) -> Answering + Send + Sync>),
    /// Messages of agents, whose tool calls become calls of other routes (`routes::agents`).
    Agents,
}

/// Async function of a call and its arguments: optional path parameters, then a scope with its input.
pub trait Handler<Arguments>: Copy + Send + Sync + 'static {
    type Answer: Answers;
    type Failure: Fails + From<ApiError>;

    fn read(call: &mut ApiCall) -> Result<Arguments, ApiError>;
    fn handle(self, call: ApiCall, arguments: Arguments) -> impl Future<Output = Result<Self::Answer, Self::Failure>>;
}

impl<F, R, A, E, S> Handler<(S,)> for F
where
    F: Fn(ApiCall, S) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<A, E>>,
    A: Answers,
    E: Fails + From<ApiError>,
    S: FromCall,
{
    type Answer = A;
    type Failure = E;

    fn read(call: &mut ApiCall) -> Result<(S,), ApiError> {
        Ok((S::from_call(call)?,))
    }

    fn handle(self, call: ApiCall, (scope,): (S,)) -> impl Future<Output = Result<A, E>> {
        self(call, scope)
    }
}

impl<F, R, A, E, P, S> Handler<(P, S)> for F
where
    F: Fn(ApiCall, P, S) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<A, E>>,
    A: Answers,
    E: Fails + From<ApiError>,
    P: FromPath,
    S: FromCall,
{
    type Answer = A;
    type Failure = E;

    fn read(call: &mut ApiCall) -> Result<(P, S), ApiError> {
        Ok((P::from_path(call)?, S::from_call(call)?))
    }

    fn handle(self, call: ApiCall, (path, scope): (P, S)) -> impl Future<Output = Result<A, E>> {
        self(call, path, scope)
    }
}

fn route<H: Handler<Arguments>, Arguments: 'static>(method: Method, path: &'static str, handler: H) -> Route {
    let begin = move |mut call: Box<ApiCall>| {
        Begun::Answering(Box::pin(async move {
            let arguments = H::read(&mut call);
            run_handler(handler, call, arguments).await
        }))
    };
    let serves = Serves::Call { begin: Box::new(begin), describe: describe::<H, Arguments> };
    Route::new(method, path, Access::Token, serves)
        .with(|it| (it.status, it.success) = (H::Answer::STATUS, H::Answer::success()))
}

/// Runs a handler if its arguments are valid.
async fn run_handler<H: Handler<Arguments>, Arguments>(
    handler: H,
    call: Box<ApiCall>,
    arguments: Result<Arguments, ApiError>,
) -> Result<HttpResponse, Error> {
    let notices = call.notices.clone();
    let answer = match arguments {
        Ok(arguments) => handler.handle(*call, arguments).await,
        Err(refused) => Err(refused.into()),
    };
    let mut answer = match answer {
        Ok(answer) => answer.into_response(),
        Err(failed) => failed.answer(notices.sentence().as_deref()),
    };
    notices.put_into(&mut answer);
    Ok(answer)
}

/// Declares a POST whose handler waits for a read of the schedule if its arguments need a younger one.
pub(crate) fn post_when_fresh<H, S>(path: &'static str, handler: H) -> Route
where
    H: Handler<(S,)>,
    S: NeedsSchedule + Send + 'static,
{
    let begin = move |mut call: Box<ApiCall>| {
        let arguments = H::read(&mut call);
        let schedule = arguments.as_ref().ok().and_then(|(scope,)| outdated_schedule(&call, scope));
        let run = move |call: Box<ApiCall>| -> Answering { Box::pin(run_handler(handler, call, arguments)) };
        match schedule {
            Some(schedule) => Begun::Waiting(Box::new(WaitingCall { call, schedule, run: Box::new(run) })),
            None => Begun::Answering(run(call)),
        }
    };
    let mut route = post(path, handler);
    route.serves = Serves::Call { begin: Box::new(begin), describe: describe::<H, (S,)> };
    route
}

/// Runs only the argument readers. The error that ends the description is ignored.
fn describe<H: Handler<Arguments>, Arguments>(mut call: ApiCall) {
    let _ = H::read(&mut call);
}

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        pub fn $name<H: Handler<Arguments>, Arguments: 'static>(path: &'static str, handler: H) -> Route {
            route(Method::$method, path, handler)
        }
    )*};
}

methods!(get GET, post POST, patch PATCH, delete DELETE);

/// Declares the route of an operators' action, with the method, the path and the role of the action.
pub fn action<H: Handler<Arguments>, Arguments: 'static>(action: &Action, handler: H) -> Route {
    route(action.method.clone(), action.path, handler).operator(action.role)
}

/// Declares a GET without version, token or envelope, outside of the documented API.
pub fn open<F, R>(path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    websocket(path, move |request, _| handler(request))
}

/// Declares a GET that upgrades to a WebSocket.
pub fn websocket<F, R>(path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest, Payload) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    unguarded(Method::GET, path, handler)
}

/// Declares a route without version, token or envelope, outside of the documented API. Its handler authenticates the
/// caller.
pub fn unguarded<F, R>(method: Method, path: &'static str, handler: F) -> Route
where
    F: Fn(HttpRequest, Payload) -> R + Send + Sync + 'static,
    R: Future<Output = Result<HttpResponse, ApiError>> + 'static,
{
    let serves = Serves::Open(Box::new(move |request, payload| {
        let answering = handler(request, payload);
        Box::pin(async move { answering.await.map_err(Into::into) })
    }));
    Route::new(method, path, Access::Anyone, serves)
}

/// Declares the POST of messages from agents.
pub(super) fn agents(path: &'static str) -> Route {
    Route::new(Method::POST, path, Access::Anyone, Serves::Agents)
}

impl Route {
    fn new(method: Method, path: &'static str, access: Access, serves: Serves) -> Route {
        Route { endpoint: Endpoint::new(method, path, access), serves, fields: OnceLock::new() }
    }

    fn with(mut self, declare: impl FnOnce(&mut Endpoint)) -> Route {
        declare(&mut self.endpoint);
        self
    }

    /// Sets summary and section. The handler's signature defines the successful response.
    pub fn about(self, summary: &'static str, section: &'static str) -> Route {
        self.with(|it| (it.summary, it.section) = (summary, section))
    }

    /// Declares a second success status, sent by `call.show_as`.
    pub fn or(self, status: u16) -> Route {
        self.with(|it| it.or_status = Some(status))
    }

    /// Requires the grant `financial` (specification 5.10).
    pub fn financial(self) -> Route {
        self.with(|it| it.financial = true)
    }

    /// Declares the amount field of its records, which is hidden without the grant `financial`.
    pub fn amounts(self, field: &'static str) -> Route {
        self.with(|it| it.amounts = Some(field))
    }

    pub fn audience(&self) -> Audience {
        match self.access {
            Access::Code => Audience::Workstations,
            _ if self.role.is_some() => Audience::Operators,
            _ => Audience::Clients,
        }
    }

    /// Serves operators only, with this role or a higher one.
    pub fn operator(self, role: Role) -> Route {
        self.with(|it| it.role = Some(role))
    }

    /// Restricts the route to v3.1.0, which requires the grant `beta`.
    pub fn beta(self) -> Route {
        self.only(&[Version::V3_1_0])
    }

    /// Restricts the route to v3.0.0 and later.
    pub(crate) fn since_v3(self) -> Route {
        self.only(&[Version::V3_0_0, Version::V3_1_0])
    }

    pub fn only(self, versions: &'static [Version]) -> Route {
        self.with(|it| it.versions = versions)
    }

    pub fn fails(self, failures: &'static [u16]) -> Route {
        self.with(|it| it.failures = failures)
    }

    /// Declares failures. All failures of the route have a separate schema.
    pub(crate) fn fails_as<T: JsonSchema>(self, failures: &'static [u16]) -> Route {
        self.with(|it| (it.failures, it.failure_view) = (failures, Some(schema_of::<T> as SchemaOf)))
    }

    /// Sets an operation name for the documentation that differs from method and path.
    pub fn named(self, name: &'static str) -> Route {
        self.with(|it| it.operation = Some(name))
    }

    /// Declares that the route changes nothing, regardless of its method.
    pub fn reading(self) -> Route {
        self.with(|it| it.reads = true)
    }

    /// Accepts and ignores any body.
    pub(crate) fn leaving_body(self) -> Route {
        self.with(|it| it.body_unread = true)
    }

    /// Takes an adapter component, passed in `call.component`.
    pub(crate) fn takes_component(self) -> Route {
        self.with(|it| it.takes_component = true)
    }

    pub(crate) fn noting(self, notes: &'static str) -> Route {
        self.with(|it| it.notes = notes)
    }

    /// Authenticates with the API key itself.
    pub(crate) fn with_api_key(self) -> Route {
        self.with(|it| it.access = Access::ApiKey)
    }

    /// Authenticates with a pairing code in the body.
    pub(crate) fn with_code(self) -> Route {
        self.with(|it| it.access = Access::Code)
    }

    pub(crate) fn in_group(self, group: Group) -> Route {
        self.with(|it| it.group = group)
    }

    /// Begins a call. Returns `None` for routes without a call.
    pub(crate) fn begin(&self, call: Box<ApiCall>) -> Option<Begun> {
        match &self.serves {
            Serves::Call { begin, .. } => Some(begin(call)),
            Serves::Open(_) | Serves::Agents => None,
        }
    }

    /// Returns the inputs of the handler. They are read from an empty call, which records each name that is read. The
    /// handler itself is not run.
    pub fn described(&'static self, version: Version) -> Described {
        let notes = Notes::default();
        if let Serves::Call { describe, .. } = &self.serves {
            describe(ApiCall::describing(self, version, notes.clone()));
        }
        notes.take()
    }

    /// Returns the names of the fields of the body, which are the same in all versions.
    pub fn fields(&'static self) -> &'static Names {
        let version = self.versions.first().unwrap_or(&ALL_VERSIONS[0]);
        self.fields.get_or_init(|| Names::new(&self.described(*version).body))
    }
}

/// The routes of a listener, as a tree of path segments.
#[derive(Default)]
pub(super) struct RouteMap {
    children: BTreeMap<&'static str, RouteMap>,
    /// The routes of the path that ends here.
    routes: Vec<&'static Route>,
}

impl RouteMap {
    pub(super) fn new(routes: impl IntoIterator<Item = &'static Route>) -> RouteMap {
        let mut map = RouteMap::default();
        for route in routes {
            let mut node = &mut map;
            for segment in route.path.split('/') {
                let key = if segment.starts_with('{') { PARAMETER } else { segment };
                node = node.children.entry(key).or_default();
            }
            node.routes.push(route);
        }
        map
    }

    /// Returns the routes of a path, or `None` if it has none. Literal segments take precedence over parameters, and a
    /// parameter is never empty.
    pub(super) fn find(&self, path: &str) -> Option<&[&'static Route]> {
        self.find_below(path.split('/'))
    }

    fn find_below(&self, mut segments: Split<'_, char>) -> Option<&[&'static Route]> {
        let Some(segment) = segments.next() else {
            return Some(self.routes.as_slice()).filter(|routes| !routes.is_empty());
        };
        let literal = self.children.get(segment).and_then(|child| child.find_below(segments.clone()));
        literal.or_else(|| self.children.get(PARAMETER).filter(|_| !segment.is_empty())?.find_below(segments))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ptr;

    use super::*;
    use crate::routes::table::TABLE;

    async fn ok(_: HttpRequest) -> Result<HttpResponse, ApiError> {
        Ok(HttpResponse::Ok().finish())
    }

    fn found(map: &RouteMap, path: &str) -> Option<&'static str> {
        map.find(path).map(|routes| routes[0].path)
    }

    #[test]
    fn each_path_of_the_table_finds_its_routes() {
        let map = RouteMap::new(TABLE.iter());
        for route in TABLE.iter() {
            let segment = |it: &'static str| if it.starts_with('{') { "7" } else { it };
            let path = route.path.split('/').map(segment).collect::<Vec<_>>().join("/");
            let routes = map.find(&path).unwrap();
            assert!(routes.iter().any(|it| ptr::eq(*it, route)), "{path}");
            assert!(routes.iter().all(|it| it.path == route.path), "{path}");
        }
    }

    #[test]
    fn literal_segments_take_precedence_over_parameters() {
        let paths = ["/a/{id}", "/a/me", "/a/me/x", "/a/{id}/y", "/a/{id}/{part}"];
        let table = paths.map(|path| open(path, ok));
        let map = RouteMap::new(&*Vec::from(table).leak());
        for (path, expected) in [
            ("/a/7", Some("/a/{id}")),
            ("/a/me", Some("/a/me")),
            ("/a/me/x", Some("/a/me/x")),
            ("/a/me/y", Some("/a/{id}/y")),
            ("/a/me/z", Some("/a/{id}/{part}")),
            ("/a/{}", Some("/a/{id}")),
            ("/a", None),
            ("/a/", None),
            ("/a//y", None),
            ("/a/7/", None),
            ("/a/7/y/z", None),
            ("/A/7", None),
            ("a/7", None),
            ("/", None),
            ("", None),
            ("*", None),
        ] {
            assert_eq!(found(&map, path), expected, "{path}");
        }
    }
}
