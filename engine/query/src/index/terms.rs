//! Terms as they lie in keys.

use std::collections::BTreeMap;

use records::index::{Field, Term, Value};
use store::{Key, KeyRange, keys, secrets::Secrets};

/// What a turn writes: a value, or nothing for a key that goes.
pub type Writes = BTreeMap<Key, Option<Vec<u8>>>;

/// A term as it lies in keys: of one length for all terms of a field. Texts only as keyed digests, as keys are not encrypted.
fn bytes(term: &Term, secrets: &Secrets) -> Vec<u8> {
    match &term.value {
        Value::Number(number) => number.to_be_bytes().to_vec(),
        Value::Text(text) => digest(secrets, term.field, text).to_vec(),
    }
}

/// The keys of the records that have a term.
pub fn records(term: &Term, secrets: &Secrets, scope: u32, kind: u8) -> KeyRange {
    keys::indexed(scope, kind, term.field as u8, &bytes(term, secrets))
}

pub(super) fn key(term: &Term, secrets: &Secrets, scope: u32, kind: u8, id: u64) -> Key {
    keys::index(scope, kind, term.field as u8, &bytes(term, secrets), id)
}

pub(super) fn digest(secrets: &Secrets, field: Field, text: &str) -> [u8; 16] {
    let full = secrets.digest(&[b"index", &[field as u8], text.as_bytes()]);
    let mut short = [0; 16];
    short.copy_from_slice(&full[..16]);
    short
}
