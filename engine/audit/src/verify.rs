//! Verification of the whole chain, from the first file to the last complete line.

use std::path::Path;

use crate::{
    Damage, Wrong,
    entry::EntryFields,
    folder::{self, Name},
    head,
    line::{Header, Point},
    mac::{Mac, MacKey},
    read::{CheckedFile, FileReader},
};

/// The summary of an undamaged trail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub files: usize,
    pub entries: u64,
    /// The number of the first stored entry; retention deleted those before it. 0 without entries.
    pub first: u64,
    pub last: u64,
    /// The earliest and latest times of the entries.
    pub earliest: Option<i64>,
    pub latest: Option<i64>,
    /// The entry in the head. Entries cut off after it are not detected.
    pub head: u64,
    /// The MAC of the last entry. Recorded elsewhere, it later proves that the trail up to that entry was not
    /// replaced.
    pub mac: String,
    /// Bytes after the last complete line, from a write in progress or a power loss.
    pub torn: u64,
}

/// Verifies every entry. The trail may be written concurrently; new entries may or may not be included. If
/// the disk fails meanwhile, lines are removed while they are read: verify again before you treat the last
/// file as damaged.
pub fn verify(folder: &Path, secret: &[u8; 32]) -> Result<Verified, Damage> {
    walk(folder, &MacKey::new(secret), |_, _| Ok(()))
}

/// Calls `visit` with each verified entry, in order. The visited entries are valid only if the whole walk
/// succeeds.
pub(crate) fn walk<E: From<Damage>>(
    folder: &Path,
    key: &MacKey,
    mut visit: impl FnMut(&EntryFields, &[u8]) -> Result<(), E>,
) -> Result<Verified, E> {
    let _held = folder::hold(folder).map_err(Damage::unread(folder))?;
    let head = head::text(folder)?;
    let files = folder::files(folder).map_err(Damage::unread(folder))?;
    let Some(head) = head::known(folder, key, head, &files)? else {
        return Err(Damage::at(folder, 0, 0, Wrong::Nothing).into());
    };
    let mut walked = Walked::default();
    for (n, name) in files.iter().enumerate() {
        let reader = FileReader { key, name, head, is_last: n + 1 == files.len() };
        let checked = reader.check(walked.end, |seen, line| {
            walked.verified.see(seen);
            walked.removed = seen.removed().or(walked.removed);
            visit(seen, line)
        })?;
        if let Some(checked) = checked {
            walked.pass(checked);
        }
    }
    Ok(walked.finish(folder, head, &files)?)
}

#[derive(Default)]
struct Walked {
    verified: Verified,
    begin: Option<Header>,
    end: Option<Point>,
    /// The last note of retention.
    removed: Option<(u64, Mac)>,
}

impl Walked {
    fn pass(&mut self, checked: CheckedFile) {
        self.end = Some(checked.end);
        self.begin.get_or_insert(checked.header);
        self.verified.files += 1;
        self.verified.torn = checked.torn;
    }

    fn finish(mut self, folder: &Path, head: Point, files: &[Name]) -> Result<Verified, Damage> {
        let end = self.end.unwrap_or(Point::START);
        if let (Some(begin), Some(first)) = (&self.begin, files.first()) {
            let wrong = self.begin_is_wrong(begin.point());
            wrong.map_or(Ok(()), |wrong| Err(Damage::at(&first.path, 1, begin.first, wrong)))?;
        }
        if end.seq < head.seq {
            let last = files.last().map_or(folder, |name| &name.path);
            let wrong = Wrong::CutOff { from: end.seq + 1, to: head.seq };
            return Err(Damage::at(last, 0, end.seq + 1, wrong));
        }
        (self.verified.head, self.verified.mac) = (head.seq, end.mac.to_string());
        Ok(self.verified)
    }

    /// Returns the damage at the beginning, if any. Entries missing there were removed by retention if a later
    /// note covers them. The note is written before the files are deleted, so some of the files may still exist.
    fn begin_is_wrong(&self, begin: Point) -> Option<Wrong> {
        match self.removed {
            _ if begin == Point::START => None,
            Some((seq, mac)) if seq == begin.seq && mac != begin.mac => Some(Wrong::OtherHistory),
            Some((seq, _)) if seq >= begin.seq => None,
            _ => Some(Wrong::Missing { from: 1, to: begin.seq }),
        }
    }
}

impl Verified {
    fn see(&mut self, seen: &EntryFields) {
        if self.entries == 0 {
            self.first = seen.seq;
        }
        self.entries += 1;
        self.last = seen.seq;
        self.earliest = Some(self.earliest.map_or(seen.at, |at| at.min(seen.at)));
        self.latest = Some(self.latest.map_or(seen.at, |at| at.max(seen.at)));
    }
}
