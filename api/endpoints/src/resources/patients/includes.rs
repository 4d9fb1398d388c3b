//! Related records that can be included with a patient, or with each patient of a list.

use std::collections::hash_map::Entry;

use engine::{lists::MAX_SORTED, records::schema::patient_of};
use framework::values::limits::{MAX_RELATED_OF_PAGE, MAX_WHOLE};

use super::{alerts::PatientAlertView, find, reachable};
use crate::{
    prelude::*,
    resources::{
        care::clinical::ProcedureView,
        insurance::{
            insurance_coverages::{InsuranceCoverageView, InsuranceSubscriberView, subscriber},
            insurance_plans::InsurancePlanView,
        },
        ledger::{
            charges_and_claims::ChargeView,
            payments::{AdjustmentView, PaymentView},
        },
        practice::providers::ProviderNames,
    },
    views::persons::PersonView,
};

/// The records that can be included with a patient.
#[view]
#[derive(Default)]
pub struct PatientIncludes<'a> {
    /// Patients whose guarantor is this patient. Only with `include[]=children`.
    pub children: IncludedList<PersonView<'a>>,
    /// The person responsible for the account; null if there is none. Only with `include[]=guarantor`.
    pub guarantor: Included<PersonView<'a>>,
    /// The primary provider; null if there is none. Only with `include[]=provider`.
    pub provider: Included<PersonView<'a>>,
    /// The last appointment that has started, without missed and cancelled ones; null if there is none. Only with
    /// `include[]=last_visited_appointment`.
    pub last_visited_appointment: Included<AppointmentBasic>,
    /// Appointments that have not started, without cancelled ones, ordered by time. Only with
    /// `include[]=upcoming_appts`.
    pub upcoming_appts: IncludedList<AppointmentBasic>,
    /// Planned and performed procedures of the patient. Only with `include[]=procedures`.
    pub procedures: IncludedList<ProcedureView<'a>>,
    /// The patient's insurance coverages, with their plans. Only with `include[]=insurance_coverages`.
    pub insurance_coverages: IncludedList<IndividualCoverageView<'a>>,
    /// Adjustments on the patient's ledger. Only with `include[]=adjustments` and the grant `financial`.
    pub adjustments: IncludedList<AdjustmentView<'a>>,
    /// Charges on the patient's ledger. Only with `include[]=charges` and the grant `financial`.
    pub charges: IncludedList<ChargeView<'a>>,
    /// Payments on the patient's ledger. Only with `include[]=payments` and the grant `financial`.
    pub payments: IncludedList<PaymentView<'a>>,
    /// Alerts that are not disabled. Only with `include[]=patient_alerts`.
    pub patient_alerts: IncludedList<PatientAlertView<'a>>,
    /// Past and future appointments, without cancelled ones, ordered by time. Only with `include[]=appointments`.
    pub appointments: IncludedList<AppointmentBasic>,
}

/// The postal address of a patient.
#[view(value = Address)]
pub struct PatientAddressView<'a> {
    /// Street and number; null if unknown.
    #[view(from = line1)]
    line_1: Option<&'a str>,
    /// Second line of the street address; null if unknown.
    #[view(from = line2)]
    line_2: Option<&'a str>,
    /// Postal code; null if unknown.
    postal_code: Option<&'a str>,
    /// City; null if unknown.
    city: Option<&'a str>,
    /// State or region; null if unknown.
    region: Option<&'a str>,
}

/// An appointment of a patient, inside the patient.
#[view(of = Appointment, named = "appointment", args(provider_name: Option<String>))]
pub struct AppointmentBasic {
    id: u64,
    /// Id of the provider; null if the appointment has none.
    #[view(with = entry.placement.provider.map(|it| it.0))]
    provider_id: Option<u32>,
    /// Display name of the provider, or the full name if there is none; null if the appointment has no provider.
    #[view(with = provider_name)]
    provider_name: Option<String>,
    #[view(with = At(entry.placement.span.start))]
    start_time: At,
    #[view(with = At(entry.placement.span.end))]
    end_time: At,
    /// Id of the location of the appointment.
    #[view(with = entry.location())]
    location_id: u32,
    confirmed: bool,
}

/// An insurance coverage, inside its patient.
#[derive(Serialize, JsonSchema)]
pub struct IndividualCoverageView<'a> {
    #[serde(flatten)]
    pub coverage: InsuranceCoverageView<'a>,
    /// The insurance plan; null if it no longer exists in the health record system.
    pub plan: Option<InsurancePlanView<'a>>,
}

