//! Configuration reload of a running server: on SIGHUP, by an operator's call, and when files change. A single task
//! does it, so that each configuration is compared with the previous one.
//!
//! ```text
//!  watch      detection of changed files
//! ```

mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use actix_web::{rt::task::spawn_blocking, web::Data};
use commands::logging;
use configuration::{Config, ConfigError, KeyFileContents};
use engine::{NotReconfigurable, simulated::OpenSimulated};
use framework::access::{
    api::Api,
    audited::service_entry,
    operators::OperatorToken,
    reloads::{ReloadOutcome, ReloadRequest},
};
use futures_util::FutureExt;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::watch::{FileStatus, Stamps, WatchedFiles};
use crate::service_manager;

/// Interval between checks of the files.
const LOOK: Duration = Duration::from_secs(2);
/// Capacity of the queue of reload requests.
const QUEUED: usize = 16;

/// Active configuration and its source.
pub struct Reload {
    path: PathBuf,
    config: Config,
    /// File stamps at the last read: of all files, and of the keys file.
    watched: WatchedFiles,
    watched_keys: WatchedFiles,
    /// Handles signals from the creation on: before a handler exists, SIGHUP ends the process. `None` if signals cannot
    /// be handled.
    hangups: Option<Signal>,
    /// Opens simulated EHRs of data sources in this process.
    simulated: Arc<dyn OpenSimulated>,
}

impl Reload {
    /// Creates a reload for a server that starts with `config`, read from `path`. Must be called within a runtime.
    pub fn new(path: &Path, config: &Config, simulated: Arc<dyn OpenSimulated>) -> Reload {
        let (all, keys) = stamps(path, &config.keys_file);
        Reload {
            path: path.to_path_buf(),
            config: config.clone(),
            watched: WatchedFiles::new(all),
            watched_keys: WatchedFiles::new(keys),
            hangups: signal(SignalKind::hangup()).ok(),
            simulated,
        }
    }

    /// Starts the reload task, which runs until the server ends.
    pub fn start(self, api: Data<Api>) {
        let (ask, asked) = mpsc::channel(QUEUED);
        // Only one task may reload the configuration; later ones are not started.
        if api.reloads.set(ask).is_ok() {
            actix_web::rt::spawn(self.run(api, asked));
        }
    }

    async fn run(mut self, api: Data<Api>, mut asked: mpsc::Receiver<ReloadRequest>) {
        let Some(mut hangups) = self.hangups.take() else {
            tracing::error!("signals cannot be handled; changes of the configuration need a restart");
            return;
        };
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !api.leaving.load(Ordering::Relaxed) {
            let asked = tokio::select! {
                asked = asked.recv() => Some(asked),
                hangup = hangups.recv() => match hangup {
                    Some(()) => Some(None),
                    None => return,
                },
                _ = looks.tick() => None,
            };
            let reloading = async {
                match asked {
                    Some(asked) => self.handle_request(&api, asked).await,
                    None => self.reload_changed_files(&api).await,
                }
            };
            // Changes applied before the panic remain. The next change or request reads the files again.
            if AssertUnwindSafe(reloading).catch_unwind().await.is_err() {
                tracing::error!("a reload ended in a panic");
                // systemd may have been notified of the reload and wait for its end.
                service_manager::ready();
            }
        }
    }

    async fn handle_request(&mut self, api: &Data<Api>, asked: Option<ReloadRequest>) {
        api.certificates.refresh(api.engine.now());
        let reloaded = match &asked {
            Some(asked) if asked.dry_run => self.compare(asked.config.as_deref().unwrap_or(&self.path)).await.1,
            asked => {
                let allow_removal = asked.as_ref().is_some_and(|asked| asked.allow_removal);
                service_manager::reloading();
                let reloaded = self.reload(api, allow_removal).await;
                service_manager::ready();
                reloaded
            }
        };
        if asked.is_none() {
            note(api, "reload configuration", reloaded.applied);
        }
        if let Some(asked) = asked {
            // The requester may have disconnected.
            let _ = asked.answer.send(reloaded);
        }
    }

    /// Reloads files that have changed and are no longer being written.
    async fn reload_changed_files(&mut self, api: &Data<Api>) {
        if !self.config.watch {
            return;
        }
        let (path, keys_file) = (self.path.clone(), self.config.keys_file.clone());
        let Ok((all, keys)) = spawn_blocking(move || stamps(&path, &keys_file)).await else { return };
        match (self.watched.check(all), self.watched_keys.check(keys)) {
            // A reload reads both, so it waits until neither changes.
            (_, FileStatus::Changing)
            | (FileStatus::Changing, FileStatus::AsRead)
            | (FileStatus::AsRead, FileStatus::AsRead) => {}
            (FileStatus::Changed, _) => note(api, "reload configuration", self.reload(api, false).await.applied),
            (_, FileStatus::Changed) => self.take_keys(api).await,
        }
    }

