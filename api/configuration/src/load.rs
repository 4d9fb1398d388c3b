//! Loads a configuration from disk.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use engine::setup::Setup;
use toml::de::DeTable;

use crate::{
    contents::{Config, KEYS_FILE, KeyFileContents},
    document::{Problem, SourceText},
    file::{self, Files},
    keys,
};

/// The main file of a configuration folder.
const MAIN_FILE: &str = "practice-sync.toml";
/// The subfolder with one file per institution.
const INSTITUTIONS: &str = "institutions";

/// All problems of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))
    }
}

impl Config {
    /// Loads a file, or a folder of files. Relative paths in a file refer to its folder.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let (config, mut problems) = Config::without_keys(path);
        let Some(mut config) = config else { return Err(ConfigError { problems }) };
        let default = Config::usual_keys_file(path);
        match KeyFileContents::load(&config.keys_file, &config.setup) {
            Ok((access, mut found)) => {
                // An unreadable file hides its institution, which is not an error of the keys.
                if problems.iter().any(|problem| problem.file != main_file(path)) {
                    found.retain(|problem| !problem.text.starts_with(keys::UNKNOWN_INSTITUTION));
                }
                problems.append(&mut found);
                (config.keys, config.operators) = (access.keys, access.operators);
            }
            // A missing file at the default path means that there are no keys yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound && config.keys_file == default => {}
            Err(error) => problems.push(unreadable(&config.keys_file, &error)),
        }
        if problems.is_empty() { Ok(config) } else { Err(ConfigError { problems }) }
    }

    /// Returns the readable part of the configuration, and all problems.
    pub fn without_keys(path: &Path) -> (Option<Config>, Vec<Problem>) {
        match files(path) {
            Ok(files) => file::read(&files),
            Err(ConfigError { problems }) => (None, problems),
        }
    }

    /// Returns the default path of the key file.
    pub fn usual_keys_file(path: &Path) -> PathBuf {
        main_file(path).with_file_name(KEYS_FILE)
    }

    /// Returns the file and line that name an adapter, or only the main file if the line is not found.
    pub fn place_of_adapter(path: &Path, name: &str) -> String {
        let file = main_file(path);
        let line = || {
            let text = fs::read_to_string(&file).ok()?;
            let table = DeTable::parse(&text).ok()?.into_inner();
            let adapters = table.get("adapters")?.get_ref().as_table()?;
            let (key, _) = adapters.iter().find(|(key, _)| key.get_ref() == name)?;
            Some(1 + text.get(..key.span().start)?.matches('\n').count())
        };
        match line() {
            Some(line) => format!("{}:{line}", file.display()),
            None => file.display().to_string(),
        }
    }

    /// Returns all files of the configuration except the key file.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        let mut files = vec![main_file(path)];
        if path.is_dir() {
            // `load` reports an unreadable folder.
            files.extend(institutions(&path.join(INSTITUTIONS)).unwrap_or_default());
        }
        files
    }

    /// Parses the text of a file in the folder `base`, without keys.
    pub fn parse(text: &str, base: &Path) -> Result<Config, ConfigError> {
        let main = SourceText { path: base.join(MAIN_FILE), text: text.to_owned() };
        let (config, problems) = file::read(&Files { main, institutions: None });
        config.filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }
}

impl KeyFileContents {
    /// Returns the valid keys, and all problems.
    pub fn load(file: &Path, setup: &Setup) -> io::Result<(KeyFileContents, Vec<Problem>)> {
        let text = fs::read_to_string(file)?;
        Ok(keys::read(&SourceText { path: file.to_path_buf(), text }, setup))
    }
}

fn main_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(MAIN_FILE) } else { path.to_path_buf() }
}

fn unreadable(file: &Path, error: &io::Error) -> Problem {
    Problem::in_file(file, format!("cannot be read: {error}"))
}

fn files(path: &Path) -> Result<Files, ConfigError> {
    let mut problems = Vec::new();
    let mut read = |file: PathBuf| match fs::read_to_string(&file) {
        Ok(text) => Some(SourceText { path: file, text }),
        Err(error) => {
            problems.push(unreadable(&file, &error));
            None
        }
    };
    let main = read(main_file(path));
    let institutions = if path.is_dir() {
        let folder = path.join(INSTITUTIONS);
        match institutions(&folder) {
            Ok(files) => Some(files.into_iter().filter_map(read).collect()),
            Err(error) => {
                problems.push(unreadable(&folder, &error));
                None
            }
        }
    } else {
        None
    };
    match main {
        Some(main) if problems.is_empty() => Ok(Files { main, institutions }),
        _ => Err(ConfigError { problems }),
    }
}

/// Returns the `*.toml` files by name. Hidden and other files are ignored.
fn institutions(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
