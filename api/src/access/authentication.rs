//! Whose call it is, by its Authorization header, and what its key must be granted.

use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use engine::setup::Environment;

use super::{
    api::Api,
    keys::{ApiKey, Grants},
};
use crate::{
    http::{endpoint::Endpoint, errors::ApiError},
    values::{
        reasons::Reason,
        token::{TokenFault, looks_like_a_token},
        versions::Version,
    },
};

/// The key of calls without one: it reaches nothing.
pub(crate) fn nobody() -> ApiKey {
    ApiKey {
        name: String::new(),
        hash: [0; 32],
        environment: Environment::Sandbox,
        institutions: Vec::new(),
        locations: Some(Vec::new()),
        grants: Grants::default(),
        organisation: String::new(),
    }
}

/// The raw text of the Authorization header.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let one = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(one)
}

pub(crate) fn api_key(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let key = authorization(headers).ok_or(ApiError::Credentials)?;
    api.keys().presented(key).cloned().ok_or(ApiError::Credentials)
}

/// The scheme is written in any case (RFC 9110, 11.1).
fn bearer_of(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token)
}

pub(crate) fn bearer(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let no = |reason| ApiError::Token.because(reason);
    let given = authorization(headers).map(str::trim).ok_or(no(Reason::TokenMissing))?;
    if api.edge().rules.compatibility.raw_keys
        && let Some(key) = raw_key(api, given)
    {
        return Ok(key);
    }
    let token = bearer_of(given).map(str::trim);
    let token = token.filter(|token| looks_like_a_token(token)).ok_or_else(|| no(not_a_token(given)))?;
    let claims = api.tokens.verify(token, api.engine.now()).map_err(|fault| match fault {
        TokenFault::Expired => no(Reason::TokenExpired),
        TokenFault::Invalid => no(Reason::TokenInvalid),
    })?;
    api.keys().by_id(&claims.sub).cloned().ok_or(no(Reason::KeyRevoked))
}

/// An API key in the place of a token, with `Bearer` or without: only where the configuration lets it in.
fn raw_key(api: &Api, given: &str) -> Option<Arc<ApiKey>> {
    let bare = bearer_of(given).unwrap_or(given).trim();
    (!looks_like_a_token(bare)).then(|| api.keys().presented(bare).cloned()).flatten()
}

/// Judged by its form alone: whether it is a key of ours is not told here.
fn not_a_token(given: &str) -> Reason {
    let bare = bearer_of(given).unwrap_or(given).trim();
    let one_word = !bare.is_empty() && !bare.contains(char::is_whitespace);
    if one_word && !looks_like_a_token(bare) { Reason::ApiKeyInsteadOfToken } else { Reason::TokenMalformed }
}

/// The grant a call would need and the key lacks.
pub(crate) fn lacking(endpoint: &Endpoint, version: Version, grants: Grants) -> Option<&'static str> {
    let needed = [
        ("beta", version == Version::V3_1_0 && !grants.beta),
        ("financial", endpoint.financial && !grants.financial),
        ("operator", endpoint.operator && !grants.operator),
    ];
    needed.into_iter().find(|(_, lacks)| *lacks).map(|(grant, _)| grant)
}