    /// Loads a configuration and compares it with the active one.
    async fn compare(&self, path: &Path) -> (Option<Config>, ReloadOutcome) {
        let path = path.to_path_buf();
        let loaded = spawn_blocking(move || Config::load(&path)).await;
        let loaded = loaded.unwrap_or_else(|error| {
            tracing::error!(%error, "reading the configuration was interrupted");
            Err(ConfigError { problems: Vec::new() })
        });
        match loaded {
            // Without a keys file, a start has no keys. A running server treats this as an error.
            Ok(config) if !config.keys_file.exists() && self.has_access() => {
                let file = config.keys_file.display();
                let problem =
                    format!("{file}: is gone; keys and operators stay as they are, and an empty file revokes all");
                (None, ReloadOutcome { problems: vec![problem], ..ReloadOutcome::default() })
            }
            Ok(config) => {
                let mut changes = self.config.values.changes(&config.values);
                changes.lines.extend(access_changes(&self.config.access, &config.access));
                let reloaded = ReloadOutcome {
                    changes: changes.lines,
                    needs_restart: changes.at_start,
                    removals: changes.removed,
                    ..ReloadOutcome::default()
                };
                (Some(config), reloaded)
            }
            Err(error) => {
                let problems = error.problems.iter().map(ToString::to_string).collect();
                (None, ReloadOutcome { problems, ..ReloadOutcome::default() })
            }
        }
    }

    /// Reloads the configuration completely or not at all; the keys are applied regardless of other errors. Removing
    /// institutions and locations requires `allow_removal`, since a table deleted by mistake would close its location
    /// immediately.
    pub async fn reload(&mut self, api: &Data<Api>, allow_removal: bool) -> ReloadOutcome {
        // Taken before the read, so that the next check detects concurrent changes.
        let (all, keys) = stamps(&self.path, &self.config.keys_file);
        let (config, mut reloaded) = self.compare(&self.path).await;
        if allow_removal {
            reloaded.removals.clear();
        }
        self.watched.is_read(all);
        config.iter().for_each(|config| self.revoke(api, config));
        if let Some(config) = config.filter(|_| reloaded.needs_restart.is_empty() && reloaded.removals.is_empty()) {
            match self.apply(api, config).await {
                Ok(()) => {
                    self.watched_keys.is_read(keys);
                    reloaded.applied = true;
                }
                Err(NotReconfigurable::Restart(names)) => reloaded.needs_restart = names,
                Err(NotReconfigurable::Unusable(problems)) => reloaded.problems = problems,
                Err(NotReconfigurable::Store(error)) => {
                    reloaded.problems.push(error.to_string());
                    // Retried at the next check, since the store may accept the change soon.
                    self.watched.is_read(Stamps::default());
                }
            }
        }
        self.log_outcome(&reloaded);
        if !reloaded.applied {
            self.take_keys(api).await;
        }
        reloaded
    }

    fn log_outcome(&self, reloaded: &ReloadOutcome) {
        if reloaded.applied {
            reloaded.changes.iter().for_each(|change| tracing::info!(change, "the configuration has changed"));
            tracing::info!(changes = reloaded.changes.len(), "the configuration was reloaded");
            return;
        }
        for problem in &reloaded.problems {
            tracing::error!(problem, "the configuration was not applied, and the next start may fail");
        }
        if !reloaded.needs_restart.is_empty() {
            let keys = reloaded.needs_restart.join(", ");
            tracing::error!(keys, "the configuration was not applied: changes of these keys need a restart");
        }
        for removal in &reloaded.removals {
            let confirm = "practice-sync config reload --allow-removal";
            tracing::error!(removal, confirm, "the configuration was not applied: this removal is unconfirmed");
        }
    }

    /// Applies a configuration. The only step that can fail comes first.
    async fn apply(&mut self, api: &Data<Api>, mut config: Config) -> Result<(), NotReconfigurable> {
        // Set on the command line.
        config.setup.engine.accept_empty_store = self.config.setup.engine.accept_empty_store;
        api.reconfigure(config.setup.clone(), &*self.simulated).await?;
        self.replace_access(api, config.access.clone());
        api.replace_rules(config.http.clone());
        if let Err(problem) = logging::filter_by(&config.log) {
            tracing::error!(%problem, "the log filter is unchanged");
        }
        self.config = config;
        Ok(())
    }

