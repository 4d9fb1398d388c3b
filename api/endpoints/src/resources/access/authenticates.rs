//! POST /authenticates: exchanges an API key for a bearer token (specification 5.2).

use crate::prelude::*;

/// A bearer token for authenticating all other calls.
#[derive(Serialize, JsonSchema)]
pub struct BearerToken {
    /// The bearer token, sent as `Authorization: Bearer <token>`. It is valid for `limits.token_lifetime_seconds` of
    /// `GET /me`.
    token: String,
}

pub async fn create(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<Created<BearerToken>> {
    let lifetime = call.api.token_lifetime(call.key.environment);
    let token = call.api.tokens.mint(call.key.id(), call.api.engine.now(), lifetime);
    Ok(call.show(BearerToken { token }))
}
