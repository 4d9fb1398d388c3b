//! What can be pulled: of each resource the models it is kept in, their fields, and the records whose changes are changes of theirs.

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
    responses::{APPOINTMENT, APPOINTMENT_FIELDS, INVOICE_FIELDS, PATIENT, PATIENT_FIELDS, PAYMENT_FIELDS, PartyOf},
    settings::Settings,
    values::DateTime,
};

/// The most rows the EHR is asked for at once.
const MAX_ROWS: u32 = 1_000;
/// Working hours are shown whole, and an engine's page has room for them.
const MAX_FREE_PLACES: u32 = 5_000;

macro_rules! lists {
    ($($prefix:literal $page:ident $map:ident),+) => {
        &[$(List { prefix: $prefix, page: $page, rows: Rows { id: "id", map: map::$map } }),+]
    };
}

/// In the order in which they refer to each other. Working hours are few and end by passing; appointment types are settings. Where several
/// models make up a resource, its ids name them.
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
    // How many a whole pass will show: asked for once.
    let begins = asked.since.is_none() && asked.at.is_none();
    let count = |part: &Part| {
        let domain = json!((part.domain)(settings));
        client::count(&Search { model: part.model, domain, limit: 0, fields: &[] })
    };
    let total = begins.then(|| parts(asked.resource).iter().map(count).sum::<Result<u64, Fault>>()).transpose()?;
    Ok(Listed { total, ..listed })
}

fn second(settings: &Settings, asked: &Ask) -> Result<Listed, Fault> {
    rows(settings, asked, 1)
}

fn rows(settings: &Settings, asked: &Ask, part: usize) -> Result<Listed, Fault> {
    let Part { model, fields, domain, watched, by_party } = parts(asked.resource)[part];
    let asked = &Ask { limit: asked.limit.min(MAX_ROWS), ..*asked };
    let domain = requests::page(&domain(settings), watched, asked.since, asked.number()?);
    let Found { mut rows, now } = client::search::<Value>(&Search { model, domain, limit: asked.limit, fields })?;
    if by_party {
        put_patients(&mut rows)?;
    }
    Ok(Listed { now, ..Listed::keyset(rows, asked, "id") })
}

/// Writes into each row the patient whose party it names; nothing where the party is none.
fn put_patients(rows: &mut [Value]) -> Result<(), Fault> {
    let parties: Vec<i64> = rows.iter().filter_map(|row| row["party"].as_i64()).collect();
    if parties.is_empty() {
        return Ok(());
    }
    let patients = client::search::<PartyOf>(&requests::patients_of(&parties))?.rows;
    let patients: BTreeMap<i64, i64> = patients.into_iter().filter_map(|row| Some((row.party?, row.id))).collect();
    for row in rows {
        row["patient"] = row["party"].as_i64().and_then(|party| patients.get(&party)).copied().into();
    }
    Ok(())
}

/// Appointments nobody has taken, of the days ahead.
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
    let domain = Value::Array(domain);
    let search = Search { model: APPOINTMENT, domain, limit: asked.limit, fields: APPOINTMENT_FIELDS };
    Ok(Listed::keyset(client::search::<Value>(&search)?.rows, asked, "id"))
}

/// One model of a resource.
pub struct Part {
    model: &'static str,
    fields: &'static [&'static str],
    domain: fn(&Settings) -> Vec<Value>,
    /// Prefixes of the `write_date`s to look at.
    watched: &'static [&'static str],
    /// Its rows name a party, and the engine wants the patient.
    by_party: bool,
}

/// The models a resource is kept in.
pub fn models(resource: Resource) -> impl Iterator<Item = &'static str> {
    parts(resource).iter().map(|part| part.model)
}

/// None of appointment types, which are settings.
fn parts(resource: Resource) -> &'static [Part] {
    match resource {
        Resource::Providers => PROVIDERS,
        Resource::Patients => PATIENTS,
        Resource::WorkingHours | Resource::Appointments => APPOINTMENTS,
        Resource::InsurancePlans => INSURANCE_PLANS,
        Resource::Coverages => COVERAGES,
        Resource::HistoryItems => HISTORY_ITEMS,
        Resource::PatientHistoryItems => PATIENT_HISTORY_ITEMS,
        Resource::CommunicationLogs => COMMUNICATION_LOGS,
        Resource::ProcedureCodes => PROCEDURE_CODES,
        Resource::Procedures => PROCEDURES,
        Resource::PaymentTypes => PAYMENT_TYPES,
        Resource::Charges => CHARGES,
        Resource::Payments => PAYMENTS,
        _ => &[],
    }
}

