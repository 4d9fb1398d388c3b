//! `serve`: configuration, port, engine, server, in this order; and back.

use std::{collections::BTreeMap, io, net::SocketAddr, path::Path, process::ExitCode, sync::Arc};

use actix_web::{rt::task::JoinHandle, web::Data};
use engine::{Engine, sandbox_host::Hosted};
use tokio::signal::unix::{SignalKind, signal};

use super::fail;
use crate::{
    app::Api, config::Config, directory::TakenOver, keys::KeyRing, logging, secret::Secret, server, shapes::Wire,
};

pub fn run(file: &Path) -> ExitCode {
    let config = match Config::load(file) {
        Ok(config) => config,
        Err(error) => return fail(error),
    };
    if let Err(problem) = logging::start(&config.log) {
        return fail(problem);
    }
    let served = actix_web::rt::System::new().block_on(serve(config, file));
    served.map_or_else(fail, |()| ExitCode::SUCCESS)
}

/// A server that answers, and what is behind it.
pub struct Running {
    pub address: SocketAddr,
    pub engine: Arc<Engine>,
    /// Simulated EHRs the engine hosts, by data source.
    pub sandboxes: BTreeMap<u32, Arc<Hosted>>,
    api: Data<Api>,
    server: JoinHandle<io::Result<()>>,
}

pub async fn start(config: Config) -> Result<Running, String> {
    let listener = server::listen(config.http.listen).map_err(|error| format!("{}: {error}", config.http.listen))?;
    let data_dir = &config.data_dir;
    std::fs::create_dir_all(data_dir).map_err(|error| format!("{}: {error}", data_dir.display()))?;
    let keys = KeyRing::from(config.keys);
    let opened = engine::open(config.setup, data_dir, Wire::shapes(), Arc::new(keys.clone())).await;
    let opened = opened.map_err(|error| error.to_string())?;
    let secret = config.secret.map_or_else(|| Secret::of_directory(data_dir), Ok);
    let secret = secret.map_err(|error| format!("{}: {error}", data_dir.display()))?;
    let engine = opened.engine;
    let api = Data::new(Api::new(engine.clone(), keys, &secret, config.http));
    let (server, address) = server::start(api.clone(), listener).map_err(|error| error.to_string())?;
    tracing::info!(%address, "serving");
    // It runs from its first poll on: nobody should have to wait for `wait`.
    let server = actix_web::rt::spawn(server);
    Ok(Running { address, engine, sandboxes: opened.sandboxes, api, server })
}

impl Running {
    /// Serves until a signal ends it, then lets the engine end in order.
    pub async fn wait(self) -> Result<(), String> {
        // Workstations stay for hours, and the server waits for whoever is connected.
        let gateway = self.engine.gateway().clone();
        let leaving = actix_web::rt::spawn(async move {
            asked_to_stop().await;
            gateway.stop();
        });
        let served = self.server.await;
        leaving.abort();
        self.engine.stop().await;
        served.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

async fn asked_to_stop() {
    let listening = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt)] = listening else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

async fn serve(config: Config, file: &Path) -> Result<(), String> {
    let running = start(config).await?;
    actix_web::rt::spawn(reload(running.api.clone(), file.to_path_buf()));
    running.wait().await
}

/// SIGHUP reads the API keys and the status of locations again, so that a key can be revoked and a location closed without a restart.
/// Everything else waits for the next start.
async fn reload(api: Data<Api>, file: std::path::PathBuf) {
    let Ok(mut hangups) = signal(SignalKind::hangup()) else {
        tracing::warn!("no SIGHUP here: keys and locations change with a restart only");
        return;
    };
    while hangups.recv().await.is_some() {
        take_over(&api, &file);
    }
}

/// What has nothing to do with keys and statuses holds neither of them up: a file that would not start the service still revokes a key.
pub fn take_over(api: &Api, file: &Path) {
    let (access, problems) = match Config::access(file) {
        Ok(read) => read,
        Err(error) => {
            tracing::error!(%error, "the configuration cannot be read; API keys and locations stay as they are");
            return;
        }
    };
    let keys = access.keys.len();
    api.replace_keys(access.keys);
    for TakenOver { location, status, gone, taken } in api.take_over_statuses(&access.statuses) {
        let status = format!("{status:?}").to_lowercase();
        match (taken, gone) {
            // What its actor has begun, it ends; it is started as closed the next time, or not at all.
            (true, true) => {
                tracing::warn!(%location, "the location is gone from the file: it is closed from the next call on")
            }
            (true, false) => {
                tracing::info!(%location, status, "location read again: callers see it so from the next call on")
            }
            (false, _) => tracing::warn!(%location, status, "this location opens with the next start only"),
        }
    }
    for problem in &problems {
        tracing::error!(%problem, "the configuration is wrong: the next start would fail, and what a key is given here it does not have");
    }
    tracing::info!(keys, "API keys and statuses of locations read again; all other settings wait for the next start");
}
