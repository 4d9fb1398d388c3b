//! Insurance plans, coverages, subscribers.

use engine::records::{Coverage, InsurancePlan, InsuranceType, Patient, Relation, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use super::catalogue::FeeScheduleView;
use crate::{
    values::{times::At, words::Word},
    views::parts::{Included, Price, WriteState, day},
};

/// An insurance plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsurancePlanView<'a> {
    /// Id of the insurance plan.
    id: u64,
    /// Payer id for electronic claims; null if unknown.
    payer_id: Option<&'a str>,
    /// Name of the insurance plan.
    name: &'a str,
    /// Street and number of the payer's address; null if unknown.
    address: Option<&'a str>,
    /// Second line of the payer's street address; null if unknown.
    address2: Option<&'a str>,
    /// City of the payer's address; null if unknown.
    city: Option<&'a str>,
    /// State or region of the payer's address; null if unknown.
    state: Option<&'a str>,
    /// Postal code of the payer's address; null if unknown.
    zip_code: Option<&'a str>,
    /// Country of the payer's address, as a two-letter code; null if unknown.
    country_code: Option<&'a str>,
    /// Group number; null if unknown.
    group_num: Option<&'a str>,
    /// Employer that offers the plan; null if unknown.
    employer_name: Option<&'a str>,
    /// Opaque identifier in the health record system; null until the plan is stored there.
    foreign_id: Option<&'a str>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// Time at which this service detected the deletion of the record in the health record system, in UTC; null if it
    /// was not deleted.
    deleted_at: Option<At>,
    /// Maximum amount that the plan pays per year for one person; null if the health record system does not provide it,
    /// and without the grant `financial`.
    annual_max_individual: Option<Price>,
    /// Month in which the benefit year renews, 1 to 12; null if the health record system does not provide it.
    benefit_year_renewal_month: Option<u8>,
    #[serde(flatten)]
    write: WriteState<'a>,
    /// Coverages of patients by the plan. Only with `include[]=patient_coverages`, and empty in the response that
    /// creates the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient_coverages: Option<Vec<InsuranceCoverageView<'a>>>,
    /// People who hold subscriptions to the plan, each listed once. Only with `include[]=subscribers`, and empty in the
    /// response that creates the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<Vec<InsuranceSubscriberView>>,
    /// The fee schedule that applies to the plan; null if there is none. Only with `include[]=fee_schedule`, and in the
    /// response that creates the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee_schedule: Included<FeeScheduleView<'a>>,
}

impl<'a> InsurancePlanView<'a> {
    pub(crate) fn from_record(entry: &'a Record<InsurancePlan>) -> InsurancePlanView<'a> {
        let plan = &entry.body;
        let address = plan.address.as_ref();
        InsurancePlanView {
            id: entry.id,
            payer_id: plan.payer_id.as_deref(),
            name: &plan.name,
            address: address.and_then(|it| it.line1.as_deref()),
            address2: address.and_then(|it| it.line2.as_deref()),
            city: address.and_then(|it| it.city.as_deref()),
            state: address.and_then(|it| it.region.as_deref()),
            zip_code: address.and_then(|it| it.postal_code.as_deref()),
            country_code: address.and_then(|it| it.country.as_deref()),
            group_num: plan.group_number.as_deref(),
            employer_name: plan.employer_name.as_deref(),
            foreign_id: entry.foreign_id.as_deref(),
            updated_at: At(entry.updated_at),
            deleted_at: entry.deleted_at.map(At),
            annual_max_individual: Price::maybe(&plan.annual_max_individual),
            benefit_year_renewal_month: plan.benefit_year_renewal_month,
            write: WriteState::from_write(entry.write.as_ref()),
            patient_coverages: None,
            subscribers: None,
            fee_schedule: None,
        }
    }

    /// Removes the amounts unless `shown`.
    pub(crate) fn amounts(self, shown: bool) -> InsurancePlanView<'a> {
        InsurancePlanView { annual_max_individual: self.annual_max_individual.filter(|_| shown), ..self }
    }
}

/// An insurance coverage of a patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsuranceCoverageView<'a> {
    /// Id of the coverage.
    id: u64,
    /// The patient's relation to the subscriber.
    subscription_relation: Word<Relation>,
    /// Id of the covered patient.
    patient_id: Option<u32>,
    /// The order of payment: the lowest number is the primary insurance; null if unknown.
    priority: Option<u32>,
    /// Id of the insurance plan.
    plan_id: Option<u64>,
    /// Number of the subscriber at the payer; null if unknown.
    subscriber_num: Option<&'a str>,
    /// The first day of the coverage, `YYYY-MM-DD`; null if unknown.
    #[schemars(extend("format" = "date"))]
    effective_date: Option<String>,
    /// The last day of the coverage, `YYYY-MM-DD`; null if unknown.
    #[schemars(extend("format" = "date"))]
    expiration_date: Option<String>,
    /// The kind of insurance; null if unknown or not one of these values.
    insurance_type: Option<Word<InsuranceType>>,
    /// Time of the last change of the record in this service, in UTC.
    updated_at: At,
    /// `true` if the coverage is in force; `false` once it has been deleted in the health record system.
    active: Option<bool>,
    #[serde(flatten)]
    write: WriteState<'a>,
    /// The subscriber; null if unknown. Only inside a patient and in `GET /insurance_coverages/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscriber: Included<InsuranceSubscriberView>,
}

impl<'a> InsuranceCoverageView<'a> {
    pub(crate) fn from_record(entry: &'a Record<Coverage>) -> InsuranceCoverageView<'a> {
        let coverage = &entry.body;
        InsuranceCoverageView {
            id: entry.id,
            subscription_relation: Word(coverage.relation),
            patient_id: Some(coverage.patient_id),
            priority: coverage.priority,
            plan_id: Some(coverage.plan_id),
            subscriber_num: coverage.subscriber_number.as_deref(),
            effective_date: day(&coverage.effective_date),
            expiration_date: day(&coverage.expiration_date),
            insurance_type: coverage.insurance_type.map(Word),
            updated_at: At(entry.updated_at),
            active: Some(coverage.active && entry.deleted_at.is_none()),
            write: WriteState::from_write(entry.write.as_ref()),
            subscriber: None,
        }
    }
}

/// An insurance coverage, inside its patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IndividualCoverageView<'a> {
    #[serde(flatten)]
    pub coverage: InsuranceCoverageView<'a>,
    /// The insurance plan; null if it no longer exists in the health record system.
    pub plan: Option<InsurancePlanView<'a>>,
}

/// The subscriber of an insurance.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct InsuranceSubscriberView {
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
    pub(crate) fn patient_of(coverage: &Coverage) -> Option<u32> {
        let named = coverage.subscriber_name.is_some();
        coverage
            .subscriber_id
            .or_else(|| (coverage.relation == Relation::Oneself && !named).then_some(coverage.patient_id))
    }

    pub(crate) fn patient(patient: &Record<Patient>) -> InsuranceSubscriberView {
        let date_of_birth = patient.date_of_birth.clone();
        InsuranceSubscriberView { id: patient.id, name: patient.name(), date_of_birth }
    }

    /// Returns a subscriber that is no patient, with the id from the engine. Returns `None` if the coverage names none.
    pub(crate) fn named(coverage: &Coverage, id: Option<u32>) -> Option<InsuranceSubscriberView> {
        let (id, name) = id.zip(coverage.subscriber_name.clone())?;
        Some(InsuranceSubscriberView { id, name, date_of_birth: day(&coverage.subscriber_date_of_birth) })
    }
}
