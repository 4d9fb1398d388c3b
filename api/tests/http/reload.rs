//! Reload of changed files at run time. Responses read under earlier rights are never sent.

use std::{fs, future::Future, path::Path, sync::Arc, task::Poll, time::Duration};

use actix_web::web::Data;
use api::{reload::Reload, server};
use configuration::Config;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts, simulated::NoSimulatedEhrs, store::memory::MemoryStore};
use framework::{
    access::{api::Api, keys::hash, reloads::ReloadOutcome},
    values::secret::Secret,
};
use location::ids::LocationId;
use tempfile::TempDir;
use testing::until;

use crate::support::*;

const LIST: &str = "/patients?subdomain=acme&location_id=1";

/// Server settings in one file, an institution in another.
const SERVER: &str = "[http]\nlisten = \"127.0.0.1:0\"\n[rate_limits]\nper_second = 0\nper_minute = 0\n";
const ACME: &str = "[institution]\nid = 1\nsubdomain = \"acme\"\nname = \"Acme\"\nenvironment = \"sandbox\"\n\
                    [[locations]]\nid = 1\nname = \"Main\"\nzone = \"America/New_York\"\n\
                    [[locations]]\nid = 2\nname = \"Second\"\nzone = \"America/New_York\"\n";

fn key(name: &str, more: &str) -> String {
    let hash = hex::encode(hash(name));
    format!(
        "[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n{more}\n"
    )
}

const TRAIL: [u8; 32] = [3; 32];

/// A server configured by a folder of files.
struct Served {
    world: ApiWorld,
    reload: Reload,
    dir: TempDir,
    trail: TempDir,
}

impl Served {
    async fn start() -> Served {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("institutions")).unwrap();
        write(dir.path(), "practice-sync.toml", SERVER);
        write(dir.path(), "institutions/acme.toml", ACME);
        write(dir.path(), "keys.toml", &(key(ACME_KEY, "") + &key(MAIN_KEY, "locations = [1]")));
        let config = Config::load(dir.path()).unwrap();
        let store = Arc::new(MemoryStore::new());
        let parts = Parts::new(store.clone(), RecordViews::shared());
        let engine = Arc::new(Engine::start(config.setup.clone(), parts).await.unwrap());
        let secret = Secret::from_bytes([7; 32]);
        let trail = tempfile::tempdir().unwrap();
        let api = Api::new(engine.clone(), config.access.keys.clone(), &secret, config.http.clone());
        let api = api.with_audit(audit::Trail::open(trail.path(), &TRAIL, audit::Rules::default()).unwrap());
        let reload = Reload::new(dir.path(), &config, Arc::new(NoSimulatedEhrs));
        let world = ApiWorld { api: Data::new(api), engine, books: Arc::default(), store };
        Served { world, reload, dir, trail }
    }

    fn write(&self, file: &str, text: &str) {
        write(self.dir.path(), file, text);
    }

    async fn reload(&mut self) -> ReloadOutcome {
        self.reload.reload(&self.world.api, false).await
    }

    /// Returns the errors of a refused reload.
    async fn refused(&mut self) -> Vec<String> {
        let reloaded = self.reload().await;
        assert!(!reloaded.applied, "{reloaded:?}");
        let folder = format!("{}/", self.dir.path().display());
        reloaded.problems.iter().map(|problem| problem.replace(&folder, "")).collect()
    }
}

fn write(dir: &Path, file: &str, text: &str) {
    fs::write(dir.join(file), text).unwrap();
}

#[actix_web::test]
async fn a_key_is_revoked_despite_other_errors() {
    let main_only = key(MAIN_KEY, "locations = [1]");
    for (file, text) in [
        // Invalid TOML, an unknown setting, and a truncated institution.
        ("practice-sync.toml", "this is not"),
        ("practice-sync.toml", "[http]\nno_such_knob = 1\n"),
        ("institutions/acme.toml", &ACME[..ACME.len() / 2]),
    ] {
        let mut served = Served::start().await;
        let tokens = [ACME_KEY, MAIN_KEY].map(|key| served.world.token(key));
        served.write(file, text);
        served.write("keys.toml", &main_only);
        let problems = served.refused().await;
        assert!(problems[0].starts_with(file), "{problems:?}");
        served.world.get(LIST).with("Authorization", &tokens[0]).fails(401).await;
        served.world.get(LIST).with("Authorization", &tokens[1]).ok().await;
    }
}

