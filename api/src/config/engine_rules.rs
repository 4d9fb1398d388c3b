//! The tables of the engine: `[engine]`, `[guests]`, `[webhooks]`, `[adapters]`, `[backup]`.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use engine::{
    setup::{BackupRules, EngineRules, GuestRules, StoreEngine},
    webhooks::limits::MAX_SECRET_OVERLAP,
};
use location::time::{DAY, HOUR, MINUTE, SECOND};

use super::{database, reader::Section};

const STORE_ENGINES: &[(&str, StoreEngine)] =
    &[("sled", StoreEngine::Sled), ("fjall", StoreEngine::Fjall), ("postgres", StoreEngine::Postgres)];

pub(super) fn read(root: &Section<'_, '_>) -> EngineRules {
    let mut rules = EngineRules { database: database::read(root), ..EngineRules::default() };
    engine(&root.settings("engine"), &mut rules);
    guests(&root.about("Calls of adapters.").settings("guests"), &mut rules.guests);
    let s = root.settings("webhooks");
    s.about("Maximum number of pending messages per endpoint. Further messages are dropped and counted.").knob(
        "queue",
        100..=10_000_000,
        &mut rules.webhooks.queue,
    );
    s.about("How long finished deliveries, with patient data, can be looked at and sent again.").duration(
        "keep",
        HOUR..=365 * DAY,
        &mut rules.webhooks.keep,
    );
    s.about("How long the earlier secret signs after a rotation, unless the rotation says so.").duration(
        "secret_overlap",
        0..=MAX_SECRET_OVERLAP,
        &mut rules.webhooks.secret_overlap,
    );
    let s = root.about("Adapters by name.").settings("adapters");
    s.about("The path of a component that `practice-sync adapter build` made.").note_any(
        "NAME",
        "a file",
        "\"adapters/NAME.wasm\"",
    );
    for name in s.keys() {
        let Some(file) = s.text(&name.value) else { continue };
        // An unusable component affects only its own locations; `config check` reports it.
        rules.adapters.insert(name.value, s.base().join(&file.value));
    }
    rules.backup = backup(root, rules.store_engine);
    rules
}

fn engine(s: &Section<'_, '_>, rules: &mut EngineRules) {
    s.about("Requests that wait for one location; more are answered with 503.").knob(
        "mailbox",
        1..=100_000,
        &mut rules.mailbox,
    );
    let mut idle = rules.idle_seconds as i64 * SECOND;
    s.about("A location without work leaves memory.").duration("idle", SECOND..=DAY, &mut idle);
    rules.idle_seconds = (idle / SECOND).unsigned_abs();
    s.about("Threads that run locations.").at_start().cores("actor_threads", 1..=256, &mut rules.actor_threads);
    let engine = s
        .about(
            "The engine of the store. It stays with the one it was made with: `practice-sync store copy` \
             moves it.",
        )
        .at_start()
        .choice("store_engine", STORE_ENGINES, &mut rules.store_engine);
    database::check(engine.as_ref(), rules, s);
    s.about(
        "Finished write requests, and decisions in the journal behind a location's snapshot, are deleted \
         at this age. Unfinished writes stay.",
    )
    .knob("history_days", 1..=3_650, &mut rules.history_days);
    mib(
        s.about("Below this much free disk, in MiB, commits are refused with 503.").at_start(),
        "store_floor_mib",
        0,
        &mut rules.store_floor_bytes,
    );
    mib(s.about("The store's cache, in MiB.").at_start(), "store_cache_mib", 8, &mut rules.store_cache_bytes);
    mib(
        s.about("Below this much free disk, in MiB, EHRs are not read: the rest is for bookings."),
        "pull_floor_mib",
        1,
        &mut rules.pull_floor_bytes,
    );
    let about = "How much data reading one location may write in a burst, in MiB.";
    mib(s.about(about), "pull_burst_mib", 1, &mut rules.pull_burst_bytes);
    mib(s.about("Additional MiB per minute."), "pull_mib_per_minute", 1, &mut rules.pull_bytes_per_minute);
    s.about(
        "A start on sled makes the store's files anew when they are this many times as large as what is \
         live in them. 0 switches it off.",
    )
    .at_start()
    .knob("store_compact_ratio", 0..=1_000, &mut rules.store_compact_ratio);
    s.about(
        "Compares every record with what was written before anything is served (1 to 2 s per million \
         records), instead of beside it.",
    )
    .at_start()
    .flag("store_verify", &mut rules.store_verify);
    s.about("Allows webhooks to this machine over plain http. For development only.")
        .at_start()
        .flag("webhook_development", &mut rules.webhook_development);
    rules.adapter_cache = s
        .about("Where compiled adapters are kept; by default `adapters` in `data_dir`.")
        .at_start()
        .text("adapter_cache")
        .map(|placed| s.base().join(placed.value));
}

