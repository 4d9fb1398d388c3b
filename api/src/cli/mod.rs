//! The commands of the binary. An error of start is one clear line on stderr and exit code 2.

#[cfg(feature = "demo")]
mod adapter;
mod audit;
mod backup;
mod check_client;
mod configuration;
mod operate;
mod serve;
mod server;
mod store;
mod store_keys;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

#[cfg(feature = "demo")]
use crate::demo::{self, DemoArguments};
use crate::{
    memory, openapi,
    terminal::say,
    values::{audience::Audience, versions::Version},
};

#[derive(Parser)]
#[command(name = "practice-sync", version, about = "One HTTP API to the schedules and patients of many practices")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API.
    Serve {
        /// The configuration file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Start with an empty store if the store of this data directory is missing. Its contents are lost.
        #[arg(long)]
        accept_empty_store: bool,
    },
    /// Check a configuration file, print a default one, or create an API key.
    #[command(subcommand)]
    Config(configuration::Command),
    /// Build, check or create an adapter.
    #[cfg(feature = "demo")]
    #[command(subcommand)]
    Adapter(adapter::Command),
    /// Repair a damaged store, copy one to another engine, change its key, or prepare the database of one.
    #[command(subcommand)]
    Store(store::Command),
    /// Show the locations of a running server, and how reading and writing stand.
    Locations(operate::Locations),
    /// Show the writes of a running server that wait or have failed, try them again, or give them up.
    #[command(subcommand)]
    Queue(operate::Queue),
    /// Read locations of a running server now, and try at once what waits to be written.
    Sync(operate::Sync),
    /// Make a backup of a running server's store, in the folder of its configuration.
    Backup(server::Server),
    /// Make a new data directory of a backup, or check one.
    Restore(backup::Restore),
    /// Verify the audit trail, or print entries of it.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Print the API's OpenAPI document.
    Openapi {
        /// v3.0.0 and v3.1.0 share a document; v2.2.2 has its own.
        #[arg(long, default_value = "v3.0.0", value_parser = ["v3.0.0", "v3.1.0", "v2.2.2"])]
        version: String,
        /// Whom its calls are for: clients, operators or workstations.
        #[arg(long = "for", value_name = "AUDIENCE", default_value = "clients")]
        audience: Audience,
    },
    /// Replay the recorded calls of a client against the demo, and tell what is refused or ignored.
    CheckClient(check_client::Arguments),
    /// Serve a demo practice and make one booking.
    #[cfg(feature = "demo")]
    Demo(DemoArguments),
}

pub fn main() -> ExitCode {
    memory::give_back_soon();
    match Arguments::parse().command {
        Command::Serve { config, accept_empty_store } => serve::run(&config, accept_empty_store),
        Command::Config(command) => configuration::run(command),
        #[cfg(feature = "demo")]
        Command::Adapter(command) => adapter::run(command),
        Command::Store(command) => store::run(command),
        Command::Audit(command) => audit::run(command),
        Command::Locations(asked) => operate::locations(&asked),
        Command::Queue(asked) => operate::queue(&asked),
        Command::Sync(asked) => operate::sync(&asked),
        Command::Backup(server) => backup::run(&server),
        Command::Restore(restore) => backup::restore(&restore),
        Command::Openapi { version, audience } => {
            say(openapi::of(audience, Version::stored(&version)).text().trim_end());
            ExitCode::SUCCESS
        }
        Command::CheckClient(arguments) => check_client::run(&arguments),
        #[cfg(feature = "demo")]
        Command::Demo(arguments) => demo::run(arguments),
    }
}
