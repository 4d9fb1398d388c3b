//! The streams of all resources: their lists in the API, the parameters for changes, and the interval of whole passes.

use adapter_sdk::{
    Resource,
    json::typed,
    pass::Whole,
    streams::{List, Mapped, RowError, Rows, Shown, Stream},
};

use crate::{
    chart,
    client::Client,
    hours, ledger,
    lists::{self, ELSEWHERE, Listing, Since},
    map, patients, requests,
    responses::Row,
};

/// Rows per page if each needs one more request, or two. At one request per second a page takes under half a minute.
const LOOKED_UP: u32 = 20;
const LOOKED_UP_TWICE: u32 = 10;

const CHANGED: Option<Since> = Some(Since::Time("DateTStamp"));
const EDITED: Option<Since> = Some(Since::Time("SecDateTEdit"));
const ENTERED: Option<Since> = Some(Since::Date("DateEntry"));

/// A list, the mapping of its rows, and options.
macro_rules! rows {
    ($path:literal $map:path $(, $field:ident: $value:expr)*) => {
        List {
            prefix: "",
            page: |client, asked| {
                let plain = Listing { path: $path, id: key_of($map), since: None, query: |_, _| Vec::new(), rows: u32::MAX };
                client.listed(asked, &Listing { $($field: $value,)* ..plain })
            },
            rows: Rows {
                id: key_of($map),
                map: |client, _, row| if row == ELSEWHERE { Ok(Shown::Nothing) } else { $map(client, typed(row)?) },
            },
        }
    };
}

/// A list whose rows contain several records each.
macro_rules! several {
    ($path:literal $map:path $(, $field:ident: $value:expr)*) => {
        List {
            rows: Rows { id: key_of($map), map: |client, _, row| parts(client, typed(row), $map) },
            ..rows!($path $map $(, $field: $value)*)
        }
    };
}

/// A list that is read by date.
macro_rules! weeks {
    ($map:path) => {
        List {
            prefix: "",
            page: lists::weeks,
            rows: Rows { id: "", map: |client, _, week| $map(client, &typed(week)?) },
        }
    };
}

/// Ordered so that records follow those they refer to. A deleted procedure stays listed with that status; the API
/// cannot delete communication logs. Patients are listed for all clinics, which share them.
pub const STREAMS: &[Stream<Client>] = &[
    Stream::whole(Resource::Providers, &[rows!("/providers" map::provider)]),
    Stream::whole(Resource::AppointmentTypes, &[rows!("/appointmenttypes" map::appointment_type)]),
    Stream::whole(
        Resource::Operatories,
        &[rows!("/operatories" map::operatory, query: |settings, _| requests::clinic(settings))],
    ),
    Stream::since(Resource::Patients, seldom, &[rows!("/patients/Simple" patients::patient, since: CHANGED)]),
    Stream::whole(Resource::WorkingHours, &[weeks!(hours::working_hours)]),
    Stream::since(
        Resource::Appointments,
        seldom,
        &[
            rows!("/appointments" map::appointment, since: CHANGED, query: requests::appointments),
            weeks!(hours::blockouts),
        ],
    ),
    Stream::seldom(Resource::FeeSchedules, seldom, &[rows!("/feescheds" ledger::fee_schedule)]),
    Stream::seldom(Resource::InsurancePlans, seldom, &[rows!("/insplans" ledger::insurance_plan)]),
    Stream::since(
        Resource::Coverages,
        by_patient,
        &[several!("/inssubs" ledger::coverages, since: EDITED, rows: LOOKED_UP)],
    ),
    Stream::seldom(
        Resource::HistoryItems,
        seldom,
        &[
            List { prefix: chart::ALLERGY, ..rows!("/allergydefs" chart::allergy_def) },
            List { prefix: chart::CONDITION, ..rows!("/diseasedefs" chart::disease_def) },
            List { prefix: chart::MEDICATION, ..rows!("/medications" chart::medication) },
        ],
    ),
    Stream::since(
        Resource::PatientHistoryItems,
        by_patient,
        &[
            List { prefix: chart::CONDITION, ..rows!("/diseases" chart::disease) },
            several!("/patients/Simple" chart::allergies_and_medications, since: CHANGED, rows: LOOKED_UP_TWICE),
        ],
    ),
    Stream::since(
        Resource::CommunicationLogs,
        never,
        &[rows!("/commlogs" chart::commlog, since: CHANGED, query: requests::commlogs)],
    )
    .reporting_deletions(),
    Stream::seldom(
        Resource::ProcedureCodeCategories,
        seldom,
        &[rows!("/definitions" chart::code_category, query: |_, _| requests::definitions(requests::CODE_CATEGORIES))],
    ),
    Stream::since(Resource::ProcedureCodes, seldom, &[rows!("/procedurecodes" chart::procedure_code, since: CHANGED)]),
    Stream::seldom(Resource::Fees, by_patient, &[rows!("/fees" ledger::fee)]),
    Stream::since(Resource::Procedures, never, &[rows!("/procedurelogs" chart::procedure, since: CHANGED)])
        .reporting_deletions(),
    Stream::since(
        Resource::TreatmentPlans,
        by_patient,
        &[rows!("/treatplans" chart::treatment_plan, since: EDITED, rows: LOOKED_UP)],
    ),
    Stream::seldom(Resource::RecallTypes, seldom, &[rows!("/recalltypes" chart::recall_type)]),
    Stream::seldom(Resource::PatientRecalls, seldom, &[rows!("/recalls" chart::recall)]),
    Stream::seldom(
        Resource::PaymentTypes,
        seldom,
        &[rows!("/definitions" ledger::payment_type, query: |_, _| requests::definitions(requests::PAYMENT_TYPES))],
    ),
    Stream::seldom(
        Resource::AdjustmentTypes,
        seldom,
        &[
            rows!("/definitions" ledger::adjustment_type, query: |_, _| requests::definitions(requests::ADJUSTMENT_TYPES)),
        ],
    ),
    Stream::since(Resource::Charges, never, &[rows!("/procedurelogs" ledger::charge, since: CHANGED)])
        .reporting_deletions(),
    Stream::since(
        Resource::Payments,
        by_patient,
        &[rows!("/payments" ledger::payment, since: ENTERED, rows: LOOKED_UP)],
    ),
    Stream::since(
        Resource::Adjustments,
        by_patient,
        &[several!("/patients/Simple" ledger::adjustments, since: CHANGED, rows: LOOKED_UP)],
    ),
    Stream::since(
        Resource::GuarantorBalances,
        by_patient,
        &[rows!("/patients/Simple" ledger::balance, since: CHANGED, rows: LOOKED_UP)],
    ),
];

/// Returns the id field of the rows of a mapping.
const fn key_of<T: Row>(_: fn(&Client, T) -> Mapped) -> &'static str {
    T::KEY
}

/// An error in a row with several records concerns all of them.
fn parts<T: Row>(client: &Client, row: Result<T, String>, map: fn(&Client, T) -> Mapped) -> Mapped {
    row.map_err(RowError::from).and_then(|row| map(client, row)).map_err(RowError::into_part)
}

fn seldom(client: &Client) -> Whole {
    Whole::After(client.settings.whole_pass_minutes)
}

fn by_patient(client: &Client) -> Whole {
    Whole::After(client.settings.by_patient_minutes)
}

fn never(_: &Client) -> Whole {
    Whole::Never
}
