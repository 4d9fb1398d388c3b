//! Authentication by the Authorization header, and checks of grants and roles.

use std::sync::Arc;

use actix_web::{
    HttpRequest,
    http::header::{AUTHORIZATION, HeaderMap},
};
use engine::setup::Environment;

use super::{
    api::Api,
    keys::{ApiKey, Grants},
    operators::PREFIX,
};
use crate::{
    http::{
        context::{InternalListener, OperatorsListener},
        endpoint::Endpoint,
        errors::ApiError,
    },
    values::{
        failures::Failure,
        role::Role,
        token::{TokenFault, looks_like_a_token},
        versions::Version,
    },
};

/// Returns the key of unauthenticated calls, which grants no access.
pub(crate) fn anonymous_key() -> ApiKey {
    ApiKey {
        name: String::new(),
        hash: [0; 32],
        environment: Environment::Sandbox,
        institutions: Vec::new(),
        locations: Some(Vec::new()),
        grants: Grants::default(),
        organisation: String::new(),
        channel: None,
        role: None,
    }
}

/// Returns the value of a single Authorization header.
fn authorization(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION);
    let one = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(one)
}

pub fn api_key(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let key = authorization(headers).ok_or(Failure::InvalidCredentials)?;
    api.keys().presented(key).cloned().ok_or_else(|| Failure::InvalidCredentials.into())
}

/// Returns the bearer token. The scheme is case-insensitive (RFC 9110, 11.1).
fn bearer_of(text: &str) -> Option<&str> {
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token)
}

/// Authenticates a call at the operators' listener, which accepts operator tokens only.
pub fn operator(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let given = authorization(headers).map(str::trim).ok_or(Failure::OperatorTokenMissing)?;
    let token = bearer_of(given).map(str::trim).ok_or(Failure::OperatorTokenMissing)?;
    let operators = api.operators();
    let operator = operators.presented(token).ok_or(Failure::OperatorTokenUnknown)?;
    operator.used(api.engine.now());
    Ok(Arc::new(operator.as_caller()))
}

pub fn is_of_operator(headers: &HeaderMap) -> bool {
    let token = authorization(headers).and_then(bearer_of);
    token.is_some_and(|token| token.trim().starts_with(PREFIX))
}

/// Returns `true` for calls of operators, received at their listener or forwarded by another node.
pub fn for_operators(request: &HttpRequest) -> bool {
    match request.app_data::<InternalListener>() {
        Some(_) => is_of_operator(request.headers()),
        None => request.app_data::<OperatorsListener>().is_some(),
    }
}

pub fn bearer(api: &Api, headers: &HeaderMap) -> Result<Arc<ApiKey>, ApiError> {
    let given = authorization(headers).map(str::trim).ok_or(Failure::TokenMissing)?;
    if api.edge().rules.compatibility.raw_keys {
        if let Some(key) = raw_key(api, given) {
            return Ok(key);
        }
        if not_a_token(given) == Failure::ApiKeyInsteadOfToken {
            return Err(Failure::InvalidCredentials.into());
        }
    }
    let token = bearer_of(given).map(str::trim);
    let token = token.filter(|token| looks_like_a_token(token)).ok_or_else(|| not_a_token(given))?;
    let claims = api.tokens.verify(token, api.engine.now()).map_err(|fault| match fault {
        TokenFault::Expired => Failure::TokenExpired,
        TokenFault::Invalid => Failure::TokenInvalid,
    })?;
    api.keys().by_id(&claims.sub).cloned().ok_or_else(|| Failure::KeyRevoked.into())
}

/// Accepts an API key in place of a token, with or without `Bearer`, for deployments that enable `raw_keys`.
fn raw_key(api: &Api, given: &str) -> Option<Arc<ApiKey>> {
    let bare = bearer_of(given).unwrap_or(given).trim();
    (!looks_like_a_token(bare)).then(|| api.keys().presented(bare).cloned()).flatten()
}

/// Returns the failure by the form of the credential alone, without revealing whether the key exists.
fn not_a_token(given: &str) -> Failure {
    let bare = bearer_of(given).unwrap_or(given).trim();
    // HTTP libraries trim the space after the scheme.
    if bare.is_empty() || bare.eq_ignore_ascii_case("Bearer") {
        return Failure::TokenMissing;
    }
    let one_word = !bare.contains(char::is_whitespace);
    if one_word && !looks_like_a_token(bare) { Failure::ApiKeyInsteadOfToken } else { Failure::TokenMalformed }
}

/// Checks the grant and the operator role that the endpoint needs.
pub fn may(endpoint: &Endpoint, version: Version, key: &ApiKey) -> Result<(), ApiError> {
    let Grants { financial, beta } = key.grants;
    let needed = [("beta", version == Version::V3_1_0 && !beta), ("financial", endpoint.financial && !financial)];
    if let Some((grant, _)) = needed.into_iter().find(|(_, lacks)| *lacks) {
        return Err(ApiError::grant_missing(grant));
    }
    // On endpoints shared with clients, viewers may not make changes or read write requests.
    let shared = key.role.is_some() && (!endpoint.reads || endpoint.path.starts_with("/write_requests"));
    let needed = endpoint.role.or(shared.then_some(Role::Operator));
    needed.map_or(Ok(()), |role| has_role(key, role))
}

pub fn has_role(key: &ApiKey, needed: Role) -> Result<(), ApiError> {
    if key.role >= Some(needed) { Ok(()) } else { Err(ApiError::role_missing(needed.name())) }
}
