//! `store salvage`, `copy`, `migrate`, `check` and `compact`. The commands for keys are in `store_keys`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use actix_web::rt::System;
use clap::Subcommand;
use configuration::Config;
use engine::{
    CopyStep, Incomplete, Migrated,
    setup::StoreEngine,
    store::{
        Compacted, EngineKind, KeyId,
        copy::Contents,
        keys,
        salvage::{Report, Salvaged},
    },
};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::{
    key_file::valid,
    logging,
    server::{ListArguments, ServerArguments},
    store_keys,
    terminal::{CommandError, CommandResult, finish, print_line},
};

const TICK: Duration = Duration::from_millis(200);
/// Maximum number of lost values listed per key space; the others are only counted.
const NAMED: usize = 50;

#[derive(Subcommand)]
pub enum StoreCommand {
    /// Copy the intact values of a damaged store into a new data directory, and report losses. The server must be
    /// stopped.
    Salvage {
        /// The configuration whose data directory is damaged.
        #[arg(long, value_name = "FILE", conflicts_with = "data", required_unless_present = "data")]
        config: Option<PathBuf>,
        /// The damaged data directory itself.
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// The new data directory, which must not exist yet.
        #[arg(long, value_name = "NEWDIR")]
        to: PathBuf,
    },
    /// Copy a data directory, with its store converted to the named engine or moved into a database. The server must be
    /// stopped. An interrupted copy continues when the command is run again.
    Copy {
        /// The data directory to copy. It is not changed.
        #[arg(long, value_name = "DIR", conflicts_with = "from_config", required_unless_present = "from_config")]
        from: Option<PathBuf>,
        /// Instead of a data directory: a configuration whose store is in a database. The database is not changed.
        #[arg(long, value_name = "FILE", conflicts_with = "to_config")]
        from_config: Option<PathBuf>,
        /// The new data directory.
        #[arg(long, value_name = "NEWDIR", requires = "engine", required_unless_present = "to_config")]
        to: Option<PathBuf>,
        /// The engine of the copy: "sled" or "fjall".
        #[arg(long)]
        engine: Option<EngineKind>,
        /// Instead of a new data directory: a configuration whose store is in a database. Its data_dir must be new.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "engine"])]
        to_config: Option<PathBuf>,
    },
    /// Move the store of a data directory to another engine, or create or update its tables in a database. The server
    /// must be stopped. An interrupted move continues when the command is run again.
    Migrate {
        /// The configuration of the store.
        #[arg(long, value_name = "FILE", conflicts_with = "data", required_unless_present = "data")]
        config: Option<PathBuf>,
        /// Instead of a configuration: the data directory.
        #[arg(long, value_name = "DIR", requires = "to")]
        data: Option<PathBuf>,
        /// The new engine: "sled" or "fjall". The old store is kept next to the new one. Not for a database.
        #[arg(long, value_name = "ENGINE")]
        to: Option<EngineKind>,
    },
    /// Check the database of a configuration: its version, its settings and every value.
    Check {
        /// The configuration file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Show the keys that encrypt the store of a running server.
    Keys(ListArguments),
    /// Encrypt the store of a running server with a new key, and wait until all values are encrypted with it.
    RotateKey {
        /// Instead of a running server: the configuration of a stopped server. An interrupted rotation is completed.
        #[arg(long, value_name = "FILE", conflicts_with = "server")]
        config: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Delete an old key that is not needed by any value or by any backup in the configured folder.
    DropKey {
        /// The id of the key, as shown by `store keys`.
        key: KeyId,
        /// Instead of a running server: the configuration of a stopped server.
        #[arg(long, value_name = "FILE", conflicts_with = "server")]
        config: Option<PathBuf>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Rewrite the files of a sled store without the space of replaced and deleted values. The server must be stopped.
    Compact {
        /// The configuration whose data directory contains the store.
        #[arg(long, value_name = "FILE", conflicts_with = "data", required_unless_present = "data")]
        config: Option<PathBuf>,
        /// The data directory itself.
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
}

pub fn run(command: StoreCommand) -> ExitCode {
    finish(execute(command))
}

fn execute(command: StoreCommand) -> CommandResult {
    match command {
        StoreCommand::Salvage { config, data, to } => salvage(&data_dir(config, data)?, &to),
        StoreCommand::Copy { from: Some(from), to: Some(to), engine: Some(engine), .. } => {
            copy(to.clone(), EngineChosen::Embedded(engine), async |show| {
                engine::copy_data(&from, &to, engine, show).await
            })
        }
        StoreCommand::Copy { from: Some(from), to_config: Some(file), .. } => {
            let config = valid(&file)?;
            let (setup, to) = (config.setup, config.data_dir);
            copy(to.clone(), EngineChosen::Database, async |show| {
                engine::copy_to_database(&from, &setup, &to, show).await
            })
        }
        StoreCommand::Copy { from_config: Some(file), to: Some(to), engine: Some(engine), .. } => {
            let config = valid(&file)?;
            let (setup, from) = (config.setup, config.data_dir);
            copy(to.clone(), EngineChosen::Embedded(engine), async |show| {
                engine::copy_from_database(&setup, &from, &to, engine, show).await
            })
        }
        StoreCommand::Copy { .. } => {
            Err("--from or --from-config, and --to with --engine or --to-config are needed".into())
        }
        StoreCommand::Migrate { data: Some(data), to: Some(to), .. } => move_store(&data, to, None),
        StoreCommand::Migrate { config: Some(file), to, .. } => migrate(&valid(&file)?, to),
        StoreCommand::Migrate { .. } => Err("--config, or --data with --to is needed".into()),
        StoreCommand::Check { config } => check(&valid(&config)?),
        StoreCommand::Compact { config, data } => compact(&data_dir(config, data)?),
        StoreCommand::Keys(list) => Ok(store_keys::show(&list.server, list.json)),
        StoreCommand::RotateKey { config: Some(file), .. } => store_keys::rotate_at_rest(&valid(&file)?),
        StoreCommand::RotateKey { config: None, server } => Ok(store_keys::rotate(&server)),
        StoreCommand::DropKey { key, config: Some(file), .. } => store_keys::drop_at_rest(&valid(&file)?, key),
        StoreCommand::DropKey { key, config: None, server } => Ok(store_keys::drop(&server, key)),
    }
}

/// Returns a progress bar, drawn on a terminal only.
pub(super) fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:9} {wide_bar} {human_pos} of {human_len} values, {eta}") {
        bar.set_style(style);
    }
    bar
}

/// Returns an indicator for work of unknown size, drawn on a terminal only.
pub(super) fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {spinner} {elapsed}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TICK);
    spinner
}