/// Reads a size in MiB into a number of bytes.
fn mib(s: &Section<'_, '_>, key: &str, least: i64, bytes: &mut u64) {
    let mut mib = *bytes >> 20;
    s.knob(key, least..=1 << 20, &mut mib);
    *bytes = mib << 20;
}

fn guests(s: &Section<'_, '_>, guests: &mut GuestRules) {
    s.about("Maximum number of concurrent adapter calls.").at_start().knob("calls", 4..=1_000, &mut guests.host.calls);
    s.about("Maximum number of concurrent calls per data source.").at_start().knob(
        "calls_per_source",
        1..=1_000,
        &mut guests.host.calls_per_source,
    );
    s.about(
        "Of them, those to one EHR's address. The last eighth is for data sources that have none under \
         way there.",
    )
    .at_start()
    .knob("calls_per_host", 1..=1_000, &mut guests.host.calls_per_host);
    s.about("How long a call waits for a free slot. After that it is postponed, without counting as an EHR failure.")
        .std_duration("wait", 0..=5 * MINUTE, &mut guests.wait);
    s.about("How long compiling one component may take.").at_start().std_duration(
        "compile",
        SECOND..=HOUR,
        &mut guests.host.compile,
    );
    s.about("Processor time of a call.").std_duration("processor", 50..=MINUTE, &mut guests.processor);
    guests.host.signers = s
        .about(
            "Public keys, as `practice-sync adapter new-key` shows them. With any, only components that one \
             of them has signed are used.",
        )
        .at_start()
        .texts_as("signers", signer)
        .unwrap_or_default();
    s.about("Processor time of a call that reads a page.").std_duration(
        "pull_processor",
        50..=5 * MINUTE,
        &mut guests.pull_processor,
    );
}

fn backup(root: &Section<'_, '_>, store: StoreEngine) -> Option<BackupRules> {
    let s = root.about("Backups of the store. Without this table none are made.").table("backup")?;
    let folder = s.required(
        "folder",
        s.about("The backup folder: an existing separate folder on another disk than `data_dir`.").text("folder"),
    );
    let (mut every, mut keep) = (Duration::ZERO, 7);
    s.about("How old the newest may get before the next is made. 0s: only when asked for.").std_duration(
        "every",
        0..=30 * DAY,
        &mut every,
    );
    s.about("Number of backups to keep. Older ones are deleted after a new backup is complete.").knob(
        "keep",
        1..=10_000,
        &mut keep,
    );
    let folder = folder?;
    if store == StoreEngine::Postgres {
        let problem = "a store in a database is backed up with the database's own tools: remove [backup]";
        s.problems.add(folder.at, problem);
    }
    let every = Some(every).filter(|every| !every.is_zero());
    Some(BackupRules { folder: s.base().join(folder.value), every, keep })
}

/// Parses the public part of a key created by `adapter new-key`.
fn signer(text: &str) -> Result<[u8; 32], String> {
    let key = BASE64_STANDARD.decode(text).ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| {
        "must be a public key as `practice-sync adapter new-key` shows it: 44 characters of base64".to_owned()
    })
}
