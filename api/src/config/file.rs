//! The files of a configuration, except the key file, and their interpretation.

use std::{cell::RefCell, path::PathBuf, rc::Rc};

use engine::setup::Setup;
use toml::de::DeTable;

use super::{
    contents::{AuditRules, Config},
    describe::ReferenceNotes,
    engine_rules, http, institutions,
    knobs::LocationSettings,
    node,
    problems::{Problem, Problems, SourceText},
    reader::{NO_KEYS, Section, not_empty},
    seen::FirstUses,
    traces,
    values::Values,
};
use crate::logging::{self, LogFormat};

/// The main file and, if the configuration is a folder, one file per institution.
pub(super) struct Files {
    pub main: SourceText,
    pub institutions: Option<Vec<SourceText>>,
}

/// The default name of the key file, in the folder of the main file.
pub(super) const KEYS_FILE: &str = "keys.toml";

const LOG_FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];

/// Returns the configuration without keys, and all problems. The configuration is `None` if the main file is not valid
/// TOML.
pub(super) fn read(files: &Files) -> (Option<Config>, Vec<Problem>) {
    let problems = Problems::new(&files.main);
    let mut found = Vec::new();
    let values = Rc::default();
    let config = parsed(&files.main.text, &problems).map(|table| {
        let root = Section::root(&table, problems.clone(), &values);
        whole(&root, files.institutions.as_deref(), &values, &mut found)
    });
    let mut all = problems.take();
    all.append(&mut found);
    (config, all)
}

/// Parses a text. Returns `None` and adds the syntax errors to the problems if the text is not valid TOML.
pub(super) fn parsed<'a>(text: &'a str, problems: &Problems<'_>) -> Option<DeTable<'a>> {
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in &broken {
        problems.add(error.span().map_or(0, |span| span.start), error.message().trim());
    }
    broken.is_empty().then(|| table.into_inner())
}

/// Collects the reference of the keys in these files.
pub(super) fn describe(notes: &ReferenceNotes) {
    let nothing = SourceText { path: PathBuf::new(), text: String::new() };
    let root = Section::root(&NO_KEYS, Problems::new(&nothing), &Rc::default()).described(notes.root());
    whole(&root, None, &Rc::default(), &mut Vec::new());
}

/// Reads all tables. Adds problems in the files of institutions to `found`.
fn whole(
    root: &Section<'_, '_>,
    institutions: Option<&[SourceText]>,
    values: &Rc<RefCell<Values>>,
    found: &mut Vec<Problem>,
) -> Config {
    let (mut data_dir, mut keys_file) = ("data".to_owned(), KEYS_FILE.to_owned());
    let (mut log, mut log_format) = ("info".to_owned(), LogFormat::default());
    root.about("The folder of all persistent data.").at_start().setting("data_dir", not_empty, &mut data_dir);
    root.about("The key file, described below.").at_start().setting("keys_file", not_empty, &mut keys_file);
    root.about(
        "Log level, or pairs of a target and its level, such as `info,processor=debug`. `RUST_LOG` wins. \
         Lines of adapters have the target `adapter::ID`.",
    )
    .setting("log", logging::checked, &mut log);
    root.about("The log format; `json` writes one object per line.").at_start().choice(
        "log_format",
        LOG_FORMATS,
        &mut log_format,
    );
    let mut watch = true;
    root.about(
        "Whether a running server takes over changed files by itself. With `false` only on SIGHUP and `practice-sync config reload`, \
         revoked keys included.",
    )
    .flag("watch", &mut watch);
    let secret = root
        .about(
            "64 hexadecimal digits that sign tokens, cursors and slot tokens. By default made at the first \
             start and kept in `data_dir/token.secret`. Processes that serve the same clients need the same \
             one.",
        )
        .at_start()
        .credential("token_secret", |text| node::secret(&text))
        .map(|placed| placed.value);
    let http = http::read(root);
    let mut setup = Setup { engine: engine_rules::read(root), ..Setup::default() };
    let (node_rules, node) = node::read(root, &setup.engine, secret.as_ref()).unzip();
    setup.engine.node = node_rules;
    let traces = traces::read(root, setup.engine.node.as_ref().map(|node| node.name.clone()));
    let knobs = LocationSettings::default().with(&root.settings("defaults"));
    let mut seen = FirstUses::default();
    match institutions {
        None => {
            for section in root
                .about(
                    "Tenants. In a folder each has a file of its own: `[institution]` with these keys, `[[sources]]` \
                     and `[[locations]]`.",
                )
                .tables("institutions")
            {
                institutions::read(section, None, knobs, &mut setup, &mut seen);
            }
        }
        Some(documents) => {
            if let Some(at) = root.at_of("institutions") {
                let problem = "in a folder each institution has a file of its own: move it to institutions/NAME.toml, as \
                               [institution] with its [[sources]] and [[locations]]";
                root.problems.add(at, problem);
            }
            for document in documents {
                found.append(&mut institution(document, knobs, &mut setup, &mut seen, values));
            }
        }
    }
    let data_dir = root.base().join(data_dir);
    let audit = audit(root, data_dir.join("audit"));
    let keys_file: PathBuf = root.base().join(keys_file);
    let (keys, operators, values) = (Vec::new(), Vec::new(), values.borrow().clone());
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

/// Reads the file of one institution. Returns its problems.
fn institution(
    document: &SourceText,
    knobs: LocationSettings,
    setup: &mut Setup,
    seen: &mut FirstUses,
    values: &Rc<RefCell<Values>>,
) -> Vec<Problem> {
    let problems = Problems::new(document);
    if let Some(table) = parsed(&document.text, &problems) {
        let root = Section::root(&table, problems.clone(), values);
        match root.table("institution") {
            Some(head) => institutions::read(head, Some(&root), knobs, setup, seen),
            None => root.missing("institution"),
        }
    }
    problems.take()
}

fn audit(root: &Section<'_, '_>, folder: PathBuf) -> AuditRules {
    let mut rules = AuditRules { folder, keep_days: None };
    let s = root.about("The audit trail.").at_start().settings("audit");
    s.about("Where its files are, of this server alone; by default `audit` in `data_dir`.")
        .text("folder")
        .iter()
        .for_each(|folder| rules.folder = s.base().join(&folder.value));
    rules.keep_days = s
        .about("Retention in days. Older files are deleted, and the trail records it. Default: no deletion.")
        .integer("keep_days", 1..=36_500)
        .map(|days| days.value as u32);
    rules
}
