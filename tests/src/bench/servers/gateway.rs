//! The product with many paired, idle workstations.

use std::{
    error::Error,
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
};

use actix_web::web::Data;
use api::server;
use endpoints::resources::record_views::RecordViews;
use engine::{Engine, Parts};
use framework::{
    access::api::Api,
    http::{compatibility::Compatibility, rules::HttpRules},
    values::secret::Secret,
};
use futures_util::future::try_join_all;
use location::ids::LocationId;
use setup::WorkstationAccess;
use uuid::Uuid;
use workstations::{CodeKind, Gateway, limits::WORKSTATIONS};

use super::{WORKERS, ready};
use crate::bench::{activation::in_process_ehrs, own_ehr::Writes, practices};

/// Returns the file of the tokens, one per line.
pub fn tokens(dir: &Path) -> PathBuf {
    dir.join("tokens")
}

pub fn locations(workstations: usize) -> u32 {
    u32::try_from(workstations.div_ceil(WORKSTATIONS)).unwrap_or(u32::MAX)
}

pub async fn serve(dir: &Path, workstations: usize) -> Result<(), Box<dyn Error>> {
    let locations = locations(workstations);
    let mut setup = practices::setup(locations);
    for source in setup.sources.values_mut() {
        let access = WorkstationAccess { probe: "/api/session".to_owned() };
        Arc::make_mut(source).access.get_or_insert_default().workstation = Some(access);
    }
    let mut parts = Parts::new(practices::store(dir)?, RecordViews::shared());
    parts.own = in_process_ehrs(locations, Writes::Wait);
    let engine = Arc::new(Engine::start(setup, parts).await?);
    let count = |location: u32| WORKSTATIONS.min(workstations - (location as usize - 1) * WORKSTATIONS);
    let pairing = (1..=locations).map(|location| paired(engine.gateway(), LocationId(location), count(location)));
    let all: Vec<String> = try_join_all(pairing).await?.into_iter().flatten().collect();
    fs::write(tokens(dir), all.join("\n"))?;
    let rules = HttpRules {
        workers: WORKERS,
        max_connections: workstations + 1_000,
        max_connections_per_address: workstations + 1_000,
        max_workstations: workstations,
        compatibility: Compatibility { refused_user_agents: None, ..Compatibility::default() },
        ..HttpRules::default()
    };
    let api = Data::new(Api::new(engine, Vec::new(), &Secret::from_bytes([7; 32]), rules));
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let (server, address) = server::start(api, listener)?;
    // The server runs from its first poll on.
    let server = actix_rt::spawn(server);
    ready(address);
    Ok(server.await??)
}

async fn paired(gateway: &Gateway, location: LocationId, count: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let uses = u32::try_from(count)?;
    let code = gateway.new_code(location, CodeKind::Enrolment { uses, hours: 1 }).await?.code;
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut tokens = Vec::with_capacity(count);
    // One after the other, because each pairing uses up the shared code.
    for _ in 0..count {
        tokens.push(gateway.pair(peer, &code, "Workstation", Uuid::new_v4()).await?.token);
    }
    Ok(tokens)
}
