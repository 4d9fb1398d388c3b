//! Dispatch of requests by path, method and version to a handler.

use std::{
    future::Future,
    mem,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use actix_web::{
    Error, FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError,
    body::MessageBody,
    dev::{self, ServiceRequest, ServiceResponse, fn_service},
    http::{Method, StatusCode, header::HeaderMap},
    web::{self, Bytes, Data, Payload, ServiceConfig},
};
use engine::{
    Place,
    origin::{self, CallKind, on_behalf_of},
    turns::FairSemaphore,
};
use framework::{
    access::{
        audited::AuditCaller,
        authentication::{for_operators, is_of_operator},
        conditional::{Tagging, unless_known},
    },
    http::{context::RequestContext, endpoint::Access, errors, version_header},
};

use super::{
    agents::Agents,
    placing::{self, Placed},
    route::{Answering, Begun, Route, RouteMap, Serves},
};
use crate::{prelude::*, resources::ehr_events};

/// The routes of the clients' listener and those of the operators' listener, and the tools of agents.
#[derive(Clone, Copy)]
pub struct ServedRoutes {
    listeners: &'static [RouteMap; 2],
    agents: &'static Agents,
}

impl ServedRoutes {
    /// Leaks the maps of the table.
    pub fn new(table: &'static [Route]) -> ServedRoutes {
        let of_listener = |operators| RouteMap::new(table.iter().filter(|route| route.is_served_to(operators)));
        let listeners: &'static [RouteMap; 2] = Box::leak(Box::new([false, true].map(of_listener)));
        ServedRoutes { listeners, agents: Box::leak(Box::new(Agents::new(&listeners[0]))) }
    }
}

/// Serves all routes as the app's default service. Resources of actix-web would be tried one after the other, with a
/// regular expression for each path that has parameters.
pub fn serve(ServedRoutes { listeners: routes, agents }: ServedRoutes, app: &mut ServiceConfig) {
    // A handler of actix-web would box the future once more.
    app.default_service(fn_service(move |mut request: ServiceRequest| async move {
        let payload = request.extract::<Payload>().await?;
        let answer = match agents_route(routes, request.request()) {
            Some(route) => {
                let tool_call = async move |request: &HttpRequest, body: Bytes| {
                    let payload = Payload::from_request(request, &mut dev::Payload::from(body)).await?;
                    dispatch(routes, request, payload).await
                };
                // Boxed, because other requests need not reserve the memory of its future.
                Box::pin(agents.answer(route, &mut request, payload.into_inner(), tool_call)).await
            }
            None => dispatch(routes, request.request(), payload).await,
        };
        let answer = answer.unwrap_or_else(HttpResponse::from_error);
        Ok::<_, Error>(ServiceResponse::new(request.into_parts().0, answer))
    }));
}

/// Returns the route of a request with a message of an agent.
fn agents_route(routes: &[RouteMap; 2], request: &HttpRequest) -> Option<&'static Route> {
    if request.method() != Method::POST || for_operators(request) {
        return None;
    }
    let here = routes[0].find(request.match_info().as_str())?;
    here.iter().copied().find(|route| matches!(route.serves, Serves::Agents))
}

