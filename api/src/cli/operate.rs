//! `locations`, `queue`, `sync`: how a running server stands, and what an operator does about it.

use std::process::ExitCode;

use actix_web::rt::System;
use clap::{Args, Subcommand};
use engine::write_requests::Status;
use serde_json::{Value, json};

use super::{
    server::{Server, Session, answer, text},
    table::Table,
    word::word,
};
use crate::{
    terminal::{fail, say},
    values::words::Words,
};

/// Writes shown of each location.
const SHOWN: u64 = 100;

#[derive(Args)]
pub(super) struct Locations {
    /// Only open ones that do not read or do not write.
    #[arg(long)]
    red: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

#[derive(Subcommand)]
pub(super) enum Queue {
    /// Show writes to health record systems that wait or have failed.
    List {
        /// Only of this location.
        #[arg(long, value_name = "ID")]
        location: Option<u64>,
        /// Those that stand so, also those that were retried or dropped; without it all that wait or need somebody.
        #[arg(long, value_parser = word::<Status>())]
        status: Option<Status>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Try failed writes again.
    Retry {
        /// Ids such as 101-8.
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Give up writes that wait or have failed, and what rests on them.
    Drop {
        /// Ids such as 101-8.
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Args)]
pub(super) struct Sync {
    /// Ids of locations: each is read now, and what waits to be written is tried at once.
    #[arg(required = true)]
    locations: Vec<u64>,
    #[command(flatten)]
    server: Server,
}

fn done(result: Result<(), String>) -> ExitCode {
    result.map_or_else(fail, |()| ExitCode::SUCCESS)
}

pub(super) fn locations(asked: &Locations) -> ExitCode {
    done(System::new().block_on(show_locations(asked)))
}

pub(super) fn queue(asked: &Queue) -> ExitCode {
    done(System::new().block_on(async {
        match asked {
            Queue::List { location, status, json, server } => list(server, *location, *status, *json).await,
            Queue::Retry { ids, server } => each(server, ids, "retry").await,
            Queue::Drop { ids, server } => each(server, ids, "drop").await,
        }
    }))
}

pub(super) fn sync(asked: &Sync) -> ExitCode {
    done(System::new().block_on(async {
        let places = Places::of(&asked.server).await?;
        for id in &asked.locations {
            let path = format!("/locations/{id}/sync?subdomain={}", places.subdomain(*id)?);
            answer(places.session.post(&path)).await.map_err(|why| format!("location {id}: {why}"))?;
            say(format_args!("location {id} is read now"));
        }
        Ok(())
    }))
}

/// The locations of a server.
struct Places {
    session: Session,
    institutions: Vec<Value>,
}

impl Places {
    async fn of(server: &Server) -> Result<Places, String> {
        let session = Session::begin(server)?;
        let mut me = answer(session.get("/operator")).await?;
        let institutions = me["institutions"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(Places { session, institutions })
    }

    /// Each location with the subdomain of its institution.
    fn all(&self) -> impl Iterator<Item = (u64, &Value, &str)> {
        self.institutions.iter().flat_map(|institution| {
            let locations = institution["locations"].as_array().into_iter().flatten();
            locations.map(|it| (it["id"].as_u64().unwrap_or(0), it, text(&institution["subdomain"])))
        })
    }

    fn subdomain(&self, location: u64) -> Result<&str, String> {
        let found = self.all().find(|(id, ..)| *id == location);
        found.map(|(_, _, subdomain)| subdomain).ok_or(format!("the server has no location {location}"))
    }
}

async fn show_locations(asked: &Locations) -> Result<(), String> {
    let places = Places::of(&asked.server).await?;
    let mut table = Table::new(&["ID", "NAME", "INSTITUTION", "STATUS", "READING", "WRITING", "WAITING", "PROBLEM"]);
    for institution in &places.institutions {
        let subdomain = text(&institution["subdomain"]);
        let sources = answer(places.session.get(&format!("/sync_status?subdomain={subdomain}"))).await?;
        for source in sources.as_array().into_iter().flatten() {
            let red = ["read_status", "write_status"].iter().any(|name| source[name] == "red");
            for location in source["locations"].as_array().into_iter().flatten().filter(|_| red || !asked.red) {
                let state =
                    answer(places.session.get(&format!("/locations/{}/sync?subdomain={subdomain}", location["id"])));
                let state = state.await?;
                let problem = ["read_problem", "write_problem"].iter().find_map(|name| state[name].as_str());
                if asked.json {
                    say(json!({
                        "id": location["id"], "name": location["name"], "subdomain": subdomain, "status": "active",
                        "read_status": source["read_status"], "write_status": source["write_status"],
                        "writes_waiting": state["writes_waiting"],
                        "read_problem": state["read_problem"], "write_problem": state["write_problem"],
                    }));
                    continue;
                }
                let (id, waiting) = (location["id"].to_string(), state["writes_waiting"].to_string());
                let [read, write] = ["read_status", "write_status"].map(|name| text(&source[name]));
                let name = text(&location["name"]);
                table.row(&[&id, name, subdomain, "active", read, write, &waiting, problem.unwrap_or("")]);
            }
        }
    }
    // Nothing is read or written there.
    for (id, location, subdomain) in
        places.all().filter(|(_, location, _)| location["status"] != "active" && !asked.red)
    {
        let (name, status) = (text(&location["name"]), text(&location["status"]));
        if asked.json {
            say(json!({"id": id, "name": name, "subdomain": subdomain, "status": status}));
            continue;
        }
        table.row(&[&id.to_string(), name, subdomain, status, "", "", "", ""]);
    }
    table.show(asked.json);
    Ok(())
}

async fn list(server: &Server, only: Option<u64>, status: Option<Status>, as_json: bool) -> Result<(), String> {
    let places = Places::of(server).await?;
    if let Some(location) = only {
        places.subdomain(location)?;
    }
    let mut table = Table::new(&["ID", "STATUS", "RECORD", "OPERATION", "TRIES", "QUEUED", "REASON"]);
    let wanted = status.map_or_else(|| "open=true".to_owned(), |status| format!("status={}", status.word()));
    let asked =
        |(id, location, _): &(u64, &Value, &str)| location["status"] == "active" && only.is_none_or(|only| only == *id);
    for (id, _, subdomain) in places.all().filter(asked) {
        let path = format!("/write_requests?subdomain={subdomain}&location_id={id}&{wanted}&per_page={SHOWN}");
        let writes = answer(places.session.get(&path)).await?;
        let writes = writes.as_array().map_or(&[][..], Vec::as_slice);
        for write in writes {
            if as_json {
                say(write);
                continue;
            }
            let record = format!("{} {}", text(&write["resource"]), write["record_id"]);
            let [id, status, operation, queued] =
                ["id", "status", "operation", "queued_at"].map(|name| text(&write[name]));
            table.row(&[id, status, &record, operation, &write["attempts"].to_string(), queued, &reason(write)]);
        }
        if !as_json && writes.len() as u64 == SHOWN {
            table.row(&["...", "", "", "", "", "", &format!("the newest of location {id} are shown")]);
        }
    }
    table.show(as_json);
    Ok(())
}

/// Why it stands so, and what an operator has done about it.
fn reason(write: &Value) -> String {
    let retried = write["retried_as"].as_str().map(|id| format!("retried as {id}"));
    let dropped = (write["dropped"] == true).then(|| "dropped".to_owned());
    let said = write["reason"].as_str().map(str::to_owned);
    [said, retried, dropped].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

async fn each(server: &Server, ids: &[String], what: &str) -> Result<(), String> {
    let places = Places::of(server).await?;
    for id in ids {
        let location = id.split_once('-').and_then(|(location, _)| location.parse().ok());
        let location: u64 = location.ok_or(format!("`{id}` is no id of a write: those look like 101-8"))?;
        let subdomain = places.subdomain(location)?;
        let path = format!("/write_requests/{id}/{what}?subdomain={subdomain}&location_id={location}");
        let write = answer(places.session.post(&path)).await.map_err(|why| format!("{id}: {why}"))?;
        say(format_args!("{} {}", text(&write["id"]), text(&write["status"])));
    }
    Ok(())
}
