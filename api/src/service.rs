//! The running service: starts listeners, engine and server in this order, and stops them in reverse.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use actix_web::{
    dev::ServerHandle,
    rt::task::JoinHandle,
    web::{self, Data},
};
use commands::audit_trail;
use configuration::Config;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, simulated::OpenSimulated};
use framework::{
    access::{
        api::Api,
        audited::{audit_backups, audit_committed_changes, audit_workstation_actions},
        keys::KeyRing,
        token_uses,
    },
    http::tls::Certificates,
    nodes::forward::Peers,
    values::secret::{self, Secret},
};
use futures_util::future::join_all;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinError,
    time::Instant,
};

use crate::{reload::Reload, server, service_manager};

pub struct Running {
    pub address: SocketAddr,
    /// Address of the operators' listener.
    pub operators: SocketAddr,
    pub engine: Arc<Engine>,
    api: Data<Api>,
    server: JoinHandle<io::Result<()>>,
    handle: ServerHandle,
    /// Handles of the operators' and the internal listener.
    others: Vec<ServerHandle>,
}

/// Starts the service. `simulated` opens simulated EHRs of data sources in this process.
pub async fn start(config: Config, simulated: &dyn OpenSimulated) -> Result<Running, String> {
    let certificates = Certificates::load(&config.http)?;
    let listen = |address| server::listen(address).map_err(|error| format!("{address}: {error}"));
    let listener = listen(config.http.listen)?;
    let internal = config.node.as_ref().map(|node| listen(node.listen)).transpose()?;
    let operators = listen(config.http.operators.listen)
        .map_err(|error| format!("{error}; `listen` of [operators] names another address"))?;
    let for_operators = operators.local_addr().map_err(|error| error.to_string())?;
    let peers = config.node.as_ref().map(|node| Peers::new(&node.secret)).transpose()?;
    let data_dir = &config.data_dir;
    std::fs::create_dir_all(data_dir).map_err(|error| format!("{}: {error}", data_dir.display()))?;
    let trail = audit_trail::open(&config.audit, data_dir)?;
    let keys = KeyRing::from(config.access.keys);
    let served_before = data_dir.join("store").exists();
    let opened = engine::open(config.setup, data_dir, RecordViews::shared(), Arc::new(keys.clone()), simulated).await;
    let opened = opened.map_err(|error| error.to_string())?;
    if config.secret.is_none() && served_before && !data_dir.join(secret::FILE).exists() {
        tracing::warn!(
            "token.secret is missing; a new one was created: all earlier tokens, cursors and slot tokens are invalid"
        );
    }
    let secret = config.secret.map_or_else(|| Secret::load_or_create_in(data_dir), Ok);
    let secret = secret.map_err(|error| format!("{}: {error}", data_dir.display()))?;
    let engine = opened.engine;
    let api = Api::new(engine.clone(), keys, &secret, config.http).with_simulated(opened.simulated);
    let mut api = api.with_audit(trail);
    (api.peers, api.certificates) = (peers, certificates);
    let api = Data::new(api);
    let internal = internal.map(|listener| server::start_internal(api.clone(), listener));
    api.replace_operators(config.access.operators);
    let operators = Some(server::start_operators(api.clone(), operators));
    let mut others = Vec::new();
    for server in [internal, operators].into_iter().flatten() {
        let server = server.map_err(|error| error.to_string())?;
        others.push(server.handle());
        actix_web::rt::spawn(server);
    }
    let weak = Arc::downgrade(&api.clone().into_inner());
    if api.certificates.all().next().is_some() {
        actix_web::rt::spawn(watch_certificates(weak.clone()));
    }
    actix_web::rt::spawn(token_uses::run(weak.clone()));
    actix_web::rt::spawn(audit_committed_changes(api.engine.audit_follower().clone(), weak.clone()));
    actix_web::rt::spawn(audit_workstation_actions(api.engine.gateway().acts(), weak.clone()));
    actix_web::rt::spawn(audit_backups(api.engine.backups_ended(), weak));
    if let Some(announcements) = api.engine.announcements() {
        actix_web::rt::spawn(notify_nodes(api.clone(), announcements));
    }
    let (server, address) = server::start(api.clone(), listener).map_err(|error| error.to_string())?;
    tracing::info!(%address, operators = %for_operators, "serving");
    // The server runs from its first poll on, independent of `wait`.
    let handle = server.handle();
    let server = actix_web::rt::spawn(server);
    Ok(Running { address, operators: for_operators, engine, api, server, handle, others })
}

