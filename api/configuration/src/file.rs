//! The files of a configuration, except the key file, and their interpretation.

use std::path::PathBuf;

use engine::setup::{LocationSettings, Setup};
use location::keys::{ConfigKey, KeyReader, KeyTable};
use toml::de::DeTable;

use crate::{
    contents::{AuditRules, Config},
    describe::ReferenceNotes,
    document::{Document, Problem, SourceText},
    engine_rules, http, institutions,
    kinds::{credential, integer, text},
    node,
    reader::Section,
    traces,
};

/// The main file and, if the configuration is a folder, one file per institution.
pub(crate) struct Files {
    pub main: SourceText,
    pub institutions: Option<Vec<SourceText>>,
}

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
    let mut config = Config::default();
    config.read_keys(root);
    let about = "64 hexadecimal digits that sign tokens, cursors and slot tokens. By default made at the first start \
                 and kept in `data_dir/token.secret`. Processes that serve the same clients need the same one.";
    config.secret = root.read(ConfigKey::restart("token_secret", about), &credential(|text| node::secret(&text)));
    config.http = http::read(root);
    config.setup.engine = engine_rules::read(root);
    let node = node::read(root, &config.setup.engine, config.secret.as_ref());
    (config.setup.engine.node, config.node) = node.unzip();
    config.traces = traces::read(root, config.setup.engine.node.as_ref().map(|node| node.name.clone()));
    let mut defaults = LocationSettings::default();
    root.nested(ConfigKey::reload("defaults", ""), &mut defaults);
    match institutions {
        None => {
            let about = "Tenants. In a folder each has a file of its own: `[institution]` with these keys, \
                         `[[sources]]` and `[[locations]]`.";
            for section in root.tables(ConfigKey::reload("institutions", about)) {
                institutions::read(section, None, defaults.clone(), &mut config.setup);
            }
        }
        Some(documents) => {
            let problem = "in a folder each institution has a file of its own: move it to institutions/NAME.toml, as \
                           [institution] with its [[sources]] and [[locations]]";
            root.report_key("institutions", problem);
            for source in documents {
                institution(root.document.other(source), defaults.clone(), &mut config.setup);
            }
        }
    }
    config.audit = audit(root, config.data_dir.join("audit"));
    config.values = root.document.take_values();
    config
}

/// Reads the file of one institution.
fn institution(document: Document<'_>, defaults: LocationSettings, setup: &mut Setup) {
    let Some(table) = toml_table(&document.source.text, &document) else { return };
    let root = Section::root(&table, document);
    match root.table(ConfigKey::reload("institution", "")) {
        Some(head) => institutions::read(head, Some(&root), defaults, setup),
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
