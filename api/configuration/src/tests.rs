//! Parsed configurations, and the problems reported for invalid ones.
#![allow(clippy::unwrap_used)]
mod files;
mod rules;
mod sharing;

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use engine::setup::{
    EngineRules, LocationStatus, StoreEngine, database::DatabaseTls, events::EventScheme, login::Login,
};
use framework::http::{compatibility::DEFAULT_AGENTS, rules::HttpRules};
use location::{
    ids::LocationId,
    settings::{ConflictRule, LocationSettings, VerifyOn},
    time::MINUTE,
};

use crate::{reference::default_file, *};

fn parse(text: &str) -> Result<Config, Vec<Problem>> {
    Config::parse(text, Path::new("/nowhere")).map_err(|error| error.problems)
}

/// Formats problems without the name of their file.
fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|it| format!("line {}: {}", it.line.unwrap_or(0), it.text)).collect()
}

fn problems(text: &str) -> Vec<String> {
    lines(&parse(text).err().unwrap_or_default())
}

/// Returns the problems of a key file for this configuration.
fn problems_of_keys(text: &str, keys: &str) -> Vec<String> {
    let setup = parse(text).unwrap().setup;
    lines(&KeyFileContents::parse(Path::new("/nowhere/keys.toml"), keys.to_owned(), &setup).1)
}

const PRACTICE: &str = r#"
[[institutions]]
id = 1
subdomain = "acme"
name = "Acme"
environment = "sandbox"
[[institutions.locations]]
id = 1
name = "Main"
zone = "America/New_York"
"#;

#[test]
fn the_default_file_is_valid_and_contains_the_defaults() {
    let printed = parse(&default_file()).unwrap();
    let empty = parse("").unwrap();
    assert_eq!(printed.http, empty.http);
    assert_eq!(printed.http, HttpRules::default());
    assert_eq!(format!("{:?}", printed.setup.engine), format!("{:?}", EngineRules::default()));
    assert_eq!((&printed.data_dir, &printed.log), (&empty.data_dir, &empty.log));
    // Settings of locations are recorded only where they are set, so they are compared in a location.
    let with_location = parse(&format!("{}{PRACTICE}", default_file())).unwrap();
    let location = &with_location.setup.locations[&LocationId(1)];
    assert_eq!(*location.settings, LocationSettings::default());
}

/// Every commented-out key is known at its place: with all of them active, only placeholder values are invalid.
#[test]
fn commented_out_keys_of_the_default_file_are_known() {
    let is_key = |line: &str| {
        let name = |key: &str| key.starts_with('"') || key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| name(key))
    };
    let filled_in = |line: &str| {
        let bare = line.trim_start_matches(['#', ' ']);
        if is_key(bare) { bare.to_owned() } else { line.to_owned() }
    };
    let printed = default_file();
    let all = printed.lines().map(filled_in).collect::<Vec<_>>().join("\n");
    let table: toml::Table = all.parse().unwrap();
    assert!(table["node"].get("listen").is_some() && table["backup"].get("keep").is_some(), "{all}");
    let institution = &table["institutions"][0];
    assert!(institution["sources"][0]["oauth"].get("client_id").is_some(), "{all}");
    assert!(institution["locations"][0].get("zone").is_some(), "{all}");
    let found = problems(&all);
    assert!(found.iter().any(|it| it.contains("`zone`")), "{found:?}");
    assert!(!found.iter().any(|it| it.contains("unknown key") || it.contains("is missing")), "{found:?}");
    let too_wide = printed.lines().find(|line| line.chars().count() > 122);
    assert_eq!(too_wide, None);
}

#[test]
fn operators_and_clients_need_different_addresses() {
    let at = |text: &str| parse(text).unwrap().http.operators.listen.to_string();
    assert_eq!(at("[operators]\nlisten = \"127.0.0.1:9081\""), "127.0.0.1:9081");
    assert_eq!(at(""), "127.0.0.1:8081");
    for (text, problem) in [
        ("[operators]\nlisten = \"127.0.0.1:8080\"", "another address"),
        ("[operators]\nlisten = \"8081\"", "such as 127.0.0.1:8081"),
    ] {
        let found = problems(text);
        assert!(found.iter().any(|it| it.contains(problem)), "{text}: {found:?}");
    }
}

