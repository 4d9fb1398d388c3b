//! The content of an audit entry: ids and kinds of records, never the data in them.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{AuditError, day::Day, line, mac::Mac};

/// Maximum size of an entry as JSON. A page of 1,000 ids with 20 digits each needs a third of it. The limit
/// bounds the memory of readers, which hold one line at a time.
pub const MAX_ENTRY_BYTES: usize = 64 << 10;

/// Room for a 20-digit number with its field name, a MAC with its field name, and a line feed.
const MAX_ADDED_BYTES: usize = 128;

/// Maximum size of a line, including its line feed.
pub(crate) const MAX_LINE_BYTES: usize = MAX_ENTRY_BYTES + MAX_ADDED_BYTES;

/// One call and the records it read or changed. Serialized as one line of JSON. Readers must ignore unknown
/// fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Milliseconds since 1970, UTC. The trail has no clock: file days and retention are derived from this time.
    pub at: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub institution: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<u64>,
    /// `read`, `create`, …
    pub action: String,
    /// The kind of record: `patient`, `appointment`, …
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub record: String,
    /// The ids of the affected records; a page of a list has many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<u64>,
    /// The pattern of the path, without the values of its parameters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub route: String,
    /// The name of the agents' tool that became the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The result of the call: an HTTP status or a word.
    pub status: String,
    /// The journal records of the audited change, as pairs of journal owner and record number. If a change has
    /// several entries, the last one contains them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The name of an API key, not its secret.
    Key(String),
    Operator(String),
    Workstation(String),
    /// The service itself, without a caller.
    Service,
}

/// A fact about the trail itself, recorded in an entry without a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Note {
    /// Retention deleted all files up to and including this entry.
    Removed { seq: u64, mac: Mac },
    /// The number of entries refused because the disk or the queue was full. Their callers received an error.
    Refused { entries: u64 },
}

impl Note {
    pub(crate) fn entry(&self, at: i64) -> AuditEntry {
        let (action, status) = match self {
            Self::Removed { .. } => ("retention", "removed"),
            Self::Refused { .. } => ("record", "refused"),
        };
        AuditEntry {
            at,
            request_id: String::new(),
            actor: Actor::Service,
            client: None,
            institution: None,
            location: None,
            action: action.to_owned(),
            record: "audit".to_owned(),
            ids: Vec::new(),
            route: String::new(),
            tool: None,
            status: status.to_owned(),
            decisions: Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct EntryWithNote<'a> {
    #[serde(flatten)]
    entry: &'a AuditEntry,
    note: &'a Note,
}

/// An entry as JSON, before it is numbered.
pub(crate) struct Body {
    pub at: i64,
    pub day: Day,
    pub json: String,
}

impl Body {
    pub(crate) fn from_entry(entry: &AuditEntry) -> Result<Self, AuditError> {
        Self::new(entry.at, line::json(entry))
    }

    pub(crate) fn from_note(note: &Note, at: i64) -> Result<Self, AuditError> {
        Self::new(at, line::json(&EntryWithNote { entry: &note.entry(at), note }))
    }

    fn new(at: i64, json: String) -> Result<Self, AuditError> {
        if json.len() > MAX_ENTRY_BYTES {
            return Err(AuditError::TooLarge { bytes: json.len(), limit: MAX_ENTRY_BYTES });
        }
        let day = Day::from_millis(at).ok_or(AuditError::Time { at })?;
        Ok(Self { at, day, json })
    }

    /// Returns the maximum size of the line after it is sealed.
    pub(crate) fn line_bytes(&self) -> usize {
        self.json.len() + MAX_ADDED_BYTES
    }

    /// Appends the text to seal, which begins with the sequence number.
    pub(crate) fn push_numbered(&self, seq: u64, lines: &mut String) {
        write!(lines, "{{\"seq\":{seq},").expect("a text can be extended");
        lines.push_str(&self.json[1..]);
    }
}

/// The fields that readers of a line use. Fields added by later versions are ignored.
#[derive(Deserialize)]
pub(crate) struct EntryFields {
    pub seq: u64,
    pub at: i64,
    #[serde(default)]
    pub request_id: String,
    /// Kept as JSON, because a later version may add kinds of `Actor`.
    #[serde(default)]
    pub actor: serde_json::Value,
    #[serde(default)]
    location: Option<u64>,
    #[serde(default)]
    decisions: Vec<(u64, u64)>,
    #[serde(default)]
    pub record: String,
    #[serde(default)]
    pub ids: Vec<u64>,
    #[serde(default)]
    note: serde_json::Value,
}

impl EntryFields {
    /// Returns the location. Entries of bookings contain it only in the journal records.
    pub(crate) fn location(&self) -> Option<u64> {
        self.location.or(self.decisions.first().map(|(location, _)| *location))
    }

    pub(crate) fn removed(&self) -> Option<(u64, Mac)> {
        match serde_json::from_value(self.note.clone()).ok()? {
            Note::Removed { seq, mac } => Some((seq, mac)),
            Note::Refused { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A line of a later version, with a new kind of actor, more fields and other notes.
    #[test]
    fn additions_of_a_later_version_are_ignored() {
        let line = r#"{"seq":7,"at":5,"actor":{"robot":{"id":1}},"action":"read","purpose":"care","status":"200","note":{"x":1}}"#;
        let seen: EntryFields = line::parse(line.as_bytes()).unwrap();
        assert_eq!((seen.seq, seen.at, seen.removed()), (7, 5, None));
        let entry: AuditEntry =
            line::parse(line.replace(r#"{"robot":{"id":1}}"#, r#"{"key":"k"}"#).as_bytes()).unwrap();
        assert_eq!((entry.actor, entry.action.as_str()), (Actor::Key("k".to_owned()), "read"));
    }

    #[test]
    fn a_note_is_read_as_it_is_written() {
        let note = Note::Removed { seq: 6, mac: Mac::NONE };
        let mut line = String::new();
        Body::from_note(&note, 5).unwrap().push_numbered(7, &mut line);
        let seen: EntryFields = line::parse(line.as_bytes()).unwrap();
        assert_eq!(seen.removed(), Some((6, Mac::NONE)));
        assert_eq!(AuditEntry { action: "retention".to_owned(), ..note.entry(5) }, note.entry(5));
    }
}
