//! Verification of real messages by receivers: the Standard Webhooks libraries from npm and PyPI, our typed clients,
//! and the documentation's snippets in five languages. Each accepts our messages, with either secret during a rotation,
//! and rejects all others. Ruby and Go are used if installed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use location::time::HOUR;
use runtime::clock;
use setup::{EngineRules, Setup};
use store::MemoryStore;
use testing::until;
use tests::harness::{
    clients::{PythonClient, TypescriptClient},
    components::root,
    external::{Suite, say},
    packages::Project,
    webhook_receiver::{WebhookMessage, WebhookReceiver, verify},
};
use tokio::process::Command;
use webhooks::{model::Owner, sign::SecretKey};

const SNIPPETS: &str = "api/endpoints/src/resources/documentation/snippets";
const STEP: Duration = Duration::from_secs(600);
/// Exit code of the programs for a rejected message.
const REFUSED: i32 = 3;

/// Real messages and the secrets that they were signed with.
struct Sent {
    /// Signed with the first secret, with both during the overlap, and with the second one.
    messages: Vec<WebhookMessage>,
    secrets: [String; 2],
}

impl Sent {
    async fn of_a_rotation() -> Sent {
        let receiver = WebhookReceiver::start().unwrap();
        let rules = EngineRules { webhook_development: true, actor_threads: 1, ..EngineRules::default() };
        let setup = Setup { engine: rules, ..Setup::default() };
        let engine = Engine::start(setup, Parts::new(std::sync::Arc::new(MemoryStore::new()), RecordViews::shared()))
            .await
            .unwrap();
        let (owner, now) = (Owner("org".into()), clock::now());
        let [first, second, third] = [0; 3].map(|_| SecretKey::from_entropy(clock::random()));
        let registry = engine.webhooks();
        let made =
            registry.create_endpoint(&owner, &receiver.url, true, first.clone(), None, now).await.unwrap().record;
        let send_test_message = async |count: usize| {
            let random = uuid::Uuid::from_bytes(clock::random());
            engine.webhook_log().test(&owner, made.id, random, None, clock::now()).await.unwrap();
            until("the message", async || (receiver.messages().len() == count).then_some(())).await;
        };
        send_test_message(1).await;
        registry.rotate_secret(&owner, made.id, second.clone(), HOUR, None, now).await.unwrap();
        send_test_message(2).await;
        registry.rotate_secret(&owner, made.id, second.clone(), 0, None, now).await.unwrap();
        send_test_message(3).await;
        registry.rotate_secret(&owner, made.id, third, 0, None, now).await.unwrap();
        engine.stop().await;
        Sent { messages: receiver.messages(), secrets: [first, second].map(|secret| secret.reveal().to_owned()) }
    }

    /// Returns secret, message, and whether verification must succeed.
    fn cases(&self) -> Vec<(&str, WebhookMessage, bool)> {
        let [first, second] = [0, 1].map(|n| self.secrets[n].as_str());
        let message = |n: usize| self.messages[n].clone();
        let but = |change: fn(&mut WebhookMessage)| {
            let mut message = message(1);
            change(&mut message);
            message
        };
        let set = |message: &mut WebhookMessage, name: &str, value: &str| {
            message.headers.insert(name.to_owned(), value.to_owned());
        };
        let mut old = message(0);
        set(&mut old, "timestamp", "2026-01-01T00:00:00Z");
        set(&mut old, "webhook-timestamp", "1767225600");
        let mut unreadable = message(0);
        set(&mut unreadable, "timestamp", "yesterday");
        set(&mut unreadable, "webhook-timestamp", "yesterday");
        let unsigned = but(|it| it.headers.retain(|name, _| !name.contains("signature")));
        vec![
            (first, message(0), true),
            (second, message(0), false),
            (first, message(1), true),
            (second, message(1), true),
            (first, message(2), false),
            (second, message(2), true),
            (first, but(|it| it.body.push(b' ')), false),
            (first, old, false),
            (first, unreadable, false),
            (first, unsigned, false),
        ]
    }

    /// Verifies each case with a program that takes the secret, a file with the headers and a file with the body.
    async fn are_judged_by(&self, what: &str, program: &[&str], folder: &Path) {
        for (n, (secret, message, accepted)) in self.cases().into_iter().enumerate() {
            let (headers, body) = (folder.join(format!("{n}.json")), folder.join(format!("{n}.body")));
            fs::write(&headers, serde_json::to_vec(&message.headers).unwrap()).unwrap();
            fs::write(&body, &message.body).unwrap();
            let mut command = Command::new(program[0]);
            command.args(&program[1..]).arg(secret).args([&headers, &body]).current_dir(folder).kill_on_drop(true);
            let output = tokio::time::timeout(STEP, command.output()).await.unwrap().unwrap();
            let errors =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let expected = if accepted { 0 } else { REFUSED };
            assert_eq!(output.status.code(), Some(expected), "{what}, case {n}: {errors}");
        }
    }
}

