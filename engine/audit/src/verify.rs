//! The whole chain, from the first file to the end, as far as whole lines reach.

use std::path::Path;

use crate::{
    entry::Seen,
    error::{Damage, Wrong},
    folder::{self, Name},
    head,
    line::{Header, Point},
    mac::{Key, Mac},
    read::{Checked, FileReader},
};

/// A trail that is as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub files: usize,
    pub entries: u64,
    /// The number of the first entry that is there; those before it were deleted because they were old. 0 without entries.
    pub first: u64,
    pub last: u64,
    /// The times of the entries.
    pub earliest: Option<i64>,
    pub latest: Option<i64>,
    /// What was cut off after this entry would not be missed.
    pub head: u64,
    /// The MAC of the last entry. Noted elsewhere, it proves later that the trail up to there was not put back and written anew.
    pub mac: String,
    /// Bytes after the last whole line: it is being written, or the power went.
    pub torn: u64,
}

/// Looks at every entry. A service may write the trail meanwhile; what it writes from now on may be seen or not. Should its disk fail just
/// then, lines are taken back that are being read: look again before you believe that the last file is damaged.
pub fn verify(folder: &Path, secret: &[u8; 32]) -> Result<Verified, Damage> {
    walk(folder, &Key::new(secret), |_, _| Ok(()))
}

/// `visit` is called with each entry that is as it was written, in order. Of what it was shown all is good only if there is no error.
pub(crate) fn walk<E: From<Damage>>(
    folder: &Path,
    key: &Key,
    mut visit: impl FnMut(&Seen, &[u8]) -> Result<(), E>,
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
    fn pass(&mut self, checked: Checked) {
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

    /// What is missing at the beginning was removed on purpose when the trail says so. It says so before the first file goes, so that
    /// some of those files may still be there.
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
    fn see(&mut self, seen: &Seen) {
        if self.entries == 0 {
            self.first = seen.seq;
        }
        self.entries += 1;
        self.last = seen.seq;
        self.earliest = Some(self.earliest.map_or(seen.at, |at| at.min(seen.at)));
        self.latest = Some(self.latest.map_or(seen.at, |at| at.max(seen.at)));
    }
}