pub(super) fn show_step(bar: &ProgressBar, step: CopyStep) {
    let (what, done, all) = match step {
        CopyStep::Reading { done } => ("reading", done, done),
        CopyStep::Copying { done, all } => ("copying", done, all),
        CopyStep::Comparing { done, all } => ("comparing", done, all),
        CopyStep::Replacing { done } => ("replacing", done, 2),
    };
    bar.set_message(what);
    bar.set_length(all);
    bar.set_position(done);
}

/// Returns the given data directory, or that of the configuration.
fn data_dir(config: Option<PathBuf>, data: Option<PathBuf>) -> Result<PathBuf, CommandError> {
    match (data, config) {
        (Some(data), _) => Ok(data),
        (None, Some(config)) => Ok(valid(&config)?.data_dir),
        (None, None) => Err("--config or --data is missing".into()),
    }
}

fn compact(data: &Path) -> CommandResult {
    logging::start("warn")?;
    let bar = bar();
    bar.set_message("copying");
    let compacted = engine::compact_data(data, |values, of| {
        bar.set_length(of);
        bar.set_position(values);
    });
    bar.finish_and_clear();
    let Compacted { values, before, after } = compacted?;
    let [before, after] = [before, after].map(HumanBytes);
    print_line(format_args!("{values} values: the store's files shrank from {before} to {after}."));
    Ok(ExitCode::SUCCESS)
}

fn migrate(config: &Config, to: Option<EngineKind>) -> CommandResult {
    let engine = config.setup.engine.store_engine;
    match (engine, to) {
        (StoreEngine::Sled | StoreEngine::Fjall, Some(to)) => move_store(&config.data_dir, to, Some(engine)),
        (StoreEngine::Sled | StoreEngine::Fjall, None) => Err("name the new engine: --to sled or --to fjall".into()),
        (StoreEngine::Postgres, Some(_)) => Err(
            "the store is in a database: `practice-sync store copy --from-config FILE` copies it to a data directory"
                .into(),
        ),
        (StoreEngine::Postgres, None) => migrate_tables(config),
    }
}

