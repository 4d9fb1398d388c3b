//! Writes of patients. A row has no field for a key. A patient is identified by name, date of birth, and e-mail or
//! phone, like Open Dental's own duplicate check.

use adapter_sdk::{Fault, PatientChange, Receipt, language, notes::same_text, records::Patient as Wanted, warn};
use demographics::{name, phone::Number};
use serde_json::{Map, Value, json};

use crate::{
    client::{self, Client},
    map,
    requests::{self, digits},
    responses::Patient,
    time, values,
};

const PATH: &str = "/patients";
/// Open Dental formats phone numbers for North America and has no field for another country.
const COUNTRY: &str = "US";

pub fn create(client: &Client, key: &str, p: &Wanted) -> Result<Receipt, Fault> {
    say_of_country(p);
    let answer = client.post(PATH, &requests::patient(&client.settings, p).into())?;
    client::receipt(&answer, "PatNum", || find(client, key, p))
}

pub fn update(client: &Client, _: &str, change: &PatientChange) -> Result<Receipt, Fault> {
    let row = read(client, &change.patient)?.ok_or_else(|| Fault::rejected("Open Dental no longer has the patient"))?;
    say_of_country(&change.patient);
    let changes = changes(client, change, &row);
    if let Some((name, _)) = changes.iter().find(|(_, value)| value.is_null()) {
        return Err(Fault::rejected(format!("Open Dental cannot take {name} away from a patient")));
    }
    if !changes.is_empty() {
        client.put(&format!("{PATH}/{}", row.pat_num), &changes.into())?;
    }
    Ok(row.pat_num.receipt())
}

pub fn find(client: &Client, _: &str, p: &Wanted) -> Result<Option<Receipt>, Fault> {
    let mut query = vec![("LName", p.last_name.clone()), ("FName", p.first_name.clone())];
    query.extend(p.date_of_birth.clone().map(|born| ("Birthdate", born)));
    let rows: Vec<Patient> = client.all("/patients/Simple", &query)?;
    Ok(rows.iter().find(|row| is_same(row, p)).map(|row| row.pat_num.receipt()))
}

/// Returns a receipt if all fields have the wanted values.
pub fn find_update(client: &Client, _: &str, change: &PatientChange) -> Result<Option<Receipt>, Fault> {
    let row = read(client, &change.patient)?.filter(|row| changes(client, change, row).is_empty());
    Ok(row.as_ref().map(|row| row.pat_num.receipt()))
}

fn say_of_country(p: &Wanted) {
    let country = p.address.as_ref().and_then(|address| address.country.as_deref());
    if country.is_some_and(|country| country != "US") {
        warn!("Open Dental has no field for the country of an address");
    }
}

/// Returns the fields that still have to be written. Only the value that the client saw is changed: other mail
/// addresses in the field stay, and so does the phone number if only its extension changes, or vice versa.
fn changes(client: &Client, change: &PatientChange, row: &Patient) -> Map<String, Value> {
    let mut changes = change.fields(|p| requests::changed_patient(&client.settings, p));
    changes.retain(|name, _| !requests::is_unfit(&change.patient, name));
    if let (Some(mail), Some(before)) = (changes.get_mut("Email"), &change.before) {
        *mail = values::with_mail(&row.email, before.email.as_deref(), mail.as_str().unwrap_or_default()).into();
    }
    if let (Some(phone), Ok(held)) = (changes.get_mut("WkPhone"), map::person(row)) {
        *phone = requests::work_phone(&change.onto(held)).as_str().unwrap_or_default().into();
    }
    let row = json!(row);
    changes.retain(|name, wanted| {
        let (held, said) = (row[name].as_str().unwrap_or_default(), wanted.as_str().unwrap_or_default());
        let so = match name.as_str() {
            // An archived or deceased patient is already inactive.
            "PatStatus" if change.patient.inactive => matches!(held, "Inactive" | "Archived" | "Deceased"),
            "PatStatus" => held == said,
            "Birthdate" => time::day(held) == time::day(said),
            "Language" => language::two(held) == language::two(said),
            "Guarantor" | "PriProv" => *wanted == row[name],
            "HmPhone" | "WkPhone" | "WirelessPhone" => digits(held) == digits(said),
            "Email" => values::mails(held).eq(values::mails(said)),
            // Never pulled; writing it again has no effect.
            "SSN" => false,
            _ => same_text(Some(held), Some(said)),
        };
        !so
    });
    changes
}

fn is_same(row: &Patient, p: &Wanted) -> bool {
    let wanted: Vec<Number> = [&p.cell_phone, &p.home_phone, &p.work_phone, &p.primary_phone]
        .into_iter()
        .filter_map(|phone| Number::read(phone.as_deref()?, COUNTRY))
        .collect();
    let phones = [&row.wireless_phone, &row.hm_phone, &row.wk_phone].map(|phone| Number::read(phone, COUNTRY));
    let by_phone = phones.iter().flatten().any(|phone| wanted.contains(phone));
    let same_email = |email: &str, held: &str| email.trim().to_lowercase() == held.trim().to_lowercase();
    let by_email =
        p.email.as_deref().is_some_and(|email| values::mails(&row.email).any(|held| same_email(email, held)));
    let nothing_to_tell = wanted.is_empty() && p.email.is_none();
    row.pat_status.0 != "Deleted"
        && name::is_same(&row.l_name, &p.last_name)
        && name::is_same(&row.f_name, &p.first_name)
        && time::day(&row.birthdate).as_ref() == Ok(&p.date_of_birth)
        && (by_phone || by_email || nothing_to_tell)
}

fn read(client: &Client, p: &Wanted) -> Result<Option<Patient>, Fault> {
    client.one(PATH, &p.id)
}
