//! `webhooks list`, `deliveries`, `redeliver`: the webhook endpoints of a running server and their deliveries.

use std::process::ExitCode;

use actix_web::rt::System;
use clap::Subcommand;
use uuid::Uuid;

use super::{
    server::{ServerArguments, ServerSession, answer, text},
    table::TextTable,
    word::word,
};
use crate::{
    resources::webhook_deliveries::DeliveryStatus,
    terminal::{fail, say},
    values::words::WireEnum,
};

/// Maximum number of deliveries shown.
const SHOWN: usize = 100;

#[derive(Subcommand)]
pub(super) enum WebhooksCommand {
    /// Show the webhook endpoints of all organisations, failing ones first.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Show the newest deliveries of an endpoint, including pending ones.
    Deliveries {
        /// Id of the endpoint.
        endpoint: u32,
        /// Only deliveries with this status.
        #[arg(long, value_parser = word::<DeliveryStatus>())]
        status: Option<DeliveryStatus>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: ServerArguments,
    },
    /// Send deliveries again, with their original ids.
    Redeliver {
        /// Id of the endpoint.
        endpoint: u32,
        /// Ids of deliveries.
        #[arg(required = true)]
        deliveries: Vec<Uuid>,
        #[command(flatten)]
        server: ServerArguments,
    },
}

pub(super) fn run(command: WebhooksCommand) -> ExitCode {
    let done = System::new().block_on(async {
        match command {
            WebhooksCommand::List { json, server } => list(&server, json).await,
            WebhooksCommand::Deliveries { endpoint, status, json, server } => {
                deliveries(&server, endpoint, status, json).await
            }
            WebhooksCommand::Redeliver { endpoint, deliveries, server } => {
                redeliver(&server, endpoint, &deliveries).await
            }
        }
    });
    done.map_or_else(fail, |()| ExitCode::SUCCESS)
}

async fn list(server: &ServerArguments, as_json: bool) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let all = answer(session.get("/webhooks")).await?;
    let mut table = TextTable::new(&["ID", "STATUS", "ORGANISATION", "WAITING", "DROPPED", "FAILING SINCE", "URL"]);
    for it in all.as_array().into_iter().flatten() {
        if as_json {
            say(it);
            continue;
        }
        let [status, organisation, since, url] =
            ["status", "organisation", "failing_since", "target_url"].map(|field| text(&it[field]));
        let [id, waiting, dropped] = ["id", "waiting_deliveries", "dropped_events"].map(|field| it[field].to_string());
        table.row(&[&id, status, organisation, &waiting, &dropped, since, url]);
    }
    table.show(as_json);
    Ok(())
}

async fn deliveries(
    server: &ServerArguments,
    endpoint: u32,
    status: Option<DeliveryStatus>,
    as_json: bool,
) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let only = status.map_or_else(String::new, |status| format!("&status={}", status.word()));
    let all = answer(session.get(&format!("/webhooks/{endpoint}/deliveries?per_page={SHOWN}{only}"))).await?;
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    let mut table = TextTable::new(&["ID", "STATUS", "EVENT", "MADE", "TRIES", "CODE", "REASON"]);
    for it in all {
        if as_json {
            say(it);
            continue;
        }
        let [id, status, event, made, reason] =
            ["id", "status", "event_name", "created_at", "failure_reason"].map(|field| text(&it[field]));
        let code = it["response_code"].as_u64().map_or_else(String::new, |code| code.to_string());
        table.row(&[id, status, event, made, &it["attempts"].to_string(), &code, reason]);
    }
    if !as_json && all.len() == SHOWN {
        table.row(&["...", "", "", "", "", "", "the newest are shown"]);
    }
    table.show(as_json);
    Ok(())
}

async fn redeliver(server: &ServerArguments, endpoint: u32, deliveries: &[Uuid]) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    for id in deliveries {
        let path = format!("/webhooks/{endpoint}/deliveries/{id}/redeliver");
        let sent = answer(session.post(&path)).await.map_err(|why| format!("{id}: {why}"))?;
        say(format_args!("{id} {}", text(&sent["status"])));
    }
    Ok(())
}
