//! Selection of the node that answers a request if there are several, before authentication. The node that owns the
//! institution does everything else.

use std::{rc::Rc, time::Duration};

use actix_web::{HttpMessage, HttpRequest, HttpResponse, dev::Payload, http::Method, web::Bytes};
use engine::{CLUSTER_WIDE, Place};
use tokio::time::{Instant, sleep, timeout};

use framework::{
    http::{
        body::{self, BodyRules},
        context::{RequestContext, from_node},
        endpoint::Endpoint,
        query::Params,
    },
    nodes::forward::{NodeCall, NotForwarded, Peers},
};

use crate::{prelude::*, resources::ehr_events};

/// Maximum wait for an institution in transfer. A planned shutdown transfers faster than this.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(25);
/// Time for a node to complete its responses after it lost an institution.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const RETRY_AFTER: u64 = 1;

/// Responder of a request.
pub(super) enum Placed {
    /// This node. It must still own the institution when a read is answered.
    Here(Option<InstitutionId>, Payload),
    Answered(HttpResponse),
}

/// Waits for the placement of the institution, and forwards the request if another node owns it.
pub(super) async fn place(
    api: &Api,
    peers: &Peers,
    endpoint: &Endpoint,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Placed, ApiError> {
    let institution = match target_of(api, endpoint, request) {
        RequestTarget::Of(institution) => institution,
        RequestTarget::AnyNode => return Ok(Placed::Here(None, payload)),
        RequestTarget::Unknown => return of_another_configuration(api, peers, endpoint, request, payload).await,
    };
    let since = Instant::now();
    let (mut payload, mut body) = (Some(payload), None);
    loop {
        match api.engine.place(institution) {
            Place::Mine => {
                let payload = payload.or(body.map(Payload::from)).unwrap_or(Payload::None);
                return Ok(Placed::Here(Some(institution), payload));
            }
            // A forwarded request is not forwarded again, even if the sender's view is outdated.
            Place::Elsewhere(_) if from_node(request).is_some_and(|it| !it.unplaced) => {}
            Place::Elsewhere(node) => {
                if let Some(payload) = payload.take() {
                    body = Some(collect(api, request, payload).await?);
                }
                match hand_on(api, peers, &node, institution, request, body.clone().unwrap_or_default()).await {
                    Ok(answer) => return Ok(Placed::Answered(answer)),
                    Err(NotForwarded::NotSent) => {}
                    // GET requests are safe to repeat.
                    Err(NotForwarded::NoAnswer) if endpoint.method == Method::GET => {}
                    Err(unknown) => return Err(unknown.into()),
                }
            }
            Place::Unsettled => {}
        }
        if since.elapsed() > PATIENCE {
            return Err(ApiError::unavailable(RETRY_AFTER));
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Handles a request for an institution or location unknown to this node. Forwards it to nodes with another
/// configuration, which may know it. If all configurations are equal, it does not exist.
async fn of_another_configuration(
    api: &Api,
    peers: &Peers,
    endpoint: &Endpoint,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Placed, ApiError> {
    let others = api.engine.nodes_configured_differently();
    if others.is_empty() || from_node(request).is_some() {
        return Ok(Placed::Here(None, payload));
    }
    let body = collect(api, request, payload).await?;
    for node in others {
        // The timeout covers a wait for placement and another forward at that node. Without a known institution, `lost`
        // cannot end the wait earlier.
        let answer = timeout(PATIENCE + LAST_ANSWERS, forward(api, peers, &node, request, true, body.clone())).await;
        match answer.unwrap_or(Err(NotForwarded::NoAnswer)) {
            Ok(answer) => return Ok(Placed::Answered(answer)),
            Err(NotForwarded::NotSent) => {}
            // GET requests are safe to repeat.
            Err(NotForwarded::NoAnswer) if endpoint.method == Method::GET => {}
            Err(unknown) => return Err(unknown.into()),
        }
    }
    Err(ApiError::unavailable(RETRY_AFTER))
}

async fn collect(api: &Api, request: &HttpRequest, payload: Payload) -> Result<Bytes, ApiError> {
    let edge = api.edge();
    let max_bytes = ehr_events::max_body(request.path(), edge.rules.max_body);
    let rules = BodyRules { max_bytes, timeout: edge.rules.body_timeout };
    body::collect(request.headers(), payload, rules).await
}

/// Institution of a request.
enum RequestTarget {
    Of(InstitutionId),
    /// Any node can answer from the store.
    AnyNode,
    /// Unknown in the configuration of this node.
    Unknown,
}

fn target_of(api: &Api, endpoint: &Endpoint, request: &HttpRequest) -> RequestTarget {
    if let Some(source) = ehr_events::source_of(request.path()) {
        let source = api.engine.setup().sources.get(&source).map(|source| source.institution);
        return source.map_or(RequestTarget::AnyNode, RequestTarget::Of);
    }
    // Webhook endpoints and subscriptions have a single writer node, and guesses of pairing codes a single counter.
    if ["/webhook_endpoints", "/webhooks", "/workstations/pair"].iter().any(|of_all| endpoint.path.starts_with(of_all))
    {
        return RequestTarget::Of(CLUSTER_WIDE);
    }
    let Ok(query) = Params::parse(request.query_string()) else { return RequestTarget::AnyNode };
    let known = |institution: Option<InstitutionId>| institution.map_or(RequestTarget::Unknown, RequestTarget::Of);
    if let Some(subdomain) = query.text("subdomain") {
        return known(api.directory().institution_named(subdomain).map(|institution| institution.id));
    }
    let of_location = endpoint.path.starts_with("/locations/{id}/");
    let mut parameters = endpoint.parameters(request.match_info().as_str());
    let id = parameters.find(|(name, _)| of_location && *name == "id");
    let Some(location) = id.and_then(|(_, id)| id.parse().ok()) else { return RequestTarget::AnyNode };
    known(api.engine.setup().locations.get(&LocationId(location)).map(|location| location.institution))
}

async fn hand_on(
    api: &Api,
    peers: &Peers,
    node: &str,
    institution: InstitutionId,
    request: &HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, NotForwarded> {
    tokio::select! {
        answer = forward(api, peers, node, request, false, body) => answer,
        () = lost(api, node, institution) => Err(NotForwarded::NoAnswer),
    }
}

async fn forward(
    api: &Api,
    peers: &Peers,
    node: &str,
    request: &HttpRequest,
    unplaced: bool,
    body: Bytes,
) -> Result<HttpResponse, NotForwarded> {
    let context = request.extensions().get::<Rc<RequestContext>>().cloned();
    let id = context.as_deref().map_or("", RequestContext::request_id);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let (method, headers, client) = (request.method(), request.headers(), api.client(request));
    let call = NodeCall { method, path, headers, id, client, counted: false, unplaced, body };
    peers.forward(node, &call).await
}

/// Returns once the institution has left the node and its responses in flight have had time to complete.
async fn lost(api: &Api, node: &str, institution: InstitutionId) {
    let mut since = None;
    loop {
        sleep(LOOK_AGAIN * 10).await;
        match api.engine.place(institution) {
            Place::Elsewhere(other) if other == node => since = None,
            _ if since.get_or_insert_with(Instant::now).elapsed() > LAST_ANSWERS => return,
            _ => {}
        }
    }
}
