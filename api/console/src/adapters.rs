//! The configured adapters, their versions, and the locations on each version.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use engine::RolledOut;

use crate::{prelude::*, words};

/// Maximum number of locations listed per version.
const NAMED: usize = 20;

#[derive(Template)]
#[template(path = "console/adapters.html")]
struct AdaptersPage {
    frame: PageFrame,
    adapters: Vec<AdapterRow>,
}

struct AdapterRow {
    name: String,
    badge: Badge,
    version: Option<String>,
    sha256: Option<String>,
    reason: Option<String>,
    /// Size of the configured component; `None` if the file cannot be read.
    kilobytes: Option<u64>,
    /// Number of locations on the version of the configuration.
    configured: usize,
    versions: Vec<AdapterVersionRow>,
}

struct AdapterVersionRow {
    version: String,
    sha256: String,
    uploaded: RelativeTime,
    kilobytes: u64,
    locations: Vec<(LocationId, String)>,
    /// Number of locations that are not listed.
    more: usize,
}

type ByAdapter = BTreeMap<String, Vec<(LocationId, String, RolledOut)>>;

fn locations_by_adapter(api: &Api) -> Result<ByAdapter, ConsoleError> {
    let mut by_name = ByAdapter::new();
    for location in api.directory().locations() {
        if let Some((name, rolled_out)) = api.engine.rolled_out(location.id).map_err(ApiError::from)? {
            by_name.entry(name).or_default().push((location.id, location.name.clone(), rolled_out));
        }
    }
    by_name.values_mut().for_each(|all| all.sort_by_key(|(id, ..)| *id));
    Ok(by_name)
}

/// Returns a hash that changes when a version is uploaded or rolled out.
pub(crate) fn version(api: &Api) -> Result<u64, ConsoleError> {
    let mut hasher = DefaultHasher::new();
    for (name, locations) in locations_by_adapter(api)? {
        let versions = api.engine.adapter_versions(&name).map_err(ApiError::from)?;
        format!("{name} {:?} {versions:?} {locations:?}", api.engine.configured_adapter(&name)).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

pub(crate) async fn list(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    let page = read_blocking(&visit, |visit| async move { read(&visit) }).await?;
    visit.show("GET /console/adapters", &page).await
}

fn read(visit: &ConsoleRequest) -> Result<AdaptersPage, ConsoleError> {
    let (engine, now) = (&visit.api.engine, visit.api.engine.now());
    let setup = engine.setup();
    let live = live_address("/console/adapters", version(&visit.api)?);
    let mut adapters = Vec::new();
    for (name, locations) in locations_by_adapter(&visit.api)? {
        let Some(configured) = engine.configured_adapter(&name) else { continue };
        let versions = engine.adapter_versions(&name).map_err(ApiError::from)?.into_iter().map(|it| {
            let runs = |rolled_out: &RolledOut| rolled_out.now.as_deref() == Some(&it.sha256);
            let on_it = locations.iter().filter(|(.., rolled_out)| runs(rolled_out));
            let all: Vec<_> = on_it.map(|(id, name, _)| (*id, name.clone())).collect();
            AdapterVersionRow {
                more: all.len().saturating_sub(NAMED),
                locations: all.into_iter().take(NAMED).collect(),
                version: it.version,
                sha256: words::short(&it.sha256),
                uploaded: RelativeTime::new(it.uploaded_at, now),
                kilobytes: it.bytes / 1_024,
            }
        });
        adapters.push(AdapterRow {
            kilobytes: setup
                .engine
                .adapters
                .get(&name)
                .and_then(|file| Some(std::fs::metadata(file).ok()?.len() / 1_024)),
            badge: words::adapter(configured.status),
            version: configured.version,
            sha256: configured.sha256.as_deref().map(words::short),
            reason: configured.reason,
            configured: locations.iter().filter(|(.., rolled_out)| rolled_out.now.is_none()).count(),
            versions: versions.collect(),
            name,
        });
    }
    Ok(AdaptersPage { frame: PageFrame { live: Some(live), ..visit.frame("adapters", "Adapters") }, adapters })
}
