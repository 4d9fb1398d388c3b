//! The commands of the binary. A start error is printed as one line on stderr, with exit code 2.

mod serve;
#[cfg(test)]
mod tests;

use std::{io, path::PathBuf, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "demo")]
use crate::demo::{self, DemoArguments};
#[cfg(feature = "demo")]
use commands::adapter;
use commands::{
    audit, backup, check_client, config, doctor, keys, operate, operators, store,
    terminal::{finish, print_line},
    webhooks, workstations,
};
use endpoints::{
    memory, openapi,
    resources::operators::operator_actions::{ACCEPT_DELETIONS, PAUSE, RESUME, SYNC},
};
use framework::values::{audience::Audience, versions::Version};

const EXIT_CODES: &str = "Exit codes: 0 success; 1 completed with findings such as warnings, losses or refused calls; 2 failure, with the reason on stderr.";

#[derive(Parser)]
#[command(name = "practice-sync", version, about = "One HTTP API to the schedules and patients of many practices", after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API.
    Serve {
        /// The configuration: a file, or a folder of files.
        #[arg(long, value_name = "CONFIG")]
        config: PathBuf,
        /// Start with an empty store if the store of this data directory is missing. The earlier contents are lost.
        #[arg(long)]
        accept_empty_store: bool,
    },
    /// Check a configuration, or print a default one.
    #[command(subcommand)]
    Config(config::ConfigurationCommand),
    /// Add, show, narrow or revoke API keys.
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Add, show or revoke tokens of operators.
    #[command(subcommand)]
    Operators(operators::OperatorsCommand),
    /// Build, check or create an adapter.
    #[cfg(feature = "demo")]
    #[command(subcommand, visible_alias = "adapters")]
    Adapter(adapter::AdapterCommand),
    /// Repair, copy or compact a store, change its key, or prepare its database.
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Show the locations of a running server and their read and write status.
    Locations(operate::LocationsArguments),
    /// Show pending and failed writes of a running server, retry them, or drop them.
    #[command(subcommand)]
    Queue(operate::QueueCommand),
    #[command(name = SYNC.subcommand(), about = SYNC.help())]
    Sync(operate::Locations),
    #[command(name = PAUSE.subcommand(), about = PAUSE.help())]
    Pause(operate::Pause),
    #[command(name = RESUME.subcommand(), about = RESUME.help())]
    Resume(operate::Pause),
    #[command(name = ACCEPT_DELETIONS.subcommand(), about = ACCEPT_DELETIONS.help())]
    AcceptDeletions(operate::AcceptDeletions),
    /// Show recent errors of a location of a running server.
    Errors(operate::Errors),
    /// Back up the store of a running server into its configured backup folder.
    Backup(commands::server::ServerArguments),
    /// Create a new data directory from a backup, or check a backup.
    Restore(backup::Restore),
    /// Show, add or remove workstations of a running server.
    #[command(subcommand)]
    Workstations(workstations::WorkstationsCommand),
    /// Show the webhook endpoints and deliveries of a running server, test endpoints, or send deliveries again.
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Check this machine and the server for current and upcoming problems. Exit code: 0 no problem, 1 warnings, 2
    /// errors.
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell.
    Completions { shell: Shell },
    /// Verify the audit trail, or export entries of it.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Print the API's OpenAPI document.
    Openapi {
        /// Only this version. Default: a document that describes v3.0.0 and v3.1.0.
        #[arg(long, value_parser = ["v3.0.0", "v3.1.0", "v2.2.2"])]
        version: Option<String>,
        /// The callers whose API is described: clients, operators or workstations.
        #[arg(long = "for", value_name = "AUDIENCE", default_value = "clients")]
        audience: Audience,
    },
    /// Replay the recorded calls of a client against the demo, and report refused calls and ignored parameters.
    CheckClient(check_client::Arguments),
    /// Serve a demo practice and make one booking.
    #[cfg(feature = "demo")]
    Demo(DemoArguments),
}

pub fn main() -> ExitCode {
    memory::give_back_soon();
    match Arguments::parse().command {
        Command::Serve { config, accept_empty_store } => serve::run(&config, accept_empty_store),
        Command::Config(command) => config::run(command),
        Command::Keys(command) => keys::run(command),
        Command::Operators(command) => operators::run(command),
        #[cfg(feature = "demo")]
        Command::Adapter(command) => adapter::run(command),
        Command::Store(command) => store::run(command),
        Command::Audit(command) => audit::run(command),
        Command::Locations(asked) => operate::locations(&asked),
        Command::Queue(asked) => operate::queue(&asked),
        Command::Sync(asked) => operate::sync(&asked),
        Command::Pause(asked) => operate::pause(&asked, &PAUSE),
        Command::Resume(asked) => operate::pause(&asked, &RESUME),
        Command::AcceptDeletions(asked) => operate::accept_deletions(&asked),
        Command::Errors(asked) => operate::errors(&asked),
        Command::Backup(server) => backup::run(&server),
        Command::Restore(restore) => finish(backup::restore(&restore)),
        Command::Workstations(command) => workstations::run(command),
        Command::Webhooks(command) => webhooks::run(command),
        Command::Doctor(asked) => doctor::run(&asked),
        Command::Completions { shell } => {
            let (mut command, name) = (Arguments::command(), "practice-sync");
            clap_complete::generate(shell, &mut command, name, &mut io::stdout());
            ExitCode::SUCCESS
        }
        Command::Openapi { version, audience } => {
            print_line(openapi::document_for(audience, version.as_deref().map(Version::stored)).text().trim_end());
            ExitCode::SUCCESS
        }
        Command::CheckClient(arguments) => check_client::run(&arguments),
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::run(arguments),
    }
}
