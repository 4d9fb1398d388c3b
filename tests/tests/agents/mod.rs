//! `POST /mcp` as agents use it: the conformance suite and the official SDK of the Model Context Protocol, the guide
//! for builders of agents, and a scripted model that makes every mistake.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | third-party clients, and the guide |
//! | `bad_model.rs` | thousands of dialogues of a bad model, and the state of the practice afterwards |
//! | `dialogue.rs` | one dialogue: calls, and the rules for each result |
//! | `patients.rs` | patients whose data is recognised in any result |

mod bad_model;
mod dialogue;
mod patients;

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::harness::{
    components::root,
    ehr_server::EhrServer,
    external::Suite,
    fixtures,
    http_client::Caller,
    packages::{Project, run},
    process::{self, API_KEY, HASTY, Installation, LOCATIONS, Process, binary},
};
use tokio::process::Command;

const MCP: &str = "/mcp";
/// Time limit for a program in JavaScript.
const STEP: Duration = Duration::from_secs(600);
/// The protocol with a negotiation of the version, and without.
const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A practice with an EHR, as agents reach it.
struct AgentsPractice {
    installation: Installation,
    ehr: EhrServer,
    _process: Process,
    _dir: TempDir,
}

impl AgentsPractice {
    async fn start(ehr: EhrServer) -> AgentsPractice {
        let dir = tempfile::tempdir().unwrap();
        let installation = Installation::new(binary(), dir.path(), &ehr.url(), HASTY).unwrap();
        let process = installation.start().await.unwrap();
        process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
        AgentsPractice { installation, ehr, _process: process, _dir: dir }
    }

    fn url(&self) -> String {
        format!("http://{}{MCP}", self.installation.address)
    }
}

fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[actix::test]
async fn server_passes_the_conformance_suite_of_the_protocol() {
    if Suite::Node.is_skipped() {
        return;
    }
    let practice = AgentsPractice::start(EhrServer::start(fixtures::small_profile(41)).unwrap()).await;
    let output = node("conformance.mjs", &[&practice.url(), API_KEY]).await;
    for version in VERSIONS {
        assert!(output.contains(&format!("{version} tools-list: passed")), "{output}");
    }
    assert_eq!(practice.installation.panics().unwrap(), [""; 0]);
}

#[actix::test]
async fn official_client_follows_a_visit_through_the_tools_in_both_protocols() {
    if Suite::Node.is_skipped() {
        return;
    }
    let practice = AgentsPractice::start(EhrServer::start(fixtures::small_profile(42)).unwrap()).await;
    let location = LOCATIONS[0].0.to_string();
    for version in VERSIONS {
        let output = node("story.mjs", &[&practice.url(), API_KEY, &location, version]).await;
        let summary: Value = serde_json::from_str(output.lines().next_back().unwrap()).unwrap();
        assert!(summary["booking_ref"].as_str().is_some_and(|booking| booking.starts_with("bkg_")), "{output}");
    }
    assert_eq!(practice.installation.panics().unwrap(), [""; 0]);
}

/// Runs a program of `tests/agents` with the Node.js of its packages, because the conformance suite needs version 22.
async fn node(program: &str, arguments: &[&str]) -> String {
    let project = Project::new("agents", "agents", Suite::Node);
    let (packages, folder) = (project.npm().await.join("node_modules"), tempfile::tempdir().unwrap());
    for file in [program, "expected-failures.yaml"] {
        fs::copy(project.sources.join(file), folder.path().join(file)).unwrap();
    }
    std::os::unix::fs::symlink(&packages, folder.path().join("node_modules")).unwrap();
    let mut node = Command::new(packages.join(".bin/node"));
    node.arg(program).args(arguments).current_dir(&folder);
    let output = run(node, STEP).await.unwrap_or_else(|why| panic!("{why}"));
    String::from_utf8(output.stdout).unwrap()
}

/// The table of tools in the guide has each tool, with its required arguments, and no argument that it does not take.
#[actix::test]
async fn guide_for_agents_names_the_tools_and_their_arguments() {
    let practice = AgentsPractice::start(EhrServer::start(fixtures::small_profile(43)).unwrap()).await;
    let mut caller = practice.installation.sign_in().await.unwrap();
    let listed = listed_tools(&mut caller).await;
    let documented = documented_tools();
    let names = |tools: Vec<&String>| tools.into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(names(documented.keys().collect()), names(listed.keys().collect()));
    for (tool, words) in &documented {
        let schema = &listed[tool]["inputSchema"];
        // An argument may be one of another tool: "those of `find_times`".
        let arguments: Vec<&String> = words.iter().filter(|word| !documented.contains_key(*word)).collect();
        for argument in &arguments {
            assert!(schema["properties"][argument.as_str()].is_object(), "{tool} does not take {argument}: {schema}");
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for required in required.filter(|name| *name != "location_id") {
            assert!(arguments.iter().any(|argument| *argument == required), "the guide omits {required} of {tool}");
        }
    }
}

async fn listed_tools(caller: &mut Caller) -> BTreeMap<String, Value> {
    let (status, answer) = caller.post(MCP, &message("tools/list", json!({}))).await.unwrap();
    let tools = answer["result"]["tools"].as_array().filter(|_| status == 200);
    let tools = tools.unwrap_or_else(|| panic!("{status} {answer}"));
    tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
}

/// Returns the words in backquotes of the last column of the guide's first table about tools, by tool.
fn documented_tools() -> BTreeMap<String, Vec<String>> {
    let guide = fs::read_to_string(root().join("api/docs/agents.md")).unwrap();
    let rows = guide.lines().skip_while(|line| !line.starts_with("| tool |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [tool, _, arguments] = cells.as_slice() else { panic!("not three columns: {line}") };
        // Values of an argument follow it in parentheses.
        let arguments: String =
            arguments.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
        let words = arguments.split('`').skip(1).step_by(2).map(str::to_owned);
        (tool.trim().trim_matches('`').to_owned(), words.collect())
    });
    rows.collect()
}
