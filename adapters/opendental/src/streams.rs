//! Every resource we show: which lists of the API it is, how it is searched by time of change, and how often it is read whole.

use adapter_sdk::{Deletions, PullAbility, Resource};

use crate::{
    chart,
    cursor::Whole,
    hours, ledger,
    lists::{Feed, List, Part, Since},
    map, requests,
    settings::Settings,
};

/// Rows of a page where each is one request more, and where it is two: at a request a second a page takes under half a minute.
const LOOKED_UP: u32 = 20;
const LOOKED_UP_TWICE: u32 = 10;
const ALL: u32 = u32::MAX;

/// In the order in which they refer to each other.
pub const PULLS: [Resource; 25] = [
    Resource::Providers,
    Resource::AppointmentTypes,
    Resource::Operatories,
    Resource::Patients,
    Resource::WorkingHours,
    Resource::Appointments,
    Resource::FeeSchedules,
    Resource::InsurancePlans,
    Resource::Coverages,
    Resource::HistoryItems,
    Resource::PatientHistoryItems,
    Resource::CommunicationLogs,
    Resource::ProcedureCodeCategories,
    Resource::ProcedureCodes,
    Resource::Fees,
    Resource::Procedures,
    Resource::TreatmentPlans,
    Resource::RecallTypes,
    Resource::PatientRecalls,
    Resource::PaymentTypes,
    Resource::AdjustmentTypes,
    Resource::Charges,
    Resource::Payments,
    Resource::Adjustments,
    Resource::GuarantorBalances,
];

/// Of all clinics: they share their patients.
const PATIENTS: List =
    List { since: Some(Since::Time("DateTStamp")), ..plain("/patients/Simple", "PatNum", map::patient) };
const PROCEDURES: List =
    List { since: Some(Since::Time("DateTStamp")), ..plain("/procedurelogs", "ProcNum", chart::procedure) };

