//! `locations`, `queue`, `sync`: how a running server stands, and what an operator does about it.

use std::process::ExitCode;

use actix_web::rt::System;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::{
    server::{Server, Session, answer, text},
    table::Table,
};
use crate::terminal::{fail, say};

/// Writes shown of each location and status.
const SHOWN: u64 = 100;

#[derive(Args)]
pub(super) struct Locations {
    /// Only those that do not read or do not write.
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
        /// Only those that stand so; without it all but those that are done.
        #[arg(long)]
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

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Status {
    Queued,
    Sending,
    Parked,
    Failed,
    #[value(name = "timed_out")]
    TimedOut,
    Done,
}

impl Status {
    const OPEN: [Status; 5] = [Status::Parked, Status::Sending, Status::Queued, Status::Failed, Status::TimedOut];

    fn name(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Sending => "sending",
            Status::Parked => "parked",
            Status::Failed => "failed",
            Status::TimedOut => "timed_out",
            Status::Done => "done",
        }
    }
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
    let mut table = Table::new(&["ID", "NAME", "INSTITUTION", "READING", "WRITING", "WAITING", "PROBLEM"]);
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
                        "id": location["id"], "name": location["name"], "subdomain": subdomain,
                        "read_status": source["read_status"], "write_status": source["write_status"],
                        "writes_waiting": state["writes_waiting"],
                        "read_problem": state["read_problem"], "write_problem": state["write_problem"],
                    }));
                    continue;
                }
                let (id, waiting) = (location["id"].to_string(), state["writes_waiting"].to_string());
                let [read, write] = ["read_status", "write_status"].map(|name| text(&source[name]));
                table.row(&[&id, text(&location["name"]), subdomain, read, write, &waiting, problem.unwrap_or("")]);
            }
        }
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
    let wanted = status.as_ref().map_or(Status::OPEN.as_slice(), std::slice::from_ref);
    let open = |location: &&(u64, &Value, &str)| location.1["inactive"] != true;
    for (id, _, subdomain) in places.all().collect::<Vec<_>>().iter().filter(open) {
        if only.is_some_and(|only| only != *id) {
            continue;
        }
        for status in wanted {
            let path = format!(
                "/write_requests?subdomain={subdomain}&location_id={id}&status={}&per_page={SHOWN}",
                status.name()
            );
            let writes = answer(places.session.get(&path)).await?;
            let writes = writes.as_array().map_or(&[][..], Vec::as_slice);
            for write in writes {
                if as_json {
                    say(write);
                    continue;
                }
                let record = format!("{} {}", text(&write["resource"]), write["record_id"]);
                let [id, status, operation, queued, reason] =
                    ["id", "status", "operation", "queued_at", "reason"].map(|name| text(&write[name]));
                table.row(&[id, status, &record, operation, &write["attempts"].to_string(), queued, reason]);
            }
            if !as_json && writes.len() as u64 == SHOWN {
                table.row(&["...", status.name(), "", "", "", "", "the newest are shown"]);
            }
        }
    }
    table.show(as_json);
    Ok(())
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
