//! `adapter build`, `check`, `ehr`, `inspect`, `new`, `pack`, `run`, `test`, `new-key`, `sign`, `verify`, and the
//! commands for a running server.

mod component;
mod ehr;
mod exchange;
mod mask;
mod recording;
mod remote;
mod run;
mod test;

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    process::ExitCode,
};

use adapter_kit::{KitError, Profile, Report, Signer, Start};
use clap::{Subcommand, ValueEnum};
use engine::{
    adapter_host::{Host, plain},
    setup::guests::HostLimits,
};

use crate::terminal::{fail, print_line};

#[derive(Subcommand)]
pub enum AdapterCommand {
    /// Build an adapter's component from its folder: a Rust crate, whose toolchain is installed if missing, or an npm
    /// package.
    Build {
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// The output directory. Default: DIR/dist.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check whether the server can load a component. The exit code is 1 if it cannot.
    Check {
        /// A component, or the folder of an adapter, which is built first.
        #[arg(default_value = ".")]
        file: PathBuf,
    },
    /// Show a component's identity, requested limits and settings. The settings are a table for its README. The
    /// component is not run.
    Inspect { file: PathBuf },
    /// Add a manifest to a component that was built with other tools, in any language. An existing signature is
    /// removed.
    Pack {
        file: PathBuf,
        #[arg(long, value_name = "FILE")]
        manifest: PathBuf,
        /// The output file. Default: FILE itself.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Write a new private signing key to a new file, and print its public key for `guests.signers`.
    NewKey { file: PathBuf },
    /// Sign a component. Servers with `guests.signers` only load components signed with one of these keys.
    Sign {
        file: PathBuf,
        /// An Ed25519 private key (PKCS #8, PEM).
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Show the signer of a component. The exit code is 1 without a valid signature.
    Verify { file: PathBuf },
    /// Call an adapter once against an EHR and print its answer, with patient data masked.
    Run(run::AdapterRunArguments),
    /// Run the conformance suite on an adapter and the EHR of a subject file. The exit code is 1 if a case failed.
    Test(test::AdapterTestArguments),
    /// Serve the simulated EHR on loopback for adapter development. Written data is lost when the command stops.
    Ehr {
        /// The port, or 0 for any free port.
        #[arg(long, default_value_t = 8090)]
        port: u16,
    },
    /// Create an adapter in a new or empty folder. The folder name becomes the adapter's name.
    New {
        dir: PathBuf,
        /// The kind of adapter: a Rust crate or an npm package.
        #[arg(long, value_enum, default_value_t = Language::Rust)]
        lang: Language,
        /// Create a minimal crate that only builds, loads and answers, instead of one that reads and books in the
        /// simulated EHR.
        #[arg(long, conflicts_with = "lang")]
        minimal: bool,
    },
    #[command(flatten)]
    Remote(remote::RemoteCommand),
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Language {
    Rust,
    Js,
}

pub fn run(command: AdapterCommand) -> ExitCode {
    let done = match command {
        AdapterCommand::Build { dir, out } => {
            return release(&dir, &out.unwrap_or_else(|| dir.join("dist"))).map_or_else(fail, |_| ExitCode::SUCCESS);
        }
        AdapterCommand::Check { file } if file.is_dir() => {
            return release(&file, &file.join("dist")).map_or_else(fail, |component| check(&component));
        }
        AdapterCommand::Check { file } => return check(&file),
        AdapterCommand::Inspect { file } => return inspect(&file),
        AdapterCommand::Run(arguments) => return run::run(arguments),
        AdapterCommand::Test(arguments) => return test::run(&arguments),
        AdapterCommand::Ehr { port } => return ehr::run(port),
        AdapterCommand::Remote(command) => return remote::run(command),
        AdapterCommand::New { dir, lang, minimal } => new(&dir, lang, minimal),
        AdapterCommand::Pack { file, manifest, out } => pack(&file, &manifest, &out.unwrap_or_else(|| file.clone())),
        AdapterCommand::NewKey { file } => adapter_kit::new_key(&file).map(print_signer),
        AdapterCommand::Sign { file, key } => adapter_kit::sign(&file, &key).map(print_signer),
        AdapterCommand::Verify { file } => {
            return adapter_kit::verify(&file).map_or_else(print_rejection, |signer| {
                print_signer(signer);
                ExitCode::SUCCESS
            });
        }
    };
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

/// Builds the component for production.
fn release(dir: &Path, out: &Path) -> Result<PathBuf, String> {
    let built = component::build(dir, out, Profile::Release)?;
    print_line(format_args!("{}  {} bytes  sha256 {}", built.component.display(), built.bytes, built.sha256));
    Ok(built.component)
}

fn pack(file: &Path, manifest: &Path, out: &Path) -> Result<(), KitError> {
    let (bytes, sha256) = adapter_kit::pack_file(file, manifest, out)?;
    print_line(format_args!("{}  {bytes} bytes  sha256 {sha256}", out.display()));
    Ok(())
}

fn print_signer(signer: Signer) {
    print_line(format_args!("signer    {}", adapter_kit::public_key(signer)));
}

/// Prints a report on the component, then checks whether a server would load it.
fn check(file: &Path) -> ExitCode {
    match adapter_kit::check(file) {
        Ok(report) => show(&report),
        Err(error) => return print_rejection(error),
    }
    let judged = actix_web::rt::System::new().block_on(Host::judge(HostLimits::default(), file));
    judged.map_or_else(print_rejection, |_| {
        print_line("verdict   fit");
        ExitCode::SUCCESS
    })
}

/// Prints a report on the component and the requests of its manifest.
fn inspect(file: &Path) -> ExitCode {
    let report = match adapter_kit::check(file) {
        Ok(report) => report,
        Err(error) => return print_rejection(error),
    };
    show(&report);
    let Ok(manifest) = report.manifest else { return ExitCode::FAILURE };
    let per = |most: Option<u32>, what: &str| most.map(|most| format!(", {most} {what}")).unwrap_or_default();
    let asks = [
        ("paths   ", manifest.paths.join(", ")),
        ("headers ", if manifest.headers.is_empty() { "none".to_owned() } else { manifest.headers.join(", ") }),
        (
            "a call  ",
            format!(
                "{} MiB, {} s, {} requests{}{}",
                manifest.memory_mib,
                manifest.call_seconds,
                manifest.requests_per_call,
                per(manifest.processor_ms, "ms of processor time"),
                per(manifest.pull_processor_ms, "ms for a pull"),
            ),
        ),
        (
            "a minute",
            manifest.requests_per_minute.map_or_else(|| "no limit".to_owned(), |most| format!("{most} requests")),
        ),
    ];
    for (what, text) in asks {
        print_line(format_args!("{what}  {}", plain(&text, SHOWN)));
    }
    let settings = manifest
        .settings_table()
        .unwrap_or_else(|| "The component declares no settings; all settings are passed to it.".to_owned());
    settings.lines().for_each(|line| print_line(plain(line, SHOWN)));
    ExitCode::SUCCESS
}

/// Prints a report. Texts of the component's author are escaped for the terminal.
fn show(report: &Report) {
    let adapter = match &report.manifest {
        Ok(manifest) => format!("{} {}", manifest.id, manifest.version),
        Err(print_rejection) => print_rejection.to_string(),
    };
    let signer = match &report.signer {
        Ok(signer) => signer.map_or_else(|| "none".to_owned(), adapter_kit::public_key),
        Err(print_rejection) => print_rejection.to_string(),
    };
    let contract = report.contract.as_deref().unwrap_or("none");
    for (what, text) in [
        ("contract", contract),
        ("adapter ", &adapter),
        ("imports ", &report.imports.join(", ")),
        ("exports ", &report.exports.join(", ")),
        ("signer  ", &signer),
    ] {
        print_line(format_args!("{what}  {}", plain(text, SHOWN)));
    }
    print_line(format_args!("size      {} bytes  sha256 {}", report.bytes, report.sha256));
}

/// Maximum number of bytes printed per line.
const SHOWN: usize = 4_000;

/// Prints the reason on one line. Returns the exit code for a component that no server would load.
fn print_rejection(reason: impl Display) -> ExitCode {
    fail(plain(&reason.to_string(), SHOWN));
    ExitCode::FAILURE
}

fn new(dir: &Path, language: Language, minimal: bool) -> Result<(), KitError> {
    let named = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    let id = named.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let build = match language {
        Language::Rust => {
            adapter_kit::scaffold(dir, &id, if minimal { Start::Minimal } else { Start::Booking })?;
            format!("practice-sync adapter build {}", dir.display())
        }
        Language::Js => {
            adapter_kit::scaffold_javascript(dir, &id)?;
            format!("cd {} && npm ci && practice-sync adapter build", dir.display())
        }
    };
    print_line(format_args!("{id} was created. Build it with: {build}"));
    Ok(())
}
