//! Selection of the files that are older than the retention period.

use std::path::Path;

use crate::{
    AuditError, Damage,
    folder::{self, Name},
    line::Point,
    mac::MacKey,
    read,
};

pub(crate) struct Removal {
    /// The oldest files, without a gap.
    pub files: Vec<Name>,
    /// The last entry of these files.
    pub last: Point,
}

/// Returns the files whose day is more than `keep_days` before today. Today is the earlier of the days of the
/// last two files, so that a clock that runs ahead for the length of one file deletes nothing.
///
/// Days are read from the headers, because names can be changed without the secret and damaged files must not
/// be deleted.
pub(crate) fn due(folder: &Path, key: &MacKey, keep_days: u32) -> Result<Option<Removal>, AuditError> {
    let mut files = folder::files(folder).map_err(Damage::unread(folder))?;
    let [.., before, last] = files.as_slice() else { return Ok(None) };
    let today = read::header(key, &before.path)?.day.min(read::header(key, &last.path)?.day);
    let Some(oldest) = today.before(keep_days) else { return Ok(None) };
    let mut old = 0;
    let mut kept = read::header(key, &files[0].path)?;
    // The last file but one is of today or later, so the loop always stops at a file that is kept.
    while kept.day < oldest {
        old += 1;
        kept = read::header(key, &files[old].path)?;
    }
    files.truncate(old);
    Ok((old > 0).then(|| Removal { files, last: kept.point() }))
}
