//! `doctor`: checks a configuration and this machine for problems that stop a server, or will do so later. With an
//! operator's token it also asks the running server for red locations, failed writes and failing webhooks.

use std::{
    fmt::Display,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use actix_web::rt::System;
use clap::Args;
use configuration::Config;
use engine::setup::StoreEngine;
use framework::values::{role::Role, secret::Secret, words::WireEnum};
use serde::Serialize;

use crate::{
    config::refused_adapters,
    operate::ServerLocations,
    server::{ServerSession, readiness},
    table::TextTable,
    terminal::print_line,
};

#[derive(Args)]
pub struct Doctor {
    /// The configuration: a file, or a folder of files.
    #[arg(long, value_name = "CONFIG")]
    config: PathBuf,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    Good,
    /// The server works, but an operator should look at the finding.
    Warning,
    /// The server does not work, or loses data.
    Bad,
}

#[derive(Serialize)]
struct DoctorFinding {
    #[serde(rename = "what")]
    subject: &'static str,
    #[serde(rename = "standing")]
    severity: Severity,
    #[serde(rename = "says")]
    message: String,
}

#[derive(Default)]
struct Findings(Vec<DoctorFinding>);

impl Findings {
    fn add(&mut self, subject: &'static str, severity: Severity, message: impl Display) {
        self.0.push(DoctorFinding { subject, severity, message: message.to_string() });
    }
}

/// Number of open files of a process in addition to its connections.
const OTHER_FILES: usize = 500;

/// Runs all checks. The exit code is 0 without findings, 1 with warnings and 2 with errors.
pub fn run(arguments: &Doctor) -> ExitCode {
    let mut findings = Findings::default();
    match Config::load(&arguments.config) {
        Ok(config) => {
            let counts = (config.setup.institutions.len(), config.setup.locations.len(), config.access.keys.len());
            let message = format!("{} institutions, {} locations, {} API keys", counts.0, counts.1, counts.2);
            findings.add("configuration", Severity::Good, message);
            adapters(&config, &mut findings);
            operators(&config, &mut findings);
            data(&config, &mut findings);
            backups(&config, &mut findings);
            files(&config, &mut findings);
            edge(&config, &mut findings);
            System::new().block_on(server(&config, &mut findings));
        }
        Err(error) => error.problems.iter().for_each(|problem| findings.add("configuration", Severity::Bad, problem)),
    }
    let mut table = TextTable::new(&["CHECK", "", "DETAILS"], arguments.json);
    for DoctorFinding { subject, severity, message } in &findings.0 {
        let severity = match severity {
            Severity::Good => "good",
            Severity::Warning => "warning",
            Severity::Bad => "BAD",
        };
        table.row(&[subject, severity, message]);
    }
    findings.0.iter().filter(|_| arguments.json).filter_map(|it| serde_json::to_string(it).ok()).for_each(print_line);
    table.show();
    match findings.0.iter().map(|it| it.severity).max() {
        Some(Severity::Bad) => ExitCode::from(2),
        Some(Severity::Warning) => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}

fn adapters(config: &Config, findings: &mut Findings) {
    let refused = refused_adapters(config);
    for (name, reason) in &refused {
        findings.add("adapters", Severity::Bad, format_args!("{name}: {reason}"));
    }
    if refused.is_empty() {
        findings.add("adapters", Severity::Good, format_args!("{} can be used", config.setup.engine.adapters.len()));
    }
}

fn operators(config: &Config, findings: &mut Findings) {
    let of = |role| config.access.operators.iter().filter(|operator| operator.role == role).count();
    let message = Role::ALL.iter().map(|role| format!("{} {}", of(*role), role.word())).collect::<Vec<_>>().join(", ");
    match config.access.operators.is_empty() {
        true => findings.add(
            "operators",
            Severity::Warning,
            "no operator has a token; create one with `practice-sync operators add`",
        ),
        false => findings.add("operators", Severity::Good, message),
    }
    warn_if_world_readable("keys", &config.keys_file, findings);
}

/// Warns about a file that every user can read. Its secrets give the permissions of the server.
fn warn_if_world_readable(subject: &'static str, path: &Path, findings: &mut Findings) {
    let Ok(meta) = fs::metadata(path) else { return };
    if meta.permissions().mode() & 0o007 != 0 {
        let message = format!("{} is readable by every user of this machine; run chmod o= on it", path.display());
        findings.add(subject, Severity::Warning, message);
    }
}

fn data(config: &Config, findings: &mut Findings) {
    let dir = &config.data_dir;
    if !dir.exists() {
        findings.add("data", Severity::Good, format_args!("{} is made at the first start", dir.display()));
        return;
    }
    let [made, store, key] = ["store.made", "store", "store.key"].map(|name| dir.join(name));
    let embedded = config.setup.engine.store_engine != StoreEngine::Postgres;
    if made.exists() && !key.exists() {
        let message = format!("{} is missing: without it the store cannot be read; restore it", key.display());
        findings.add("data", Severity::Bad, message);
    }
    if made.exists() && embedded && !store.exists() {
        findings.add("data", Severity::Bad, format_args!("{} is gone: mount or restore it", store.display()));
    }
    let rules = &config.setup.engine;
    if let Some(free) = engine::store::free_bytes(dir).ok().filter(|_| embedded) {
        let mib = |bytes: u64| bytes >> 20;
        let message = format!("{} MiB free at {}", mib(free), dir.display());
        let severity = match free {
            free if free < rules.store_floor_bytes => Severity::Bad,
            free if free < rules.pull_floor_bytes => Severity::Warning,
            _ => Severity::Good,
        };
        findings.add("disk", severity, message);
    }
    ["store.key", "token.secret", "audit.key"]
        .iter()
        .for_each(|name| warn_if_world_readable("data", &dir.join(name), findings));
}

fn backups(config: &Config, findings: &mut Findings) {
    let Some(rules) = &config.setup.engine.backup else {
        if config.setup.engine.store_engine != StoreEngine::Postgres {
            findings.add("backups", Severity::Warning, "no backups are configured; set a folder in [backup]");
        }
        return;
    };
    let files = match engine::backup_files(&rules.folder) {
        Ok(files) => files,
        Err(error) => {
            findings.add("backups", Severity::Bad, format_args!("{}: {error}", rules.folder.display()));
            return;
        }
    };
    let age = files.first().map(|newest| engine::clock::now().0.saturating_sub(newest.made_at.0));
    let age = age.map(|age| Duration::from_millis(age.unsigned_abs()));
    match (age, rules.every) {
        (None, _) => findings.add("backups", Severity::Warning, "no backup exists yet"),
        (Some(age), Some(every)) if age > every * 2 => {
            findings.add("backups", Severity::Warning, format_args!("the newest is {} hours old", age.as_secs() / 3600))
        }
        (Some(age), _) => {
            findings.add("backups", Severity::Good, format_args!("the newest is {} hours old", age.as_secs() / 3600))
        }
    }
}

/// Checks the file limit of this shell. A service may have another limit, set by its systemd unit.
fn files(config: &Config, findings: &mut Findings) {
    let needed = config.http.max_connections + OTHER_FILES;
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let Some(may) = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok()) else { return };
    if may < needed {
        let message = format!(
            "the limit is {may}, but `max_connections` needs {needed}: raise `ulimit -n` or LimitNOFILE, or lower `max_connections`"
        );
        findings.add("open files", Severity::Warning, message);
    } else {
        findings.add("open files", Severity::Good, format_args!("{may} may be open"));
    }
}

fn edge(config: &Config, findings: &mut Findings) {
    let operators = config.http.operators.listen.ip();
    if !operators.is_loopback() {
        let message = format!("operators' calls are served at {operators}: only their own network should reach it");
        findings.add("operators", Severity::Warning, message);
    }
}

/// Checks the running server of this configuration, if there is one.
async fn server(config: &Config, findings: &mut Findings) {
    let scheme = if config.http.operators.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", config.http.operators.listen);
    let Some((ready, body)) = readiness(&url).await else {
        findings.add("server", Severity::Warning, format_args!("no server responds at {url}"));
        return;
    };
    match is_of_configuration(config, body["instance"].as_str()) {
        Ok(true) => {}
        Ok(false) => {
            let message = format!("a server answers at {url}, and it is not the one of this configuration");
            findings.add("server", Severity::Bad, message);
            return;
        }
        Err(why) => {
            let message = format!("cannot determine whether the server at {url} uses this configuration: {why}");
            findings.add("server", Severity::Warning, message);
        }
    }
    if !ready {
        findings.add("server", Severity::Bad, body["reason"].as_str().unwrap_or("not ready"));
        return;
    }
    for (field, severity) in [("adapters_refused", Severity::Bad), ("adapters_preparing", Severity::Warning)] {
        if let Some(value) = body.get(field) {
            findings.add("server", severity, format_args!("{field}: {value}"));
        }
    }
    findings.add("server", Severity::Good, "ready");
    match ServerSession::at(&url) {
        Some(session) => {
            if let Err(why) = work(session, findings).await {
                findings.add("locations", Severity::Warning, format_args!("the server could not be asked: {why}"));
            }
        }
        None => {
            let message = "skipped: PRACTICE_SYNC_TOKEN is not set to an operator's token";
            findings.add("locations", Severity::Good, message);
        }
    }
}

/// Returns `true` if the responding server has this configuration's data directory, or its `token_secret`.
fn is_of_configuration(config: &Config, instance: Option<&str>) -> Result<bool, String> {
    let secret = match &config.secret {
        Some(secret) => Some(secret.clone()),
        None => Secret::peek(&config.data_dir).map_err(|error| error.to_string())?,
    };
    Ok(secret.is_some_and(|secret| Some(secret.instance().as_str()) == instance))
}

/// Reports problems of locations, failed writes and failing webhooks of the running server.
async fn work(session: Result<ServerSession, String>, findings: &mut Findings) -> Result<(), String> {
    let places = ServerLocations::at(session?).await?;
    let (states, webhooks) = (places.states(false).await?, places.failing_webhooks().await?);
    let problem_lines: Vec<String> = states.iter().flat_map(|state| state.problem_lines()).collect();
    if problem_lines.is_empty() {
        let active = states.iter().filter(|state| state.is_active()).count();
        findings.add("locations", Severity::Good, format_args!("{active} locations work; no failed writes"));
    }
    problem_lines.iter().for_each(|line| findings.add("locations", Severity::Warning, line));
    if webhooks.is_empty() {
        findings.add("webhooks", Severity::Good, "no endpoint fails");
    }
    webhooks.iter().for_each(|webhook| findings.add("webhooks", Severity::Warning, webhook));
    Ok(())
}
