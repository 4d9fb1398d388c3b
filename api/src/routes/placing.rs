//! Whose a request is, before anything of it is read: the node that has the institution does all the rest, from the token on.

use std::{rc::Rc, time::Duration};

use actix_web::{HttpMessage, HttpRequest, HttpResponse, dev::Payload, http::Method, web::Bytes};
use engine::{EVERYBODY, Place};
use location::ids::{InstitutionId, LocationId};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    access::api::Api,
    http::{
        body::{self, BodyRules},
        context::RequestContext,
        endpoint::Endpoint,
        errors::ApiError,
        query::Params,
    },
    nodes::{
        admission::from_node,
        forward::{NodeCall, NotForwarded, Peers},
    },
};

/// How long a request waits for an institution that is moving. A node that leaves in order has handed over within this time.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(25);
/// What a node that has lost an institution may still answer.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const RETRY_AFTER: u64 = 1;

/// Who answers a request.
pub(super) enum Placed {
    /// This node; the institution has to be here still when a reading is answered.
    Here(Option<InstitutionId>, Payload),
    Answered(HttpResponse),
}

/// Waits for the place of what the request is for, and hands it on where that is another node.
pub(super) async fn place(
    api: &Api,
    endpoint: &Endpoint,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Placed, ApiError> {
    let Some(peers) = &api.peers else { return Ok(Placed::Here(None, payload)) };
    let institution = match whose(api, endpoint, request) {
        Whose::Of(institution) => institution,
        Whose::Anybody => return Ok(Placed::Here(None, payload)),
        Whose::Unknown => return of_another_configuration(api, peers, endpoint, request, payload).await,
    };
    let since = Instant::now();
    let (mut payload, mut body) = (Some(payload), None);
    loop {
        match api.engine.place(institution) {
            Place::Mine => {
                let payload = payload.or(body.map(Payload::from)).unwrap_or(Payload::None);
                return Ok(Placed::Here(Some(institution), payload));
            }
            // Once: who handed it on was wrong, or this node is.
            Place::Elsewhere(_) if from_node(request).is_some_and(|it| !it.unplaced) => {}
            Place::Elsewhere(node) => {
                if let Some(payload) = payload.take() {
                    body = Some(collect(api, request, payload).await?);
                }
                match hand_on(api, peers, &node, institution, request, body.clone().unwrap_or_default()).await {
                    Ok(answer) => return Ok(Placed::Answered(answer)),
                    Err(NotForwarded::NotSent) => {}
                    // Asking changes nothing.
                    Err(NotForwarded::NoAnswer) if endpoint.method == Method::GET => {}
                    Err(unknown) => return Err(unknown.into()),
                }
            }
            Place::Unsettled => {}
        }
        if since.elapsed() > PATIENCE {
            return Err(ApiError::Unavailable { retry_after: RETRY_AFTER });
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// What is not in the configuration of this node may be in that of another, which has it already, or still. Where they are the same, it is
/// nowhere.
async fn of_another_configuration(
    api: &Api,
    peers: &Peers,
    endpoint: &Endpoint,
    request: &HttpRequest,
    payload: Payload,
) -> Result<Placed, ApiError> {
    let others = api.engine.nodes_set_up_otherwise();
    if others.is_empty() || from_node(request).is_some() {
        return Ok(Placed::Here(None, payload));
    }
    let body = collect(api, request, payload).await?;
    for node in others {
        // No place of it is known whose loss would end the waiting. It may wait there for its place too, and be handed on once more.
        let answer = timeout(PATIENCE + LAST_ANSWERS, forward(api, peers, &node, request, true, body.clone())).await;
        match answer.unwrap_or(Err(NotForwarded::NoAnswer)) {
            Ok(answer) => return Ok(Placed::Answered(answer)),
            Err(NotForwarded::NotSent) => {}
            // Asking changes nothing.
            Err(NotForwarded::NoAnswer) if endpoint.method == Method::GET => {}
            Err(unknown) => return Err(unknown.into()),
        }
    }
    Err(ApiError::Unavailable { retry_after: RETRY_AFTER })
}

async fn collect(api: &Api, request: &HttpRequest, payload: Payload) -> Result<Bytes, ApiError> {
    let edge = api.edge();
    let rules = BodyRules { max_bytes: edge.rules.max_body, timeout: edge.rules.body_timeout };
    body::collect(request.headers(), payload, rules).await
}

/// Whom a request is for.
enum Whose {
    Of(InstitutionId),
    /// Any node answers it, from the store.
    Anybody,
    /// It names what the configuration of this node does not have.
    Unknown,
}

fn whose(api: &Api, endpoint: &Endpoint, request: &HttpRequest) -> Whose {
    // Endpoints and subscriptions are changed by one node at a time, and pairing codes guessed at one.
    if ["/webhook_endpoints", "/webhooks", "/workstations/pair"].iter().any(|of_all| endpoint.path.starts_with(of_all))
    {
        return Whose::Of(EVERYBODY);
    }
    let Ok(query) = Params::parse(request.query_string()) else { return Whose::Anybody };
    let known = |institution: Option<InstitutionId>| institution.map_or(Whose::Unknown, Whose::Of);
    if let Some(subdomain) = query.text("subdomain") {
        return known(api.directory().institution_named(subdomain).map(|institution| institution.id));
    }
    let of_location = endpoint.path.starts_with("/locations/{id}/");
    let location = of_location.then(|| request.match_info().get("id")?.parse().ok()).flatten();
    let Some(location) = location else { return Whose::Anybody };
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
    let id = context.as_ref().and_then(|context| context.id.get()?.to_str().ok()).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let (method, headers, client) = (request.method(), request.headers(), api.client(request));
    let call = NodeCall { method, path, headers, id, client, counted: false, unplaced, body };
    peers.forward(node, &call).await
}

/// The institution is no longer on that node, and what was under way there has had time to end.
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
