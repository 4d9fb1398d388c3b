//! Persons inside other records: patients, providers, users.

use engine::records::{Patient, Provider, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use super::parts::{WriteState, foreign_id_type};
use crate::values::times::At;

/// A patient or provider inside another record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PersonView<'a> {
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    /// Full name.
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    /// Identifier in the health record system, opaque; null for a record that exists only here.
    foreign_id: Option<&'a str>,
    /// The health record system; `nex` for a record that exists only here.
    foreign_id_type: &'a str,
    bio: PersonBio<'a>,
    inactive: bool,
    last_sync_time: Option<At>,
}

/// Contact and personal data. All fields are null for a provider.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct PersonBio<'a> {
    #[schemars(extend("format" = "date"))]
    date_of_birth: Option<&'a str>,
    gender: Option<&'a str>,
    /// The first available of the primary, cell, home and work number.
    phone_number: Option<&'a str>,
    cell_phone_number: Option<&'a str>,
    home_phone_number: Option<&'a str>,
    work_phone_number: Option<&'a str>,
    street_address: Option<&'a str>,
    address_line_1: Option<&'a str>,
    address_line_2: Option<&'a str>,
    city: Option<&'a str>,
    state: Option<&'a str>,
    zip_code: Option<&'a str>,
    new_patient: Option<bool>,
    non_patient: Option<bool>,
}

/// A patient inside another record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PatientBasic<'a> {
    #[serde(flatten)]
    user: PersonView<'a>,
    /// The responsible party; null where the health record system names none.
    pub guarantor_id: Option<u32>,
    billing_type: Option<&'a str>,
    chart_id: Option<&'a str>,
    /// ISO 639-1 code.
    preferred_language: Option<&'a str>,
    /// Always null: no health record system provides it.
    preferred_locale: Option<()>,
    /// The primary provider.
    provider_id: Option<u32>,
    /// Locations the patient was created or seen at.
    location_ids: &'a [u32],
    #[serde(flatten)]
    write: WriteState<'a>,
}

/// A provider inside another record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProviderBasic<'a> {
    #[serde(flatten)]
    user: PersonView<'a>,
    display_name: Option<&'a str>,
    npi: Option<&'a str>,
    tin: Option<&'a str>,
    state_license: Option<&'a str>,
    specialty_code: Option<&'a str>,
}

impl<'a> PersonView<'a> {
    pub(crate) fn patient(record: &'a Record<Patient>, adapter: Option<&'a str>) -> PersonView<'a> {
        PersonView {
            id: record.id,
            email: record.email.as_deref(),
            first_name: &record.first_name,
            middle_name: record.middle_name.as_deref(),
            last_name: &record.last_name,
            name: record.name(),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            institution_id: record.institution_id,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            bio: PersonBio::of(record),
            inactive: record.inactive,
            last_sync_time: record.last_sync_time.map(At),
        }
    }

    pub(crate) fn provider(record: &'a Record<Provider>, adapter: Option<&'a str>) -> PersonView<'a> {
        PersonView {
            id: record.id,
            email: record.email.as_deref(),
            first_name: &record.first_name,
            middle_name: record.middle_name.as_deref(),
            last_name: &record.last_name,
            name: record.name(),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            institution_id: record.institution_id,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            bio: PersonBio::default(),
            inactive: record.inactive,
            last_sync_time: record.last_sync_time.map(At),
        }
    }
}

impl<'a> PersonBio<'a> {
    fn of(record: &'a Record<Patient>) -> PersonBio<'a> {
        let address = record.address.as_ref();
        let line_1 = address.and_then(|it| it.line1.as_deref());
        PersonBio {
            date_of_birth: record.date_of_birth.as_deref(),
            gender: record.gender.as_deref(),
            phone_number: preferred_phone(record),
            cell_phone_number: cell_phone(record),
            home_phone_number: record.home_phone.as_deref(),
            work_phone_number: record.work_phone.as_deref(),
            street_address: line_1,
            address_line_1: line_1,
            address_line_2: address.and_then(|it| it.line2.as_deref()),
            city: address.and_then(|it| it.city.as_deref()),
            state: address.and_then(|it| it.region.as_deref()),
            zip_code: address.and_then(|it| it.postal_code.as_deref()),
            new_patient: Some(record.new_patient),
            non_patient: Some(record.non_patient),
        }
    }
}

/// Specification 2.6.
pub(crate) fn cell_phone(record: &Record<Patient>) -> Option<&str> {
    record.cell_phone.as_deref().or(record.primary_phone.as_deref())
}

pub(crate) fn preferred_phone(record: &Record<Patient>) -> Option<&str> {
    let numbers = [&record.primary_phone, &record.cell_phone, &record.home_phone, &record.work_phone];
    numbers.into_iter().flatten().next().map(String::as_str)
}

impl<'a> PatientBasic<'a> {
    pub(crate) fn of(record: &'a Record<Patient>, adapter: Option<&'a str>) -> PatientBasic<'a> {
        PatientBasic {
            user: PersonView::patient(record, adapter),
            guarantor_id: record.guarantor_id,
            billing_type: record.billing_type.as_deref(),
            chart_id: record.chart_id.as_deref(),
            preferred_language: record.preferred_language.as_deref(),
            preferred_locale: None,
            provider_id: record.provider_id,
            location_ids: &record.location_ids,
            write: WriteState::of(record.write.as_ref()),
        }
    }
}

impl<'a> ProviderBasic<'a> {
    pub(crate) fn of(record: &'a Record<Provider>, adapter: Option<&'a str>) -> ProviderBasic<'a> {
        ProviderBasic {
            user: PersonView::provider(record, adapter),
            display_name: record.display_name.as_deref(),
            npi: record.npi.as_deref(),
            tin: record.tin.as_deref(),
            state_license: record.state_license.as_deref(),
            specialty_code: record.specialty_code.as_deref(),
        }
    }
}
