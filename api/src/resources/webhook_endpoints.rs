//! POST and GET /webhook_endpoints (specification 6.1)

use engine::webhooks::{
    model::{Endpoint, EndpointId, Owner},
    registry::RegistryError,
    sign::SecretKey,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::Answer;
use crate::{
    bounds::MAX_URL,
    errors::ApiError,
    kinds::{Kind, boolean, filled, text},
    scope::Call,
    secret::random,
    wire::At,
};

#[derive(Serialize, JsonSchema)]
pub struct EndpointView<'a> {
    #[schemars(with = "i32")]
    id: EndpointId,
    target_url: &'a str,
    /// Shown on registration only: a lost one means a new endpoint.
    secret_key: Option<&'a str>,
    active: bool,
    created_at: At,
    updated_at: At,
}

impl<'a> EndpointView<'a> {
    fn of(endpoint: &'a Endpoint, secret_key: Option<&'a str>) -> EndpointView<'a> {
        EndpointView {
            id: endpoint.id,
            target_url: &endpoint.target_url,
            secret_key,
            active: endpoint.active,
            created_at: At(endpoint.created_at),
            updated_at: At(endpoint.updated_at),
        }
    }
}

pub fn owner(call: &Call) -> Owner {
    Owner(call.key.organisation.clone())
}

/// What else it must not be, the engine says.
fn https_url() -> Kind<String> {
    let schema = || json!({"type": "string", "format": "uri", "maxLength": MAX_URL, "pattern": "^https://"});
    let plain = text(MAX_URL);
    Kind::of_text(schema, "https://hooks.example.com/practice", move |given| plain.text(given))
}

pub async fn create(mut call: Call) -> Answer {
    let (target_url, active) = call.anywhere(|input| {
        let target_url = input.body.required("target_url", filled(https_url()));
        let active = input.body.defaulted("active", boolean(), true);
        Some((target_url?, active))
    })?;
    let engine = &call.api.engine;
    let secret_key = SecretKey::from_entropy(random());
    let endpoint =
        engine.webhooks().create_endpoint(&owner(&call), &target_url, active, secret_key, engine.now()).await?;
    Ok(call.show(EndpointView::of(&endpoint, Some(endpoint.secret_key.reveal()))))
}

pub async fn list(mut call: Call) -> Answer {
    let active = call.anywhere(|input| Some(input.query.optional("active", boolean())))?;
    let endpoints = call.api.engine.webhooks().endpoints(&owner(&call));
    let wanted = endpoints.iter().filter(|endpoint| active.is_none_or(|active| endpoint.active == active));
    let rows: Vec<_> = wanted.map(|endpoint| EndpointView::of(endpoint, None)).collect();
    Ok(call.list(&rows))
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> ApiError {
        match error {
            RegistryError::TargetUrl(_) | RegistryError::UnknownPair(_) | RegistryError::TooMany { .. } => {
                ApiError::bad(format!("{error}."))
            }
            RegistryError::NotFound => ApiError::NotFound("Webhook endpoint".into()),
            RegistryError::Duplicate { .. } => ApiError::Conflict(format!("{error}.")),
            RegistryError::Ids(_) | RegistryError::Commit(_) => ApiError::from(engine::EngineError::StoreFull),
        }
    }
}
