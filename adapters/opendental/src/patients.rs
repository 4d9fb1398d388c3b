//! Patients: conversion of a row to a record and back, and writes. A row has no field for a key. A patient is
//! identified by name, date of birth, and e-mail or phone, like Open Dental's own duplicate check.

use adapter_sdk::{
    Fault, PatientChange, Receipt, Record,
    json::{self, text},
    language,
    notes::same_text,
    records::{self, Gender, extra},
    streams::{Mapped, Shown, one_record},
    warn,
};
use demographics::{name, phone::Number};
use serde_json::{Map, Value, json};

use crate::{
    client::{self, Client},
    map::{address, id},
    requests::{is_state, is_zip, kept, number},
    responses::Patient,
    settings::OpenDentalSettings,
    time,
    values::{self, GENDERS, Text},
};

const PATH: &str = "/patients";
/// Open Dental formats phone numbers for North America and has no field for another country.
const COUNTRY: &str = "US";
/// Maximum length of a chart number.
pub const CHART_NUMBER: usize = 15;

pub fn patient(_: &Client, p: Patient) -> Mapped {
    match is_deleted(&p) {
        true => Ok(Shown::Gone(id(p.pat_num)?)),
        false => one_record(Record::Patient(person(&p)?)),
    }
}

fn person(p: &Patient) -> Result<records::Patient, String> {
    let patient = id(p.pat_num)?;
    let (work_phone, work_phone_extension) = extension(&p.wk_phone);
    Ok(records::Patient {
        first_name: p.f_name.some().unwrap_or_default(),
        middle_name: p.middle_i.some(),
        last_name: p.l_name.some().unwrap_or_default(),
        date_of_birth: time::day(&p.birthdate)?,
        gender: GENDERS.meaning(&p.gender).or((p.gender.0 == "Other").then_some(Gender::Other)),
        email: values::mails(&p.email).next().map(str::to_owned),
        cell_phone: p.wireless_phone.some(),
        home_phone: p.hm_phone.some(),
        work_phone,
        work_phone_extension,
        address: address([&p.address, &p.address2, &p.city, &p.state, &p.zip]),
        guarantor: p.guarantor.id().filter(|guarantor| *guarantor != patient),
        provider: p.pri_prov.id(),
        billing_type: p.billing_type.some(),
        chart_id: p.chart_number.some(),
        preferred_language: language::two(&p.language).map(str::to_owned),
        inactive: matches!(p.pat_status.as_str(), "Inactive" | "Archived" | "Deceased"),
        new_patient: p.pat_status.0 == "Prospective",
        non_patient: p.pat_status.0 == "NonPatient",
        unsubscribed_sms: p.txt_msg_ok.0 == "No",
        extra: extra([("preferred_name", p.preferred.some()), ("status", p.pat_status.some())]),
        id: patient,
        ..records::Patient::default()
    })
}

/// Splits a phone number such as `(536)555-0182 x12`.
fn extension(phone: &Text) -> (Option<String>, Option<String>) {
    match phone.rsplit_once(" x") {
        Some((number, extension)) if !extension.is_empty() && extension.bytes().all(|b| b.is_ascii_digit()) => {
            (Some(number.trim().to_owned()), Some(extension.to_owned()))
        }
        _ => (phone.some(), None),
    }
}

/// Returns `true` for a deleted patient; the API may refuse requests about one.
pub fn is_deleted(row: &Patient) -> bool {
    row.pat_status.0 == "Deleted"
}

/// Returns the fields of a patient in the EHR's format.
pub fn form(settings: &OpenDentalSettings, p: &records::Patient) -> Map<String, Value> {
    let address = p.address.clone().unwrap_or_default();
    json::object([
        ("LName", p.last_name.as_str().into()),
        ("FName", p.first_name.as_str().into()),
        ("MiddleI", text(&p.middle_name)),
        ("PatStatus", json!(status(p))),
        ("Gender", json!(p.gender.map(|gender| GENDERS.word(gender).unwrap_or("Unknown")))),
        ("Birthdate", text(&p.date_of_birth)),
        ("SSN", json!(p.ssn.as_deref().map(digits))),
        ("Address", text(&address.line1)),
        ("Address2", text(&address.line2)),
        ("City", text(&address.city)),
        ("State", kept("region", &address.region, is_state)),
        ("Zip", kept("postal code", &address.postal_code, is_zip)),
        ("HmPhone", text(&p.home_phone)),
        ("WkPhone", work_phone(p)),
        ("WirelessPhone", text(&p.mobile().cloned())),
        ("Guarantor", number(&p.guarantor)),
        ("Email", text(&p.email)),
        ("PriProv", number(&p.provider)),
        ("BillingType", text(&p.billing_type)),
        ("ChartNumber", kept("chart id", &p.chart_id, is_chart_number)),
        ("Language", json!(p.preferred_language.as_deref().and_then(language::three))),
        ("TxtMsgOk", json!(p.unsubscribed_sms.then_some("No"))),
        ("ClinicNum", json!(settings.clinic.filter(|_| p.id.is_empty()))),
    ])
}

