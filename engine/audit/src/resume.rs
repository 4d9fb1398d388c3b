//! Recovery of the end of the trail on opening: reads the last file, cuts off a torn end, and checks it
//! against the head.

use std::{fs, path::Path};

use crate::{
    AuditError, Damage, Disk, Wrong, disk,
    folder::{self, Folder, Name},
    head,
    line::Point,
    mac::MacKey,
    read::{CheckedFile, FileReader},
    segment::Segment,
};

/// The last entry of a trail and its time.
#[derive(Clone, Copy)]
pub(crate) struct Tip {
    pub point: Point,
    pub at: i64,
}

pub(crate) struct Resumed {
    /// `None` before the first entry.
    pub segment: Option<Segment>,
    pub tip: Tip,
    pub head: Point,
}

pub(crate) fn resume(disk: &dyn Disk, folder: &Folder, key: &MacKey) -> Result<Resumed, AuditError> {
    let path = &folder.path;
    let text = head::text(path)?;
    let mut files = folder::files(path).map_err(Damage::unread(path))?;
    let head = match head::known(path, key, text, &files)? {
        Some(head) => head,
        None => {
            head::write(disk, path, key, Point::START)?;
            Point::START
        }
    };
    let (end, unfinished) = end(key, head, &mut files)?;
    let point = end.as_ref().map_or(Point::START, |end| end.end);
    let last = files.last().map_or(path, |name| &name.path);
    // Checked before anything is cut off: a power loss cannot remove an entry that the head contains.
    if point.seq < head.seq {
        let wrong = Wrong::CutOff { from: point.seq + 1, to: head.seq };
        return Err(Damage::at(last, 0, point.seq + 1, wrong).into());
    }
    unfinished.iter().try_for_each(remove)?;
    let at = end.as_ref().map_or(0, |end| end.at.unwrap_or(end.header.day.start()));
    let segment = end.map(|end| open(disk, last, &end)).transpose()?;
    let synced = disk::sync_folder(disk, path).and_then(|()| disk::sync_folder(disk, &path.join("..")));
    synced.map_err(AuditError::io(format!("syncing {}", path.display())))?;
    Ok(Resumed { segment, tip: Tip { point, at }, head })
}

/// Returns the end of the last file that has a header, and truncates `files` after it. Later files were being
/// created during a power loss and have no entries.
fn end(key: &MacKey, head: Point, files: &mut Vec<Name>) -> Result<(Option<CheckedFile>, Vec<Name>), Damage> {
    let mut unfinished = Vec::new();
    while let Some(name) = files.last() {
        let reader = FileReader { key, name, head, is_last: true };
        if let Some(end) = reader.check::<Damage>(None, |_, _| Ok(()))? {
            return Ok((Some(end), unfinished));
        }
        unfinished.extend(files.pop());
    }
    Ok((None, unfinished))
}

fn remove(name: &Name) -> Result<(), AuditError> {
    let file = name.path.display();
    tracing::warn!(%file, "removed an unfinished file of the audit trail: the service ended while the file was created");
    fs::remove_file(&name.path).map_err(AuditError::io(format!("removing {file}")))
}

fn open(disk: &dyn Disk, path: &Path, end: &CheckedFile) -> Result<Segment, AuditError> {
    let file = path.display();
    if end.torn > 0 {
        let (bytes, entry) = (end.torn, end.end.seq);
        tracing::warn!(%file, bytes, entry, "cut off the torn end after the last complete entry of the audit trail: the service ended during a write");
    }
    let opened = Segment::open(disk, path, end.header.day, end.bytes, end.at.is_some());
    opened.map_err(AuditError::io(format!("opening {file}")))
}
