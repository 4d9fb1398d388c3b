//! GET /working_hour_labels: a label exists only as a name on working hours, so the labels are collected from these.

use sha2::{Digest, Sha256};

use crate::prelude::*;

/// A label of working hours, such as `Hygiene`.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkingHourLabelView<'a> {
    /// Id of the label. The same name at a location has the same id.
    id: u64,
    /// Id of the location.
    location_id: Option<u32>,
    /// Name of the label.
    name: &'a str,
}

impl<'a> WorkingHourLabelView<'a> {
    pub fn new(location: u32, name: &'a str) -> WorkingHourLabelView<'a> {
        WorkingHourLabelView { id: label_id(location, name), location_id: Some(location), name }
    }
}

/// Returns the id of a label. A label is only a name at a location, so its id is a digest of both.
pub fn label_id(location: u32, name: &str) -> u64 {
    let mut hash = Sha256::new();
    hash.update(location.to_be_bytes());
    hash.update(name.as_bytes());
    let digest = hash.finalize();
    // The 53 bits that a JSON number represents exactly.
    digest[..8].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)) >> 11
}

#[input]
pub struct ListLabels {
    #[query(part_of_name().map(|name| name.to_lowercase()), name = "search_name")]
    name: Option<String>,
    #[query(active())]
    active: Option<bool>,
    paging: Paging,
}

pub async fn list(
    call: ApiCall,
    InLocations(tenant, location, ListLabels { name, active, paging }): InLocations<ListLabels>,
) -> Answer<Paged<WorkingHourLabelView<'static>>> {
    let locations = location.map_or_else(|| call.open_locations(&tenant), |location| vec![location]);
    // By id: location, name, and whether working hours in use have the label.
    let mut labels: BTreeMap<u64, (u32, String, bool)> = BTreeMap::new();
    for location in &locations {
        for hour in call.api.engine.working_hours(location.setup.id)?.into_iter().filter(|it| it.deleted_at.is_none()) {
            let in_force = hour.in_force();
            let location = hour.location();
            let Some(name) = hour.body.label else { continue };
            let label = labels.entry(label_id(location, &name)).or_insert((location, name, false));
            label.2 |= in_force;
        }
    }
    labels.retain(|_, (_, label, in_use)| {
        name.as_ref().is_none_or(|name| label.to_lowercase().contains(name))
            && active.is_none_or(|active| active == *in_use)
    });
    let page = paging.collect_by_id(&labels)?;
    Ok(call.page(&page.views(|(location, name, _)| WorkingHourLabelView::new(*location, name))))
}