/// Moves the store of a data directory. `configured`: the engine that its configuration names, if known.
fn move_store(data: &Path, to: EngineKind, configured: Option<StoreEngine>) -> CommandResult {
    logging::start("warn")?;
    let bar = bar();
    let moved = System::new().block_on(engine::migrate_store(data, to, |step| show_step(&bar, step)));
    bar.finish_and_clear();
    let old = match moved? {
        Migrated::Moved { copied, old } => {
            if let Some(Contents { values, digest }) = copied {
                print_line(format_args!("{values} values were copied and compared, sha256 {}.", hex::encode(digest)));
            }
            Some(old)
        }
        Migrated::Unchanged => None,
    };
    print_line(format_args!("The store in {} is of the engine {to}.", data.display()));
    let names_it = match to {
        EngineKind::Sled => configured == Some(StoreEngine::Sled),
        EngineKind::Fjall => configured == Some(StoreEngine::Fjall),
    };
    if !names_it {
        print_line(format_args!(
            "Set `store_engine = \"{to}\"` in [engine] of the configuration before the next start."
        ));
    }
    if let Some(old) = old {
        print_line(format_args!("The old store is in {}: delete it when it is no longer needed.", old.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn migrate_tables(config: &Config) -> CommandResult {
    let (from, to) = System::new().block_on(engine::migrate_database(&config.setup, &config.data_dir))?;
    match from == to {
        true => print_line(format_args!("The database has schema version {to} already.")),
        false => print_line(format_args!("The database was migrated from schema version {from} to {to}.")),
    }
    Ok(ExitCode::SUCCESS)
}

fn check(config: &Config) -> CommandResult {
    let spinner = spinner("checking");
    let checked = System::new().block_on(engine::check_database(&config.setup, &config.data_dir));
    spinner.finish_and_clear();
    let checked = checked?;
    print_line(format_args!("The store is sound: {checked}."));
    for risk in &checked.risks {
        print_line(format_args!("Risk: {risk}."));
    }
    Ok(ExitCode::SUCCESS)
}

/// The destination of a copy.
enum EngineChosen {
    Embedded(EngineKind),
    Database,
}

fn copy(
    to: PathBuf,
    engine: EngineChosen,
    work: impl AsyncFnOnce(&mut dyn FnMut(CopyStep)) -> Result<Contents, Incomplete>,
) -> CommandResult {
    logging::start("warn")?;
    let bar = bar();
    let copied = System::new().block_on(work(&mut |step| show_step(&bar, step)));
    bar.finish_and_clear();
    let Contents { values, digest } = copied?;
    let (digest, to) = (hex::encode(digest), to.display());
    let how = match engine {
        EngineChosen::Embedded(engine) => format!("set `data_dir` to {to} and `store_engine` to \"{engine}\""),
        EngineChosen::Database => "start with the configuration that names the database".to_owned(),
    };
    print_line(format_args!(
        "{values} values were copied and compared, sha256 {digest}. To serve from the copy {how}."
    ));
    Ok(ExitCode::SUCCESS)
}

fn salvage(data: &Path, to: &Path) -> CommandResult {
    logging::start("warn")?;
    let spinner = spinner("salvaging");
    let salvaged = System::new().block_on(engine::salvage_data(data, to));
    spinner.finish_and_clear();
    let report =
        salvaged.map_err(|error| format!("{}: nothing can be salvaged, restore a backup ({error})", data.display()))?;
    print_report(&report);
    print_line(format_args!(
        "The intact values are in {}: make it the data_dir, or replace the old one with it.",
        to.display()
    ));
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print_report(report: &Report) {
    for (name, space) in &report.spaces {
        print_space(name, space);
    }
    let repaired = report.repaired;
    print_line(format_args!(
        "log: {} flipped bits corrected, {} damaged messages accepted, {} bytes removed, {} segments lost",
        repaired.corrected, repaired.made_readable, repaired.cut_out, repaired.lost_segments
    ));
    let (found, reported) = report.groups;
    if found < reported {
        print_line(format_args!("the last {} groups of commits are lost", reported - found));
    }
    match report.is_whole() {
        true => print_line("No committed data is lost."),
        false => print_line(
            "Data is lost, or only an older version was found; not all losses can be listed above. Records of an EHR are restored by \
             its next full pass; compare bookings and changes that were made through the API since then by hand.",
        ),
    }
}

fn print_space(name: &str, space: &Salvaged) {
    let lost = if space.lost.is_empty() { String::new() } else { format!(", {} lost", space.lost.len()) };
    let unreadable = if space.unreadable { ", partly unreadable" } else { "" };
    print_line(format_args!("{name}: {} intact{lost}{unreadable}", space.sound));
    for key in space.lost.iter().take(NAMED) {
        print_line(format_args!("  lost: {}", keys::describe_owner(key)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_command_for_the_store_needs_no_key_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("practice-sync.toml");
        std::fs::write(&file, "keys_file = \"elsewhere/keys.toml\"\n").unwrap();
        assert_eq!(data_dir(Some(file), None).ok(), Some(dir.path().join("data")));
    }
}
