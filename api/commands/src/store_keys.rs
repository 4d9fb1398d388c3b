//! `store keys`, `store rotate-key` and `store drop-key`, for a running server or for a store that is not in use.

use std::{process::ExitCode, time::Duration};

use actix_web::rt::time::sleep;
use configuration::Config;
use engine::store::KeyId;
use framework::access::audited::service_entry;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::{
    audit_trail, logging,
    server::{self, ServerArguments, ServerSession, answer, text},
    table::TextTable,
    terminal::{CommandResult, print_line},
};

const LOOK: Duration = Duration::from_millis(500);
const KEEP: &str = "Keep a copy of store.key separate from the backups. Later backups cannot be read without it.";
const OLDER: &str =
    "Earlier backups stored elsewhere still need this key. Keep a copy of the earlier store.key with them.";

pub fn show(server: &ServerArguments, as_json: bool) -> ExitCode {
    let shown = async {
        let keys = answer(ServerSession::begin(server)?.get("/store/keys")).await?;
        let mut table = TextTable::new(&["ID", "ENCRYPTS NEW VALUES"], as_json);
        for key in keys["keys"].as_array().into_iter().flatten() {
            table.add(key, &[text(&key["id"]), if key["seals"] == true { "yes" } else { "no" }]);
        }
        table.show();
        match keys["values_left"].as_u64() {
            _ if as_json => {}
            Some(0) => {}
            Some(left) => print_line(format_args!("{left} values are not encrypted with the newest key yet.")),
            None => print_line("Values that are not sealed with the newest key yet are being counted."),
        }
        failed(&keys)
    };
    server::run(shown)
}

fn failed(keys: &Value) -> Result<(), String> {
    match keys["failed"].as_str() {
        Some(why) => Err(format!("not all values are encrypted with the newest key: {why}")),
        None => Ok(()),
    }
}

pub(super) fn rotate(server: &ServerArguments) -> ExitCode {
    server::run(rotate_running(server))
}

async fn rotate_running(server: &ServerArguments) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let mut keys = answer(session.post("/store/keys")).await?;
    let newest = keys["keys"][0]["id"].clone();
    print_line(format_args!("The key {} seals what is written from now on. {KEEP}", text(&newest)));
    let mut bar = RotationProgress::new();
    loop {
        failed(&keys)?;
        if keys["values_left"] == 0 {
            bar.end();
            print_line("All values are encrypted with it.");
            return Ok(());
        }
        keys["values_left"].as_u64().into_iter().for_each(|left| bar.show(left));
        sleep(LOOK).await;
        keys = answer(session.get("/store/keys")).await?;
    }
}

pub(super) fn rotate_at_rest(config: &Config) -> CommandResult {
    logging::start("warn")?;
    let mut bar = RotationProgress::new();
    let rotated = engine::rotate_key(&config.setup, &config.data_dir, |left| bar.show(left));
    bar.end();
    print_line(format_args!("All values are sealed with the key {}. {KEEP}", rotated?));
    append_audit_entry(config, "rotate store key", "practice-sync store rotate-key")
}

/// Appends an audit entry for a completed change.
fn append_audit_entry(config: &Config, action: &str, command: &str) -> CommandResult {
    let entry = service_entry(engine::clock::now(), action, "store", "done", command);
    audit_trail::append(&config.audit, &config.data_dir, &entry)
        .map_err(|error| format!("the change succeeded, but its audit entry could not be written: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

pub fn drop(server: &ServerArguments, key: KeyId) -> ExitCode {
    let dropped = async {
        let session = ServerSession::begin(server)?;
        answer(session.delete(&format!("/store/keys/{key}"))).await?;
        print_line(format_args!("The key {key} was dropped. {OLDER}"));
        Ok(())
    };
    server::run(dropped)
}

pub(super) fn drop_at_rest(config: &Config, key: KeyId) -> CommandResult {
    engine::drop_key(&config.setup, &config.data_dir, key)?;
    print_line(format_args!("The key {key} was dropped. {OLDER}"));
    append_audit_entry(config, "drop store key", "practice-sync store drop-key")
}

/// A progress bar, drawn on a terminal only. Its length is the number of remaining values at the first count.
struct RotationProgress {
    bar: ProgressBar,
    all: u64,
}

impl RotationProgress {
    fn new() -> RotationProgress {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("sealing {wide_bar} {human_pos} of {human_len} values, {eta}") {
            bar.set_style(style);
        }
        RotationProgress { bar, all: 0 }
    }

    fn show(&mut self, left: u64) {
        self.all = self.all.max(left);
        self.bar.set_length(self.all);
        self.bar.set_position(self.all - left);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
