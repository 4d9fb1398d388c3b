//! What may come along with a patient, or with each patient of a list.

use engine::{
    lists::{Filter, MAX_SORTED},
    records::{
        Adjustment, Appointment, Charge, Coverage, InsurancePlan, Patient, PatientAlert, Payment, Procedure, Provider,
        Writeback,
        record::{Body, Record},
    },
};

use super::{find, reachable};
use crate::{
    access::{call::Call, input::Input, tenancy::Tenant},
    http::errors::ApiError,
    resources::{insurance_plans::subscriber, providers::Names},
    values::limits::MAX_WHOLE,
    views::{
        insurance::{IndividualCoverageView, InsuranceCoverageView, InsuranceSubscriberView},
        parts::Included,
        patients::{AppointmentBasic, ComesAlong, PatientAddressView},
        people::PersonView,
        talk::PatientAlertView,
    },
};

/// Of one patient.
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
/// Of each patient of a list, in v2.2.2.
pub(super) const INCLUDES_OF_LIST: &[&str] = &[
    "upcoming_appts",
    "procedures",
    "insurance_coverages",
    "adjustments",
    "charges",
    "payments",
    "appointments",
    "address",
];
/// These need the grant `financial`.
const LEDGER: &[&str] = &["adjustments", "charges", "payments"];

/// What a request asks for and may see; the rest is named as without effect.
pub(super) fn asked(input: &mut Input, known: &'static [&'static str]) -> Vec<&'static str> {
    let financial = input.grants.financial;
    let asked = input.includes(known);
    let (asked, denied): (Vec<_>, Vec<_>) = asked.into_iter().partition(|it| financial || !LEDGER.contains(it));
    denied.iter().for_each(|name| input.query.withheld(name, "financial"));
    asked
}

/// A coverage with its plan, where the EHR still shows it, and its subscriber.
struct Covered {
    coverage: Record<Coverage>,
    plan: Option<Record<InsurancePlan>>,
    subscriber: Option<InsuranceSubscriberView>,
}

/// What comes along: none of what was not asked for.
pub(super) struct Related {
    children: Option<Vec<Record<Patient>>>,
    guarantor: Option<Option<Record<Patient>>>,
    provider: Option<Option<Record<Provider>>>,
    visits: Visits,
    procedures: Option<Vec<Record<Procedure>>>,
    coverages: Option<Vec<Covered>>,
    adjustments: Option<Vec<Record<Adjustment>>>,
    charges: Option<Vec<Record<Charge>>>,
    payments: Option<Vec<Record<Payment>>>,
    alerts: Option<Vec<Record<PatientAlert>>>,
    address: bool,
}

impl Related {
    pub(super) async fn read(
        call: &mut Call,
        tenant: &Tenant,
        patient: &Record<Patient>,
        asked: &[&str],
    ) -> Result<Related, ApiError> {
        let asked = |name: &str| asked.contains(&name);
        let institution = tenant.institution.id;
        let children = asked("children").then(|| children(call, tenant, patient)).transpose()?;
        let guarantor = match patient.guarantor_id {
            Some(id) if asked("guarantor") => Some(find(call, tenant, id).map(Some).or_else(none_if_missing)?),
            _ => asked("guarantor").then_some(None),
        };
        let provider = match patient.provider_id {
            Some(id) if asked("provider") => Some(call.api.engine.provider(institution, id)?),
            _ => asked("provider").then_some(None),
        };
        let visits = Visits::read(call, tenant, patient, asked)?;
        let coverages = match asked("insurance_coverages") {
            true => Some(coverages(call, tenant, patient).await?),
            false => None,
        };
        Ok(Related {
            children,
            guarantor,
            provider,
            visits,
            coverages,
            procedures: asked("procedures").then(|| of_patient(call, patient)).transpose()?,
            adjustments: asked("adjustments").then(|| of_patient(call, patient)).transpose()?,
            charges: asked("charges").then(|| of_patient(call, patient)).transpose()?,
            payments: asked("payments").then(|| of_patient(call, patient)).transpose()?,
            alerts: asked("patient_alerts").then(|| alerts(call, patient)).transpose()?,
            address: asked("address"),
        })
    }

    pub(super) fn shown<'a>(&'a self, call: &'a Call) -> ComesAlong<'a> {
        let adapter = |source: Option<u32>| call.directory.adapter_of_source(source);
        let user = |it: &'a Record<Patient>| PersonView::patient(it, adapter(it.source_id));
        let provider = |it: &'a Record<Provider>| PersonView::provider(it, adapter(it.source_id));
        ComesAlong {
            children: each(&self.children, user),
            guarantor: self.guarantor.as_ref().map(|it| it.as_ref().map(user)),
            provider: self.provider.as_ref().map(|it| it.as_ref().map(provider)),
            upcoming_appts: each(&self.visits.upcoming, basic),
            last_visited_appointment: self.visits.last.as_ref().map(|it| it.as_ref().map(basic)),
            appointments: each(&self.visits.all, basic),
            procedures: each(&self.procedures, |it| call.procedure(it)),
            insurance_coverages: each(&self.coverages, |it| it.shown(call)),
            adjustments: each(&self.adjustments, |it| call.adjustment(it)),
            charges: each(&self.charges, |it| call.charge(it)),
            payments: each(&self.payments, |it| call.payment(it)),
            patient_alerts: each(&self.alerts, PatientAlertView::of),
        }
    }

