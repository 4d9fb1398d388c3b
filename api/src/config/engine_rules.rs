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
    guests(&root.settings("guests"), &mut rules.guests);
    let s = root.settings("webhooks");
    s.knob("queue", 100..=10_000_000, &mut rules.webhooks.queue);
    s.duration("keep", HOUR..=365 * DAY, &mut rules.webhooks.keep);
    s.duration("secret_overlap", 0..=MAX_SECRET_OVERLAP, &mut rules.webhooks.secret_overlap);
    let s = root.settings("adapters");
    for name in s.keys() {
        let Some(file) = s.text(&name.value) else { continue };
        // Whether it can be used is the matter of its own locations, and told by `config check`.
        rules.adapters.insert(name.value, s.base().join(&file.value));
    }
    rules.backup = backup(root, rules.store_engine);
    rules
}

fn engine(s: &Section<'_, '_>, rules: &mut EngineRules) {
    s.knob("mailbox", 1..=100_000, &mut rules.mailbox);
    let mut idle = rules.idle_seconds as i64 * SECOND;
    s.duration("idle", SECOND..=DAY, &mut idle);
    rules.idle_seconds = (idle / SECOND).unsigned_abs();
    s.knob("actor_threads", 1..=256, &mut rules.actor_threads);
    let engine = s.choice("store_engine", STORE_ENGINES, &mut rules.store_engine);
    database::check(engine.as_ref(), rules, s);
    s.knob("history_days", 1..=3_650, &mut rules.history_days);
    for (name, least, bytes) in [
        ("store_floor_mib", 0, &mut rules.store_floor_bytes),
        ("store_cache_mib", 8, &mut rules.store_cache_bytes),
        ("pull_floor_mib", 1, &mut rules.pull_floor_bytes),
        ("pull_burst_mib", 1, &mut rules.pull_burst_bytes),
        ("pull_mib_per_minute", 1, &mut rules.pull_bytes_per_minute),
    ] {
        let mut mib = *bytes >> 20;
        s.knob(name, least..=1 << 20, &mut mib);
        *bytes = mib << 20;
    }
    s.knob("store_compact_ratio", 0..=1_000, &mut rules.store_compact_ratio);
    s.flag("store_verify", &mut rules.store_verify);
    s.flag("webhook_development", &mut rules.webhook_development);
    rules.adapter_cache = s.text("adapter_cache").map(|placed| s.base().join(placed.value));
}

fn guests(s: &Section<'_, '_>, guests: &mut GuestRules) {
    s.knob("calls", 4..=1_000, &mut guests.host.calls);
    s.knob("calls_per_source", 1..=1_000, &mut guests.host.calls_per_source);
    s.knob("calls_per_host", 1..=1_000, &mut guests.host.calls_per_host);
    s.std_duration("wait", 0..=5 * MINUTE, &mut guests.wait);
    s.std_duration("compile", SECOND..=HOUR, &mut guests.host.compile);
    s.std_duration("processor", 50..=MINUTE, &mut guests.processor);
    guests.host.signers = s.texts_as("signers", signer).unwrap_or_default();
    s.std_duration("pull_processor", 50..=5 * MINUTE, &mut guests.pull_processor);
}

fn backup(root: &Section<'_, '_>, store: StoreEngine) -> Option<BackupRules> {
    let s = root.table("backup")?;
    let folder = s.required("folder", s.text("folder"));
    let (mut every, mut keep) = (Duration::ZERO, 7);
    s.std_duration("every", 0..=30 * DAY, &mut every);
    s.knob("keep", 1..=10_000, &mut keep);
    let folder = folder?;
    if store == StoreEngine::Postgres {
        let problem = "a store in a database is backed up with the database's own tools: remove [backup]";
        s.problems.add(folder.at, problem);
    }
    let every = Some(every).filter(|every| !every.is_zero());
    Some(BackupRules { folder: s.base().join(folder.value), every, keep })
}

/// The public half of a key that `adapter new-key` makes.
fn signer(text: &str) -> Result<[u8; 32], String> {
    let key = BASE64_STANDARD.decode(text).ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| {
        "must be a public key as `practice-sync adapter new-key` shows it: 44 characters of base64".to_owned()
    })
}