    /// Revokes removed keys, operators and rights immediately, ahead of slower steps. Meanwhile, a changed key or
    /// operator has only the rights that both versions have: without the key, its calls would be refused, and the
    /// webhook messages of its organisation would never be created.
    fn revoke(&mut self, api: &Api, now: &Config) {
        let (before, now) = (&self.config.access, &now.access);
        let keys = before.keys.iter().filter_map(|key| now.keys.iter().find_map(|now| key.restricted_to(now)));
        let operators = before.operators.iter().filter_map(|operator| {
            let now = now.operators.iter().find(|now| now.hash == operator.hash)?;
            Some(OperatorToken { role: operator.role.min(now.role), ..operator.clone() })
        });
        let access = KeyFileContents { keys: keys.collect(), operators: operators.collect() };
        self.replace_access(api, access);
    }

    fn has_access(&self) -> bool {
        !self.config.access.keys.is_empty() || !self.config.access.operators.is_empty()
    }

    /// Replaces keys and operators. Unchanged keys are not replaced, because that would repeat reads in flight.
    fn replace_access(&mut self, api: &Api, access: KeyFileContents) {
        if access.keys != self.config.access.keys {
            api.replace_keys(access.keys.clone());
        }
        api.replace_operators(access.operators.clone());
        self.config.access = access;
    }

    /// Reloads keys and operators. Invalid keys grant nothing. Institutions and locations remain unchanged.
    async fn take_keys(&mut self, api: &Data<Api>) {
        let file = self.config.keys_file.clone();
        let setup = self.config.setup.clone();
        let loaded =
            spawn_blocking(move || (Stamps::from_files([file.clone()]), KeyFileContents::load(&file, &setup))).await;
        let Ok((stamps, loaded)) = loaded else { return };
        self.watched_keys.is_read(stamps);
        match loaded {
            Ok((access, problems)) => {
                for problem in &problems {
                    tracing::error!(%problem, "an invalid key grants nothing, and the next start would fail");
                }
                let changes = access_changes(&self.config.access, &access);
                changes.iter().for_each(|change| tracing::info!(change, "the keys have changed"));
                if !changes.is_empty() {
                    note(api, "reload API keys", true);
                }
                self.replace_access(api, access);
            }
            Err(error) => {
                let file = self.config.keys_file.display();
                tracing::error!(%error, %file, "the keys cannot be read; they are unchanged");
            }
        }
    }
}

/// Appends an audit entry for a reload without a call. Calls have their own entries.
fn note(api: &Api, action: &str, applied: bool) {
    let status = if applied { "applied" } else { "refused" };
    api.append_of_service(service_entry(api.engine.now(), action, "configuration", status, ""));
}

/// Returns the stamps of all configuration files, and of the keys file.
fn stamps(path: &Path, keys_file: &Path) -> (Stamps, Stamps) {
    (Stamps::from_files(Config::files(path)), Stamps::from_files([keys_file.to_path_buf()]))
}

/// Returns a line for each key and operator that was added, removed or changed.
fn access_changes(old: &KeyFileContents, new: &KeyFileContents) -> Vec<String> {
    let mut lines = changes("key", &old.keys, &new.keys, |key| &key.name);
    lines.extend(changes("operator", &old.operators, &new.operators, |operator| &operator.name));
    lines
}

fn changes<T: PartialEq>(what: &str, old: &[T], new: &[T], name: impl Fn(&T) -> &String) -> Vec<String> {
    let by_name = |all: &'_ [T]| -> BTreeMap<String, usize> {
        all.iter().enumerate().map(|(n, it)| (name(it).clone(), n)).collect()
    };
    let (before, now) = (by_name(old), by_name(new));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |name: &String| match (before.get(name), now.get(name)) {
        (None, _) => Some(format!("+ {what} {name}")),
        (_, None) => Some(format!("- {what} {name}")),
        (Some(before), Some(now)) => (old[*before] != new[*now]).then(|| format!("~ {what} {name} changed")),
    };
    names.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::process::Command;

    use engine::simulated::NoSimulatedEhrs;

    use super::*;

    #[actix_web::test]
    async fn a_hangup_before_the_start_does_not_end_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let mut reload = Reload::new(dir.path(), &Config::default(), Arc::new(NoSimulatedEhrs));
        let pid = std::process::id().to_string();
        assert!(Command::new("sh").args(["-c", "kill -HUP $0", &pid]).status().unwrap().success());
        assert_eq!(reload.hangups.as_mut().unwrap().recv().await, Some(()), "the reload follows the start");
    }
}