#[test]
fn backups_need_a_folder_and_exclude_a_database() {
    let backup = parse("[backup]\nfolder = \"b\"\nevery = \"24h\"").unwrap().setup.engine.backup.unwrap();
    assert_eq!((backup.every, backup.keep), (Some(Duration::from_secs(24 * 3_600)), 7));
    assert_eq!(parse("[backup]\nfolder = \"b\"").unwrap().setup.engine.backup.unwrap().every, None);
    assert_eq!(parse("").unwrap().setup.engine.backup, None);
    let known = problems("[backup]\nno_such_key = 1");
    assert!(known.iter().any(|it| it.contains("known are: every, folder, keep")), "{known:?}");
    assert!(known.iter().any(|it| it.contains("`folder`")), "{known:?}");
    let found = problems("[engine]\nstore_engine = \"postgres\"\n[backup]\nfolder = \"b\"");
    assert!(found.iter().any(|it| it.contains("remove [backup]")), "{found:?}");
}

#[test]
fn a_node_needs_a_database_and_a_token_secret() {
    let node = || {
        let secret = "0".repeat(64);
        problems(&format!(
            "[node]\nname = \"a\"\naddress = \"http://10.0.0.5:8081\"\nlisten = \"10.0.0.5:8081\"\nsecret = \"{secret}\""
        ))
    };
    let found = node();
    assert!(found.iter().any(|it| it.contains("store_engine = \"postgres\"")), "{found:?}");
    assert!(found.iter().any(|it| it.contains("`token_secret`")), "{found:?}");
    let found = problems(
        "[node]\nname = \"a b\"\naddress = \"10.0.0.5:8081\"\nlisten = \"here\"\nsecret = \"short\"\nperiod = \"1s\"",
    );
    for key in ["name", "address", "listen", "secret", "period"] {
        assert!(found.iter().any(|it| it.contains(&format!("`{key}` must"))), "{key}: {found:?}");
    }
    let found = problems("[node]");
    for key in ["name", "address", "listen", "secret"] {
        assert!(found.iter().any(|it| it.contains(&format!("`{key}` is missing in [node]"))), "{key}: {found:?}");
    }
}

#[test]
fn location_settings_are_inherited() {
    let text = r#"
[defaults.booking]
hold = "3m"
alternatives = 2
[defaults.write]
concurrency = 4
[[institutions]]
id = 1
subdomain = "acme"
name = "Acme"
environment = "production"
[institutions.booking]
alternatives = 3
on_conflict = "move_operatory"
[[institutions.locations]]
id = 1
name = "One"
zone = "America/New_York"
[institutions.locations.booking]
alternatives = 4
[[institutions.locations]]
id = 2
name = "Two"
zone = "Europe/Berlin"
status = "pending"
[[institutions]]
id = 2
subdomain = "other"
name = "Other"
environment = "production"
[[institutions.locations]]
id = 3
name = "Three"
zone = "UTC"
"#;
    let config = parse(text).unwrap();
    let booking = |id| config.setup.locations[&LocationId(id)].settings.booking.limits;
    assert_eq!([1, 2, 3].map(|id| booking(id).alternatives), [4, 3, 2]);
    assert_eq!([1, 2, 3].map(|id| booking(id).hold), [3 * MINUTE; 3]);
    assert_eq!(booking(2).on_conflict, ConflictRule::MoveOperatory);
    assert_eq!(booking(3).on_conflict, ConflictRule::Fail);
    assert_eq!(config.setup.locations[&LocationId(3)].settings.write.concurrency, 4);
    assert_eq!(config.setup.locations[&LocationId(2)].status, LocationStatus::Pending);
}

#[test]
fn the_store_engine_is_configurable() {
    let chosen = |name: &str| parse(&format!("[engine]\nstore_engine = \"{name}\"\n{PRACTICE}"));
    assert_eq!(parse(PRACTICE).unwrap().setup.engine.store_engine, StoreEngine::Sled);
    assert_eq!(chosen("sled").unwrap().setup.engine.store_engine, StoreEngine::Sled);
    assert_eq!(chosen("fjall").unwrap().setup.engine.store_engine, StoreEngine::Fjall);
    let problem = chosen("rocks").err().unwrap().remove(0).to_string();
    assert!(problem.contains("store_engine") && problem.contains("\"sled\", \"fjall\" or \"postgres\""), "{problem}");
}

