//! POST /authenticates: an API key becomes a bearer token (specification 5.2).

use actix_web::{HttpRequest, HttpResponse, http::StatusCode};
use engine::setup::Environment;
use serde::Serialize;

use super::Answer;
use crate::{
    envelope::Envelope,
    errors::ApiError,
    query::Params,
    scope::{authorization, versioned, within_limits},
};

#[derive(Serialize)]
struct Authorization {
    token: String,
}

pub async fn create(request: HttpRequest) -> Answer {
    let (api, _) = versioned(&request)?;
    let presented = authorization(request.headers()).ok_or(ApiError::Credentials)?;
    let key = api.keys().presented(presented).cloned().ok_or(ApiError::Credentials)?;
    within_limits(&api, &key, &request)?;
    let lifetime = match key.environment {
        Environment::Production => api.rules.token_production,
        Environment::Sandbox => api.rules.token_sandbox,
    };
    let token = api.tokens.mint(key.id(), api.engine.now(), lifetime);
    let ignored = Params::parse(request.query_string()).ignored();
    Ok(HttpResponse::build(StatusCode::CREATED).json(Envelope::success(ignored.as_deref(), Authorization { token })))
}
