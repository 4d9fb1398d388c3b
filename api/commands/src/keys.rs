//! `keys`: the API keys in the key file. A running server reloads the file automatically.

use std::{path::Path, process::ExitCode};

use clap::Subcommand;
use configuration::Config;
use engine::setup::Environment;
use framework::{
    access::keys::{self, ApiKey},
    values::{grant::Grant, words::WireEnum},
};
use serde_json::json;
use toml::Value;

use crate::{
    key_file::{
        Configured, ListArguments, RevokeArguments, access, checked, ensure_no_problems, open, revoked, save, valid,
    },
    table::TextTable,
    terminal::{fail, print_line},
    word::word,
};

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Create an API key. It is shown once.
    Add {
        name: String,
        #[arg(long, value_parser = word::<Environment>())]
        environment: Environment,
        /// The subdomain of an institution that the key can access. Can be given several times.
        #[arg(long = "institution", value_name = "SUBDOMAIN", required = true)]
        institutions: Vec<String>,
        /// The id of a location that the key can access. Default: all locations of its institutions. Can be given
        /// several times.
        #[arg(long = "location", value_name = "ID")]
        locations: Vec<u32>,
        /// A grant of the key. Can be given several times.
        #[arg(long = "grant", value_name = "GRANT", value_parser = word::<Grant>())]
        grants: Vec<Grant>,
        /// The owner of webhook endpoints created with the key. Default: the name of the key.
        #[arg(long, value_name = "NAME")]
        organisation: Option<String>,
        /// The channel of the callers, such as `voice`. Booking rules may differ by channel.
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        #[command(flatten)]
        of: Configured,
    },
    /// Show the API keys and their permissions.
    List(ListArguments),
    /// Remove locations or grants from an API key.
    Narrow {
        name: String,
        /// The id of a location that the key keeps. It loses access to all others. Can be given several times.
        #[arg(long = "location", value_name = "ID", required_unless_present = "remove_grants")]
        locations: Vec<u32>,
        /// A grant to remove. Can be given several times.
        #[arg(long = "remove-grant", value_name = "GRANT", value_parser = word::<Grant>())]
        remove_grants: Vec<Grant>,
        #[command(flatten)]
        of: Configured,
    },
    /// Delete an API key. A running server reloads the key file and refuses the key and the tokens created with it.
    Revoke(RevokeArguments),
}

/// The name of the list in the key file.
const KEYS: &str = "keys";

pub fn run(command: KeysCommand) -> ExitCode {
    let done = match command {
        KeysCommand::Add { name, environment, institutions, locations, grants, organisation, channel, of } => {
            let mut fields = vec![("name", Value::from(name.as_str()))];
            let key = keys::new_key();
            fields.push(("sha256", hex::encode(keys::hash(&key)).into()));
            fields.push(("environment", environment.word().into()));
            fields.push(("institutions", institutions.clone().into()));
            if !locations.is_empty() {
                fields.push(("locations", locations.into()));
            }
            if !grants.is_empty() {
                fields.push(("grants", names(grants).into()));
            }
            fields.extend(organisation.map(|organisation| ("organisation", organisation.into())));
            fields.extend(channel.map(|channel| ("channel", channel.into())));
            add(&of.config, &name, &institutions, &fields).map(|note| {
                print_line(format_args!("{key}"));
                print_line(format_args!("# API key `{name}`, shown only once. {note}"));
            })
        }
        KeysCommand::List(arguments) => list(&arguments),
        KeysCommand::Narrow { name, locations, remove_grants, of } => {
            narrow(&of.config, &name, &locations, &remove_grants).map(print_line)
        }
        // Works even if the configuration or other keys have errors.
        KeysCommand::Revoke(named) => revoked(&named, KEYS, "key").map(print_line),
    };
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn names(grants: impl IntoIterator<Item = Grant>) -> Vec<&'static str> {
    grants.into_iter().map(WireEnum::word).collect()
}