#[test]
fn a_store_in_a_database_needs_its_address() {
    let with =
        |database: &str| parse(&format!("[engine]\nstore_engine = \"postgres\"\n[postgres]\n{database}\n{PRACTICE}"));
    let config =
        with("url = \"postgresql://u:s3cret@db/x\"\nreaders = 7\nstatement_timeout = \"3s\"\nca_file = \"ca.pem\"")
            .unwrap();
    let rules = &config.setup.engine;
    assert_eq!(rules.store_engine, StoreEngine::Postgres);
    assert_eq!(rules.database.readers, 7);
    assert_eq!(rules.database.statement_timeout, Duration::from_secs(3));
    let authorities = Some(Path::new("/nowhere/ca.pem"));
    assert_eq!((rules.database.tls, rules.database.ca_file.as_deref()), (DatabaseTls::Verify, authorities));
    assert!(!format!("{config:?}", config = rules).contains("s3cret"));
    let off = with("url = \"host=/run/postgresql dbname=x\"\ntls = \"off\"").unwrap();
    assert_eq!(off.setup.engine.database.tls, DatabaseTls::Off);
    for (database, told) in [
        ("", "needs the address of the database: set `url` in [postgres]"),
        ("url = \"mysql://db\"", "url"),
        ("url = \"postgresql://u:s3cret@db:port/x\"", "must be an address such as"),
        ("url = \"env:NO_SUCH_VARIABLE_HERE\"", "NO_SUCH_VARIABLE_HERE, which is not set"),
        ("url = \"postgresql://db/x\"\nreaders = 0", "readers"),
        ("url = \"postgresql://db/x\"\ntls = \"prefer\"", "must be \"verify\" or \"off\""),
        ("url = \"postgresql://db/x\"\ntls = \"off\"\nca_file = \"ca.pem\"", "`ca_file` has no effect"),
        ("url = \"postgresql://db/x\"\npool = 3", "unknown key `pool` in [postgres]"),
    ] {
        let problems: Vec<String> = with(database).err().unwrap().iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|problem| problem.contains(told)), "{database}: {problems:?}");
        assert!(!problems.iter().any(|problem| problem.contains("s3cret")), "{problems:?}");
    }
}

#[test]
fn the_compaction_ratio_is_configurable() {
    let chosen = |ratio: &str| parse(&format!("[engine]\nstore_compact_ratio = {ratio}\n{PRACTICE}"));
    assert_eq!(parse(PRACTICE).unwrap().setup.engine.store_compact_ratio, 3);
    assert_eq!(chosen("0").unwrap().setup.engine.store_compact_ratio, 0);
    assert!(chosen("-1").err().unwrap().remove(0).to_string().contains("store_compact_ratio"));
}

