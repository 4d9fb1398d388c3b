//! Signatures over messages. The service's own signature (specification 6.3) is HMAC-SHA256 over
//! `timestamp.base64(body)`, in hex; its key is the text of the secret. The signature of the Standard Webhooks
//! convention is over `id.seconds.body`, in base64, with the bytes that the secret encodes as its key.

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, SecondsFormat, Utc};
use hmac::{Hmac, KeyInit, Mac};
use location::time::{SECOND, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::egress::Bytes;

const PREFIX: &str = "whsec_";

/// The secret shared with an endpoint. Shown to its owner once, when it is created; never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretKey(String);

impl SecretKey {
    /// Formats a secret as `whsec_` and base64, the form that verification libraries expect.
    pub fn from_entropy(entropy: [u8; 32]) -> SecretKey {
        SecretKey(format!("{PREFIX}{}", STANDARD.encode(entropy)))
    }

    /// Decodes the key for the Standard Webhooks convention. Returns `None` if the secret has another form.
    fn decoded(&self) -> Option<Vec<u8>> {
        STANDARD.decode(self.0.strip_prefix(PREFIX)?).ok()
    }

    /// Returns the secret itself, for its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(redacted)")
    }
}

/// Formats the `timestamp` header: ISO 8601 in UTC without fractions. Instants outside of the calendar are clamped to
/// its ends.
pub fn timestamp(at: Timestamp) -> String {
    text(at, SecondsFormat::Secs)
}

/// Formats the `event_time` of messages: like `timestamp`, with milliseconds.
pub fn event_time(at: Timestamp) -> String {
    text(at, SecondsFormat::Millis)
}

fn text(at: Timestamp, seconds: SecondsFormat) -> String {
    let edge = if at.0 < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
    DateTime::<Utc>::from_timestamp_millis(at.0).unwrap_or(edge).to_rfc3339_opts(seconds, true)
}

/// The prepared HMAC keys of a secret.
pub struct Signer {
    own: Hmac<Sha256>,
    /// `None` if the secret does not have the form of the convention.
    standard: Option<Hmac<Sha256>>,
}

impl Signer {
    pub fn new(secret: &SecretKey) -> Signer {
        Signer { own: keyed(secret.0.as_bytes()), standard: secret.decoded().as_deref().map(keyed) }
    }

    /// Computes the `signature` header for a body in base64.
    pub fn sign(&self, timestamp: &str, encoded: &str) -> String {
        hex::encode(mac(self.own.clone(), timestamp, encoded).finalize().into_bytes())
    }
}

/// The body of a message, and its base64 form, which the `signature` header covers.
pub(crate) struct EncodedBody {
    pub bytes: Bytes,
    pub encoded: String,
}

impl EncodedBody {
    pub(crate) fn new(body: Vec<u8>) -> EncodedBody {
        let encoded = encoded(&body);
        EncodedBody { bytes: body.into(), encoded }
    }
}

/// Returns the body as the `signature` header covers it.
pub fn encoded(body: &[u8]) -> String {
    STANDARD.encode(body)
}

/// Formats the `webhook-timestamp` header: seconds since 1970.
pub fn seconds(at: Timestamp) -> String {
    at.0.div_euclid(SECOND).to_string()
}

/// Computes the `webhook-signature` header: one signature per secret, so that a receiver that knows either accepts the
/// message.
pub fn standard<'a>(
    signers: impl IntoIterator<Item = &'a Signer>,
    id: &str,
    seconds: &str,
    body: &[u8],
) -> Option<String> {
    let signature = |signer: &Signer| {
        let mut mac = signer.standard.clone()?;
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            mac.update(part);
        }
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    };
    let signatures: Vec<String> = signers.into_iter().filter_map(signature).collect();
    (!signatures.is_empty()).then(|| signatures.join(" "))
}

