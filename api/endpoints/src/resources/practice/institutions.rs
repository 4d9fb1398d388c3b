//! GET /institutions, GET /institutions/{id}

use super::locations::is_visible;
use crate::{prelude::*, views::locations::LocationBasic};

/// An institution that the key can access.
#[view(named = "institution")]
pub struct InstitutionDetail<'a> {
    id: u32,
    name: &'a str,
    /// Time at which this service first started with this record in its configuration, in UTC; null if it was not
    /// recorded.
    created_at: Option<At>,
    /// Time at which this service first started with the current configuration of this record, in UTC; null if it was
    /// not recorded.
    updated_at: Option<At>,
    subdomain: &'a str,
    /// Phone number of the institution; null if not configured.
    phone_number: Option<&'a str>,
    /// Kinds of health record systems that the locations of the institution use.
    emrs: BTreeSet<&'a str>,
    /// Country of the institution, as a two-letter code; `US` unless configured.
    country_code: &'a str,
    /// `true` if at least one appointment type belongs to a single location.
    appointment_types_location_scoped: bool,
    /// Always false: no notifications are sent by e-mail.
    is_sync_notifications: bool,
    /// Always false: no notifications are sent by e-mail.
    notify_insert_fails: bool,
    /// Locations of the institution that the key can access, without pending ones.
    locations: Vec<LocationBasic<'a>>,
}

pub async fn list(call: ApiCall, Anywhere(()): Anywhere<()>) -> Answer<Listed<InstitutionDetail<'static>>> {
    let tenants = call.tenants();
    let rows = tenants.iter().map(|tenant| view(&call, tenant)).collect::<Result<Vec<_>, _>>()?;
    Ok(call.list(&rows))
}

pub async fn show(call: ApiCall, Id(id): Id<u32>) -> Answer<One<InstitutionDetail<'static>>> {
    let tenant = call.tenants().into_iter().find(|tenant| tenant.institution.id.0 == id);
    let tenant = tenant.ok_or_else(|| ApiError::not_found(format!("Institution with id {id}")))?;
    Ok(call.show(view(&call, &tenant)?))
}

fn view<'a>(call: &'a ApiCall, tenant: &'a Tenant) -> Result<InstitutionDetail<'a>, ApiError> {
    let institution = &tenant.institution;
    let set_up = call.api.engine.institution_set_up(institution.id)?;
    let types = call.api.engine.appointment_types(institution.id)?;
    let own = || call.directory.locations_of(institution.id).iter().filter(|location| is_visible(call, location));
    Ok(InstitutionDetail {
        id: institution.id.0,
        name: &institution.name,
        created_at: set_up.map(|it| At(it.first)),
        updated_at: set_up.map(|it| At(it.changed)),
        subdomain: &institution.subdomain,
        phone_number: institution.phone_number.as_deref(),
        emrs: own().filter_map(|location| call.directory.adapter(location)).collect(),
        country_code: institution.country_code.as_str(),
        appointment_types_location_scoped: types.iter().any(|it| it.deleted_at.is_none() && it.location_id.is_some()),
        is_sync_notifications: false,
        notify_insert_fails: false,
        locations: own().map(|location| LocationBasic::from_value(location)).collect(),
    })
}
