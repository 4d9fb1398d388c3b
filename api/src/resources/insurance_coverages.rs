//! /insurance_coverages (specification 4.2)

use engine::{
    commands::RemoveRecord,
    records::{
        Coverage, Relation,
        record::{Record, Schema},
        values::Day,
    },
};
use location::zone::Date;
use serde_json::json;

use super::insurance_plans::subscriber;
use crate::{
    access::call::Call,
    http::{
        body::Fields,
        errors::{ApiError, HttpResult, name_of},
    },
    records::visible::is_live,
    values::{
        kinds::{
            Kind, Raw, boolean, id, integer, long_id, object, one_of, person_name, text,
            times::{birth_date, date},
        },
        limits::{MAX_NAME, MAX_TEXT},
    },
    views::insurance::{InsuranceCoverageView, InsuranceSubscriberView},
};

const RELATIONS: &[(&str, Relation)] = &[
    ("self", Relation::Oneself),
    ("spouse", Relation::Spouse),
    ("child", Relation::Child),
    ("employee", Relation::Employee),
    ("handicap_dep", Relation::HandicapDep),
    ("signif_other", Relation::SignifOther),
    ("injured_plaintiff", Relation::InjuredPlaintiff),
    ("life_partner", Relation::LifePartner),
    ("dependent", Relation::Dependent),
    ("other", Relation::Other),
];

pub(crate) async fn list(mut call: Call) -> HttpResult {
    let (tenant, (listing, active)) = call.in_tenant(|input| {
        let active = input.query.defaulted("active", boolean(), true);
        Some((input.listing().since().patient().done(), active))
    })?;
    let keep = |it: &Record<Coverage>| is_live(it) && active == (it.body.active && it.deleted_at.is_none());
    let page = listing.entries(&call, &call.sources(&tenant), keep)?;
    Ok(call.page_of(&page, InsuranceCoverageView::of))
}

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let coverage: Record<Coverage> = call.entry(&tenant, id)?;
    let patient = subscriber(&call, &tenant, &coverage.body)?;
    let mut view = InsuranceCoverageView::of(&coverage);
    view.subscriber = Some(InsuranceSubscriberView::of(&coverage.body, patient.as_ref()));
    Ok(call.show(view))
}

pub(crate) async fn create(mut call: Call) -> HttpResult {
    let (location, coverage) = call.at_location(|input| {
        input.body.may_be_unwrapped("insurance_coverage");
        read(&mut input.body, input.today)
    })?;
    let saved = call.save_entry(&location, &coverage, Some(coverage.patient_id)).await?;
    Ok(call.made(saved.replay, InsuranceCoverageView::of(&saved.record)))
}

fn read(b: &mut Fields, today: Date) -> Option<Coverage> {
    let field = |name: &str| format!("insurance_coverage.{name}");
    let plan_id = b.required(&field("plan_id"), long_id());
    let patient_id = b.required(&field("patient_id"), id());
    let relation = b.defaulted(&field("subscription_relation"), one_of(RELATIONS), "self");
    let priority = b.optional(&field("priority"), priority());
    let number = b.unless_empty(&field("subscriber_num"), text(MAX_TEXT));
    let effective_date = b.optional(&field("effective_date"), date()).map(Day);
    let expiration_date = b.optional(&field("expiration_date"), date()).map(Day);
    let subscriber_id = b.optional(&field("subscriber_id"), id());
    let subscription = b.optional(&field("insurance_subscription"), object().apart());
    let name = b.optional(&field("insurance_subscription.name"), person_name(2 * MAX_NAME));
    let born = b.optional(&field("insurance_subscription.date_of_birth"), birth_date(today)).map(Day);
    let theirs = b.unless_empty(&field("insurance_subscription.subscriber_num"), text(MAX_TEXT));
    if subscriber_id.is_some() == subscription.is_some() {
        b.problem("insurance_coverage must hold exactly one of subscriber_id and insurance_subscription.");
    }
    if subscription.is_some() && name.is_none() {
        b.problem("insurance_coverage.insurance_subscription.name is missing.");
    }
    if effective_date.zip(expiration_date).is_some_and(|(from, until)| until < from) {
        b.problem("insurance_coverage.expiration_date must not be before effective_date.");
    }
    Some(Coverage {
        patient_id: patient_id?,
        plan_id: plan_id?,
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

/// By name, or as the number it is: 1 is primary.
fn priority() -> Kind<u32> {
    const NAMES: [&str; 3] = ["primary", "secondary", "tertiary"];
    let number = || integer(1..=100);
    // `pattern` speaks of texts only, the bounds of numbers only.
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

pub(crate) async fn delete(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    let coverage: Record<Coverage> = call.entry(&tenant, id)?;
    let location = call.location_for(&tenant, coverage.source(), coverage.location_id.as_slice());
    let location =
        location.ok_or_else(|| ApiError::NotFound(format!("{} with id {id}", name_of(Coverage::RESOURCE))))?;
    call.save(&location, RemoveRecord::<Coverage>::new(id)).await?;
    Ok(call.empty())
}
