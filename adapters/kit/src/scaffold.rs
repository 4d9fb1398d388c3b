//! A new adapter, as a crate or as a package of npm. A crate begins as the example `booking`, which conforms, or with the least that builds.

use std::path::Path;

use crate::{
    KitError, MANIFEST_FILE, Manifest, files,
    vendor::{self, FOLDER},
};

/// What a new crate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Schedule, patients and booking of the simulated EHR, which conforms.
    Booking,
    /// The least that builds, loads and answers.
    Minimal,
}

/// Writes a crate named `<id>-adapter` into `dir`, which must be empty or absent. The SDK goes with it.
pub fn scaffold(dir: &Path, id: &str, start: Start) -> Result<(), KitError> {
    let (manifest, sources): (_, &[(&str, &str)]) = match start {
        Start::Booking => (booking_manifest_text(id), &BOOKING),
        Start::Minimal => (manifest_text(id), &[("src/lib.rs", include_str!("minimal/lib.rs"))]),
    };
    begin(dir, &manifest)?;
    vendor::write(dir)?;
    let own =
        [("Cargo.toml", &*cargo_text(id)), (".gitignore", "/target\n/dist\n"), ("README.md", &readme_text(id, start))];
    for (name, text) in own.iter().chain(sources) {
        let file = dir.join(name);
        file.parent().map_or(Ok(()), files::create_dir)?;
        files::write_atomic(&file, text.as_bytes())?;
    }
    Ok(())
}

/// Writes an npm package named `<id>-adapter` into `dir`, which must be empty or absent. It holds all it needs but what npm installs.
pub fn scaffold_javascript(dir: &Path, id: &str) -> Result<(), KitError> {
    begin(dir, &manifest_text(id))?;
    for folder in ["src/lib", "test", "wit"] {
        files::create_dir(&dir.join(folder))?;
    }
    for (file, text) in JAVASCRIPT {
        let text = text.replace("sandbox-js", id).replace("ADAPTER", id).replace("../../wit/v1", "wit");
        files::write_atomic(&dir.join(file), text.as_bytes())?;
    }
    files::write_atomic(&dir.join("README.md"), javascript_readme_text(id).as_bytes())
}

/// The folder with what does not depend on the language.
fn begin(dir: &Path, manifest: &str) -> Result<(), KitError> {
    Manifest::parse(manifest).map_err(|reason| KitError::Manifest { path: dir.join(MANIFEST_FILE), reason })?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(KitError::NotEmpty(dir.to_path_buf()));
    }
    files::create_dir(&dir.join("src"))?;
    files::write_atomic(&dir.join("local.toml"), LOCAL.as_bytes())?;
    files::write_atomic(&dir.join("subject.toml"), SUBJECT.as_bytes())?;
    files::write_atomic(&dir.join(MANIFEST_FILE), manifest.as_bytes())
}

fn manifest_text(id: &str) -> String {
    format!(
        "# Who this adapter is and what it asks for. The operator can narrow it, never widen it.\n\
         id = {}\nname = {}\nversion = \"0.1.0\"\ncontract = 1\n\
         # Prefixes of the paths it may request below the location's base URL.\npaths = [\"/\"]\n\
         memory_mib = 64\ncall_seconds = 30\nrequests_per_call = 50\n\
         # Milliseconds of processor time a call may take, and one that reads a page, where less than the operator grants is enough.\n\
         # processor_ms = 500\n# pull_processor_ms = 2000\n\
         # Requests a minute the EHR bears, where it names a limit.\n# requests_per_minute = 60\n",
        toml::Value::from(id),
        toml::Value::from(id),
    )
}

/// The example's, under the name of the new one.
fn booking_manifest_text(id: &str) -> String {
    let named = |key: &str, name: &str| format!("{key} = {}\n", toml::Value::from(name));
    let (own_id, own_name) = (named("id", "example-booking"), named("name", "Example: booking"));
    include_str!("../../examples/booking/adapter.toml")
        .replace(&own_id, &named("id", id))
        .replace(&own_name, &named("name", id))
}

fn cargo_text(id: &str) -> String {
    format!(
        "[package]\nname = \"{id}-adapter\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\nadapter-sdk = {{ path = \"{FOLDER}\" }}\n\
         serde = {{ version = \"1.0\", features = [\"derive\"] }}\nserde_json = \"1.0\"\n\n\
         # A workspace of its own, wherever this folder lies.\n[workspace]\n",
    )
}

