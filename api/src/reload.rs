//! What a running server takes over of a configuration that has changed.

use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use actix_web::web::Data;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    access::{
        api::Api,
        directory::{StatusChange, Statuses},
    },
    config::{Access, Config},
    service_manager,
};

/// Where the configuration is read.
pub struct Reload {
    path: PathBuf,
    keys_file: PathBuf,
}

impl Reload {
    /// `config` is what the server was started with, and was read from `path`.
    pub fn new(path: &Path, config: &Config) -> Reload {
        Reload { path: path.to_path_buf(), keys_file: config.keys_file.clone() }
    }

    /// Whenever SIGHUP asks for it.
    pub(crate) async fn run(self, api: Data<Api>) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else {
            tracing::warn!("SIGHUP is not available: changes of keys and locations need a restart");
            return;
        };
        while hangups.recv().await.is_some() {
            if api.leaving.load(Ordering::Relaxed) {
                return;
            }
            service_manager::reloading();
            self.take_over(&api);
            service_manager::ready();
        }
    }

    /// The keys are taken whatever is wrong elsewhere; the configuration whole or not at all.
    pub fn take_over(&self, api: &Api) {
        match Config::load(&self.path) {
            Ok(config) => {
                let keys = config.keys.len();
                api.replace_keys(config.keys);
                api.replace_operators(config.operators);
                apply_statuses(api, &Statuses::from(&config.setup));
                tracing::info!(
                    keys,
                    "API keys and location statuses were reloaded; all other settings apply with the next start"
                );
            }
            Err(error) => {
                for problem in &error.problems {
                    tracing::error!(%problem, "invalid configuration: it is not taken over, and the next start would fail");
                }
                self.take_keys(api);
            }
        }
    }

    fn take_keys(&self, api: &Api) {
        match Access::load(&self.keys_file, api.engine.setup()) {
            Ok((access, _)) => {
                let keys = access.keys.len();
                api.replace_keys(access.keys);
                api.replace_operators(access.operators);
                tracing::info!(keys, "API keys were reloaded");
            }
            Err(error) => {
                tracing::error!(%error, file = %self.keys_file.display(), "the keys cannot be read; they are unchanged");
            }
        }
    }
}

fn apply_statuses(api: &Api, statuses: &Statuses) {
    for StatusChange { location, status, gone, taken } in api.apply_statuses(statuses) {
        let status = format!("{status:?}").to_lowercase();
        match (taken, gone) {
            // What its actor has begun, it ends; it is started as closed the next time, or not at all.
            (true, true) => {
                tracing::warn!(%location, "the location is no longer configured and is now closed")
            }
            (true, false) => {
                tracing::info!(%location, status, "the status of the location was reloaded")
            }
            (false, _) => tracing::warn!(%location, status, "the location opens with the next start"),
        }
    }
}
