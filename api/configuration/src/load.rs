//! Loads a configuration from disk: the main file, and the files of institutions.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use endpoints::routes::table;
use engine::{
    setup::{Setup, StoreEngine},
    store::postgres::PostgresConfig,
};
use location::keys::{ConfigKey, KeyReader, KeyTable};

use crate::{
    contents::{Config, KEYS_FILE, KeyFileContents, NodeKeys},
    document::{Document, Problem, SourceText},
    institutions::{self, Inherited},
    keys,
    reader::{Section, toml_table},
};

/// The main file of a configuration folder.
const MAIN_FILE: &str = "practice-sync.toml";
/// The subfolder with one file per institution.
const INSTITUTIONS: &str = "institutions";

/// All problems of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
pub struct ConfigError {
    pub problems: Vec<Problem>,
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
                config.access = access;
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
            Ok((main, institutions)) => read(&main, institutions.as_deref()),
            Err(problems) => (None, problems),
        }
    }

    /// Returns the default path of the key file.
    pub fn usual_keys_file(path: &Path) -> PathBuf {
        main_file(path).with_file_name(KEYS_FILE)
    }

    /// Returns all files of the configuration except the key file, the main file first.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        // `load` reports an unreadable folder.
        let institutions = institution_files(path).ok().flatten().unwrap_or_default();
        [main_file(path)].into_iter().chain(institutions).collect()
    }

    /// Parses the text of a file in the folder `base`, without keys.
    pub fn parse(text: &str, base: &Path) -> Result<Config, ConfigError> {
        let main = SourceText { path: base.join(MAIN_FILE), text: text.to_owned() };
        let (config, problems) = read(&main, None);
        config.filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }
}

fn main_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(MAIN_FILE) } else { path.to_path_buf() }
}

fn unreadable(file: &Path, error: &io::Error) -> Problem {
    Problem { file: file.to_path_buf(), line: None, text: format!("cannot be read: {error}") }
}

/// Returns the main file and, if the configuration is a folder, one file per institution.
fn files(path: &Path) -> Result<(SourceText, Option<Vec<SourceText>>), Vec<Problem>> {
    let mut problems = Vec::new();
    let mut read = |file: PathBuf| match fs::read_to_string(&file) {
        Ok(text) => Some(SourceText { path: file, text }),
        Err(error) => {
            problems.push(unreadable(&file, &error));
            None
        }
    };
    let main = read(main_file(path));
    let institutions = institution_files(path);
    let institutions = institutions.map(|files| files.map(|files| files.into_iter().filter_map(&mut read).collect()));
    match (main, institutions) {
        (Some(main), Ok(institutions)) if problems.is_empty() => Ok((main, institutions)),
        (_, institutions) => {
            problems.extend(institutions.err().map(|error| unreadable(&path.join(INSTITUTIONS), &error)));
            Err(problems)
        }
    }
}

/// Returns the `*.toml` files of institutions by name, or `None` if the configuration is one file. Hidden and other
/// files are ignored.
fn institution_files(path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if !path.is_dir() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path.join(INSTITUTIONS))? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(Some(files))
}

/// Returns the configuration without keys, and all problems. The configuration is `None` if the main file is not valid
/// TOML.
fn read(main: &SourceText, institutions: Option<&[SourceText]>) -> (Option<Config>, Vec<Problem>) {
    let document = Document::new(main);
    let config =
        toml_table(&main.text, &document).map(|table| whole(&Section::root(&table, document.clone()), institutions));
    (config, document.take_problems())
}

/// Reads all tables.
pub(crate) fn whole(root: &Section<'_, '_>, institutions: Option<&[SourceText]>) -> Config {
    let mut config = Config::default();
    config.read_keys(root);
    let about = "One of several processes that serve from the same database, with `store_engine = \"postgres\"` and \
                 `token_secret`.";
    let mut node: Option<NodeKeys> = None;
    root.optional_table(ConfigKey::restart("node", about), &mut node);
    (config.setup.engine.node, config.node) = node.map(|node| (node.rules, node.listener)).unzip();
    let mut inherited = Inherited::default();
    root.nested(ConfigKey::reload("defaults", ""), &mut inherited.defaults);
    match institutions {
        None => {
            let about = "Tenants. In a folder each has its own file: `[institution]` with these keys, \
                         `[[sources]]` and `[[locations]]`.";
            for section in root.tables(ConfigKey::reload("institutions", about)) {
                institutions::read(&section, &section, &mut inherited, &mut config.setup);
            }
        }
        Some(files) => {
            let problem = "in a folder each institution has its own file: move it to institutions/NAME.toml, as \
                           [institution] with its [[sources]] and [[locations]]";
            root.report("institutions", problem);
            for file in files {
                institution(root.document.other(file), &mut inherited, &mut config.setup);
            }
        }
    }
    check(root, &config);
    config.setup.compact();
    config.values = root.document.take_values();
    config
}

/// Reads the file of one institution.
fn institution(document: Document<'_>, inherited: &mut Inherited, setup: &mut Setup) {
    let Some(table) = toml_table(&document.source.text, &document) else { return };
    let root = Section::root(&table, document);
    match root.table(ConfigKey::reload("institution", "")) {
        Some(head) => institutions::read(&head, &root, inherited, setup),
        None => root.report_missing("institution"),
    }
}

/// Reports keys of different tables that contradict each other.
fn check(root: &Section<'_, '_>, config: &Config) {
    let (http, rules) = (&config.http, &config.setup.engine);
    if http.operators.listen == http.listen && http.listen.port() != 0 {
        let problem = "`listen` of [operators] must be another address than that of [http]";
        root.problem(&["operators"], &["listen"], problem);
    }
    let is_unknown = |endpoint: &&String| !table::endpoints().any(|known| known == endpoint.as_str());
    for endpoint in http.rate_limits.endpoints.keys().filter(is_unknown) {
        let problem = format!("unknown endpoint `{endpoint}`; endpoints are written as in \"GET /appointments\"");
        root.problem(&["rate_limits", "endpoints"], &[endpoint.as_str()], &problem);
    }
    let url = rules.database.url.as_ref().map(|url| url.expose());
    if url.is_some_and(|url| !PostgresConfig::new(url).is_readable()) {
        let problem = "`url` must be an address such as postgresql://user:password@host:5432/database";
        root.problem(&["postgres"], &["url"], problem);
    }
    let is_postgres = rules.store_engine == StoreEngine::Postgres;
    if is_postgres && url.is_none() {
        let problem = "store_engine = \"postgres\" needs the address of the database: set `url` in [postgres]";
        root.problem(&["engine"], &["store_engine"], problem);
    }
    if is_postgres && rules.backup.is_some() {
        let problem = "a store in a database is backed up with the database's own tools: remove [backup]";
        root.problem(&["backup"], &["folder"], problem);
    }
    if !is_postgres {
        let problem = "[node] needs a store that several processes share: set store_engine = \"postgres\" in [engine]";
        root.report("node", problem);
    }
    if config.secret.is_none() {
        let problem = "[node] needs the same `token_secret` on all nodes, because tokens are valid at every node";
        root.report("node", problem);
    }
}
