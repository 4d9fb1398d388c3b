//! GET /patients

use engine::{
    index::{Field, Term},
    lists::Narrow,
    records::Patient,
};

use super::reachable;
use crate::{
    bounds::MAX_EMAIL,
    kinds::{boolean, date, phone, text},
    resources::Answer,
    scope::{Call, Tenant},
    views::people::PatientListed,
};

pub async fn list(mut call: Call) -> Answer {
    let (place, (listing, strict)) = call.in_place(|input| {
        let strict = input.query.defaulted("location_strict", boolean(), false);
        let people = input.listing().sort().name().since().foreign_id();
        let people = people
            .by("email", text(MAX_EMAIL), |email| Term::email(&email))
            .by("phone_number", phone(), |number| Term::phone(&number))
            .by("date_of_birth", date(), |born| Some(Term::text(Field::BirthDate, born.to_string())))
            .flag("inactive", Field::Inactive)
            .flag("new_patient", Field::NewPatient)
            .flag("non_patient", Field::NonPatient);
        Some((people.done(), strict))
    })?;
    let (tenant, source) = (Tenant { institution: place.institution.clone() }, place.location.source);
    let here = strict.then(|| Narrow::Has(Term::number(Field::Location, place.location.id.0)));
    let keep = |it: &Patient| if source.is_some() { it.source_id == source } else { reachable(&call, &tenant, it) };
    let institution = tenant.institution.id.0;
    let sources = source.map_or_else(|| call.sources(&tenant), |source| vec![source]);
    let page = listing.narrowed(here).page(&call, &[institution], &sources, keep)?;
    page.rows.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    Ok(call.page_of(&page, |it| PatientListed::of(it, call.api.directory.adapter_of_source(it.source_id))))
}
