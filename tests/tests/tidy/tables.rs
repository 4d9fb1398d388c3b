//! The permitted state, one table per rule. The tables should shrink; unused rows must be removed.

use crate::{
    arrows::CrateDependencies,
    circles::ImportCycle,
    language::Allowed,
    rooms::{Tool, Used},
};

/// Each crate with exactly its dependencies within the workspace.
pub const ARROWS: &[CrateDependencies] = &[
    (
        "api",
        &[
            "framework", "endpoints", "configuration", "operator-console", "commands", "audit", "engine", "location",
            "sandbox-ehr", "sandbox-host", "adapter-kit", "cloud-ehr",
        ],
    ),
    (
        "commands",
        &[
            "framework", "endpoints", "configuration", "audit", "engine", "location", "adapter-kit",
            "adapter-conformance", "sandbox-ehr", "sandbox-host",
        ],
    ),
    // Independent of each other.
    ("operator-console", &["framework", "endpoints", "audit", "engine", "location"]),
    ("configuration", &["framework", "endpoints", "engine", "location"]),
    ("endpoints", &["framework", "view-macro", "engine", "location"]),
    ("framework", &["audit", "engine", "location"]),
    ("view-macro", &[]),
    // The facade.
    (
        "engine",
        &[
            "location", "records", "runtime", "setup", "store", "query", "webhooks", "workstations", "adapter-host",
            "processor", "membership",
        ],
    ),
    // Independent of each other: webhooks follow the log of changes that the processor writes.
    ("processor", &["location", "records", "runtime", "setup", "store", "query"]),
    ("webhooks", &["location", "records", "runtime", "setup", "store", "query"]),
    ("workstations", &["location", "records", "runtime", "setup", "store", "adapter-host"]),
    // Fixtures, for dev-dependencies.
    ("testing", &["location", "records", "setup", "store", "webhooks"]),
    ("query", &["location", "records", "runtime", "store"]),
    ("membership", &["store"]),
    // Independent of all other crates: callers pass the entries.
    ("audit", &[]),
    ("adapter-host", &["location", "records", "runtime", "setup", "adapter-component"]),
    // The base crates.
    ("setup", &["location"]),
    ("store", &["location", "runtime"]),
    ("records", &["demographics", "location", "record-macro"]),
    ("record-macro", &[]),
    ("demographics", &[]),
    ("runtime", &["location"]),
    ("location", &[]),
    // The simulated practice depends on no other crate and is injected.
    ("sandbox-ehr", &[]),
    ("sandbox-host", &["engine", "location", "sandbox-ehr"]),
    ("adapter-kit", &["adapter-component"]),
    // Like the engine, the suite runs adapters through the host.
    ("adapter-conformance", &["location", "records", "runtime", "setup", "adapter-host"]),
    ("adapter-component", &[]),
    ("adapter-sdk", &[]),
    ("sandbox-adapter", &["adapter-sdk"]),
    ("fhir-adapter", &["adapter-sdk"]),
    ("gnuhealth-adapter", &["adapter-sdk"]),
    ("opendental-adapter", &["adapter-sdk", "demographics"]),
    ("gated-cloud-adapter", &["adapter-sdk"]),
    ("example-list-adapter", &["adapter-sdk"]),
    ("example-booking-adapter", &["adapter-sdk"]),
    ("hostile-guest", &["adapter-sdk"]),
    ("cloud-ehr", &[]),
    ("postgres-server", &[]),
    // A separate workspace.
    ("extism-bench", &["sandbox-ehr"]),
    ("extism-plugin", &[]),
    (
        "tests",
        &[
            "api", "framework", "endpoints", "configuration", "audit", "engine", "location", "records", "runtime",
            "setup", "store", "testing", "query", "webhooks", "workstations", "adapter-host", "processor",
            "sandbox-ehr", "sandbox-host", "adapter-kit", "adapter-conformance", "cloud-ehr", "postgres-server",
        ],
    ),
];

