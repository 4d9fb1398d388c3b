//! Third-party tools from npm and PyPI, installed into `target/` once per set of pinned versions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::harness::{components::root, external::Suite};

const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const VERSION_LIMIT: Duration = Duration::from_secs(300);
/// Maximum number of quoted lines from a tool's error output.
const QUOTED_LINES: usize = 400;
const OLDEST_NODE: u32 = 20;
const OLDEST_PYTHON: u32 = 11;

/// A set of packages. `name` is the folder in `target/`; the lock file in `sources` lists the packages.
pub struct Project {
    pub name: &'static str,
    pub sources: PathBuf,
    /// The suite that needs the packages.
    pub suite: Suite,
}

impl Project {
    /// Returns a project with `sources` in `tests/`.
    pub fn new(name: &'static str, sources: &str, suite: Suite) -> Project {
        Project { name, sources: root().join("tests").join(sources), suite }
    }

    /// Returns the folder filled by `npm ci`.
    pub async fn npm(&self) -> PathBuf {
        check_node(self.suite).await;
        let pinned = ["package.json", "package-lock.json"];
        self.installed(&pinned, async |folder| {
            let mut npm = Command::new("npm");
            npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(folder);
            run(npm, INSTALL_LIMIT).await.map(drop)
        })
        .await
    }

    /// Returns the Python of a virtual environment with the packages of `requirements.txt`. Run modules instead of
    /// scripts, which contain the path of a temporary folder.
    pub async fn python(&self) -> PathBuf {
        check_python(self.suite).await;
        let folder = self
            .installed(&["requirements.txt"], async |folder| {
                let mut venv = Command::new("python3");
                venv.args(["-m", "venv", "venv"]).current_dir(folder);
                run(venv, INSTALL_LIMIT).await?;
                let mut pip = Command::new(folder.join("venv/bin/python"));
                pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
                pip.args(["-r", "requirements.txt"]).current_dir(folder);
                run(pip, INSTALL_LIMIT).await.map(drop)
            })
            .await;
        folder.join("venv/bin/python")
    }

    /// Returns the folder with the pinned files and the result of `install`. Concurrent tests in any process wait for
    /// each other.
    pub(crate) async fn installed(
        &self,
        pinned: &[&str],
        install: impl AsyncFnOnce(&Path) -> Result<(), String>,
    ) -> PathBuf {
        let mut digest = Sha256::new();
        for file in pinned {
            digest.update(fs::read(self.sources.join(file)).expect("the pinned versions are in the checkout"));
        }
        let version: String = hex::encode(digest.finalize()).chars().take(16).collect();
        let cache = root().join("target").join(self.name);
        fs::create_dir_all(&cache).expect("the target folder can be written");
        let turn = fs::File::create(cache.join("lock")).expect("the target folder can be written");
        let turn = tokio::task::spawn_blocking(move || turn.lock().map(|()| turn));
        let _turn = turn.await.expect("no panic in a lock").expect("a file can be locked");
        let folder = cache.join(version);
        if folder.exists() {
            return folder;
        }
        let unfinished = folder.with_extension("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        for file in pinned {
            let copy = unfinished.join(file);
            fs::create_dir_all(copy.parent().expect("the file is in the folder")).expect("a folder can be created");
            fs::copy(self.sources.join(file), copy).expect("a file can be copied");
        }
        if let Err(why) = install(&unfinished).await {
            self.suite.lacks(&why);
        }
        fs::rename(&unfinished, &folder).expect("a folder can be renamed");
        folder
    }
}

/// Copies a script atomically and only if it changed, because another process may be reading it.
pub(crate) fn refresh(source: &Path, copy: &Path) {
    let text = fs::read(source).expect("the script is in the checkout");
    if fs::read(copy).ok().as_ref() != Some(&text) {
        // Tests of one run copy concurrently.
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let mark = COPIES.fetch_add(1, Ordering::Relaxed);
        let fresh = copy.with_extension(format!("fresh-{}-{mark}", std::process::id()));
        fs::write(&fresh, &text).and_then(|()| fs::rename(&fresh, copy)).expect("the target folder can be written");
    }
}

async fn check_node(suite: Suite) {
    let version = command_output("node", &["--version"]).await.unwrap_or_else(|why| suite.lacks(&why));
    if number(version.trim_start_matches('v'), 0).is_none_or(|major| major < OLDEST_NODE) {
        suite.lacks(&format!("node is {version}"));
    }
}

async fn check_python(suite: Suite) {
    let version = command_output("python3", &["--version"]).await.unwrap_or_else(|why| suite.lacks(&why));
    let numbers = version.trim_start_matches("Python ");
    if number(numbers, 0) != Some(3) || number(numbers, 1).is_none_or(|minor| minor < OLDEST_PYTHON) {
        suite.lacks(&version);
    }
    if let Err(why) = command_output("python3", &["-c", "import venv, ensurepip"]).await {
        suite.lacks(&why);
    }
}

async fn command_output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = run(command, VERSION_LIMIT).await?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn number(version: &str, at: usize) -> Option<u32> {
    version.split('.').nth(at)?.parse().ok()
}

/// Starts a server that prints its address as JSON in its first line. The server ends when the handle is dropped. If
/// this process is killed, the server ends when its standard input closes.
pub(crate) async fn serving(mut command: Command, limit: Duration) -> (Child, Value) {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut process = command.spawn().unwrap_or_else(|error| panic!("{name} could not be started: {error}"));
    let output = process.stdout.take().expect("its output is piped");
    let mut first = String::new();
    let read = timeout(limit, BufReader::new(output).read_line(&mut first)).await;
    read.expect("the server starts in time").expect("the output of the server can be read");
    let address = serde_json::from_str(&first).expect("the server prints its address");
    (process, address)
}

/// Runs a command. `Err` names the failed tool and quotes its output.
pub async fn run(mut command: Command, limit: Duration) -> Result<Output, String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let ended = timeout(limit, running).await.map_err(|_| format!("{name} did not end within {limit:?}"))?;
    let output = ended.map_err(|error| format!("{name} could not be started: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let complaint = [&output.stdout[..], &output.stderr[..]].concat();
    let complaint = String::from_utf8_lossy(&complaint);
    let lines: Vec<&str> = complaint.lines().collect();
    Err(format!("{name} failed:\n{}", lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")))
}
