//! R4 resources as the contract's records: people and the schedule here, other records in submodules.

mod choice;
pub mod communications;
pub mod forms;
pub mod history;
pub mod insurance;
pub mod money;

use adapter_sdk::{
    Record, limits,
    records::{self, ExtraValue},
    spans::Span,
    time::is_instant,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    absent,
    responses::{
        Address, Appointment, CodeableConcept, Extension, HealthcareService, HumanName, Identifier, Location, Money,
        Patient, Practitioner, Reference,
    },
    settings::{self, Settings},
    time::{date, instant},
};

pub use choice::{cell, identifier, language, main_address, main_name, point};

/// System of the US provider number.
const NPI: &str = "http://hl7.org/fhir/sid/us-npi";
/// Prefix of our extensions for fields without a place in FHIR. The name of the record and of the field follow.
pub const EXTENSIONS: &str = "urn:practice-sync";
/// The standard extension of a phone number.
pub const PHONE_EXTENSION: &str = "http://hl7.org/fhir/StructureDefinition/contactpoint-extension";

/// Why a resource yields no record.
#[derive(Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// The resource may be a record but cannot be read. The reason quotes no data.
    Unreadable(String),
    /// The resource is not a record, or no longer: entered in error, or not about a patient.
    NoRecord(String),
}

impl std::fmt::Display for Unmapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Unmapped::Unreadable(why) | Unmapped::NoRecord(why)) = self;
        f.write_str(why)
    }
}

impl From<&str> for Unmapped {
    fn from(why: &str) -> Unmapped {
        Unmapped::Unreadable(why.to_owned())
    }
}

impl Unmapped {
    /// The result for a resource with a status that excludes it.
    pub fn by_status(status: &str) -> Unmapped {
        Unmapped::NoRecord(format!("it is {status}"))
    }
}

/// Returns the items of a list at their positions; unreadable items become defaults.
pub fn each<T: DeserializeOwned + Default>(items: &[Value]) -> Vec<T> {
    items.iter().map(|item| read(item.clone()).unwrap_or_default()).collect()
}

/// Parses the parts we use, ignoring null and empty values.
pub fn read<T: DeserializeOwned>(resource: Value) -> Result<T, Unmapped> {
    serde_json::from_value(absent::stripped(resource))
        .map_err(|e| Unmapped::Unreadable(format!("{:?} error", e.classify())))
}

pub fn patient(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    Ok(Record::Patient(patient_record(resource)?))
}

pub fn patient_record(resource: Value) -> Result<records::Patient, Unmapped> {
    let p: Patient = read(resource)?;
    let (first_name, middle_name, last_name) = name_parts(main_name(&p.name).map(|at| &p.name[at]));
    let value = |at: Option<usize>| at.and_then(|at| p.telecom[at].value.clone());
    let telecom = |system: &str, usage: &[&str]| value(point(&p.telecom, system, usage));
    let cell_phone = value(cell(&p.telecom));
    let home_phone = telecom("phone", &["home"]);
    let work_phone = telecom("phone", &["work"]);
    let any_phone = telecom("phone", &[]);
    let primary = any_phone.filter(|_| cell_phone.is_none() && home_phone.is_none() && work_phone.is_none());
    let work_extension = point(&p.telecom, "phone", &["work"])
        .and_then(|at| p.telecom[at].extension.iter().find(|e| e.url == PHONE_EXTENSION)?.value_string.clone());
    let coded =
        |code: &str| identifier(&p.identifier, |i| has_code(i, code)).and_then(|at| p.identifier[at].value.clone());
    let more = extensions("patient", &p.extension);
    let guarantor = more.get("guarantor").and_then(|e| e.value_reference.as_ref()).and_then(|r| r.id_of("Patient"));
    Ok(records::Patient {
        id: p.id,
        first_name,
        middle_name,
        last_name,
        date_of_birth: p.birth_date.as_deref().and_then(date),
        // Unknown words are ignored.
        gender: p.gender.and_then(|word| serde_json::from_value(word.into()).ok()),
        email: telecom("email", &[]),
        cell_phone,
        home_phone,
        work_phone,
        work_phone_extension: work_extension,
        primary_phone: primary,
        address: main_address(&p.address).map(|at| address(&p.address[at])),
        guarantor,
        provider: p.general_practitioner.iter().find_map(|r| r.id_of("Practitioner")),
        billing_type: more.text("billing-type"),
        chart_id: coded("MR"),
        // `fr-CA` becomes French.
        preferred_language: language(&p.communication)
            .and_then(|at| p.communication[at].language.main_code()?.split('-').next().map(str::to_lowercase)),
        premedication: more.text("premedication"),
        inactive: p.active == Some(false)
            || p.deceased_boolean == Some(true)
            || p.deceased_date_time.is_some()
            || p.link.iter().any(|link| link.kind == "replaced-by"),
        non_patient: more.flag("non-patient"),
        unsubscribed_sms: more.flag("unsubscribed-sms"),
        unsubscribed_email: more.flag("unsubscribed-email"),
        ..records::Patient::default()
    })
}

