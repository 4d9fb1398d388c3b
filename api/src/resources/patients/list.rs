//! GET /patients

use engine::{
    index::{Field, Term},
    lists::Narrow,
    records::Patient,
};

use super::{
    along::{INCLUDES_OF_LIST, Related, asked},
    reachable,
};
use crate::{
    bounds::{MAX_EMAIL, MAX_PAGE_WITH_RELATED},
    errors::ApiError,
    kinds::{boolean, date, phone, text},
    pages::Page,
    resources::Answer,
    scope::{Call, Tenant},
    versions::Version,
    views::people::{PatientDetail, PatientDetailed, PatientInList, PatientListed},
};

pub async fn list(mut call: Call) -> Answer {
    let (v2, financial) = (call.version.is_v2(), call.key.grants.financial);
    let (place, (listing, strict, asked)) = call.in_place(|input| {
        let asked = if v2 { asked(input, INCLUDES_OF_LIST, financial) } else { Vec::new() };
        let strict = input.query.defaulted("location_strict", boolean(), false);
        let people = input.listing().sort().name().since().foreign_id();
        let people = people
            .by("email", text(MAX_EMAIL), |email| Term::email(&email))
            .by("phone_number", phone(), |number| Term::phone(&number))
            .by("date_of_birth", date(), |born| Some(Term::text(Field::BirthDate, born.to_string())))
            .flag("inactive", Field::Inactive)
            .flag("new_patient", Field::NewPatient)
            .flag("non_patient", Field::NonPatient);
        Some((people.done(), strict, asked))
    })?;
    let (tenant, source) = (Tenant { institution: place.institution.clone() }, place.location.source);
    let here = strict.then(|| Narrow::Has(Term::number(Field::Location, place.location.id.0)));
    let keep = |it: &Patient| if source.is_some() { it.source_id == source } else { reachable(&call, &tenant, it) };
    let institution = tenant.institution.id.0;
    let sources = source.map_or_else(|| call.sources(&tenant), |source| vec![source]);
    if !asked.is_empty() && listing.per_page() > MAX_PAGE_WITH_RELATED {
        return Err(ApiError::bad(format!("per_page must be at most {MAX_PAGE_WITH_RELATED} with include[].")));
    }
    let page = listing.narrowed(here).page(&call, &[institution], &sources, keep)?;
    page.rows.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    if v2 {
        return with_related(call, &tenant, &page, &asked);
    }
    Ok(call.page_of(&page, |it| {
        let adapter = call.api.directory.adapter_of_source(it.source_id);
        match call.version {
            Version::V3_1_0 => PatientInList::Detailed(Box::new(PatientDetailed::of(it, adapter))),
            Version::V3_0_0 | Version::V2_2_2 => PatientInList::Listed(Box::new(PatientListed::of(it, adapter))),
        }
    }))
}

/// As v2.2.2 shows them, with what was asked to come along.
fn with_related(mut call: Call, tenant: &Tenant, page: &Page<Patient>, asked: &[&str]) -> Answer {
    let mut related = Vec::with_capacity(page.rows.len());
    for patient in &page.rows {
        related.push(Related::read(&mut call, tenant, patient, asked)?);
    }
    let mut rows = Vec::with_capacity(page.rows.len());
    for (patient, related) in page.rows.iter().zip(&related) {
        let adapter = call.api.directory.adapter_of_source(patient.source_id);
        let (along, address) = (related.shown(&call), related.address(patient));
        rows.push(PatientDetail::of(patient, adapter).with(along, address));
    }
    Ok(call.page(&Page { rows, found: page.found.clone() }))
}
