//! Endpoints as attempts use them: their URL and their keys, prepared once until the endpoint changes.

use std::{collections::HashMap, sync::Arc};

use location::time::Timestamp;
use parking_lot::Mutex;
use uuid::Uuid;

use super::{
    egress::{Egress, RefusedUrl, TargetUrl},
    model::{Endpoint, EndpointId, NextSecret, signing},
    sign::{self, EncodedBody, Signer},
};

/// An endpoint with its checked URL and the keys of its secrets.
pub(crate) struct Target {
    endpoint: Arc<Endpoint>,
    pub url: Result<TargetUrl, RefusedUrl>,
    signer: Signer,
    next: Option<Signer>,
}

impl Target {
    fn new(endpoint: Arc<Endpoint>, egress: &Egress) -> Target {
        let next = endpoint.next_secret.as_ref().map(|next| Signer::new(&next.secret_key));
        let (url, signer) = (egress.check_url(&endpoint.target_url), Signer::new(&endpoint.secret_key));
        Target { endpoint, url, signer, next }
    }

    /// Returns the headers of an attempt that begins at `at`.
    pub(crate) fn headers(&self, id: Uuid, at: Timestamp, body: &EncodedBody) -> Vec<(&'static str, String)> {
        let alone_from = self.endpoint.next_secret.as_ref().map(|NextSecret { alone_from, .. }| *alone_from);
        let (signer, next) = signing(at, &self.signer, alone_from.zip(self.next.as_ref()));
        let (id, timestamp, seconds) = (id.to_string(), sign::timestamp(at), sign::seconds(at));
        let mut headers = vec![("signature", signer.sign(&timestamp, &body.encoded))];
        headers.extend(next.map(|next| ("signature-next", next.sign(&timestamp, &body.encoded))));
        let standard = sign::standard([signer].into_iter().chain(next), &id, &seconds, &body.bytes);
        headers.extend(standard.map(|signature| ("webhook-signature", signature)));
        headers.extend([("timestamp", timestamp), ("webhook-timestamp", seconds)]);
        headers.extend([("delivery-id", id.clone()), ("webhook-id", id)]);
        headers
    }
}

/// The prepared endpoints.
#[derive(Default)]
pub(crate) struct Targets(Mutex<HashMap<EndpointId, Arc<Target>>>);

impl Targets {
    /// Returns the prepared endpoint. Prepares it if this is the first attempt, or if the endpoint has changed since
    /// the last one.
    pub(crate) fn prepared(&self, endpoint: &Arc<Endpoint>, egress: &Egress) -> Arc<Target> {
        let mut targets = self.0.lock();
        if let Some(target) = targets.get(&endpoint.id).filter(|it| Arc::ptr_eq(&it.endpoint, endpoint)) {
            return target.clone();
        }
        // Changed and deleted endpoints are dropped each time the number of endpoints has doubled.
        if targets.len().is_power_of_two() {
            // The registry holds the endpoints that were neither changed nor deleted.
            targets.retain(|_, target| Arc::strong_count(&target.endpoint) > 1);
        }
        let target = Arc::new(Target::new(endpoint.clone(), egress));
        targets.insert(endpoint.id, target.clone());
        target
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::time::DAY;

    use super::*;
    use crate::{egress::Reach, model::Owner, sign::SecretKey};

    const T0: Timestamp = Timestamp(1_795_255_200_000);

    fn endpoint(id: i32, target_url: &str) -> Arc<Endpoint> {
        Arc::new(Endpoint {
            id: EndpointId(id),
            owner: Owner("org".to_owned()),
            target_url: target_url.to_owned(),
            secret_key: SecretKey::from_entropy([1; 32]),
            next_secret: None,
            active: true,
            created_at: T0,
            updated_at: T0,
            failing_since: None,
            last_failed: None,
        })
    }

    #[test]
    fn an_endpoint_is_prepared_once_until_it_changes() {
        let (targets, egress) = (Targets::default(), Egress::new(Reach::PublicAndLoopback).unwrap());
        let before = endpoint(1, "https://a.example.com/hook");
        let first = targets.prepared(&before, &egress);
        assert!(Arc::ptr_eq(&first, &targets.prepared(&before, &egress)));
        let changed = endpoint(1, "https://10.0.0.1/");
        let next = targets.prepared(&changed, &egress);
        assert!(!Arc::ptr_eq(&first, &next));
        assert_eq!((first.url.is_ok(), next.url.as_ref().err()), (true, Some(&RefusedUrl::NotPublic)));
    }

    #[test]
    fn deleted_endpoints_are_dropped() {
        let (targets, egress) = (Targets::default(), Egress::new(Reach::PublicAndLoopback).unwrap());
        let kept = endpoint(0, "https://a.example.com/");
        targets.prepared(&kept, &egress);
        for id in 1..1_000 {
            targets.prepared(&endpoint(id, "https://a.example.com/"), &egress);
        }
        let targets = targets.0.lock();
        assert!(targets.len() <= 2 && targets.contains_key(&kept.id), "{}", targets.len());
    }

    #[test]
    fn both_secrets_sign_until_the_end_of_a_rotation() {
        let egress = Egress::new(Reach::PublicAndLoopback).unwrap();
        let (earlier, later) = (SecretKey::from_entropy([1; 32]), SecretKey::from_entropy([2; 32]));
        let alone_from = T0.plus(DAY);
        let next_secret = Some(NextSecret { secret_key: later.clone(), alone_from });
        let rotating =
            Endpoint { secret_key: earlier, next_secret, ..(*endpoint(1, "https://a.example.com/")).clone() };
        let target = Target::new(Arc::new(rotating.clone()), &egress);
        for at in [T0, alone_from.minus(1), alone_from] {
            let headers = target.headers(Uuid::nil(), at, &EncodedBody::new(b"{}".to_vec()));
            let header =
                |name: &str| headers.iter().find(|(header, _)| *header == name).map(|(_, value)| value.as_str());
            let signed_by = |name: &str, secret: &SecretKey| {
                header(name).is_some_and(|it| sign::verify(secret.reveal(), &sign::timestamp(at), b"{}", it))
            };
            let (first, second) = rotating.secrets(at);
            assert!(signed_by("signature", first));
            assert_eq!(header("signature-next").is_some(), second.is_some());
            assert!(second.is_none_or(|second| signed_by("signature-next", second)));
            let signatures = header("webhook-signature").unwrap().split(' ').count();
            assert_eq!(signatures, 1 + usize::from(second.is_some()));
        }
    }
}
