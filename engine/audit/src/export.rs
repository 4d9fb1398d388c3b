//! Export of the entries that match a filter, for disclosure to patients or authorities.

use std::{io, path::Path};

use crate::{Actor, AuditError, entry::EntryFields, mac::MacKey, verify};

/// Criteria for entries. Criteria that are `None` match every entry.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Milliseconds since 1970, as in the entries.
    pub from: Option<i64>,
    /// Exclusive upper bound of the time.
    pub to: Option<i64>,
    pub actor: Option<Actor>,
    /// The kind of actor, as in the entries: `key`, `operator` or `workstation`.
    pub actor_kind: Option<String>,
    /// The location of the entry or, if it has none, of its first journal record.
    pub location: Option<u64>,
    pub record: Option<String>,
    /// One of the ids of the entry.
    pub id: Option<u64>,
    pub request: Option<String>,
}

/// Writes the matching entries, one line each, as stored (with number and MAC), and returns their count.
/// Verifies the whole trail on the way; after an error, discard the output.
pub fn export(folder: &Path, secret: &[u8; 32], filter: Filter, mut to: impl io::Write) -> Result<u64, AuditError> {
    let wanted = EntryMatcher::new(filter);
    let mut entries = 0;
    verify::walk(folder, &MacKey::new(secret), |seen, line| {
        if wanted.has(seen) {
            entries += 1;
            let written = to.write_all(line).and_then(|()| to.write_all(b"\n"));
            written.map_err(AuditError::io("writing the export"))?;
        }
        Ok::<(), AuditError>(())
    })?;
    to.flush().map_err(AuditError::io("writing the export"))?;
    Ok(entries)
}

pub(crate) struct EntryMatcher {
    filter: Filter,
    actor: Option<serde_json::Value>,
}

impl EntryMatcher {
    pub(crate) fn new(filter: Filter) -> Self {
        let actor = filter.actor.as_ref().map(|actor| serde_json::json!(actor));
        Self { filter, actor }
    }

    pub(crate) fn has(&self, seen: &EntryFields) -> bool {
        let Filter { from, to, actor_kind, location, record, id, request, .. } = &self.filter;
        from.is_none_or(|from| from <= seen.at)
            && to.is_none_or(|to| seen.at < to)
            && self.actor.as_ref().is_none_or(|actor| *actor == seen.actor)
            && actor_kind.as_ref().is_none_or(|kind| seen.actor.get(kind).is_some())
            && location.is_none_or(|location| seen.location() == Some(location))
            && record.as_ref().is_none_or(|record| record.eq_ignore_ascii_case(&seen.record))
            && id.is_none_or(|id| seen.ids.contains(&id))
            && request.as_ref().is_none_or(|request| *request == seen.request_id)
    }
}
