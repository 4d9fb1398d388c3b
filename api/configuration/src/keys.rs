//! The key file: API keys and operators. Entries are read separately, so that an error in one entry does not prevent
//! the revocation of another.

use std::{fs, io, path::Path};

use engine::setup::{Environment, Setup};
use framework::{
    access::{
        keys::{ApiKey, Grants, hash_digits, parse_hash},
        operators::OperatorToken,
    },
    values::{
        grant::Grant,
        words::{all, pairs, spelled},
    },
};
use location::{
    ids::{InstitutionId, LocationId},
    key_kinds::not_empty,
    keys::{ConfigKey, KeyTable},
    rules::channel_name,
};

use crate::{
    contents::KeyFileContents,
    document::{Document, Problem, SourceText},
    reader::{Section, toml_table},
};

/// The beginning of the problem text for a key with an unknown institution.
pub(super) const UNKNOWN_INSTITUTION: &str = "no institution with subdomain";

location::settings! {
    /// An API key of the file.
    struct KeyEntry {
        name: String = String::new(), text(not_empty).required().unique("key name") =>
            reload, "The name of the key, also used in the log and the audit trail.";
        hash: Option<[u8; 32]> = None,
            text_as(parse_hash, hash_digits).unique("key hash").optional().required() =>
            reload "sha256", "The SHA-256 of the key, 64 hexadecimal digits. `practice-sync keys add` makes both.";
        environment: Option<Environment> = None, word(&pairs::<Environment>()).optional().required() =>
            reload, "The only environment in which the key works.";
        institutions: Vec<String> = Vec::new(), texts(|name| Ok(name.to_owned())).required() =>
            reload, "Subdomains of the institutions that the key can access.";
        locations: Option<Vec<u32>> = None, ids().optional() =>
            reload, "Ids of the locations that the key can access. Default: all locations of the institutions.";
        grants: Vec<String> = Vec::new(), texts(|grant| Ok(grant.to_owned())) =>
            reload, "`financial` (amounts; sandbox keys have it), `beta` (v3.1.0).";
        organisation: Option<String> = None, text(not_empty).optional() =>
            reload, "The owner of the webhook endpoints that are created with the key. Default: the name of the key.";
        channel: Option<String> = None, text(channel_name).optional() =>
            reload, "The channel of the callers, such as `voice`, for which booking rules may differ \
                     (`[….booking.rules.channels.NAME]`). Default: the rules without a channel.";
    }
}

impl KeyFileContents {
    /// Returns the valid entries and all problems. Institutions and locations of keys refer to `setup`.
    pub fn load(file: &Path, setup: &Setup) -> io::Result<(KeyFileContents, Vec<Problem>)> {
        Ok(KeyFileContents::parse(file, fs::read_to_string(file)?, setup))
    }

    /// Parses the text of a key file.
    pub fn parse(file: &Path, text: String, setup: &Setup) -> (KeyFileContents, Vec<Problem>) {
        let source = SourceText { path: file.to_path_buf(), text };
        let document = Document::new(&source);
        let mut access = KeyFileContents::default();
        match toml_table(&source.text, &document) {
            Some(table) => read_file(&Section::root(&table, document.clone()), setup, &mut access),
            // The syntax error is already reported; entries that parse on their own remain valid.
            None => {
                for (at, text) in key_file_entries(&source.text) {
                    if let Some(table) = toml_table(text, &Document::new(&source)) {
                        read_file(&Section::root(&table, document.part(at)), setup, &mut access);
                    }
                }
            }
        }
        (access, document.take_problems())
    }
}

/// Splits a text at lines such as `[[keys]]`, together with the comment directly above each. Returns each part with its
/// offset.
pub fn key_file_entries(text: &str) -> Vec<(usize, &str)> {
    let (mut starts, mut at, mut comment) = (vec![0], 0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with('#') {
            comment.get_or_insert(at);
        } else {
            if trimmed.starts_with("[[") {
                starts.push(comment.unwrap_or(at));
            }
            comment = None;
        }
        at += line.len();
    }
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| (*start, &text[*start..end])).collect()
}

pub(crate) fn read_file(root: &Section<'_, '_>, setup: &Setup, access: &mut KeyFileContents) {
    let keys = root.tables(ConfigKey::reload("keys", "API keys."));
    access.keys.extend(keys.iter().filter_map(|s| key(s, setup)));
    let about = "Tokens of operators, for their listener. A `viewer` sees the status of the service, but no patient \
                 data; an `operator` also sees records and performs daily tasks; an `admin` also changes adapters, \
                 backups, keys and the configuration.";
    let operators = root.tables(ConfigKey::reload("operators", about));
    access.operators.extend(operators.iter().filter_map(|s| s.read_table::<OperatorToken>()));
}

/// Returns the key if all its values are valid. Without its `locations` a key would reach all locations. Without its
/// `channel` the rules of the channel would not apply to it.
fn key(s: &Section<'_, '_>, setup: &Setup) -> Option<ApiKey> {
    let mut key = KeyEntry::default();
    key.read_keys(s);
    let mut grants = granted(s, &key.grants);
    let environment = key.environment?;
    // Specification 5.10.
    grants.financial |= environment == Environment::Sandbox;
    let institutions = reachable_institutions(s, &key.institutions, environment, setup);
    let locations = key.locations.map(|ids| reachable_locations(s, &ids, &institutions, setup));
    let organisation = key.organisation.unwrap_or_else(|| key.name.clone());
    let (name, hash, channel) = (key.name, key.hash?, key.channel);
    let key = ApiKey { name, hash, environment, institutions, locations, grants, organisation, channel, role: None };
    s.is_valid().then_some(key)
}

fn reachable_institutions(
    s: &Section<'_, '_>,
    names: &[String],
    environment: Environment,
    setup: &Setup,
) -> Vec<InstitutionId> {
    let mut ids = Vec::new();
    for (n, name) in names.iter().enumerate() {
        match setup.institutions.values().find(|known| known.subdomain == *name) {
            Some(institution) if institution.environment == environment => ids.push(institution.id),
            Some(_) => {
                s.report_element("institutions", n, format!("institution `{name}` belongs to another environment"));
            }
            None => s.report_element("institutions", n, format!("{UNKNOWN_INSTITUTION} `{name}`")),
        }
    }
    ids
}

fn reachable_locations(
    s: &Section<'_, '_>,
    ids: &[u32],
    institutions: &[InstitutionId],
    setup: &Setup,
) -> Vec<LocationId> {
    for (n, id) in ids.iter().enumerate() {
        let location = setup.locations.get(&LocationId(*id));
        if !location.is_some_and(|location| institutions.contains(&location.institution)) {
            s.report_element("locations", n, format!("no location with id {id} in the key's institutions"));
        }
    }
    ids.iter().copied().map(LocationId).collect()
}

fn granted(s: &Section<'_, '_>, names: &[String]) -> Grants {
    let mut grants = Grants::default();
    for (n, name) in names.iter().enumerate() {
        match (spelled(name), name.as_str()) {
            (Some(grant), _) => grants.give(grant),
            (None, "operator") => {
                let problem = "API keys are for clients; create an operator's token with `practice-sync operators add`";
                s.report_element("grants", n, problem);
            }
            (None, other) => {
                let known = all::<Grant>().join(", ");
                s.report_element("grants", n, format!("unknown grant `{other}`; known are: {known}"));
            }
        }
    }
    grants
}
