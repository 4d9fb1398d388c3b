//! The key file: API keys and operators. Entries are read separately, so that an error in one entry does not prevent
//! the revocation of another.

use engine::setup::{Environment, Setup};
use framework::{
    access::{
        keys::{ApiKey, Grants},
        operators::OperatorToken,
    },
    values::{
        grant::Grant,
        words::{all, spelled},
    },
};
use location::{
    ids::{InstitutionId, LocationId},
    keys::ConfigKey,
    rules::channel_name,
};

use crate::{
    contents::KeyFileContents,
    describe::ReferenceNotes,
    document::{Document, Problem, SourceText},
    file::toml_table,
    kinds::{choice, parsed, text, words},
    reader::{Located, Section},
};

/// The beginning of the problem text for a key with an unknown institution.
pub(super) const UNKNOWN_INSTITUTION: &str = "no institution with subdomain";

/// Returns the valid entries and all problems. Institutions and locations of keys refer to `setup`.
pub(crate) fn read(source: &SourceText, setup: &Setup) -> (KeyFileContents, Vec<Problem>) {
    let document = Document::new(source);
    let mut access = KeyFileContents::default();
    match toml_table(&source.text, &document) {
        Some(table) => read_file(&Section::root(&table, document.clone()), setup, &mut access),
        // The syntax error is already reported; entries that parse on their own remain valid.
        None => {
            for (at, text) in entries(&source.text) {
                if let Some(table) = toml_table(text, &Document::new(source)) {
                    read_file(&Section::root(&table, document.part(at)), setup, &mut access);
                }
            }
        }
    }
    (access, document.take_problems())
}

/// Collects the reference of the keys in this file.
pub(crate) fn describe(notes: &ReferenceNotes) {
    read_file(&Section::described(notes), &Setup::default(), &mut KeyFileContents::default());
}

