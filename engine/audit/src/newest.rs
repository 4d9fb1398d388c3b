//! The newest entries, for display. Files are read backwards from the end and verified one by one; `verify`
//! checks the whole chain.

use std::{collections::VecDeque, fs, path::Path};

use crate::{
    AuditEntry, AuditError, Damage, Filter, export::EntryMatcher, folder, head, line, mac::MacKey, read::FileReader,
};

/// Maximum bytes of files read for one query, about one second of work. Use the export for older entries.
const MAX_READ_BYTES: u64 = 128 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: u64,
    pub entry: AuditEntry,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newest {
    /// Entries, newest first.
    pub entries: Vec<Recorded>,
    /// `true` if there may be older matching entries that were not searched.
    pub cut: bool,
}

/// Returns the newest entries that match the filter. Entries in the format of a later version are omitted.
pub(crate) fn newest(folder: &Path, key: &MacKey, filter: Filter, most: usize) -> Result<Newest, AuditError> {
    let _held = folder::hold(folder).map_err(Damage::unread(folder))?;
    let head = head::text(folder)?;
    let files = folder::files(folder).map_err(Damage::unread(folder))?;
    let Some(head) = head::known(folder, key, head, &files)? else { return Ok(Newest::default()) };
    let (mut newest, mut read) = (Newest::default(), 0);
    let (from, wanted) = (filter.from, EntryMatcher::new(filter));
    for (n, name) in files.iter().enumerate().rev() {
        if newest.entries.len() >= most || read >= MAX_READ_BYTES {
            newest.cut = true;
            break;
        }
        let is_last = n + 1 == files.len();
        let reader = FileReader { key, name, head, is_last };
        let (mut found, mut latest) = (VecDeque::new(), None::<i64>);
        reader.check(None, |seen, text| {
            latest = latest.max(Some(seen.at));
            if wanted.has(seen)
                && let Some(entry) = line::parse::<AuditEntry>(text)
            {
                if found.len() + newest.entries.len() == most {
                    found.pop_front();
                    newest.cut = true;
                }
                found.push_back(Recorded { seq: seen.seq, entry });
            }
            Ok::<(), AuditError>(())
        })?;
        newest.entries.extend(found.into_iter().rev());
        read += fs::metadata(&name.path).map(|file| file.len()).map_err(Damage::unread(&name.path))?;
        // Entries of earlier files are earlier than the latest entry of this file. They are not always earlier than
        // its first entry: a late entry has the time of its change and may begin a file. The last file may contain
        // only such an entry, so it does not end the search.
        if !is_last && from.zip(latest).is_some_and(|(from, latest)| latest < from) {
            break;
        }
    }
    Ok(newest)
}
