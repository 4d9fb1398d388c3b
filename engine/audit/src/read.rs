//! Reads a file; each line is verified before it is passed on.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Take},
    path::Path,
};

use crate::{
    Damage, Wrong,
    entry::{EntryFields, MAX_LINE_BYTES},
    folder::Name,
    line::{self, Header, Point},
    mac::MacKey,
};

/// The result of reading and checking a whole file.
pub(crate) struct CheckedFile {
    pub header: Header,
    pub end: Point,
    /// The time of the last entry.
    pub at: Option<i64>,
    /// The length of all complete lines. `torn` is the length of the bytes after them.
    pub bytes: u64,
    pub torn: u64,
}

pub(crate) struct FileReader<'a> {
    pub key: &'a MacKey,
    pub name: &'a Name,
    pub head: Point,
    /// The end of the last file may be torn, because a write is in progress or was interrupted by a power loss.
    pub is_last: bool,
}

impl FileReader<'_> {
    /// Checks the whole file, which must continue `from` if that is known. Returns `None` for a last file without
    /// a complete header.
    pub(crate) fn check<E: From<Damage>>(
        &self,
        from: Option<Point>,
        mut visit: impl FnMut(&EntryFields, &[u8]) -> Result<(), E>,
    ) -> Result<Option<CheckedFile>, E> {
        let mut lines = Lines::open(&self.name.path).map_err(Damage::unread(&self.name.path))?;
        let Some(header) = self.header(&mut lines, from)? else { return Ok(None) };
        let mut end = header.point();
        self.check_against_head(end, lines.number)?;
        let (mut at, mut bytes) = (None, lines.offset);
        while let Some(line) = self.next(&mut lines, end.seq + 1)? {
            let seen = match line::parse::<EntryFields>(&line.bytes) {
                Some(seen) => seen,
                None if self.is_torn(&line) => break,
                None => return Err(self.damage(lines.number, end.seq + 1, Wrong::Unreadable).into()),
            };
            end = self.advance(end, &seen, &line.bytes, &mut lines)?;
            self.check_against_head(end, lines.number)?;
            visit(&seen, &line.bytes)?;
            (at, bytes) = (Some(seen.at), lines.offset);
        }
        Ok(Some(CheckedFile { header, end, at, bytes, torn: lines.length - bytes }))
    }

    fn header(&self, lines: &mut Lines, from: Option<Point>) -> Result<Option<Header>, Damage> {
        let expected = from.map_or(self.name.first, |point| point.seq + 1);
        let damage = |wrong| self.damage(1, expected, wrong);
        let header = match self.next(lines, expected)? {
            // The header is synced before the first entry is written, so a torn header is the only line of its file.
            Some(line) if self.is_last && line.is_at_end && line::parse::<Header>(&line.bytes).is_none() => {
                return Ok(None);
            }
            None if self.is_last => return Ok(None),
            line => Header::read(self.key, &line.map(|line| line.bytes).unwrap_or_default()).map_err(damage)?,
        };
        let found = header.point();
        match from {
            _ if (header.first, header.day) != (self.name.first, self.name.day) => Err(damage(Wrong::ForeignHeader)),
            Some(from) if found.seq > from.seq => Err(damage(Wrong::Missing { from: from.seq + 1, to: found.seq })),
            Some(from) if found.seq < from.seq => Err(damage(Wrong::Repeated { found: header.first })),
            Some(from) if found.mac != from.mac => Err(damage(Wrong::ForeignHeader)),
            _ => Ok(Some(header)),
        }
    }

    /// Returns the point of the next entry if `line` contains it and its MAC is correct.
    fn advance(&self, end: Point, seen: &EntryFields, line: &[u8], lines: &mut Lines) -> Result<Point, Damage> {
        let next = end.seq + 1;
        let number = lines.number;
        let wrong = match seen.seq {
            seq if seq == next => match line::sealed(self.key, end.mac, line) {
                Some(mac) => return Ok(Point { seq, mac }),
                None => Wrong::Edited,
            },
            found if found < next => Wrong::Repeated { found },
            found => self.gap(next, found, lines)?,
        };
        Err(self.damage(number, next, wrong))
    }

    /// Explains why the file contains `found` at the place of `next`, by reading the following lines.
    fn gap(&self, next: u64, found: u64, lines: &mut Lines) -> Result<Wrong, Damage> {
        let mut following = None;
        while let Some(line) = self.next(lines, next)? {
            let seq = line::parse::<EntryFields>(&line.bytes).map(|seen| seen.seq);
            if seq == Some(next) {
                return Ok(Wrong::Reordered);
            }
            following = following.or(Some(seq));
        }
        // The numbers continue after `next`, so only the number of this entry was changed.
        let continues = following == Some(Some(next + 1));
        Ok(if continues { Wrong::Edited } else { Wrong::Missing { from: next, to: found - 1 } })
    }

    /// Checks that the head and the file agree on the MAC of the same entry.
    fn check_against_head(&self, point: Point, line: u64) -> Result<(), Damage> {
        if point.seq == self.head.seq && point.mac != self.head.mac {
            return Err(self.damage(line, point.seq, Wrong::OtherHistory));
        }
        Ok(())
    }

    /// Returns the next line, which should contain entry `expected`. A line without a line feed is torn, even if
    /// it can be parsed.
    fn next(&self, lines: &mut Lines, expected: u64) -> Result<Option<Line>, Damage> {
        match lines.next().map_err(Damage::unread(&self.name.path))? {
            Some(line) if line.is_ended => Ok(Some(line)),
            Some(line) if !(self.is_last && line.is_at_end) => {
                Err(self.damage(lines.number, expected, Wrong::Unreadable))
            }
            _ => Ok(None),
        }
    }

    /// Returns whether a power loss explains the line: it is unreadable at the very end, or contains zeros of
    /// blocks that never reached the disk.
    fn is_torn(&self, line: &Line) -> bool {
        self.is_last && (line.is_at_end || line.bytes.contains(&0))
    }

    fn damage(&self, line: u64, seq: u64, wrong: Wrong) -> Damage {
        Damage::at(&self.name.path, line, seq, wrong)
    }
}

/// Reads the header only.
pub(crate) fn header(key: &MacKey, path: &Path) -> Result<Header, Damage> {
    let line = Lines::open(path).and_then(|mut lines| lines.next()).map_err(Damage::unread(path))?;
    let bytes = line.map(|line| line.bytes).unwrap_or_default();
    Header::read(key, &bytes).map_err(|wrong| Damage::at(path, 1, 0, wrong))
}

/// A line without its line feed.
struct Line {
    bytes: Vec<u8>,
    is_ended: bool,
    is_at_end: bool,
}

/// A file, limited to its length at the time of opening. A concurrent writer could otherwise complete a torn
/// line between two reads.
struct Lines {
    reader: BufReader<Take<File>>,
    length: u64,
    /// The number of the line read last.
    number: u64,
    /// The offset of the end of the line read last.
    offset: u64,
}

impl Lines {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { reader: BufReader::new(file.take(length)), length, number: 0, offset: 0 })
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        // A longer line without a line feed is invalid; the limit keeps it out of memory.
        let read = self.reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.offset += read as u64;
        let is_ended = bytes.pop_if(|last| *last == b'\n').is_some();
        Ok(Some(Line { bytes, is_ended, is_at_end: self.reader.fill_buf()?.is_empty() }))
    }
}
