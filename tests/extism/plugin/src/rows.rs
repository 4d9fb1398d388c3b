//! Conversion of the EHR's rows into patients. As in the adapter, each row is parsed separately, so that an invalid
//! one does not affect others.

use serde::Deserialize;
use serde_json::Value;

use crate::contract::{self, Gender, PatientPage, PullFault, PulledPatient, Skipped};

/// A page of the EHR's list.
#[derive(Deserialize)]
pub struct PatientList {
    pub records: Vec<Value>,
    pub deleted: Vec<String>,
    pub revision: u64,
    pub more: bool,
    pub total: u64,
}

#[derive(Deserialize)]
struct PatientRow {
    id: String,
    version: u64,
    first_name: String,
    middle_name: Option<String>,
    last_name: String,
    born: Option<String>,
    gender: Option<String>,
    email: Option<String>,
    cell: Option<String>,
    home: Option<String>,
    work: Option<String>,
    address: Option<AddressRow>,
    guarantor: Option<String>,
    provider: Option<String>,
    chart: Option<String>,
    language: Option<String>,
    inactive: bool,
    new: bool,
    no_texts: bool,
    no_emails: bool,
}

#[derive(Deserialize)]
struct AddressRow {
    street: Option<String>,
    street2: Option<String>,
    city: Option<String>,
    state: Option<String>,
    zip: Option<String>,
    country: Option<String>,
}

const UNREADABLE: &str = "a field is missing or not as expected";

/// Adds the patient of a row to the page, or the reason why it cannot be read.
pub fn put(row: Value, page: &mut PatientPage) -> Result<(), PullFault> {
    let id = row["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
    match (serde_json::from_value::<PatientRow>(row), id) {
        (Ok(row), _) => page.records.push(patient(row)),
        (Err(_), Some(id)) => page.skipped.push(Skipped { id, reason: UNREADABLE.to_owned() }),
        (Err(_), None) => return Err(PullFault::RetryLater(UNREADABLE.to_owned())),
    }
    Ok(())
}

fn patient(row: PatientRow) -> PulledPatient {
    PulledPatient {
        id: row.id,
        first_name: row.first_name,
        middle_name: row.middle_name,
        last_name: row.last_name,
        date_of_birth: row.born,
        gender: row.gender.as_deref().map(gender),
        email: row.email,
        cell_phone: row.cell,
        home_phone: row.home,
        work_phone: row.work,
        address: row.address.map(address),
        guarantor: row.guarantor,
        provider: row.provider,
        chart_id: row.chart,
        preferred_language: row.language,
        inactive: row.inactive,
        new_patient: row.new,
        unsubscribed_sms: row.no_texts,
        unsubscribed_email: row.no_emails,
        extra: vec![("version".to_owned(), row.version.to_string())],
    }
}

fn gender(letter: &str) -> Gender {
    match letter {
        "F" => Gender::Female,
        "M" => Gender::Male,
        _ => Gender::Other,
    }
}

fn address(a: AddressRow) -> contract::PatientAddress {
    contract::PatientAddress {
        line1: a.street,
        line2: a.street2,
        city: a.city,
        region: a.state,
        postal_code: a.zip,
        country: a.country,
    }
}