const fn part(model: &'static str, fields: &'static [&'static str]) -> Part {
    Part { model, fields, domain: |_| Vec::new(), watched: &[""], by_party: false }
}

const PROVIDERS: &[Part] = &[Part {
    watched: &["", "party.", "party.contact_mechanisms.", "specialties."],
    ..part(
        "gnuhealth.healthprofessional",
        &[
            "active",
            "code",
            "party.active",
            "party.name",
            "party.lastname",
            "party.contact_mechanisms.type",
            "party.contact_mechanisms.name",
            "party.contact_mechanisms.value",
            "party.contact_mechanisms.active",
            "specialties.specialty.code",
        ],
    )
}];

/// What is written on a patient's form lies in four models.
const PATIENTS: &[Part] = &[Part {
    watched: &["", "party.", "party.contact_mechanisms.", "party.addresses."],
    ..part(PATIENT, PATIENT_FIELDS)
}];

const APPOINTMENTS: &[Part] = &[Part {
    domain: |settings| settings.institution().map(|id| json!(["institution", "=", id])).into_iter().collect(),
    ..part(APPOINTMENT, APPOINTMENT_FIELDS)
}];

const INSURER_FIELDS: &[&str] = &[
    "name",
    "alternative_ids.code",
    "alternative_ids.comments",
    "addresses.street",
    "addresses.city",
    "addresses.postal_code",
    "addresses.active",
    "addresses.country.code",
    "addresses.subdivision.code",
];

/// A company whose plans nobody entered is a plan, too: the EHR takes insurances without one.
const INSURANCE_PLANS: &[Part] = &[
    Part {
        domain: |_| vec![json!(["is_insurance_company", "=", true])],
        watched: &["", "addresses."],
        ..part("party.party", INSURER_FIELDS)
    },
    Part {
        watched: &["", "company.", "company.addresses.", "product.", "product.template."],
        ..part(
            "gnuhealth.insurance.plan",
            &[
                "rec_name",
                "company.name",
                "company.alternative_ids.code",
                "company.alternative_ids.comments",
                "company.addresses.street",
                "company.addresses.city",
                "company.addresses.postal_code",
                "company.addresses.active",
                "company.addresses.country.code",
                "company.addresses.subdivision.code",
            ],
        )
    },
];

const COVERAGES: &[Part] = &[Part {
    by_party: true,
    ..part(
        "gnuhealth.insurance",
        &["party", "company", "plan_id", "number", "member_since", "member_exp", "status", "notes"],
    )
}];

const HISTORY_ITEMS: &[Part] = &[
    Part { watched: &["", "groups."], ..part("gnuhealth.pathology", &["name", "code", "groups.disease_group.code"]) },
    Part { watched: &["", "product.", "product.template."], ..part("gnuhealth.medicament", &["rec_name"]) },
];

const PATIENT_HISTORY_ITEMS: &[Part] = &[
    part(
        "gnuhealth.patient.disease",
        &[
            "patient",
            "pathology.name",
            "pathology.groups.disease_group.code",
            "is_active",
            "extra_info",
            "diagnosed_date",
        ],
    ),
    part("gnuhealth.patient.medication", &["patient", "medicament", "is_active", "notes"]),
];

const COMMUNICATION_LOGS: &[Part] = &[Part {
    domain: |_| vec![json!(["resource", "like", "gnuhealth.patient,%"])],
    ..part("ir.note", &["resource", "message", "create_date"])
}];

const PROCEDURE_CODES: &[Part] =
    &[part("gnuhealth.dentistry.procedure", &["code", "name"]), part("gnuhealth.procedure", &["name", "description"])];

const PROCEDURES: &[Part] = &[Part {
    watched: &["", "treatment."],
    ..part(
        "gnuhealth.dentistry.treatment.procedure",
        &[
            "tooth",
            "mesial",
            "occlusal",
            "distal",
            "vestibular",
            "lingual",
            "root",
            "procedure.code",
            "procedure.name",
            "treatment.patient",
            "treatment.healthprof",
            "treatment.state",
            "treatment.treatment_date",
        ],
    )
}];

const PAYMENT_TYPES: &[Part] = &[part("account.invoice.payment.method", &["name", "active"])];

/// Invoices are the only charges there are; a draft is none yet.
const CHARGES: &[Part] = &[Part {
    domain: |_| vec![json!(["type", "=", "out"]), json!(["state", "in", ["posted", "paid"]])],
    by_party: true,
    ..part("account.invoice", INVOICE_FIELDS)
}];

const PAYMENTS: &[Part] = &[Part {
    domain: |_| vec![json!(["invoice_payment.type", "=", "out"])],
    by_party: true,
    ..part("account.move.line", PAYMENT_FIELDS)
}];
