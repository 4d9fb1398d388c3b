//! Access tokens by OAuth 2.0 client credentials, authenticated by a client secret or, as in SMART backend services, by
//! a signed JWT.

use std::time::Duration;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{rand::SystemRandom, signature::RSA_PKCS1_SHA384};
use runtime::clock;
use serde::Deserialize;
use serde_json::json;
use setup::{
    login::{OAuth, Proof, SigningKey},
    secret::Secret,
};

use super::grant::{ANSWER_BYTES, Grant, LONGEST, NoGrant, TOKEN_BYTES};
use crate::{HttpRequest, HttpResponse};

/// All characters except the unreserved ones of RFC 3986.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The assumed lifetime in seconds of a token whose response specifies none: SMART allows at most five minutes.
const UNSAID: u64 = 300;
/// The lifetime of a signed assertion, in seconds; SMART allows five minutes.
const ASSERTION: i64 = 240;
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct OAuthErrorBody {
    error: String,
}

pub(super) fn request(oauth: &OAuth, now: i64) -> Result<HttpRequest, String> {
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
    ];
    let mut form = vec![("grant_type", "client_credentials".to_owned())];
    form.extend(oauth.scopes.clone().map(|scopes| ("scope", scopes)));
    match &oauth.proof {
        Proof::Basic(secret) => {
            // Both are form-encoded before they are joined (RFC 6749, 2.3.1).
            let pair = format!("{}:{}", encoded(&oauth.client_id), encoded(secret.expose()));
            headers.push(("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair))));
        }
        Proof::Post(secret) => {
            form.push(("client_id", oauth.client_id.clone()));
            form.push(("client_secret", secret.expose().to_owned()));
        }
        Proof::Key { key, id } => {
            form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
            form.push(("client_assertion", assertion(oauth, key, id.as_deref(), now)?));
        }
    }
    let body: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    Ok(HttpRequest {
        method: "POST".to_owned(),
        url: oauth.token_url.clone(),
        headers,
        body: Some(body.join("&").into_bytes()),
        max_response_body: ANSWER_BYTES,
    })
}

pub(super) fn granted(oauth: &OAuth, answer: &HttpResponse) -> Result<Grant, NoGrant> {
    match answer.status {
        200 => (),
        400 | 401 | 403 => {
            // The error code gives the reason; the rest of the response may contain more than a log should hold.
            let code =
                serde_json::from_slice::<OAuthErrorBody>(&answer.body).map(|refusal| refusal.error).unwrap_or_default();
            let code: String = code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
            let host = oauth.token_url.host_str().unwrap_or_default();
            tracing::warn!(host, status = answer.status, code, "the token endpoint refuses this client");
            return Err(NoGrant::Refused);
        }
        status => return Err(NoGrant::Later(format!("the token endpoint answered {status}"))),
    }
    let misread = || NoGrant::Later("the token endpoint's answer is not as expected".to_owned());
    let granted: Granted = serde_json::from_slice(&answer.body).map_err(|_| misread())?;
    let plain = (1..=TOKEN_BYTES).contains(&granted.access_token.len())
        && granted.access_token.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain || !granted.token_type.eq_ignore_ascii_case("bearer") {
        return Err(misread());
    }
    let life = Duration::from_secs(granted.expires_in.unwrap_or(UNSAID)).min(LONGEST);
    Ok(Grant { authorization: Secret::new(format!("Bearer {}", granted.access_token)), life })
}

fn assertion(oauth: &OAuth, key: &SigningKey, id: Option<&str>, now: i64) -> Result<String, String> {
    let mut header = json!({"alg": key.algorithm(), "typ": "JWT"});
    if let Some(id) = id {
        header["kid"] = id.into();
    }
    let claims = json!({
        "iss": oauth.client_id, "sub": oauth.client_id, "aud": oauth.token_url.as_str(),
        "iat": now, "exp": now + ASSERTION, "jti": hex::encode(clock::random::<16>()),
    });
    let part = |json: &serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = signature(key, signed.as_bytes()).ok_or("the key cannot sign")?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn signature(key: &SigningKey, message: &[u8]) -> Option<Vec<u8>> {
    let random = SystemRandom::new();
    match key {
        SigningKey::Rs384(key) => {
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(&RSA_PKCS1_SHA384, &random, message, &mut signature).ok()?;
            Some(signature)
        }
        SigningKey::Es384(key) => Some(key.sign(&random, message).ok()?.as_ref().to_vec()),
    }
}

/// Percent-encodes everything except unreserved characters. A space becomes `%20`, which forms accept too.
fn encoded(value: &str) -> String {
    utf8_percent_encode(value, UNRESERVED).to_string()
}
