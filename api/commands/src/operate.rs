//! `locations`, `queue`, `errors`, `sync`, `pause`, `resume` and `accept-deletions`: the state of a running server, and
//! operators' actions.

use std::{fmt::Display, process::ExitCode};

use clap::{Args, Subcommand};
use endpoints::resources::operators::operator_actions::{ACCEPT_DELETIONS, Action, DROP, RETRY, SYNC};
use engine::{adapter_host::plain, write_requests::Status};
use framework::values::words::WireEnum;
use serde_json::{Value, json};

use crate::{
    server::{self, ListArguments, ServerArguments, ServerSession, answer, elements, text},
    table::{TextTable, show_list},
    terminal::print_line,
    word::word,
};

/// Maximum number of writes shown per location.
const SHOWN: usize = 100;
/// Maximum number of bytes of a reason in one line. `errors` and `--json` show the whole reason of an EHR.
const REASON: usize = 200;

#[derive(Args)]
pub struct LocationsArguments {
    /// Only active locations with read or write status `red`.
    #[arg(long)]
    red: bool,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Subcommand)]
pub enum QueueCommand {
    /// Show pending and failed writes to EHRs.
    List {
        /// Only writes of this location.
        #[arg(long, value_name = "ID")]
        location: Option<u64>,
        /// Only writes with this status, including retried and dropped ones. Default: pending writes and failures that
        /// need attention.
        #[arg(long, value_parser = word::<Status>())]
        status: Option<Status>,
        #[command(flatten)]
        list: ListArguments,
    },
    #[command(name = RETRY.subcommand(), about = RETRY.help())]
    Retry(Writes),
    #[command(name = DROP.subcommand(), about = DROP.help())]
    Drop(Writes),
}

#[derive(Args)]
pub struct Writes {
    /// Ids of writes, such as 101-8.
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    server: ServerArguments,
}

#[derive(Args)]
pub struct Locations {
    /// Ids of locations.
    #[arg(required = true)]
    pub locations: Vec<u64>,
    #[command(flatten)]
    pub server: ServerArguments,
}

#[derive(Args)]
pub struct Pause {
    #[command(flatten)]
    at: Locations,
    /// Only pause or resume reading.
    #[arg(long, conflicts_with = "writing")]
    reading: bool,
    /// Only pause or resume writing.
    #[arg(long)]
    writing: bool,
}

#[derive(Args)]
pub struct AcceptDeletions {
    /// Id of the location.
    location: u64,
    /// The resource, such as `patients`.
    resource: String,
    #[command(flatten)]
    server: ServerArguments,
}

#[derive(Args)]
pub struct Errors {
    /// Id of the location.
    location: u64,
    #[command(flatten)]
    list: ListArguments,
}

pub fn locations(arguments: &LocationsArguments) -> ExitCode {
    server::run(show_locations(arguments))
}

pub fn queue(arguments: &QueueCommand) -> ExitCode {
    server::run(async {
        match arguments {
            QueueCommand::List { location, status, list } => {
                list_writes(&ServerLocations::connect(&list.server).await?, list.json, *location, *status).await
            }
            QueueCommand::Retry(Writes { ids, server }) => {
                let line = |write: &Value| format!(" retried as {}, {}", text(&write["id"]), text(&write["status"]));
                perform(server, &RETRY, None, ids, &json!({}), line).await
            }
            QueueCommand::Drop(Writes { ids, server }) => {
                perform(server, &DROP, None, ids, &json!({}), |_| " dropped".to_owned()).await
            }
        }
    })
}

pub fn sync(arguments: &Locations) -> ExitCode {
    let line = |_: &Value| " is read now".to_owned();
    server::run(perform(&arguments.server, &SYNC, None, &arguments.locations, &json!({}), line))
}

pub fn pause(arguments: &Pause, action: &Action) -> ExitCode {
    let Pause { at: Locations { locations, server }, reading, writing } = arguments;
    let (body, what) = match (*reading, *writing) {
        (true, _) => (json!({"reading": true}), "reading"),
        (_, true) => (json!({"writing": true}), "writing"),
        _ => (json!({}), "reading and writing"),
    };
    let line = |_: &Value| format!(": {what} is {}d", action.name);
    server::run(perform(server, action, None, locations, &body, line))
}

pub fn accept_deletions(arguments: &AcceptDeletions) -> ExitCode {
    let AcceptDeletions { location, resource, server } = arguments;
    let line = |_: &Value| format!(": deletions of {resource} are accepted; a full pass begins");
    let body = json!({"resource": resource});
    server::run(perform(server, &ACCEPT_DELETIONS, None, &[*location], &body, line))
}