/// Splits a text at lines such as `[[keys]]`, together with the comment directly above each. Returns each part with its
/// offset.
pub(crate) fn entries(text: &str) -> Vec<(usize, &str)> {
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

fn read_file(root: &Section<'_, '_>, setup: &Setup, access: &mut KeyFileContents) {
    let keys = root.tables(ConfigKey::reload("keys", "API keys."));
    access.keys.extend(keys.iter().filter_map(|s| key(s, setup)));
    let about = "Tokens of operators, for their listener. A `viewer` sees how the service stands, and nothing of a \
                 patient; an `operator` also sees records and does what a day needs; an `admin` also changes what \
                 runs.";
    let operators = root.tables(ConfigKey::reload("operators", about));
    access.operators.extend(operators.iter().filter_map(operator));
}

fn key(s: &Section<'_, '_>, setup: &Setup) -> Option<ApiKey> {
    let about = "The name of the key, also used in the log and the audit trail.";
    let name = s.required(ConfigKey::reload("name", about), &text());
    let about = "The SHA-256 of the key, 64 hexadecimal digits. `practice-sync keys add` makes both.";
    let hash = s.required(ConfigKey::reload("sha256", about), &parsed(key_hash));
    let about = "The only environment in which the key works.";
    let environment: Option<Environment> = s.required(ConfigKey::reload("environment", about), &choice(&words()));
    let about = "Subdomains of the institutions that the key can access.";
    let institutions = s.strings(ConfigKey::reload("institutions", about));
    s.require("institutions");
    let about = "Ids of the locations that the key can access. Default: all locations of the institutions.";
    let locations = s.ids(ConfigKey::reload("locations", about));
    let about = "`financial` (amounts; sandbox keys have it), `beta` (v3.1.0).";
    let grants = s.strings(ConfigKey::reload("grants", about)).unwrap_or_default();
    let about = "Owns the webhook endpoints made with the key; by default the key's name.";
    let organisation = s.read(ConfigKey::reload("organisation", about), &text());
    let about = "The channel of the callers, such as `voice`, for which booking rules may differ \
                 (`[….booking.rules.channels.NAME]`). Default: the rules without a channel.";
    let channel = s.read(ConfigKey::reload("channel", about), &parsed(channel_name));
    // An invalid channel must not lift the rules of the channel.
    if channel.is_none() && s.has("channel") {
        return None;
    }
    s.unique("name", "key name", name.as_ref());
    s.unique("sha256", "key hash", hash.map(hex::encode).as_ref());
    let mut grants = granted(s, &grants);
    let environment = environment?;
    // Specification 5.10.
    grants.financial |= environment == Environment::Sandbox;
    let institutions = reachable_institutions(s, &institutions?, environment, setup);
    // Without `locations` the key would reach all locations.
    if locations.is_none() && s.has("locations") {
        return None;
    }
    let locations = locations.map(|ids| reachable_locations(s, &ids, &institutions, setup));
    let name = name?;
    let organisation = organisation.unwrap_or_else(|| name.clone());
    let hash = hash?;
    Some(ApiKey { name, hash, environment, institutions, locations, grants, organisation, channel, role: None })
}

fn operator(s: &Section<'_, '_>) -> Option<OperatorToken> {
    let about = "The name of the operator, also used in the log and the audit trail.";
    let name = s.required(ConfigKey::reload("name", about), &text());
    let about = "The SHA-256 of the token, 64 hexadecimal digits. `practice-sync operators add` makes both.";
    let hash = s.required(ConfigKey::reload("sha256", about), &parsed(key_hash));
    let role = s.required(ConfigKey::reload("role", "The role of the token."), &choice(&words()));
    s.unique("name", "operator name", name.as_ref());
    s.unique("sha256", "key hash", hash.map(hex::encode).as_ref());
    Some(OperatorToken { name: name?, hash: hash?, role: role? })
}

fn reachable_institutions(
    s: &Section<'_, '_>,
    names: &[Located<String>],
    environment: Environment,
    setup: &Setup,
) -> Vec<InstitutionId> {
    let mut ids = Vec::new();
    for name in names {
        let problem = match setup.institution_by_subdomain(&name.value) {
            Some(institution) if institution.environment == environment => {
                ids.push(institution.id);
                continue;
            }
            Some(_) => format!("institution `{}` belongs to another environment", name.value),
            None => format!("{UNKNOWN_INSTITUTION} `{}`", name.value),
        };
        s.document.report(name.at, problem);
    }
    ids
}

fn reachable_locations(
    s: &Section<'_, '_>,
    ids: &[Located<u32>],
    institutions: &[InstitutionId],
    setup: &Setup,
) -> Vec<LocationId> {
    for id in ids {
        let location = setup.locations.get(&LocationId(id.value));
        if !location.is_some_and(|location| institutions.contains(&location.institution)) {
            s.document.report(id.at, format!("no location with id {} in the key's institutions", id.value));
        }
    }
    ids.iter().map(|id| LocationId(id.value)).collect()
}

fn granted(s: &Section<'_, '_>, names: &[Located<String>]) -> Grants {
    let mut grants = Grants::default();
    for name in names {
        match (spelled(&name.value), name.value.as_str()) {
            (Some(grant), _) => grants.give(grant),
            (None, "operator") => {
                let problem = "API keys are for clients; create an operator's token with `practice-sync operators add`";
                s.document.report(name.at, problem);
            }
            (None, other) => {
                let known = all::<Grant>().join(", ");
                s.document.report(name.at, format!("unknown grant `{other}`; known are: {known}"));
            }
        }
    }
    grants
}

fn key_hash(text: &str) -> Result<[u8; 32], String> {
    let mut hash = [0; 32];
    let read = hex::decode_to_slice(text, &mut hash);
    read.map(|()| hash)
        .map_err(|_| "must be the SHA-256 of a key: 64 hexadecimal digits (see `keys add`, `operators add`)".into())
}
