//! Insurance plans, coverages, subscribers.

use engine::records::{Coverage, InsurancePlan, InsuranceType, Patient, Relation, record::Record};
use schemars::JsonSchema;
use serde::Serialize;

use super::catalogue::FeeScheduleView;
use crate::{
    values::times::At,
    views::parts::{Included, Price, WriteState, day},
};

/// An insurance plan (specification 2.2).
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsurancePlanView<'a> {
    id: u64,
    /// Payer id for electronic claims.
    payer_id: Option<&'a str>,
    name: &'a str,
    address: Option<&'a str>,
    address2: Option<&'a str>,
    city: Option<&'a str>,
    state: Option<&'a str>,
    zip_code: Option<&'a str>,
    country_code: Option<&'a str>,
    group_num: Option<&'a str>,
    employer_name: Option<&'a str>,
    /// Identifier in the health record system, opaque; null until it has the plan.
    foreign_id: Option<&'a str>,
    updated_at: At,
    /// When it was deleted in the health record system.
    deleted_at: Option<At>,
    /// The most the plan pays per year for one person. Also null without the grant `financial`.
    annual_max_individual: Option<Price>,
    /// 1 to 12; null if the health record system does not provide it.
    benefit_year_renewal_month: Option<u8>,
    #[serde(flatten)]
    write: WriteState<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patient_coverages: Option<Vec<InsuranceCoverageView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<Vec<InsuranceSubscriberView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee_schedule: Included<FeeScheduleView<'a>>,
}

impl<'a> InsurancePlanView<'a> {
    pub(crate) fn of(entry: &'a Record<InsurancePlan>) -> InsurancePlanView<'a> {
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
            write: WriteState::of(entry.write.as_ref()),
            patient_coverages: None,
            subscribers: None,
            fee_schedule: None,
        }
    }

    /// Without them for callers who may not see any.
    pub(crate) fn amounts(self, shown: bool) -> InsurancePlanView<'a> {
        InsurancePlanView { annual_max_individual: self.annual_max_individual.filter(|_| shown), ..self }
    }
}

/// An insurance coverage of a patient (specification 2.3).
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsuranceCoverageView<'a> {
    id: u64,
    /// The patient's relation to the subscriber.
    #[schemars(with = "String", extend("enum" = [
        "self", "spouse", "child", "employee", "handicap_dep", "signif_other", "injured_plaintiff", "life_partner",
        "dependent", "other"
    ]))]
    subscription_relation: Relation,
    patient_id: Option<u32>,
    /// The lowest is the primary insurance.
    priority: Option<u32>,
    plan_id: Option<u64>,
    subscriber_num: Option<&'a str>,
    #[schemars(extend("format" = "date"))]
    effective_date: Option<String>,
    #[schemars(extend("format" = "date"))]
    expiration_date: Option<String>,
    #[schemars(with = "Option<String>", extend("enum" = ["dental", "medical", "vision", null]))]
    insurance_type: Option<InsuranceType>,
    updated_at: At,
    /// Also false once the coverage was deleted in the health record system.
    active: Option<bool>,
    #[serde(flatten)]
    write: WriteState<'a>,
    /// Null if the health record system provides none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscriber: Included<InsuranceSubscriberView<'a>>,
}

impl<'a> InsuranceCoverageView<'a> {
    pub(crate) fn of(entry: &'a Record<Coverage>) -> InsuranceCoverageView<'a> {
        let coverage = &entry.body;
        InsuranceCoverageView {
            id: entry.id,
            subscription_relation: coverage.relation,
            patient_id: Some(coverage.patient_id),
            priority: coverage.priority,
            plan_id: Some(coverage.plan_id),
            subscriber_num: coverage.subscriber_number.as_deref(),
            effective_date: day(&coverage.effective_date),
            expiration_date: day(&coverage.expiration_date),
            insurance_type: coverage.insurance_type,
            updated_at: At(entry.updated_at),
            active: Some(coverage.active && entry.deleted_at.is_none()),
            write: WriteState::of(entry.write.as_ref()),
            subscriber: None,
        }
    }
}

/// A coverage inside its patient.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IndividualCoverageView<'a> {
    #[serde(flatten)]
    pub coverage: InsuranceCoverageView<'a>,
    /// Null if the health record system no longer has the plan.
    pub plan: Option<InsurancePlanView<'a>>,
}

/// The subscriber of an insurance (specification 2.4).
#[derive(Serialize, JsonSchema)]
pub(crate) struct InsuranceSubscriberView<'a> {
    /// Null for a subscriber who is not a patient: only the name is known then.
    id: Option<u32>,
    /// Full name.
    name: String,
    #[schemars(extend("format" = "date"))]
    date_of_birth: Option<std::borrow::Cow<'a, str>>,
}

impl<'a> InsuranceSubscriberView<'a> {
    /// The patient who is the subscriber; none where only a name is known.
    pub(crate) fn patient_of(coverage: &Coverage) -> Option<u32> {
        let named = coverage.subscriber_name.is_some();
        coverage
            .subscriber_id
            .or_else(|| (coverage.relation == Relation::Oneself && !named).then_some(coverage.patient_id))
    }

    /// `patient` is the one that `patient_of` names. None where nobody is known.
    pub(crate) fn of(coverage: &Coverage, patient: Option<&'a Record<Patient>>) -> Option<InsuranceSubscriberView<'a>> {
        if let Some(patient) = patient {
            let date_of_birth = patient.date_of_birth.as_deref().map(Into::into);
            return Some(InsuranceSubscriberView { id: Some(patient.id), name: patient.name(), date_of_birth });
        }
        let name = coverage.subscriber_name.clone()?;
        let date_of_birth = day(&coverage.subscriber_date_of_birth).map(Into::into);
        Some(InsuranceSubscriberView { id: None, name, date_of_birth })
    }
}
