//! Cursors: the position at which a page begins or ends. Opaque to clients, and bound to the query that returned them.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

use engine::lists::Position;
use location::Timestamp;

use crate::values::secret::{MacKey, Secret, joined};

const TAG: usize = 16;

pub struct Cursors(MacKey);

impl Cursors {
    pub fn new(secret: &Secret) -> Cursors {
        Cursors(secret.key("cursor"))
    }

    /// Returns the cursors of one query: its path and all parameters except those of paging, in any order.
    pub fn bound_to(&self, path: &str, mut parameters: Vec<(&str, &str)>) -> QueryCursors {
        parameters.sort_unstable();
        let texts = [("", path)].into_iter().chain(parameters).flat_map(|(name, value)| [name, value]);
        QueryCursors { key: self.0.clone(), query: joined(texts.map(str::as_bytes)) }
    }
}

/// Encoder and decoder for the cursors of one query. The cursor of a list contains position, id, and the time of the
/// walk's first page.
#[derive(Clone)]
pub struct QueryCursors {
    key: MacKey,
    query: Vec<u8>,
}

impl QueryCursors {
    /// Returns the tag of the query. Most calls have no cursors and never compute it.
    fn query_tag(&self) -> [u8; 32] {
        self.key.tag(&[&self.query])
    }

    pub fn seal(&self, position: Position, as_of: Timestamp) -> String {
        self.seal_numbers([position.at.0 as u64, position.id, as_of.0 as u64])
    }

    pub fn open(&self, cursor: &str) -> Option<(Position, Timestamp)> {
        let [at, id, as_of] = self.open_numbers(cursor)?;
        Some((Position { at: Timestamp(at as i64), id }, Timestamp(as_of as i64)))
    }

    pub fn seal_numbers<const N: usize>(&self, numbers: [u64; N]) -> String {
        let mut bytes = numbers.map(u64::to_be_bytes).concat();
        let tag = self.key.tag(&[&self.query_tag(), &bytes]);
        bytes.extend_from_slice(&tag[..TAG]);
        BASE64.encode(bytes)
    }

    pub fn open_numbers<const N: usize>(&self, cursor: &str) -> Option<[u64; N]> {
        let bytes = BASE64.decode(cursor).ok().filter(|bytes| bytes.len() == 8 * N + TAG)?;
        let (content, tag) = bytes.split_at(8 * N);
        if !self.key.verifies(&[&self.query_tag(), content], tag) {
            return None;
        }
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(content.chunks_exact(8)) {
            *number = u64::from_be_bytes(bytes.try_into().ok()?);
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cursors() -> Cursors {
        Cursors::new(&Secret::from_bytes([1; 32]))
    }

    #[test]
    fn a_cursor_opens_to_the_sealed_position() {
        let bound = cursors().bound_to("/providers", vec![("subdomain", "a"), ("inactive", "true")]);
        for position in [Position::id(0), Position::id(u64::MAX), Position { at: Timestamp(i64::MIN), id: 7 }] {
            let as_of = Timestamp(77);
            assert_eq!(bound.open(&bound.seal(position, as_of)), Some((position, as_of)));
        }
        let reordered = cursors().bound_to("/providers", vec![("inactive", "true"), ("subdomain", "a")]);
        let cursor = bound.seal(Position::id(3), Timestamp(0));
        assert_eq!(reordered.open(&cursor), Some((Position::id(3), Timestamp(0))));
    }

    #[test]
    fn a_cursor_opens_for_its_own_query_only() {
        let cursor = cursors().bound_to("/providers", vec![("subdomain", "a")]).seal(Position::id(3), Timestamp(0));
        let others = [
            ("/operatories", vec![("subdomain", "a")]),
            ("/providers", vec![("subdomain", "b")]),
            ("/providers", vec![("subdomain", "a"), ("inactive", "true")]),
            ("/providers", vec![("subdomai", "na")]),
            ("/providers", vec![]),
        ];
        for (path, parameters) in others {
            assert_eq!(cursors().bound_to(path, parameters.clone()).open(&cursor), None, "{path} {parameters:?}");
        }
        let elsewhere = Cursors::new(&Secret::from_bytes([2; 32])).bound_to("/providers", vec![("subdomain", "a")]);
        assert_eq!(elsewhere.open(&cursor), None);
    }

    #[test]
    fn altered_cursors_are_refused() {
        let bound = cursors().bound_to("/providers", vec![]);
        let cursor = bound.seal(Position::id(3), Timestamp(0));
        for at in 0..cursor.len() {
            let mut altered = cursor.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(bound.open(&String::from_utf8(altered).unwrap()), None, "byte {at}");
        }
        for wrong in ["", "x", "=", "é", &cursor[1..], &cursor.repeat(2)] {
            assert_eq!(bound.open(wrong), None);
        }
    }
}
