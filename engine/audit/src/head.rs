//! The file `head`, which records the last durable entry at the time of its writing. It reveals entries cut
//! off the end of the trail.

use std::{fs, io, path::Path};

use crate::{
    AuditError, Damage, Disk, Wrong, disk,
    folder::Name,
    line::{Head, Point},
    mac::MacKey,
    read,
};

const NAME: &str = "head";

pub(crate) fn write(disk: &dyn Disk, folder: &Path, key: &MacKey, point: Point) -> Result<(), AuditError> {
    let text = format!("{}\n", Head::line(key, point));
    disk::replace(disk, folder, NAME, &text).map_err(AuditError::io(format!("writing {}", folder.join(NAME).display())))
}

/// Returns the text of the file. Readers of an open trail read it before the files, so that the head is never
/// ahead of the files they see.
pub(crate) fn text(folder: &Path) -> Result<Option<String>, Damage> {
    let path = folder.join(NAME);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Damage::unread(&path)(error)),
    }
}

/// Returns the entry recorded in the head, or `None` if there is no trail yet. The head is written before the
/// first file, so files without a head are damage.
pub(crate) fn known(
    folder: &Path,
    key: &MacKey,
    text: Option<String>,
    files: &[Name],
) -> Result<Option<Point>, Damage> {
    let damage = |wrong| Damage::at(&folder.join(NAME), 1, 0, wrong);
    let Some(text) = text else {
        return if files.is_empty() { Ok(None) } else { Err(damage(Wrong::NoHead)) };
    };
    let head = text.strip_suffix('\n').and_then(|line| Head::read(key, line.as_bytes()));
    // With another secret, the headers of the files do not match either.
    let of_this_secret = || files.iter().any(|name| read::header(key, &name.path).is_ok());
    match head {
        Some(head) => Ok(Some(head)),
        None if of_this_secret() => Err(damage(Wrong::Edited)),
        None => Err(damage(Wrong::WrongSecret)),
    }
}
