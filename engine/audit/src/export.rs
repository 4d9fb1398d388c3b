//! What the trail says of somebody, for who has to be told.

use std::{io, path::Path};

use crate::{
    entry::{Actor, Seen},
    error::AuditError,
    mac::Key,
    verify,
};

/// Which entries; what is not set is not asked.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Milliseconds since 1970, as in the entries.
    pub from: Option<i64>,
    /// The first millisecond that is not meant any more.
    pub to: Option<i64>,
    pub actor: Option<Actor>,
    pub record: Option<String>,
    /// One of the entry's.
    pub id: Option<u64>,
}

/// Writes the entries as they stand in the files, with number and MAC, a line for each, and says how many. All of the trail is verified on
/// the way: what was written before an error is not to be used.
pub fn export(folder: &Path, secret: &[u8; 32], filter: Filter, mut to: impl io::Write) -> Result<u64, AuditError> {
    let wanted = Wanted::new(filter);
    let mut entries = 0;
    verify::walk(folder, &Key::new(secret), |seen, line| {
        if wanted.has(seen) {
            entries += 1;
            let written = to.write_all(line).and_then(|()| to.write_all(b"\n"));
            written.map_err(AuditError::io("writing what is exported"))?;
        }
        Ok::<(), AuditError>(())
    })?;
    to.flush().map_err(AuditError::io("writing what is exported"))?;
    Ok(entries)
}

pub(crate) struct Wanted {
    filter: Filter,
    actor: Option<serde_json::Value>,
}

impl Wanted {
    pub(crate) fn new(filter: Filter) -> Self {
        let actor = filter.actor.as_ref().map(|actor| serde_json::json!(actor));
        Self { filter, actor }
    }

    pub(crate) fn has(&self, seen: &Seen) -> bool {
        let Filter { from, to, record, id, .. } = &self.filter;
        from.is_none_or(|from| from <= seen.at)
            && to.is_none_or(|to| seen.at < to)
            && self.actor.as_ref().is_none_or(|actor| *actor == seen.actor)
            && record.as_ref().is_none_or(|record| *record == seen.record)
            && id.is_none_or(|id| seen.ids.contains(&id))
    }
}