#[actix_web::test]
async fn a_fault_in_one_key_does_not_block_the_revocation_of_others() {
    for fault in ["[[keys]]\nname = \"other\"\nsha256 = \n", "[[keys]\n", "[[keys]]\nname = 7\n", "[[operators]]\n"] {
        for keys in [fault.to_owned() + &key(MAIN_KEY, ""), key(MAIN_KEY, "") + fault] {
            let mut served = Served::start().await;
            served.world.get(LIST).ok().await;
            served.write("keys.toml", &keys);
            assert!(!served.refused().await.is_empty());
            served.world.get(LIST).fails(401).await;
            served.world.get(LIST).key(MAIN_KEY).ok().await;
        }
    }
}

#[actix_web::test]
async fn an_invalid_part_of_a_key_grants_nothing() {
    let mut served = Served::start().await;
    // Errors in the locations, the grants, or the key itself.
    served.write("keys.toml", &key(ACME_KEY, "locations = \"2\""));
    assert_eq!(served.refused().await, ["keys.toml:6: `locations` must be an array of ids"]);
    served.world.get(LIST).fails(401).await;
    served.write("keys.toml", &key(ACME_KEY, "locations = [2, 999]\ngrants = [\"bta\"]"));
    assert_eq!(served.refused().await.len(), 2);
    served.world.get(LIST).fails(404).await;
    served.world.get("/patients?subdomain=acme&location_id=2").ok().await;
    served.world.get("/locations").version("v3.1.0").fails(403).await;
    served.write("keys.toml", &key(ACME_KEY, "grants = [\"beta\"]"));
    assert_eq!(served.reload().await.changes, ["~ key key-acme changed"]);
    served.world.get("/locations").version("v3.1.0").ok().await;
}

#[actix_web::test]
async fn keys_stay_valid_if_the_file_is_unreadable() {
    let mut served = Served::start().await;
    fs::remove_file(served.dir.path().join("keys.toml")).unwrap();
    assert!(served.refused().await[0].starts_with("keys.toml: is gone"));
    served.world.get(LIST).ok().await;
    served.write("practice-sync.toml", "this is not");
    served.refused().await;
    served.world.get(LIST).ok().await;
    served.write("practice-sync.toml", SERVER);
    served.write("keys.toml", "");
    assert!(served.reload().await.applied);
    served.world.get(LIST).fails(401).await;
}

#[actix_web::test]
async fn settings_of_the_edge_change_while_the_server_runs() {
    let mut served = Served::start().await;
    let limits = async |served: &Served| served.world.get("/me").ok().await["data"]["limits"].clone();
    assert_eq!(limits(&served).await["calls_per_minute"], serde_json::Value::Null);
    let text = SERVER.replace("per_minute = 0", "per_minute = 500").replace(
        "[rate_limits]",
        "max_body = 2048\ntoken_sandbox = \"2h\"\ncors_origins = [\"https://app.example\"]\n[rate_limits]",
    );
    served.write("practice-sync.toml", &text);
    let reloaded = served.reload().await;
    assert!(reloaded.applied, "{reloaded:?}");
    assert_eq!(
        reloaded.changes,
        [
            "~ http.cors_origins unset -> [https://app.example]",
            "~ http.max_body 1048576 -> 2048",
            "~ http.token_sandbox 1d -> 2h",
            "~ rate_limits.per_minute 0 -> 500",
        ]
    );
    let now = limits(&served).await;
    assert_eq!(
        ["calls_per_minute", "max_body_bytes", "token_lifetime_seconds"].map(|name| now[name].as_u64()),
        [Some(500), Some(2048), Some(7200)]
    );
    let reply = served.world.get("/locations").with("Origin", "https://app.example").reply().await;
    assert_eq!(reply.header("Access-Control-Allow-Origin"), Some("https://app.example"));
    // Nothing has changed since.
    assert_eq!(served.reload().await, ReloadOutcome { applied: true, ..ReloadOutcome::default() });
}

#[actix_web::test]
async fn a_change_that_needs_a_restart_is_named_and_nothing_is_applied() {
    let mut served = Served::start().await;
    let text = SERVER.replace("per_minute = 0", "per_minute = 500").replace("127.0.0.1:0", "127.0.0.1:9");
    served.write("practice-sync.toml", &format!("data_dir = \"elsewhere\"\n{text}"));
    let reloaded = served.reload().await;
    assert_eq!((reloaded.applied, reloaded.problems), (false, vec![]));
    assert_eq!(reloaded.needs_restart, ["data_dir", "http.listen"]);
    assert!(reloaded.changes.contains(&"~ data_dir data -> elsewhere".to_owned()), "{:?}", reloaded.changes);
    let limits = served.world.get("/me").ok().await["data"]["limits"].clone();
    assert_eq!(limits["calls_per_minute"], serde_json::Value::Null);
    // The original file is already in force.
    served.write("practice-sync.toml", SERVER);
    assert_eq!(served.reload().await, ReloadOutcome { applied: true, ..ReloadOutcome::default() });
}

