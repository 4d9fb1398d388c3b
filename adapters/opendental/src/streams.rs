//! Every resource we show: which lists of the API it is, how it is searched by time of change, and how often it is read whole.

use adapter_sdk::{Deletions, Fault, Page, Resource, streams::Stream};

use crate::{
    chart,
    client::Client,
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

/// In the order in which they refer to each other. A procedure that is deleted stays as one that is; a communication log cannot be deleted
/// by the API.
pub const STREAMS: &[Stream<Client>] = &[
    read_whole(Resource::Providers),
    read_whole(Resource::AppointmentTypes),
    read_whole(Resource::Operatories),
    by_changes(Resource::Patients),
    read_whole(Resource::WorkingHours),
    by_changes(Resource::Appointments),
    read_whole(Resource::FeeSchedules),
    read_whole(Resource::InsurancePlans),
    by_changes(Resource::Coverages),
    read_whole(Resource::HistoryItems),
    by_changes(Resource::PatientHistoryItems),
    reported(Resource::CommunicationLogs),
    read_whole(Resource::ProcedureCodeCategories),
    by_changes(Resource::ProcedureCodes),
    read_whole(Resource::Fees),
    reported(Resource::Procedures),
    by_changes(Resource::TreatmentPlans),
    read_whole(Resource::RecallTypes),
    read_whole(Resource::PatientRecalls),
    read_whole(Resource::PaymentTypes),
    read_whole(Resource::AdjustmentTypes),
    reported(Resource::Charges),
    by_changes(Resource::Payments),
    by_changes(Resource::Adjustments),
    by_changes(Resource::GuarantorBalances),
];

const fn read_whole(resource: Resource) -> Stream<Client> {
    Stream::own((resource, false, Deletions::ByAbsence), page)
}

const fn by_changes(resource: Resource) -> Stream<Client> {
    Stream::own((resource, true, Deletions::ByAbsence), page)
}

const fn reported(resource: Resource) -> Stream<Client> {
    Stream::own((resource, true, Deletions::Reported), page)
}

fn page(client: &Client, resource: Resource, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
    let feed = of(resource).ok_or_else(|| Fault::unsupported("this adapter does not read such records"))?;
    feed.pull(client, cursor, limit)
}

/// Of all clinics: they share their patients.
const PATIENTS: List =
    List { since: Some(Since::Time("DateTStamp")), ..plain("/patients/Simple", "PatNum", map::patient) };
const PROCEDURES: List =
    List { since: Some(Since::Time("DateTStamp")), ..plain("/procedurelogs", "ProcNum", chart::procedure) };

/// None for what is not read.
fn of(resource: Resource) -> Option<Feed> {
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

const fn plain(
    path: &'static str,
    id: &'static str,
    show: fn(&Client, serde_json::Value) -> Result<crate::lists::Shown, crate::lists::Trouble>,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_said_of_deltas_is_so() {
        for stream in STREAMS {
            assert_eq!(stream.ability().delta, of(stream.resource).unwrap().delta(), "{:?}", stream.resource);
        }
    }
}