/// Answers a request. `routes` has the routes of the clients' listener and those of the operators' listener.
async fn dispatch(
    routes: &'static [RouteMap; 2],
    request: &HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, Error> {
    let is_intent = errors::is_intent(request.match_info().as_str());
    let answer = handle_request(routes, request, payload).await;
    answer.map_err(|error| match error.as_error::<ApiError>() {
        Some(known) => known.clone().of_intent(is_intent).into(),
        None => error,
    })
}

async fn handle_request(
    routes: &'static [RouteMap; 2],
    request: &HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, Error> {
    let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
    let operators = for_operators(request);
    let found = routes[usize::from(operators)].find(request.match_info().as_str());
    let found = found.ok_or_else(|| no_such_route(request))?;
    let edge = api.edge();
    let requested_version = || version_header::requested_version(request.headers(), &edge.rules.compatibility);
    // HEAD is handled like GET (RFC 9110, 9.3.2); the connection omits the body.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let mut of_method = found.iter().filter(|route| route.method == method).peekable();
    let Some(first) = of_method.peek() else {
        let version = requested_version().ok();
        return Err(ApiError::method_not_allowed(allowed(found, version)).into());
    };
    let context = request.extensions().get::<Rc<RequestContext>>().cloned();
    let set_endpoint = |route: &'static Route| context.iter().for_each(|it| it.endpoint.set(Some(route.label())));
    if let Serves::Open(handler) = &first.serves {
        set_endpoint(first);
        let mut payload = payload;
        if ehr_events::source_of(request.path()).is_some()
            && let Some(peers) = &api.peers
        {
            match placing::place(&api, peers, first, request, payload.into_inner()).await? {
                Placed::Here(_, mut here) => payload = Payload::from_request(request, &mut here).await?,
                Placed::Answered(answer) => return Ok(answer),
            }
        }
        return handler(request.clone(), payload).await;
    }
    let version = match first.access {
        Access::Code => Version::V3_0_0,
        _ => requested_version()?,
    };
    let version_without_endpoint = || version_without_endpoint(found, request.method(), version);
    let route =
        of_method.find(|route| route.versions.contains(&version)).copied().ok_or_else(version_without_endpoint)?;
    set_endpoint(route);
    let (institution, mut payload) = match &api.peers {
        // Other nodes distinguish operators from clients by their credentials, so a call at the wrong listener is
        // refused here.
        Some(peers) if is_of_operator(request.headers()) == operators => {
            match placing::place(&api, peers, route, request, payload.into_inner()).await? {
                Placed::Here(institution, payload) => (institution, payload),
                Placed::Answered(answer) => return Ok(answer),
            }
        }
        _ => (None, payload.into_inner()),
    };
    let blocks = (route.reads || api.engine.reads_wait()) && !route.is_stream();
    let read_permits = blocks.then(|| api.readers(route.role.is_some()));
    for _ in 0..MAX_READ_ATTEMPTS {
        let generation = api.rights_generation();
        let payload = mem::replace(&mut payload, dev::Payload::None);
        let call = Box::new(ApiCall::receive(route, route.fields(), version, request, payload).await?);
        let caller = AuditCaller::of_request(&call, context.as_deref().map_or("", RequestContext::request_id));
        if route.method != Method::GET {
            let api = api.clone();
            let here = move |api: &Api| institution.is_none_or(|it| api.engine.place(it) == Place::Mine);
            return run_to_completion(api, route, (call, caller), read_permits.clone(), here).await;
        }
        let tagging = route.is_conditional().then(|| api.tags.for_caller(&call.key, version));
        let mut answer = answer(route, call, read_permits.clone(), tagging).await;
        if route.is_stream() && request.method() == Method::HEAD {
            // The connection would read the stream to its end and send nothing.
            answer = answer.map(|answer| answer.drop_body().map_into_boxed_body());
        }
        // A read is valid only while this node owns the institution.
        if institution.is_some_and(|institution| api.engine.place(institution) != Place::Mine) {
            return Err(ApiError::from(Failure::LocationMoved).into());
        }
        if generation == api.rights_generation() {
            let answer = answer.map(|answer| unless_known(request, answer));
            return api.audited(caller.as_ref(), None, answer).await;
        }
    }
    Err(ApiError::unavailable(1).into())
}

fn no_such_route(request: &HttpRequest) -> ApiError {
    let slash = request.path().len() > 1 && request.path().ends_with('/');
    if slash { Failure::TrailingSlash } else { Failure::UnknownPath }.into()
}

fn is_refusal(answer: &Result<HttpResponse, Error>) -> bool {
    let status = match answer {
        Ok(answer) => answer.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    status.is_client_error()
}

/// Runs a call that may change records to completion, including its audit entries, even if the client disconnects.
async fn run_to_completion(
    api: Data<Api>,
    route: &'static Route,
    (call, caller): (Box<ApiCall>, Option<AuditCaller>),
    read_permits: Option<FairSemaphore>,
    is_here: impl FnOnce(&Api) -> bool + 'static,
) -> Result<HttpResponse, Error> {
    if route.access == Access::Token && route.role.is_none() && !route.reads {
        api.may_change()?;
    }
    let change = caller.as_ref().and_then(AuditCaller::changing);
    let kind = if errors::is_intent(route.path) { CallKind::Intent } else { CallKind::Other };
    let origin = origin::current().map(|origin| origin.called_by(kind).changing(change.clone()));
    let changing = async move {
        let answer = answer(route, call, read_permits, None).await;
        // A refusal based on reads is valid only while this node owns the institution. Commits check the ownership
        // themselves.
        let answer = match is_refusal(&answer) && !is_here(&api) {
            true => Err(ApiError::from(Failure::LocationMoved).into()),
            false => answer,
        };
        api.audited(caller.as_ref(), change.as_deref(), answer).await
    };
    ToCompletion(Some(Box::pin(on_behalf_of(origin, changing)))).await
}

/// Future that always runs to completion: if it is dropped before its end, a task runs the rest.
struct ToCompletion(Option<Answering>);

impl Future for ToCompletion {
    type Output = Result<HttpResponse, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is gone, so that it is never polled again.
        let mut rest = self.0.take().expect("a future is not polled after its end");
        let polled = rest.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(rest);
        }
        polled
    }
}

impl Drop for ToCompletion {
    fn drop(&mut self) {
        if let Some(rest) = self.0.take() {
            actix_web::rt::spawn(rest);
        }
    }
}

/// Maximum number of attempts to read while the permissions of API keys change.
const MAX_READ_ATTEMPTS: usize = 3;

/// Runs the handler, on the blocking pool behind a semaphore if `read_permits` is set. Slow reads can thus neither
/// delay other responses, such as health probes, nor occupy all cores. Writes take this path if the store is on another
/// machine, because they read from it too. A call that waits for the EHR leaves the pool meanwhile. The entity tag is
/// computed where the handler runs, because it takes milliseconds for a long body.
async fn answer(
    route: &'static Route,
    call: Box<ApiCall>,
    read_permits: Option<FairSemaphore>,
    tagging: Option<Tagging>,
) -> Result<HttpResponse, Error> {
    let tagged = move |answer: HttpResponse| tagging.iter().fold(answer, |answer, tagging| tagging.tag(answer));
    let Some(turns) = read_permits else {
        let answer = match route.begin(call).ok_or_else(ApiError::internal)? {
            Begun::Answering(answering) => answering.await,
            Begun::Waiting(waiting) => (waiting.wait().await)().await,
        };
        return answer.map(tagged);
    };
    let finish = move |answer: Result<HttpResponse, Error>| Finished::from_answer(answer.map(tagged));
    let begun = on_pool(route, turns.clone(), move || async move {
        match route.begin(call) {
            Some(Begun::Answering(answering)) => Ok(finish(answering.await)),
            Some(Begun::Waiting(waiting)) => Err((waiting, finish)),
            None => Ok(finish(Err(ApiError::internal().into()))),
        }
    });
    let finished = match begun.await? {
        Ok(finished) => finished,
        Err((waiting, finish)) => {
            let run = waiting.wait().await;
            on_pool(route, turns, move || async move { finish(run().await) }).await?
        }
    };
    Ok(finished.answer())
}

/// Runs work on the blocking pool behind a semaphore.
async fn on_pool<F: Future + 'static>(
    route: &'static Route,
    turns: FairSemaphore,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<F::Output, ApiError>
where
    F::Output: Send + 'static,
{
    let (runtime, origin) = (tokio::runtime::Handle::current(), origin::current());
    let thread = turns.thread().await;
    let done = web::block(move || runtime.block_on(turns.run(thread, on_behalf_of(origin, work()))));
    done.await.map_err(|_| {
        tracing::error!(route = route.path, "a request ended in a panic");
        ApiError::internal()
    })
}

/// Response that can be sent to another thread.
struct Finished {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Finished {
    fn from_answer(answer: Result<HttpResponse, Error>) -> Finished {
        Finished::from_response(answer.unwrap_or_else(|error| error.error_response()))
    }

    fn from_response(answer: HttpResponse) -> Finished {
        let (mut head, body) = answer.into_parts();
        let (status, headers) = (head.status(), mem::take(head.headers_mut()));
        match body.try_into_bytes() {
            Ok(body) => Finished { status, headers, body },
            // Streams are not answered on the blocking pool.
            Err(_) => Finished::from_response(ApiError::internal().error_response()),
        }
    }

    fn answer(self) -> HttpResponse {
        let mut answer = HttpResponse::with_body(self.status, self.body).map_into_boxed_body();
        *answer.headers_mut() = self.headers;
        answer
    }
}

/// Returns the error for an endpoint that exists only in other versions.
fn version_without_endpoint(found: &[&'static Route], method: &Method, asked: Version) -> ApiError {
    let of_method = found.iter().filter(|route| route.method == method);
    let names: Vec<&str> = of_method.flat_map(|route| route.versions).map(|version| version.name()).collect();
    let why =
        format!("{} does not have this endpoint; send `Svc-Api-Version: {}`.", asked.name(), names.join("` or `"));
    ApiError::from(Failure::VersionWithoutEndpoint).explained(why)
}

/// Returns the methods of a path in the requested version, or in all versions if it has none in that one.
fn allowed(found: &[&'static Route], version: Option<Version>) -> String {
    let of_version = |route: &&&Route| version.is_some_and(|version| route.versions.contains(&version));
    let anywhere = !found.iter().any(|route| of_version(&route));
    let mut methods: Vec<&str> = Vec::new();
    for route in found.iter().filter(|route| anywhere || of_version(route)) {
        let with_head = (route.method == Method::GET).then_some("HEAD");
        for method in [route.method.as_str()].into_iter().chain(with_head) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
    }
    methods.join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{future::poll_fn, thread, time::Duration};

    use actix_web::http::header::ETAG;
    use engine::turns::WAITING_THREADS;
    use tokio::{runtime::Builder, sync::oneshot, time::timeout};

    use super::*;
    use crate::routes::route;
    use framework::{
        access::{
            arguments::FromCall,
            conditional::Tags,
            respond::{Answer, Plain},
        },
        http::describe::Notes,
        values::secret::Secret,
    };

    async fn answered(read_permits: Option<FairSemaphore>) -> HttpResponse {
        let route: &'static Route = Box::leak(Box::new(route::get("/", here)));
        let call = Box::new(ApiCall::describing(route, Version::V3_0_0, Notes::default()));
        let tagging = Tags::new(&Secret::from_bytes([0; 32])).for_caller(&call.key, Version::V3_0_0);
        answer(route, call, read_permits, Some(tagging)).await.unwrap()
    }

    async fn thread_of(read_permits: bool) -> String {
        let answer = answered(read_permits.then(|| FairSemaphore::at_once(1))).await;
        serde_json::from_slice(&answer.into_body().try_into_bytes().unwrap()).unwrap()
    }

    /// Returns the thread that reads the argument.
    struct ReadingThread(String);

    impl FromCall for ReadingThread {
        fn from_call(_: &mut ApiCall) -> Result<ReadingThread, ApiError> {
            Ok(ReadingThread(format!("{:?}", thread::current().id())))
        }
    }

    async fn here(call: ApiCall, ReadingThread(thread): ReadingThread) -> Answer<Plain<String>> {
        Ok(call.plain(thread))
    }

    #[actix_web::test]
    async fn blocking_handlers_do_not_run_on_the_web_worker() {
        let worker = format!("{:?}", thread::current().id());
        assert_ne!(thread_of(true).await, worker);
        assert_eq!(thread_of(false).await, worker);
        assert!(route::get("/", here).reads && route::post("/", here).reading().reads && !route::post("/", here).reads);
    }

    #[actix_web::test]
    async fn answers_have_entity_tags_on_the_pool_and_on_the_web_worker() {
        for read_permits in [None, Some(FairSemaphore::at_once(1))] {
            assert!(answered(read_permits).await.headers().contains_key(ETAG));
        }
    }

    #[test]
    fn few_calls_wait_for_their_turn_on_a_thread() {
        let threads = WAITING_THREADS + 1;
        let runtime = Builder::new_current_thread().enable_time().max_blocking_threads(threads).build().unwrap();
        runtime.block_on(async {
            let turns = FairSemaphore::at_once(1);
            let turn = turns.take().await;
            let mut waiting: Vec<_> = (0..2 * threads).map(|_| Box::pin(answered(Some(turns.clone())))).collect();
            for call in &mut waiting {
                assert!(poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await);
            }
            timeout(Duration::from_secs(30), web::block(|| ())).await.unwrap().unwrap();
            drop(turn);
            for call in waiting {
                call.await;
            }
        });
    }

    #[actix_web::test]
    async fn a_change_continues_after_its_request_is_dropped() {
        let ((proceed, waiting), (ended, end)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let mut change = ToCompletion(Some(Box::pin(async move {
            waiting.await.unwrap();
            ended.send(()).unwrap();
            Ok(HttpResponse::Ok().finish())
        })));
        assert!(poll_fn(|context| Poll::Ready(Pin::new(&mut change).poll(context).is_pending())).await);
        drop(change);
        proceed.send(()).unwrap();
        end.await.unwrap();
    }
}