/// Verifies a signature in constant time.
pub fn verify(secret_key: &str, timestamp: &str, body: &[u8], signature: &str) -> bool {
    let Ok(signature) = hex::decode(signature) else { return false };
    mac(keyed(secret_key.as_bytes()), timestamp, &encoded(body)).verify_slice(&signature).is_ok()
}

fn mac(mut mac: Hmac<Sha256>, timestamp: &str, encoded: &str) -> Hmac<Sha256> {
    for part in [timestamp, ".", encoded] {
        mac.update(part.as_bytes());
    }
    mac
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "2026-11-21T10:00:00Z";

    /// Computed in Python, with `message = ts + "." + base64.b64encode(body.encode()).decode()` and
    /// `hmac.new(key.encode(), message.encode(), hashlib.sha256).hexdigest()`.
    const KNOWN: &[(&str, &str, &str, &str)] = &[
        ("secret", AT, "{}", "9e5b71b0a9884d26ffc5dd121f5241ed9194dc69ea055654a242ac6042c7f928"),
        (
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            AT,
            r#"{"resource_type":"appointment","event_name":"appointment_insertion.complete"}"#,
            "046ec90a3006d367b0816bf2c1a96120406d490e41013303e3b3fa8244807c09",
        ),
        (
            "k",
            "1999-12-31T23:59:59Z",
            r#"{"note":"Zahnärztin 🦷 déjà"}"#,
            "ccd9ac319da9ce7af100dfca5b55e723378008e50e8273b46f652bd8b666d6e5",
        ),
        ("", AT, "", "c61289edced55665857d5a61c1da3dc1d574f3308f19abb72d73f6f1cc6493ed"),
    ];

    #[test]
    fn signatures_are_those_of_the_reference_computation() {
        for (key, at, body, signature) in KNOWN {
            let signer = Signer::new(&SecretKey((*key).to_owned()));
            assert_eq!(signer.sign(at, &encoded(body.as_bytes())), *signature);
            assert!(verify(key, at, body.as_bytes(), signature));
        }
    }

    #[test]
    fn a_change_of_any_part_invalidates_the_signature() {
        let (key, at, body, signature) = KNOWN[1];
        assert!(!verify("other", at, body.as_bytes(), signature));
        assert!(!verify(key, "2026-11-21T10:00:01Z", body.as_bytes(), signature));
        assert!(!verify(key, at, b"{}", signature));
        for bad in ["", "zz", &signature[2..], &format!("{signature}00"), &signature.replace('a', "b")] {
            assert!(!verify(key, at, body.as_bytes(), bad), "{bad}");
        }
    }

    /// The example of the convention's own specification and libraries.
    #[test]
    fn standard_signatures_are_those_of_the_convention() {
        let signer = Signer::new(&SecretKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()));
        let (id, at, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(standard([&signer], id, at, body).as_deref(), Some(signature));
        let next = Signer::new(&SecretKey::from_entropy([3; 32]));
        let both = standard([&signer, &next], id, at, body).unwrap_or_default();
        let (first, second) = both.split_once(' ').unwrap_or_default();
        assert_eq!(first, signature);
        assert_eq!(Some(second), standard([&next], id, at, body).as_deref());
        let of_another_form = Signer::new(&SecretKey("of another form".to_owned()));
        assert_eq!(standard([&of_another_form], id, at, body), None);
        assert_eq!(seconds(Timestamp(1_614_265_330_999)), at);
    }

    #[test]
    fn timestamps_have_no_fractions() {
        assert_eq!(timestamp(Timestamp(1_795_255_200_999)), AT);
        assert_eq!(timestamp(Timestamp(0)), "1970-01-01T00:00:00Z");
        assert!(!timestamp(Timestamp::MAX).is_empty() && !timestamp(Timestamp::MIN).is_empty());
    }

    #[test]
    fn secrets_are_not_printed() {
        let secret = SecretKey::from_entropy([7; 32]);
        assert_eq!(secret.reveal().len(), 50);
        assert_eq!(format!("{secret:?}"), "SecretKey(redacted)");
    }
}
