//! `workstations list`, `code`, `revoke`: the workstations of a running server.

use std::process::ExitCode;

use actix_web::rt::System;
use clap::Subcommand;
use serde_json::json;
use uuid::Uuid;

use super::{
    server::{ServerArguments, ServerSession, answer, text},
    table::TextTable,
};
use crate::terminal::{fail, say};

#[derive(Subcommand)]
pub(super) enum WorkstationsCommand {
    /// Show the workstations that are paired with a location.
    List {
        /// Id of the location.
        location: u32,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Create a code that pairs workstations with a location. It is shown once.
    Code {
        /// Id of the location.
        location: u32,
        /// Maximum number of workstations that can pair with the code. More than one creates a long code for a
        /// roll-out.
        #[arg(long, default_value_t = 1)]
        uses: u32,
        /// Validity of a roll-out code, in hours.
        #[arg(long, value_name = "HOURS", requires = "uses")]
        expires_in_hours: Option<u32>,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Remove workstations. They must be paired again before they can connect.
    Revoke {
        /// Id of the location.
        location: u32,
        /// Ids of workstations.
        #[arg(required = true)]
        workstations: Vec<Uuid>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

pub(super) fn run(command: WorkstationsCommand) -> ExitCode {
    let done = System::new().block_on(async {
        match command {
            WorkstationsCommand::List { location, json, server } => list(&server, location, json).await,
            WorkstationsCommand::Code { location, uses, expires_in_hours, server } => {
                code(&server, location, uses, expires_in_hours).await
            }
            WorkstationsCommand::Revoke { location, workstations, server } => {
                revoke(&server, location, &workstations).await
            }
        }
    });
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

async fn list(server: &ServerArguments, location: u32, as_json: bool) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let all = answer(session.get(&format!("/locations/{location}/workstations"))).await?;
    let mut table = TextTable::new(&["ID", "NAME", "PAIRED", "LAST SEEN", "CONNECTED"]);
    for it in all.as_array().into_iter().flatten() {
        if as_json {
            say(it);
            continue;
        }
        let [id, name, paired, seen] = ["id", "name", "paired_at", "last_seen_at"].map(|field| text(&it[field]));
        table.row(&[id, name, paired, seen, if it["connected"] == true { "yes" } else { "no" }]);
    }
    table.show(as_json);
    Ok(())
}

async fn code(server: &ServerArguments, location: u32, uses: u32, hours: Option<u32>) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let mut body = json!({});
    if uses > 1 || hours.is_some() {
        body = json!({"uses": uses});
        hours.iter().for_each(|hours| body["expires_in_hours"] = (*hours).into());
    }
    let request = session.post(&format!("/locations/{location}/pairing_codes"));
    let made = answer(request.header("Content-Type", "application/json").body(body.to_string())).await?;
    say(text(&made["code"]));
    say(format_args!(
        "# Pairs {} with location {location} until {}; shown only once.",
        if uses == 1 { "a workstation".to_owned() } else { format!("{uses} workstations") },
        text(&made["expires_at"])
    ));
    Ok(())
}

async fn revoke(server: &ServerArguments, location: u32, workstations: &[Uuid]) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    for id in workstations {
        let path = format!("/locations/{location}/workstations/{id}");
        answer(session.delete(&path)).await.map_err(|why| format!("{id}: {why}"))?;
        say(format_args!("{id} is removed"));
    }
    Ok(())
}
