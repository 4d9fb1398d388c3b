//! GET /patients/{id}, with whatever is asked to come along.

use engine::{
    index::{Field, Term},
    lists::Narrow,
    records::{
        Appointment, Patient, Provider, Writeback,
        clinical::Procedure,
        entry::{Body, Entry},
        insurance::{Coverage, InsurancePlan},
        ledger::{Adjustment, Charge, Payment},
        talk::PatientAlert,
    },
};

use super::{find, reachable};
use crate::{
    bounds::{MAX_SORTED, MAX_WHOLE},
    errors::ApiError,
    kinds::{id, includes},
    resources::{Answer, providers::Names},
    scope::{Call, Tenant},
    views::{
        insurance::{CoverageView, IndividualCoverageView},
        ledger::{AdjustmentView, ChargeView, PaymentView},
        people::{AppointmentBasic, PatientAddressView, PatientDetail, UserView},
        talk::PatientAlertView,
    },
};

const INCLUDES: &[&str] = &[
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
    "address",
    "provider",
];
/// These need the grant `financial`.
const LEDGER: &[&str] = &["adjustments", "charges", "payments"];

pub async fn show(mut call: Call) -> Answer {
    let id = call.path_id(id())?;
    let financial = call.key.grants.financial;
    let (tenant, asked) = call.in_tenant(|input| {
        let asked = input.query.list("include", includes(INCLUDES));
        let (asked, denied): (Vec<_>, Vec<_>) = asked.into_iter().partition(|it| financial || !LEDGER.contains(it));
        denied.iter().for_each(|name| input.query.without_effect(name));
        Some(asked)
    })?;
    let patient = find(&call, &tenant, id)?;
    let related = Related::read(&mut call, &tenant, &patient, &asked)?;
    Ok(call.show(related.view(&call, &patient)))
}

/// A coverage with its plan, where the EHR still shows it.
type Covered = (Entry<Coverage>, Option<Entry<InsurancePlan>>);

/// What comes along: none of what was not asked for.
struct Related {
    children: Option<Vec<Patient>>,
    guarantor: Option<Option<Patient>>,
    provider: Option<Option<Provider>>,
    visits: Visits,
    procedures: Option<Vec<Entry<Procedure>>>,
    coverages: Option<Vec<Covered>>,
    adjustments: Option<Vec<Entry<Adjustment>>>,
    charges: Option<Vec<Entry<Charge>>>,
    payments: Option<Vec<Entry<Payment>>>,
    alerts: Option<Vec<Entry<PatientAlert>>>,
    address: bool,
}

impl Related {
    fn read(call: &mut Call, tenant: &Tenant, patient: &Patient, asked: &[&str]) -> Result<Related, ApiError> {
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
        let visits = Visits::read(call, tenant, patient, asked("upcoming_appts"), asked("last_visited_appointment"))?;
        let coverages = asked("insurance_coverages").then(|| coverages(call, patient)).transpose()?;
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

    fn view<'a>(&'a self, call: &'a Call, patient: &'a Patient) -> PatientDetail<'a> {
        let adapter = |source: Option<u32>| call.api.directory.adapter_of_source(source);
        let user = |it: &'a Patient| UserView::patient(it, adapter(it.source_id));
        let provider = |it: &'a Provider| UserView::provider(it, adapter(Some(it.source_id)));
        let mut view = PatientDetail::of(patient, adapter(patient.source_id));
        view.children = each(&self.children, user);
        view.guarantor = self.guarantor.as_ref().map(|it| it.as_ref().map(user));
        view.provider = self.provider.as_ref().map(|it| it.as_ref().map(provider));
        view.upcoming_appts = each(&self.visits.upcoming, basic);
        view.last_visited_appointment = self.visits.last.as_ref().map(|it| it.as_ref().map(basic));
        view.procedures = each(&self.procedures, |it| call.procedure(it));
        view.insurance_coverages = each(&self.coverages, |(coverage, plan)| IndividualCoverageView {
            coverage: CoverageView::of(coverage),
            plan: plan.as_ref().map(|it| call.insurance_plan(it)),
        });
        view.adjustments = each(&self.adjustments, AdjustmentView::of);
        view.charges = each(&self.charges, ChargeView::of);
        view.payments = each(&self.payments, PaymentView::of);
        view.patient_alerts = each(&self.alerts, PatientAlertView::of);
        view.address = self.address.then(|| patient.address.as_ref().map(PatientAddressView::of));
        view
    }
}

