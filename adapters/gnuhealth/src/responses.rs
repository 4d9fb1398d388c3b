//! Rows as the EHR answers them: fields of a record that is referred to stand under its name and a dot.

use adapter_sdk::{footer::Text, mark};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::{
    conventions::Contact,
    values::{Date, DateTime, Decimal, yes},
};

pub const APPOINTMENT: &str = "gnuhealth.appointment";

#[derive(Debug, Deserialize)]
pub struct Id {
    pub id: i64,
}

#[derive(Debug, Deserialize)]
pub struct Coded {
    pub id: i64,
    pub code: Option<String>,
}

pub const PATIENT: &str = "gnuhealth.patient";
pub const PATIENT_FIELDS: &[&str] = &[
    "active",
    "primary_care_doctor",
    "party.active",
    "party.name",
    "party.lastname",
    "party.gender",
    "party.dob",
    "party.ref",
    "party.deceased",
    "party.langs.lang.code",
    "party.contact_mechanisms.type",
    "party.contact_mechanisms.name",
    "party.contact_mechanisms.value",
    "party.contact_mechanisms.active",
    "party.addresses.street",
    "party.addresses.city",
    "party.addresses.postal_code",
    "party.addresses.active",
    "party.addresses.country.code",
    "party.addresses.subdivision.code",
];

#[derive(Debug, Deserialize)]
pub struct PatientRow {
    pub id: i64,
    #[serde(deserialize_with = "yes")]
    pub active: bool,
    pub primary_care_doctor: Option<i64>,
    #[serde(rename = "party.")]
    pub party: Person,
}

/// The party behind a patient or a professional.
#[derive(Debug, Deserialize)]
pub struct Person {
    pub id: i64,
    #[serde(default, deserialize_with = "yes")]
    pub active: bool,
    pub name: Option<String>,
    pub lastname: Option<String>,
    pub gender: Option<String>,
    pub dob: Option<Date>,
    /// The number the EHR gives to a person.
    #[serde(rename = "ref")]
    pub puid: Option<String>,
    #[serde(default, deserialize_with = "yes")]
    pub deceased: bool,
    /// A language for each company, and one for all of them.
    #[serde(default, rename = "langs.")]
    pub langs: Vec<LangRow>,
    #[serde(default, rename = "contact_mechanisms.", deserialize_with = "in_use")]
    pub contacts: Vec<ContactMechanism>,
    #[serde(default, rename = "addresses.", deserialize_with = "in_use")]
    pub addresses: Vec<AddressRow>,
}

#[derive(Debug, Deserialize)]
pub struct LangRow {
    pub id: i64,
    #[serde(default, rename = "lang.")]
    pub lang: Option<Coded>,
}

#[derive(Debug, Deserialize)]
pub struct ContactMechanism {
    pub id: i64,
    #[serde(rename = "type")]
    pub means: String,
    pub name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    pub value: String,
}

#[derive(Debug, Deserialize)]
pub struct AddressRow {
    pub id: i64,
    pub street: Option<String>,
    pub city: Option<String>,
    pub postal_code: Option<String>,
    #[serde(default, rename = "country.")]
    pub country: Option<Coded>,
    #[serde(default, rename = "subdivision.")]
    pub subdivision: Option<Coded>,
}

impl Person {
    /// A field as a write would have it.
    pub fn fact(&self, name: &str) -> Value {
        match name {
            "name" => json!(self.name),
            "lastname" => json!(self.lastname),
            "gender" => json!(self.gender),
            "ref" => json!(self.puid),
            "dob" => json!(self.dob),
            _ => Value::Null,
        }
    }

    pub fn language(&self) -> Option<&Coded> {
        self.langs.iter().find_map(|row| row.lang.as_ref())
    }

    /// The address to read and to write: a new party has an empty one.
    pub fn address(&self) -> Option<&AddressRow> {
        self.addresses.iter().find(|address| !address.is_empty()).or(self.addresses.first())
    }

    pub fn contact(&self, kind: Contact) -> Option<String> {
        let contact = self.contacts.iter().find(|contact| contact.kind() == Some(kind))?;
        Some(contact.value.clone()).filter(|value| !value.is_empty())
    }
}

impl ContactMechanism {
    pub fn kind(&self) -> Option<Contact> {
        let work = self.name.as_ref().is_some_and(|name| name.to_lowercase().contains("work"));
        match self.means.as_str() {
            "mobile" => Some(Contact::Mobile),
            "phone" if work => Some(Contact::Work),
            "phone" => Some(Contact::Home),
            "email" => Some(Contact::Email),
            _ => None,
        }
    }
}