/// Includes of one patient.
pub(super) const INCLUDES: &[&str] = &[
    "upcoming_appts",
    "last_visited_appointment",
    "children",
    "guarantor",
    "procedures",
    "insurance_coverages",
    "adjustments",
    "charges",
    "payments",
    "patient_alerts",
    "appointments",
    "address",
    "provider",
];
/// Includes of each patient of a list, in v2.2.2.
pub(super) const INCLUDES_OF_LIST: &[&str] = &[
    "upcoming_appts", "procedures", "insurance_coverages", "adjustments", "charges", "payments", "appointments",
    "address",
];
/// Includes that need the grant `financial`.
const LEDGER: &[&str] = &["adjustments", "charges", "payments"];

/// Returns the requested includes that the caller may see. The others are reported as withheld.
pub(super) fn requested_includes(input: &mut Input, known: &'static [&'static str]) -> Vec<&'static str> {
    let financial = input.grants.financial;
    let asked = input.includes(known);
    let (asked, denied): (Vec<_>, Vec<_>) = asked.into_iter().partition(|it| financial || !LEDGER.contains(it));
    denied.iter().for_each(|name| input.query.withheld(name, "financial"));
    asked
}

/// A coverage with its subscriber, and with its plan if the EHR still shows the plan.
struct Covered {
    coverage: Record<Coverage>,
    plan: Option<Record<InsurancePlan>>,
    subscriber: Option<InsuranceSubscriberView>,
}

/// The included records of some patients. Fields that were not requested are `None`.
pub(super) struct Related {
    visits: Visits,
    coverages: Option<ByPatient<Covered>>,
    procedures: Option<ByPatient<Record<Procedure>>>,
    adjustments: Option<ByPatient<Record<Adjustment>>>,
    charges: Option<ByPatient<Record<Charge>>>,
    payments: Option<ByPatient<Record<Payment>>>,
    alerts: Option<ByPatient<Record<PatientAlert>>>,
    guarantors: Option<HashMap<u32, Record<Patient>>>,
    providers: Option<HashMap<u32, Record<Provider>>>,
    children: Option<ByPatient<Record<Patient>>>,
    address: bool,
}

/// The records of each patient.
type ByPatient<R> = HashMap<u32, Vec<R>>;

impl Related {
    /// Reads the related records, one kind at a time for all patients.
    pub(super) async fn read(
        call: &mut ApiCall,
        tenant: &Tenant,
        patients: &[&Record<Patient>],
        asked: &[&str],
    ) -> Result<Related, ApiError> {
        let asked = |name: &str| asked.contains(&name);
        let institution = tenant.institution.id;
        Ok(Related {
            visits: Visits::read(call, tenant, patients, asked)?,
            coverages: match asked("insurance_coverages") {
                true => Some(coverages(call, tenant, patients).await?),
                false => None,
            },
            procedures: asked("procedures").then(|| list_by_patient(call, patients)).transpose()?,
            adjustments: asked("adjustments").then(|| list_by_patient(call, patients)).transpose()?,
            charges: asked("charges").then(|| list_by_patient(call, patients)).transpose()?,
            payments: asked("payments").then(|| list_by_patient(call, patients)).transpose()?,
            alerts: asked("patient_alerts").then(|| alerts(call, patients)).transpose()?,
            guarantors: of_each(asked("guarantor"), patients, |it| match it.guarantor_id {
                Some(id) => find(call, tenant, id).map(Some).or_else(none_if_missing),
                None => Ok(None),
            })?,
            providers: of_each(asked("provider"), patients, |it| match it.provider_id {
                Some(id) => Ok(call.api.engine.provider(institution, id)?),
                None => Ok(None),
            })?,
            children: of_each(asked("children"), patients, |it| children(call, tenant, it).map(Some))?,
            address: asked("address"),
        })
    }

    pub(super) fn view<'a>(&'a self, call: &'a ApiCall, patient: u32) -> PatientIncludes<'a> {
        let adapter = |source: Option<u32>| call.directory.adapter_of_source(source);
        let user = |it: &'a Record<Patient>| PersonView::render(it, call);
        let provider = |it: &'a Record<Provider>| PersonView::provider(it, adapter(it.source_id));
        let last = self.visits.last.as_ref().map(|all| all.get(&patient).and_then(|list| list.first()).map(basic));
        PatientIncludes {
            children: each(&self.children, patient, user),
            guarantor: self.guarantors.as_ref().map(|all| all.get(&patient).map(user)),
            provider: self.providers.as_ref().map(|all| all.get(&patient).map(provider)),
            upcoming_appts: each(&self.visits.upcoming, patient, basic),
            last_visited_appointment: last,
            appointments: each(&self.visits.all, patient, basic),
            procedures: each(&self.procedures, patient, |it| ProcedureView::render(it, call)),
            insurance_coverages: each(&self.coverages, patient, |it| it.view(call)),
            adjustments: each(&self.adjustments, patient, |it| AdjustmentView::render(it, call)),
            charges: each(&self.charges, patient, |it| ChargeView::render(it, call)),
            payments: each(&self.payments, patient, |it| PaymentView::render(it, call)),
            patient_alerts: each(&self.alerts, patient, PatientAlertView::from_record),
        }
    }

