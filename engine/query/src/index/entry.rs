//! What lies in the index: byte strings that sort like what they say, so that all records with a term, with a beginning of a name, or
//! with a time stand together.
//!
//! ```text
//! kind u8 │ field u8      │ 8 bytes of a number or of the digest of a text │ id u64
//! kind u8 │ name          │ up to 16 bytes of a word, 0                    │ id u64
//! kind u8 │ 0x80 + order  │ time i64                                       │ id u64
//! kind u8 │ 0xF0          │ id u64                                         │ time i64, when it changed last
//! ```

use std::sync::LazyLock;

use location::time::Timestamp;
use records::{
    document::Document,
    index::{Field, OrderBy, Term, Value},
};
use sha2::{Digest, Sha256};

use crate::stream::{Entry, Stream};

/// No entry is longer.
pub(crate) const MOST_BYTES: usize = 2 + WORD_BYTES + 1 + 8;
/// Of a word; who asks for a longer beginning gets all records with so much of it, and judges them.
const WORD_BYTES: usize = 16;
const ORDERS: u8 = 0x80;
const CHANGED: u8 = 0xF0;
/// Signed numbers sort by value once their sign bit is flipped.
const SIGN: u64 = 1 << 63;

/// What all records with a term have in front of their ids.
pub(crate) fn term(kind: u8, term: &Term) -> Entry {
    match (&term.value, term.word()) {
        (_, Some(word)) => [beginning(kind, word).as_slice(), &[0]].concat(),
        (Value::Number(number), None) => [&[kind, term.field as u8], &number.to_be_bytes()[..]].concat(),
        (Value::Text(text), None) => [&[kind, term.field as u8], &digest(text)[..]].concat(),
    }
}

/// What all records with a word that begins so have in front.
pub(crate) fn beginning(kind: u8, start: &str) -> Entry {
    let end = (0..=start.len().min(WORD_BYTES)).rev().find(|end| start.is_char_boundary(*end)).unwrap_or(0);
    [&[kind, Field::Name as u8], &start.as_bytes()[..end]].concat()
}

/// The word of an entry, with all that stands before it.
pub(crate) fn with_word(entry: &[u8]) -> &[u8] {
    &entry[..entry.len().saturating_sub(8)]
}

pub(crate) fn with_id(prefix: &[u8], id: u64) -> Entry {
    [prefix, &id.to_be_bytes()].concat()
}

/// The id of a record with a term or a place in an order.
pub(crate) fn id(entry: &[u8]) -> u64 {
    entry.last_chunk().map_or(0, |id| u64::from_be_bytes(*id))
}

pub(crate) fn order(kind: u8, order: OrderBy) -> Entry {
    vec![kind, ORDERS + order as u8]
}

/// A place in an order.
pub(crate) fn place(kind: u8, order: OrderBy, at: Timestamp, id: u64) -> Entry {
    [&[kind, ORDERS + order as u8], &time(at)[..], &id.to_be_bytes()].concat()
}

/// The time and the id of a place.
pub(crate) fn parse_place(entry: &[u8]) -> Option<(Timestamp, u64)> {
    let (at, rest) = entry.get(2..)?.split_first_chunk()?;
    Some((parse_time(*at), u64::from_be_bytes(rest.try_into().ok()?)))
}

/// In the order of ids, when each record changed last.
pub(crate) fn changed(kind: u8) -> Entry {
    vec![kind, CHANGED]
}

pub(crate) fn changed_at(kind: u8, id: u64, at: Timestamp) -> Entry {
    [&[kind, CHANGED], &id.to_be_bytes()[..], &time(at)].concat()
}

/// An id, and when its record changed last.
pub(crate) fn parse_changed(entry: &[u8]) -> Option<(u64, Timestamp)> {
    let (id, rest) = entry.get(2..)?.split_first_chunk()?;
    Some((u64::from_be_bytes(*id), parse_time(rest.try_into().ok()?)))
}

fn time(at: Timestamp) -> [u8; 8] {
    (at.0.cast_unsigned() ^ SIGN).to_be_bytes()
}

fn parse_time(bytes: [u8; 8]) -> Timestamp {
    Timestamp((u64::from_be_bytes(bytes) ^ SIGN).cast_signed())
}

/// Of a text that is compared as a whole. Two texts of one digest are told apart by who reads the records.
fn digest(text: &str) -> [u8; 8] {
    static EMPTY: LazyLock<Sha256> = LazyLock::new(Sha256::new);
    let full = EMPTY.clone().chain_update(text.as_bytes()).finalize();
    full.first_chunk().copied().unwrap_or_default()
}

/// All that one state of a record is found by.
pub struct Facets {
    stream: Option<Stream>,
    /// Sorted, each once.
    entries: Vec<Entry>,
    pub deleted: bool,
}

impl Facets {
    pub fn of<T: Document>(record: &T) -> Facets {
        let (kind, id) = (T::KIND.byte(), record.id());
        let mut entries: Vec<Entry> = record.terms().iter().map(|it| with_id(&term(kind, it), id)).collect();
        for (order, at) in record.places() {
            entries.push(place(kind, order, at, id));
            if order == OrderBy::Updated && T::LISTED_BY_ID {
                entries.push(changed_at(kind, id, at));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        Facets { stream: Stream::of::<T>(record.owner()), entries, deleted: record.deleted() }
    }

    /// Of whoever's lists show it.
    pub fn stream(&self) -> Option<Stream> {
        self.stream
    }

    /// What it is found by.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// What leaves the index and what enters it when this comes after `before`, a state in the same stream.
    pub fn since(&self, before: Option<&Facets>) -> (Vec<Entry>, Vec<Entry>) {
        let old = before.map_or(&[][..], |before| &before.entries);
        let missing = |of: &[Entry], from: &[Entry]| -> Vec<Entry> {
            of.iter().filter(|entry| from.binary_search(entry).is_err()).cloned().collect()
        };
        (missing(old, &self.entries), missing(&self.entries, old))
    }
}
