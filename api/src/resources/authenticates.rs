//! POST /authenticates: an API key becomes a bearer token (specification 5.2).

use engine::setup::Environment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{access::call::Call, http::errors::HttpResult};

/// A bearer token for all other calls.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BearerToken {
    token: String,
}

pub(crate) async fn create(mut call: Call) -> HttpResult {
    call.anywhere(|_| Some(()))?;
    let lifetime = match call.key.environment {
        Environment::Production => call.api.rules.token_production,
        Environment::Sandbox => call.api.rules.token_sandbox,
    };
    let token = call.api.tokens.mint(call.key.id(), call.api.engine.now(), lifetime);
    Ok(call.show(BearerToken { token }))
}
