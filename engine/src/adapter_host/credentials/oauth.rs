//! Access tokens by OAuth 2.0 client credentials, proven by a client secret or, as SMART backend services do, by a signed JWT.

use std::{fmt, sync::Arc, time::Duration};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use reqwest::Url;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA384, RsaKeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde::Deserialize;
use serde_json::json;

use super::{ANSWER_BYTES, Grant, LONGEST, NoGrant, TOKEN_BYTES};
use crate::{
    adapter_host::{
        Secret,
        transport::{HttpRequest, HttpResponse},
    },
    clock,
};

/// What a token is good for whose endpoint does not say: SMART allows five minutes at most.
const UNSAID: u64 = 300;
/// What a signed assertion is good for, in seconds; SMART allows five minutes.
const ASSERTION: i64 = 240;
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// An RSA key that can sign RS384 safely has so many bytes of modulus.
const RSA_BYTES: usize = 256;

/// How a data source's access tokens are obtained.
#[derive(Clone, Debug)]
pub struct OAuth {
    /// https, or http on this machine.
    pub token_url: Url,
    pub client_id: String,
    pub proof: Proof,
    /// Separated by spaces.
    pub scopes: Option<String>,
}

/// How the client proves who it is.
#[derive(Clone, Debug)]
pub enum Proof {
    /// In the `Authorization` header of the request for a token.
    Basic(Secret),
    /// In its body, for endpoints that take no other.
    Post(Secret),
    /// By a JWT signed with this key.
    Key { key: Arc<SigningKey>, id: Option<String> },
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("the token URL must be https; http is for this machine only")]
    TokenUrl,
    #[error("the key file is no private key in PEM with PKCS#8: BEGIN PRIVATE KEY")]
    Pem,
    #[error("the key is neither RSA of 2048 bits or more (RS384) nor ECDSA on P-384 (ES384)")]
    Key,
}

impl OAuth {
    pub fn new(token_url: Url, client_id: String, proof: Proof, scopes: Option<String>) -> Result<OAuth, OAuthError> {
        let here = matches!(token_url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        match token_url.scheme() {
            "https" => (),
            "http" if here => (),
            _ => return Err(OAuthError::TokenUrl),
        }
        Ok(OAuth { token_url, client_id, proof, scopes })
    }

    /// The request for a token.
    pub(super) fn request(&self, now: i64) -> Result<HttpRequest, String> {
        let mut headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
        ];
        let mut form = vec![("grant_type", "client_credentials".to_owned())];
        form.extend(self.scopes.clone().map(|scopes| ("scope", scopes)));
        match &self.proof {
            Proof::Basic(secret) => {
                // Both are form-encoded before they are joined (RFC 6749, 2.3.1).
                let pair = format!("{}:{}", encoded(&self.client_id), encoded(secret.expose()));
                headers.push(("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair))));
            }
            Proof::Post(secret) => {
                form.push(("client_id", self.client_id.clone()));
                form.push(("client_secret", secret.expose().to_owned()));
            }
            Proof::Key { key, id } => {
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", self.assertion(key, id.as_deref(), now)?));
            }
        }
        let body: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        Ok(HttpRequest {
            method: "POST".to_owned(),
            url: self.token_url.clone(),
            headers,
            body: Some(body.join("&").into_bytes()),
            max_response_body: ANSWER_BYTES,
        })
    }

    pub(super) fn granted(&self, answer: &HttpResponse) -> Result<Grant, NoGrant> {
        match answer.status {
            200 => (),
            400 | 401 | 403 => {
                // The error's code says why; the rest of the answer may say more than a log should hold.
                let code =
                    serde_json::from_slice::<Refusal>(&answer.body).map(|refusal| refusal.error).unwrap_or_default();
                let code: String = code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
                let host = self.token_url.host_str().unwrap_or_default();
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

    fn assertion(&self, key: &SigningKey, id: Option<&str>, now: i64) -> Result<String, String> {
        let mut header = json!({"alg": key.algorithm(), "typ": "JWT"});
        if let Some(id) = id {
            header["kid"] = id.into();
        }
        let claims = json!({
            "iss": self.client_id, "sub": self.client_id, "aud": self.token_url.as_str(),
            "iat": now, "exp": now + ASSERTION, "jti": hex::encode(clock::random::<16>()),
        });
        let part = |json: &serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = key.sign(signed.as_bytes()).ok_or("the key cannot sign")?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Percent-encoding of all but letters, digits and `-._~`; a form also reads a space so.
fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// A private key that signs assertions: the algorithm follows from its kind.
pub enum SigningKey {
    Rs384(RsaKeyPair),
    Es384(EcdsaKeyPair),
}

impl SigningKey {
    pub fn from_pem(pem: &[u8]) -> Result<SigningKey, OAuthError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| OAuthError::Pem)?;
        let der = der.secret_pkcs8_der();
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, der, &SystemRandom::new()) {
            return Ok(SigningKey::Es384(key));
        }
        match RsaKeyPair::from_pkcs8(der) {
            Ok(key) if key.public().modulus_len() >= RSA_BYTES => Ok(SigningKey::Rs384(key)),
            _ => Err(OAuthError::Key),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            SigningKey::Rs384(_) => "RS384",
            SigningKey::Es384(_) => "ES384",
        }
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            SigningKey::Rs384(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA384, &random, message, &mut signature).ok()?;
                Some(signature)
            }
            SigningKey::Es384(key) => Some(key.sign(&random, message).ok()?.as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, redacted)", self.algorithm())
    }
}