#[test]
fn all_problems_are_reported_with_their_lines() {
    let text = r#"data_dir = 7
bogus = 1
[http]
listen = "nowhere"
body_timeout = "soon"
workers = 0
[adapters]
gone = "gone.wasm"
[[institutions]]
id = 1
subdomain = "Acme"
name = "Acme"
environment = "test"
[[institutions.locations]]
id = 1
name = "Main"
zone = "Mars/Olympus"
hold = "5m"
[[institutions.locations]]
id = 1
name = "Twice"
zone = "UTC"
source = 9
"#;
    let expected = [
        "line 1: `data_dir` must be a string",
        "line 2: unknown key `bogus` in the file; known are: ",
        "line 4: `listen` must be an address such as 127.0.0.1:8080",
        "line 5: `body_timeout` must be a duration",
        "line 6: `workers` must be between 1 and 256",
        "line 11: `subdomain` must have 1 to 63 lower case letters",
        "line 13: `environment` must be \"sandbox\" or \"production\"",
        "line 17: `zone` must be an IANA time zone such as America/New_York, not \"Mars/Olympus\"",
        "line 18: unknown key `hold` in [[locations]]",
        "line 20: duplicate location id `1`",
        "line 23: no source with id 9 in this institution",
    ];
    let found = problems(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn duplicate_names_and_ids_are_reported() {
    let again = |text: &str| problems(&format!("{PRACTICE}{text}")).join("\n");
    let twin = "[[institutions]]\nid = 1\nsubdomain = \"acme\"\nname = \"B\"\nenvironment = \"sandbox\"\n";
    assert!(
        again(twin).contains("line 12: duplicate institution id `1`: it is at /nowhere/practice-sync.toml:3, too")
            && again(twin).contains("line 13: duplicate subdomain `acme`")
    );
    let institution = PRACTICE.split("[[institutions.locations]]").next().unwrap();
    let on_one_line =
        "locations = [{ id = 1, name = \"A\", zone = \"UTC\" }, { id = 1, name = \"B\", zone = \"UTC\" }]";
    let found = problems(&format!("{institution}{on_one_line}\n"));
    assert_eq!(found, ["line 7: duplicate location id `1`: it is at /nowhere/practice-sync.toml:7, too"]);
    let hash = "ab".repeat(32);
    let key =
        format!("[[keys]]\nname = \"k\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n");
    let found = problems_of_keys(PRACTICE, &format!("{key}{key}")).join("\n");
    assert!(found.contains("duplicate key name `k`") && found.contains("duplicate key hash"), "{found}");
}

#[test]
fn sources_and_keys_must_refer_to_existing_entries() {
    let again = |text: &str| problems(&format!("{PRACTICE}{text}")).join("\n");
    let source = "[[institutions.sources]]\nid = 1\nname = \"s\"\nadapter = \"nope\"\nbase_url = \"ftp://x\"\n";
    let found = again(source);
    assert!(found.contains("line 14: no adapter `nope` in [adapters]"), "{found}");
    assert!(found.contains("`base_url` must be an http or https URL"), "{found}");
    let sandbox = source.replace("ftp://x", "sandbox:").replace("nope", "sandbox");
    let text = format!("[adapters]\nsandbox = \"a.wasm\"\n{PRACTICE}{sandbox}");
    assert!(!problems(&text).join("\n").contains("simulated EHR"));
    let found = problems(&text.replace("environment = \"sandbox\"", "environment = \"production\"")).join("\n");
    assert!(found.contains("`base_url` \"sandbox:\" is the simulated EHR"), "{found}");
    let hash = "ab".repeat(32);
    let key = |rest: &str| {
        problems_of_keys(PRACTICE, &format!("[[keys]]\nname = \"k\"\nsha256 = \"{hash}\"\n{rest}")).join("\n")
    };
    for (line, part) in [
        (2, "`sha256` must be the SHA-256 of a key"),
        (4, "no institution with subdomain `nobody`"),
        (5, "unknown grant `everything`"),
    ] {
        let wrong = "[[keys]]\nsha256 = \"abc\"\nenvironment = \"sandbox\"\ninstitutions = [\"nobody\"]\ngrants = [\"everything\"]\n";
        let found = problems_of_keys(PRACTICE, wrong);
        assert!(found.iter().any(|it| it.starts_with(&format!("line {line}: {part}"))), "{found:?}");
    }
    assert!(key("environment = \"production\"\ninstitutions = [\"acme\"]").contains("belongs to another environment"));
    assert!(
        key("environment = \"sandbox\"\ninstitutions = [\"acme\"]\nlocations = [2]").contains("no location with id 2")
    );
    assert!(key("environment = \"sandbox\"").contains("`institutions` is missing in [[keys]]"));
    assert_eq!(key("environment = \"sandbox\"\ninstitutions = [\"acme\"]\nlocations = [1]"), "");
}

#[test]
fn an_api_key_with_an_invalid_value_grants_nothing() {
    let setup = parse(PRACTICE).unwrap().setup;
    let counts = |line: &str| {
        let hash = "ab".repeat(32);
        let text = format!(
            "[[keys]]\nname = \"k\"\nsha256 = \"{hash}\"\nenvironment = \"sandbox\"\ninstitutions = [\"acme\"]\n{line}"
        );
        let (access, problems) = KeyFileContents::parse(Path::new("/nowhere/keys.toml"), text, &setup);
        (access.keys.len(), problems.len())
    };
    assert_eq!(counts("organisation = \"us\""), (1, 0));
    for wrong in ["organisation = 7", "grants = \"beta\"", "locations = [\"1\"]", "channel = \"The Voice\""] {
        assert_eq!(counts(wrong), (0, 1), "{wrong}");
    }
}

#[test]
fn an_operator_with_a_missing_or_invalid_value_has_no_token() {
    let setup = parse("").unwrap().setup;
    let counts = |keys: &str| {
        let text = format!("[[operators]]\n{keys}");
        let (access, problems) = KeyFileContents::parse(Path::new("/nowhere/keys.toml"), text, &setup);
        (access.operators.len(), problems.len())
    };
    let (name, role, hash) = ("name = \"ada\"\n", "role = \"viewer\"\n", format!("sha256 = \"{}\"\n", "ab".repeat(32)));
    assert_eq!(counts(&format!("{name}{role}{hash}")), (1, 0));
    for wrong in [
        format!("{role}{hash}"),
        format!("{name}{hash}"),
        format!("{name}{role}"),
        format!("name = \"\"\n{role}{hash}"),
        format!("{name}role = \"root\"\n{hash}"),
        format!("{name}{role}sha256 = \"ab\"\n"),
    ] {
        assert_eq!(counts(&wrong), (0, 1), "{wrong}");
    }
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    for (text, line) in [("a = 1\nb = \n", 2), ("[http\n", 1), ("a = 1\na = 2", 2), ("\n\n[x]\ny = \"", 4)] {
        let found = parse(text).err().unwrap();
        assert!(found.iter().any(|problem| problem.line == Some(line)), "{text:?}: {found:?}");
    }
}

#[test]
fn durations_are_parsed_and_formatted() {
    use location::key_kinds::{parse_duration, show_duration};
    for (text, length) in [
        ("500ms", 500),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("72h", 259_200_000),
        ("2d", 172_800_000),
    ] {
        assert_eq!(parse_duration(text), Some(length), "{text}");
    }
    for wrong in ["", " ", "5", "m", "5 minutes", "-5m", "5m-", "99999999999999999999d", "9999999999999d", "1.5h"] {
        assert_eq!(parse_duration(wrong), None, "{wrong}");
    }
    assert_eq!([0, 500, 300_000, 5_400_000].map(show_duration), ["0s", "500ms", "5m", "90m"]);
}

#[test]
fn default_user_agents_are_unique() {
    assert_eq!(DEFAULT_AGENTS.iter().collect::<BTreeSet<_>>().len(), DEFAULT_AGENTS.len());
}

#[test]
fn proxies_and_origins_are_read() {
    let rules = parse(
        "[http]\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]\ncors_origins = [\"https://app.example.com\"]\nrefused_per_minute = 5",
    );
    let rules = rules.unwrap().http;
    assert_eq!((rules.trusted_proxies.len(), rules.cors_origins.len(), rules.refused_per_minute), (2, 1, 5));
    let wrong = problems("[http]\ntrusted_proxies = [\"proxy\"]\ncors_origins = [\"*\"]");
    assert!(wrong[0].starts_with("line 2: `trusted_proxies` must be an address"), "{wrong:?}");
    assert!(wrong[1].starts_with("line 3: `cors_origins` must be an origin"), "{wrong:?}");
}

#[test]
fn signers_are_public_keys() {
    let rules = parse(&format!("[guests]\nsigners = [\"{}\"]", "AAAA".repeat(10) + "AAA=")).unwrap();
    assert_eq!(rules.setup.engine.guests.signers, [[0; 32]]);
    let wrong = problems("[guests]\nsigners = [\"AAAA\"]");
    assert!(wrong[0].starts_with("line 2: `signers` must be a public key"), "{wrong:?}");
}

#[test]
fn refused_user_agents_are_product_names() {
    let rules = parse("[compatibility]\nrefused_user_agents = [\"curl/\", \"node\"]").unwrap().http.compatibility;
    assert_eq!(rules.refused_user_agents.unwrap(), ["curl", "node"]);
    let off = parse("[compatibility]\nuser_agent_rule = false").unwrap().http.compatibility;
    assert_eq!(off.refused_user_agents, None);
}

#[test]
fn moved_keys_name_their_new_section() {
    for (key, value) in [("user_agent_rule", "false"), ("refused_user_agents", "[\"curl\"]")] {
        let found = problems(&format!("[http]\n{key} = {value}"));
        assert_eq!(found[0], format!("line 2: `{key}` in [http] is now called `compatibility.{key}`"));
    }
}

#[test]
fn compatibility_is_strict_unless_it_says_otherwise() {
    use framework::{http::compatibility::Compatibility, values::versions::Version};
    assert_eq!(parse("").unwrap().http.compatibility, Compatibility::default());
    let loose = "[compatibility]\nversion_headers = [\"Other-Api-Version\"]\ndefault_version = \"v2\"\nraw_keys = true\n\
                 [compatibility.version_values]\n\"2024-04-12\" = \"v3.0.0\"";
    let rules = parse(loose).unwrap().http.compatibility;
    assert_eq!(rules.version_headers, ["other-api-version"]);
    assert_eq!((rules.default_version, rules.raw_keys), (Some(Version::V2_2_2), true));
    assert_eq!(rules.version_values["2024-04-12"], Version::V3_0_0);
    let found = problems(
        "[compatibility]\nversion_headers = [\"a b\", \"Authorization\"]\ndefault_version = \"v9\"\n\
         [compatibility.version_values]\nv2 = \"v3.0.0\"\nlatest = \"newest\"",
    );
    for (line, part) in [
        (2, "`version_headers` must be the name of a header"),
        (2, "`version_headers` must not be `Authorization`"),
        (3, "`default_version` must be \"v2.2.2\""),
        (5, "`v2` is the name of a version already"),
        (6, "`latest` must be \"v2.2.2\""),
    ] {
        let told = found.iter().any(|it| it.starts_with(&format!("line {line}: ")) && it.contains(part));
        assert!(told, "{line} {part}: {found:?}");
    }
}

#[test]
fn rate_limits_of_unknown_endpoints_are_refused() {
    assert!(problems("[rate_limits.endpoints]\n\"GET /appointments\" = 3").iter().all(|it| !it.contains("endpoint")));
    for wrong in ["GET /nothing", "PUT /appointments", "/appointments", "GET /appointments/7"] {
        let found = problems(&format!("[rate_limits.endpoints]\n\"{wrong}\" = 3"));
        assert!(found[0].contains("unknown endpoint"), "{wrong}: {found:?}");
    }
}

/// Returns a configuration with one data source, or its problems.
fn with_source(source: &str) -> Result<Config, Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.wasm"), "").unwrap();
    // A key made for tests only.
    let key = include_str!("../../../engine/adapter-host/tests/adapter_host/keys/p384.pem");
    fs::write(dir.path().join("key.pem"), key).unwrap();
    fs::write(dir.path().join("no.pem"), "nothing").unwrap();
    let text = format!(
        "[adapters]\nfhir = \"a.wasm\"\n{PRACTICE}[[institutions.sources]]\nid = 1\nname = \"S\"\nadapter = \"fhir\"\n\
         base_url = \"https://ehr.example/base\"\n{source}"
    );
    Config::parse(&text, dir.path()).map_err(|error| lines(&error.problems))
}

#[test]
fn an_address_that_the_engine_refuses_is_reported() {
    let found = with_source("allowed_paths = [\"/fhir\", \"Patient\"]\n").err().unwrap();
    assert_eq!(found, ["line 18: `allowed_paths`: the allowed path \"Patient\" must begin with `/`"]);
    let source = "[[institutions.sources]]\nid = 1\nname = \"S\"\nadapter = \"fhir\"\n";
    for address in ["https://ehr.example/base?tenant=7", "https://us:word@ehr.example/base"] {
        let text = format!("[adapters]\nfhir = \"a.wasm\"\n{PRACTICE}{source}base_url = \"{address}\"\n");
        let found = problems(&text);
        assert!(found.len() == 1 && found[0].starts_with("line 17: `base_url`: the base URL must"), "{found:?}");
    }
}

#[test]
fn access_tokens_need_one_proof_and_a_safe_endpoint() {
    let oauth = |fields: &str| with_source(&format!("oauth = {{ {fields} }}\n"));
    let base = "token_url = \"https://login.example/token\", client_id = \"us\"";
    for proof in [
        "client_secret = \"s\"",
        "client_secret = \"s\", client_auth = \"post\", scopes = [\"a\", \"b\"]",
        "private_key_file = \"key.pem\", key_id = \"1\"",
    ] {
        let config = oauth(&format!("{base}, {proof}")).unwrap_or_else(|problems| panic!("{proof}: {problems:?}"));
        let Some(Login::OAuth(oauth)) = config.setup.sources[&1].login() else { panic!("{proof}") };
        assert_eq!(oauth.scopes.as_deref(), proof.contains("scopes").then_some("a b"));
    }
    for (fields, problem) in [
        (base.to_owned(), "either client_secret or private_key_file"),
        (format!("{base}, client_secret = \"s\", private_key_file = \"key.pem\""), "either client_secret or"),
        (format!("{base}, private_key_file = \"no.pem\""), "no private key in PEM"),
        (format!("{base}, private_key_file = \"none.pem\""), "cannot be read"),
        (format!("{base}, client_secret = \"s\", client_auth = \"cookie\""), "\"basic\" or \"post\""),
        (format!("{base}, client_secret = \"env:PRACTICE_SYNC_NOT_SET\""), "which is not set"),
        (format!("{base}, client_secret = \"s\", secret = \"s\""), "secret"),
        ("client_id = \"us\", client_secret = \"s\"".to_owned(), "token_url"),
        ("token_url = \"http://login.example\", client_id = \"us\", client_secret = \"s\"".to_owned(), "must be https"),
    ] {
        let problems = oauth(&fields).err().unwrap_or_default();
        assert!(problems.iter().any(|said| said.contains(problem)), "{fields}: {problems:?}");
    }
    let wrong_file = oauth(&format!("{base}, private_key_file = \"no.pem\"")).err().unwrap();
    assert_eq!(wrong_file.len(), 1, "{wrong_file:?}");
    let both = format!("headers = {{ authorization = \"x\" }}\noauth = {{ {base}, client_secret = \"s\" }}\n");
    assert!(with_source(&both).err().unwrap()[0].contains("are mutually exclusive"));
}

#[test]
fn a_tryton_session_needs_a_login_and_excludes_other_logins() {
    let session = |fields: &str| with_source(&format!("tryton_session = {{ {fields} }}\n"));
    let config = session("user = \"practice-sync\", password = \"s\"").unwrap();
    assert!(matches!(config.setup.sources[&1].login(), Some(Login::Tryton(_))));
    for (fields, problem) in [
        ("user = \"practice-sync\"", "password"),
        ("password = \"s\"", "user"),
        ("user = \"a:b\", password = \"s\"", "colon"),
        ("user = \"\", password = \"s\"", "must not be empty"),
        ("user = \"u\", password = \"env:PRACTICE_SYNC_NOT_SET\"", "which is not set"),
        ("user = \"u\", password = \"s\", database = \"d\"", "database"),
    ] {
        let problems = session(fields).err().unwrap_or_default();
        assert!(problems.iter().any(|said| said.contains(problem)), "{fields}: {problems:?}");
    }
    let session = "tryton_session = { user = \"u\", password = \"s\" }\n";
    let oauth = "oauth = { token_url = \"https://login.example/token\", client_id = \"us\", client_secret = \"s\" }\n";
    for other in ["headers = { Authorization = \"x\" }\n", oauth] {
        let problems = with_source(&format!("{session}{other}")).err().unwrap();
        assert!(problems[0].contains("are mutually exclusive"), "{problems:?}");
    }
}

#[test]
fn workstations_are_configured_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("cloud.wasm"), "").unwrap();
    let read = |source: &str, location: &str| {
        let text = format!(
            r#"[http]
max_connections = 50
[adapters]
cloud = "cloud.wasm"
[defaults.workstation]
in_flight = 3
[[institutions]]
id = 1
subdomain = "acme"
name = "Acme"
environment = "sandbox"
[institutions.workstation]
approval = true
[[institutions.sources]]
id = 1
name = "Cloud"
adapter = "cloud"
{source}
[[institutions.locations]]
id = 1
name = "Main"
zone = "America/New_York"
source = 1
{location}
"#
        );
        Config::parse(&text, dir.path()).map_err(|error| lines(&error.problems))
    };
    let right = "base_url = \"https://cloud.example/app\"\nworkstation = { probe = \"/api/session\" }";
    let config =
        read(right, "[institutions.locations.workstation]\npatience = \"1m\"").unwrap_or_else(|it| panic!("{it:?}"));
    assert_eq!(config.http.max_workstations, 40);
    let rules = config.setup.locations[&LocationId(1)].settings.workstation;
    assert_eq!((rules.approval, rules.in_flight, rules.patience_seconds), (true, 3, 60));
    assert_eq!(config.setup.sources[&1].workstation().map(|it| it.probe.as_str()), Some("/api/session"));

    let told = |source: &str, location: &str| read(source, location).err().unwrap();
    assert_eq!(
        told(&format!("{right}\nheaders = {{ Cookie = \"a=b\" }}"), ""),
        ["line 18: a source reached through workstations must not have headers or oauth"]
    );
    assert_eq!(
        told("base_url = \"sandbox:\"\nworkstation = { probe = \"/api/session\" }", ""),
        ["line 18: a source reached through workstations needs an http or https `base_url`"]
    );
    for probe in ["", "api", "//elsewhere.example", "/a/../b", "/a?b=c", "/a b"] {
        let found = told(&format!("base_url = \"https://c.example\"\nworkstation = {{ probe = \"{probe}\" }}"), "");
        assert!(found[0].starts_with("line 19: `probe` must be a path"), "{found:?}");
    }
    assert_eq!(told("base_url = \"https://c.example\"\nworkstation = {}", "").len(), 1);
    assert_eq!(
        told(right, "[institutions.locations.workstation]\nin_flight = 17"),
        ["line 26: `in_flight` must be between 1 and 16"]
    );
    assert_eq!(
        problems("[http]\nmax_connections = 100\nmax_workstations = 100"),
        ["line 3: `max_workstations` must leave some of `max_connections` to API clients"]
    );
}