    /// Where the patient's shape has it on demand only.
    pub(super) fn address<'a>(&self, patient: &'a Record<Patient>) -> Included<PatientAddressView<'a>> {
        self.address.then(|| patient.address.as_ref().map(PatientAddressView::of))
    }
}

impl Covered {
    fn shown<'a>(&'a self, call: &'a Call) -> IndividualCoverageView<'a> {
        let mut coverage = InsuranceCoverageView::of(&self.coverage);
        coverage.subscriber = Some(self.subscriber.clone());
        IndividualCoverageView { coverage, plan: self.plan.as_ref().map(|it| call.insurance_plan(it)) }
    }
}

fn each<'a, R, V>(rows: &'a Option<Vec<R>>, view: impl Fn(&'a R) -> V) -> Option<Vec<V>> {
    rows.as_ref().map(|rows| rows.iter().map(view).collect())
}

fn none_if_missing<T>(error: ApiError) -> Result<Option<T>, ApiError> {
    if error.is_not_found() { Ok(None) } else { Err(error) }
}

fn about(patient: &Record<Patient>) -> Vec<Filter> {
    vec![Filter::Patient(patient.id.into())]
}

/// What the patient's EHR has of them.
fn of_patient<T: Body>(call: &mut Call, patient: &Record<Patient>) -> Result<Vec<Record<T>>, ApiError> {
    let source: Vec<u32> = patient.source_id.into_iter().collect();
    call.whole_entries(&source, about(patient))
}

/// Those still in force.
fn alerts(call: &mut Call, patient: &Record<Patient>) -> Result<Vec<Record<PatientAlert>>, ApiError> {
    let mut alerts: Vec<Record<PatientAlert>> = of_patient(call, patient)?;
    alerts.retain(|it| it.body.disabled_at.is_none());
    Ok(alerts)
}

async fn coverages(call: &mut Call, tenant: &Tenant, patient: &Record<Patient>) -> Result<Vec<Covered>, ApiError> {
    let coverages: Vec<Record<Coverage>> = of_patient(call, patient)?;
    let mut covered = Vec::with_capacity(coverages.len());
    for coverage in coverages {
        let plan = call.api.engine.entry(coverage.source(), coverage.body.plan_id)?;
        let subscriber = subscriber(call, tenant, &coverage).await?;
        covered.push(Covered { coverage, plan, subscriber });
    }
    Ok(covered)
}

/// Those the patient is the responsible party of.
fn children(call: &mut Call, tenant: &Tenant, patient: &Record<Patient>) -> Result<Vec<Record<Patient>>, ApiError> {
    let theirs = vec![Filter::Guarantor(patient.id.into())];
    let mut children: Vec<Record<Patient>> = call.whole(&[tenant.institution.id.0], theirs)?;
    children.retain(|it| it.id != patient.id && reachable(call, tenant, it));
    children.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    Ok(children)
}

type Visit = (Record<Appointment>, Option<String>);

/// Appointments with the names of their providers, as asked for.
#[derive(Default)]
struct Visits {
    upcoming: Option<Vec<Visit>>,
    last: Option<Option<Visit>>,
    all: Option<Vec<Visit>>,
}

impl Visits {
    fn read(
        call: &mut Call,
        tenant: &Tenant,
        patient: &Record<Patient>,
        asked: impl Fn(&str) -> bool,
    ) -> Result<Visits, ApiError> {
        if !["upcoming_appts", "last_visited_appointment", "appointments"].into_iter().any(&asked) {
            return Ok(Visits::default());
        }
        let locations: Vec<u32> = call.open_locations(tenant).iter().map(|location| location.setup.id.0).collect();
        let mut all: Vec<Record<Appointment>> = call.whole_up_to(MAX_SORTED, &locations, about(patient))?;
        all.retain(takes_place);
        all.sort_by_key(|it| (it.placement.span.start, it.id));
        let now = call.api.engine.now();
        let (past, later) = all.split_at(all.partition_point(|it| it.placement.span.start < now));
        let last = asked("last_visited_appointment").then(|| past.iter().rfind(|it| !it.patient_missed).cloned());
        let mut upcoming = asked("upcoming_appts").then(|| later.to_vec());
        let mut all = asked("appointments").then_some(all);
        for list in [&mut upcoming, &mut all].into_iter().flatten().filter(|list| list.len() > MAX_WHOLE) {
            list.truncate(MAX_WHOLE);
            call.ends_after(MAX_WHOLE);
        }
        let mut names = Names::new(call, tenant);
        let mut named = |it: Record<Appointment>| {
            call.audit("read", "appointment", it.id);
            let name = it.placement.provider.map(|provider| names.of(provider.0)).transpose()?.flatten();
            Ok::<_, ApiError>((it, name))
        };
        Ok(Visits {
            upcoming: upcoming.map(|all| all.into_iter().map(&mut named).collect()).transpose()?,
            last: last.map(|last| last.map(&mut named).transpose()).transpose()?,
            all: all.map(|all| all.into_iter().map(&mut named).collect()).transpose()?,
        })
    }
}

fn takes_place(it: &Record<Appointment>) -> bool {
    let failed = it.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    !it.cancelled && !it.unavailable && !failed
}

fn basic((appointment, provider): &Visit) -> AppointmentBasic {
    AppointmentBasic::of(appointment, provider.clone())
}