#[actix_web::test]
async fn locations_and_institutions_are_added_and_removed() {
    let mut served = Served::start().await;
    served.world.get(LIST).ok().await;
    let third = "/patients?subdomain=acme&location_id=3";
    served.world.get(third).fails(404).await;
    let more = format!(
        "{ACME}[[locations]]\nid = 3\nname = \"Harbour\"\nzone = \"UTC\"\n[locations.write]\nconcurrency = 4\n"
    );
    served.write("institutions/acme.toml", &more);
    let other = ACME.replace("acme", "other").replace("id = 1\n", "id = 11\n").replace("id = 2\n", "id = 12\n");
    served.write("institutions/other.toml", &other);
    let wide = key(ACME_KEY, "").replace("[\"acme\"]", "[\"acme\", \"other\"]");
    served.write("keys.toml", &wide);
    let reloaded = served.reload().await;
    assert!(reloaded.applied, "{reloaded:?}");
    let changes =
        ["+ institution 11 (Acme)", "+ location 3 (Harbour)", "+ location 11 (Main)", "+ location 12 (Second)"];
    assert_eq!(reloaded.changes[..4], changes);
    served.world.get(third).ok().await;
    served.world.get("/patients?subdomain=other&location_id=11").ok().await;
    // A location cannot move to another institution.
    served.write("institutions/acme.toml", ACME);
    served.write("institutions/other.toml", &(other + &more[ACME.len()..]));
    assert_eq!(served.reload().await.needs_restart, ["location 3 institution"]);
    served.world.get(third).ok().await;
    fs::remove_file(served.dir.path().join("institutions/other.toml")).unwrap();
    served.write("keys.toml", &key(ACME_KEY, ""));
    // A removal needs confirmation. The keys are applied all the same.
    let unconfirmed = served.reload().await;
    let gone = ["institution 11 (Acme)", "location 3 (Harbour)", "location 11 (Main)", "location 12 (Second)"];
    assert_eq!((unconfirmed.applied, &unconfirmed.removals[..]), (false, &gone.map(str::to_owned)[..]));
    served.world.get(third).ok().await;
    served.world.get("/patients?subdomain=other&location_id=11").fails(403).await;
    let confirmed = served.reload.reload(&served.world.api, true).await;
    assert!(confirmed.applied && confirmed.removals.is_empty(), "{confirmed:?}");
    served.world.get(third).fails(404).await;
    served.write("institutions/acme.toml", &ACME.replacen("zone", "status = \"closed\"\nzone", 1));
    assert_eq!(served.reload().await.changes, ["~ location 1 status unset -> closed"]);
    assert_eq!(served.world.get(LIST).fails(404).await, ["Location with id 1 not found"]);
    served.world.get("/patients?subdomain=acme&location_id=2").ok().await;
    served.write("institutions/acme.toml", ACME);
    assert!(served.reload().await.applied);
    served.world.get(LIST).ok().await;
}

#[actix_web::test]
async fn an_operator_is_revoked_as_a_key_is() {
    let mut served = Served::start().await;
    let operator = |name: &str| {
        let hash = hex::encode(hash(&format!("pso_{name}")));
        format!("[[operators]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"viewer\"\n")
    };
    let asks = |served: &Served, name: &str| {
        let token = format!("pso_{name}");
        served.world.api.operators().presented(&token).is_some()
    };
    served.write("keys.toml", &(operator("ada") + &operator("ben")));
    assert_eq!(served.reload().await.changes, ["- key key-acme", "- key key-main", "+ operator ada", "+ operator ben"]);
    assert!(asks(&served, "ada") && asks(&served, "ben"));
    served.write("practice-sync.toml", "this is not");
    served.write("keys.toml", &operator("ben").replace("viewer", "vewer"));
    served.refused().await;
    assert!(!asks(&served, "ada") && !asks(&served, "ben"));
}

