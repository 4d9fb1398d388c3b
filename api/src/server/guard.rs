//! Middleware of all requests: request id, User-Agent rule, panics, shutdown, metrics and access log. The log contains
//! no client text except the request id.

use std::{
    cell::OnceCell,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::atomic::Ordering,
    task::Poll,
    time::Instant,
};

use actix_web::{
    Error, HttpMessage, HttpResponse, ResponseError,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    error::InternalError,
    http::{
        ConnectionType, Method, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT, X_CONTENT_TYPE_OPTIONS},
    },
    middleware::Next,
    web::Data,
};
use endpoints::routes::table;
use engine::origin::{Origin, on_behalf_of};
use framework::{
    access::{api::Api, authentication::for_operators},
    http::{
        context::{InternalListener, REQUEST_ID, RequestContext, TOOL},
        cors,
        errors::{ApiError, is_intent},
        rate_limit::RateLimitState,
        response_body::{NDJSON, SLICE, SlicedBody, StaticBody},
        rules::HttpRules,
    },
    nodes::{admission, forward::PROOF},
    values::{failures::Failure, limits::MAX_REQUEST_ID},
};
use tracing::{Span, field::Empty, trace_span};

use crate::server::connection::Live;

/// Log target of the access log.
const ACCESS: &str = "access";
/// Endpoints that machines poll every few seconds. They are counted in /metrics but not logged.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// State of the tightest rate limit.
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

pub async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Instant::now();
    let id = request_id(request.headers());
    let span = span(&request, &id);
    let api = request.app_data::<Data<Api>>().cloned().ok_or_else(ApiError::internal)?;
    let context = Rc::new(RequestContext { id: OnceCell::from(id.clone()), ..RequestContext::default() });
    request.extensions_mut().insert(context.clone());
    let mut proof = None;
    if request.app_data::<InternalListener>().is_some() {
        let Some(admitted) = api.peers.as_ref().and_then(|peers| admission::admit(peers, &request)) else {
            tracing::warn!("a call to the internal listener did not prove the shared secret");
            return Ok(request.into_response(HttpResponse::Forbidden().finish()));
        };
        request.extensions_mut().insert(admitted.call);
        proof = Some(admitted.answer);
    } else {
        request.headers_mut().remove(TOOL);
    }
    let client = api.client(request.request());
    let edge = api.edge();
    let origin = cors::allowed(&edge.rules.cors_origins, &request);
    let is_intent = is_intent(request.match_info().as_str());
    let mut answer = if origin.is_some() && cors::is_preflight(&request) {
        Ok(request.into_response(cors::preflight(&edge.rules.compatibility)))
    } else if named(&edge.rules, &request) {
        let origin = id.to_str().ok().map(Origin::from);
        caught(on_behalf_of(origin, next.call(request)), is_intent).await.map(|response| sliced(&api, response))
    } else {
        let refused = ApiError::from(Failure::UserAgentRefused).of_intent(is_intent);
        Ok(request.into_response(refused.error_response()))
    };
    let response = match &mut answer {
        Ok(response) => response.response_mut().head_mut(),
        Err(response) => response.head_mut(),
    };
    // The client must not send another request on a connection that is about to close.
    if api.leaving.load(Ordering::Relaxed) {
        response.set_connection_type(ConnectionType::Close);
    }
    let (status, headers) = (response.status, &mut response.headers);
    headers.insert(REQUEST_ID, id.clone());
    head(headers, context.limit_state.get());
    let took = started.elapsed();
    match proof {
        Some(proof) => drop(headers.insert(PROOF, proof)),
        // The receiving node counts forwarded requests.
        None => {
            origin.into_iter().for_each(|origin| cors::open(headers, origin));
            api.metrics.count(context.endpoint.get(), status.as_u16(), took);
        }
    }
    if status == StatusCode::TOO_MANY_REQUESTS {
        api.metrics
            .limited(context.limit_state.get().filter(|limit_state| limit_state.remaining == 0).map(|it| it.per));
    }
    let (method, route) = context.endpoint.get().map_or(("-", "-"), |it| (it.method, it.path));
    if !span.is_disabled() {
        span.record("otel.name", format!("{method} {route}"));
        span.record("http.request.method", method).record("http.route", route);
        span.record("http.response.status_code", status.as_u16());
        if status.is_server_error() {
            span.record("otel.status_code", "error");
        }
    }
    if !PROBES.contains(&route) {
        tracing::info!(
            target: ACCESS,
            method,
            route,
            status = status.as_u16(),
            milliseconds = took.as_micros() as f64 / 1e3,
            request = id.to_str().unwrap_or_default(),
            key = context.key.get(),
            client = client.map(tracing::field::display),
            "answered"
        );
    }
    // A response without its request can only be returned as an error; the client sees no difference.
    answer.map_err(|response| InternalError::from_response("", response).into())
}

