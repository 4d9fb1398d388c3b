//! The readable resources: the models of each resource, and the records whose changes count as its changes.

use std::collections::BTreeMap;

use adapter_sdk::{
    Fault, Resource, clock,
    pass::Whole,
    streams::{Ask, List, Listed, Rows, Stream},
};
use serde_json::{Value, json};

use crate::{
    client::{self, Found},
    map,
    requests::{self, Search},
    responses::{
        APPOINTMENT, AppointmentRow, Company, Condition, DentalCode, Insurance, Invoice, Medicament, Medication,
        PATIENT, PartyOf, Pathology, PatientNote, PatientRow, PaymentLine, PaymentMethod, Plan, ProcedureCode,
        Professional, TreatmentProcedure, read,
    },
    rows::{RequestedFields, fields},
    settings::Settings,
    values::DateTime,
};

/// Maximum rows per request.
const MAX_ROWS: u32 = 1_000;
/// Working hours are read in full, and fit into the engine's page.
const MAX_FREE_PLACES: u32 = 5_000;

macro_rules! lists {
    ($($prefix:literal $page:ident $map:ident),+) => {
        &[$(List {
            prefix: $prefix,
            page: $page,
            rows: Rows { id: "id", map: |settings, _, row| map::$map(settings, read(row)?) },
        }),+]
    };
}

/// Ordered so that records follow those they refer to. Working hours are few and expire; appointment types are
/// settings. Ids of a resource with several models contain the model.
pub const STREAMS: &[Stream<Settings>] = &[
    Stream::since(Resource::Providers, whole, lists!("" first provider)),
    Stream::one_page(Resource::AppointmentTypes, |settings| {
        Ok(settings.types().iter().map(map::appointment_type).collect())
    }),
    Stream::since(Resource::Patients, whole, lists!("" first patient)),
    Stream::whole(Resource::WorkingHours, lists!("" free_places working_hour)),
    Stream::since(Resource::Appointments, whole, lists!("" first appointment)),
    Stream::since(
        Resource::InsurancePlans,
        whole,
        lists!("party.party," first company, "gnuhealth.insurance.plan," second plan),
    ),
    Stream::since(Resource::Coverages, whole, lists!("" first coverage)),
    Stream::since(
        Resource::HistoryItems,
        whole,
        lists!("gnuhealth.pathology," first pathology, "gnuhealth.medicament," second medicament),
    ),
    Stream::since(
        Resource::PatientHistoryItems,
        whole,
        lists!("gnuhealth.patient.disease," first condition, "gnuhealth.patient.medication," second medication),
    ),
    Stream::since(Resource::CommunicationLogs, whole, lists!("" first communication_log)),
    Stream::since(
        Resource::ProcedureCodes,
        whole,
        lists!("gnuhealth.dentistry.procedure," first dental_code, "gnuhealth.procedure," second medical_code),
    ),
    Stream::since(Resource::Procedures, whole, lists!("" first procedure)),
    Stream::since(Resource::PaymentTypes, whole, lists!("" first payment_type)),
    Stream::since(Resource::Charges, whole, lists!("" first charge)),
    Stream::since(Resource::Payments, whole, lists!("" first payment)),
];

fn whole(settings: &Settings) -> Whole {
    Whole::After(settings.whole_minutes)
}

fn first(settings: &Settings, asked: &Ask) -> Result<Listed, Fault> {
    let listed = rows(settings, asked, 0)?;
    // The total of a whole pass, requested once.
    let begins = asked.since.is_none() && asked.at.is_none();
    let count = |part: ModelQuery| client::count(&Search { model: part.model, domain: part.domain.into(), limit: 0 });
    let all = || parts(settings, asked.resource).into_iter().map(count).sum::<Result<u64, Fault>>();
    let total = begins.then(all).transpose()?;
    Ok(Listed { total, ..listed })
}

fn second(settings: &Settings, asked: &Ask) -> Result<Listed, Fault> {
    rows(settings, asked, 1)
}

fn rows(settings: &Settings, asked: &Ask, part: usize) -> Result<Listed, Fault> {
    let ModelQuery { model, fields, domain, watched, by_party } = parts(settings, asked.resource).swap_remove(part);
    let asked = &Ask { limit: asked.limit.min(MAX_ROWS), ..*asked };
    let domain = requests::page(domain, watched, asked.since, asked.number()?);
    let Found { mut rows, now } = client::rows(&Search { model, domain, limit: asked.limit }, &fields)?;
    if by_party {
        put_patients(&mut rows)?;
    }
    Ok(Listed { now, ..Listed::keyset(rows, asked, "id") })
}

/// Adds to each row the patient of its party, or null if the party is not a patient.
fn put_patients(rows: &mut [Value]) -> Result<(), Fault> {
    let parties: Vec<i64> = rows.iter().filter_map(|row| row["party"].as_i64()).collect();
    if parties.is_empty() {
        return Ok(());
    }
    let patients = client::search::<PartyOf>(&requests::patients_of(&parties))?;
    let patients: BTreeMap<i64, i64> = patients.into_iter().filter_map(|row| Some((row.party?, row.id))).collect();
    for row in rows {
        row["patient"] = row["party"].as_i64().and_then(|party| patients.get(&party)).copied().into();
    }
    Ok(())
}

