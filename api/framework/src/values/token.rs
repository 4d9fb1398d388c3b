//! Bearer tokens: JWT (HS256) with `sub`, `iat`, `exp`, `jti`. `sub` is the id of the API key, which is looked up on
//! every call, so that revoking a key revokes its tokens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use location::{Millis, SECOND, Timestamp};
use serde::{Deserialize, Serialize};

use crate::values::{
    limits::MAX_TOKEN,
    secret::{MacKey, Secret, random},
};

/// The only header of issued tokens, so the only one accepted.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub sub: String,
    pub iat: i64,
    pub exp: i64,
    pub jti: String,
}

pub struct Tokens {
    key: MacKey,
    header: String,
}

impl Tokens {
    pub fn new(secret: &Secret) -> Tokens {
        Tokens::signed_by(secret.key("bearer token"))
    }

    /// Creates tokens of another kind with a separate key.
    pub(crate) fn signed_by(key: MacKey) -> Tokens {
        Tokens { key, header: BASE64.encode(HEADER) }
    }

    pub fn mint(&self, sub: String, now: Timestamp, lifetime: Millis) -> String {
        let iat = now.0.div_euclid(SECOND);
        let claims = Claims { sub, iat, exp: iat + lifetime / SECOND, jti: hex::encode(random::<16>()) };
        let claims = serde_json::to_vec(&claims).expect("strings and numbers are valid JSON");
        let signed = format!("{}.{}", self.header, BASE64.encode(claims));
        let tag = self.key.tag(&[signed.as_bytes()]);
        format!("{signed}.{}", BASE64.encode(tag))
    }

    /// Returns the claims of an authentic token that has not expired.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, TokenFault> {
        let claims = self.claims(token).ok_or(TokenFault::Invalid)?;
        if now.0.div_euclid(SECOND) < claims.exp { Ok(claims) } else { Err(TokenFault::Expired) }
    }

    /// Returns the claims of an authentic token, expired or not.
    fn claims(&self, token: &str) -> Option<Claims> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (signed, tag) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let tag = BASE64.decode(tag).ok().filter(|tag| tag.len() == 32)?;
        if header != self.header || !self.key.verifies(&[signed.as_bytes()], &tag) {
            return None;
        }
        serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    /// The token is authentic.
    Expired,
    Invalid,
}

/// Returns whether a text has the form of a token. API keys do not.
pub(crate) fn looks_like_a_token(text: &str) -> bool {
    text.split('.').filter(|part| !part.is_empty()).count() == 3
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use location::HOUR;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    #[test]
    fn a_token_lasts_its_lifetime() {
        let tokens = Tokens::new(&Secret::from_bytes([1; 32]));
        let token = tokens.mint("ab".into(), NOW, HOUR);
        assert_eq!(tokens.verify(&token, NOW).unwrap().sub, "ab");
        assert!(tokens.verify(&token, NOW.plus(HOUR - SECOND)).is_ok());
        assert_eq!(tokens.verify(&token, NOW.plus(HOUR)), Err(TokenFault::Expired));
        assert_ne!(token, tokens.mint("ab".into(), NOW, HOUR));
    }

    #[test]
    fn a_token_is_a_standard_jwt() {
        let token = Tokens::new(&Secret::from_bytes([1; 32])).mint("ab".into(), NOW, HOUR);
        let parts: Vec<&str> = token.split('.').collect();
        assert_eq!(BASE64.decode(parts[0]).unwrap(), HEADER.as_bytes());
        let claims: serde_json::Value = serde_json::from_slice(&BASE64.decode(parts[1]).unwrap()).unwrap();
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
        assert_eq!(claims["jti"].as_str().unwrap().len(), 32);
    }

    #[test]
    fn forged_tokens_are_refused() {
        let tokens = Tokens::new(&Secret::from_bytes([1; 32]));
        let token = tokens.mint("ab".into(), NOW, HOUR);
        let other = Tokens::new(&Secret::from_bytes([2; 32])).mint("ab".into(), NOW, HOUR);
        let unsigned = format!("{}.{}.", BASE64.encode(r#"{"alg":"none"}"#), token.split('.').nth(1).unwrap());
        for forged in
            [other.as_str(), &unsigned, "", ".", "..", "a.b.c", &token[..token.len() - 1], &"x".repeat(100_000)]
        {
            assert_eq!(tokens.verify(forged, NOW), Err(TokenFault::Invalid), "{forged:.40}");
        }
        for at in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let verified = tokens.verify(&String::from_utf8(altered).unwrap(), NOW);
            assert_eq!(verified, Err(TokenFault::Invalid), "byte {at}");
        }
    }
}
