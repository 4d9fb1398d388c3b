//! `adapter build`, `adapter check`, `adapter new`

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use adapter_kit::KitError;
use clap::Subcommand;

use super::{fail, say};

#[derive(Subcommand)]
pub enum Command {
    /// Make a component of an adapter's crate, finding or installing the toolchain for it.
    Build {
        dir: PathBuf,
        /// Where the component is written; DIR/dist without it.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Look at a component without running it.
    Check { file: PathBuf },
    /// Begin an adapter's crate in an empty or new folder; the folder's name becomes the adapter's.
    New { dir: PathBuf },
}

pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Build { dir, out } => build(&dir, &out.unwrap_or_else(|| dir.join("dist"))),
        Command::Check { file } => check(&file),
        Command::New { dir } => new(&dir),
    };
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn build(dir: &Path, out: &Path) -> Result<(), KitError> {
    let built = adapter_kit::build(dir, out, &mut |progress| say(progress))?;
    say(format_args!("{}  {} bytes  sha256 {}", built.component.display(), built.bytes, built.sha256));
    Ok(())
}

fn check(file: &Path) -> Result<(), KitError> {
    let report = adapter_kit::check(file)?;
    let manifest = report.manifest.as_ref();
    say(format_args!("contract  {}", report.contract));
    say(format_args!(
        "adapter   {}",
        manifest.map_or("no manifest inside".to_owned(), |it| format!("{} {}", it.id, it.version))
    ));
    say(format_args!("imports   {}", report.imports.join(", ")));
    say(format_args!("exports   {}", report.exports.join(", ")));
    say(format_args!("size      {} bytes  sha256 {}", report.bytes, report.sha256));
    Ok(())
}

fn new(dir: &Path) -> Result<(), KitError> {
    let named = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let id = named.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    adapter_kit::scaffold(dir, &id, &adapter_kit::sdk_path())?;
    say(format_args!("{} is ready: practice-sync adapter build {}", id, dir.display()));
    Ok(())
}