impl Running {
    /// Starts the configuration reload task.
    pub(crate) fn reload_from(&self, reload: Reload) {
        reload.start(self.api.clone());
    }

    /// Serves until a signal, then stops gracefully. A second signal stops immediately.
    pub async fn wait(mut self) -> Result<(), String> {
        let mut signals = Signals::new();
        service_manager::ready();
        let ended = tokio::select! {
            ended = &mut self.server => Some(ended),
            () = signals.next() => None,
        };
        service_manager::stopping();
        tokio::select! {
            ended = self.end(ended) => ended,
            () = signals.next() => {
                tracing::warn!("stopped immediately on the second signal; unfinished work resumes after the next start");
                Ok(())
            }
        }
    }

    async fn end(self, ended: Option<Result<io::Result<()>, JoinError>>) -> Result<(), String> {
        let Running { engine, api, server, handle, others, .. } = self;
        let drain = api.edge().rules.drain;
        api.draining.store(true, Ordering::Relaxed);
        if ended.is_none() && !drain.is_zero() {
            tracing::info!(?drain, "draining: /readyz answers 503, and calls are still served");
            tokio::time::sleep(drain).await;
        }
        let may_take = api.edge().rules.shutdown_timeout;
        let deadline = Instant::now() + may_take;
        let served = match ended {
            Some(ended) => ended,
            None => {
                // Closes WebSockets of workstations, which would otherwise delay the stop for hours.
                engine.gateway().stop();
                api.leaving.store(true, Ordering::Relaxed);
                // Other nodes take over while this node still responds and forwards requests.
                let last_requests = tokio::time::sleep(LAST_REQUESTS.min(may_take / 4));
                tokio::join!(last_requests, engine.hand_over(may_take / 2));
                // Concurrently, because each may take the full time for requests.
                join_all(others.iter().chain([&handle]).map(|server| server.stop(true))).await;
                server.await
            }
        };
        join_all(others.iter().map(|other| other.stop(true))).await;
        let audited = async {
            while engine.audit_follower().waiting() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(server::LAST_SECOND, audited).await.is_err() {
            tracing::warn!("some changes have no entry in the audit trail yet; the next start writes them");
        }
        if tokio::time::timeout(server::LAST_SECOND, token_uses::note(&api)).await.is_err() {
            tracing::warn!("the last uses of operator tokens were not stored in time");
        }
        let left = deadline.saturating_duration_since(Instant::now()).max(server::LAST_SECOND);
        if tokio::time::timeout(left, engine.stop_within(left * 3 / 4)).await.is_err() {
            tracing::warn!("stopped with unfinished work; it resumes after the next start");
        }
        served.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

/// Interval between checks of the certificate files.
const CERTIFICATES: Duration = Duration::from_secs(5);

async fn watch_certificates(api: Weak<Api>) {
    while let Some(api) = api.upgrade() {
        if let Err(error) = web::block(move || api.certificates.refresh(api.engine.now())).await {
            tracing::error!(%error, "the TLS certificate files could not be checked");
        }
        tokio::time::sleep(CERTIFICATES).await;
    }
}

/// Notifies other nodes of membership changes, so that a handover is only a short interruption.
async fn notify_nodes(api: Data<Api>, mut announcements: watch::Receiver<Vec<String>>) {
    while announcements.changed().await.is_ok() {
        let others = announcements.borrow_and_update().clone();
        if let Some(peers) = &api.peers {
            peers.notify_members_changed(&others).await;
        }
    }
}

/// Time during which clients are notified that their connections close, and may still send requests.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// Termination signals; `None` if they cannot be handled.
struct Signals(Option<[Signal; 2]>);

impl Signals {
    fn new() -> Signals {
        let listening = [SignalKind::terminate(), SignalKind::interrupt()].map(signal);
        let [Ok(terminate), Ok(interrupt)] = listening else { return Signals(None) };
        Signals(Some([terminate, interrupt]))
    }

    async fn next(&mut self) {
        let Some([terminate, interrupt]) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