#[actix_web::test]
async fn an_admin_has_the_configuration_read_and_its_files_are_watched() {
    let served = Served::start().await;
    let reload = |dry_run: bool| served.world.post("/configuration/reload", serde_json::json!({"dry_run": dry_run}));
    let api = served.world.api.clone();
    api.replace_operators(operators());
    reload(false).fails(422).await;
    served.reload.start(api.clone());
    reload(true).operator(OPERATOR).fails(403).await;
    let text = SERVER.replace("per_minute = 0", "per_minute = 500");
    let keys = key(ACME_KEY, "") + &key(MAIN_KEY, "locations = [1]");
    let admin =
        format!("[[operators]]\nname = \"admin\"\nsha256 = \"{}\"\nrole = \"admin\"\n", hex::encode(hash(ADMIN)));
    write(served.dir.path(), "keys.toml", &(keys.clone() + &admin));
    write(served.dir.path(), "practice-sync.toml", &text);
    let compared = reload(true).ok().await["data"].clone();
    assert_eq!(compared["applied"], false);
    assert_eq!(compared["changes"], serde_json::json!(["~ rate_limits.per_minute 0 -> 500", "+ operator admin"]));
    assert_eq!(api.edge().rules.rate_limits.per_minute, 0);
    assert_eq!(reload(false).ok().await["data"]["applied"], true);
    assert_eq!(api.edge().rules.rate_limits.per_minute, 500);
    write(served.dir.path(), "practice-sync.toml", "this is not");
    let refused = reload(false).ok().await["data"].clone();
    assert!(refused["problems"][0].as_str().unwrap().contains("practice-sync.toml:1: "), "{refused}");
    // The watcher reloads corrected files without a request.
    write(served.dir.path(), "practice-sync.toml", SERVER);
    write(served.dir.path(), "keys.toml", &keys);
    until("the files are read again", async || {
        api.operators().presented(ADMIN).is_none() && api.edge().rules.rate_limits.per_minute == 0
    })
    .await;
    let applied = "service reload configuration applied".to_owned();
    until("the reload is in the audit trail", async || reloads(&served.trail).contains(&applied)).await;
    let all = reloads(&served.trail);
    let (asked, files) = all.split_at(2);
    let wanted = [format!("{ADMIN} reload configuration 200"), "admin reload configuration 200".to_owned()];
    assert_eq!(asked, wanted, "each reload but the dry run, under the name of its time");
    assert!(files.iter().all(|line| line.starts_with("service reload ")), "{all:?}");
}

/// Returns the reloads and their operators from the audit trail.
fn reloads(trail: &TempDir) -> Vec<String> {
    let mut lines = Vec::new();
    audit::export(trail.path(), &TRAIL, audit::Filter::default(), &mut lines).unwrap();
    let entries =
        lines.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<audit::AuditEntry>(line).ok());
    let entries = entries.filter(|entry| entry.action.starts_with("reload"));
    let line = |entry: audit::AuditEntry| match entry.actor {
        audit::Actor::Operator(name) => format!("{name} {} {}", entry.action, entry.status),
        _ => format!("service {} {}", entry.action, entry.status),
    };
    entries.map(line).collect()
}

#[actix_web::test]
async fn a_dry_run_compares_a_copy_and_changes_nothing() {
    let served = Served::start().await;
    let api = served.world.api.clone();
    api.replace_operators(operators());
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("institutions")).unwrap();
    write(copy.path(), "practice-sync.toml", &SERVER.replace("per_minute = 0", "per_minute = 500"));
    let only_main = ACME.split("[[locations]]\nid = 2").next().unwrap();
    write(copy.path(), "institutions/acme.toml", only_main);
    write(copy.path(), "keys.toml", &(key(ACME_KEY, "") + &key(MAIN_KEY, "locations = [1]")));
    served.reload.start(api.clone());
    let compare = |body: serde_json::Value| served.world.post("/configuration/reload", body);
    let path = copy.path().to_str().unwrap();
    let compared = compare(serde_json::json!({"dry_run": true, "config": path})).ok().await["data"].clone();
    assert_eq!(compared["changes"], serde_json::json!(["~ rate_limits.per_minute 0 -> 500", "- location 2 (Second)"]));
    assert_eq!((&compared["applied"], &compared["removals"][0]), (&false.into(), &"location 2 (Second)".into()));
    assert_eq!(api.edge().rules.rate_limits.per_minute, 0);
    write(copy.path(), "practice-sync.toml", "this is not");
    let wrong = compare(serde_json::json!({"dry_run": true, "config": path})).ok().await["data"].clone();
    assert!(wrong["problems"][0].as_str().unwrap().contains(":1: "), "{wrong}");
    // Only the server's own files can be applied.
    compare(serde_json::json!({"config": path})).fails(422).await;
    compare(serde_json::json!({"dry_run": true, "config": "conf"})).fails(422).await;
}

