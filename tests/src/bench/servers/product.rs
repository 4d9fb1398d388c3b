//! The product: its routes, its engine, its store; only the EHRs are the benchmark's own.

use std::{error::Error, net::SocketAddr, path::Path, sync::Arc};

use actix_web::web::Data;
use api::{
    access::{
        api::Api,
        keys::{ApiKey, Grants, hash},
    },
    http::rules::{HttpRules, RateRules},
    server,
    values::secret::Secret,
    views::published::RecordViews,
};
use engine::{Engine, Parts};
use location::ids::LocationId;
use setup::Environment;

use super::{WORKERS, ready};
use crate::{
    bench::{
        activation::{first_sync, own},
        own_ehr::Writes,
        practices,
    },
    harness::fixtures,
};

pub const API_KEY: &str = "psk_of_the_benchmark";

/// `database`: where its store is to be, instead of in the folder.
pub async fn serve(
    dir: &Path,
    locations: u32,
    writes: &str,
    kept: u64,
    database: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let writes = match writes {
        "wait" => Writes::Wait,
        "at-once" => Writes::TakenAtOnce,
        other => return Err(format!("no such way with writes: {other}").into()),
    };
    let setup = practices::setup(locations);
    let store = match database {
        Some(url) => practices::store_in_database(dir, url, &setup).await?,
        None => practices::store(dir)?,
    };
    let mut parts = Parts::new(store, RecordViews::shared());
    parts.own = own(locations, writes);
    let engine = Arc::new(Engine::start(setup, parts).await?);
    for id in 1..=locations {
        first_sync(&engine, LocationId(id)).await?;
    }
    let rates = RateRules { per_second: 0, per_minute: 0, endpoints: Default::default() };
    let rules = HttpRules { workers: WORKERS, rate_limits: rates, list_cache_bytes: kept, ..HttpRules::default() };
    let key = ApiKey {
        name: "benchmark".to_owned(),
        hash: hash(API_KEY),
        environment: Environment::Sandbox,
        institutions: vec![fixtures::INSTITUTION],
        locations: None,
        grants: Grants::default(),
        organisation: "benchmark".to_owned(),
    };
    let api = Data::new(Api::new(engine, vec![key], &Secret::from_bytes([7; 32]), rules));
    let listener = server::listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let (server, address) = server::start(api, listener)?;
    // The server runs from its first poll on.
    let server = actix_rt::spawn(server);
    ready(address);
    Ok(server.await??)
}
