//! `backup` and `restore`: copies the store of a running server to a file, and creates a data directory from such a
//! file.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use actix_web::rt::{System, time::sleep};
use clap::Args;
use engine::{CopyStep, setup::StoreEngine, store::EngineKind};
use indicatif::HumanBytes;

use crate::{
    key_file::valid,
    logging,
    server::{ServerArguments, ServerSession, answer, text},
    store::{bar, show_step},
    terminal::{CommandError, CommandResult, fail, print_line},
};

const LOOK: Duration = Duration::from_millis(500);

#[derive(Args)]
pub struct Restore {
    /// The backup file.
    file: PathBuf,
    /// The folder with `store.key`, and with `token.secret` and `audit.key` if you have kept them.
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The new data directory, which must be empty or not exist yet.
    #[arg(long, value_name = "NEWDIR", required_unless_present = "check")]
    to: Option<PathBuf>,
    /// The configuration that serves the new directory. It names the engine of the new store.
    #[arg(long, value_name = "FILE", conflicts_with = "engine")]
    config: Option<PathBuf>,
    /// Instead of a configuration: the engine of the new store, "sled" or "fjall".
    #[arg(long, required_unless_present_any = ["config", "check"])]
    engine: Option<EngineKind>,
    /// Only check that the backup is complete and that the key decrypts it.
    #[arg(long, conflicts_with_all = ["to", "config", "engine"])]
    check: bool,
}

pub fn run(server: &ServerArguments) -> ExitCode {
    System::new().block_on(make(server)).map_or_else(fail, |()| ExitCode::SUCCESS)
}

async fn make(server: &ServerArguments) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let begun = answer(session.post("/backups")).await?;
    let name = text(&begun["name"]).to_owned();
    let bar = bar();
    bar.set_message("backup");
    loop {
        let now = answer(session.get("/backups")).await?;
        let under_way = &now["under_way"];
        if under_way["name"] == name.as_str() {
            bar.set_position(under_way["values"].as_u64().unwrap_or(0));
            sleep(LOOK).await;
            continue;
        }
        bar.finish_and_clear();
        let done = now["backups"].as_array().into_iter().flatten().find(|done| done["name"] == name.as_str());
        let Some(done) = done else { return Err(format!("the backup failed: {}", text(&now["failed"]))) };
        print_line(format_args!("{name}  {}", HumanBytes(done["bytes"].as_u64().unwrap_or(0))));
        return Ok(());
    }
}

pub fn restore(Restore { file, keys, to, config, engine, check }: &Restore) -> CommandResult {
    logging::start("warn")?;
    let (Some(to), false) = (to, *check) else { return check_backup_file(file, keys) };
    let engine = match (engine, config) {
        (Some(engine), _) => *engine,
        (None, Some(config)) => configured_engine(config)?,
        (None, None) => return Err("--config or --engine is missing".into()),
    };
    restore_to(file, keys, to, engine)
}

fn configured_engine(config: &Path) -> Result<EngineKind, CommandError> {
    match valid(config)?.setup.engine.store_engine {
        StoreEngine::Sled => Ok(EngineKind::Sled),
        StoreEngine::Fjall => Ok(EngineKind::Fjall),
        StoreEngine::Postgres => Err("the configuration names a database: restore to a data directory with --engine, \
                                      then copy it with `practice-sync store copy --to-config FILE`"
            .into()),
    }
}

fn check_backup_file(file: &Path, keys: &Path) -> CommandResult {
    let (bar, mut done) = (bar(), 0);
    let checked = engine::check_backup(file, keys, |values| {
        done += values;
        show_step(&bar, CopyStep::Reading { done });
    });
    bar.finish_and_clear();
    let backup = checked?;
    print_line(format_args!("The backup is whole: {} values, {}.", backup.values, HumanBytes(backup.bytes)));
    Ok(ExitCode::SUCCESS)
}

fn restore_to(file: &Path, keys: &Path, to: &Path, engine: EngineKind) -> CommandResult {
    let bar = bar();
    let restoring = engine::restore_data(file, keys, to, engine, |step| show_step(&bar, step));
    let restored = System::new().block_on(restoring);
    bar.finish_and_clear();
    print_line(format_args!(
        "{} values were restored. To serve from them set `data_dir` to {} and `store_engine` to \"{engine}\".",
        restored?.values,
        to.display()
    ));
    Ok(ExitCode::SUCCESS)
}