pub fn practitioner(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let p: Practitioner = read(resource)?;
    let name = main_name(&p.name).map(|at| &p.name[at]);
    let display_name = name.and_then(|n| n.text.clone().or_else(|| written_out(n)));
    let (first_name, middle_name, last_name) = name_parts(name);
    let numbered = |fits: &dyn Fn(&Identifier) -> bool| {
        identifier(&p.identifier, fits).and_then(|at| p.identifier[at].value.clone())
    };
    let coded = |code: &str| numbered(&|i| has_code(i, code));
    Ok(Record::Provider(records::Provider {
        id: p.id,
        first_name,
        middle_name,
        last_name,
        display_name,
        email: point(&p.telecom, "email", &[]).and_then(|at| p.telecom[at].value.clone()),
        npi: numbered(&|i| i.system.as_deref() == Some(NPI)),
        tin: coded("TAX"),
        state_license: coded("MD").or_else(|| coded("SL")).or_else(|| coded("LN")),
        specialty_code: p.specialty,
        inactive: p.active == Some(false),
        ..records::Provider::default()
    }))
}

pub fn operatory(resource: Value, _: &Settings) -> Result<Record, Unmapped> {
    let l: Location = read(resource)?;
    Ok(Record::Operatory(records::Operatory {
        name: l.name.unwrap_or_else(|| l.id.clone()),
        id: l.id,
        display_name: l.description,
        active: l.status.as_deref().is_none_or(|status| status == "active"),
        bookable_online: true,
        ..records::Operatory::default()
    }))
}

pub fn appointment_type(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let s: HealthcareService = read(resource)?;
    let code = s.kind.iter().find_map(CodeableConcept::main_code).filter(|code| limits::is_id(code)).map(str::to_owned);
    Ok(Record::AppointmentType(records::AppointmentType {
        name: s.name.unwrap_or_else(|| s.id.clone()),
        id: code.unwrap_or(s.id),
        minutes: settings.default_minutes,
        bookable_online: s.active != Some(false),
        ..records::AppointmentType::default()
    }))
}

pub fn configured_type(kind: &settings::AppointmentType) -> Record {
    Record::AppointmentType(records::AppointmentType {
        id: kind.id.clone(),
        name: kind.name.clone(),
        minutes: kind.minutes,
        bookable_online: kind.bookable_online,
        ..records::AppointmentType::default()
    })
}

pub fn appointment(resource: Value, settings: &Settings) -> Result<Record, Unmapped> {
    let a: Appointment = read(resource)?;
    let status = a.status.as_str();
    let times = span(&a);
    // A cancelled appointment may have no time; one that is waiting or proposed may have none yet.
    let has_none_yet = status == "waitlist" || (status == "proposed" && a.start.is_none());
    if has_none_yet || (a.is_cancelled() && times.is_err()) {
        return Err(Unmapped::by_status(status));
    }
    let (start, end) = times?;
    if status.is_empty() {
        return Err("it has no status".into());
    }
    let visitors = a.participant.iter().filter(|p| p.actor.id_of("Patient").is_some());
    let visitor = visitors.min_by_key(|p| p.status == "declined");
    let patient = visitor.and_then(|visitor| visitor.actor.id_of("Patient"));
    // The participation time is used only if the patient came.
    let came = matches!(status, "arrived" | "checked-in" | "fulfilled");
    let took_part = visitor.map(|visitor| &visitor.period).filter(|_| came);
    let time = |text: &Option<String>| text.as_deref().and_then(instant);
    let codes = std::iter::once(&a.appointment_type).chain(&a.service_type);
    let code = codes.flat_map(|concept| &concept.coding).filter_map(|coding| coding.code.clone());
    Ok(Record::Appointment(records::Appointment {
        unavailable: patient.is_none(),
        patient,
        provider: a.actor("Practitioner"),
        operatory: a.actor("Location"),
        appointment_type: code.into_iter().find(|code| limits::is_id(code) && known_type(settings, code)),
        start,
        end,
        note: a.comment.clone().or(a.description.clone()),
        cancelled: a.is_cancelled(),
        confirmed: matches!(status, "booked" | "arrived" | "checked-in" | "fulfilled"),
        patient_confirmed: visitor.is_some_and(|visitor| visitor.status == "accepted"),
        patient_missed: status == "noshow",
        checkin_at: took_part.and_then(|period| time(&period.start)),
        checked_out_at: took_part.and_then(|period| time(&period.end)),
        write_key: write_key(&a.identifier, settings),
        version: a.meta.version_id.clone(),
        extra: vec![ExtraValue::new("status", a.status.clone())],
        id: a.id,
    }))
}

