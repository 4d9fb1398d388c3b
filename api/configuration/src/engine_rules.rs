//! The tables of the engine: `[postgres]`, `[engine]`, `[guests]`, `[webhooks]`, `[adapters]`, `[backup]`.

use std::time::Duration;

use engine::{
    setup::{
        BackupRules, EngineRules, StoreEngine,
        database::{Database, DatabaseTls},
        secret::Secret,
    },
    store::postgres::PostgresConfig,
};
use location::{
    keys::{ConfigKey, KeyReader, KeyTable},
    time::DAY,
};

use crate::{
    kinds::{credential, text},
    reader::Section,
};

pub(crate) fn read(root: &Section<'_, '_>) -> EngineRules {
    let mut rules = EngineRules { database: database(root), ..EngineRules::default() };
    let s = root.table_or_empty(ConfigKey::reload("engine", ""));
    rules.read_keys(&s);
    let is_postgres = rules.store_engine == StoreEngine::Postgres;
    if is_postgres && rules.database.url.is_none() {
        let problem = "store_engine = \"postgres\" needs the address of the database: set `url` in [postgres]";
        s.report_key("store_engine", problem);
    }
    root.nested(ConfigKey::reload("guests", "Calls of adapters."), &mut rules.guests);
    root.nested(ConfigKey::reload("webhooks", ""), &mut rules.webhooks);
    let s = root.table_or_empty(ConfigKey::reload("adapters", "Adapters by name."));
    let name = ConfigKey::reload("NAME", "The path of a component that `practice-sync adapter build` made.");
    // An unusable component affects only its own locations; `config check` reports it.
    let files = s.entries(name, &text().described("a file", "\"adapters/NAME.wasm\"")).into_iter();
    rules.adapters = files.filter_map(|(name, file)| Some((name.value, s.base().join(file?)))).collect();
    rules.backup = backup(root, rules.store_engine);
    rules
}

fn database(root: &Section<'_, '_>) -> Database {
    let about = "The database of the store, with `store_engine = \"postgres\"`.";
    let s = root.table_or_empty(ConfigKey::restart("postgres", about));
    let about = "The address of the database. Its user must own the tables. Of several hosts the one that takes \
                 writes is used.";
    let url = s.read(ConfigKey::restart("url", about), &credential(address));
    let mut database = Database { url, ..Database::default() };
    database.read_keys(&s);
    let about = "A file with the authorities to trust, PEM; by default those of this machine.";
    let ca = s.read(ConfigKey::restart("ca_file", about), &text());
    let about = "`verify`: TLS over a network, with a certificate that names the host.";
    let mut verify = true;
    s.word(ConfigKey::restart("tls", about), &mut verify, &[("verify", true), ("off", false)]);
    database.tls = match (verify, ca) {
        (true, ca) => DatabaseTls::Verify { ca: ca.map(|file| s.base().join(file)) },
        (false, None) => DatabaseTls::Off,
        (false, Some(_)) => {
            s.report_key("ca_file", "`ca_file` has no effect with tls = \"off\": remove one of them");
            DatabaseTls::Off
        }
    };
    database
}

fn address(url: String) -> Result<Secret, String> {
    match PostgresConfig::new(url.as_str()).is_readable() {
        true => Ok(Secret::new(url)),
        false => Err("must be an address such as postgresql://user:password@host:5432/database".into()),
    }
}

fn backup(root: &Section<'_, '_>, store: StoreEngine) -> Option<BackupRules> {
    let s = root.table(ConfigKey::reload("backup", "Backups of the store. Without this table none are made."))?;
    let about = "The backup folder: an existing separate folder on another disk than `data_dir`.";
    let folder = s.required(ConfigKey::reload("folder", about), &text());
    let (mut every, mut keep) = (Duration::ZERO, 7);
    let about = "How old the newest may get before the next is made. 0s: only when asked for.";
    s.std_duration(ConfigKey::reload("every", about), &mut every, 0..=30 * DAY);
    let about = "Number of backups to keep. Older ones are deleted after a new backup is complete.";
    s.integer(ConfigKey::reload("keep", about), &mut keep, 1..=10_000);
    if store == StoreEngine::Postgres {
        let problem = "a store in a database is backed up with the database's own tools: remove [backup]";
        s.report_key("folder", problem);
    }
    let every = Some(every).filter(|every| !every.is_zero());
    Some(BackupRules { folder: s.base().join(folder?), every, keep })
}
