// Rust, with the crates base64, chrono, hex, hmac and sha2. `header` finds a header by its lower-case name, `body` is
// as it came in, before it is parsed.
use std::time::SystemTime;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const TOLERANCE: TimeDelta = TimeDelta::minutes(5);

pub fn verify<'a>(secret_key: &str, header: impl Fn(&str) -> Option<&'a str>, body: &[u8]) -> bool {
    let Some(timestamp) = header("timestamp") else { return false };
    let Ok(sent) = DateTime::parse_from_rfc3339(timestamp) else { return false };
    let now = DateTime::<Utc>::from(SystemTime::now());
    if (now - sent.to_utc()).abs() > TOLERANCE {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret_key.as_bytes()) else { return false };
    mac.update(format!("{timestamp}.{}", STANDARD.encode(body)).as_bytes());
    ["signature", "signature-next"].into_iter().any(|name| {
        let given = header(name).and_then(|given| hex::decode(given).ok());
        given.is_some_and(|given| mac.clone().verify_slice(&given).is_ok())
    })
}