#[actix_web::test]
async fn without_watch_files_are_read_only_when_asked() {
    let mut served = Served::start().await;
    let api = served.world.api.clone();
    served.write("practice-sync.toml", &format!("watch = false\n{SERVER}"));
    assert_eq!(served.reload().await.changes, ["~ watch true -> false"]);
    let dir = served.dir;
    served.reload.start(api.clone());
    api.replace_operators(operators());
    let changed = format!("watch = false\n{}", SERVER.replace("per_minute = 0", "per_minute = 500"));
    write(dir.path(), "practice-sync.toml", &changed);
    // Longer than two intervals of the watcher.
    actix_web::rt::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(api.edge().rules.rate_limits.per_minute, 0);
    served.world.post("/configuration/reload", serde_json::json!({})).ok().await;
    assert_eq!(api.edge().rules.rate_limits.per_minute, 500);
}

#[actix_web::test]
async fn credentials_are_never_shown() {
    let mut served = Served::start().await;
    served.write("practice-sync.toml", &format!("token_secret = \"{}\"\n{SERVER}", "5".repeat(64)));
    let reloaded = served.reload().await;
    assert_eq!(reloaded.changes, ["~ token_secret changed"]);
    assert_eq!(reloaded.needs_restart, ["token_secret"]);
    assert!(!format!("{reloaded:?}").contains("5555"));
}

/// Reloads valid, invalid and truncated files repeatedly while clients call. The rights of their key change, too.
#[actix_web::test]
async fn no_call_fails_while_the_configuration_is_reloaded() {
    const RELOADS: u32 = 120;
    /// A call in flight is repeated up to three times when rights change.
    const PAUSE: Duration = Duration::from_millis(50);
    engine::webhooks::egress::install_crypto();
    let mut served = Served::start().await;
    let listener = server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let (server, address) = server::start(served.world.api.clone(), listener).unwrap();
    let handle = server.handle();
    actix_web::rt::spawn(server);
    let (stop, token) = (Arc::new(std::sync::atomic::AtomicBool::new(false)), served.world.token(ACME_KEY));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (stop, token) = (stop.clone(), token.clone());
            actix_web::rt::spawn(async move {
                let client = reqwest::Client::builder().no_proxy().build().unwrap();
                let mut calls = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let call = client.get(format!("http://{address}{LIST}")).header("Svc-Api-Version", "v3.0.0");
                    let call = call.header("User-Agent", "test/1.0").header("Authorization", &token).send();
                    assert_eq!(call.await.unwrap().status(), 200);
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    for round in 0..RELOADS {
        let good = SERVER.replace("per_minute = 0", &format!("per_minute = {}", 1_000_000 + round));
        let grants = if round % 2 == 0 { "grants = [\"beta\"]" } else { "" };
        let keys = key(ACME_KEY, grants) + &key(&format!("key-{round}"), "");
        served.write("keys.toml", &keys);
        let before = served.world.api.edge().rules.rate_limits.per_minute;
        let (text, applied) = match round % 3 {
            0 => (good.clone(), true),
            1 => (format!("{good}[http]\n"), false),
            _ => (good[..good.len() / 2].to_owned() + "\nper_mi", false),
        };
        served.write("practice-sync.toml", &text);
        assert_eq!(served.reload().await.applied, applied, "{round}");
        let now = served.world.api.edge().rules.rate_limits.per_minute;
        assert_eq!(now, if applied { 1_000_000 + round } else { before });
        assert!(served.world.api.keys().presented(&format!("key-{round}")).is_some());
        actix_web::rt::time::sleep(PAUSE).await;
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.unwrap();
    }
    assert!(calls >= RELOADS, "{calls}");
    handle.stop(true).await;
}

#[actix_web::test]
async fn a_page_read_while_rights_change_is_not_sent() {
    let world = world().await;
    // The page is read on another thread. Repeats until one read is still in progress when it is polled.
    let mut asking = None;
    for per_page in 1..=50 {
        let mut asked = Box::pin(world.get(&format!("{LIST}&per_page={per_page}")).reply());
        let pending = std::future::poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_pending())).await;
        if pending {
            asking = Some(asked);
            break;
        }
    }
    let asking = asking.expect("reading holds up the thread that answers");
    let narrowed = keys()
        .into_iter()
        .map(|key| framework::access::keys::ApiKey { locations: Some(vec![LocationId(SECOND)]), ..key });
    world.api.replace_keys(narrowed.collect());
    assert_eq!(asking.await.status, 404);
}
