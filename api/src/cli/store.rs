//! `store salvage`, `store copy`

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Subcommand;
use engine::{
    CopyStep,
    store::{
        EngineKind, keys,
        salvage::{Report, Salvaged},
    },
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    config::Config,
    terminal::{fail, say},
};

/// Lost values named one by one in each key space; the rest is counted.
const NAMED: usize = 50;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Copy the intact values of a damaged store into a new data directory, and report what is lost. The server must be stopped.
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
    /// Copy a data directory, its store to the named engine. The server must be stopped. Run again, it continues where it was interrupted.
    Copy {
        /// The data directory to copy. It is not changed.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// The new data directory.
        #[arg(long, value_name = "NEWDIR")]
        to: PathBuf,
        /// The engine of the copy: "sled" or "fjall".
        #[arg(long)]
        engine: EngineKind,
    },
}

pub(super) fn run(command: Command) -> ExitCode {
    match command {
        Command::Salvage { config, data, to } => salvage(config, data, &to),
        Command::Copy { from, to, engine } => copy(&from, &to, engine),
    }
}

fn copy(from: &Path, to: &Path, engine: EngineKind) -> ExitCode {
    if let Err(problem) = crate::logging::start("warn") {
        return fail(problem);
    }
    // Drawn on a terminal only.
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:9} {wide_bar} {human_pos} of {human_len} values, {eta}") {
        bar.set_style(style);
    }
    let show = |step| {
        let (what, done, all) = match step {
            CopyStep::Copying { done, all } => ("copying", done, all),
            CopyStep::Comparing { done, all } => ("comparing", done, all),
        };
        bar.set_message(what);
        bar.set_length(all);
        bar.set_position(done);
    };
    let copied = actix_web::rt::System::new().block_on(engine::copy_data(from, to, engine, show));
    bar.finish_and_clear();
    match copied {
        Ok(contents) => {
            say(format_args!(
                "{} values were copied and compared, sha256 {}. To serve from the copy set `data_dir` to {} and `store_engine` to \"{engine}\".",
                contents.values,
                hex::encode(contents.digest),
                to.display()
            ));
            ExitCode::SUCCESS
        }
        Err(error) => fail(error),
    }
}

fn salvage(config: Option<PathBuf>, data: Option<PathBuf>, to: &Path) -> ExitCode {
    let data = match (data, config) {
        (Some(data), _) => data,
        (None, Some(config)) => match Config::load(&config) {
            Ok(config) => config.data_dir,
            Err(error) => return fail(error),
        },
        (None, None) => return fail("--config or --data is missing"),
    };
    if let Err(problem) = crate::logging::start("warn") {
        return fail(problem);
    }
    let salvaged = actix_web::rt::System::new().block_on(engine::salvage_data(&data, to));
    match salvaged {
        Ok(report) => {
            tell(&report);
            say(format_args!(
                "The intact values are in {}: make it the data_dir, or replace the old one with it.",
                to.display()
            ));
            if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => fail(format_args!("{}: nothing can be salvaged, restore a backup ({error})", data.display())),
    }
}

fn tell(report: &Report) {
    for (name, space) in &report.spaces {
        tell_space(name, space);
    }
    let mended = report.mended;
    say(format_args!(
        "log: {} flipped bits corrected, {} damaged messages accepted, {} bytes removed, {} segments lost",
        mended.exactly, mended.let_through, mended.cut_out, mended.lost_segments
    ));
    let (found, reported) = report.groups;
    if found < reported {
        say(format_args!("the last {} groups of commits are lost", reported - found));
    }
    match report.is_whole() {
        true => say("No committed data is lost."),
        false => say(
            "Data is lost, or only an older version was found; not all losses can be listed above. Records of an EHR are restored by \
             its next full pass; compare bookings and changes that were made through the API since then by hand.",
        ),
    }
}

fn tell_space(name: &str, space: &Salvaged) {
    let lost = if space.lost.is_empty() { String::new() } else { format!(", {} lost", space.lost.len()) };
    let unreadable = if space.unreadable { ", partly unreadable" } else { "" };
    say(format_args!("{name}: {} intact{lost}{unreadable}", space.sound));
    for key in space.lost.iter().take(NAMED) {
        say(format_args!("  lost: {}", keys::whose(key)));
    }
}
