//! Appointment descriptors of appointments, appointment types and locations.

use framework::values::limits::MAX_WHOLE_LIST;

use crate::prelude::*;

/// A label of the health record system for appointments or types, such as a procedure code, a reason or a colour.
#[view(of = AppointmentDescriptor, named = "descriptor", published)]
pub struct AppointmentDescriptorView<'a> {
    id: u64,
    /// Kind of descriptor, as the health record system calls it.
    #[view(from = kind)]
    descriptor_type: &'a str,
    name: &'a str,
    /// Code of the descriptor; null if the health record system provides none.
    code: Option<&'a str>,
    /// Always null: all locations of the health record system share it.
    location_id: Option<u32>,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Other values that the health record system provides, keyed by name.
    #[view(with = entry.body.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())]
    data: BTreeMap<&'a str, &'a str>,
    #[view(active)]
    active: bool,
    last_sync_time: Option<At>,
    created_at: At,
    updated_at: At,
}

type Descriptor = Record<AppointmentDescriptor>;

#[input]
pub struct ListDescriptors {
    /// Only descriptors of this type.
    #[query(text(MAX_NAME), name = "descriptor_type")]
    kind: Option<String>,
}

/// Returns the descriptors with these ids that are not deleted, each once.
pub(crate) fn by_ids(
    call: &ApiCall,
    tenant: &Tenant,
    ids: impl IntoIterator<Item = u32>,
) -> Result<Vec<Descriptor>, ApiError> {
    let mut ids: Vec<u32> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    let mut found = Vec::new();
    for id in ids {
        found.extend(call.try_entry::<AppointmentDescriptor>(tenant, id.into())?);
    }
    found.retain(|it| it.deleted_at.is_none());
    Ok(found)
}

pub fn views<'a>(call: &'a ApiCall, found: &'a [Descriptor]) -> Vec<AppointmentDescriptorView<'a>> {
    let adapter = |it: &Descriptor| call.directory.adapter_of_source(it.source_id);
    found.iter().map(|it| AppointmentDescriptorView::from_record(it, adapter(it))).collect()
}

pub fn list(
    call: &ApiCall,
    found: &[Descriptor],
    ListDescriptors { kind }: &ListDescriptors,
) -> Listed<AppointmentDescriptorView<'static>> {
    let wanted = |it: &&Descriptor| kind.as_ref().is_none_or(|kind| it.body.kind.eq_ignore_ascii_case(kind));
    let wanted: Vec<Descriptor> = found.iter().filter(wanted).cloned().collect();
    call.list(&views(call, &wanted))
}

/// GET /locations/{id}/appointment_descriptors
pub(crate) async fn list_at_location(
    call: ApiCall,
    OfLocation(location, request): OfLocation<ListDescriptors>,
) -> Answer<Listed<AppointmentDescriptorView<'static>>> {
    let query = ListQuery::new(location.sources(), Order::Id);
    let here = |it: &Descriptor| it.deleted_at.is_none() && it.location_id.is_none_or(|own| own == location.setup.id.0);
    let found = call.api.engine.lists().list(&query, &PageRequest::whole(MAX_WHOLE_LIST), here)?.rows;
    Ok(list(&call, &found, &request))
}