#[test]
fn keys_of_earlier_releases_name_their_successors() {
    let found = problems("[limits]\nper_second = 5\n[http]\nkept_pages = 0");
    assert_eq!(
        found,
        [
            "line 1: `limits` in the file is now called `rate_limits`",
            "line 4: `kept_pages` in [http] no longer exists: lists are not cached; remove it"
        ]
    );
}

#[test]
fn events_of_a_source_need_a_long_secret_and_a_header() {
    let events = |fields: &str| with_source(&format!("events = {{ {fields} }}\n"));
    let secret = "secret = \"0123456789abcdef\"";
    let config = events(&format!("{secret}, header = \"X-Ehr-Event\"")).unwrap();
    let read = config.setup.sources[&1].events().unwrap();
    let secret_read = read.secret.as_ref().map(|secret| secret.expose());
    assert_eq!((secret_read, read.header.as_str()), (Some("0123456789abcdef"), "x-ehr-event"));
    assert_eq!(read.scheme, EventScheme::Header);
    let signed = events(&format!("{secret}, scheme = \"hmac\", header = \"X-Signature\"")).unwrap();
    assert_eq!(signed.setup.sources[&1].events().map(|it| it.scheme), Some(EventScheme::Hmac));
    for (fields, problem) in [
        ("header = \"X-Event\"".to_owned(), "`secret` is missing"),
        (secret.to_owned(), "`header` is missing"),
        ("secret = \"short\", header = \"X-Event\"".to_owned(), "must have at least 16 characters"),
        (format!("{secret}, header = \"not a header\""), "must be the name of a header"),
        (format!("{secret}, header = \"X-Event\", scheme = \"basic\""), "must be \"header\" or \"hmac\""),
    ] {
        let problems = events(&fields).err().unwrap_or_default();
        assert!(problems.iter().any(|found| found.contains(problem)), "{fields}: {problems:?}");
    }
}

