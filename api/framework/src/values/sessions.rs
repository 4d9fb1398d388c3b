//! Sessions of the console: the content of the cookie, and the CSRF token of its forms.

use location::{HOUR, Millis, SECOND, Timestamp};

use super::{
    secret::{MacKey, Secret},
    token::Tokens,
};

/// Lifetime of a session: a working day.
pub const SESSION: Millis = 12 * HOUR;

pub struct Sessions {
    tokens: Tokens,
    forms: MacKey,
}

#[derive(Clone, Debug)]
pub struct OperatorSession {
    /// The id of the operator's token. Its revocation ends the session.
    pub operator: String,
    pub csrf_token: String,
    pub ends: Timestamp,
}

impl Sessions {
    pub fn new(secret: &Secret) -> Sessions {
        let tokens = Tokens::signed_by(secret.key("console session"));
        Sessions { tokens, forms: secret.key("console form") }
    }

    /// Returns the value of the cookie.
    pub fn begin(&self, operator: String, now: Timestamp) -> String {
        self.tokens.mint(operator, now, SESSION)
    }

    /// Returns `None` if the cookie is forged or expired.
    pub fn read(&self, cookie: &str, now: Timestamp) -> Option<OperatorSession> {
        let claims = self.tokens.verify(cookie, now).ok()?;
        let csrf_token = hex::encode(&self.forms.tag(&[claims.jti.as_bytes()])[..16]);
        Some(OperatorSession { operator: claims.sub, csrf_token, ends: Timestamp(claims.exp * SECOND) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_session_is_neither_a_bearer_token_nor_another_session() {
        let secret = Secret::from_bytes([1; 32]);
        let (sessions, now) = (Sessions::new(&secret), Timestamp(1_800_000_000_000));
        let [first, second] = ["ab", "ab"].map(|operator| sessions.begin(operator.into(), now));
        let words = [&first, &second].map(|cookie| sessions.read(cookie, now).unwrap().csrf_token);
        assert_ne!(words[0], words[1]);
        assert!(Tokens::new(&secret).verify(&first, now).is_err());
        assert!(sessions.read(&Tokens::new(&secret).mint("ab".into(), now, HOUR), now).is_none());
        assert!(sessions.read(&first, now.plus(SESSION)).is_none());
    }
}
