//! GET /sync_status: how reading from and writing to each health record system stand.

use std::collections::{BTreeMap, BTreeSet};

use location::ids::LocationId;

use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::{ApiError, HttpResult},
    values::kinds::{id, name_of},
    views::sync_status::{Health, SourceStatus, view},
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (tenants, (read, write, only)) = call.in_tenants(|input| {
        let status = || name_of(&["green", "red"]);
        let (read, write) =
            (input.query.optional("read_status", status()), input.query.optional("write_status", status()));
        Some((read, write, BTreeSet::from_iter(input.query.list("location_ids", id()))))
    })?;
    let shared = gather(&call, &tenants, &only).await?;
    let wanted = |asked: Option<&str>, standing: &Health| asked.is_none_or(|color| color == standing.color());
    let shared = shared.iter().filter(|((_, _), it)| wanted(read, &it.read) && wanted(write, &it.write));
    let rows: Vec<_> = shared.map(|(_, it)| view(call.api.engine.setup(), it)).collect();
    Ok(call.list(&rows))
}

/// A location of one of the institutions.
fn named(call: &Call, tenants: &[Tenant], id: LocationId) -> Result<OpenLocation, ApiError> {
    let all = &call.api.engine.setup().locations;
    let here = |tenant: &&Tenant| all.get(&id).is_some_and(|location| location.institution == tenant.institution.id);
    let tenant = tenants.iter().find(here).ok_or_else(|| ApiError::location_not_found(id))?;
    call.location(tenant, id)
}

type Key = (Option<u32>, u32);

async fn gather(
    call: &Call,
    tenants: &[Tenant],
    only: &BTreeSet<u32>,
) -> Result<BTreeMap<Key, SourceStatus>, ApiError> {
    let locations: Vec<OpenLocation> = match only.is_empty() {
        true => tenants.iter().flat_map(|tenant| call.open_locations(tenant)).collect(),
        false => only.iter().map(|id| named(call, tenants, LocationId(*id))).collect::<Result<_, _>>()?,
    };
    let mut shared: BTreeMap<Key, SourceStatus> = BTreeMap::new();
    for location in locations {
        let state = call.api.engine.sync_state(location.setup.id).await?;
        let key = match location.setup.source {
            Some(source) => (Some(source), 0),
            None => (None, location.setup.id.0),
        };
        shared.entry(key).or_default().add(location.setup, state, call.api.engine.now());
    }
    Ok(shared)
}
