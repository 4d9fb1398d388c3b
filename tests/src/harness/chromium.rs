//! Chromium with the extension, driven by `tests/browser/driver.mjs`. Each browser has its own profile, which
//! outlives it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::OnceCell,
    time::timeout,
};

use crate::harness::{
    components::root,
    external::Suite,
    packages::{Project, refresh, run},
};

const SUITE: Suite = Suite::Chromium;
/// Names in distributions; the first one found is used.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const SCRIPTS: [&str; 4] = ["chromium.mjs", "driver.mjs", "extension.test.mjs", "fakes.mjs"];
/// The page of the extension's popup.
pub const POPUP: &str = "popup";

const BUILD_LIMIT: Duration = Duration::from_secs(600);
/// Longer than the driver's limit, so that the driver can report the reason.
const ACT_LIMIT: Duration = Duration::from_secs(300);

/// Files needed to start a browser.
pub struct Kit {
    pub chromium: PathBuf,
    /// The folder of the driver and its dependencies.
    pub scripts: PathBuf,
    /// The built extension.
    pub extension: PathBuf,
}

/// Returns `None` if the suite is not selected.
pub async fn kit() -> Option<&'static Kit> {
    static KIT: OnceCell<Kit> = OnceCell::const_new();
    if SUITE.is_skipped() {
        return None;
    }
    Some(KIT.get_or_init(prepared).await)
}

