//! /insurance_plans (specification 4.2)

use framework::values::kinds::two_letters;

use super::insurance_coverages::{InsuranceCoverageView, InsuranceSubscriberView, subscriber};
use crate::{prelude::*, resources::ledger::fee_schedules::FeeScheduleView};

/// An insurance plan.
#[view(
    of = InsurancePlan,
    named = "insurance plan",
    render = InsurancePlanView::from_record(entry).amounts(reader.sees_amounts()),
    published
)]
pub struct InsurancePlanView<'a> {
    id: u64,
    /// Payer id for electronic claims; null if unknown.
    payer_id: Option<&'a str>,
    name: &'a str,
    /// Street and number of the payer's address; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.line1.as_deref()))]
    address: Option<&'a str>,
    /// Second line of the payer's street address; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.line2.as_deref()))]
    address2: Option<&'a str>,
    /// City of the payer's address; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.city.as_deref()))]
    city: Option<&'a str>,
    /// State or region of the payer's address; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.region.as_deref()))]
    state: Option<&'a str>,
    /// Postal code of the payer's address; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.postal_code.as_deref()))]
    zip_code: Option<&'a str>,
    /// Country of the payer's address, as a two-letter code; null if unknown.
    #[view(with = entry.body.address.as_ref().and_then(|it| it.country.as_deref()))]
    country_code: Option<&'a str>,
    /// Group number; null if unknown.
    #[view(from = group_number)]
    group_num: Option<&'a str>,
    /// Employer that offers the plan; null if unknown.
    employer_name: Option<&'a str>,
    /// Opaque identifier in the health record system; null until the plan is stored there.
    foreign_id: Option<&'a str>,
    updated_at: At,
    deleted_at: Option<At>,
    /// Maximum amount that the plan pays per year for one person; null if the health record system does not provide it,
    /// and without the grant `financial`.
    annual_max_individual: Option<Price>,
    /// Month in which the benefit year renews, 1 to 12; null if the health record system does not provide it.
    benefit_year_renewal_month: Option<u8>,
    write: WriteState<'a>,
    /// Coverages of patients by the plan. Only with `include[]=patient_coverages`, and empty in the response that
    /// creates the plan.
    pub patient_coverages: IncludedList<InsuranceCoverageView<'a>>,
    /// People who hold subscriptions to the plan, each listed once. Only with `include[]=subscribers`, and empty in the
    /// response that creates the plan.
    pub subscribers: IncludedList<InsuranceSubscriberView>,
    /// The fee schedule that applies to the plan; null if there is none. Only with `include[]=fee_schedule`, and in the
    /// response that creates the plan.
    pub fee_schedule: Included<FeeScheduleView<'a>>,
}

impl<'a> InsurancePlanView<'a> {
    /// Removes the amounts unless `shown`.
    pub fn amounts(self, shown: bool) -> InsurancePlanView<'a> {
        InsurancePlanView { annual_max_individual: self.annual_max_individual.filter(|_| shown), ..self }
    }
}

listing!(ListPlans: |it| it.sort().foreign_ids().since().include_deleted()
        .text("payer_id", "The payer id for electronic claims.", Filter::PayerId)
        .text("group_num", "The group number.", Filter::GroupNumber));

pub async fn list(
    call: ApiCall,
    InTenant(tenant, ListPlans(listing)): InTenant<ListPlans>,
) -> Answer<Paged<InsurancePlanView<'static>>> {
    let page = listing.entries(&call, &call.sources(&tenant), is_live)?;
    call.page_of(&page, InsurancePlanView::from_record)
}

#[input]
pub struct ShowPlan {
    #[read(input.includes(&["patient_coverages", "subscribers", "fee_schedule"]))]
    include: Vec<&'static str>,
}

pub async fn show(
    mut call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ShowPlan { include }): InTenant<ShowPlan>,
) -> Answer<One<InsurancePlanView<'static>>> {
    let requested = |name: &str| include.contains(&name);
    let plan: Record<InsurancePlan> = call.entry(&tenant, id)?;
    let schedule = match plan.body.fee_schedule_id {
        Some(id) if requested("fee_schedule") => call.try_entry::<FeeSchedule>(&tenant, id)?,
        _ => None,
    };
    let covered = requested("patient_coverages") || requested("subscribers");
    let coverages: Vec<Record<Coverage>> = match covered {
        true => call.all_entries(&[plan.source()], vec![Filter::InsurancePlan(id)])?,
        false => Vec::new(),
    };
    let mut subscribers: Vec<InsuranceSubscriberView> = Vec::new();
    for coverage in coverages.iter().filter(|_| requested("subscribers")) {
        // Each person once, even with several coverages.
        let person = subscriber(&call, &tenant, coverage).await?;
        subscribers.extend(person.filter(|person| subscribers.iter().all(|known| known.id != person.id)));
    }
    let mut view = InsurancePlanView::from_record(&plan);
    view.patient_coverages =
        requested("patient_coverages").then(|| coverages.iter().map(InsuranceCoverageView::from_record).collect());
    view.subscribers = requested("subscribers").then_some(subscribers);
    view.fee_schedule = requested("fee_schedule").then(|| schedule.as_ref().map(FeeScheduleView::from_record));
    Ok(call.show(view))
}

pub struct NewPlan(InsurancePlan);

impl FromInput for NewPlan {
    fn from_input(input: &mut Input) -> NewPlan {
        let b = &mut input.body;
        b.required("insurance_plan", object("The plan."));
        let name = b.required("insurance_plan.name", person_name(MAX_TEXT).about("Name."));
        let employer_name =
            b.required("insurance_plan.employer_name", person_name(MAX_TEXT).about("Name of the employer."));
        let texts = [
            ("payer_id", "The payer id for electronic claims."),
            ("address", "The address."),
            ("address2", "Second line of the street address, such as a suite."),
            ("city", "City."),
            ("zip_code", "Postal code."),
            ("group_num", "The group number."),
        ];
        let [payer_id, line1, line2, city, postal_code, group_number] = texts
            .map(|(name, about)| b.optional_nonempty(&format!("insurance_plan.{name}"), text(MAX_TEXT).about(about)));
        let region = b.optional_nonempty("insurance_plan.state", two_letters().about("State, as a two-letter code."));
        let country =
            b.optional_nonempty("insurance_plan.country_code", two_letters().about("Country, as a two-letter code."));
        let address = Address { line1, line2, city, region, postal_code, country };
        NewPlan(InsurancePlan {
            payer_id,
            name,
            address: (address != Address::default()).then_some(address),
            group_number,
            employer_name: Some(employer_name),
            fee_schedule_id: None,
            annual_max_individual: None,
            benefit_year_renewal_month: None,
            extra: Vec::new(),
        })
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewPlan(plan)): AtLocation<NewPlan>,
) -> Answer<Created<InsurancePlanView<'static>>> {
    let saved = call.save_entry(&location, &plan, None).await?;
    let mut view = InsurancePlanView::from_record(&saved.record);
    // A new plan has no coverages (specification 2.2).
    (view.patient_coverages, view.subscribers, view.fee_schedule) = (Some(vec![]), Some(vec![]), Some(None));
    Ok(call.created(saved.replay, view))
}
