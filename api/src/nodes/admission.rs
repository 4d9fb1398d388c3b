//! The internal listener: whoever calls there proves to be a node, and is told by whom.

use std::net::IpAddr;

use actix_web::{
    HttpMessage, HttpRequest,
    dev::ServiceRequest,
    http::header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{
    forward::{CLIENT, COUNTED, PROOF, Peers, UNPLACED},
    proof::{Called, Proof},
};

/// In the extensions of a call that another node handed on.
#[derive(Clone, Copy)]
pub(crate) struct FromNode {
    /// Whose call it is.
    pub client: Option<IpAddr>,
    /// It is part of one that the limits of its key have counted there.
    pub counted: bool,
    /// The other node does not know its place.
    pub unplaced: bool,
}

/// None: it came from a client.
pub(crate) fn from_node(request: &HttpRequest) -> Option<FromNode> {
    request.extensions().get::<FromNode>().copied()
}

/// Data of the app that serves the internal listener.
#[derive(Clone, Copy)]
pub(crate) struct InternalListener;

/// A call that proved to be a node's, and the proof its answer carries.
pub(crate) struct Admitted {
    pub call: FromNode,
    pub answer: HeaderValue,
}

/// None: whoever calls does not have the secret.
pub(crate) fn admit(peers: &Peers, request: &ServiceRequest) -> Option<Admitted> {
    let proofs = peers.proofs();
    let headers = request.headers();
    let proof = Proof::parse(text(headers, &PROOF)?)?;
    let client = match text(headers, &CLIENT)? {
        "" => None,
        address => Some(address.parse().ok()?),
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let called = Called { method: request.method().as_str(), path, client };
    let answer = proofs.is_of_call(&proof, &called).then(|| proofs.of_answer(&proof))?;
    Some(Admitted {
        call: FromNode { client, counted: headers.contains_key(COUNTED), unplaced: headers.contains_key(UNPLACED) },
        answer: HeaderValue::from_str(&answer.text()).ok()?,
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