/// Returns the folder of a run's screenshots.
pub fn screenshots() -> PathBuf {
    let folder = root().join("target").join("screenshots");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

async fn prepared() -> Kit {
    let chromium = chromium();
    let driver = Project::new("browser", "browser", SUITE);
    let scripts = driver.npm().await;
    for script in SCRIPTS {
        refresh(&driver.sources.join(script), &scripts.join(script));
    }
    Kit { chromium, scripts, extension: extension().await }
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = PROGRAMS.iter().find_map(|program| {
        let mut places = folders.iter().map(|folder| folder.join(program));
        places.find(|place| place.is_file())
    });
    found.unwrap_or_else(|| SUITE.lacks(&format!("there is no {} in PATH", PROGRAMS.join(", no "))))
}

/// Builds the extension like `npm run build`, in a folder named after the digest of its sources.
async fn extension() -> PathBuf {
    let project = Project::new("extension", "../adapters/extension", SUITE);
    let tools = project.npm().await.join("node_modules");
    let (source, files) = (project.sources.join("src"), project.sources.join("static"));
    let mut digest = Sha256::new();
    for file in
        files_below(&source).into_iter().chain(files_below(&files)).chain([project.sources.join("tsconfig.json")])
    {
        digest.update(file.to_string_lossy().as_bytes());
        digest.update(fs::read(&file).expect("the source is in the checkout"));
    }
    let version: String = hex::encode(digest.finalize()).chars().take(16).collect();
    let built = root().join("target").join("extension").join(format!("built-{version}"));
    if built.exists() {
        return built;
    }
    let unfinished = built.with_extension(std::process::id().to_string());
    let mut compile = Command::new("node");
    compile.arg(tools.join("typescript/bin/tsc")).arg("--project").arg(&project.sources);
    compile.arg("--typeRoots").arg(tools.join("@types")).arg("--outDir").arg(&unfinished);
    if let Err(why) = run(compile, BUILD_LIMIT).await {
        panic!("the extension does not compile: {why}");
    }
    copy_files(&files, &unfinished);
    if fs::rename(&unfinished, &built).is_err() {
        // Another process was faster.
        fs::remove_dir_all(&unfinished).expect("a folder of our own can be removed");
    }
    built
}

/// Copies files with their subfolders.
pub fn copy_files(from: &Path, to: &Path) {
    for file in files_below(from) {
        let copy = to.join(file.strip_prefix(from).expect("the file is in the folder"));
        fs::create_dir_all(copy.parent().expect("the file has a parent folder")).expect("a folder can be made");
        fs::copy(&file, copy).expect("a file can be copied");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the checkout") {
        let path = entry.expect("a folder of the checkout").path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A browser that ends when dropped. A failed action fails the test with the browser's reason.
pub struct Browser {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Ends when dropped; the browser ends with the driver.
    _driver: Child,
}

impl Browser {
    /// Starts a browser with a profile, which is created if it does not exist.
    pub async fn start(kit: &Kit, profile: &Path) -> Browser {
        let mut node = Command::new("node");
        node.arg("driver.mjs").args([&kit.chromium, &kit.extension]).arg(profile).current_dir(&kit.scripts);
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut driver = node.spawn().expect("node starts, as it did a moment ago");
        let input = driver.stdin.take().expect("its input is piped");
        let output = BufReader::new(driver.stdout.take().expect("its output is piped")).lines();
        let mut browser = Browser { input, output, _driver: driver };
        browser.answer("start").await;
        browser
    }

    /// Opens an address as the page `page`. `POPUP` is the extension's.
    pub async fn open(&mut self, page: &str, url: &str) {
        self.act(json!({"do": "open", "page": page, "url": url})).await;
    }

    pub async fn type_into(&mut self, page: &str, selector: &str, text: &str) {
        self.act(json!({"do": "type", "page": page, "selector": selector, "text": text})).await;
    }

    pub async fn click(&mut self, page: &str, selector: &str) {
        self.act(json!({"do": "click", "page": page, "selector": selector})).await;
    }

    /// Clicks on a link to another page and waits for the page.
    pub async fn follow(&mut self, page: &str, selector: &str) {
        self.act(json!({"do": "click", "page": page, "selector": selector, "leads": true})).await;
    }

    /// Clicks on the element if it exists now.
    pub async fn press(&mut self, page: &str, selector: &str) {
        self.act(json!({"do": "press", "page": page, "selector": selector})).await;
    }

    /// Returns the visible text, or `None` if the element is not visible.
    pub async fn text(&mut self, page: &str, selector: &str) -> Option<String> {
        self.act(json!({"do": "text", "page": page, "selector": selector})).await.as_str().map(str::to_owned)
    }

    /// Waits until the text contains `part`.
    pub async fn see(&mut self, page: &str, selector: &str, part: &str) {
        self.act(json!({"do": "see", "page": page, "selector": selector, "text": part})).await;
    }

    /// Sets the page's width and the preferred theme.
    pub async fn dress(&mut self, page: &str, width: u32, theme: &str) {
        self.act(json!({"do": "dress", "page": page, "width": width, "theme": theme})).await;
    }

    /// Asserts that axe finds no barriers, and that the page does not scroll sideways.
    pub async fn is_usable(&mut self, page: &str) {
        let barriers = self.act(json!({"do": "barriers", "page": page})).await;
        assert_eq!(barriers, json!([]), "{page}");
        let overflow = self.act(json!({"do": "overflow", "page": page})).await;
        assert_eq!(overflow, json!(0), "{page} is wider than its window");
    }

    pub async fn press_key(&mut self, page: &str, key: &str) {
        self.act(json!({"do": "key", "page": page, "key": key})).await;
    }

    /// Returns the text or the label of the focused element.
    pub async fn focused(&mut self, page: &str) -> String {
        self.act(json!({"do": "focused", "page": page})).await.as_str().unwrap_or_default().to_owned()
    }

    /// Saves a screenshot in [`screenshots`].
    pub async fn picture(&mut self, page: &str, name: &str) {
        let path = screenshots().join(format!("{name}.png"));
        self.act(json!({"do": "screenshot", "page": page, "path": path})).await;
    }

    /// Stops the service worker, as the browser does when memory is low.
    pub async fn stop_worker(&mut self) {
        self.act(json!({"do": "stop_worker"})).await;
    }

    /// Closes the browser like its user.
    pub async fn close(mut self) {
        self.act(json!({"do": "close"})).await;
    }

    /// Kills the browser, like a power failure.
    pub async fn kill(mut self) {
        self.act(json!({"do": "kill"})).await;
    }

    async fn act(&mut self, asked: Value) -> Value {
        let line = format!("{asked}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .unwrap_or_else(|error| panic!("{asked}: the driver is gone: {error}"));
        self.answer(&asked.to_string()).await
    }

    async fn answer(&mut self, asked: &str) -> Value {
        let line = timeout(ACT_LIMIT, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{asked}: no answer within {ACT_LIMIT:?}"));
        let line = line.ok().flatten().unwrap_or_else(|| panic!("{asked}: the driver ended"));
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{asked}: {line}"));
        match answer.get("error") {
            Some(error) => panic!("{asked}: {error}"),
            None => answer["ok"].clone(),
        }
    }
}