/// None for what is not read.
pub fn of(resource: Resource) -> Option<Feed> {
    use Resource::*;
    let (parts, whole): (&'static [Part], fn(&Settings) -> Whole) = match resource {
        Providers => (const { &[Part::Rows(plain("/providers", "ProvNum", map::provider))] }, always),
        AppointmentTypes => {
            (const { &[Part::Rows(plain("/appointmenttypes", "AppointmentTypeNum", map::appointment_type))] }, always)
        }
        Operatories => (
            const {
                &[Part::Rows(List {
                    query: requests::of_clinic,
                    ..plain("/operatories", "OperatoryNum", map::operatory)
                })]
            },
            always,
        ),
        Patients => (const { &[Part::Rows(PATIENTS)] }, seldom),
        WorkingHours => (const { &[Part::Days(hours::working_hours)] }, always),
        Appointments => (
            const {
                &[
                    Part::Rows(List {
                        since: Some(Since::Time("DateTStamp")),
                        query: requests::appointments,
                        ..plain("/appointments", "AptNum", map::appointment)
                    }),
                    Part::Days(hours::blockouts),
                ]
            },
            seldom,
        ),
        FeeSchedules => (const { &[Part::Rows(plain("/feescheds", "FeeSchedNum", ledger::fee_schedule))] }, seldom),
        InsurancePlans => (const { &[Part::Rows(plain("/insplans", "PlanNum", ledger::insurance_plan))] }, seldom),
        Coverages => (
            const {
                &[Part::Rows(List {
                    since: Some(Since::Time("SecDateTEdit")),
                    record: None,
                    rows: LOOKED_UP,
                    ..plain("/inssubs", "InsSubNum", ledger::coverages)
                })]
            },
            by_patient,
        ),
        HistoryItems => (
            const {
                &[
                    Part::Rows(items(chart::ALLERGY, plain("/allergydefs", "AllergyDefNum", chart::allergy_def))),
                    Part::Rows(items(chart::CONDITION, plain("/diseasedefs", "DiseaseDefNum", chart::disease_def))),
                    Part::Rows(items(chart::MEDICATION, plain("/medications", "MedicationNum", chart::medication))),
                ]
            },
            seldom,
        ),
        PatientHistoryItems => (
            const {
                &[
                    Part::Rows(items(chart::CONDITION, plain("/diseases", "DiseaseNum", chart::disease))),
                    Part::Rows(List {
                        record: None,
                        rows: LOOKED_UP_TWICE,
                        show: chart::allergies_and_medications,
                        ..PATIENTS
                    }),
                ]
            },
            by_patient,
        ),
        CommunicationLogs => (
            const {
                &[Part::Rows(List {
                    since: Some(Since::Time("DateTStamp")),
                    query: requests::commlogs,
                    ..plain("/commlogs", "CommlogNum", chart::commlog)
                })]
            },
            never,
        ),
        ProcedureCodeCategories => (
            const {
                &[Part::Rows(List {
                    query: requests::code_categories,
                    ..plain("/definitions", "DefNum", chart::code_category)
                })]
            },
            seldom,
        ),
        ProcedureCodes => (
            const {
                &[Part::Rows(List {
                    since: Some(Since::Time("DateTStamp")),
                    ..plain("/procedurecodes", "CodeNum", chart::procedure_code)
                })]
            },
            seldom,
        ),
        Fees => (const { &[Part::Rows(plain("/fees", "FeeNum", ledger::fee))] }, by_patient),
        Procedures => (const { &[Part::Rows(PROCEDURES)] }, never),
        TreatmentPlans => (
            const {
                &[Part::Rows(List {
                    since: Some(Since::Time("SecDateTEdit")),
                    rows: LOOKED_UP,
                    ..plain("/treatplans", "TreatPlanNum", chart::treatment_plan)
                })]
            },
            by_patient,
        ),
        RecallTypes => (const { &[Part::Rows(plain("/recalltypes", "RecallTypeNum", chart::recall_type))] }, seldom),
        PatientRecalls => (const { &[Part::Rows(plain("/recalls", "RecallNum", chart::recall))] }, seldom),
        PaymentTypes => (
            const {
                &[Part::Rows(List {
                    query: requests::payment_types,
                    ..plain("/definitions", "DefNum", ledger::payment_type)
                })]
            },
            seldom,
        ),
        AdjustmentTypes => (
            const {
                &[Part::Rows(List {
                    query: requests::adjustment_types,
                    ..plain("/definitions", "DefNum", ledger::adjustment_type)
                })]
            },
            seldom,
        ),
        Charges => (const { &[Part::Rows(List { show: ledger::charge, ..PROCEDURES })] }, never),
        Payments => (
            const {
                &[Part::Rows(List {
                    since: Some(Since::Date("DateEntry")),
                    rows: LOOKED_UP,
                    ..plain("/payments", "PayNum", ledger::payment)
                })]
            },
            by_patient,
        ),
        Adjustments => (
            const { &[Part::Rows(List { record: None, rows: LOOKED_UP, show: ledger::adjustments, ..PATIENTS })] },
            by_patient,
        ),
        GuarantorBalances => {
            (const { &[Part::Rows(List { rows: LOOKED_UP, show: ledger::balance, ..PATIENTS })] }, by_patient)
        }
        _ => return None,
    };
    Some(Feed { parts, whole })
}

/// What a pull of each can tell. A procedure that is deleted stays as one that is; a communication log cannot be deleted by the API.
pub fn abilities() -> Vec<PullAbility> {
    let ability = |resource| {
        let feed = of(resource)?;
        let reported = matches!(resource, Resource::Procedures | Resource::Charges | Resource::CommunicationLogs);
        let deletions = if reported { Deletions::Reported } else { Deletions::ByAbsence };
        Some(PullAbility { resource, delta: feed.delta(), deletions })
    };
    PULLS.into_iter().filter_map(ability).collect()
}

const fn plain(
    path: &'static str,
    id: &'static str,
    show: fn(&crate::client::Client, serde_json::Value) -> Result<crate::lists::Shown, crate::lists::Trouble>,
) -> List {
    List { path, id, since: None, query: requests::nothing, record: Some(""), rows: ALL, show }
}

/// Records of one of several tables.
const fn items(before: &'static str, list: List) -> List {
    List { record: Some(before), ..list }
}

fn always(_: &Settings) -> Whole {
    Whole::Always
}

fn seldom(settings: &Settings) -> Whole {
    Whole::After(settings.whole_minutes)
}

fn by_patient(settings: &Settings) -> Whole {
    Whole::After(settings.by_patient_minutes)
}

fn never(_: &Settings) -> Whole {
    Whole::Never
}
