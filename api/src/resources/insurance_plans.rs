//! /insurance_plans (specification 4.2)

use engine::{
    lists::Filter,
    records::{Coverage, FeeSchedule, InsurancePlan, Patient, record::Record, values::Address},
};

use crate::{
    access::{call::Call, tenancy::Tenant},
    http::{
        body::Fields,
        errors::{ApiError, HttpResult},
    },
    records::visible::is_live,
    values::{
        kinds::{includes, long_id, object, person_name, text, two_letters},
        limits::MAX_TEXT,
    },
    views::{
        catalogue::FeeScheduleView,
        insurance::{InsuranceCoverageView, InsurancePlanView, InsuranceSubscriberView},
    },
};

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (tenant, listing) = call.in_tenant(|input| {
        let plans = input.listing().sort().foreign_ids().since().include_deleted();
        Some(plans.text("payer_id", Filter::PayerId).text("group_num", Filter::GroupNumber).done())
    })?;
    let page = listing.entries(&call, &call.sources(&tenant), is_live)?;
    Ok(call.page_of(&page, InsurancePlanView::of))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    const INCLUDES: &[&str] = &["patient_coverages", "subscribers", "fee_schedule"];
    let id = call.path_id(long_id())?;
    let (tenant, asked) = call.in_tenant(|input| Some(input.query.list("include", includes(INCLUDES))))?;
    let asked = |name: &str| asked.contains(&name);
    let plan: Record<InsurancePlan> = call.entry(&tenant, id)?;
    let schedule = match plan.body.fee_schedule_id {
        Some(id) if asked("fee_schedule") => call.try_entry::<FeeSchedule>(&tenant, id)?,
        _ => None,
    };
    let covered = asked("patient_coverages") || asked("subscribers");
    let coverages: Vec<Record<Coverage>> = match covered {
        true => call.whole_entries(&[plan.source()], vec![Filter::InsurancePlan(id)])?,
        false => Vec::new(),
    };
    let patients: Vec<Option<Record<Patient>>> =
        coverages.iter().map(|it| subscriber(&call, &tenant, &it.body)).collect::<Result<_, _>>()?;
    let mut view = InsurancePlanView::of(&plan);
    view.patient_coverages =
        asked("patient_coverages").then(|| coverages.iter().map(InsuranceCoverageView::of).collect());
    view.subscribers = asked("subscribers").then(|| subscribers(&coverages, &patients));
    view.fee_schedule = asked("fee_schedule").then(|| schedule.as_ref().map(FeeScheduleView::of));
    Ok(call.show(view))
}

/// The patient who holds the subscription.
pub(crate) fn subscriber(
    call: &Call,
    tenant: &Tenant,
    coverage: &Coverage,
) -> Result<Option<Record<Patient>>, ApiError> {
    let Some(id) = InsuranceSubscriberView::patient_of(coverage) else { return Ok(None) };
    Ok(call.api.engine.patient(tenant.institution.id, id)?)
}

/// Each person once, however many they cover.
fn subscribers<'a>(
    coverages: &'a [Record<Coverage>],
    patients: &'a [Option<Record<Patient>>],
) -> Vec<InsuranceSubscriberView<'a>> {
    let mut seen = Vec::new();
    let people = coverages.iter().zip(patients).filter(|(coverage, patient)| {
        let coverage = &coverage.body;
        let who = (patient.as_ref().map(|it| it.id), &coverage.subscriber_name, &coverage.subscriber_date_of_birth);
        let known = seen.contains(&who);
        seen.push(who);
        !known
    });
    people.filter_map(|(coverage, patient)| InsuranceSubscriberView::of(&coverage.body, patient.as_ref())).collect()
}

pub(crate) async fn create(mut call: Call) -> HttpResult {
    let (location, plan) = call.at_location(|input| read(&mut input.body))?;
    let saved = call.save_entry(&location, &plan, None).await?;
    let mut view = InsurancePlanView::of(&saved.record);
    // A new plan covers nobody yet (specification 2.2).
    (view.patient_coverages, view.subscribers, view.fee_schedule) = (Some(vec![]), Some(vec![]), Some(None));
    Ok(call.made(saved.replay, view))
}

fn read(b: &mut Fields) -> Option<InsurancePlan> {
    let plan = b.required("insurance_plan", object());
    let name = b.required("insurance_plan.name", person_name(MAX_TEXT));
    let employer_name = b.required("insurance_plan.employer_name", person_name(MAX_TEXT));
    let names = ["payer_id", "address", "address2", "city", "zip_code", "group_num"];
    let [payer_id, line1, line2, city, postal_code, group_number] =
        names.map(|name| b.unless_empty(&format!("insurance_plan.{name}"), text(MAX_TEXT)));
    let [region, country] =
        ["state", "country_code"].map(|name| b.unless_empty(&format!("insurance_plan.{name}"), two_letters()));
    let address = Address { line1, line2, city, region, postal_code, country };
    plan?;
    Some(InsurancePlan {
        payer_id,
        name: name?,
        address: (address != Address::default()).then_some(address),
        group_number,
        employer_name: Some(employer_name?),
        fee_schedule_id: None,
        annual_max_individual: None,
        benefit_year_renewal_month: None,
        extra: Vec::new(),
    })
}
