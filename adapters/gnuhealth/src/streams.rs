//! What can be pulled: of each resource the models it is kept in, their fields, and the records whose changes are changes of theirs.

use adapter_sdk::Resource;
use serde_json::{Value, json};

use crate::{
    map::{self, Mapped},
    responses::{APPOINTMENT, APPOINTMENT_FIELDS, INVOICE_FIELDS, PATIENT, PATIENT_FIELDS, PAYMENT_FIELDS},
    settings::Settings,
};

/// One model of a resource.
pub struct Part {
    pub model: &'static str,
    pub fields: &'static [&'static str],
    pub domain: fn(&Settings) -> Vec<Value>,
    /// Prefixes of the `write_date`s to look at.
    pub watched: &'static [&'static str],
    /// Its rows name a party, and the engine wants the patient.
    pub by_party: bool,
    pub map: fn(Value, &Settings) -> Mapped,
}

/// In the order in which they refer to each other.
pub const PULLS: [Resource; 15] = [
    Resource::Providers,
    Resource::AppointmentTypes,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
    Resource::InsurancePlans,
    Resource::Coverages,
    Resource::HistoryItems,
    Resource::PatientHistoryItems,
    Resource::CommunicationLogs,
    Resource::ProcedureCodes,
    Resource::Procedures,
    Resource::PaymentTypes,
    Resource::Charges,
    Resource::Payments,
];

/// Whether a pass can show only what changed. Working hours are few and end by passing; appointment types are settings.
pub fn has_deltas(resource: Resource) -> bool {
    !matches!(resource, Resource::AppointmentTypes | Resource::WorkingHours)
}

/// The models a resource is kept in.
pub fn models(resource: Resource) -> Vec<&'static str> {
    match resource {
        Resource::WorkingHours => vec![APPOINTMENT],
        other => parts(other).iter().map(|part| part.model).collect(),
    }
}

/// None of appointment types and working hours, which are made of something else.
pub fn parts(resource: Resource) -> &'static [Part] {
    match resource {
        Resource::Providers => PROVIDERS,
        Resource::Patients => PATIENTS,
        Resource::Appointments => APPOINTMENTS,
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

const fn part(model: &'static str, fields: &'static [&'static str], map: fn(Value, &Settings) -> Mapped) -> Part {
    Part { model, fields, domain: |_| Vec::new(), watched: &[""], by_party: false, map }
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
        map::provider,
    )
}];

/// What is written on a patient's form lies in four models.
const PATIENTS: &[Part] = &[Part {
    watched: &["", "party.", "party.contact_mechanisms.", "party.addresses."],
    ..part(PATIENT, PATIENT_FIELDS, map::patient)
}];

const APPOINTMENTS: &[Part] = &[Part {
    domain: |settings| settings.institution.map(|id| json!(["institution", "=", id])).into_iter().collect(),
    ..part(APPOINTMENT, APPOINTMENT_FIELDS, map::appointment)
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
        ..part("party.party", INSURER_FIELDS, map::company)
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
            map::plan,
        )
    },
];

const COVERAGES: &[Part] = &[Part {
    by_party: true,
    ..part(
        "gnuhealth.insurance",
        &["party", "company", "plan_id", "number", "member_since", "member_exp", "status", "notes"],
        map::coverage,
    )
}];

const HISTORY_ITEMS: &[Part] = &[
    Part {
        watched: &["", "groups."],
        ..part("gnuhealth.pathology", &["name", "code", "groups.disease_group.code"], map::pathology)
    },
    Part {
        watched: &["", "product.", "product.template."],
        ..part("gnuhealth.medicament", &["rec_name"], map::medicament)
    },
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
        map::condition,
    ),
    part("gnuhealth.patient.medication", &["patient", "medicament", "is_active", "notes"], map::medication),
];

const COMMUNICATION_LOGS: &[Part] = &[Part {
    domain: |_| vec![json!(["resource", "like", "gnuhealth.patient,%"])],
    ..part("ir.note", &["resource", "message", "create_date"], map::communication_log)
}];

const PROCEDURE_CODES: &[Part] = &[
    part("gnuhealth.dentistry.procedure", &["code", "name"], map::dental_code),
    part("gnuhealth.procedure", &["name", "description"], map::medical_code),
];

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
        map::procedure,
    )
}];

const PAYMENT_TYPES: &[Part] = &[part("account.invoice.payment.method", &["name", "active"], map::payment_type)];

/// Invoices are the only charges there are; a draft is none yet.
const CHARGES: &[Part] = &[Part {
    domain: |_| vec![json!(["type", "=", "out"]), json!(["state", "in", ["posted", "paid"]])],
    by_party: true,
    ..part("account.invoice", INVOICE_FIELDS, map::charge)
}];

const PAYMENTS: &[Part] = &[Part {
    domain: |_| vec![json!(["invoice_payment.type", "=", "out"])],
    by_party: true,
    ..part("account.move.line", PAYMENT_FIELDS, map::payment)
}];
