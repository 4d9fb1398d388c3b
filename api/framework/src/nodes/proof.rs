//! Mutual authentication of nodes: caller and responder each prove knowledge of the shared secret. Each proof contains
//! a nonce and is valid for one call, so responses cannot be replayed.

use std::net::IpAddr;

use crate::values::secret::{MacKey, Secret, joined, random};

/// Authenticated content of a call.
pub(super) struct Called<'a> {
    pub method: &'a str,
    /// Path with query.
    pub path: &'a str,
    /// Address of the original client.
    pub client: Option<IpAddr>,
}

#[derive(Clone)]
pub(super) struct Proofs {
    calls: MacKey,
    answers: MacKey,
}

/// Proof as sent in a header: nonce and MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    nonce: [u8; 16],
    tag: [u8; 32],
}

impl Proofs {
    pub(super) fn new(secret: &Secret) -> Proofs {
        Proofs { calls: secret.key("calls of nodes"), answers: secret.key("answers of nodes") }
    }

    pub(super) fn prove_call(&self, call: &Called<'_>) -> Proof {
        let nonce = random();
        Proof { nonce, tag: self.calls.tag(&[&call.bytes(nonce)]) }
    }

    pub(super) fn verifies_call(&self, proof: &Proof, call: &Called<'_>) -> bool {
        self.calls.verifies(&[&call.bytes(proof.nonce)], &proof.tag)
    }

    /// Creates the proof of the response, which requires the secret too.
    pub(super) fn prove_answer(&self, to: &Proof) -> Proof {
        Proof { nonce: to.nonce, tag: self.answers.tag(&[&to.nonce, &to.tag]) }
    }

    pub(super) fn verifies_answer(&self, proof: &Proof, to: &Proof) -> bool {
        proof.nonce == to.nonce && self.answers.verifies(&[&to.nonce, &to.tag], &proof.tag)
    }
}

impl Called<'_> {
    fn bytes(&self, nonce: [u8; 16]) -> Vec<u8> {
        let client = self.client.map(|client| client.to_string()).unwrap_or_default();
        let parts = joined([self.method, self.path, &client].map(str::as_bytes));
        [&nonce[..], &parts].concat()
    }
}

impl Proof {
    pub(super) fn text(&self) -> String {
        format!("{}.{}", hex::encode(self.nonce), hex::encode(self.tag))
    }

    pub(super) fn parse(text: &str) -> Option<Proof> {
        let (nonce, tag) = text.split_once('.')?;
        let mut proof = Proof { nonce: [0; 16], tag: [0; 32] };
        hex::decode_to_slice(nonce, &mut proof.nonce).ok()?;
        hex::decode_to_slice(tag, &mut proof.tag).ok()?;
        Some(proof)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn called<'a>(method: &'a str, path: &'a str, client: &str) -> Called<'a> {
        Called { method, path, client: client.parse().ok() }
    }

    #[test]
    fn a_proof_is_for_one_call_and_one_secret() {
        let (ours, theirs) = (Proofs::new(&Secret::from_bytes([1; 32])), Proofs::new(&Secret::from_bytes([2; 32])));
        let call = called("GET", "/patients?subdomain=a", "192.0.2.1");
        let proof = Proof::parse(&ours.prove_call(&call).text()).unwrap();
        assert!(ours.verifies_call(&proof, &call));
        assert!(!theirs.verifies_call(&proof, &call));
        for other in [
            called("POST", "/patients?subdomain=a", "192.0.2.1"),
            called("GET", "/patients?subdomain=b", "192.0.2.1"),
            called("GET", "/patients?subdomain=a", "192.0.2.2"),
            called("GET/", "patients?subdomain=a", "192.0.2.1"),
        ] {
            assert!(!ours.verifies_call(&proof, &other));
        }
        assert!(ours.prove_call(&call) != proof, "a number that is used once");
    }

    #[test]
    fn a_response_proof_is_valid_for_one_call() {
        let (ours, theirs) = (Proofs::new(&Secret::from_bytes([1; 32])), Proofs::new(&Secret::from_bytes([2; 32])));
        let call = called("GET", "/", "");
        let (one, another) = (ours.prove_call(&call), ours.prove_call(&call));
        let answer = Proof::parse(&ours.prove_answer(&one).text()).unwrap();
        assert!(ours.verifies_answer(&answer, &one));
        assert!(!ours.verifies_answer(&answer, &another));
        assert!(!ours.verifies_answer(&theirs.prove_answer(&one), &one));
        assert!(!ours.verifies_answer(&one, &one), "who repeats the call proves nothing");
    }

    #[test]
    fn malformed_proofs_are_refused() {
        for text in ["", ".", "00.00", "zz"] {
            assert!(Proof::parse(text).is_none(), "{text}");
        }
    }
}
