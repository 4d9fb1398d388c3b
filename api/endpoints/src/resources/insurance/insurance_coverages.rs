//! /insurance_coverages (specification 4.2)

use engine::{
    commands::ChangeRecord,
    records::{InsuranceType, Relation},
};
use framework::values::kinds::Raw;

use crate::{prelude::*, views::common::day};

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

/// The subscriber of an insurance.
#[derive(Clone, Serialize, JsonSchema)]
pub struct InsuranceSubscriberView {
    /// Id of the subscriber: the id of a patient, or of another person. The ids of such persons are
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

/// Returns the holder of the subscription.
pub async fn subscriber(
    call: &ApiCall,
    tenant: &Tenant,
    coverage: &Record<Coverage>,
) -> Result<Option<InsuranceSubscriberView>, ApiError> {
    if let Some(id) = InsuranceSubscriberView::patient_of(&coverage.body)
        && let Some(patient) = call.api.engine.patient(tenant.institution.id, id)?
    {
        call.audit("read", "patient", patient.id.into());
        return Ok(Some(InsuranceSubscriberView::patient(&patient)));
    }
    let id = call.api.engine.subscriber_id(coverage.source(), &coverage.body).await?;
    Ok(InsuranceSubscriberView::named(&coverage.body, id))
}

#[input]
pub struct ListCoverages {
    #[query(active(), default = true)]
    active: bool,
    #[read(input.listing().since().patient().done())]
    listing: Listing,
}

pub async fn list(
    call: ApiCall,
    InTenant(tenant, ListCoverages { listing, active }): InTenant<ListCoverages>,
) -> Answer<Paged<InsuranceCoverageView<'static>>> {
    let keep = |it: &Record<Coverage>| is_live(it) && active == (it.body.active && it.deleted_at.is_none());
    let page = listing.entries(&call, &call.sources(&tenant), keep)?;
    call.page_of(&page, InsuranceCoverageView::from_record)
}

pub async fn show(call: ApiCall, Id(id): Id<u64>, tenant: Tenant) -> Answer<One<InsuranceCoverageView<'static>>> {
    let coverage: Record<Coverage> = call.entry(&tenant, id)?;
    let mut view = InsuranceCoverageView::from_record(&coverage);
    view.subscriber = Some(subscriber(&call, &tenant, &coverage).await?);
    Ok(call.show(view))
}

pub struct NewCoverage(Coverage);

impl FromInput for NewCoverage {
    fn from_input(input: &mut Input) -> NewCoverage {
        let b = &mut input.body;
        b.accept_unwrapped("insurance_coverage");
        b.container("insurance_coverage", "The coverage.");
        let field = |name: &str| format!("insurance_coverage.{name}");
        let plan_id = b.required(
            &field("plan_id"),
            long_id().referring_to(InsurancePlan::RESOURCE).about("Id of the insurance plan."),
        );
        let patient_id = b.required(&field("patient_id"), patient());
        let relation = b.defaulted(
            &field("subscription_relation"),
            word::<Relation>().about("The patient's relation to the subscriber."),
            "self",
        );
        let priority =
            b.optional(&field("priority"), priority().about("The order of payment: the lowest priority pays first."));
        let number = b.optional_nonempty(&field("subscriber_num"), text(MAX_TEXT).about("The subscriber number."));
        let effective_date =
            b.optional(&field("effective_date"), date().about("The first day of the coverage.")).map(Day);
        let expiration_date =
            b.optional(&field("expiration_date"), date().about("The last day of the coverage.")).map(Day);
        let subscriber_id =
            b.optional(&field("subscriber_id"), id().referring_to(Resource::Patients).about("Id of the subscriber."));
        let subscription =
            b.optional(&field("insurance_subscription"), object("A new subscriber.").omit_from_example());
        let name = b.optional(&field("insurance_subscription.name"), person_name(2 * MAX_NAME).about("Name."));
        let born = b.optional(&field("insurance_subscription.date_of_birth"), birth_date(input.today)).map(Day);
        let theirs = b.optional_nonempty(
            &field("insurance_subscription.subscriber_num"),
            text(MAX_TEXT).about("The subscriber number."),
        );
        if b.is_absent(&field("subscriber_id")) == b.is_absent(&field("insurance_subscription")) {
            b.problem("insurance_coverage must hold exactly one of subscriber_id and insurance_subscription.");
        }
        if subscription.is_some() && b.is_absent(&field("insurance_subscription.name")) {
            b.problem("insurance_coverage.insurance_subscription.name is missing.");
        }
        if effective_date.zip(expiration_date).is_some_and(|(from, until)| until < from) {
            b.problem("insurance_coverage.expiration_date must not be before effective_date.");
        }
        NewCoverage(Coverage {
            patient_id,
            plan_id,
            relation,
            priority,
            subscriber_id,
            subscriber_name: name,
            subscriber_date_of_birth: born,
            subscriber_number: number.or(theirs),
            effective_date,
            expiration_date,
            insurance_type: None,
            active: true,
            extra: Vec::new(),
        })
    }
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewCoverage(coverage)): AtLocation<NewCoverage>,
) -> Answer<Created<InsuranceCoverageView<'static>>> {
    let saved = call.save_entry(&location, &coverage, Some(coverage.patient_id)).await?;
    Ok(call.created(saved.replay, InsuranceCoverageView::from_record(&saved.record)))
}

/// Reads a priority by name or by number: 1 is primary.
fn priority() -> Kind<u32> {
    const NAMES: [&str; 3] = ["primary", "secondary", "tertiary"];
    let number = || integer(1..=100);
    // In a schema, `pattern` applies to strings only, and bounds to numbers only.
    let schema = || {
        let names = format!("^({})$", NAMES.join("|"));
        json!({"type": ["string", "integer"], "pattern": names, "minimum": 1, "maximum": 100})
    };
    Kind::new(schema, "primary", move |raw| {
        let name = match raw {
            Raw::Text(text) => Some(text),
            Raw::Json(value) => value.as_str(),
        };
        let name = name.and_then(|name| NAMES.iter().position(|known| *known == name.trim()));
        let number = name.map(|at| at as i64 + 1).map_or_else(|| number().read(raw), Ok);
        number.map(|number| number as u32).map_err(|problem| format!("{problem}, or be one of {}", NAMES.join(", ")))
    })
}

pub async fn delete(mut call: ApiCall, Id(id): Id<u64>, tenant: Tenant) -> Answer<Empty> {
    let coverage: Record<Coverage> = call.entry(&tenant, id)?;
    let location = call.location_for(&tenant, coverage.source(), coverage.location_id.as_slice());
    let location =
        location.ok_or_else(|| ApiError::not_found(format!("{} with id {id}", name_of(Coverage::RESOURCE))))?;
    call.save(&location, ChangeRecord::<Coverage> { id, body: None }).await?;
    call.audit("delete", name_of(Coverage::RESOURCE), id);
    Ok(call.empty())
}
