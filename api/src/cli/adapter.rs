//! `adapter build`, `adapter check`, `adapter new`

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    process::ExitCode,
};

use adapter_kit::{KitError, Report};
use clap::Subcommand;
use engine::{
    adapter_host::{Host, plain},
    setup::guests::HostLimits,
};

use crate::terminal::{fail, say};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Build the component of an adapter's crate. Installs the toolchain if it is missing.
    Build {
        dir: PathBuf,
        /// The output directory. Default: DIR/dist.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check whether the server can load a component. The exit code is 1 if it cannot.
    Check { file: PathBuf },
    /// Create an adapter's crate in an empty or new folder. The folder name becomes the name of the adapter.
    New { dir: PathBuf },
}

pub(super) fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Build { dir, out } => build(&dir, &out.unwrap_or_else(|| dir.join("dist"))),
        Command::Check { file } => return check(&file),
        Command::New { dir } => new(&dir),
    };
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

fn build(dir: &Path, out: &Path) -> Result<(), KitError> {
    let built = adapter_kit::build(dir, out, &mut |progress| say(progress))?;
    say(format_args!("{}  {} bytes  sha256 {}", built.component.display(), built.bytes, built.sha256));
    Ok(())
}

/// What the component is, as far as it can be read, and then whether a server takes it.
fn check(file: &Path) -> ExitCode {
    match adapter_kit::check(file) {
        Ok(report) => show(&report),
        Err(error) => return unfit(error),
    }
    let judged = actix_web::rt::System::new().block_on(Host::judge(HostLimits::default(), file));
    judged.map_or_else(unfit, |()| {
        say("verdict   fit");
        ExitCode::SUCCESS
    })
}

/// What a component's author wrote never steers the terminal.
fn show(report: &Report) {
    let adapter = match &report.manifest {
        Ok(manifest) => format!("{} {}", manifest.id, manifest.version),
        Err(unfit) => unfit.to_string(),
    };
    let contract = report.contract.as_deref().unwrap_or("none");
    for (what, text) in [
        ("contract", contract),
        ("adapter ", &adapter),
        ("imports ", &report.imports.join(", ")),
        ("exports ", &report.exports.join(", ")),
    ] {
        say(format_args!("{what}  {}", plain(text, SHOWN)));
    }
    say(format_args!("size      {} bytes  sha256 {}", report.bytes, report.sha256));
}

/// Bytes of a line that are shown.
const SHOWN: usize = 4_000;

/// One line, and the exit code of a component that no server takes.
fn unfit(reason: impl Display) -> ExitCode {
    fail(plain(&reason.to_string(), SHOWN));
    ExitCode::FAILURE
}

fn new(dir: &Path) -> Result<(), KitError> {
    let named = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let id = named.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    adapter_kit::scaffold(dir, &id, &adapter_kit::sdk_path())?;
    say(format_args!("{} was created. Build it with: practice-sync adapter build {}", id, dir.display()));
    Ok(())
}
