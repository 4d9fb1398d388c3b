//! `adapter upload`, `versions`, `rollout` and `rollback`: adapter versions of a running server.

use std::{fs, path::PathBuf, process::ExitCode};

use actix_web::rt::System;
use clap::Subcommand;
use serde_json::json;

use crate::{
    cli::server::{ServerArguments, ServerSession, answer, text},
    terminal::{fail, say},
};

#[derive(Subcommand)]
pub(in crate::cli) enum RemoteCommand {
    /// Upload a component as a new adapter version to a running server. No location uses it until it is rolled out.
    Upload {
        /// The name of the adapter in the server's configuration.
        name: String,
        file: PathBuf,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the adapters of a running server, their versions, and the version of each location.
    Versions {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Test an uploaded version at locations of a running server, one by one, and roll it out at each after a
    /// successful test. Stops at the first failure.
    Rollout {
        /// SHA-256 of an uploaded version, or `configured` for the version of the configuration.
        version: String,
        /// Ids of locations.
        #[arg(required = true)]
        locations: Vec<u32>,
        /// Only test the version.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Roll locations of a running server back to the previous version.
    Rollback {
        /// Ids of locations.
        #[arg(required = true)]
        locations: Vec<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

pub(super) fn run(command: RemoteCommand) -> ExitCode {
    let done = System::new().block_on(async {
        match command {
            RemoteCommand::Upload { name, file, server } => upload(&server, &name, &file).await,
            RemoteCommand::Versions { json, server } => versions(&server, json).await,
            RemoteCommand::Rollout { version, locations, dry_run, server } => {
                roll_out(&server, &version, &locations, dry_run).await
            }
            RemoteCommand::Rollback { locations, server } => roll_back(&server, &locations).await,
        }
    });
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

async fn upload(server: &ServerArguments, name: &str, file: &PathBuf) -> Result<(), String> {
    let component = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let session = ServerSession::begin(server)?;
    let path = format!("/adapters/{name}/versions");
    let request = session.post(&path).header("Content-Type", "application/wasm").body(component);
    let version = answer(request).await?;
    say(format_args!("{} {}  {}", text(&version["name"]), text(&version["version"]), text(&version["sha256"])));
    Ok(())
}

async fn versions(server: &ServerArguments, as_json: bool) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let adapters = answer(session.get("/adapters")).await?;
    for adapter in adapters.as_array().into_iter().flatten() {
        if as_json {
            say(adapter);
            continue;
        }
        let configured = &adapter["configured"];
        let known = |name| if configured[name].is_null() { "-" } else { text(&configured[name]) };
        say(format_args!(
            "{}  configured {} {}  {}",
            text(&configured["name"]),
            known("version"),
            known("sha256"),
            known("status")
        ));
        for version in adapter["versions"].as_array().into_iter().flatten() {
            let [number, sha256, at] = ["version", "sha256", "uploaded_at"].map(|name| text(&version[name]));
            say(format_args!("  version {number} {sha256}  uploaded {at}"));
        }
        for location in adapter["locations"].as_array().into_iter().flatten() {
            let runs = location["sha256"].as_str().unwrap_or("configured");
            say(format_args!("  location {} {runs}", location["location_id"]));
        }
    }
    Ok(())
}

async fn roll_out(server: &ServerArguments, version: &str, locations: &[u32], dry_run: bool) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    for location in locations {
        let body = json!({"version": version, "dry_run": dry_run}).to_string();
        let request = session.post(&format!("/locations/{location}/adapter"));
        let told = answer(request.header("Content-Type", "application/json").body(body)).await;
        let told = told.map_err(|why| format!("location {location}: {why}"))?;
        let tried = told["tried"].as_array().map_or(0, Vec::len);
        let outcome = if dry_run { "would run" } else { "runs" };
        say(format_args!("location {location} {outcome} {version}: {tried} calls tried"));
    }
    Ok(())
}

async fn roll_back(server: &ServerArguments, locations: &[u32]) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    for location in locations {
        let request = session.post(&format!("/locations/{location}/adapter/rollback"));
        let told = answer(request).await.map_err(|why| format!("location {location}: {why}"))?;
        say(format_args!("location {location} runs {}", told["sha256"].as_str().unwrap_or("configured")));
    }
    Ok(())
}
