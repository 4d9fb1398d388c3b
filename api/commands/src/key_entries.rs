//! Edits of the key file. Each entry is edited as a separate text, which preserves comments, order and invalid entries.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    ops::Range,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use configuration::{KeyFileContents, Problem, key_file_entries};
use engine::setup::Setup;
use toml::{Spanned, Value, de::DeTable};

/// Mode of a new file: readable by the owner only.
const MODE: u32 = 0o600;
/// Mode of a new file in a folder that only its owner and group can open.
const WITH_GROUP: u32 = 0o640;

/// The key file, locked against other processes.
pub struct KeyFile {
    path: PathBuf,
    text: String,
    /// The lock of the folder, because saving replaces the file. Released on drop.
    lock: File,
}

impl KeyFile {
    /// Opens the file. A missing file is empty.
    pub fn open(path: &Path) -> io::Result<KeyFile> {
        // Keeps a symbolic link intact by editing its target.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let lock = File::open(folder(&path))?;
        lock.lock()?;
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        Ok(KeyFile { path, text, lock })
    }

    pub fn add(&mut self, list: &str, fields: &[(&str, Value)]) {
        let text = &mut self.text;
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
        }
        text.push_str(&format!("[[{list}]]\n"));
        for (key, value) in fields {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }

    /// Removes all entries with the name. Returns `true` if there were any.
    pub fn remove(&mut self, list: &str, name: &str) -> bool {
        let mut found = false;
        while let Some(range) = self.entry(list, name) {
            self.text.replace_range(range, "");
            found = true;
        }
        found
    }

    /// Sets a key of an entry. Returns `false` if there is no entry with the name.
    pub fn set(&mut self, list: &str, name: &str, key: &str, value: &Value) -> bool {
        let Some(entry) = self.entry(list, name) else { return false };
        let text = &self.text[entry.clone()];
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
        self.text.replace_range(entry.start + place.start..entry.start + place.end, &written);
        true
    }

    /// Returns the problems of an entry in its current state.
    pub fn problems(&self, list: &str, name: &str, setup: &Setup) -> Vec<Problem> {
        let Some(entry) = self.entry(list, name) else { return Vec::new() };
        let line = |at: usize| 1 + self.text[..at].matches('\n').count();
        // The last line of the entry, not the first one of the next entry.
        let end = entry.start + self.text[entry.clone()].trim_end().len();
        let lines = line(entry.start)..=line(end);
        let (_, mut problems) = KeyFileContents::parse(&self.path, self.text.clone(), setup);
        problems.retain(|problem| problem.line.is_some_and(|line| lines.contains(&line)));
        problems
    }

    /// Returns the last entry with the name. For a name added twice, this is the entry whose problems mention the
    /// duplicate.
    fn entry(&self, list: &str, name: &str) -> Option<Range<usize>> {
        let all = key_file_entries(&self.text);
        let named = |text: &str| read(list, text, |table| table.get("name")?.get_ref().as_str().map(|it| it == name));
        let found = all.into_iter().rfind(|(_, text)| named(text).flatten() == Some(true));
        found.map(|(at, text)| at..at + text.len())
    }

    /// Writes the file atomically and durably.
    pub fn save(self) -> io::Result<PathBuf> {
        let KeyFile { path, text, lock } = self;
        let (mode, owner, group) = rights(&path, &lock)?;
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        // A file left by an earlier attempt would keep its mode.
        let _ = fs::remove_file(&partial);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&partial)?;
        fchown(&file, owner, group)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        lock.sync_all()?;
        Ok(path)
    }
}

/// Returns mode, owner and group. The server may run as another user than the one who edits the keys.
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

/// Applies `read` to the entry of a text that contains exactly one.
fn read<T>(list: &str, text: &str, read: impl FnOnce(&DeTable<'_>) -> T) -> Option<T> {
    let table = DeTable::parse(text).ok()?.into_inner();
    let entries = table.get(list).map(Spanned::get_ref)?.as_array()?;
    let alone = table.len() == 1 && entries.len() == 1;
    entries.iter().next().filter(|_| alone)?.get_ref().as_table().map(read)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tempfile::TempDir;

    use super::*;

    /// A file with comments around the keys.
    const FILE: &str = "# Who may call.\n\n# The booking page.\n[[keys]]\nname = \"a\" # not the old one\nsha256 = \"11\"\n\n\
                        # Reports.\n# Read only.\n[[keys]]\nname = \"b\"\nlocations = [1, 2] # both\n[[keys]\nname = broken\n";

    fn file(text: &str) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.toml");
        fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn a_removed_entry_takes_its_comment_and_the_rest_stays() {
        let (_dir, path) = file(FILE);
        let mut keys = KeyFile::open(&path).unwrap();
        assert!(keys.remove("keys", "b"));
        assert!(!keys.remove("keys", "broken") && !keys.remove("operators", "a"));
        keys.save().unwrap();
        let left = FILE.replace("# Reports.\n# Read only.\n[[keys]]\nname = \"b\"\nlocations = [1, 2] # both\n", "");
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }

    #[test]
    fn a_key_of_an_entry_is_set_in_its_place() {
        let (_dir, path) = file(FILE);
        let mut keys = KeyFile::open(&path).unwrap();
        assert!(keys.set("keys", "b", "locations", &vec![2].into()));
        assert!(keys.set("keys", "b", "grants", &vec!["beta"].into()));
        assert!(!keys.set("keys", "nobody", "grants", &vec!["beta"].into()));
        keys.save().unwrap();
        let set = FILE.replace("locations = [1, 2] # both", "locations = [2] # both\ngrants = [\"beta\"]");
        assert_eq!(fs::read_to_string(&path).unwrap(), set);
    }

    #[test]
    fn problems_of_the_next_entry_do_not_count() {
        let first = format!("[[operators]]\nname = \"a\"\nsha256 = \"{}\"\nrole = \"viewer\"\n", "1".repeat(64));
        let (_dir, path) = file(&format!("{first}[[operators]]\nname = \"b\"\nrole = \"viewer\"\n"));
        let keys = KeyFile::open(&path).unwrap();
        let problems = |name| keys.problems("operators", name, &Setup::default()).len();
        assert_eq!((problems("a"), problems("b")), (0, 1));
    }

    #[test]
    fn the_first_entry_creates_a_file_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().join("keys.toml");
        for (digit, name) in [("1", "a\"b"), ("2", "c")] {
            let mut keys = KeyFile::open(&path).unwrap();
            keys.add("keys", &[("name", name.into()), ("sha256", digit.repeat(64).into())]);
            let setup = Setup::default();
            let wrong = keys.problems("keys", name, &setup);
            assert_eq!(wrong.len(), 2, "{wrong:?}");
            keys.save().unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let names: Vec<String> = text.parse::<toml::Table>().unwrap()["keys"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key["name"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["a\"b", "c"]);
        assert!(text.contains("\n\n[[keys]]\nname = \"c\"\n"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // The mode of an existing file is kept.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut keys = KeyFile::open(&path).unwrap();
        assert!(keys.remove("keys", "c"));
        keys.save().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // A folder with group access gives a new file group access.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o750)).unwrap();
        let path = dir.path().join("other.toml");
        KeyFile::open(&path).unwrap().save().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