/// Returns a folder with a language's snippet and the program around it.
fn program(language: &str, files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let name = Path::new(file).file_name().unwrap();
        let source = if file.starts_with("verify.") {
            root().join(SNIPPETS).join(file)
        } else {
            language_folder(language).join(file)
        };
        fs::copy(source, folder.path().join(name)).unwrap();
    }
    folder
}

fn language_folder(language: &str) -> PathBuf {
    root().join("tests/webhooks").join(language)
}

/// Returns whether an optional language is installed.
async fn at_hand(program: &str, argument: &str) -> bool {
    let there = Command::new(program).arg(argument).output().await.is_ok_and(|output| output.status.success());
    if !there {
        say(&format!("LEFT OUT the snippet for {program}: there is no {program} here"));
    }
    there
}

#[actix::test]
async fn npm_library_and_node_snippet_verify_our_messages() {
    if Suite::Node.is_skipped() {
        return;
    }
    let sent = Sent::of_a_rotation().await;
    let project = Project::new("webhooks-javascript", "webhooks/javascript", Suite::Node);
    let folder = program("javascript", &["standard.mjs", "snippet.mjs", "verify.mjs"]);
    std::os::unix::fs::symlink(project.npm().await.join("node_modules"), folder.path().join("node_modules")).unwrap();
    sent.are_judged_by("standardwebhooks from npm", &["node", "standard.mjs"], folder.path()).await;
    sent.are_judged_by("the snippet for Node.js", &["node", "snippet.mjs"], folder.path()).await;
}

#[actix::test]
async fn pypi_library_and_python_snippet_verify_our_messages() {
    if Suite::Python.is_skipped() {
        return;
    }
    let sent = Sent::of_a_rotation().await;
    let python = Project::new("webhooks-python", "webhooks/python", Suite::Python).python().await;
    let python = python.to_str().unwrap();
    let folder = program("python", &["standard.py", "snippet.py", "verify.py"]);
    sent.are_judged_by("standardwebhooks from PyPI", &[python, "standard.py"], folder.path()).await;
    sent.are_judged_by("the snippet for Python", &[python, "snippet.py"], folder.path()).await;
}

#[actix::test]
async fn typescript_client_verifies_our_messages() {
    if Suite::Node.is_skipped() {
        return;
    }
    let client = TypescriptClient::installed().await;
    let folder = tempfile::tempdir().unwrap();
    fs::copy(root().join("tests/clients/typescript/verify.mjs"), folder.path().join("verify.mjs")).unwrap();
    std::os::unix::fs::symlink(&client.modules, folder.path().join("node_modules")).unwrap();
    let sent = Sent::of_a_rotation().await;
    sent.are_judged_by("the TypeScript client", &["node", "verify.mjs"], folder.path()).await;
}

#[actix::test]
async fn python_client_verifies_our_messages() {
    if Suite::Python.is_skipped() {
        return;
    }
    let client = PythonClient::installed().await;
    let folder = tempfile::tempdir().unwrap();
    fs::copy(root().join("tests/clients/python/verify.py"), folder.path().join("verify.py")).unwrap();
    let sent = Sent::of_a_rotation().await;
    sent.are_judged_by("the Python client", &[client.python.to_str().unwrap(), "verify.py"], folder.path()).await;
}

#[actix::test]
async fn ruby_snippet_verifies_our_messages() {
    if at_hand("ruby", "--version").await {
        let folder = program("ruby", &["snippet.rb", "verify.rb"]);
        let sent = Sent::of_a_rotation().await;
        sent.are_judged_by("the snippet for Ruby", &["ruby", "snippet.rb"], folder.path()).await;
    }
}

#[actix::test]
async fn go_snippet_verifies_our_messages() {
    if at_hand("go", "version").await {
        let folder = program("go", &["snippet.go", "verify.go"]);
        let built = Command::new("go")
            .args(["build", "-o", "snippet", "snippet.go", "verify.go"])
            .env("GOFLAGS", "-mod=mod")
            .env("GO111MODULE", "off")
            .current_dir(folder.path())
            .status();
        assert!(built.await.unwrap().success());
        let sent = Sent::of_a_rotation().await;
        sent.are_judged_by("the snippet for Go", &["./snippet"], folder.path()).await;
    }
}

#[actix::test]
async fn rust_snippet_verifies_our_messages() {
    for (n, (secret, message, accepted)) in Sent::of_a_rotation().await.cases().into_iter().enumerate() {
        let header = |name: &str| message.headers.get(name).map(String::as_str);
        assert_eq!(verify::verify(secret, header, &message.body), accepted, "case {n}");
    }
}
