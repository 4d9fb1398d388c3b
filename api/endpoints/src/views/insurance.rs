//! Insurance plans, coverages, subscribers.

use engine::records::{InsuranceType, Relation};

use super::catalogue::FeeScheduleView;
use crate::{prelude::*, views::parts::day};

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

/// An insurance coverage of a patient.
#[view(of = Coverage, named = "coverage", published)]
pub struct InsuranceCoverageView<'a> {
    id: u64,
    /// The patient's relation to the subscriber.
    #[view(from = relation)]
    subscription_relation: Word<Relation>,
    /// Id of the covered patient.
    patient_id: Option<u32>,
    /// The order of payment: the lowest number is the primary insurance; null if unknown.
    priority: Option<u32>,
    /// Id of the insurance plan.
    plan_id: Option<u64>,
    /// Number of the subscriber at the payer; null if unknown.
    #[view(from = subscriber_number)]
    subscriber_num: Option<&'a str>,
    /// The first day of the coverage, `YYYY-MM-DD`; null if unknown.
    effective_date: Option<String>,
    /// The last day of the coverage, `YYYY-MM-DD`; null if unknown.
    expiration_date: Option<String>,
    /// The kind of insurance; null if unknown or not one of these values.
    insurance_type: Option<Word<InsuranceType>>,
    updated_at: At,
    /// `true` if the coverage is in force; `false` once it has been deleted in the health record system.
    #[view(active)]
    active: Option<bool>,
    write: WriteState<'a>,
    /// The subscriber; null if unknown. Only inside a patient and in `GET /insurance_coverages/{id}`.
    pub subscriber: Included<InsuranceSubscriberView>,
}

/// An insurance coverage, inside its patient.
#[derive(Serialize, JsonSchema)]
pub struct IndividualCoverageView<'a> {
    #[serde(flatten)]
    pub coverage: InsuranceCoverageView<'a>,
    /// The insurance plan; null if it no longer exists in the health record system.
    pub plan: Option<InsurancePlanView<'a>>,
}

/// The subscriber of an insurance.
#[derive(Clone, Serialize, JsonSchema)]
pub struct InsuranceSubscriberView {
    /// Id of the subscriber: the id of a patient, or of a person who is not a patient. The ids of such persons are
    /// never ids of patients.
    pub id: u32,
    /// Full name.
    name: String,
    /// Date of birth, `YYYY-MM-DD`; null if unknown.
    #[schemars(extend("format" = "date"))]
    date_of_birth: Option<String>,
}

impl InsuranceSubscriberView {
    /// Returns the patient that is the subscriber. Returns `None` if only a name is known.
    pub fn patient_of(coverage: &Coverage) -> Option<u32> {
        let named = coverage.subscriber_name.is_some();
        coverage
            .subscriber_id
            .or_else(|| (coverage.relation == Relation::Oneself && !named).then_some(coverage.patient_id))
    }

    pub fn patient(patient: &Record<Patient>) -> InsuranceSubscriberView {
        let date_of_birth = patient.date_of_birth.clone();
        InsuranceSubscriberView { id: patient.id, name: patient.name(), date_of_birth }
    }

    /// Returns a subscriber that is no patient, with the id from the engine. Returns `None` if the coverage names none.
    pub fn named(coverage: &Coverage, id: Option<u32>) -> Option<InsuranceSubscriberView> {
        let (id, name) = id.zip(coverage.subscriber_name.clone())?;
        Some(InsuranceSubscriberView { id, name, date_of_birth: day(&coverage.subscriber_date_of_birth) })
    }
}
