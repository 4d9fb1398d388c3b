//! `workstations list`, `code`, `revoke`: the workstations of a running server.

use std::process::ExitCode;

use clap::Subcommand;
use endpoints::resources::operators::operator_actions::{PAIR, REVOKE};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    operate::{ServerLocations, perform},
    server::{self, ListArguments, ServerArguments, text},
    table::show_list,
    terminal::print_line,
};

#[derive(Subcommand)]
pub enum WorkstationsCommand {
    /// Show the workstations that are paired with a location.
    List {
        /// Id of the location.
        location: u32,
        #[command(flatten)]
        list: ListArguments,
    },
    #[command(name = PAIR.subcommand(), about = PAIR.help())]
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
    #[command(name = REVOKE.subcommand(), about = REVOKE.help())]
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

pub fn run(command: WorkstationsCommand) -> ExitCode {
    server::run(async {
        match command {
            WorkstationsCommand::List { location, list } => {
                let heads = ["ID", "NAME", "PAIRED", "LAST SEEN", "CONNECTED"];
                let fields = ["id", "name", "paired_at", "last_seen_at", "connected"];
                show_list(&list, &format!("/locations/{location}/workstations"), None, &heads, &fields).await
            }
            WorkstationsCommand::Code { location, uses, expires_in_hours, server } => {
                code(&server, location, uses, expires_in_hours).await
            }
            WorkstationsCommand::Revoke { location, workstations, server } => {
                let line = |_: &Value| " is removed".to_owned();
                perform(&server, &REVOKE, Some(location), &workstations, &json!({}), line).await
            }
        }
    })
}

async fn code(server: &ServerArguments, location: u32, uses: u32, hours: Option<u32>) -> Result<(), String> {
    let mut body = json!({});
    if uses > 1 || hours.is_some() {
        body = json!({"uses": uses});
        hours.iter().for_each(|hours| body["expires_in_hours"] = (*hours).into());
    }
    let made = ServerLocations::connect(server).await?.perform(&PAIR, &[location.to_string()], &body).await?;
    print_line(text(&made["code"]));
    print_line(format_args!(
        "# Pairs {} with location {location} until {}; shown only once.",
        if uses == 1 { "a workstation".to_owned() } else { format!("{uses} workstations") },
        text(&made["expires_at"])
    ));
    Ok(())
}
