//! One line of a file: a JSON object whose last field, `mac`, seals the bytes before it.
//!
//! The first field identifies the kind of line: an entry (`seq`), the header of a file (`format`) or the head
//! (`head`). Entries form the chain: each is sealed with the MAC of the previous entry. A header and the head
//! each contain a point of the chain and are sealed with its MAC; no entry depends on them.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Wrong,
    day::Day,
    mac::{Mac, MacKey},
};

/// Size of `,"mac":"` and `"}` around 64 digits.
const SEAL_BYTES: usize = 8 + 64 + 2;

/// The format that this version writes, and the newest format it reads.
pub(crate) const FORMAT: u32 = 1;

/// An entry and its MAC. The MAC determines all entries up to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub seq: u64,
    pub mac: Mac,
}

impl Point {
    /// The point before the first entry.
    pub(crate) const START: Self = Self { seq: 0, mac: Mac::NONE };
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and lists of them are JSON")
}

/// Seals a JSON object. Returns the line without its line feed, and its MAC.
fn seal(key: &MacKey, previous: Mac, mut json: String) -> (String, Mac) {
    let mac = seal_last(key, previous, &mut json, 0);
    (json, mac)
}

/// Seals the JSON object from `start` to the end of `lines`. Returns its MAC.
pub(crate) fn seal_last(key: &MacKey, previous: Mac, lines: &mut String, start: usize) -> Mac {
    lines.truncate(lines.len() - 1);
    let mac = key.mac(previous, &lines.as_bytes()[start..]);
    lines.push_str(&closing(mac));
    mac
}

/// Returns the MAC of a line if it is correct. Compares the digits as written, so that a capital digit is an
/// edit, too.
pub(crate) fn sealed(key: &MacKey, previous: Mac, line: &[u8]) -> Option<Mac> {
    let (text, seal) = line.split_at_checked(line.len().checked_sub(SEAL_BYTES)?)?;
    let mac = key.mac(previous, text);
    (seal == closing(mac).as_bytes()).then_some(mac)
}

fn closing(mac: Mac) -> String {
    format!(",\"mac\":\"{mac}\"}}")
}

pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    format: u32,
    /// The number of the first entry of the file.
    pub first: u64,
    pub day: Day,
    /// The MAC of the entry before the first one.
    pub previous: Mac,
}

impl Header {
    pub(crate) fn after(point: Point, day: Day) -> Self {
        Self { format: FORMAT, first: point.seq + 1, day, previous: point.mac }
    }

    pub(crate) fn line(&self, key: &MacKey) -> String {
        seal(key, self.previous, json(self)).0
    }

    pub(crate) fn read(key: &MacKey, line: &[u8]) -> Result<Self, Wrong> {
        let header: Self = parse(line).ok_or(Wrong::Unreadable)?;
        if header.format > FORMAT {
            return Err(Wrong::NewerFormat { found: header.format });
        }
        match sealed(key, header.previous, line) {
            Some(_) if header.first > 0 => Ok(header),
            _ => Err(Wrong::ForeignHeader),
        }
    }

    /// Returns the point of the chain that the file continues.
    pub(crate) fn point(&self) -> Point {
        Point { seq: self.first - 1, mac: self.previous }
    }
}

/// The content of the file `head`: an entry that was durable when the head was written.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    head: u32,
    seq: u64,
    last: Mac,
}

impl Head {
    pub(crate) fn line(key: &MacKey, point: Point) -> String {
        seal(key, point.mac, json(&Self { head: FORMAT, seq: point.seq, last: point.mac })).0
    }

    pub(crate) fn read(key: &MacKey, line: &[u8]) -> Option<Point> {
        let head: Self = parse(line)?;
        sealed(key, head.last, line).map(|_| Point { seq: head.seq, mac: head.last })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    /// From Python: `hmac.new(bytes([7]*32), bytes(32) + b'{"seq":1', hashlib.sha256).hexdigest()`
    #[test]
    fn a_seal_matches_hmac_sha256_of_python() {
        let (line, mac) = seal(&MacKey::new(&KEY), Mac::NONE, "{\"seq\":1}".to_owned());
        assert_eq!(line, format!("{{\"seq\":1,\"mac\":\"{PYTHON}\"}}"));
        assert_eq!(sealed(&MacKey::new(&KEY), Mac::NONE, line.as_bytes()), Some(mac));
    }

    const PYTHON: &str = "9920bf0ed1dc24e4118aa5cc829c0e895914073ba70795c646a370e5bb6775a7";

    #[test]
    fn every_changed_byte_breaks_the_seal() {
        let (line, mac) = seal(&MacKey::new(&KEY), Mac::NONE, "{\"seq\":1}".to_owned());
        for at in 0..line.len() {
            let mut edited = line.clone().into_bytes();
            edited[at] ^= 0x20;
            assert_eq!(sealed(&MacKey::new(&KEY), Mac::NONE, &edited), None, "byte {at}");
        }
        assert_eq!(sealed(&MacKey::new(&KEY), mac, line.as_bytes()), None, "after another entry");
        assert_eq!(sealed(&MacKey::new(&KEY), Mac::NONE, b"{}"), None);
    }

    #[test]
    fn a_header_of_a_newer_version_is_reported_as_newer() {
        let newer = Header { format: 2, first: 1, day: Day::from_millis(0).unwrap(), previous: Mac::NONE };
        let line = newer.line(&MacKey::new(&KEY));
        assert!(matches!(Header::read(&MacKey::new(&KEY), line.as_bytes()), Err(Wrong::NewerFormat { found: 2 })));
        assert!(matches!(Header::read(&MacKey::new(&[8; 32]), line.as_bytes()), Err(Wrong::NewerFormat { .. })));
        let line = Header::after(Point::START, newer.day).line(&MacKey::new(&KEY));
        assert!(matches!(Header::read(&MacKey::new(&[8; 32]), line.as_bytes()), Err(Wrong::ForeignHeader)));
    }
}