    /// Returns the address for views in which it is optional.
    pub(super) fn address<'a>(&self, patient: &'a Record<Patient>) -> Included<PatientAddressView<'a>> {
        self.address.then(|| patient.address.as_ref().map(PatientAddressView::from_value))
    }
}

impl Covered {
    fn view<'a>(&'a self, call: &'a ApiCall) -> IndividualCoverageView<'a> {
        let mut coverage = InsuranceCoverageView::from_record(&self.coverage);
        coverage.subscriber = Some(self.subscriber.clone());
        IndividualCoverageView { coverage, plan: self.plan.as_ref().map(|it| InsurancePlanView::render(it, call)) }
    }
}

fn each<'a, R, V>(records: &'a Option<ByPatient<R>>, patient: u32, view: impl Fn(&'a R) -> V) -> Option<Vec<V>> {
    records.as_ref().map(|all| all.get(&patient).into_iter().flatten().map(view).collect())
}

/// Reads a record, or several, of each patient, if they are requested.
fn of_each<T>(
    is_requested: bool,
    patients: &[&Record<Patient>],
    mut read: impl FnMut(&Record<Patient>) -> Result<Option<T>, ApiError>,
) -> Result<Option<HashMap<u32, T>>, ApiError> {
    if !is_requested {
        return Ok(None);
    }
    let mut found = HashMap::new();
    for patient in patients {
        found.extend(read(patient)?.map(|it| (patient.id, it)));
    }
    Ok(Some(found))
}

fn none_if_missing<T>(error: ApiError) -> Result<Option<T>, ApiError> {
    if error.is_not_found() { Ok(None) } else { Err(error) }
}

/// Reads the records of all patients. The list of a single patient ends after `limit`; those of a page are complete.
fn read_of<T: Body>(
    call: &mut ApiCall,
    owners: &[u32],
    patients: &[&Record<Patient>],
    limit: usize,
) -> Result<Vec<Record<T>>, ApiError> {
    if let [patient] = patients {
        return call.whole_up_to(limit, owners, vec![Filter::Patient(patient.id.into())]);
    }
    let ids = patients.iter().map(|it| it.id.into()).collect();
    let query = ListQuery::new(owners, Order::Id).filtered([Filter::Patients(ids)]);
    let found = call.api.engine.lists().list(&query, &PageRequest::whole(MAX_RELATED_OF_PAGE), |_| true)?;
    if found.has_next {
        let name = name_of(T::RESOURCE);
        return Err(ApiError::bad(format!(
            "The patients of this page have more than {MAX_RELATED_OF_PAGE} records of type {name}: use a smaller per_page."
        )));
    }
    Ok(found.rows)
}

fn by_patient<T: Body>(records: Vec<Record<T>>) -> ByPatient<Record<T>> {
    let mut by_patient: ByPatient<Record<T>> = HashMap::new();
    for record in records {
        if let Some(patient) = patient_of(&record.body) {
            by_patient.entry(patient).or_default().push(record);
        }
    }
    by_patient
}

/// Reads the records from the patients' EHRs that are not deleted.
fn list_by_patient<T: Body>(
    call: &mut ApiCall,
    patients: &[&Record<Patient>],
) -> Result<ByPatient<Record<T>>, ApiError> {
    let sources: BTreeSet<u32> = patients.iter().filter_map(|it| it.source_id).collect();
    let sources: Vec<u32> = sources.into_iter().collect();
    let mut records: Vec<Record<T>> = read_of(call, &sources, patients, MAX_WHOLE)?;
    call.keep_visible(&mut records);
    records.retain(|it| it.deleted_at.is_none());
    let mut by_patient = by_patient(records);
    by_patient.values_mut().for_each(|list| call.end_after(MAX_WHOLE, list));
    Ok(by_patient)
}

/// Reads the alerts that are not disabled.
fn alerts(call: &mut ApiCall, patients: &[&Record<Patient>]) -> Result<ByPatient<Record<PatientAlert>>, ApiError> {
    let mut alerts = list_by_patient(call, patients)?;
    alerts.values_mut().for_each(|list: &mut Vec<Record<PatientAlert>>| list.retain(|it| it.disabled_at.is_none()));
    Ok(alerts)
}