impl AddressRow {
    pub fn is_empty(&self) -> bool {
        let empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.is_empty());
        let texts = [&self.street, &self.city, &self.postal_code].into_iter().all(empty);
        texts && self.country.is_none() && self.subdivision.is_none()
    }

    /// A field as a write would have it.
    pub fn fact(&self, name: &str) -> Value {
        match name {
            "street" => json!(self.street),
            "city" => json!(self.city),
            "postal_code" => json!(self.postal_code),
            "country" => json!(self.country.as_ref().map(|country| country.id)),
            "subdivision" => json!(self.subdivision.as_ref().map(|subdivision| subdivision.id)),
            _ => Value::Null,
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Professional {
    pub id: i64,
    #[serde(deserialize_with = "yes")]
    pub active: bool,
    /// The licence.
    pub code: Option<String>,
    #[serde(rename = "party.")]
    pub party: Person,
    #[serde(default, rename = "specialties.")]
    pub specialties: Vec<Specialty>,
}

#[derive(Debug, Deserialize)]
pub struct Specialty {
    #[serde(rename = "specialty.")]
    pub specialty: Option<Coded>,
}

pub const APPOINTMENT_FIELDS: &[&str] = &[
    "name",
    "patient",
    "healthprof",
    "institution",
    "state",
    "appointment_date",
    "appointment_date_end",
    "appointment_type",
    "visit_type",
    "checked_in_date",
    "comments",
    "write_date",
    "_timestamp",
];

#[derive(Debug, Deserialize)]
pub struct AppointmentRow {
    pub id: i64,
    /// The number staff see, `APP 2026/1`.
    pub name: Option<String>,
    pub patient: Option<i64>,
    pub healthprof: Option<i64>,
    pub institution: Option<i64>,
    pub state: Option<String>,
    pub appointment_date: Option<DateTime>,
    pub appointment_date_end: Option<DateTime>,
    pub appointment_type: Option<String>,
    pub visit_type: Option<String>,
    pub checked_in_date: Option<DateTime>,
    pub comments: Option<String>,
    /// None before the first change.
    pub write_date: Option<DateTime>,
    #[serde(rename = "_timestamp")]
    pub timestamp: Option<String>,
}

impl AppointmentRow {
    pub fn is(&self, state: &str) -> bool {
        self.state.as_deref() == Some(state)
    }

    /// A place nobody has taken yet.
    pub fn is_free(&self) -> bool {
        self.is("free") || self.patient.is_none()
    }

    pub fn is_cancelled(&self) -> bool {
        self.is("user_cancelled") || self.is("center_cancelled")
    }

    /// It takes its time of the provider.
    pub fn stands(&self) -> bool {
        !self.is_free() && !self.is_cancelled() && !self.is("no_show")
    }

    pub fn text(&self) -> Text {
        Text::of(self.comments.as_deref())
    }

    /// The EHR's own stamp, which on SQLite is of whole seconds, and a mark of what we write and read.
    pub fn version(&self) -> Option<String> {
        let seen = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.patient,
            self.healthprof,
            self.state,
            self.appointment_date,
            self.appointment_date_end,
            self.checked_in_date,
            self.comments
        );
        Some(format!("{}-{}", self.timestamp.as_deref()?, mark::of(seen.bytes())))
    }

    /// From when until when; where no end was entered it lasts `minutes`.
    pub fn span(&self, minutes: u32) -> Option<(i64, i64)> {
        let start = self.appointment_date?.instant()?;
        let end = self.appointment_date_end.and_then(|end| end.instant()).filter(|end| *end > start);
        Some((start, end.unwrap_or(start + i64::from(minutes) * 60)))
    }
}

#[derive(Debug, Deserialize)]
pub struct Pathology {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    pub code: Option<String>,
    #[serde(default, rename = "groups.")]
    pub groups: Vec<Membership>,
}

#[derive(Debug, Deserialize)]
pub struct Membership {
    #[serde(rename = "disease_group.")]
    pub group: Option<Coded>,
}

impl Pathology {
    /// The EHR itself tells allergies from other conditions so.
    pub fn is_allergy(&self) -> bool {
        let codes = self.groups.iter().filter_map(|member| member.group.as_ref()?.code.as_deref());
        codes.into_iter().any(|code| code == "ALLERGIC")
    }
}

#[derive(Debug, Deserialize)]
pub struct Condition {
    pub id: i64,
    pub patient: Option<i64>,
    #[serde(rename = "pathology.")]
    pub pathology: Pathology,
    #[serde(deserialize_with = "yes")]
    pub is_active: bool,
    pub extra_info: Option<String>,
    pub diagnosed_date: Option<Date>,
}

#[derive(Debug, Deserialize)]
pub struct Medicament {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub rec_name: String,
}

#[derive(Debug, Deserialize)]
pub struct Medication {
    pub id: i64,
    pub patient: Option<i64>,
    pub medicament: i64,
    #[serde(deserialize_with = "yes")]
    pub is_active: bool,
    pub notes: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Company {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    #[serde(default, rename = "alternative_ids.")]
    pub identifiers: Vec<Identifier>,
    #[serde(default, rename = "addresses.", deserialize_with = "in_use")]
    pub addresses: Vec<AddressRow>,
}

/// `comments` says what it is.
#[derive(Debug, Deserialize)]
pub struct Identifier {
    pub code: Option<String>,
    pub comments: Option<String>,
}

impl Company {
    pub fn identifier(&self, what: &str) -> Option<String> {
        let held = self.identifiers.iter().find(|held| held.comments.as_deref() == Some(what))?;
        held.code.clone()
    }
}

#[derive(Debug, Deserialize)]
pub struct Plan {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub rec_name: String,
    #[serde(rename = "company.")]
    pub company: Company,
}

#[derive(Debug, Deserialize)]
pub struct Insurance {
    pub id: i64,
    /// Put in by the pull: the patient of the party.
    pub patient: Option<i64>,
    pub company: i64,
    pub plan_id: Option<i64>,
    pub number: Option<String>,
    pub member_since: Option<Date>,
    pub member_exp: Option<Date>,
    /// valid, grace or expired.
    pub status: Option<String>,
    pub notes: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Note {
    pub id: i64,
    /// `gnuhealth.patient,5`
    pub resource: Option<String>,
    pub message: Option<String>,
    pub create_date: Option<DateTime>,
}

#[derive(Debug, Deserialize)]
pub struct DentalCode {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub code: String,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
}

/// Its `name` is the code.
#[derive(Debug, Deserialize)]
pub struct ProcedureCode {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    pub description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct TreatmentProcedure {
    pub id: i64,
    pub tooth: Option<String>,
    #[serde(default, deserialize_with = "yes")]
    pub mesial: bool,
    #[serde(default, deserialize_with = "yes")]
    pub occlusal: bool,
    #[serde(default, deserialize_with = "yes")]
    pub distal: bool,
    #[serde(default, deserialize_with = "yes")]
    pub vestibular: bool,
    #[serde(default, deserialize_with = "yes")]
    pub lingual: bool,
    #[serde(default, deserialize_with = "yes")]
    pub root: bool,
    #[serde(rename = "procedure.")]
    pub procedure: DentalCode,
    #[serde(rename = "treatment.")]
    pub treatment: Treatment,
}

#[derive(Debug, Deserialize)]
pub struct Treatment {
    pub patient: Option<i64>,
    pub healthprof: Option<i64>,
    pub state: Option<String>,
    pub treatment_date: Option<Date>,
}

#[derive(Debug, Deserialize)]
pub struct PaymentMethod {
    pub id: i64,
    #[serde(default, deserialize_with = "text")]
    pub name: String,
    #[serde(deserialize_with = "yes")]
    pub active: bool,
}

pub const INVOICE_FIELDS: &[&str] = &[
    "number",
    "party",
    "company",
    "account",
    "state",
    "invoice_date",
    "description",
    "total_amount",
    "amount_to_pay",
    "currency.code",
    "lines.description",
];

#[derive(Debug, Deserialize)]
pub struct Invoice {
    pub id: i64,
    pub number: Option<String>,
    pub party: i64,
    /// Put in by the pull: the patient of the party.
    pub patient: Option<i64>,
    pub company: i64,
    pub account: i64,
    pub invoice_date: Option<Date>,
    pub description: Option<String>,
    pub total_amount: Option<Decimal>,
    pub amount_to_pay: Option<Decimal>,
    #[serde(rename = "currency.")]
    pub currency: Coded,
    #[serde(default, rename = "lines.")]
    pub lines: Vec<InvoiceLine>,
}

#[derive(Debug, Deserialize)]
pub struct InvoiceLine {
    pub description: Option<String>,
}

pub const PAYMENT_FIELDS: &[&str] =
    &["party", "debit", "credit", "date", "invoice_payment", "currency.code", "move.description"];

/// A line of the books that settles part of an invoice.
#[derive(Debug, Deserialize)]
pub struct PaymentLine {
    pub id: i64,
    pub patient: Option<i64>,
    pub debit: Decimal,
    pub credit: Decimal,
    pub date: Option<Date>,
    pub invoice_payment: Option<i64>,
    #[serde(rename = "currency.")]
    pub currency: Coded,
    #[serde(rename = "move.")]
    pub entry: Entry,
}

#[derive(Debug, Deserialize)]
pub struct Entry {
    pub description: Option<String>,
}

/// The party of a record that names no patient.
#[derive(Debug, Deserialize)]
pub struct PartyOf {
    pub id: i64,
    pub party: Option<i64>,
}

/// Without those that were taken out of use: they are kept by the EHR for its books.
fn in_use<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    struct Held<T> {
        #[serde(default = "in_use_unless_said", deserialize_with = "yes")]
        active: bool,
        #[serde(flatten)]
        row: T,
    }
    let all = Option::<Vec<Held<T>>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(all.into_iter().filter(|held| held.active).map(|held| held.row).collect())
}

fn in_use_unless_said() -> bool {
    true
}

/// Empty where the EHR has none.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}
