//! Configuration of the credentials of data sources. `adapter_host` obtains tokens and sessions with them.

use std::{fmt, sync::Arc};

use location::{key_kinds::not_empty, keys::KeyReader};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RsaKeyPair},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use url::Url;

use crate::secret::Secret;

/// Minimum modulus, in bytes, of an RSA key for RS384.
const RSA_BYTES: usize = 256;

/// The kind of login to a data source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    OAuth(OAuth),
    Tryton(TrytonSession),
}

location::settings! {
    /// The keys of a client-credentials login.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OAuthKeys {
        token_url: Option<Url> = None, from_str("must be a URL").optional().required() =>
            reload, "The URL of the token endpoint.";
        client_id: String = String::new(), text(not_empty).required() => reload, "The client id.";
        client_secret: Option<Secret> = None, parsed(Secret::parse).credential().optional() =>
            reload, "The client secret. Alternative: `private_key_file`.";
        private_key_file: Option<Arc<SigningKey>> = None, file(signing_key).optional() =>
            reload, "PKCS#8, RSA or P-384. It signs the request for a token, as in SMART backend services.";
        key_id: Option<String> = None, text(not_empty).optional() => reload, "The `kid` of that signature.";
        in_body: bool = false, word(&[("basic", false), ("post", true)]) =>
            reload "client_auth", "How the secret is sent: `basic` in a header, `post` in the body.";
        scopes: Option<Vec<String>> = None, texts(|scope| Ok(scope.to_owned())).optional() =>
            reload, "The requested scopes.";
    }

    /// The keys of a Tryton session.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TrytonKeys {
        user: String = String::new(), text(not_empty).required() => reload, "The user name.";
        password: Option<Secret> = None, parsed(Secret::parse).credential().optional().required() =>
            reload, "The password.";
    }
}

impl OAuthKeys {
    /// Returns the login, or reports a problem in the table `oauth`.
    pub(crate) fn login(self, keys: &impl KeyReader) -> Option<Login> {
        let problem = |problem: &str| keys.problem(&["oauth"], &["token_url"], problem);
        let proof = match (self.client_secret, self.private_key_file) {
            (Some(secret), None) if self.in_body => Proof::Post(secret),
            (Some(secret), None) => Proof::Basic(secret),
            (None, Some(key)) => Proof::Key { key, id: self.key_id },
            _ => {
                problem("oauth needs either client_secret or private_key_file");
                return None;
            }
        };
        let oauth = OAuth::new(self.token_url?, self.client_id, proof, self.scopes.map(|all| all.join(" ")));
        oauth.map_err(|error| problem(&error.to_string())).ok().map(Login::OAuth)
    }
}

fn signing_key(pem: &str) -> Result<Arc<SigningKey>, String> {
    SigningKey::from_pem(pem.as_bytes()).map(Arc::new).map_err(|error| error.to_string())
}

/// OAuth 2.0 client credentials of a data source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuth {
    /// HTTPS, or HTTP on this machine.
    pub token_url: Url,
    pub client_id: String,
    pub proof: Proof,
    /// Scopes, separated by spaces.
    pub scopes: Option<String>,
}

/// The authentication of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A secret in the `Authorization` header of the token request.
    Basic(Secret),
    /// A secret in the body, for endpoints that accept no header.
    Post(Secret),
    /// A JWT signed with this key.
    Key { key: Arc<SigningKey>, id: Option<String> },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("the token URL must be https; http is for this machine only")]
    TokenUrl,
    #[error("the key file is no private key in PEM with PKCS#8: BEGIN PRIVATE KEY")]
    Pem,
    #[error("the key is neither RSA of 2048 bits or more (RS384) nor ECDSA on P-384 (ES384)")]
    Key,
    #[error("a session needs the address of a database, such as https://ehr.example:8000/gnuhealth")]
    Address,
    #[error("the user of a session must not be empty or contain a colon")]
    User,
}

impl OAuth {
    pub fn new(token_url: Url, client_id: String, proof: Proof, scopes: Option<String>) -> Result<OAuth, LoginError> {
        let is_safe = match token_url.scheme() {
            "http" => matches!(token_url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost")),
            scheme => scheme == "https",
        };
        if is_safe { Ok(OAuth { token_url, client_id, proof, scopes }) } else { Err(LoginError::TokenUrl) }
    }
}

/// A private key for signing assertions. The kind of key determines the algorithm.
pub enum SigningKey {
    Rs384(RsaKeyPair),
    Es384(EcdsaKeyPair),
}

impl SigningKey {
    pub fn from_pem(pem: &[u8]) -> Result<SigningKey, LoginError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| LoginError::Pem)?;
        let der = der.secret_pkcs8_der();
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, der, &SystemRandom::new()) {
            return Ok(SigningKey::Es384(key));
        }
        match RsaKeyPair::from_pkcs8(der) {
            Ok(key) if key.public().modulus_len() >= RSA_BYTES => Ok(SigningKey::Rs384(key)),
            _ => Err(LoginError::Key),
        }
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            SigningKey::Rs384(_) => "RS384",
            SigningKey::Es384(_) => "ES384",
        }
    }
}

/// Compares the public keys.
impl PartialEq for SigningKey {
    fn eq(&self, other: &SigningKey) -> bool {
        match (self, other) {
            (SigningKey::Rs384(one), SigningKey::Rs384(two)) => one.public_key().as_ref() == two.public_key().as_ref(),
            (SigningKey::Es384(one), SigningKey::Es384(two)) => one.public_key().as_ref() == two.public_key().as_ref(),
            _ => false,
        }
    }
}

impl Eq for SigningKey {}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, redacted)", self.algorithm())
    }
}

/// The login of a Tryton session. A session lasts as long as the server allows, a month by default; a new one is opened
/// each day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrytonSession {
    /// The URL of the database, to which JSON-RPC is posted.
    pub url: Url,
    pub user: String,
    pub password: Secret,
}

impl TrytonSession {
    /// Creates a session login for a data source with this `base_url`.
    pub fn new(base_url: &str, user: String, password: Secret) -> Result<TrytonSession, LoginError> {
        let base = base_url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/")).ok();
        let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.path() != "/");
        if user.is_empty() || user.contains(':') {
            return Err(LoginError::User);
        }
        Ok(TrytonSession { url: url.ok_or(LoginError::Address)?, user, password })
    }
}
