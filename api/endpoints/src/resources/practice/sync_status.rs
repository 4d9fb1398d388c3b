//! GET /sync_status: the state of reads from and writes to each EHR.

use actix_web::{
    HttpResponse,
    http::{
        Method,
        header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT},
    },
    web::Bytes,
};
use engine::Place;
use framework::{
    http::version_header::VERSION,
    nodes::forward::{AGENT, NodeCall},
    values::kinds::name_of,
};
use serde::Deserialize;

use crate::{
    prelude::*,
    views::sync_status::{DirectionHealth, SourceStatus, SyncStatusView, view},
};

/// Ids per query to another node, well within the limit of a request line.
const ASKED_AT_ONCE: usize = 50;
/// Seconds until a moving location is likely to have a node.
const RETRY_MOVED: u64 = 1;

#[input]
pub struct ListSyncStatus {
    /// Only entries with this read status.
    #[query(name_of(&["green", "red"]), name = "read_status")]
    read: Option<&'static str>,
    /// Only entries with this write status.
    #[query(name_of(&["green", "red"]), name = "write_status")]
    write: Option<&'static str>,
    /// Only these locations.
    #[query(id(), name = "location_ids")]
    only: Vec<u32>,
}

/// A view of this node, or one as received from another node.
#[derive(Serialize)]
#[serde(untagged)]
enum SyncStatusRow<'a> {
    Here(SyncStatusView<'a>),
    Elsewhere(Box<RawValue>),
}

impl Wraps<SyncStatusRow<'_>> for Listed<SyncStatusView<'static>> {
    const STATUS: u16 = 200;

    fn wrap(answer: HttpResponse) -> Self {
        <Self as Wraps<SyncStatusView<'static>>>::wrap(answer)
    }
}

pub async fn list(
    call: ApiCall,
    InTenants(tenants, ListSyncStatus { read, write, only }): InTenants<ListSyncStatus>,
) -> Answer<Listed<SyncStatusView<'static>>> {
    let only = BTreeSet::from_iter(only);
    let asked_for = match only.is_empty() {
        true => tenants.iter().flat_map(|tenant| call.open_locations(tenant)).collect(),
        false => only.iter().map(|id| named(&call, &tenants, LocationId(*id))).collect::<Result<_, _>>()?,
    };
    let (here, elsewhere) = places(&call, asked_for)?;
    let shared = gather(&call, here).await?;
    let wanted = |asked: Option<&str>, standing: &DirectionHealth| asked.is_none_or(|color| color == standing.color());
    let shared = shared.values().filter(|it| wanted(read, &it.read) && wanted(write, &it.write));
    let setup = call.api.engine.setup();
    let mut rows: Vec<_> = shared.map(|it| SyncStatusRow::Here(view(&setup, it))).collect();
    for (node, locations) in elsewhere {
        rows.extend(ask(&call, &node, &locations, read, write).await?.into_iter().map(SyncStatusRow::Elsewhere));
    }
    Ok(call.list(&rows))
}

/// Ids of locations by the node that serves them.
type Elsewhere = BTreeMap<String, Vec<u32>>;

/// Splits locations into those of this node and those of others. Locations of one data source stay together, because
/// they belong to one institution.
fn places(call: &ApiCall, all: Vec<OpenLocation>) -> Result<(Vec<OpenLocation>, Elsewhere), ApiError> {
    let (mut here, mut elsewhere) = (Vec::new(), Elsewhere::new());
    for location in all {
        match call.api.engine.place(location.institution.id) {
            Place::Mine => here.push(location),
            Place::Elsewhere(node) if !call.counted => {
                elsewhere.entry(node).or_default().push(location.setup.id.0);
            }
            Place::Elsewhere(_) | Place::Unsettled => return Err(ApiError::unavailable(RETRY_MOVED)),
        }
    }
    Ok((here, elsewhere))
}

/// Returns the rows of another node unchanged.
async fn ask(
    call: &ApiCall,
    node: &str,
    locations: &[u32],
    read: Option<&str>,
    write: Option<&str>,
) -> Result<Vec<Box<RawValue>>, ApiError> {
    let peers = call.api.peers.as_ref().ok_or_else(ApiError::internal)?;
    let mut headers = HeaderMap::new();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| ApiError::internal());
    headers.insert(AUTHORIZATION, call.authorization.clone().ok_or_else(ApiError::internal)?);
    headers.insert(VERSION, value(call.version.name())?);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    let mut rows = Vec::new();
    for some in locations.chunks(ASKED_AT_ONCE) {
        let mut query: Vec<String> = some.iter().map(|id| format!("location_ids[]={id}")).collect();
        query.extend(read.map(|color| format!("read_status={color}")));
        query.extend(write.map(|color| format!("write_status={color}")));
        let path = format!("/sync_status?{}", query.join("&"));
        let (method, client, body) = (&Method::GET, call.client, Bytes::new());
        let asked =
            NodeCall { method, path: &path, headers: &headers, id: "", client, counted: true, unplaced: false, body };
        let answer = peers.ask(node, &asked).await.map_err(|_| ApiError::unavailable(RETRY_MOVED))?;
        let answer: NodeAnswer = serde_json::from_slice(&answer).map_err(|_| ApiError::internal())?;
        rows.extend(answer.data);
    }
    Ok(rows)
}

/// The response of another node.
#[derive(Deserialize)]
struct NodeAnswer {
    data: Vec<Box<RawValue>>,
}

/// Finds a location of one of the institutions.
fn named(call: &ApiCall, tenants: &[Tenant], id: LocationId) -> Result<OpenLocation, ApiError> {
    let setup = call.api.engine.setup();
    let here = |tenant: &&Tenant| {
        setup.locations.get(&id).is_some_and(|location| location.institution == tenant.institution.id)
    };
    let tenant = tenants.iter().find(here).ok_or_else(|| call.no_location(id))?;
    call.location(tenant, id)
}

type SourceKey = (Option<u32>, u32);

async fn gather(call: &ApiCall, locations: Vec<OpenLocation>) -> Result<BTreeMap<SourceKey, SourceStatus>, ApiError> {
    let mut shared: BTreeMap<SourceKey, SourceStatus> = BTreeMap::new();
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
