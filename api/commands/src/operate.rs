//! `locations`, `queue`, `errors`, `sync`, `pause`, `resume` and `accept-deletions`: the state of a running server, and
//! operators' actions.

use std::{collections::BTreeMap, fmt::Display, process::ExitCode};

use clap::{Args, Subcommand};
use endpoints::resources::operators::operator_actions::{ACCEPT_DELETIONS, Action, DROP, RETRY, SYNC};
use engine::{adapter_host::plain, write_requests::Status};
use framework::values::words::WireEnum;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use crate::{
    server::{self, ListArguments, ServerArguments, ServerSession, answer, elements, text},
    table::{TextTable, show_list},
    terminal::print_line,
    word::word,
};

/// Maximum number of writes shown per location.
const SHOWN: usize = 100;
/// Maximum number of concurrent requests about single locations. Over the limit per second, the server delays four
/// calls of a token and refuses more.
const CONCURRENT: usize = 4;
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
    /// The data source of an active location.
    source: Option<u64>,
    /// `None` for an inactive location.
    read_status: Option<&'static str>,
    write_status: Option<&'static str>,
    /// The row of `GET /fleet`, or the response of `GET /locations/{id}/sync` if the row has no status.
    sync: Value,
    /// The location of the same data source that reports the problem, if this location reports none.
    see: Option<u64>,
}

impl LocationState {
    pub(super) fn is_active(&self) -> bool {
        self.status == "active"
    }

