//! The files of a configuration, except the key file, and their interpretation.

use std::path::PathBuf;

use engine::setup::Setup;
use location::keys::{ConfigKey, KeyReader};
use toml::de::DeTable;

use crate::{
    contents::{AuditRules, Config},
    describe::ReferenceNotes,
    document::{Document, Problem, SourceText},
    engine_rules, http, institutions,
    kinds::{credential, integer, not_empty, text},
    knobs::LocationSettings,
    logging::{self, LogFormat},
    node,
    reader::Section,
    traces,
};

/// The main file and, if the configuration is a folder, one file per institution.
pub(crate) struct Files {
    pub main: SourceText,
    pub institutions: Option<Vec<SourceText>>,
}

/// The default name of the key file, in the folder of the main file.
pub(crate) const KEYS_FILE: &str = "keys.toml";

/// Returns the configuration without keys, and all problems. The configuration is `None` if the main file is not valid
/// TOML.
pub(crate) fn read(files: &Files) -> (Option<Config>, Vec<Problem>) {
    let document = Document::new(&files.main);
    let config = toml_table(&files.main.text, &document).map(|table| {
        let root = Section::root(&table, document.clone());
        whole(&root, files.institutions.as_deref())
    });
    (config, document.take_problems())
}

/// Parses a text. Returns `None` and reports the syntax errors if the text is not valid TOML.
pub(super) fn toml_table<'a>(text: &'a str, document: &Document<'_>) -> Option<DeTable<'a>> {
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in &broken {
        document.report(error.span().map_or(0, |span| span.start), error.message().trim());
    }
    broken.is_empty().then(|| table.into_inner())
}

/// Collects the reference of the keys in these files.
pub(crate) fn describe(notes: &ReferenceNotes) {
    whole(&Section::described(notes), None);
}

/// Reads all tables.
fn whole(root: &Section<'_, '_>, institutions: Option<&[SourceText]>) -> Config {
    let (mut data_dir, mut keys_file) = ("data".to_owned(), KEYS_FILE.to_owned());
    let (mut log, mut log_format, mut watch) = ("info".to_owned(), LogFormat::default(), true);
    root.text(ConfigKey::restart("data_dir", "The folder of all persistent data."), &mut data_dir, not_empty);
    root.text(ConfigKey::restart("keys_file", "The key file, described below."), &mut keys_file, not_empty);
    let about = "Log level, or pairs of a target and its level, such as `info,processor=debug`. `RUST_LOG` wins. Lines \
                 of adapters have the target `adapter::ID`.";
    root.text(ConfigKey::reload("log", about), &mut log, logging::checked);
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let about = "The log format; `json` writes one object per line.";
    root.word(ConfigKey::restart("log_format", about), &mut log_format, &formats);
    let about = "Whether a running server takes over changed files by itself. With `false` only on SIGHUP and \
                 `practice-sync config reload`, revoked keys included.";
    root.flag(ConfigKey::reload("watch", about), &mut watch);
    let about = "64 hexadecimal digits that sign tokens, cursors and slot tokens. By default made at the first start \
                 and kept in `data_dir/token.secret`. Processes that serve the same clients need the same one.";
    let secret = root.read(ConfigKey::restart("token_secret", about), &credential(|text| node::secret(&text)));
    let http = http::read(root);
    let mut setup = Setup { engine: engine_rules::read(root), ..Setup::default() };
    let (node_rules, node) = node::read(root, &setup.engine, secret.as_ref()).unzip();
    setup.engine.node = node_rules;
    let traces = traces::read(root, setup.engine.node.as_ref().map(|node| node.name.clone()));
    let knobs = LocationSettings::default().with(&root.table_or_empty(ConfigKey::reload("defaults", "")));
    match institutions {
        None => {
            let about = "Tenants. In a folder each has a file of its own: `[institution]` with these keys, \
                         `[[sources]]` and `[[locations]]`.";
            for section in root.tables(ConfigKey::reload("institutions", about)) {
                institutions::read(section, None, knobs, &mut setup);
            }
        }
        Some(documents) => {
            let problem = "in a folder each institution has a file of its own: move it to institutions/NAME.toml, as \
                           [institution] with its [[sources]] and [[locations]]";
            root.report_key("institutions", problem);
            for source in documents {
                institution(root.document.other(source), knobs, &mut setup);
            }
        }
    }
    let data_dir = root.base().join(data_dir);
    let audit = audit(root, data_dir.join("audit"));
    let keys_file: PathBuf = root.base().join(keys_file);
    let (keys, operators, values) = (Vec::new(), Vec::new(), root.document.take_values());
    Config {
        setup,
        http,
        keys,
        operators,
        keys_file,
        data_dir,
        watch,
        secret,
        log,
        log_format,
        audit,
        traces,
        node,
        values,
    }
}

/// Reads the file of one institution.
fn institution(document: Document<'_>, knobs: LocationSettings, setup: &mut Setup) {
    let Some(table) = toml_table(&document.source.text, &document) else { return };
    let root = Section::root(&table, document);
    match root.table(ConfigKey::reload("institution", "")) {
        Some(head) => institutions::read(head, Some(&root), knobs, setup),
        None => root.report_missing("institution"),
    }
}

fn audit(root: &Section<'_, '_>, folder: PathBuf) -> AuditRules {
    let s = root.table_or_empty(ConfigKey::restart("audit", "The audit trail."));
    let about = "Where its files are, of this server alone; by default `audit` in `data_dir`.";
    let configured = s.read(ConfigKey::restart("folder", about), &text());
    let folder = configured.map_or(folder, |configured| s.base().join(configured));
    let about = "Retention in days. Older files are deleted, and the trail records it. Default: no deletion.";
    let keep_days = s.read(ConfigKey::restart("keep_days", about), &integer(1..=36_500));
    AuditRules { folder, keep_days }
}