fn add(path: &Path, name: &str, institutions: &[String], fields: &[(&str, Value)]) -> Result<String, String> {
    let config = valid(path)?;
    let known: Vec<&str> = config.setup.institutions.values().map(|known| known.subdomain.as_str()).collect();
    // Checked here, because the later check would report a line of a key file that may not exist yet.
    if let Some(unknown) = institutions.iter().find(|wanted| !known.contains(&wanted.as_str())) {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(format!("{} has no institution with subdomain `{unknown}`; it has {known}", path.display()));
    }
    let mut file = open(&config.keys_file)?;
    file.add(KEYS, fields);
    checked(&file, KEYS, name, &config.setup)?;
    save(file, "stores only its hash")
}

fn narrow(config: &Path, name: &str, locations: &[u32], remove: &[Grant]) -> Result<String, String> {
    let config = valid(config)?;
    let mut file = open(&config.keys_file)?;
    let key = known(&config, name)?;
    let wider = |id: &&u32| !key.locations.as_ref().is_none_or(|now| now.iter().any(|it| it.0 == **id));
    if let Some(id) = locations.iter().find(wider) {
        return Err(format!("the key `{name}` has no access to location {id}; `narrow` can only remove access"));
    }
    if key.environment == Environment::Sandbox && remove.contains(&Grant::Financial) {
        return Err("keys of the sandbox always have the grant `financial`".into());
    }
    if let Some(grant) = remove.iter().find(|grant| !key.grants.has(**grant)) {
        return Err(format!("the key `{name}` does not have the grant `{}`", grant.word()));
    }
    let unwritten = || format!("`{name}` is not a [[keys]] table; edit the file instead");
    if !locations.is_empty() && !file.set(KEYS, name, "locations", &locations.to_vec().into()) {
        return Err(unwritten());
    }
    if !remove.is_empty() {
        let kept = key.grants.listed().filter(|grant| !remove.contains(grant));
        if !file.set(KEYS, name, "grants", &names(kept).into()) {
            return Err(unwritten());
        }
    }
    checked(&file, KEYS, name, &config.setup)?;
    save(file, &format!("has `{name}` narrowed"))
}

fn list(ListArguments { json: as_json, of }: &ListArguments) -> Result<(), String> {
    let config = valid(&of.config)?;
    let (access, problems) = access(&config)?;
    let heads = ["NAME", "ENVIRONMENT", "INSTITUTIONS", "LOCATIONS", "GRANTS", "ORGANISATION"];
    let mut table = TextTable::new(&heads, *as_json);
    for key in &access.keys {
        let institution = |id| config.setup.institutions.get(id).map(|it| it.subdomain.as_str());
        let institutions: Vec<&str> = key.institutions.iter().filter_map(institution).collect();
        let locations = key.locations.as_ref().map(|ids| ids.iter().map(|id| id.0).collect::<Vec<_>>());
        let (environment, grants) = (key.environment.word(), names(key.grants.listed()));
        let mut row = json!({
            "name": key.name, "environment": environment, "institutions": institutions, "locations": locations,
            "grants": grants, "organisation": key.organisation,
        });
        if let Some(channel) = &key.channel {
            row["channel"] = channel.as_str().into();
        }
        let locations = locations
            .map_or_else(|| "all".to_owned(), |ids| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "));
        let (institutions, grants) = (institutions.join(", "), grants.join(", "));
        table.add(&row, &[&key.name, environment, &institutions, &locations, &grants, &key.organisation]);
    }
    table.show();
    ensure_no_problems(&problems)
}

fn known(config: &Config, name: &str) -> Result<ApiKey, String> {
    let found = access(config)?.0.keys.into_iter().find(|key| key.name == name);
    found.ok_or_else(|| format!("{} has no key named `{name}` that can be read", config.keys_file.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::STARTER;

    #[test]
    fn a_key_for_an_unknown_institution_names_the_configuration_and_the_known_ones() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("practice-sync.toml");
        std::fs::write(&file, STARTER).unwrap();
        let problem = add(&file, "app", &["acme".to_owned()], &[]).unwrap_err();
        let expected = "practice-sync.toml has no institution with subdomain `acme`; it has example-dental";
        assert!(problem.ends_with(expected), "{problem}");
        std::fs::write(&file, "data_dir = \"data\"\n").unwrap();
        let problem = add(&file, "app", &["acme".to_owned()], &[]).unwrap_err();
        assert!(problem.ends_with("it has none"), "{problem}");
        assert!(!dir.path().join("keys.toml").exists());
    }
}