#[test]
fn checks_before_bookings_and_the_rhythm_are_configurable() {
    let keys = "[defaults.booking]\nverify_on = \"hold\"\nverify_within = \"90s\"\n\
                [defaults.pull]\nbusy_every = \"2m\"\nnight_every = \"1h\"\n";
    let config = parse(&format!("{keys}{PRACTICE}")).unwrap();
    let LocationSettings { booking, pull, .. } = &*config.setup.locations[&LocationId(1)].settings;
    assert_eq!((booking.limits.verify_on, booking.limits.verify_within), (VerifyOn::Hold, 90_000));
    assert_eq!((pull.fastest(), pull.slowest()), (2 * MINUTE, 60 * MINUTE));
    let config = parse(PRACTICE).unwrap();
    let neutral = &config.setup.locations[&LocationId(1)].settings;
    assert_eq!(neutral.booking.limits.verify_on, VerifyOn::Never);
    assert!(neutral.pull.is_steady());
}

/// The checked-in page equals the generated one. `UPDATE_REFERENCE=1` writes it.
#[test]
fn the_reference_contains_every_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations/configuration.md");
    let page = reference::page();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &page).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == page, "run this test with UPDATE_REFERENCE=1");
    assert_eq!(page.lines().find(|row| row.ends_with("|  |")), None, "a key without a description");
    // Every readable key is in the page. An unknown key makes the reader list the others.
    let known = problems("[http]\nno_such_key = 1").remove(0);
    for key in known.split("known are: ").nth(1).unwrap().split(", ") {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}
