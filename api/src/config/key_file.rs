//! Changes of the file of the keys. Each entry is a text of its own, so what else the file holds stays as it was written: comments, order,
//! and entries that cannot be read.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    ops::Range,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use engine::setup::Setup;
use toml::{Spanned, Value, de::DeTable};

use super::{
    keys,
    problems::{Document, Problem},
};

/// Of a new file: nobody but the owner reads it.
const MODE: u32 = 0o600;
/// And the group of a folder that is closed to others and open to that group.
const WITH_GROUP: u32 = 0o640;

/// The file, for one process at a time.
pub(crate) struct KeyFile {
    document: Document,
    /// Held until it is dropped. The folder's, as the file is replaced.
    lock: File,
}

impl KeyFile {
    /// A file that is not there yet is empty.
    pub(crate) fn open(path: &Path) -> io::Result<KeyFile> {
        // A link stays one.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let lock = File::open(folder(&path))?;
        lock.lock()?;
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        Ok(KeyFile { document: Document { path, text }, lock })
    }

    pub(crate) fn add(&mut self, list: &str, fields: &[(&str, Value)]) {
        let text = &mut self.document.text;
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&format!("[[{list}]]\n"));
        for (key, value) in fields {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }

    /// All of this name. Whether there was one.
    pub(crate) fn remove(&mut self, list: &str, name: &str) -> bool {
        let mut found = false;
        while let Some(range) = self.entry(list, name) {
            self.document.text.replace_range(range, "");
            found = true;
        }
        found
    }

    /// Sets a key of an entry. Whether there is one of this name.
    pub(crate) fn set(&mut self, list: &str, name: &str, key: &str, value: &Value) -> bool {
        let Some(entry) = self.entry(list, name) else { return false };
        let text = &self.document.text[entry.clone()];
        let place = read(list, text, |table| match table.get(key) {
            Some(there) => there.span(),
            None => {
                let last = table.values().map(|value| value.span().end).max().unwrap_or(text.len());
                let end = text[last..].find('\n').map_or(text.len(), |rest| last + rest);
                end..end
            }
        });
        let Some(place) = place else { return false };
        let written = if place.is_empty() { format!("\n{key} = {value}") } else { value.to_string() };
        self.document.text.replace_range(entry.start + place.start..entry.start + place.end, &written);
        true
    }

    /// What is wrong with an entry as it is now.
    pub(crate) fn problems(&self, list: &str, name: &str, setup: &Setup) -> Vec<Problem> {
        let Some(entry) = self.entry(list, name) else { return Vec::new() };
        let line = |at: usize| 1 + self.document.text[..at].matches('\n').count();
        let lines = line(entry.start)..=line(entry.end);
        let (_, mut problems) = keys::read(&self.document, setup);
        problems.retain(|problem| problem.line.is_some_and(|line| lines.contains(&line)));
        problems
    }

    /// The last of this name: one that was added twice is told so.
    fn entry(&self, list: &str, name: &str) -> Option<Range<usize>> {
        let all = keys::entries(&self.document.text);
        let named = |text: &str| read(list, text, |table| table.get("name")?.get_ref().as_str().map(|it| it == name));
        let found = all.into_iter().rfind(|(_, text)| named(text).flatten() == Some(true));
        found.map(|(at, text)| at..at + text.len())
    }

    /// Whole or not at all, and durable.
    pub(crate) fn save(self) -> io::Result<PathBuf> {
        let Document { path, text } = self.document;
        let (mode, owner, group) = rights(&path, &self.lock)?;
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        // What an earlier attempt left would keep its own mode.
        let _ = fs::remove_file(&partial);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&partial)?;
        fchown(&file, owner, group)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        self.lock.sync_all()?;
        Ok(path)
    }
}

/// Mode, owner and group. The server may run as another user than whoever edits its keys.
fn rights(path: &Path, folder: &File) -> io::Result<(u32, Option<u32>, Option<u32>)> {
    if let Ok(before) = fs::metadata(path) {
        return Ok((before.mode() & 0o777, Some(before.uid()), Some(before.gid())));
    }
    let folder = folder.metadata()?;
    match folder.mode() & 0o057 {
        0o050 => Ok((WITH_GROUP, None, Some(folder.gid()))),
        _ => Ok((MODE, None, None)),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Of a text that holds one entry.
fn read<T>(list: &str, text: &str, read: impl FnOnce(&DeTable<'_>) -> T) -> Option<T> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let entries = table.get(list).map(Spanned::get_ref)?.as_array()?;
    let alone = table.len() == 1 && entries.len() == 1;
    entries.iter().next().filter(|_| alone)?.get_ref().as_table().map(read)
}
