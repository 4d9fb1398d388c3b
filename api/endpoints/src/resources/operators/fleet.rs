//! GET /fleet: the last known status of all locations, for operators (our addition). No location is loaded for it.

use std::time::Duration;

use engine::{Place, setup::Setup};
use tokio::time::timeout;

use crate::{
    prelude::*,
    resources::practice::{
        problems::{ProblemView, problems},
        sync_status::{LOCATIONS_PER_CALL, LocationsByNode, NodeRow, fetch_rows},
    },
};

/// Timeout of another node's part of a page.
const NODE_ANSWER: Duration = Duration::from_secs(10);

/// The last known status of a location.
#[view(named = "location")]
pub struct FleetLocationView<'a> {
    id: u32,
    name: &'a str,
    subdomain: &'a str,
    /// Status of the location.
    status: Word<LocationStatus>,
    /// Id of the data source, which several locations may share; null without a health record system.
    sync_source_id: Option<u32>,
    /// Reason why reading fails, as reported by the health record system if it provides one; null if reading works or
    /// if the status is not known. Never contains patient data.
    read_problem: Option<String>,
    /// Reason why writing does not work; null if it works or if the status is not known. Never contains patient data.
    write_problem: Option<String>,
    /// The problems, as in `GET /locations/{id}/sync`; empty if the status is not known.
    problems: Vec<ProblemView>,
    /// Number of unfinished writes to the health record system; null if the status is not known.
    writes_waiting: Option<u64>,
    /// Number of writes that failed and that no operator has retried or dropped.
    writes_failed: u64,
}

impl<'a> FleetLocationView<'a> {
    /// Creates the view. Without `state`, the status is not known.
    fn new(
        setup: &Setup,
        location: &'a OpenLocation,
        state: Option<SyncState>,
        failed: &BTreeMap<LocationId, u64>,
    ) -> FleetLocationView<'a> {
        let OpenLocation { institution, setup: location } = location;
        let writes_waiting = state.as_ref().map(|state| state.queued);
        let state = state.unwrap_or_default();
        FleetLocationView {
            id: location.id.0,
            name: &location.name,
            subdomain: &institution.subdomain,
            status: Word(location.status),
            sync_source_id: location.source,
            problems: problems(setup, location, &state),
            read_problem: state.read_reason,
            write_problem: state.write_reason,
            writes_waiting,
            writes_failed: failed.get(&location.id).copied().unwrap_or_default(),
        }
    }
}

#[input]
pub struct ListFleet {
    /// Only these locations.
    #[query(id(), name = "location_ids")]
    only: Vec<u32>,
    paging: Paging,
}

/// Lists the locations by id. On a page, locations of other nodes follow those of this node.
pub async fn list(
    call: ApiCall,
    InTenants(tenants, ListFleet { only, paging }): InTenants<ListFleet>,
) -> Answer<Paged<FleetLocationView<'static>>> {
    let (engine, only) = (&call.api.engine, BTreeSet::from_iter(only));
    let mut all: BTreeMap<u64, OpenLocation> = BTreeMap::new();
    for Tenant { institution } in &tenants {
        for setup in call.directory.locations_of(institution.id) {
            if only.is_empty() || only.contains(&setup.id.0) {
                let location = OpenLocation { institution: institution.clone(), setup: setup.clone() };
                all.insert(setup.id.0.into(), location);
            }
        }
    }
    let page = paging.collect_by_id(&all)?;
    let (setup, failed) = (engine.setup(), engine.failed_writes()?);
    let row = |location, state| NodeRow::Here(FleetLocationView::new(&setup, location, state, &failed));
    let (mut rows, mut elsewhere) = (Vec::new(), LocationsByNode::new());
    for &location in &page.rows {
        match engine.place(location.institution.id) {
            Place::Mine => rows.push(row(location, engine.last_known_state(location.setup.id))),
            Place::Elsewhere(node) if !call.counted => elsewhere.entry(node).or_default().push(location.setup.id.0),
            Place::Elsewhere(_) | Place::Unsettled => rows.push(row(location, None)),
        }
    }
    for (node, ids) in elsewhere {
        let parameters = [format!("per_page={LOCATIONS_PER_CALL}")];
        if let Ok(Ok(fetched)) = timeout(NODE_ANSWER, fetch_rows(&call, &node, "/fleet", &ids, &parameters)).await {
            rows.extend(fetched.into_iter().map(NodeRow::Elsewhere));
        } else {
            // A node that does not answer must not hide the locations of the others.
            rows.extend(ids.iter().filter_map(|id| Some(row(all.get(&u64::from(*id))?, None))));
        }
    }
    Ok(call.page(&ListPage { rows, info: page.info }))
}