fn each<'a, R, V>(rows: &'a Option<Vec<R>>, view: impl Fn(&'a R) -> V) -> Option<Vec<V>> {
    rows.as_ref().map(|rows| rows.iter().map(view).collect())
}

fn none_if_missing<T>(error: ApiError) -> Result<Option<T>, ApiError> {
    if matches!(error, ApiError::NotFound(_)) { Ok(None) } else { Err(error) }
}

fn about(patient: &Patient) -> Vec<Narrow> {
    vec![Narrow::Has(Term::number(Field::Patient, patient.id))]
}

/// What the patient's EHR has of them.
fn of_patient<T: Body>(call: &mut Call, patient: &Patient) -> Result<Vec<Entry<T>>, ApiError> {
    let source: Vec<u32> = patient.source_id.into_iter().collect();
    call.whole_entries(&source, about(patient))
}

/// Those still in force.
fn alerts(call: &mut Call, patient: &Patient) -> Result<Vec<Entry<PatientAlert>>, ApiError> {
    let mut alerts: Vec<Entry<PatientAlert>> = of_patient(call, patient)?;
    alerts.retain(|it| it.body.disabled_at.is_none());
    Ok(alerts)
}

fn coverages(call: &mut Call, patient: &Patient) -> Result<Vec<Covered>, ApiError> {
    let coverages: Vec<Entry<Coverage>> = of_patient(call, patient)?;
    let with_plan = coverages.into_iter().map(|coverage| {
        let plan = call.api.engine.entry(coverage.source_id, coverage.body.plan_id)?;
        Ok((coverage, plan))
    });
    with_plan.collect()
}

/// Those the patient is the responsible party of.
fn children(call: &mut Call, tenant: &Tenant, patient: &Patient) -> Result<Vec<Patient>, ApiError> {
    let theirs = vec![Narrow::Has(Term::number(Field::Guarantor, patient.id))];
    let mut children: Vec<Patient> = call.whole(&[tenant.institution.id.0], theirs)?;
    children.retain(|it| it.id != patient.id && reachable(call, tenant, it));
    children.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    Ok(children)
}

/// Appointments with the names of their providers, as asked for.
struct Visits {
    upcoming: Option<Vec<(Appointment, Option<String>)>>,
    last: Option<Option<(Appointment, Option<String>)>>,
}

impl Visits {
    fn read(
        call: &mut Call,
        tenant: &Tenant,
        patient: &Patient,
        upcoming: bool,
        last: bool,
    ) -> Result<Visits, ApiError> {
        if !upcoming && !last {
            return Ok(Visits { upcoming: None, last: None });
        }
        let places: Vec<u32> = call.open_places(tenant).iter().map(|place| place.location.id.0).collect();
        let mut all: Vec<Appointment> = call.whole_up_to(MAX_SORTED, &places, about(patient))?;
        all.retain(takes_place);
        all.sort_by_key(|it| (it.placement.span.start, it.id));
        let now = call.api.engine.now();
        let coming = all.partition_point(|it| it.placement.span.start < now);
        let mut later = all.split_off(coming);
        if upcoming && later.len() > MAX_WHOLE {
            later.truncate(MAX_WHOLE);
            call.ends_after(MAX_WHOLE);
        }
        let mut names = Names::new(call, tenant);
        let mut named = |it: Appointment| {
            call.audit("read", "appointment", it.id);
            let name = it.placement.provider.map(|provider| names.of(provider.0)).transpose()?.flatten();
            Ok::<_, ApiError>((it, name))
        };
        let past = all.into_iter().rfind(|it| !it.patient_missed);
        Ok(Visits {
            upcoming: upcoming.then(|| later.into_iter().map(&mut named).collect()).transpose()?,
            last: last.then(|| past.map(&mut named).transpose()).transpose()?,
        })
    }
}

fn takes_place(it: &Appointment) -> bool {
    let failed = it.booking.as_ref().is_some_and(|booking| booking.writeback == Writeback::Failed);
    !it.cancelled && !it.unavailable && !failed
}

fn basic((appointment, provider): &(Appointment, Option<String>)) -> AppointmentBasic {
    AppointmentBasic::of(appointment, provider.clone())
}
