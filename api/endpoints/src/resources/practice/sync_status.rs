//! GET /sync_status: the state of reads from and writes to each EHR.

use actix_web::{
    HttpResponse,
    http::{
        Method,
        header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT},
    },
    web::Bytes,
};
use engine::{Place, records::SyncSummary, setup::Setup};
use framework::{
    http::version_header::VERSION,
    nodes::forward::{AGENT, NodeCall},
    values::kinds::name_of,
};
use serde::Deserialize;

use crate::{
    prelude::*,
    views::{gate::GateView, locations::LocationBasic},
};

/// The read and write status of a health record system, for the locations that share it.
#[derive(Serialize, JsonSchema)]
pub struct SyncStatusView<'a> {
    /// Id of the institution of the locations.
    institution_id: u32,
    /// Always `Emr`; null without a health record system.
    sync_source_type: Option<&'static str>,
    /// Name of the data source in the configuration; null without a health record system.
    sync_source_name: Option<&'a str>,
    /// The health record system; null if there is none.
    emr: Option<SyncSource>,
    /// `green` if reading works at all of the locations, otherwise `red`.
    read_status: &'static str,
    /// If red, the time since which reading has not worked. If green, the time at which reading was last seen to work.
    /// In UTC.
    read_status_at: At,
    /// `green` if writing works at all of the locations, otherwise `red`.
    write_status: &'static str,
    /// If red, the time since which writing has not worked. If green, the time at which writing was last seen to work.
    /// In UTC.
    write_status_at: At,
    /// The locations that share the health record system. In a message, the location whose status changed.
    locations: Vec<LocationBasic<'a>>,
    /// One gate per location, if the health record system is accessed through workstations.
    #[serde(skip_serializing_if = "<[GateView]>::is_empty")]
    gates: &'a [GateView],
}

/// The health record system of a sync status.
#[derive(Serialize, JsonSchema)]
struct SyncSource {
    /// Id of the data source.
    id: u32,
    /// Name of the adapter in the configuration.
    name: String,
    /// Name of the health record system, as reported by its adapter. Until then, the name of the adapter.
    display_name: String,
    /// Hosting of the health record system: `cloud` (at its vendor) or `onprem` (in the practice). Null until its
    /// adapter reports it.
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// The status of a data source with all its locations, or of one location without an EHR.
#[derive(Default)]
pub struct SourceStatus {
    locations: Vec<Arc<LocationSetup>>,
    pub read: DirectionHealth,
    pub write: DirectionHealth,
    ehr: Option<(String, Option<String>)>,
    gates: Vec<GateView>,
}

/// The health of a direction. Red while one of the locations is red, since the first of them turned red.
#[derive(Default)]
pub struct DirectionHealth {
    red_since: Option<Timestamp>,
    green_at: Timestamp,
}

impl DirectionHealth {
    fn add(&mut self, ok: bool, at: Timestamp) {
        if ok {
            self.green_at = self.green_at.max(at);
        } else {
            self.red_since = Some(self.red_since.map_or(at, |since| since.min(at)));
        }
    }

    pub fn color(&self) -> &'static str {
        if self.red_since.is_some() { "red" } else { "green" }
    }

    fn at(&self) -> At {
        At(self.red_since.unwrap_or(self.green_at))
    }
}

impl SourceStatus {
    pub fn add(&mut self, location: Arc<LocationSetup>, state: SyncState, now: Timestamp) {
        self.gates.extend(GateView::from_state(location.id, &state, now));
        let SyncState { read_ok, read_at, write_ok, write_at, ehr_name, ehr_hosting, .. } = state;
        self.add_summary(location, SyncSummary { read_ok, read_at, write_ok, write_at, ehr_name, ehr_hosting });
    }

    fn add_summary(&mut self, location: Arc<LocationSetup>, status: SyncSummary) {
        self.read.add(status.read_ok, status.read_at);
        self.write.add(status.write_ok, status.write_at);
        self.ehr = self.ehr.take().or_else(|| status.ehr_name.map(|name| (name, status.ehr_hosting)));
        self.locations.push(location);
    }
}

/// Returns the status of a single location, for messages.
pub(crate) fn location_status(location: &Arc<LocationSetup>, status: &SyncSummary) -> SourceStatus {
    let mut shared = SourceStatus::default();
    shared.add_summary(location.clone(), status.clone());
    shared
}