    fn is_red(&self) -> bool {
        [self.read_status, self.write_status].contains(&Some("red"))
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

    /// Returns the rows of `GET /fleet` by location.
    async fn fleet(&self) -> Result<BTreeMap<u64, Value>, String> {
        let rows = elements(&self.session, "/fleet?per_page=1000", usize::MAX).await?;
        Ok(rows.into_iter().map(|row| (row["id"].as_u64().unwrap_or(0), row)).collect())
    }

    /// Returns the active locations, grouped by data source, then the inactive ones. An unknown status is requested
    /// from the location, which loads it. With `only_active`, inactive locations are not loaded for it.
    pub(crate) async fn states(&self, only_active: bool) -> Result<Vec<LocationState>, String> {
        let fleet = &self.fleet().await?;
        let requests = self.all().map(|(id, location, subdomain)| async move {
            let known = fleet.get(&id).cloned().unwrap_or_default();
            let is_active = location["status"] == "active";
            let path = format!("/locations/{id}/sync?subdomain={subdomain}");
            Ok::<_, String>(LocationState {
                id,
                name: text(&location["name"]).to_owned(),
                subdomain: subdomain.to_owned(),
                status: text(&location["status"]).to_owned(),
                source: known["sync_source_id"].as_u64().filter(|_| is_active),
                read_status: None,
                write_status: None,
                sync: match known["writes_waiting"].is_null() && (is_active || !only_active) {
                    true => answer(self.session.get(&path)).await?,
                    false => known,
                },
                see: None,
            })
        });
        let mut states: Vec<LocationState> = stream::iter(requests).buffered(CONCURRENT).try_collect().await?;
        // Both sorts are stable, and each data source belongs to one institution.
        let institutions = states.chunk_by_mut(|a, b| a.subdomain == b.subdomain);
        institutions.for_each(|institution| institution.sort_by_key(|it| it.source));
        states.sort_by_key(|it| !it.is_active());
        for shared in states.chunk_by_mut(|a, b| a.source.is_some() && a.source == b.source) {
            let color = |field: &str| {
                if shared.iter().all(|it| it.sync[field].is_null()) { "green" } else { "red" }
            };
            let (read, write) = (color("read_problem"), color("write_problem"));
            let with_problem = shared.iter().find(|it| !it.problems().is_empty()).map(|it| it.id);
            for state in shared.iter_mut().filter(|it| it.is_active()) {
                (state.read_status, state.write_status) = (Some(read), Some(write));
                state.see = with_problem.filter(|_| state.is_red() && state.problems().is_empty());
            }
        }
        Ok(states)
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
    let states = places.states(arguments.red).await?;
    let mut steps = Vec::new();
    for state in states.iter().filter(|state| state.is_red() || !arguments.red) {
        let LocationState { id, name, subdomain, status, read_status, write_status, sync, see, .. } = state;
        let object = json!({
            "id": id, "name": name, "subdomain": subdomain, "status": status,
            "read_status": read_status, "write_status": write_status,
            "writes_waiting": sync["writes_waiting"], "writes_failed": sync["writes_failed"],
            "read_problem": sync["read_problem"], "write_problem": sync["write_problem"],
            "problems": sync["problems"], "see_location": see,
        });
        let [waiting, failed] = ["writes_waiting", "writes_failed"].map(|field| sync[field].to_string());
        let (id, problem) = (id.to_string(), state.problem());
        let [reading, writing] = [read_status, write_status].map(|it| it.unwrap_or_default());
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
    // The fleet does not count other writes than the open ones.
    let fleet = if only.is_none() && status.is_none() { places.fleet().await? } else { BTreeMap::new() };
    let has_writes = |id: u64| fleet.get(&id).is_none_or(may_have_open_writes);
    let asked = places.all().filter(|(id, ..)| only.map_or_else(|| has_writes(*id), |only| only == *id));
    let lists = asked.map(|(id, _, subdomain)| {
        let path = format!("/write_requests?subdomain={subdomain}&location_id={id}&{wanted}&per_page={SHOWN}");
        async move { (id, elements(&places.session, &path, SHOWN).await) }
    });
    let mut lists = stream::iter(lists).buffered(CONCURRENT);
    while let Some((id, writes)) = lists.next().await {
        let writes = match writes {
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

/// Returns `false` if a row of the fleet shows that a location has no open writes. A location whose writes cannot be
/// read has a problem with writing.
fn may_have_open_writes(row: &Value) -> bool {
    row["writes_waiting"] != 0 || row["writes_failed"] != 0 || !row["write_problem"].is_null()
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use actix_web::{App, HttpRequest, HttpResponse, HttpServer, http::StatusCode, rt::System, web};

    use super::*;

    type Respond = fn(&HttpRequest) -> (StatusCode, Value);

    /// Calls a server.
    fn call<T>(respond: Respond, calls: impl AsyncFnOnce(ServerLocations) -> T) -> T {
        System::new().block_on(async {
            let answer = move |request: HttpRequest| async move {
                let (status, body) = respond(&request);
                HttpResponse::build(status).body(body.to_string())
            };
            let server = HttpServer::new(move || App::new().default_service(web::to(answer))).workers(1);
            let server = server.disable_signals().bind("127.0.0.1:0").expect("a port");
            let session = ServerSession::with_token(&format!("http://{}", server.addrs()[0]), String::new());
            let server = server.run();
            let handle = server.handle();
            actix_web::rt::spawn(server);
            let places = ServerLocations::at(session.expect("a session")).await.expect("the locations");
            let done = calls(places).await;
            handle.stop(false).await;
            done
        })
    }

    /// Responds like a server that cannot read the first location, refuses the token from the second one on, and knows
    /// that the third one has no writes.
    fn respond(request: &HttpRequest) -> (StatusCode, Value) {
        match (request.path(), request.query_string()) {
            ("/operator", _) => {
                let locations = json!([{"id": 1}, {"id": 2}, {"id": 3}]);
                let institutions = json!([{"subdomain": "acme", "locations": locations}]);
                (StatusCode::OK, json!({"data": {"institutions": institutions}}))
            }
            ("/fleet", _) => {
                let known = json!({"id": 3, "writes_waiting": 0, "writes_failed": 0, "write_problem": null});
                let waits = json!({"id": 2, "writes_waiting": 1, "writes_failed": 0, "write_problem": null});
                let unknown = json!({"id": 1, "writes_waiting": null, "writes_failed": 0, "write_problem": null});
                (StatusCode::OK, json!({"data": [unknown, waits, known]}))
            }
            (_, query) if query.contains("location_id=1&") => {
                (StatusCode::SERVICE_UNAVAILABLE, json!({"error": ["Stored records are damaged."]}))
            }
            (_, query) if query.contains("location_id=2&") => {
                (StatusCode::UNAUTHORIZED, json!({"error": ["The token was revoked."]}))
            }
            (_, query) => panic!("{query}"),
        }
    }

    #[test]
    fn a_list_of_writes_continues_after_a_damaged_location_and_ends_when_the_token_is_refused() {
        let listed = call(respond, async |places| list_writes(&places, false, None, None).await);
        assert_eq!(listed, Err("401 The token was revoked.".to_owned()));
    }

    static REQUESTS: AtomicUsize = AtomicUsize::new(0);

    /// Responds like a server with 200 locations. 7 and 9 have the same data source. The status of 30 and 200 is not
    /// known.
    fn respond_with_fleet(request: &HttpRequest) -> (StatusCode, Value) {
        REQUESTS.fetch_add(1, Ordering::SeqCst);
        let problems = |of: &str, reason: &Value| match reason {
            Value::Null => json!([]),
            reason => json!([{"direction": of, "reason": reason}]),
        };
        let status = |id: u64| if id == 200 { "closed" } else { "active" };
        let data = match request.path() {
            "/operator" => {
                let location = |id| json!({"id": id, "name": "", "status": status(id)});
                let locations: Vec<Value> = (1..=200).map(location).collect();
                json!({"institutions": [{"subdomain": "acme", "locations": locations}]})
            }
            "/fleet" => {
                let row = |id: u64| {
                    let read = if [7, 20].contains(&id) { json!("it is down") } else { Value::Null };
                    let waiting = if [30, 200].contains(&id) { Value::Null } else { json!(0) };
                    let source = if [7, 9].contains(&id) { 1 } else { 1_000 + id };
                    json!({
                        "id": id, "sync_source_id": source, "read_problem": read, "write_problem": null,
                        "problems": problems("reading", &read), "writes_waiting": waiting, "writes_failed": 0,
                    })
                };
                (1..=200).map(row).collect()
            }
            "/locations/30/sync" => {
                let write = json!("it is stuck");
                json!({"read_problem": null, "write_problem": write, "problems": problems("writing", &write)})
            }
            "/locations/200/sync" => json!({"read_problem": null, "write_problem": null, "problems": []}),
            other => panic!("{other}"),
        };
        (StatusCode::OK, json!({"data": data}))
    }

    #[test]
    fn only_locations_with_an_unknown_status_are_asked_for_it() {
        call(respond_with_fleet, async |places| {
            let requests = || REQUESTS.swap(0, Ordering::SeqCst);
            assert_eq!(requests(), 1);
            let active = places.states(true).await.expect("the states");
            assert_eq!(requests(), 2, "the fleet and location 30");
            let shown: Vec<_> = active.iter().map(|it| (it.id, it.read_status, it.write_status)).take(3).collect();
            let (green, red) = (Some("green"), Some("red"));
            assert_eq!(shown, [(7, red, green), (9, red, green), (1, green, green)]);
            let red: Vec<_> = active.iter().filter(|it| it.is_red()).map(|it| (it.id, it.problem())).collect();
            let texts = ["not reading: it is down", "see 7", "not reading: it is down", "not writing: it is stuck"];
            assert_eq!(red, [7, 9, 20, 30].into_iter().zip(texts.map(str::to_owned)).collect::<Vec<_>>());
            let all = places.states(false).await.expect("the states");
            assert_eq!((requests(), all.len()), (3, 200), "the fleet and locations 30 and 200");
            assert_eq!(all.last().map(|it| (it.id, it.read_status)), Some((200, None)));
        });
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