/// The API's values for unknown.
const UNKNOWN: [(&str, &str); 2] = [("Gender", "Unknown"), ("Birthdate", "0001-01-01")];
/// Fields to clear if the patient has no value.
const EMPTIED: &str = "MiddleI Address Address2 City State Zip HmPhone WkPhone WirelessPhone Email Language";

/// Returns the fields of an existing patient, with cleared fields empty. Fields that the office fills in itself, such
/// as provider and chart number, are omitted if unknown.
fn changed_form(settings: &OpenDentalSettings, p: &records::Patient) -> Map<String, Value> {
    let mut fields = form(settings, p);
    for (name, none) in EMPTIED.split_whitespace().map(|name| (name, "")).chain(UNKNOWN) {
        fields.entry(name).or_insert_with(|| none.into());
    }
    fields
}

fn status(p: &records::Patient) -> Option<&'static str> {
    match (p.inactive, p.non_patient, p.new_patient) {
        (true, _, _) => Some("Inactive"),
        (_, true, _) => Some("NonPatient"),
        (_, _, true) => Some("Prospective"),
        // A change of other fields keeps the status of an archived or deceased patient.
        _ => None,
    }
}

/// Returns `true` for fields with a value that the EHR would refuse; these are not written.
fn is_unfit(p: &records::Patient, name: &str) -> bool {
    let address = p.address.as_ref();
    let unfit = |value: Option<&str>, fits: fn(&str) -> bool| {
        value.map(str::trim).is_some_and(|text| !text.is_empty() && !fits(text))
    };
    match name {
        "State" => unfit(address.and_then(|address| address.region.as_deref()), is_state),
        "Zip" => unfit(address.and_then(|address| address.postal_code.as_deref()), is_zip),
        "ChartNumber" => unfit(p.chart_id.as_deref(), is_chart_number),
        "Language" => unfit(p.preferred_language.as_deref(), |code| language::three(code).is_some()),
        _ => false,
    }
}

fn is_chart_number(id: &str) -> bool {
    id.chars().count() <= CHART_NUMBER
}

fn work_phone(p: &records::Patient) -> Value {
    match (&p.work_phone, &p.work_phone_extension) {
        (Some(phone), Some(extension)) => format!("{phone} x{extension}").into(),
        (phone, _) => text(phone),
    }
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

pub fn create(client: &Client, key: &str, p: &records::Patient) -> Result<Receipt, Fault> {
    say_of_country(p);
    let answer = client.post(PATH, &form(&client.settings, p).into())?;
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

pub fn find(client: &Client, _: &str, p: &records::Patient) -> Result<Option<Receipt>, Fault> {
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

fn say_of_country(p: &records::Patient) {
    let country = p.address.as_ref().and_then(|address| address.country.as_deref());
    if country.is_some_and(|country| country != "US") {
        warn!("Open Dental has no field for the country of an address");
    }
}

/// Returns the fields that still have to be written. Only the value that the client saw is changed: other mail
/// addresses in the field stay, and so does the phone number if only its extension changes, or vice versa.
fn changes(client: &Client, change: &PatientChange, row: &Patient) -> Map<String, Value> {
    let mut changes = change.fields(|p| changed_form(&client.settings, p));
    changes.retain(|name, _| !is_unfit(&change.patient, name));
    if let (Some(mail), Some(before)) = (changes.get_mut("Email"), &change.before) {
        *mail = values::with_mail(&row.email, before.email.as_deref(), mail.as_str().unwrap_or_default()).into();
    }
    if let (Some(phone), Ok(held)) = (changes.get_mut("WkPhone"), person(row)) {
        *phone = work_phone(&change.onto(held)).as_str().unwrap_or_default().into();
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

fn is_same(row: &Patient, p: &records::Patient) -> bool {
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

fn read(client: &Client, p: &records::Patient) -> Result<Option<Patient>, Fault> {
    client.one(PATH, &p.id)
}
