//! The files of the source tree.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use crate::source::RustSource;

/// Generated and third-party folders.
const NOT_READ: [&str; 4] = ["target", "node_modules", "dist", "demo-data"];
/// Extensions of text files. Files without an extension are text, too.
const READ: [&str; 18] = [
    "rs", "md", "toml", "ts", "mjs", "js", "json", "py", "wit", "story", "html", "css", "yaml", "ini", "txt", "rb",
    "go", "sh",
];
/// Project folders that begin with a dot.
const HIDDEN: [&str; 2] = [".ci", ".cargo"];

/// Files by their path from the root, with `/`.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, File>,
}

pub struct File {
    pub text: String,
    source: OnceLock<Result<Arc<RustSource>, String>>,
}

impl Tree {
    pub fn read(root: &Path) -> Tree {
        let mut tree = Tree::default();
        tree.read_folder(root, "");
        // Parses in parallel, because parsing dominates the runtime.
        let files: Vec<&File> =
            tree.files.iter().filter(|(path, _)| path.ends_with(".rs")).map(|(_, file)| file).collect();
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        std::thread::scope(|scope| {
            for part in files.chunks(files.len().div_ceil(threads).max(1)) {
                scope.spawn(|| part.iter().for_each(|file| drop(file.source())));
            }
        });
        tree
    }

    fn read_folder(&mut self, folder: &Path, path: &str) {
        for entry in fs::read_dir(folder).expect("a folder of the checkout").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if NOT_READ.contains(&name.as_str()) || (name.starts_with('.') && !HIDDEN.contains(&name.as_str())) {
                continue;
            }
            if is_folder {
                self.read_folder(&entry.path(), &below);
            } else {
                // Of other files only the name is kept.
                let is_text = name.rsplit_once('.').is_none_or(|(_, ending)| READ.contains(&ending));
                let text = is_text.then(|| fs::read_to_string(entry.path()).ok()).flatten().unwrap_or_default();
                self.add(&below, &text);
            }
        }
    }

    /// Returns a tree for a test.
    pub fn from_files(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add(path, text);
        }
        tree
    }

    fn add(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), File { text: text.to_owned(), source: OnceLock::new() });
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Returns whether the path is a file or a folder with files.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let below = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(below.clone()..).next().is_some_and(|(found, _)| found.starts_with(&below))
    }

    pub fn rust(&self) -> impl Iterator<Item = (&str, Arc<RustSource>)> {
        let files = self.files().filter(|(path, _)| path.ends_with(".rs"));
        files.filter_map(|(path, file)| Some((path, file.source().ok()?)))
    }
}

impl File {
    pub fn source(&self) -> Result<Arc<RustSource>, String> {
        self.source.get_or_init(|| RustSource::read(&self.text).map(Arc::new)).clone()
    }
}

/// A violation of a rule with its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub file: String,
    /// 0 for the whole file.
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn at(file: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: file.to_owned(), line, what: what.into() }
    }

    /// Returns the finding for an unused row of a table.
    pub fn stale(row: impl fmt::Display) -> Finding {
        Finding::at(crate::TABLES, 0, format!("{row}: nothing needs this row any more; remove it"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// Returns the parent folder of a path.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns whether the path is in the folder or is the file itself.
pub fn is_below(path: &str, room: &str) -> bool {
    let room = room.trim_end_matches('/');
    path == room || path.strip_prefix(room).is_some_and(|rest| rest.starts_with('/'))
}
