//! `adapter upload`, `versions`, `rollout` and `rollback`: adapter versions of a running server.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Subcommand;
use endpoints::resources::operators::operator_actions::{ROLL_BACK, ROLL_OUT};
use serde_json::{Value, json};

use crate::{
    operate::{Locations, perform},
    server::{self, ListArguments, ServerArguments, ServerSession, answer, text},
    terminal::print_line,
};

#[derive(Subcommand)]
pub enum RemoteCommand {
    /// Upload a component as a new adapter version to a running server. No location uses it until it is rolled out.
    Upload {
        /// The name of the adapter in the server's configuration.
        name: String,
        file: PathBuf,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the adapters of a running server, their versions, and the version of each location.
    Versions(ListArguments),
    #[command(name = ROLL_OUT.subcommand(), about = ROLL_OUT.help())]
    Rollout {
        /// SHA-256 of an uploaded version, or `configured` for the version of the configuration.
        version: String,
        /// Ids of locations. The version is rolled out at one after another, until one fails.
        #[arg(required = true)]
        locations: Vec<u32>,
        /// Only test the version.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    #[command(name = ROLL_BACK.subcommand(), about = ROLL_BACK.help())]
    Rollback(Locations),
}

pub(super) fn run(command: RemoteCommand) -> ExitCode {
    server::run(async {
        match command {
            RemoteCommand::Upload { name, file, server } => upload(&server, &name, &file).await,
            RemoteCommand::Versions(list) => versions(&list).await,
            RemoteCommand::Rollout { version, locations, dry_run, server } => {
                let body = json!({"version": version, "dry_run": dry_run});
                let outcome = if dry_run { "would run" } else { "runs" };
                perform(&server, &ROLL_OUT, None, &locations, &body, |answer| {
                    let tried = answer["tried"].as_array().map_or(0, Vec::len);
                    format!(" {outcome} {version}: {tried} calls tried")
                })
                .await
            }
            RemoteCommand::Rollback(Locations { locations, server }) => {
                let line = |now: &Value| format!(" runs {}", now["sha256"].as_str().unwrap_or("configured"));
                perform(&server, &ROLL_BACK, None, &locations, &json!({}), line).await
            }
        }
    })
}

async fn upload(server: &ServerArguments, name: &str, file: &PathBuf) -> Result<(), String> {
    let component = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let session = ServerSession::begin(server)?;
    let path = format!("/adapters/{name}/versions");
    let request = session.post(&path).header("Content-Type", "application/wasm").body(component);
    let version = answer(request).await?;
    print_line(format_args!("{} {}  {}", text(&version["name"]), text(&version["version"]), text(&version["sha256"])));
    Ok(())
}

async fn versions(ListArguments { json, server }: &ListArguments) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let adapters = answer(session.get("/adapters")).await?;
    for adapter in adapters.as_array().into_iter().flatten() {
        if *json {
            print_line(adapter);
            continue;
        }
        let configured = &adapter["configured"];
        let known = |name| if configured[name].is_null() { "-" } else { text(&configured[name]) };
        print_line(format_args!(
            "{}  configured {} {}  {}",
            text(&configured["name"]),
            known("version"),
            known("sha256"),
            known("status")
        ));
        for version in adapter["versions"].as_array().into_iter().flatten() {
            let [number, sha256, at] = ["version", "sha256", "uploaded_at"].map(|name| text(&version[name]));
            print_line(format_args!("  version {number} {sha256}  uploaded {at}"));
        }
        for location in adapter["locations"].as_array().into_iter().flatten() {
            let runs = location["sha256"].as_str().unwrap_or("configured");
            print_line(format_args!("  location {} {runs}", location["location_id"]));
        }
    }
    Ok(())
}
