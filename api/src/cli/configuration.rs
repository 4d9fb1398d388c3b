//! `config check`, `config print-default`, `config new-key`

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Subcommand;
use engine::{
    adapter_host::{Host, Manifest, plain},
    setup::{LocationSetup, Setup},
};
use location::ids::LocationId;

use crate::{
    access::keys,
    config::{self, Config, ConfigError},
    terminal::{fail, say},
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Report every problem of a file, with its line.
    Check { file: PathBuf },
    /// Print a complete configuration file with all defaults and comments.
    PrintDefault,
    /// Create an API key. It is shown once.
    NewKey,
}

pub(super) fn run(command: Command) -> ExitCode {
    match command {
        Command::Check { file } => check(&file),
        Command::PrintDefault => {
            // A reader that has gone away is not an error.
            let _ = io::stdout().write_all(config::DEFAULT.as_bytes());
            ExitCode::SUCCESS
        }
        Command::NewKey => new_key(),
    }
}

fn check(file: &Path) -> ExitCode {
    match Config::load(file) {
        Ok(config) => {
            let refused = refused_adapters(&config);
            for (name, reason) in &refused {
                // There is no one left to tell when stderr is gone.
                let _ = writeln!(io::stderr(), "{}: adapter `{name}`: {reason}", file.display());
            }
            if !refused.is_empty() {
                return ExitCode::from(2);
            }
            let (institutions, locations) = (config.setup.institutions.len(), config.setup.locations.len());
            say(format_args!(
                "{} is valid: {institutions} institutions, {locations} locations, {} keys",
                file.display(),
                config.keys.len()
            ));
            ExitCode::SUCCESS
        }
        Err(ConfigError::Wrong { path, problems }) => {
            for problem in &problems {
                // There is no one left to tell when stderr is gone.
                let _ = writeln!(io::stderr(), "{}:{}: {}", path.display(), problem.line, problem.text);
            }
            ExitCode::from(2)
        }
        Err(error) => fail(error),
    }
}

/// Adapters that `serve` would not take, each with the reason: judged by what judges there; and those that would not take what is set
/// for a location of theirs.
fn refused_adapters(config: &Config) -> Vec<(String, String)> {
    let rules = &config.setup.engine;
    let judge =
        async |file: &Path| Host::judge(rules.guests.host.clone(), file).await.map_err(|error| error.to_string());
    actix_web::rt::System::new().block_on(async {
        let mut refused = Vec::new();
        for (name, file) in &rules.adapters {
            match judge(file).await {
                Ok(manifest) => {
                    for (location, wrong) in wrongly_set(&config.setup, name, &manifest) {
                        refused.push((plain(name, REASON), format!("adapter_config of location {location}: {wrong}")));
                    }
                }
                Err(reason) => refused.push((plain(name, REASON), plain(&reason, REASON))),
            }
        }
        refused
    })
}

/// What is set for the locations of an adapter, and is not what it takes.
fn wrongly_set(setup: &Setup, adapter: &str, manifest: &Manifest) -> Vec<(LocationId, String)> {
    let adapter_of = |location: &LocationSetup| Some(setup.sources.get(&location.source?)?.adapter.as_str());
    let of_adapter = setup.locations.values().filter(|location| adapter_of(location) == Some(adapter));
    let wrong = of_adapter.flat_map(|location| {
        let set = location.adapter_config.iter().map(|(setting, value)| (setting.as_str(), value.as_str()));
        manifest.refused_settings(set).into_iter().map(|wrong| (location.id, wrong))
    });
    wrong.collect()
}

/// Bytes of a reason that are shown.
const REASON: usize = 1_000;

fn new_key() -> ExitCode {
    let key = keys::new_key();
    say(format_args!(
        "# The key, shown only once:\n#   {key}\n# Its entry in the configuration:\n[[keys]]\nname = \"\"\nsha256 = \"{}\"\n\
         environment = \"sandbox\"\ninstitutions = []\ngrants = []\norganisation = \"\"",
        hex::encode(keys::hash(&key))
    ));
    ExitCode::SUCCESS
}
