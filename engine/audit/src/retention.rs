//! Which files are old enough to go.

use std::path::Path;

use crate::{
    error::{AuditError, Damage},
    folder::{self, Name},
    line::Point,
    mac::Key,
    read,
};

pub(crate) struct Removal {
    /// From the oldest, without a gap.
    pub files: Vec<Name>,
    /// The last entry in them.
    pub last: Point,
}

/// Whole files, of days that are more than `keep_days` before the one in which the last file but one was begun. A clock that runs ahead
/// for as long as one file is written makes nobody old: the later of two days is not believed yet.
///
/// Days are those of the headers: a name can be changed by anybody, and what is damaged is not deleted.
pub(crate) fn due(folder: &Path, key: &Key, keep_days: u32) -> Result<Option<Removal>, AuditError> {
    let mut files = folder::files(folder).map_err(Damage::unread(folder))?;
    let [.., before, last] = files.as_slice() else { return Ok(None) };
    let today = read::header(key, &before.path)?.day.min(read::header(key, &last.path)?.day);
    let Some(oldest) = today.before(keep_days) else { return Ok(None) };
    let mut old = 0;
    let mut kept = read::header(key, &files[0].path)?;
    // The last file but one is of today or later, so that there is always one that is kept.
    while kept.day < oldest {
        old += 1;
        kept = read::header(key, &files[old].path)?;
    }
    files.truncate(old);
    Ok((old > 0).then(|| Removal { files, last: kept.point() }))
}