/// Libraries and calls with the folders and files that may use them.
pub const TOOLS: &[Tool] = &[
    Tool { used: Used::Crates(&["actix_web", "actix_ws", "actix_http", "actix_service"]), rooms: &["api"] },
    Tool { used: Used::Crates(&["actix"]), rooms: &["engine/processor/src/actor", "engine/src/directory.rs"] },
    Tool { used: Used::Crates(&["sled"]), rooms: &["engine/store/src/sled"] },
    Tool { used: Used::Crates(&["fjall"]), rooms: &["engine/store/src/fjall"] },
    Tool { used: Used::Crates(&["tokio_postgres"]), rooms: &["engine/store/src/postgres"] },
    Tool { used: Used::Crates(&["tokio_rustls"]), rooms: &["engine/store/src/postgres", "api/src/server"] },
    Tool { used: Used::Crates(&["socket2"]), rooms: &["api/src/server"] },
    Tool { used: Used::Crates(&["wasmtime"]), rooms: &["engine/adapter-host/src"] },
    Tool {
        used: Used::Crates(&["reqwest", "hyper"]),
        rooms: &[
            "engine/adapter-host/src",
            "engine/webhooks/src/egress.rs",
            "api/framework/src/http/cors.rs",
            "api/framework/src/nodes/forward.rs",
            "api/commands/src/server.rs",
            "api/commands/src/check_client",
            "api/src/demo",
            "api/commands/src/tracing_export.rs",
        ],
    },
    Tool {
        used: Used::Crates(&["prometheus"]),
        rooms: &["engine/runtime/src/metrics.rs", "api/framework/src/http/metrics.rs"],
    },
    // All other code creates spans with `tracing`.
    Tool {
        used: Used::Crates(&[
            "opentelemetry", "opentelemetry_sdk", "opentelemetry_otlp", "opentelemetry_http", "tracing_opentelemetry",
        ]),
        rooms: &["api/commands/src/tracing_export.rs"],
    },
    Tool {
        used: Used::Crates(&["getrandom"]),
        rooms: &[
            "engine/runtime/src/clock.rs",
            "engine/adapter-host/src/cache.rs",
            "engine/store/src/envelope.rs",
            "engine/store/src/store_keys.rs",
            "api/framework/src/values/secret.rs",
        ],
    },
    // Index entries. Lists are requested with `query::lists::Filter`.
    Tool {
        used: Used::Calls(&["records::index", "query::index::IndexEntries"]),
        rooms: &["engine/query/src", "engine/processor/src/unit_of_work/mod.rs"],
    },
    // The wall clock.
    Tool {
        used: Used::Calls(&["SystemTime::now", "Utc::now", "Local::now"]),
        rooms: &[
            "engine/runtime/src/clock.rs",
            "engine/adapter-host/src/link.rs",
            "api/src/demo/cloud.rs",
            // Sample code for receivers of webhooks.
            "api/endpoints/src/resources/documentation/snippets/verify.rs",
        ],
    },
    // Durations; never in the rules of a location.
    Tool {
        used: Used::Calls(&["Instant::now"]),
        rooms: &[
            "engine/adapter-host",
            "adapters/conformance/src",
            "engine/processor/src",
            "engine/query/src/index/state.rs",
            "engine/src/audit_follower.rs",
            "engine/src/cluster.rs",
            "engine/src/ehr_hints.rs",
            "engine/src/rotation.rs",
            "engine/runtime/src",
            "engine/store/src",
            "engine/testing/src/until.rs",
            "engine/workstations/src",
            "api",
        ],
    },
];

/// Tests and benchmarks may use anything.
pub const ANY_TOOL: &[&str] = &["tests"];

/// Known circular imports that should be removed.
pub const CIRCLES: &[ImportCycle] = &[];

/// Folders without documentation: folder and reason.
pub const FOLDERS_WITHOUT_DOCUMENT: &[(&str, &str)] = &[
    ("adapters/sdk/generated", "generated from the contract"),
    ("api/endpoints/src/resources/documentation/snippets", "sample files of the documentation"),
];

const KEYS_FILE: &str = "created by an operator with `practice-sync keys add`";

/// Paths in documents that do not exist: document, path, reason.
pub const PATHS_THAT_DO_NOT_EXIST: &[(&str, &str, &str)] = &[
    ("README.md", "DIR/demo.toml", "DIR is chosen by the reader"),
    ("adapters/README.md", "keys.toml", KEYS_FILE),
    ("api/deploy/README.md", "keys.toml", KEYS_FILE),
    ("api/docs/operations/configure.md", "keys.toml", KEYS_FILE),
    ("api/docs/operations/nodes.md", "keys.toml", KEYS_FILE),
    ("README.md", "adapters/extension/dist", "created by `npm run build`"),
    ("adapters/extension/README.md", "adapters/extension/dist", "created by `npm run build`"),
];

/// Files that neither a module declares nor cargo finds: file and compiler.
pub const COMPILED_OTHERWISE: &[(&str, &str)] = &[
    ("adapters/kit/src/minimal/lib.rs", "compiled by the kit as part of a new adapter"),
    ("engine/store/tests/power_cut/shim.rs", "compiled by the test as a preloaded library of its process"),
    ("tests/tests/nodes/clock_shim.rs", "compiled by the test as a preloaded library of its nodes"),
];

/// Files of more than 500 lines: file and reason.
pub const LONG_FILES: &[(&str, &str)] = &[
    ("adapters/sdk/generated/bindings.rs", "generated from the contract"),
    ("api/endpoints/src/routes/table.rs", "all endpoints in one table"),
    ("engine/processor/src/actor/mod.rs", "one actor: turns, timers, loading and unloading"),
    ("engine/webhooks/src/registry.rs", "all changes of endpoints and subscriptions under one lock"),
];

/// Released folders of the contract with the hash of their types. A row never changes: a new version gets its own
/// folder.
pub const RELEASED: &[(&str, &str)] = &[("wit/v1", "d89bc3a80f4ea7c9bbf5b9a5f7f70727fcd8afe4b24a2672ab58c0fb60a67e5b")];

/// Exceptions from `language.rs` that are older than the rule. These numbers only go down.
pub const LANGUAGE: Allowed =
    Allowed { comments: &[], markdown: &[("api/docs/operations/configuration.md", 15)], long_lines: 0, test_names: 0 };