pub fn errors(arguments: &Errors) -> ExitCode {
    let heads = ["LAST", "TIMES", "PART", "RESOURCE", "WRITE", "REQUEST", "REASON"];
    let fields = ["at", "times", "part", "resource", "write_request_id", "request_id", "reason"];
    server::run(show_list(&arguments.list, &format!("/locations/{}/errors", arguments.location), None, &heads, &fields))
}

/// A location, as reported by the server.
pub(super) struct LocationState {
    id: u64,
    name: String,
    subdomain: String,
    /// `active`, `pending` or `closed`.
    status: String,
    /// `None` for an inactive location.
    read_status: Option<String>,
    write_status: Option<String>,
    /// The response of `GET /locations/{id}/sync`.
    sync: Value,
    /// The location of the same data source that reports the problem, if this location reports none.
    see: Option<u64>,
}

impl LocationState {
    pub(super) fn is_active(&self) -> bool {
        self.status == "active"
    }

    fn is_red(&self) -> bool {
        [&self.read_status, &self.write_status].iter().any(|status| status.as_deref() == Some("red"))
    }

    fn problems(&self) -> &[Value] {
        self.sync["problems"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the first problem as one line, or a reference to the location that reports it.
    fn problem(&self) -> String {
        match (self.problems().first(), self.see) {
            (Some(problem), _) => describe_problem(problem),
            (None, Some(other)) => format!("see {other}"),
            (None, None) => String::new(),
        }
    }

    /// Returns the problems and failed writes that need an operator, one line each.
    pub(super) fn problem_lines(&self) -> Vec<String> {
        let place = format!("{} {}", self.id, self.name);
        let mut lines: Vec<String> =
            self.problems().iter().map(|it| format!("{place}: {}", describe_problem(it))).collect();
        let failed = self.sync["writes_failed"].as_u64().unwrap_or(0);
        if failed > 0 {
            lines.push(format!("{place}: {failed} failed writes; practice-sync queue list --location {}", self.id));
        }
        lines
    }
}

/// Formats a problem as one line: `not reading patients: the EHR refused the connection (EHR at 127.0.0.1:8090)`.
fn describe_problem(problem: &Value) -> String {
    let reason = text(&problem["reason"]);
    // The reason of stopped deletions names their resources.
    let resource = problem["resource"].as_str().filter(|resource| !reason.starts_with(*resource));
    let resource = resource.map_or_else(String::new, |resource| format!(" {resource}"));
    let address = problem["address"].as_str().map_or_else(String::new, |address| format!(" (EHR at {address})"));
    format!("not {}{resource}: {}{address}", text(&problem["direction"]), plain(reason, REASON))
}

pub(super) struct ServerLocations {
    session: ServerSession,
    institutions: Vec<Value>,
}

impl ServerLocations {
    pub(super) async fn connect(server: &ServerArguments) -> Result<ServerLocations, String> {
        ServerLocations::at(ServerSession::begin(server)?).await
    }

    pub(crate) async fn at(session: ServerSession) -> Result<ServerLocations, String> {
        let mut me = answer(session.get("/operator")).await?;
        let institutions = me["institutions"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(ServerLocations { session, institutions })
    }

    /// Returns the active locations, grouped by data source, then the inactive ones.
    pub(crate) async fn states(&self) -> Result<Vec<LocationState>, String> {
        let mut states = Vec::new();
        for institution in &self.institutions {
            let subdomain = text(&institution["subdomain"]);
            let sources = answer(self.session.get(&format!("/sync_status?subdomain={subdomain}"))).await?;
            for source in sources.as_array().into_iter().flatten() {
                let mut of_source = Vec::new();
                for location in source["locations"].as_array().into_iter().flatten() {
                    of_source.push(self.state(location, subdomain, Some(source)).await?);
                }
                let with_problem = of_source.iter().find(|it| !it.problems().is_empty()).map(|it| it.id);
                for state in of_source.iter_mut().filter(|it| it.is_red() && it.problems().is_empty()) {
                    state.see = with_problem;
                }
                states.extend(of_source);
            }
        }
        for (_, location, subdomain) in self.all().filter(|(_, location, _)| location["status"] != "active") {
            states.push(self.state(location, subdomain, None).await?);
        }
        Ok(states)
    }

    /// Returns the state of a location. `source` is the status of the data source of an active location.
    async fn state(&self, location: &Value, subdomain: &str, source: Option<&Value>) -> Result<LocationState, String> {
        let path = format!("/locations/{}/sync?subdomain={subdomain}", location["id"]);
        let color = |field: &str| source.map(|source| text(&source[field]).to_owned());
        Ok(LocationState {
            id: location["id"].as_u64().unwrap_or(0),
            name: text(&location["name"]).to_owned(),
            subdomain: subdomain.to_owned(),
            status: source.map_or(text(&location["status"]), |_| "active").to_owned(),
            read_status: color("read_status"),
            write_status: color("write_status"),
            sync: answer(self.session.get(&path)).await?,
            see: None,
        })
    }

    /// Returns webhook endpoints whose last message was not delivered, one line each.
    pub(super) async fn failing_webhooks(&self) -> Result<Vec<String>, String> {
        let all = answer(self.session.get("/webhooks")).await?;
        let failing = all.as_array().into_iter().flatten().filter(|it| it["failing_since"].is_string());
        let line = |it: &Value| {
            let [url, since, status] = ["target_url", "failing_since", "status"].map(|name| text(&it[name]));
            let id = &it["id"];
            format!("endpoint {id} ({url}) fails since {since}, {status}; practice-sync webhooks deliveries {id}")
        };
        Ok(failing.map(line).collect())
    }

    /// Calls the route of an action. `ids` replace the parameters of its path, in order.
    pub(super) async fn perform(&self, action: &Action, ids: &[String], body: &Value) -> Result<Value, String> {
        let first = ids.first().map_or("", String::as_str);
        let query = match action.input {
            ["endpoint", ..] => String::new(),
            ["write"] => {
                let location = first.split_once('-').and_then(|(location, _)| location.parse().ok());
                let location: u64 = location.ok_or(format!("`{first}` is no id of a write: those look like 101-8"))?;
                format!("?subdomain={}&location_id={location}", self.subdomain(location)?)
            }
            _ => format!("?subdomain={}", self.subdomain(first.parse().unwrap_or_default())?),
        };
        let mut ids = ids.iter();
        let parts = action.path.split('/').map(|part| match part.starts_with('{') {
            true => ids.next().map_or("", String::as_str),
            false => part,
        });
        let path = format!("{}{query}", parts.collect::<Vec<_>>().join("/"));
        answer(if action.method == "DELETE" { self.session.delete(&path) } else { self.session.post_json(&path, body) })
            .await
    }

    /// Returns each location with the subdomain of its institution.
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

async fn show_locations(arguments: &LocationsArguments) -> Result<(), String> {
    let places = ServerLocations::connect(&arguments.list.server).await?;
    let heads = ["ID", "NAME", "INSTITUTION", "STATUS", "READING", "WRITING", "WAITING", "FAILED", "PROBLEM"];
    let mut table = TextTable::new(&heads, arguments.list.json);
    let states = places.states().await?;
    let mut steps = Vec::new();
    for state in states.iter().filter(|state| state.is_red() || !arguments.red) {
        let LocationState { id, name, subdomain, status, read_status, write_status, sync, see } = state;
        let object = json!({
            "id": id, "name": name, "subdomain": subdomain, "status": status,
            "read_status": read_status, "write_status": write_status,
            "writes_waiting": sync["writes_waiting"], "writes_failed": sync["writes_failed"],
            "read_problem": sync["read_problem"], "write_problem": sync["write_problem"],
            "problems": sync["problems"], "see_location": see,
        });
        let [waiting, failed] = ["writes_waiting", "writes_failed"].map(|field| sync[field].to_string());
        let (id, problem) = (id.to_string(), state.problem());
        let [reading, writing] = [read_status, write_status].map(|it| it.as_deref().unwrap_or_default());
        let cells: [&str; 9] = [&id, name, subdomain, status, reading, writing, &waiting, &failed, &problem];
        table.add(&object, &cells);
        for problem in state.problems() {
            let (step, runbook) = (text(&problem["next_step"]), text(&problem["runbook"]));
            steps.push(format!("{id}: {step} {}{runbook}", places.session.server));
        }
    }
    table.show();
    if !arguments.list.json {
        let failed: u64 = states.iter().filter_map(|state| state.sync["writes_failed"].as_u64()).sum();
        if failed > 0 {
            steps.push(format!("failed writes: {failed}; practice-sync queue list"));
        }
        steps.extend(places.failing_webhooks().await?.into_iter().map(|line| format!("webhooks: {line}")));
        steps.iter().for_each(print_line);
    }
    Ok(())
}

async fn list_writes(
    places: &ServerLocations,
    as_json: bool,
    only: Option<u64>,
    status: Option<Status>,
) -> Result<(), String> {
    if let Some(location) = only {
        places.subdomain(location)?;
    }
    let heads = ["ID", "STATUS", "RECORD", "OPERATION", "TRIES", "QUEUED", "REASON"];
    let mut table = TextTable::new(&heads, as_json);
    let wanted = status.map_or_else(|| "open=true".to_owned(), |status| format!("status={}", status.word()));
    let mut failures = Vec::new();
    for (id, _, subdomain) in places.all().filter(|(id, ..)| only.is_none_or(|only| only == *id)) {
        let path = format!("/write_requests?subdomain={subdomain}&location_id={id}&{wanted}&per_page={SHOWN}");
        let writes = match elements(&places.session, &path, SHOWN).await {
            // A location with a failure (5xx), such as damaged records, must not hide the writes of the others.
            Err(why) if why.starts_with('5') => {
                failures.push(format!("location {id}: {why}"));
                continue;
            }
            writes => writes?,
        };
        for write in &writes {
            let record = format!("{} {}", text(&write["resource"]), write["record_id"]);
            let [id, status, operation, queued] =
                ["id", "status", "operation", "queued_at"].map(|name| text(&write[name]));
            let (tries, reason) = (write["attempts"].to_string(), reason(write));
            table.add(write, &[id, status, &record, operation, &tries, queued, &reason]);
        }
        if writes.len() == SHOWN {
            table.row(&["...", "", "", "", "", "", &format!("only the newest writes of location {id} are shown")]);
        }
    }
    table.show();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Returns the reason for the status, and the operator's action on the write.
fn reason(write: &Value) -> String {
    let retried = write["retried_as"].as_str().map(|id| format!("retried as {id}"));
    let dropped = (write["dropped"] == true).then(|| "dropped".to_owned());
    let reason = write["reason"].as_str().map(str::to_owned);
    [reason, retried, dropped].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Performs an action for one target after another, until one fails. `within` is the id of the path before that of the
/// target. Prints for each the target and the `line` about the answer.
pub(super) async fn perform<T: Display>(
    server: &ServerArguments,
    action: &Action,
    within: Option<u32>,
    targets: &[T],
    body: &Value,
    line: impl Fn(&Value) -> String,
) -> Result<(), String> {
    let places = ServerLocations::connect(server).await?;
    let kind = match action.input {
        ["write"] | [_, "workstation" | "delivery"] => "",
        ["endpoint"] => "endpoint ",
        _ => "location ",
    };
    for target in targets {
        let ids: Vec<String> = within.iter().map(u32::to_string).chain([target.to_string()]).collect();
        let done = places.perform(action, &ids, body).await.map_err(|why| format!("{kind}{target}: {why}"))?;
        print_line(format_args!("{kind}{target}{}", line(&done)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use actix_web::{App, HttpRequest, HttpResponse, HttpServer, http::StatusCode, rt::System, web};

    use super::*;

    /// Responds like a server that cannot read the first location, and refuses the token from the second one on.
    async fn respond(request: HttpRequest) -> HttpResponse {
        let (status, body) = match (request.path(), request.query_string()) {
            ("/operator", _) => {
                let locations = json!([{"id": 1}, {"id": 2}, {"id": 3}]);
                let institutions = json!([{"subdomain": "acme", "locations": locations}]);
                (StatusCode::OK, json!({"data": {"institutions": institutions}}))
            }
            (_, query) if query.contains("location_id=1&") => {
                (StatusCode::SERVICE_UNAVAILABLE, json!({"error": ["Stored records are damaged."]}))
            }
            (_, query) if query.contains("location_id=2&") => {
                (StatusCode::UNAUTHORIZED, json!({"error": ["The token was revoked."]}))
            }
            (_, query) => panic!("{query}"),
        };
        HttpResponse::build(status).body(body.to_string())
    }

    #[test]
    fn a_list_of_writes_continues_after_a_damaged_location_and_ends_when_the_token_is_refused() {
        let listed = System::new().block_on(async {
            let server = HttpServer::new(|| App::new().default_service(web::to(respond))).workers(1);
            let server = server.disable_signals().bind("127.0.0.1:0").expect("a port");
            let session = ServerSession::with_token(&format!("http://{}", server.addrs()[0]), String::new());
            let server = server.run();
            let handle = server.handle();
            actix_web::rt::spawn(server);
            let places = ServerLocations::at(session.expect("a session")).await.expect("the locations");
            let listed = list_writes(&places, false, None, None).await;
            handle.stop(false).await;
            listed
        });
        assert_eq!(listed, Err("401 The token was revoked.".to_owned()));
    }

    #[test]
    fn a_problem_names_its_resource_once_and_cuts_a_long_reason() {
        let problem = |reason: &str| {
            describe_problem(
                &json!({"direction": "reading", "resource": "patients", "reason": reason, "address": "h:80"}),
            )
        };
        assert_eq!(problem("it is down"), "not reading patients: it is down (EHR at h:80)");
        assert_eq!(problem("patients: 9 deleted"), "not reading: patients: 9 deleted (EHR at h:80)");
        let long = problem(&"down ".repeat(100));
        assert!(long.len() < 260 && long.ends_with(" ... (EHR at h:80)"), "{long}");
    }
}
