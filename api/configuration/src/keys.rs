//! The key file: API keys and operators. Entries are read separately, so that an error in one entry does not prevent
//! the revocation of another.

use std::{path::PathBuf, rc::Rc};

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
};

use crate::{
    contents::KeyFileContents,
    describe::ReferenceNotes,
    file::toml_table,
    kinds::{choice, parsed, text, words},
    problems::{Problem, Problems, SourceText},
    reader::{Located, NO_KEYS, Section},
    seen::FirstUses,
};

/// The beginning of the problem text for a key with an unknown institution.
pub(super) const UNKNOWN_INSTITUTION: &str = "no institution with subdomain";

/// Returns the valid entries and all problems. Institutions and locations of keys refer to `setup`.
pub(crate) fn read(document: &SourceText, setup: &Setup) -> (KeyFileContents, Vec<Problem>) {
    let problems = Problems::new(document);
    let mut reading = KeyFileReader { setup, seen: FirstUses::default(), access: KeyFileContents::default() };
    match toml_table(&document.text, &problems) {
        Some(table) => reading.file(&Section::root(&table, problems.clone(), &Rc::default())),
        // The syntax error is already reported; entries that parse on their own remain valid.
        None => {
            for (at, text) in entries(&document.text) {
                let whole = Problems::new(document);
                if let Some(table) = toml_table(text, &whole) {
                    reading.file(&Section::root(&table, problems.from(at), &Rc::default()));
                }
            }
        }
    }
    (reading.access, problems.take())
}

/// Collects the reference of the keys in this file.
pub(crate) fn describe(notes: &ReferenceNotes) {
    let (nothing, setup) = (SourceText { path: PathBuf::new(), text: String::new() }, Setup::default());
    let mut reading = KeyFileReader { setup: &setup, seen: FirstUses::default(), access: KeyFileContents::default() };
    let root = Section::root(&NO_KEYS, Problems::new(&nothing), &Rc::default());
    reading.file(&root.described(notes.root()));
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

struct KeyFileReader<'s> {
    setup: &'s Setup,
    seen: FirstUses,
    access: KeyFileContents,
}

impl KeyFileReader<'_> {
    fn file(&mut self, root: &Section<'_, '_>) {
        for s in root.tables(ConfigKey::reload("keys", "API keys.")) {
            let key = self.key(&s);
            self.access.keys.extend(key);
        }
        let about = "Tokens of operators, for their listener. A `viewer` sees how the service stands, and nothing of a \
                     patient; an `operator` also sees records and does what a day needs; an `admin` also changes what \
                     runs.";
        for s in root.tables(ConfigKey::reload("operators", about)) {
            let operator = self.operator(&s);
            self.access.operators.extend(operator);
        }
    }

    fn key(&mut self, s: &Section<'_, '_>) -> Option<ApiKey> {
        let about = "The name of the key, also used in the log and the audit trail.";
        let name = s.required(ConfigKey::reload("name", about), &text());
        let about = "The SHA-256 of the key, 64 hexadecimal digits. `practice-sync keys add` makes both.";
        let hash = s.required(ConfigKey::reload("sha256", about), &parsed(key_hash));
        let about = "The only environment in which the key works.";
        let environment = s.required(ConfigKey::reload("environment", about), &choice(&words()));
        let institutions =
            s.strings(ConfigKey::reload("institutions", "Subdomains of the institutions that the key can access."));
        s.require("institutions");
        let about = "Ids of the locations that the key can access. Default: all locations of the institutions.";
        let locations = s.ids(ConfigKey::reload("locations", about));
        let about = "`financial` (amounts; sandbox keys have it), `beta` (v3.1.0).";
        let grants = s.strings(ConfigKey::reload("grants", about)).unwrap_or_default();
        let about = "Owns the webhook endpoints made with the key; by default the key's name.";
        let organisation = s.read(ConfigKey::reload("organisation", about), &text()).map(|placed| placed.value);
        name.iter().for_each(|name| self.seen.once(&s.problems, "key name", name));
        let spelled = hash.map(|hash| Located { value: hex::encode(hash.value), at: hash.at });
        spelled.iter().for_each(|hash| self.seen.once(&s.problems, "key hash", hash));
        let mut grants = granted(s, &grants);
        let environment = environment?.value;
        // Specification 5.10.
        grants.financial |= environment == Environment::Sandbox;
        let institutions = self.institutions_of(s, &institutions?, environment);
        // Without `locations` the key would reach all locations.
        if locations.is_none() && s.has("locations") {
            return None;
        }
        let locations = locations.map(|ids| self.locations_of(s, &ids, &institutions));
        let name = name?.value;
        let organisation = organisation.unwrap_or_else(|| name.clone());
        let hash = hash?.value;
        Some(ApiKey { name, hash, environment, institutions, locations, grants, organisation, role: None })
    }

    fn operator(&mut self, s: &Section<'_, '_>) -> Option<OperatorToken> {
        let about = "The name of the operator, also used in the log and the audit trail.";
        let name = s.required(ConfigKey::reload("name", about), &text());
        let about = "The SHA-256 of the token, 64 hexadecimal digits. `practice-sync operators add` makes both.";
        let hash = s.required(ConfigKey::reload("sha256", about), &parsed(key_hash));
        let role = s.required(ConfigKey::reload("role", "The role of the token."), &choice(&words()));
        name.iter().for_each(|name| self.seen.once(&s.problems, "operator name", name));
        let spelled = hash.map(|hash| Located { value: hex::encode(hash.value), at: hash.at });
        spelled.iter().for_each(|hash| self.seen.once(&s.problems, "key hash", hash));
        Some(OperatorToken { name: name?.value, hash: hash?.value, role: role?.value })
    }

    fn institutions_of(
        &self,
        s: &Section<'_, '_>,
        names: &[Located<String>],
        environment: Environment,
    ) -> Vec<InstitutionId> {
        let mut ids = Vec::new();
        for name in names {
            match self.setup.institution_by_subdomain(&name.value) {
                Some(institution) if institution.environment == environment => ids.push(institution.id),
                Some(_) => {
                    s.problems.add(name.at, format!("institution `{}` belongs to another environment", name.value))
                }
                None => s.problems.add(name.at, format!("{UNKNOWN_INSTITUTION} `{}`", name.value)),
            }
        }
        ids
    }

    fn locations_of(
        &self,
        s: &Section<'_, '_>,
        ids: &[Located<i64>],
        institutions: &[InstitutionId],
    ) -> Vec<LocationId> {
        for id in ids {
            let location = self.setup.locations.get(&LocationId(id.value as u32));
            if !location.is_some_and(|location| institutions.contains(&location.institution)) {
                s.problems.add(id.at, format!("no location with id {} in the key's institutions", id.value));
            }
        }
        ids.iter().map(|id| LocationId(id.value as u32)).collect()
    }
}

fn granted(s: &Section<'_, '_>, names: &[Located<String>]) -> Grants {
    let mut grants = Grants::default();
    for name in names {
        match (spelled(&name.value), name.value.as_str()) {
            (Some(grant), _) => grants.give(grant),
            (None, "operator") => {
                let problem = "API keys are for clients; create an operator's token with `practice-sync operators add`";
                s.problems.add(name.at, problem);
            }
            (None, other) => {
                let known = all::<Grant>().join(", ");
                s.problems.add(name.at, format!("unknown grant `{other}`; known are: {known}"));
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
