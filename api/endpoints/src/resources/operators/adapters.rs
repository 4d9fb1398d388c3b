//! GET /adapters, POST /adapters/{adapter}/versions, POST /locations/{id}/adapter and POST
//! /locations/{id}/adapter/rollback: versions of adapters uploaded at run time (our addition).

use engine::{AdapterVersion, RolledOut, Tried};
use framework::access::arguments::AdapterName;

use super::sync::AdapterView;
use crate::prelude::*;

/// Selects the version of the configuration instead of a SHA-256.
pub const CONFIGURED: &str = "configured";

/// An adapter in the configuration.
#[derive(Serialize, JsonSchema)]
pub struct AdapterDetail {
    /// The version of the configuration, which a location runs to which no other was rolled out.
    configured: AdapterView,
    /// Uploaded versions, newest first: the last ten, and the versions that a location runs or ran before.
    versions: Vec<AdapterVersionView>,
    /// Locations of the key that use this adapter.
    locations: Vec<LocationAdapterView>,
}

/// An uploaded version of an adapter.
#[view(value = AdapterVersion)]
pub struct AdapterVersionView {
    /// Name of the adapter in the configuration.
    name: String,
    /// SHA-256 of the component.
    sha256: String,
    /// Version in the manifest of the component.
    version: String,
    /// Size of the component, in bytes.
    bytes: u64,
    /// Time at which the version was uploaded, in UTC.
    uploaded_at: At,
}

/// The version rolled out to a location.
#[view(value = RolledOut, args(location: LocationId))]
pub(crate) struct LocationAdapterView {
    #[view(with = location.0)]
    location_id: u32,
    /// SHA-256 of the version that was rolled out; null if the location runs the version of the configuration.
    #[view(from = now)]
    sha256: Option<String>,
    /// SHA-256 of the version that a rollback returns to; null for the version of the configuration.
    #[view(from = before)]
    previous_sha256: Option<String>,
}

/// A version of an adapter that was tried at a location.
#[derive(Serialize, JsonSchema)]
pub struct RollOutView {
    /// The version rolled out to the location after the call.
    location: LocationAdapterView,
    /// The calls of the trial, in order.
    pub tried: Vec<TriedView>,
    /// `true` if the location now runs the version.
    rolled_out: bool,
}

/// A call of a trial.
#[view(value = Tried)]
pub struct TriedView {
    /// The kind of call: `describe` or `pull`.
    #[view(with = if entry.resource.is_some() { "pull" } else { "describe" })]
    call: &'static str,
    /// The resource whose first page was read; null for `describe`.
    #[view(with = entry.resource.map(resource_names::name))]
    pub resource: Option<&'static str>,
    /// Number of records of the page.
    #[view(with = entry.records as u64)]
    pub records: u64,
    /// Number of records of the page that could not be read.
    #[view(with = entry.skipped as u64)]
    pub skipped: u64,
}

pub async fn list(call: ApiCall, tenants: Vec<Tenant>) -> Answer<Listed<AdapterDetail>> {
    let engine = &call.api.engine;
    let mut by_name: BTreeMap<String, Vec<LocationAdapterView>> = BTreeMap::new();
    for location in tenants.iter().flat_map(|tenant| call.open_locations(tenant)) {
        let id = location.setup.id;
        if let Some((name, rolled_out)) = engine.rolled_out(id)? {
            by_name.entry(name).or_default().push(LocationAdapterView::from_value(&rolled_out, id));
        }
    }
    let mut adapters = Vec::new();
    for (name, locations) in by_name {
        let versions = engine.adapter_versions(&name)?.iter().map(AdapterVersionView::from_value).collect();
        if let Some(configured) = engine.configured_adapter(&name) {
            adapters.push(AdapterDetail { configured: AdapterView::from_value(&configured), versions, locations });
        }
    }
    Ok(call.list(&adapters))
}

pub async fn upload(mut call: ApiCall, AdapterName(name): AdapterName) -> Answer<One<AdapterVersionView>> {
    let component = std::mem::take(&mut call.component);
    let added = call.api.engine.add_adapter_version(&name, component.into()).await?;
    Ok(call.show(AdapterVersionView::from_value(&added)))
}

#[input]
pub struct AdapterRollOut {
    /// The SHA-256 of an uploaded version, or `configured` for the version of the configuration.
    #[body(text(MAX_NAME))]
    version: String,
    /// `true` to only try the version.
    #[body(boolean(), or = false)]
    dry_run: bool,
}

pub async fn roll_out(
    call: ApiCall,
    OfLocation(location, AdapterRollOut { version, dry_run }): OfLocation<AdapterRollOut>,
) -> Answer<One<RollOutView>> {
    Ok(call.show(roll_out_version(&call.action(), location.setup.id, &version, dry_run).await?))
}

/// Tries a version at a location. Unless `dry_run` is set, the location runs it afterwards.
pub(super) async fn roll_out_version(
    action: &ActionContext<'_>,
    location: LocationId,
    version: &str,
    dry_run: bool,
) -> Answer<RollOutView> {
    let engine = &action.api.engine;
    let sha256 = (version != CONFIGURED).then(|| version.to_owned());
    let tried = engine.try_adapter(location, sha256.as_deref()).await?;
    let rolled_out = match dry_run {
        true => engine.rolled_out(location)?.map(|(_, known)| known).unwrap_or_default(),
        false => engine.roll_out(location, sha256).await?,
    };
    if !dry_run {
        action.shown.audit("roll out adapter", "location", location.0.into());
    }
    let (location, tried) =
        (LocationAdapterView::from_value(&rolled_out, location), tried.iter().map(TriedView::from_value));
    Ok(RollOutView { location, tried: tried.collect(), rolled_out: !dry_run })
}

pub(crate) async fn roll_back(
    call: ApiCall,
    OfLocation(location, ()): OfLocation<()>,
) -> Answer<One<LocationAdapterView>> {
    Ok(call.show(roll_back_version(&call.action(), location.setup.id).await?))
}

pub(super) async fn roll_back_version(action: &ActionContext<'_>, location: LocationId) -> Answer<LocationAdapterView> {
    let rolled_back = action.api.engine.roll_back(location).await?;
    action.shown.audit("roll back adapter", "location", location.0.into());
    Ok(LocationAdapterView::from_value(&rolled_back, location))
}