fn readme_text(id: &str, start: Start) -> String {
    let (call, holds) = match start {
        Start::Booking => (
            "pull patients",
            "It begins as an adapter for the simulated EHR: schedule, patients and booking, six resources and four writes, which conform.\n\
             `src/client.rs` asks the EHR, `src/map.rs` says what its rows are in the contract, `src/lib.rs` has the tables of what is read\n\
             and written, `src/tests.rs` plays the EHR with answers kept in `fixtures`. Make them your EHR's one after the other.\n\n",
        ),
        Start::Minimal => ("describe", ""),
    };
    let shows = match start {
        Start::Booking => "builds, and prints patients, masked",
        Start::Minimal => "builds, and shows what the adapter says",
    };
    format!(
        "# {id}\n\nAn adapter for practice-sync.\n\n```\n\
         practice-sync adapter ehr                 # the simulated EHR, until yours is at hand: local.toml says where it is\n\
         practice-sync adapter run . {call:<14}# {shows}\n\
         practice-sync adapter test .              # the conformance suite: subject.toml says what it needs to know\n\
         practice-sync adapter build .             # dist/{id}.wasm\n\
         practice-sync adapter check dist/{id}.wasm\n\
         cargo test                                # natively, without a sandbox\n```\n\n\
         {holds}`adapter.toml` says what it asks for. `vendor/adapter-sdk` is the SDK; its documentation: `cargo doc --open -p adapter-sdk`.\n"
    )
}

fn javascript_readme_text(id: &str) -> String {
    format!(
        "# {id}\n\nAn adapter for practice-sync, in JavaScript: Node.js 20 with npm.\n\n```\n\
         npm ci\n\
         npm test                                  # in Node.js, with a host for tests\n\
         practice-sync adapter build .             # dist/{id}.wasm, by `npm run componentize`\n\
         practice-sync adapter check dist/{id}.wasm\n\
         practice-sync adapter ehr                 # the simulated EHR, until yours is at hand: local.toml says where it is\n\
         practice-sync adapter run . describe      # builds, and shows what the adapter says\n\
         practice-sync adapter test .              # the conformance suite: subject.toml says what it needs to know\n```\n\n\
         `adapter.toml` says what it asks for, `wit/` is the contract, `src/lib/` turns requests into records and failures into faults.\n"
    )
}

/// The example that a new crate begins as.
const BOOKING: [(&str, &str); 5] = [
    ("src/lib.rs", include_str!("../../examples/booking/src/lib.rs")),
    ("src/client.rs", include_str!("../../examples/booking/src/client.rs")),
    ("src/map.rs", include_str!("../../examples/booking/src/map.rs")),
    ("src/tests.rs", include_str!("../../examples/booking/src/tests.rs")),
    ("fixtures/patients.json", include_str!("../../examples/booking/fixtures/patients.json")),
];

/// For `adapter run`.
const LOCAL: &str = "# Where the EHR is that `practice-sync adapter run` calls. Secrets: \"env:NAME\".\n\
    base_url = \"http://127.0.0.1:8090\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n\n\
    [headers]\n# authorization = \"env:MY_EHR_TOKEN\"\n\n[settings]\n";

/// For `adapter test`.
const SUBJECT: &str = include_str!("subject.toml");

macro_rules! javascript {
    ($($file:literal: $source:literal)+) => { [$(($file, include_str!($source))),+] };
}

/// What `sandbox-js` stands on, and an adapter that answers.
const JAVASCRIPT: [(&str, &str); 15] = javascript! {
    ".gitignore": "../../sandbox-js/.gitignore"
    "package.json": "../../sandbox-js/package.json"
    "package-lock.json": "../../sandbox-js/package-lock.json"
    "src/adapter.js": "javascript/adapter.js"
    "src/lib/fault.js": "../../sandbox-js/src/lib/fault.js"
    "src/lib/http.js": "../../sandbox-js/src/lib/http.js"
    "src/lib/time.js": "../../sandbox-js/src/lib/time.js"
    "src/lib/utf8.js": "../../sandbox-js/src/lib/utf8.js"
    "test/adapter.test.js": "javascript/adapter.test.js"
    "test/answers.js": "../../sandbox-js/test/answers.js"
    "test/host.js": "../../sandbox-js/test/host.js"
    "test/lib.test.js": "../../sandbox-js/test/lib.test.js"
    "wit/imports.wit": "../../../wit/v1/imports.wit"
    "wit/types.wit": "../../../wit/v1/types.wit"
    "wit/world.wit": "../../../wit/v1/world.wit"
};
