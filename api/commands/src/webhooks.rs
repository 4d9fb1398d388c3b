//! `webhooks list`, `deliveries`, `redeliver`, `redeliver-failed`, `test`: the webhook endpoints of a running server
//! and their deliveries.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use endpoints::resources::{
    operators::operator_actions::{REDELIVER, REDELIVER_FAILED, TEST_WEBHOOK},
    webhook::webhook_deliveries::DeliveryStatus,
};
use framework::values::words::WireEnum;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    operate::perform,
    server::{self, ListArguments, ServerArguments, text},
    table::show_list,
    word::word,
};

/// Maximum number of deliveries shown.
const SHOWN: usize = 100;

#[derive(Subcommand)]
pub enum WebhooksCommand {
    /// Show the webhook endpoints of all organisations, failing ones first.
    List(ListArguments),
    /// Show the newest deliveries of an endpoint, including pending ones.
    Deliveries {
        /// Id of the endpoint.
        endpoint: u32,
        /// Only deliveries with this status.
        #[arg(long, value_parser = word::<DeliveryStatus>())]
        status: Option<DeliveryStatus>,
        #[command(flatten)]
        list: ListArguments,
    },
    #[command(name = REDELIVER.subcommand(), about = REDELIVER.help())]
    Redeliver {
        /// Id of the endpoint.
        endpoint: u32,
        /// Ids of deliveries.
        #[arg(required = true)]
        deliveries: Vec<Uuid>,
        #[command(flatten)]
        server: ServerArguments,
    },
    #[command(name = REDELIVER_FAILED.subcommand(), about = REDELIVER_FAILED.help())]
    RedeliverFailed(Endpoints),
    #[command(name = TEST_WEBHOOK.subcommand(), about = TEST_WEBHOOK.help())]
    Test(Endpoints),
}

#[derive(Args)]
pub struct Endpoints {
    /// Ids of endpoints.
    #[arg(required = true)]
    endpoints: Vec<u32>,
    #[command(flatten)]
    server: ServerArguments,
}

pub fn run(command: WebhooksCommand) -> ExitCode {
    server::run(async {
        match command {
            WebhooksCommand::List(list) => {
                let heads = ["ID", "STATUS", "ORGANISATION", "WAITING", "DROPPED", "FAILING SINCE", "URL"];
                let fields = [
                    "id", "status", "organisation", "waiting_deliveries", "dropped_events", "failing_since",
                    "target_url",
                ];
                show_list(&list, "/webhooks", None, &heads, &fields).await
            }
            WebhooksCommand::Deliveries { endpoint, status, list } => {
                let only = status.map_or_else(String::new, |status| format!("&status={}", status.word()));
                let path = format!("/webhooks/{endpoint}/deliveries?per_page={SHOWN}{only}");
                let heads = ["ID", "STATUS", "EVENT", "MADE", "TRIES", "CODE", "REASON"];
                let fields =
                    ["id", "status", "event_name", "created_at", "attempts", "response_code", "failure_reason"];
                show_list(&list, &path, Some(SHOWN), &heads, &fields).await
            }
            WebhooksCommand::Redeliver { endpoint, deliveries, server } => {
                let line = |sent: &Value| format!(" {}", text(&sent["status"]));
                perform(&server, &REDELIVER, Some(endpoint), &deliveries, &json!({}), line).await
            }
            WebhooksCommand::RedeliverFailed(Endpoints { endpoints, server }) => {
                perform(&server, &REDELIVER_FAILED, None, &endpoints, &json!({}), |replayed| {
                    let full = if replayed["next_since"].is_null() { "" } else { "; the queue is full, repeat later" };
                    format!(": messages sent again: {}{full}", replayed["deliveries"])
                })
                .await
            }
            WebhooksCommand::Test(Endpoints { endpoints, server }) => {
                let line = |sent: &Value| format!(": test message {} {}", text(&sent["id"]), text(&sent["status"]));
                perform(&server, &TEST_WEBHOOK, None, &endpoints, &json!({}), line).await
            }
        }
    })
}
