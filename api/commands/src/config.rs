//! `config init`, `config check`, `config reference`, `config print-default` and `config reload`.

use std::{
    fmt::Display,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use actix_web::rt::System;
use clap::Subcommand;
use configuration::{self, Config, ConfigError};
use engine::{
    adapter_host::{Host, Manifest, plain},
    setup::{LocationSetup, Setup, guests::HostLimits},
};
use framework::http::tls::Certificates;
use location::LocationId;
use serde_json::json;
use toml::de::DeTable;

use crate::{
    server::{ServerArguments, ServerSession, answer, text},
    terminal::{fail, print_line},
};

#[derive(Subcommand)]
pub enum ConfigurationCommand {
    /// Write a short starter configuration to a new file.
    Init {
        #[arg(value_name = "FILE", default_value = "practice-sync.toml")]
        file: PathBuf,
    },
    /// Report every problem of a configuration, with its file and line.
    Check {
        /// A file, or a folder of files.
        #[arg(value_name = "CONFIG")]
        file: PathBuf,
    },
    /// Reload the configuration of a running server, and show the changes.
    Reload {
        /// Only show the changes.
        #[arg(long)]
        dry_run: bool,
        /// Compare this configuration, a file or folder on the server's machine, with the active one.
        #[arg(long, value_name = "CONFIG", requires = "dry_run")]
        config: Option<PathBuf>,
        /// Confirm the removal of institutions and locations that are missing from the configuration.
        #[arg(long, conflicts_with = "dry_run")]
        allow_removal: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Print every key with its default, range and description.
    Reference,
    /// Print a configuration file with every key, its default and its description.
    PrintDefault {
        /// A component whose adapter settings are printed, too. Can be given several times.
        #[arg(long, value_name = "FILE")]
        adapter: Vec<PathBuf>,
    },
}

pub fn run(command: ConfigurationCommand) -> ExitCode {
    match command {
        ConfigurationCommand::Init { file } => init(&file),
        ConfigurationCommand::Check { file } => check(&file),
        ConfigurationCommand::Reload { dry_run, config, allow_removal, server } => {
            System::new().block_on(reload(&server, dry_run, config.as_deref(), allow_removal)).unwrap_or_else(fail)
        }
        ConfigurationCommand::Reference => {
            print_line(configuration::reference::page().trim_end());
            ExitCode::SUCCESS
        }
        ConfigurationCommand::PrintDefault { adapter } => print_default(&adapter),
    }
}

/// The file that `config init` writes.
pub(crate) const STARTER: &str = include_str!("starter.toml");

/// Writes the starter configuration. Never overwrites an existing file.
fn init(file: &Path) -> ExitCode {
    let created = File::create_new(file).and_then(|mut new| new.write_all(STARTER.as_bytes()));
    if let Err(error) = created {
        return fail(format_args!("{}: {error}", file.display()));
    }
    let file = file.display();
    print_line(format_args!(
        "{file} was created. Name your institution and locations in it, then: practice-sync config check {file}"
    ));
    ExitCode::SUCCESS
}

async fn reload(
    server: &ServerArguments,
    dry_run: bool,
    config: Option<&Path>,
    allow_removal: bool,
) -> Result<ExitCode, String> {
    let session = ServerSession::begin(server)?;
    let mut body = json!({"dry_run": dry_run, "allow_removal": allow_removal});
    if let Some(config) = config {
        let whole = config.canonicalize().map_err(|error| format!("{}: {error}", config.display()))?;
        body["config"] = whole.display().to_string().into();
    }
    let report = answer(session.post_json("/configuration/reload", &body)).await?;
    let lines = |name: &str| -> Vec<String> {
        report[name].as_array().into_iter().flatten().map(|line| text(line).to_owned()).collect()
    };
    lines("changes").iter().for_each(print_line);
    let (problems, needs_restart) = (lines("problems"), lines("needs_restart"));
    problems.iter().for_each(complain);
    if !needs_restart.is_empty() {
        complain(format_args!("needs a restart: {}", needs_restart.join(", ")));
    }
    let removals = lines("removals");
    for removal in &removals {
        complain(format_args!("removes {removal}"));
    }
    if !removals.is_empty() {
        complain("removals must be confirmed: practice-sync config reload --allow-removal");
    }
    if problems.is_empty() && needs_restart.is_empty() && (dry_run || removals.is_empty()) {
        print_line(if dry_run { "nothing was applied" } else { "the configuration is in force" });
        return Ok(ExitCode::SUCCESS);
    }
    complain("the configuration was refused; the one before is in force");
    Ok(ExitCode::from(2))
}

/// Writes a line to stderr. A closed stderr is ignored.
fn complain(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn print_default(adapters: &[PathBuf]) -> ExitCode {
    let judged = judge(HostLimits::default(), adapters.iter().map(PathBuf::as_path));
    let mut text = configuration::reference::default_file();
    for (file, judged) in adapters.iter().zip(judged) {
        match judged {
            Ok(manifest) => text.push_str(&settings_of(&manifest)),
            Err(reason) => return fail(format_args!("{}: {}", file.display(), plain(&reason, REASON))),
        }
    }
    // A closed stdout is not an error.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn settings_of(manifest: &Manifest) -> String {
    let Some(example) = manifest.settings_example() else {
        return format!("\n# The adapter `{}` has no settings.\n", manifest.id);
    };
    format!(
        "\n# What a location of the adapter `{}` can set, below the location:\n# [institutions.locations.adapter_config]\n{example}",
        manifest.id
    )
}

/// Loads each component as a server does. Returns its manifest, or the reason for its rejection.
fn judge<'a>(limits: HostLimits, files: impl Iterator<Item = &'a Path>) -> Vec<Result<Manifest, String>> {
    System::new().block_on(async {
        let mut judged = Vec::new();
        for file in files {
            judged.push(Host::judge(limits.clone(), file).await.map_err(|error| error.to_string()));
        }
        judged
    })
}

fn check(file: &Path) -> ExitCode {
    match Config::load(file) {
        Ok(config) => {
            let refused = refused_adapters(&config);
            for (name, reason) in &refused {
                complain(format_args!("{}: adapter `{name}`: {reason}", place_of_adapter(file, name)));
            }
            let certificates = Certificates::load(&config.http).err();
            if let Some(problem) = &certificates {
                complain(format_args!("{}: {problem}", file.display()));
            }
            if !refused.is_empty() || certificates.is_some() {
                return ExitCode::from(2);
            }
            let (institutions, locations) = (config.setup.institutions.len(), config.setup.locations.len());
            print_line(format_args!(
                "{} is valid: {institutions} institutions, {locations} locations, {} keys",
                file.display(),
                config.access.keys.len()
            ));
            ExitCode::SUCCESS
        }
        Err(error) => wrong(&error),
    }
}

/// Returns the file and line that name an adapter, or only the main file if the line is not found.
fn place_of_adapter(config: &Path, name: &str) -> String {
    let file = Config::files(config).swap_remove(0);
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

pub fn wrong(error: &ConfigError) -> ExitCode {
    error.problems.iter().for_each(complain);
    ExitCode::from(2)
}

/// Returns the adapters that `serve` would reject, with the reason: components that fail the server's own check, and
/// invalid settings of a location.
pub(super) fn refused_adapters(config: &Config) -> Vec<(String, String)> {
    let rules = &config.setup.engine;
    let judged = judge(rules.guests.clone(), rules.adapters.values().map(PathBuf::as_path));
    let mut refused = Vec::new();
    for (name, judged) in rules.adapters.keys().zip(judged) {
        match judged {
            Ok(manifest) => {
                for (location, wrong) in wrongly_set(&config.setup, name, &manifest) {
                    refused.push((plain(name, REASON), format!("adapter_config of location {location}: {wrong}")));
                }
            }
            Err(reason) => refused.push((plain(name, REASON), plain(&reason, REASON))),
        }
    }
    refused
}

/// Returns the invalid adapter settings of locations that use the adapter.
fn wrongly_set(setup: &Setup, adapter: &str, manifest: &Manifest) -> Vec<(LocationId, String)> {
    let adapter_of = |location: &LocationSetup| Some(setup.sources.get(&location.source?)?.adapter.as_str());
    let of_adapter = setup.locations.values().filter(|location| adapter_of(location) == Some(adapter));
    let wrong = of_adapter.flat_map(|location| {
        let set = location.extras().adapter_config.iter();
        let set = set.map(|(setting, value)| (setting.as_str(), value.as_str()));
        manifest.refused_settings(set).into_iter().map(|wrong| (location.id, wrong))
    });
    wrong.collect()
}

/// Maximum number of bytes of a reason that are printed.
const REASON: usize = 1_000;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use engine::setup::StoreEngine;

    use super::*;

    #[test]
    fn the_starter_configuration_is_short_and_valid_and_never_replaces_a_file() {
        assert!(STARTER.lines().count() <= 23);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("practice-sync.toml");
        assert_eq!(init(&file), ExitCode::SUCCESS);
        let config = Config::load(&file).unwrap();
        assert_eq!((config.setup.institutions.len(), config.setup.locations.len()), (1, 1));
        assert_eq!(config.setup.engine.store_engine, StoreEngine::Fjall);
        assert_eq!(check(&file), ExitCode::SUCCESS);
        fs::write(&file, "mine").unwrap();
        assert_ne!(init(&file), ExitCode::SUCCESS);
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn the_line_of_an_adapter_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("practice-sync.toml");
        fs::write(&main, "# a comment\n[adapters]\nfhir = \"adapters/fhir.wasm\"\n").unwrap();
        let file = main.display().to_string();
        assert_eq!(place_of_adapter(dir.path(), "fhir"), format!("{file}:3"));
        assert_eq!(place_of_adapter(dir.path(), "none"), file);
    }
}