pub fn view<'a>(setup: &'a Setup, shared: &'a SourceStatus) -> SyncStatusView<'a> {
    let first = shared.locations.first();
    let institution_id = first.map_or(0, |location| location.institution.0);
    let source = first.and_then(|location| setup.sources.get(&location.source?));
    let emr = source.map(|source| {
        let (name, kind) = shared.ehr.clone().unwrap_or_else(|| (source.adapter.clone(), None));
        SyncSource { id: source.id, name: source.adapter.clone(), display_name: name, kind }
    });
    SyncStatusView {
        institution_id,
        sync_source_type: source.map(|_| "Emr"),
        sync_source_name: source.map(|source| &*source.name),
        emr,
        read_status: shared.read.color(),
        read_status_at: shared.read.at(),
        write_status: shared.write.color(),
        write_status_at: shared.write.at(),
        locations: shared.locations.iter().map(|location| LocationBasic::from_value(location)).collect(),
        gates: &shared.gates,
    }
}

/// Ids per query to another node, well within the limit of a request line.
pub(crate) const LOCATIONS_PER_CALL: usize = 50;
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
pub(crate) enum NodeRow<V> {
    Here(V),
    Elsewhere(Box<RawValue>),
}

impl<V> Wraps<NodeRow<V>> for Listed<V> {
    const STATUS: u16 = 200;

    fn wrap(answer: HttpResponse) -> Self {
        <Self as Wraps<V>>::wrap(answer)
    }
}

impl<V> Wraps<NodeRow<V>> for Paged<V> {
    const STATUS: u16 = 200;

    fn wrap(answer: HttpResponse) -> Self {
        <Self as Wraps<V>>::wrap(answer)
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
    let wanted = |asked: Option<&str>, direction_status: &DirectionHealth| {
        asked.is_none_or(|color| color == direction_status.color())
    };
    let shared = shared.values().filter(|it| wanted(read, &it.read) && wanted(write, &it.write));
    let setup = call.api.engine.setup();
    let mut rows: Vec<_> = shared.map(|it| NodeRow::Here(view(&setup, it))).collect();
    let filters = [("read_status", read), ("write_status", write)];
    let filters = filters.into_iter().filter_map(|(name, color)| Some(format!("{name}={}", color?)));
    let filters = Vec::from_iter(filters);
    for (node, locations) in elsewhere {
        let fetched = fetch_rows(&call, &node, "/sync_status", &locations, &filters).await?;
        rows.extend(fetched.into_iter().map(NodeRow::Elsewhere));
    }
    Ok(call.list(&rows))
}

/// Ids of locations by the node that serves them.
pub(crate) type LocationsByNode = BTreeMap<String, Vec<u32>>;

/// Splits locations into those of this node and those of others. Locations of one data source stay together, because
/// they belong to one institution.
fn places(call: &ApiCall, all: Vec<OpenLocation>) -> Result<(Vec<OpenLocation>, LocationsByNode), ApiError> {
    let (mut here, mut elsewhere) = (Vec::new(), LocationsByNode::new());
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

/// Returns the rows of another node unchanged. `parameters` are added to the query, in addition to the ids.
pub(crate) async fn fetch_rows(
    call: &ApiCall,
    node: &str,
    path: &str,
    locations: &[u32],
    parameters: &[String],
) -> Result<Vec<Box<RawValue>>, ApiError> {
    let peers = call.api.peers.as_ref().ok_or_else(ApiError::internal)?;
    let mut headers = HeaderMap::new();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| ApiError::internal());
    headers.insert(AUTHORIZATION, call.authorization.clone().ok_or_else(ApiError::internal)?);
    headers.insert(VERSION, value(call.version.name())?);
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    let mut rows = Vec::new();
    for some in locations.chunks(LOCATIONS_PER_CALL) {
        let mut query: Vec<String> = some.iter().map(|id| format!("location_ids[]={id}")).collect();
        query.extend_from_slice(parameters);
        let path = format!("{path}?{}", query.join("&"));
        let (method, client, body) = (&Method::GET, call.client, Bytes::new());
        let asked =
            NodeCall { method, path: &path, headers: &headers, id: "", client, counted: true, unplaced: false, body };
        let answer = peers.fetch(node, &asked).await.map_err(|_| ApiError::unavailable(RETRY_MOVED))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn direction_status(states: &[(bool, i64)]) -> (&'static str, At) {
        let mut direction_status = DirectionHealth::default();
        states.iter().for_each(|(ok, at)| direction_status.add(*ok, Timestamp(*at)));
        (direction_status.color(), direction_status.at())
    }

    #[test]
    fn one_red_location_makes_the_source_red() {
        assert_eq!(direction_status(&[(true, 5), (true, 7)]), ("green", At(Timestamp(7))));
        assert_eq!(direction_status(&[(true, 5), (false, 3)]), ("red", At(Timestamp(3))));
        assert_eq!(direction_status(&[(false, 3), (true, 5)]), ("red", At(Timestamp(3))));
        assert_eq!(direction_status(&[(false, 9), (false, 3)]), ("red", At(Timestamp(3))));
    }
}