pub fn span(a: &Appointment) -> Result<Span, Unmapped> {
    let start = a.start.as_deref().and_then(instant).ok_or("its start cannot be read")?;
    let end = a.end.as_deref().and_then(instant);
    let end = end.or_else(|| start.checked_add(a.minutes_duration?.checked_mul(60)?).filter(|end| is_instant(*end)));
    Ok((start, end.filter(|end| *end > start).ok_or("it has no end that can be read and is after its start")?))
}

/// Returns `true` for configured types, or for any code if none is configured. Other codes have another meaning to the
/// server.
pub fn known_type(settings: &Settings, code: &str) -> bool {
    settings.types.is_empty() || settings.types.iter().any(|kind| kind.id == code)
}

/// Returns the key of the write that created the resource; keys of updates are `secondary`.
pub fn write_key(identifiers: &[Identifier], settings: &Settings) -> Option<String> {
    let ours = |i: &&Identifier| i.system.as_deref() == Some(&settings.key_system);
    let created = |i: &&Identifier| i.usage.as_deref() != Some("secondary");
    identifiers.iter().filter(ours).find(created).and_then(|i| i.value.clone())
}

/// Returns first, middle and last name. A name that is only text is split before its last word.
fn name_parts(name: Option<&HumanName>) -> (String, Option<String>, String) {
    let Some(name) = name else { return Default::default() };
    let middle = name.given.get(1..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(" "));
    if let Some(family) = &name.family {
        return (name.given.first().cloned().unwrap_or_default(), middle, family.clone());
    }
    let text = name.text.clone().unwrap_or_else(|| name.given.join(" "));
    match text.trim().rsplit_once(char::is_whitespace) {
        Some((first, last)) => (first.trim().to_owned(), None, last.to_owned()),
        None => (String::new(), None, text.trim().to_owned()),
    }
}

fn written_out(name: &HumanName) -> Option<String> {
    let parts = name.prefix.iter().chain(&name.given).chain(&name.family).chain(&name.suffix);
    let parts: Vec<&str> = parts.map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

pub fn address(a: &Address) -> records::Address {
    let second = a.line.get(1..).filter(|rest| !rest.is_empty()).map(|rest| rest.join(", "));
    records::Address {
        line1: a.line.first().cloned(),
        line2: second,
        city: a.city.clone(),
        region: a.state.clone(),
        postal_code: a.postal_code.clone(),
        country: a.country.clone().filter(|c| c.len() == 2),
    }
}

fn patient_of(subject: &Reference) -> Result<String, Unmapped> {
    match (&subject.reference, subject.id_of("Patient")) {
        (_, Some(id)) => Ok(id),
        (Some(_), None) => Err(Unmapped::NoRecord("it is of no patient".into())),
        (None, None) => Err("it does not refer to its patient".into()),
    }
}

pub fn has_code(identifier: &Identifier, code: &str) -> bool {
    identifier.kind.coding.iter().any(|c| c.code.as_deref() == Some(code))
}

/// Our extensions of a record by field name.
pub struct Extensions<'a> {
    prefix: String,
    all: &'a [Extension],
}

pub fn extensions<'a>(record: &str, all: &'a [Extension]) -> Extensions<'a> {
    Extensions { prefix: format!("{EXTENSIONS}:{record}:"), all }
}

impl Extensions<'_> {
    pub fn get(&self, field: &str) -> Option<&Extension> {
        self.all.iter().find(|e| e.url.strip_prefix(&self.prefix) == Some(field))
    }

    pub fn text(&self, field: &str) -> Option<String> {
        self.get(field)?.value_string.clone()
    }

    pub fn flag(&self, field: &str) -> bool {
        self.get(field).and_then(|e| e.value_boolean) == Some(true)
    }
}

/// Formats an amount with at least two decimals.
pub fn amount(money: &Money, settings: &Settings) -> Option<records::Money> {
    let digits = money.value.as_ref()?.to_string();
    let amount = match digits.split_once('.') {
        _ if digits.contains(['e', 'E']) => return None,
        None => format!("{digits}.00"),
        Some((_, cents)) if cents.len() < 2 => format!("{digits}0"),
        Some(_) => digits,
    };
    let currency = money.currency.clone().unwrap_or_else(|| settings.currency.clone());
    limits::is_money(&amount, &currency).then_some(records::Money { amount, currency })
}
