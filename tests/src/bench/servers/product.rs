//! The product with its routes, engine and store. Only the EHRs are the benchmark's.

use std::{error::Error, fs::File, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use actix_web::web::Data;
use api::server;
use audit::{Rules, Trail};
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts, Place};
use framework::{
    access::{
        api::Api,
        audited::audit_committed_changes,
        keys::{ApiKey, Grants, hash},
    },
    http::rules::{HttpRules, RateRules},
    nodes::forward::Peers,
    values::secret::Secret,
};
use location::ids::InstitutionId;
use setup::{Environment, NodeRules};

use super::{WORKERS, ready, ready_for_operators};
use crate::bench::{
    activation::{first_sync, in_process_ehrs},
    own_ehr::Writes,
    practices,
};

/// Waits until this node is a member and every institution has a node.
async fn settle(engine: &Engine) {
    let moving = || engine.setup().institutions.keys().any(|id| engine.place(*id) == Place::Unsettled);
    while engine.nodes().is_some_and(|nodes| !nodes.is_serving) || moving() {
        actix_rt::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Room for clients next to ten thousand connections that do not read.
const CONNECTIONS: usize = 20_000;
pub const API_KEY: &str = "psk_of_the_benchmark";

/// `writes`: `wait` or taken immediately; `+audit` adds an audit trail, `+log` an access log,
/// `+rules` booking rules. `database`: URL of the
/// store's database instead of the folder. `node`: name and internal port as one of several nodes on that database;
/// each location then has its own institution.
pub async fn serve(
    dir: &Path,
    locations: u32,
    writes: &str,
    database: Option<&str>,
    node: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let mut ways = writes.split('+');
    let writes = match ways.next().unwrap_or_default() {
        "wait" => Writes::Wait,
        "at-once" => Writes::TakenAtOnce,
        other => return Err(format!("no such way with writes: {other}").into()),
    };
    let (mut audited, mut logged, mut ruled) = (false, false, false);
    for way in ways {
        match way {
            "audit" => audited = true,
            "log" => logged = true,
            "rules" => ruled = true,
            other => return Err(format!("nothing to measure with: {other}").into()),
        }
    }
    if logged {
        let file = File::create(dir.join("access.log"))?;
        tracing_subscriber::fmt().with_writer(std::sync::Mutex::new(file)).with_ansi(false).init();
    }
    let node = node.and_then(|node| node.split_once(':'));
    let mut setup = if node.is_some() { practices::setup_apart(locations) } else { practices::setup(locations) };
    if ruled {
        for location in setup.locations.values_mut() {
            Arc::make_mut(location).settings_mut().booking.rules = practices::rules_of_every_kind();
        }
    }
    setup.engine.node = node.map(|(name, port)| NodeRules {
        name: name.to_owned(),
        address: format!("http://127.0.0.1:{port}"),
        period: Duration::from_secs(4),
    });
    let institutions: Vec<InstitutionId> = setup.institutions.keys().copied().collect();
    // Bound before other nodes know this one.
    let listen = |port: &str| -> Result<_, Box<dyn Error>> {
        Ok(server::listen(SocketAddr::from(([127, 0, 0, 1], port.parse()?)))?)
    };
    let internal = node.map(|(_, port)| listen(port)).transpose()?;
    let store = match database {
        Some(url) => practices::store_in_database(dir, url, &setup).await?,
        None => practices::store(dir)?,
    };
    let mut parts = Parts::new(store, RecordViews::shared());
    parts.own = in_process_ehrs(locations, writes);
    let engine = Arc::new(Engine::start(setup, parts).await?);
    let rates = RateRules { per_second: 0, per_minute: 0, endpoints: Default::default() };
    let rules =
        HttpRules { workers: WORKERS, max_connections: CONNECTIONS, rate_limits: rates, ..HttpRules::default() };
    let key = ApiKey {
        name: "benchmark".to_owned(),
        hash: hash(API_KEY),
        environment: Environment::Sandbox,
        institutions,
        locations: None,
        grants: Grants::default(),
        organisation: "benchmark".to_owned(),
        channel: None,
        role: None,
    };
    let peers = node.map(|_| Peers::new(&Secret::from_bytes([9; 32]))).transpose()?;
    let mut api = Api::new(engine.clone(), vec![key], &Secret::from_bytes([7; 32]), rules);
    api.peers = peers;
    let trail = || Trail::open(&dir.join("audit"), &[5; 32], Rules::default());
    let api = Data::new(if audited { api.with_audit(trail()?) } else { api });
    let follower = engine.audit_follower().clone();
    actix_rt::spawn(audit_committed_changes(follower, Arc::downgrade(&api.clone().into_inner())));
    if let Some(internal) = internal {
        actix_rt::spawn(server::start_internal(api.clone(), internal)?);
    }
    settle(&engine).await;
    let setup = engine.setup();
    for (id, location) in &setup.locations {
        if engine.place(location.institution) == Place::Mine {
            first_sync(&engine, *id).await?;
        }
    }
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let operators = server::listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let for_operators = operators.local_addr()?;
    actix_rt::spawn(server::start_operators(api.clone(), operators)?);
    let (server, address) = server::start(api, listener)?;
    // The server runs from its first poll on.
    let server = actix_rt::spawn(server);
    ready_for_operators(for_operators);
    ready(address);
    Ok(server.await??)
}
