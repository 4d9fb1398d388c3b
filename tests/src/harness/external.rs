//! Suites with requirements beyond a Rust toolchain. `PRACTICE_SYNC_EXTERNAL` selects them, separated by commas;
//! `all` selects every one. A selected suite whose tool is missing fails with the requirements. Other suites are
//! skipped with a message, and `tests/zz_left_out.rs` lists them at the end of a run.

use std::io::Write;

pub const VARIABLE: &str = "PRACTICE_SYNC_EXTERNAL";
const ALL: &str = "all";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    FhirServer,
    GnuHealth,
    Chromium,
    Node,
    Python,
    Postgres,
    Shell,
}

impl Suite {
    pub const EVERY: [Suite; 7] = [
        Suite::FhirServer,
        Suite::GnuHealth,
        Suite::Chromium,
        Suite::Node,
        Suite::Python,
        Suite::Postgres,
        Suite::Shell,
    ];

    /// Returns the suite's name in [`VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Suite::FhirServer => "fhir-server",
            Suite::GnuHealth => "gnuhealth",
            Suite::Chromium => "chromium",
            Suite::Node => "node",
            Suite::Python => "python",
            Suite::Postgres => "postgres",
            Suite::Shell => "shell",
        }
    }

    pub fn what(self) -> &'static str {
        match self {
            Suite::FhirServer => "a FHIR server from npm",
            Suite::GnuHealth => "a GNU Health server from PyPI",
            Suite::Chromium => "the browser extension and the console in Chromium",
            Suite::Node => "adapters, clients, receivers of webhooks and the extension's modules in JavaScript",
            Suite::Python => {
                "schemathesis, clients and receivers of webhooks in Python, a client of Open Dental's API, a FHIR server"
            }
            Suite::Postgres => "the store on a PostgreSQL server, also in the crate `store`",
            Suite::Shell => "the sessions of documents, and the installed binary without the checkout",
        }
    }

    pub fn needs(self) -> &'static str {
        match self {
            Suite::FhirServer | Suite::Node => NODE,
            Suite::GnuHealth | Suite::Python => PYTHON,
            Suite::Chromium => CHROMIUM,
            Suite::Postgres => POSTGRES,
            Suite::Shell => SHELL,
        }
    }

    /// Returns the files or folders of `tests/tests` with tests of the suite.
    pub fn tests(self) -> &'static [&'static str] {
        match self {
            Suite::FhirServer => &["conformance", "fhir_server", "main_story"],
            Suite::GnuHealth => &["conformance", "gnuhealth", "main_story"],
            Suite::Chromium => &["browser"],
            Suite::Node => &["agents", "browser", "clients", "conformance", "javascript_adapter", "webhook_receivers"],
            Suite::Python => &["clients", "fhir_server", "open_dental", "schemathesis", "webhook_receivers"],
            Suite::Postgres => &["kill9", "nodes", "postgres", "simulation"],
            Suite::Shell => &["adapter_author", "installed", "sessions"],
        }
    }

    /// Returns whether the suite is not selected. If so, prints that the calling test is skipped.
    pub fn is_skipped(self) -> bool {
        let left_out = !named().contains(&self);
        if left_out {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a test");
            say(&format!("LEFT OUT {test}: {VARIABLE} does not name {}", self.name()));
        }
        left_out
    }

    /// Fails the test because a requirement is missing.
    pub fn lacks(self, why: &str) -> ! {
        let (name, needs) = (self.name(), self.needs());
        panic!("{why}\nThe suite {name}, which {VARIABLE} names, needs {needs}.")
    }
}

const NODE: &str = "Node.js 20 or newer with npm, and npm's registry when it runs for the first time";
const PYTHON: &str = "Python 3.11 or newer with venv (Debian: python3-venv), and PyPI when it runs for the first time";
const POSTGRES: &str = "PostgreSQL 15 or newer (Debian: postgresql)";
const SHELL: &str = "sh, curl and unshare (Debian: curl, util-linux)";
const CHROMIUM: &str =
    "Chromium (Debian: chromium), Node.js 20 or newer with npm, and npm's registry when it runs for the first time";

/// Returns the selected suites. Panics on an unknown name.
pub fn named() -> Vec<Suite> {
    let list = std::env::var(VARIABLE).unwrap_or_default();
    read(&list).unwrap_or_else(|error| panic!("{error}"))
}

/// Prints to standard error, also from a passing test: the test harness captures `eprintln!`.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the message about skipped suites at the end of a run.
pub fn summary(left_out: &[Suite]) -> String {
    let rows = left_out.iter().map(|suite| {
        let (name, what, tests, needs) = (suite.name(), suite.what(), suite.tests().join(", "), suite.needs());
        format!("  {name:<12} {what} (in {tests})\n  {:<12} needs {needs}\n", "")
    });
    let rows: String = rows.collect();
    format!(
        "\nLEFT OUT, because {VARIABLE} does not name them:\n{rows}To run all of them: {VARIABLE}={ALL} cargo test --workspace; some: \
         their names, separated by commas.\n"
    )
}

pub fn read(list: &str) -> Result<Vec<Suite>, String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut named = Vec::new();
    for name in names {
        if name == ALL {
            named.extend(Suite::EVERY);
            continue;
        }
        let known = Suite::EVERY.into_iter().find(|suite| suite.name() == name);
        named.push(known.ok_or_else(|| {
            let names = Suite::EVERY.map(Suite::name).join(", ");
            format!("{VARIABLE} names `{name}`, which is no suite. There are: {names}; {ALL} names every one")
        })?);
    }
    Ok(named)
}
