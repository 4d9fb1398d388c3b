//! Scaffolding of an adapter, as a crate or an npm package. The template is the example `booking` or the adapter
//! `sandbox-js`, which conform; a crate can also start minimal.

use std::path::Path;

use crate::{
    KitError, MANIFEST_FILE, Manifest, files,
    vendor::{self, FOLDER},
};

/// The template of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Schedule, patients and booking of the simulated EHR, which conforms.
    Booking,
    /// A minimal crate that builds, loads and responds.
    Minimal,
}

/// Writes a crate named `<id>-adapter` and the SDK into `dir`, which must be empty or absent.
pub fn scaffold(dir: &Path, id: &str, start: Start) -> Result<(), KitError> {
    let (manifest, sources): (_, &[(&str, &str)]) = match start {
        Start::Booking => {
            let manifest = include_str!("../../examples/booking/adapter.toml");
            (renamed(manifest, ("example-booking", "Example: booking"), id), &BOOKING)
        }
        Start::Minimal => (manifest_text(id), &[("src/lib.rs", include_str!("minimal/lib.rs"))]),
    };
    begin(dir, &manifest)?;
    vendor::write(dir)?;
    let own = [
        ("Cargo.toml", &*cargo_text(id)),
        (".gitignore", "/target\n/dist\n"),
        ("README.md", &readme_text(id, start)),
        ("AGENTS.md", AGENTS),
    ];
    own.iter().chain(sources).try_for_each(|(name, text)| files::write_below(dir, name, text))
}

/// Writes an npm package named `<id>-adapter` into `dir`, which must be empty or absent: the adapter `sandbox-js`
/// under another name, with the contract and its typings. It needs only the packages that npm installs.
pub fn scaffold_javascript(dir: &Path, id: &str) -> Result<(), KitError> {
    let manifest = include_str!("../../sandbox-js/adapter.toml");
    begin(dir, &renamed(manifest, ("sandbox-js", "Sandbox EHR (JavaScript)"), id))?;
    for (file, text) in JAVASCRIPT {
        files::write_below(dir, file, &text.replace("sandbox-js", id).replace("../../wit/v1", "wit"))?;
    }
    files::write_below(dir, "README.md", &javascript_readme_text(id))
}

/// Writes the files that do not depend on the language.
fn begin(dir: &Path, manifest: &str) -> Result<(), KitError> {
    Manifest::parse(manifest).map_err(|reason| KitError::Manifest { path: dir.join(MANIFEST_FILE), reason })?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(KitError::NotEmpty(dir.to_path_buf()));
    }
    files::write_below(dir, "local.toml", LOCAL)?;
    files::write_below(dir, "subject.toml", SUBJECT)?;
    files::write_below(dir, MANIFEST_FILE, manifest)
}

fn manifest_text(id: &str) -> String {
    format!(
        "# The identity and requirements of the adapter. The operator can restrict these values, but not extend them.\n\
         id = {}\nname = {}\nversion = \"0.1.0\"\ncontract = 1\n\
         # Allowed path prefixes below the location's base URL.\npaths = [\"/\"]\n\
         memory_mib = 64\ncall_seconds = 30\nrequests_per_call = 50\n\
         # Milliseconds of processor time for a call, and for a call that reads a page, if less than the operator's limit is enough.\n\
         # processor_ms = 500\n# pull_processor_ms = 2000\n\
         # Rate limit of the EHR in requests per minute, if it has one.\n# requests_per_minute = 60\n",
        toml::Value::from(id),
        toml::Value::from(id),
    )
}

fn renamed(manifest: &str, (id, name): (&str, &str), new: &str) -> String {
    let line = |key: &str, value: &str| format!("{key} = {}\n", toml::Value::from(value));
    manifest.replace(&line("id", id), &line("id", new)).replace(&line("name", name), &line("name", new))
}

fn cargo_text(id: &str) -> String {
    format!(
        "[package]\nname = \"{id}-adapter\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\nadapter-sdk = {{ path = \"{FOLDER}\" }}\n\
         serde = {{ version = \"1.0\", features = [\"derive\"] }}\nserde_json = \"1.0\"\n\n\
         # A separate workspace, wherever this folder is.\n[workspace]\n",
    )
}

fn readme_text(id: &str, start: Start) -> String {
    let (call, holds) = match start {
        Start::Booking => (
            "pull patients",
            "It starts as an adapter for the simulated EHR: schedule, patients and booking, six resources and four writes. It passes the\n\
             conformance suite. `src/client.rs` calls the EHR, `src/map.rs` maps its rows to records of the contract, `src/lib.rs` has the\n\
             tables of reads and writes, `src/tests.rs` simulates the EHR with responses in `fixtures`. Replace them with those of your EHR\n\
             one by one.\n\n",
        ),
        Start::Minimal => ("describe", ""),
    };
    let shows = match start {
        Start::Booking => "builds, and prints patients, masked",
        Start::Minimal => "builds, and prints the description",
    };
    format!(
        "# {id}\n\nAn adapter for practice-sync.\n\n```\n\
         practice-sync adapter ehr                 # the simulated EHR; local.toml has its address\n\
         practice-sync adapter run {call:<16}# {shows}\n\
         practice-sync adapter test                # the conformance suite, configured by subject.toml\n\
         practice-sync adapter build               # dist/{id}.wasm\n\
         practice-sync adapter check               # checks that a server accepts it\n\
         cargo test                                # natively, without a sandbox\n```\n\n\
         {holds}`adapter.toml` lists its requirements. `vendor/adapter-sdk` is the SDK; its documentation: `cargo doc --open -p adapter-sdk`.\n\
         `AGENTS.md` has the rules for coding assistants.\n"
    )
}