/// Lists free appointments of the days ahead.
fn free_places(settings: &Settings, asked: &Ask) -> Result<Listed, Fault> {
    let now = clock::now();
    let mut domain = vec![
        json!(["id", ">", asked.number()?]),
        json!(["state", "=", "free"]),
        json!(["healthprof", "!=", null]),
        json!(["appointment_date_end", ">", DateTime::at(now)]),
        json!(["appointment_date", "<", DateTime::at(now + settings.slot_days * 86_400)]),
    ];
    domain.extend(settings.institution().map(|id| json!(["institution", "=", id])));
    let asked = &Ask { limit: asked.limit.min(MAX_FREE_PLACES), ..*asked };
    let search = Search { model: APPOINTMENT, domain: Value::Array(domain), limit: asked.limit };
    Ok(Listed::keyset(client::rows(&search, &fields::<AppointmentRow>())?.rows, asked, "id"))
}

/// A model of a resource.
struct ModelQuery {
    model: &'static str,
    fields: Vec<String>,
    domain: Vec<Value>,
    /// Prefixes of the `write_date` fields to compare.
    watched: &'static [&'static str],
    /// The rows contain a party instead of a patient.
    by_party: bool,
}

fn part<T: RequestedFields>(model: &'static str) -> ModelQuery {
    ModelQuery { model, fields: fields::<T>(), domain: Vec::new(), watched: &[""], by_party: false }
}

pub fn models(settings: &Settings, resource: Resource) -> impl Iterator<Item = &'static str> {
    parts(settings, resource).into_iter().map(|part| part.model)
}

/// Returns the parts of a resource; none for appointment types, which are settings.
fn parts(settings: &Settings, resource: Resource) -> Vec<ModelQuery> {
    match resource {
        Resource::Providers => vec![ModelQuery {
            watched: &["", "party.", "party.contact_mechanisms.", "specialties."],
            ..part::<Professional>("gnuhealth.healthprofessional")
        }],
        // A patient's data is in four models.
        Resource::Patients => vec![ModelQuery {
            watched: &["", "party.", "party.contact_mechanisms.", "party.addresses."],
            ..part::<PatientRow>(PATIENT)
        }],
        Resource::WorkingHours | Resource::Appointments => vec![ModelQuery {
            domain: settings.institution().map(|id| json!(["institution", "=", id])).into_iter().collect(),
            ..part::<AppointmentRow>(APPOINTMENT)
        }],
        // A company without plans counts as a plan, because the EHR accepts insurances without one.
        Resource::InsurancePlans => vec![
            ModelQuery {
                domain: vec![json!(["is_insurance_company", "=", true])],
                watched: &["", "addresses."],
                ..part::<Company>("party.party")
            },
            ModelQuery {
                watched: &["", "company.", "company.addresses.", "product.", "product.template."],
                ..part::<Plan>("gnuhealth.insurance.plan")
            },
        ],
        Resource::Coverages => vec![ModelQuery { by_party: true, ..part::<Insurance>("gnuhealth.insurance") }],
        Resource::HistoryItems => vec![
            ModelQuery { watched: &["", "groups."], ..part::<Pathology>("gnuhealth.pathology") },
            ModelQuery {
                watched: &["", "product.", "product.template."],
                ..part::<Medicament>("gnuhealth.medicament")
            },
        ],
        Resource::PatientHistoryItems => {
            vec![part::<Condition>("gnuhealth.patient.disease"), part::<Medication>("gnuhealth.patient.medication")]
        }
        Resource::CommunicationLogs => {
            vec![ModelQuery {
                domain: vec![json!(["resource", "like", "gnuhealth.patient,%"])],
                ..part::<PatientNote>("ir.note")
            }]
        }
        Resource::ProcedureCodes => {
            vec![part::<DentalCode>("gnuhealth.dentistry.procedure"), part::<ProcedureCode>("gnuhealth.procedure")]
        }
        Resource::Procedures => vec![ModelQuery {
            watched: &["", "treatment."],
            ..part::<TreatmentProcedure>("gnuhealth.dentistry.treatment.procedure")
        }],
        Resource::PaymentTypes => vec![part::<PaymentMethod>("account.invoice.payment.method")],
        // Invoices are the only charges, except drafts.
        Resource::Charges => vec![ModelQuery {
            domain: vec![json!(["type", "=", "out"]), json!(["state", "in", ["posted", "paid"]])],
            by_party: true,
            ..part::<Invoice>("account.invoice")
        }],
        Resource::Payments => vec![ModelQuery {
            domain: vec![json!(["invoice_payment.type", "=", "out"])],
            by_party: true,
            ..part::<PaymentLine>("account.move.line")
        }],
        _ => Vec::new(),
    }
}
