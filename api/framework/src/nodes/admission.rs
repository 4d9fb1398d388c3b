//! Admission at the internal listener, where callers must prove to be nodes.

use actix_web::{
    dev::ServiceRequest,
    http::header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{
    forward::{CLIENT, COUNTED, PROOF, Peers, UNPLACED},
    proof::{Called, Proof},
};
use crate::http::context::FromNode;

/// Call of a node, and the proof for the response.
pub struct Admitted {
    pub call: FromNode,
    pub answer: HeaderValue,
}

/// Verifies the proof. Returns `None` if the caller does not have the secret.
pub fn admit(peers: &Peers, request: &ServiceRequest) -> Option<Admitted> {
    let proofs = &peers.proofs;
    let headers = request.headers();
    let proof = Proof::parse(text(headers, &PROOF)?)?;
    let client = match text(headers, &CLIENT)? {
        "" => None,
        address => Some(address.parse().ok()?),
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let called = Called { method: request.method().as_str(), path, client };
    let answer = proofs.verifies_call(&proof, &called).then(|| proofs.prove_answer(&proof))?;
    Some(Admitted {
        call: FromNode { client, counted: headers.contains_key(COUNTED), unplaced: headers.contains_key(UNPLACED) },
        answer: HeaderValue::from_str(&answer.text()).ok()?,
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}