async fn coverages(
    call: &mut ApiCall,
    tenant: &Tenant,
    patients: &[&Record<Patient>],
) -> Result<ByPatient<Covered>, ApiError> {
    let coverages: ByPatient<Record<Coverage>> = list_by_patient(call, patients)?;
    let (mut plans, mut subscribers) = (HashMap::new(), HashMap::new());
    let mut covered = ByPatient::with_capacity(coverages.len());
    for (patient, list) in coverages {
        let mut of_patient = Vec::with_capacity(list.len());
        for coverage in list {
            let plan = match plans.entry((coverage.source(), coverage.body.plan_id)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(call.api.engine.entry(coverage.source(), coverage.body.plan_id)?),
            };
            let id = InsuranceSubscriberView::patient_of(&coverage.body);
            let known = id.and_then(|id| subscribers.get(&id));
            let subscriber = match known {
                Some(known) => Option::clone(known),
                None => subscriber(call, tenant, &coverage).await?,
            };
            subscribers.extend(id.map(|id| (id, subscriber.clone())));
            of_patient.push(Covered { plan: plan.clone(), subscriber, coverage });
        }
        covered.insert(patient, of_patient);
    }
    Ok(covered)
}

/// Reads the patients for whom the patient is the guarantor.
fn children(call: &mut ApiCall, tenant: &Tenant, patient: &Record<Patient>) -> Result<Vec<Record<Patient>>, ApiError> {
    let theirs = vec![Filter::Guarantor(patient.id.into())];
    let mut children: Vec<Record<Patient>> = call.whole(&[tenant.institution.id.0], theirs)?;
    children.retain(|it| it.id != patient.id && reachable(call, tenant, it));
    children.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    Ok(children)
}

/// An appointment with the name of its provider.
type PatientVisit = (Record<Appointment>, Option<String>);

/// The requested appointments. `last` has at most one of each patient.
#[derive(Default)]
struct Visits {
    upcoming: Option<ByPatient<PatientVisit>>,
    last: Option<ByPatient<PatientVisit>>,
    all: Option<ByPatient<PatientVisit>>,
}

impl Visits {
    fn read(
        call: &mut ApiCall,
        tenant: &Tenant,
        patients: &[&Record<Patient>],
        asked: impl Fn(&str) -> bool,
    ) -> Result<Visits, ApiError> {
        let asked = ["upcoming_appts", "last_visited_appointment", "appointments"].map(asked);
        if !asked.contains(&true) {
            return Ok(Visits::default());
        }
        let locations: Vec<u32> = call.open_locations(tenant).iter().map(|location| location.setup.id.0).collect();
        let mut by_patient = by_patient(read_of(call, &locations, patients, MAX_SORTED)?);
        let now = call.api.engine.now();
        let mut found = asked.map(|is_requested| is_requested.then(ByPatient::new));
        for patient in patients {
            let mut all: Vec<Record<Appointment>> = by_patient.remove(&patient.id).unwrap_or_default();
            all.retain(is_scheduled);
            all.sort_by_key(|it| (it.placement.span.start, it.id));
            let (past, later) = all.split_at(all.partition_point(|it| it.placement.span.start < now));
            let last = past.iter().rfind(|it| !it.patient_missed).cloned();
            let lists = [later.to_vec(), last.into_iter().collect(), all];
            for (found, mut list) in found.iter_mut().zip(lists) {
                if let Some(found) = found {
                    call.end_after(MAX_WHOLE, &mut list);
                    found.insert(patient.id, list);
                }
            }
        }
        let mut names = ProviderNames::new(call, tenant);
        let mut named = |it: Record<Appointment>| {
            call.audit("read", "appointment", it.id);
            let name = it.placement.provider.map(|provider| names.get(provider.0)).transpose()?.flatten();
            Ok::<PatientVisit, ApiError>((it, name))
        };
        let mut named_lists = |lists: ByPatient<Record<Appointment>>| {
            let mut visits = ByPatient::with_capacity(lists.len());
            for (patient, list) in lists {
                visits.insert(patient, list.into_iter().map(&mut named).collect::<Result<Vec<_>, ApiError>>()?);
            }
            Ok::<ByPatient<PatientVisit>, ApiError>(visits)
        };
        let [upcoming, last, all] = found.map(|lists| lists.map(&mut named_lists).transpose());
        Ok(Visits { upcoming: upcoming?, last: last?, all: all? })
    }
}

fn is_scheduled(it: &Record<Appointment>) -> bool {
    let failed = it.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    !it.cancelled && !it.unavailable && !failed
}

fn basic((appointment, provider): &PatientVisit) -> AppointmentBasic {
    AppointmentBasic::from_record(appointment, provider.clone())
}
