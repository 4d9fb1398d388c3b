//! Writes of patients, which consist of a person and a patient in separate models.

use adapter_sdk::{
    Fault, PatientChange, Receipt,
    records::{Address, Patient},
    steps, warn,
};
use serde_json::{Map, Value};

use crate::{
    client, map,
    requests::{
        self, Place,
        patient::{Fields, own_of_new},
    },
    responses::{Coded, Named, PATIENT, PatientRow},
    settings::Settings,
};

/// Creates person and patient with one call, and then writes the provider, which is a field of the patient.
pub fn create(settings: &Settings, key: &str, patient: &Patient) -> Result<Receipt, Fault> {
    let row = match row_of(key)? {
        Some(row) => row,
        None => {
            client::create("party.party", &requests::patient::person(key, patient, &place_of(settings, patient)?))?;
            let made = row_of(key).map_err(steps::after)?;
            made.ok_or_else(|| Fault::unknown("the EHR has made a person and no patient"))?
        }
    };
    match write(PATIENT, row.id, own_of_new(&row, patient)) {
        // The patient exists without the provider.
        Err(Fault::Rejected(why)) => warn!("the provider of a new patient is not written: {why}"),
        other => other.map_err(steps::after)?,
    }
    Ok(Receipt::new(row.id))
}

/// Returns the patient with this write key if nothing is left to write.
pub fn find_created(_: &Settings, key: &str, patient: &Patient) -> Result<Option<Receipt>, Fault> {
    let Some(row) = row_of(key)? else { return Ok(None) };
    Ok(own_of_new(&row, patient).is_empty().then(|| Receipt::new(row.id)))
}

pub fn update(settings: &Settings, _: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    let row = read(&change.patient)?.ok_or_else(|| Fault::rejected("the EHR no longer has the patient"))?;
    let (person, own) = changes(settings, &row, change)?;
    let person_changes = !person.is_empty();
    write("party.party", row.party.id, person)?;
    write(PATIENT, row.id, own).map_err(|fault| if person_changes { steps::after(fault) } else { fault })?;
    Ok(Receipt::new(row.id))
}

/// Returns a receipt if the patient has the wanted values.
pub fn find_updated(settings: &Settings, _: &str, change: &PatientChange) -> Result<Option<Receipt>, Fault> {
    let Some(row) = read(&change.patient)? else { return Ok(None) };
    let (person, own) = changes(settings, &row, change)?;
    Ok((person.is_empty() && own.is_empty()).then(|| Receipt::new(row.id)))
}

/// Returns the remaining changes of the person and of the patient.
fn changes(settings: &Settings, row: &PatientRow, change: &PatientChange) -> Result<(Fields, Fields), Fault> {
    let wanted = change.onto(map::person(row));
    Ok(requests::patient::changes(row, change, &wanted, &place_of(settings, &wanted)?))
}

/// Looks up the ids of an address and a language. A country or state that the EHR does not have is omitted.
fn place_of(settings: &Settings, patient: &Patient) -> Result<Place, Fault> {
    let mut place =
        patient.address.as_ref().map_or(Ok(Place::default()), |address| place_of_address(settings, address))?;
    if let Some(code) = &patient.preferred_language {
        place.language = client::first::<Coded>(&requests::language(code))?.map(|row| row.id);
    }
    Ok(place)
}

pub fn place_of_address(settings: &Settings, address: &Address) -> Result<Place, Fault> {
    let Some(code) = address.country.as_ref().or(settings.country.as_ref()) else {
        if address.region.is_some() {
            warn!("the EHR stores a region only with a country, and `country` is not set: the region is not written");
        }
        return Ok(Place::default());
    };
    let country = client::first::<Coded>(&requests::country(code))?.map(|row| row.id);
    let subdivision = match (country, &address.region) {
        (Some(country), Some(region)) => {
            client::first::<Named>(&requests::subdivision(country, code, region))?.map(|row| row.id)
        }
        _ => None,
    };
    if country.is_none() || (subdivision.is_none() && address.region.is_some()) {
        warn!("the EHR does not have the country or the region of an address: they are not written");
    }
    Ok(Place { country, subdivision, language: None })
}

fn read(patient: &Patient) -> Result<Option<PatientRow>, Fault> {
    client::first(&requests::by_id(PATIENT, requests::existing(&patient.id, "patient")?))
}

fn row_of(key: &str) -> Result<Option<PatientRow>, Fault> {
    client::first(&requests::by_identifier(PATIENT, "party.", key))
}

fn write(model: &str, id: i64, values: Map<String, Value>) -> Result<(), Fault> {
    match values.is_empty() {
        true => Ok(()),
        false => client::write(&requests::write(model, id, None, &Value::Object(values))).map(drop),
    }
}
