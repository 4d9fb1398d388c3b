//! Persons inside other records: patients, providers, users.

use super::common::foreign_id_type;
use crate::prelude::*;

/// A patient or provider inside another record.
#[view(of = Patient)]
pub struct PersonView<'a> {
    /// Id of the patient or provider.
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    /// Full name. For a provider, the display name if there is one.
    #[view(with = entry.name())]
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Contact and personal data.
    #[view(with = PersonBio::from_record(entry))]
    bio: PersonBio<'a>,
    inactive: bool,
    last_sync_time: Option<At>,
}

/// Contact and personal data. All fields are null for a provider.
#[view(of = Patient)]
#[derive(Default)]
pub(crate) struct PersonBio<'a> {
    date_of_birth: Option<&'a str>,
    gender: Option<&'a str>,
    /// The first available number, in this order: the number without a type, the cell, home and work number. Null if
    /// there is none.
    #[view(with = preferred_phone(entry))]
    phone_number: Option<&'a str>,
    /// Cell phone number, or the only number if the health record system stores one number without a type; null if
    /// unknown.
    #[view(with = cell_phone(entry))]
    cell_phone_number: Option<&'a str>,
    #[view(from = home_phone)]
    home_phone_number: Option<&'a str>,
    #[view(from = work_phone)]
    work_phone_number: Option<&'a str>,
    /// The same as `address_line_1`.
    #[view(with = entry.address.as_ref().and_then(|it| it.line1.as_deref()))]
    street_address: Option<&'a str>,
    /// Street and number; null if unknown.
    #[view(with = entry.address.as_ref().and_then(|it| it.line1.as_deref()))]
    address_line_1: Option<&'a str>,
    /// Second line of the street address; null if unknown.
    #[view(with = entry.address.as_ref().and_then(|it| it.line2.as_deref()))]
    address_line_2: Option<&'a str>,
    /// City; null if unknown.
    #[view(with = entry.address.as_ref().and_then(|it| it.city.as_deref()))]
    city: Option<&'a str>,
    /// State or region; null if unknown.
    #[view(with = entry.address.as_ref().and_then(|it| it.region.as_deref()))]
    state: Option<&'a str>,
    /// Postal code; null if unknown.
    #[view(with = entry.address.as_ref().and_then(|it| it.postal_code.as_deref()))]
    zip_code: Option<&'a str>,
    new_patient: Option<bool>,
    non_patient: Option<bool>,
}

/// A patient inside another record.
#[view(of = Patient, args(adapter: Option<&'a str>))]
pub struct PatientBasic<'a> {
    #[view(flatten = PersonView::from_record(entry, adapter))]
    user: PersonView<'a>,
    #[view(flatten = PatientAccount::from_record(entry))]
    account: PatientAccount<'a>,
    preferred_locale: Option<()>,
    /// Id of the primary provider; null if the patient has none.
    provider_id: Option<u32>,
    location_ids: &'a [u32],
    write: WriteState<'a>,
}

/// The first fields of a patient that a provider lacks, in all versions.
#[view(of = Patient)]
pub(crate) struct PatientAccount<'a> {
    guarantor_id: Option<u32>,
    /// Billing type, called account type in some health record systems; null if the health record system does not
    /// provide it.
    billing_type: Option<&'a str>,
    chart_id: Option<&'a str>,
    preferred_language: Option<&'a str>,
}

/// A provider inside another record.
#[view(of = Provider, args(adapter: Option<&'a str>), published)]
pub struct ProviderBasic<'a> {
    #[view(flatten = PersonView::provider(entry, adapter))]
    user: PersonView<'a>,
    display_name: Option<&'a str>,
    npi: Option<&'a str>,
    tin: Option<&'a str>,
    state_license: Option<&'a str>,
    specialty_code: Option<&'a str>,
}

impl<'a> PersonView<'a> {
    pub fn provider(record: &'a Record<Provider>, adapter: Option<&'a str>) -> PersonView<'a> {
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

/// Returns the cell phone number, or else the primary one (specification 2.6).
pub fn cell_phone(record: &Record<Patient>) -> Option<&str> {
    record.cell_phone.as_deref().or(record.primary_phone.as_deref())
}

pub(crate) fn preferred_phone(record: &Record<Patient>) -> Option<&str> {
    let numbers = [&record.primary_phone, &record.cell_phone, &record.home_phone, &record.work_phone];
    numbers.into_iter().flatten().next().map(String::as_str)
}