/// Splits the body into slices. Responds with 503 to a GET whose body would exceed the limit of responses in flight.
fn sliced(api: &Api, response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let (request, response) = response.into_parts();
    if let Some(Live(live)) = request.conn_data::<Rc<Live>>().map(Rc::as_ref) {
        // A stream of records ends as soon as its client has read it.
        let is_of_records = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == NDJSON);
        live.set(response.body().size() == BodySize::Stream && !is_of_records);
    }
    if matches!(response.body().size(), BodySize::Sized(size) if size <= SLICE as u64) {
        return ServiceResponse::new(request, response);
    }
    let is_of_the_program = response.extensions().contains::<StaticBody>();
    let (head, body) = response.into_parts();
    let body = match body.try_into_bytes() {
        Err(stream) => SlicedBody::from_stream(stream),
        Ok(bytes) if is_of_the_program || request.method() == Method::HEAD => SlicedBody::from_bytes(bytes, None),
        Ok(bytes) => {
            let (size, limit) = (bytes.len() as u64, api.edge().rules.max_response_bytes);
            let may_refuse = request.method() == Method::GET && !for_operators(&request);
            let reserved = match may_refuse {
                true => api.response_bytes.reserve(size, limit),
                // A change has already happened, and operators need their responses to investigate.
                false => Some(api.response_bytes.add(size)),
            };
            if reserved.is_none() {
                let is_intent = is_intent(request.match_info().as_str());
                let refused = ApiError::from(Failure::ResponsesFull).of_intent(is_intent);
                return ServiceResponse::new(request, refused.error_response());
            }
            SlicedBody::from_bytes(bytes, reserved)
        }
    };
    ServiceResponse::new(request, head.set_body(body).map_into_boxed_body())
}

/// Creates the trace span. It contains no client text except the request id.
fn span(request: &ServiceRequest, id: &HeaderValue) -> Span {
    if PROBES.contains(&request.path()) {
        return Span::none();
    }
    trace_span!(
        "request",
        otel.kind = "server",
        otel.name = Empty,
        otel.status_code = Empty,
        request = id.to_str().unwrap_or_default(),
        handed_on = request.app_data::<InternalListener>().is_some(),
        http.request.method = Empty,
        http.route = Empty,
        http.response.status_code = Empty,
    )
}

/// Sets common headers. Responses contain patient data, keys and tokens, so intermediaries must not store them unless
/// the endpoint allows it.
fn head(headers: &mut HeaderMap, limit_state: Option<RateLimitState>) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Some(RateLimitState { limit, remaining, reset, .. }) = limit_state {
        headers.insert(RATE_LIMIT, limit.into());
        headers.insert(RATE_REMAINING, remaining.into());
        headers.insert(RATE_RESET, reset.into());
    }
}

/// Returns the client's request id if it is valid, which helps support to find the request, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sane = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    let given =
        headers.get(REQUEST_ID).filter(|id| (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(sane));
    let new = || HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()).expect("a uuid is a valid header value");
    given.cloned().or_else(|| of_callers_trace(headers)).unwrap_or_else(new)
}

/// Returns `TRACE-SPAN` of the caller's `traceparent` as request id, so that the work for the request joins its trace.
fn of_callers_trace(headers: &HeaderMap) -> Option<HeaderValue> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = parent.strip_prefix("00-")?.split('-');
    let hex = |length: usize, part: &&str| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let (trace, span) = (parts.next().filter(|it| hex(32, it))?, parts.next().filter(|it| hex(16, it))?);
    HeaderValue::from_str(&format!("{trace}-{span}")).ok()
}

/// Returns `true` if the User-Agent names the application (specification 5.8).
fn named(rules: &HttpRules, request: &ServiceRequest) -> bool {
    let Some(refused) = &rules.compatibility.refused_user_agents else { return true };
    if table::is_open(request.path()) {
        return true;
    }
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default().trim();
    // Only the first product counts (RFC 9110, 10.1.5): `node` does not match `NodeClinic/2.0`.
    let product = agent.split(|c: char| c == '/' || c.is_whitespace()).next().unwrap_or_default();
    !product.is_empty() && !refused.iter().any(|refused| refused.eq_ignore_ascii_case(product))
}

/// Converts a panic into an error response of its request.
async fn caught<B: MessageBody + 'static>(
    answering: impl Future<Output = Result<ServiceResponse<B>, Error>>,
    is_intent: bool,
) -> Result<ServiceResponse<BoxBody>, HttpResponse> {
    let mut answering = pin!(answering);
    let poll = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(())),
    });
    match poll.await {
        Ok(Ok(response)) => Ok(response.map_into_boxed_body()),
        Ok(Err(error)) => Err(error.error_response()),
        Err(()) => {
            tracing::error!("a request ended in a panic");
            Err(ApiError::internal().of_intent(is_intent).error_response())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answered_id(given: Option<&'static str>) -> String {
        let mut headers = HeaderMap::new();
        if let Some(id) = given {
            headers.insert(REQUEST_ID, HeaderValue::from_static(id));
        }
        request_id(&headers).to_str().unwrap().to_owned()
    }

    #[test]
    fn sane_ids_are_echoed_and_others_replaced() {
        assert_eq!(answered_id(Some("call-7.a_b:c")), "call-7.a_b:c");
        let long: &'static str = Box::leak("x".repeat(129).into_boxed_str());
        for given in [None, Some(""), Some("a b"), Some("<script>"), Some(long)] {
            assert_eq!(answered_id(given).len(), 36, "{given:?}");
        }
    }

    #[test]
    fn request_id_follows_from_traceparent() {
        let parent = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static("traceparent"), HeaderValue::from_static(text));
            request_id(&headers).to_str().unwrap().to_owned()
        };
        let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        assert_eq!(parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ids);
        for odd in ["", "01-4bf9", "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", "00-x-y-01"] {
            assert_eq!(parent(odd).len(), 36, "{odd}");
        }
    }

    #[actix_web::test]
    async fn a_panic_becomes_an_answer() {
        let panics = async { panic!("on purpose") };
        let answer = caught::<BoxBody>(panics, false).await.unwrap_err();
        assert_eq!(answer.status(), 500);
    }
}
