//! Patients: who may see which, and as other resources show them.

pub mod alerts;
pub mod create;
pub mod documents;
pub mod list;
pub mod show;
pub mod update;

use engine::records::Patient;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    errors::ApiError,
    scope::{Call, Place, Tenant},
    wire::{At, foreign_id_type},
};

/// The one a request names, of any location that is open to the caller.
pub fn find(call: &Call, tenant: &Tenant, id: u32) -> Result<Patient, ApiError> {
    let found = call.api.engine.patient(tenant.institution.id, id)?.filter(|it| reachable(call, tenant, it));
    seen(call, found, id)
}

/// The one a request names, at a location.
pub fn find_at(call: &Call, place: &Place, id: u32) -> Result<Patient, ApiError> {
    let found = call.api.engine.patient(place.institution.id, id)?;
    seen(call, found.filter(|it| it.source_id == place.location.source), id)
}

fn seen(call: &Call, found: Option<Patient>, id: u32) -> Result<Patient, ApiError> {
    let found = found.ok_or_else(|| ApiError::NotFound(format!("Patient with id {id}")))?;
    call.audit("read", "patient", id.into());
    Ok(found)
}

/// Patients are shared by all locations of their EHR; without one they belong to the locations that know them.
pub fn reachable(call: &Call, tenant: &Tenant, patient: &Patient) -> bool {
    call.open_places(tenant).iter().any(|place| match patient.source_id {
        Some(source) => place.location.source == Some(source),
        None => patient.location_ids.contains(&place.location.id.0),
    })
}

/// A patient.
#[derive(Serialize, JsonSchema)]
pub struct PatientView {
    id: u32,
    email: Option<String>,
    first_name: String,
    middle_name: Option<String>,
    last_name: String,
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    foreign_id: Option<String>,
    foreign_id_type: String,
    bio: Bio,
    inactive: bool,
    last_sync_time: Option<At>,
    guarantor_id: Option<u32>,
    billing_type: Option<String>,
    chart_id: Option<String>,
    preferred_language: Option<String>,
    preferred_locale: Option<String>,
    location_ids: Vec<u32>,
    guarantor: Option<()>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PatientBio")]
struct Bio {
    gender: Option<String>,
    date_of_birth: Option<String>,
    phone_number: Option<String>,
    cell_phone_number: Option<String>,
    home_phone_number: Option<String>,
    work_phone_number: Option<String>,
    city: Option<String>,
    state: Option<String>,
    zip_code: Option<String>,
    street_address: Option<String>,
    new_patient: bool,
    non_patient: bool,
}

impl PatientView {
    pub fn of(record: &Patient, adapter: Option<&str>) -> PatientView {
        PatientView {
            id: record.id,
            email: record.email.clone(),
            first_name: record.first_name.clone(),
            middle_name: record.middle_name.clone(),
            last_name: record.last_name.clone(),
            name: record.name(),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            institution_id: record.institution_id,
            foreign_id: record.foreign_id.clone(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter).to_owned(),
            bio: Bio::of(record),
            inactive: record.inactive,
            last_sync_time: record.last_sync_time.map(At),
            guarantor_id: None,
            billing_type: record.billing_type.clone(),
            chart_id: record.chart_id.clone(),
            preferred_language: record.preferred_language.clone(),
            preferred_locale: None,
            location_ids: record.location_ids.clone(),
            guarantor: None,
        }
    }
}

impl Bio {
    fn of(record: &Patient) -> Bio {
        let address = record.address.clone().unwrap_or_default();
        let cell = record.cell_phone.clone().or_else(|| record.primary_phone.clone());
        let first = [&record.primary_phone, &record.cell_phone, &record.home_phone, &record.work_phone];
        Bio {
            gender: record.gender.clone(),
            date_of_birth: record.date_of_birth.clone(),
            phone_number: first.into_iter().flatten().next().cloned(),
            cell_phone_number: cell,
            home_phone_number: record.home_phone.clone(),
            work_phone_number: record.work_phone.clone(),
            city: address.city,
            state: address.region,
            zip_code: address.postal_code,
            street_address: address.line_1,
            new_patient: record.new_patient,
            non_patient: record.non_patient,
        }
    }
}