fn javascript_readme_text(id: &str) -> String {
    format!(
        "# {id}\n\nAn adapter for practice-sync, in JavaScript: Node.js 20 with npm.\n\n```\n\
         npm ci\n\
         npm test                                  # in Node.js, with a host for tests\n\
         practice-sync adapter ehr                 # the simulated EHR; local.toml has its address\n\
         practice-sync adapter run pull patients   # builds, and prints patients, masked\n\
         practice-sync adapter test                # the conformance suite, configured by subject.toml\n\
         practice-sync adapter build               # dist/{id}.wasm, by `npm run componentize`\n\
         practice-sync adapter check               # checks that a server accepts it\n```\n\n\
         It starts as an adapter for the simulated EHR: schedule, patients and booking, six resources and eight writes. It passes the\n\
         conformance suite. `src/adapter.js` has the tables of reads and writes, `src/requests.js` the paths and bodies, `src/map.js` the\n\
         mapping of rows to records, `src/faults.js` the meaning of the EHR's refusals, `src/lib/` the library for any adapter. Replace them\n\
         with those of your EHR one by one.\n\n\
         `adapter.toml` lists its requirements, `wit/` is the contract. `types/` are its typings; `jsconfig.json` enables them in editors. A\n\
         thrown Error, or a record that lacks a field, ends the call: `adapter run` prints the message, the field and the stack.\n\
         `AGENTS.md` has the rules for coding assistants.\n"
    )
}

const BOOKING: [(&str, &str); 5] = [
    ("src/lib.rs", include_str!("../../examples/booking/src/lib.rs")),
    ("src/client.rs", include_str!("../../examples/booking/src/client.rs")),
    ("src/map.rs", include_str!("../../examples/booking/src/map.rs")),
    ("src/tests.rs", include_str!("../../examples/booking/src/tests.rs")),
    ("fixtures/patients.json", include_str!("../../examples/booking/fixtures/patients.json")),
];

/// The configuration of `adapter run`.
const LOCAL: &str = "# Where the EHR is that `practice-sync adapter run` calls. Secrets: \"env:NAME\".\n\
    base_url = \"http://127.0.0.1:8090\"\nlocation = \"main-street\"\nzone = \"America/New_York\"\n\n\
    [headers]\n# authorization = \"env:MY_EHR_TOKEN\"\n\n[settings]\n";

/// The configuration of `adapter test`.
const SUBJECT: &str = include_str!("subject.toml");

/// Notes for coding assistants.
const AGENTS: &str = include_str!("../../examples/booking/AGENTS.md");

macro_rules! javascript {
    ($($file:literal: $source:literal)+) => { [$(($file, include_str!($source))),+] };
}

/// The adapter `sandbox-js`, and the contract.
const JAVASCRIPT: [(&str, &str); 26] = javascript! {
    "AGENTS.md": "../../sandbox-js/AGENTS.md"
    ".gitignore": "../../sandbox-js/.gitignore"
    "jsconfig.json": "../../sandbox-js/jsconfig.json"
    "package.json": "../../sandbox-js/package.json"
    "package-lock.json": "../../sandbox-js/package-lock.json"
    "src/adapter.js": "../../sandbox-js/src/adapter.js"
    "src/cursor.js": "../../sandbox-js/src/cursor.js"
    "src/faults.js": "../../sandbox-js/src/faults.js"
    "src/map.js": "../../sandbox-js/src/map.js"
    "src/requests.js": "../../sandbox-js/src/requests.js"
    "src/lib/adapter.js": "../../sandbox-js/src/lib/adapter.js"
    "src/lib/contract.js": "../../sandbox-js/src/lib/contract.js"
    "src/lib/fault.js": "../../sandbox-js/src/lib/fault.js"
    "src/lib/http.js": "../../sandbox-js/src/lib/http.js"
    "src/lib/time.js": "../../sandbox-js/src/lib/time.js"
    "src/lib/types.js": "../../sandbox-js/src/lib/types.js"
    "src/lib/utf8.js": "../../sandbox-js/src/lib/utf8.js"
    "test/adapter.test.js": "../../sandbox-js/test/adapter.test.js"
    "test/answers.js": "../../sandbox-js/test/answers.js"
    "test/host.js": "../../sandbox-js/test/host.js"
    "test/lib.test.js": "../../sandbox-js/test/lib.test.js"
    "types/contract.d.ts": "../../sandbox-js/types/contract.d.ts"
    "types/host.d.ts": "../../sandbox-js/types/host.d.ts"
    "wit/imports.wit": "../../../wit/v1/imports.wit"
    "wit/types.wit": "../../../wit/v1/types.wit"
    "wit/world.wit": "../../../wit/v1/world.wit"
};
