//! The newest entries, for people who look: read file by file from the end. Each file is verified in itself; the whole chain is for `verify`.

use std::{collections::VecDeque, fs, path::Path};

use crate::{
    entry::Entry,
    error::{AuditError, Damage},
    export::{Filter, Wanted},
    folder, head, line,
    mac::Key,
    read::FileReader,
};

/// Of the files that are read for one look: a second's work. Whoever has to look further back exports.
const MAX_READ_BYTES: u64 = 128 << 20;

/// An entry as it stands in the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: u64,
    pub entry: Entry,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newest {
    /// The newest first.
    pub entries: Vec<Recorded>,
    /// There may be older ones, which were not looked for.
    pub cut: bool,
}

/// Entries of a kind that a later version writes are left out.
pub(crate) fn newest(folder: &Path, key: &Key, filter: Filter, most: usize) -> Result<Newest, AuditError> {
    let _held = folder::hold(folder).map_err(Damage::unread(folder))?;
    let head = head::text(folder)?;
    let files = folder::files(folder).map_err(Damage::unread(folder))?;
    let Some(head) = head::known(folder, key, head, &files)? else { return Ok(Newest::default()) };
    let (mut newest, mut read) = (Newest::default(), 0);
    let (from, wanted) = (filter.from, Wanted::new(filter));
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
                && let Some(entry) = line::parse::<Entry>(text)
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
        // What is in earlier files is earlier than the latest of this one. Not than its first: an entry that comes late has the time of the
        // change it tells of, and may begin a file. The file that is written may have nothing else yet.
        if !is_last && from.zip(latest).is_some_and(|(from, latest)| latest < from) {
            break;
        }
    }
    Ok(newest)
}
