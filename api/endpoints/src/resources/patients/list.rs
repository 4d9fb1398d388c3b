//! GET /patients

use engine::{
    lists::name_matches,
    records::{demographics::phone::Number, patient::is_birth_date},
    rows::Row,
};
use framework::values::limits::MAX_EMAIL;

use super::{
    includes::{INCLUDES_OF_LIST, Related, requested_includes},
    reachable,
    show::{PatientDetail, PatientProfile, PrivacyAuthorization},
};
use crate::{prelude::*, views::persons::PatientBasic};

/// A patient in a list, as detailed in v3.1.0 and in an older form in earlier versions.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PatientListItemByVersion<'a> {
    /// In v2.2.2 and v3.0.0.
    #[schemars(extend("x-versions" = ["v2.2.2", "v3.0.0"]))]
    Listed(Box<PatientListItem<'a>>),
    /// In v3.1.0.
    #[schemars(extend("x-versions" = ["v3.1.0"]))]
    Detailed(Box<PatientProfile<'a>>),
}

/// A patient in a list.
#[view(of = Patient, args(adapter: Option<&'a str>))]
pub struct PatientListItem<'a> {
    #[view(flatten = PatientBasic::from_record(entry, adapter))]
    patient: PatientBasic<'a>,
    #[view(with = PrivacyAuthorization::default())]
    hipaa: PrivacyAuthorization,
}

#[input]
pub struct ListPatients {
    /// Only in v2.2.2.
    #[read(if input.version.is_v2() { requested_includes(input, INCLUDES_OF_LIST) } else { Vec::new() })]
    include: Vec<&'static str>,
    criteria: Criteria,
    #[read(listing(input))]
    listing: Listing,
}

fn listing(input: &mut Input) -> Listing {
    let today = input.today;
    let people = input.listing().sort().name().since().foreign_ids();
    let people = people
        .by("email", text(MAX_EMAIL).about("E-mail address."), Filter::Email)
        // A date of birth in the future matches no patient, whatever the EHR contains.
        .by("date_of_birth", birth_date(Date::MAX), |born| match is_birth_date(born, today) {
            true => Filter::DateOfBirth(born),
            false => Filter::Ids(BTreeSet::new()),
        })
        .flag("inactive", "`true` if the record is no longer in use.", Filter::Inactive)
        .flag("new_patient", "`true` if the patient is new to the practice.", Filter::NewPatient)
        .flag("non_patient", "`true` if the person is not a patient, for example a guarantor.", Filter::NonPatient);
    people.done()
}

pub async fn list(
    call: ApiCall,
    AtLocation(location, asked): AtLocation<ListPatients>,
) -> Answer<Paged<PatientListItemByVersion<'static>>> {
    let page = found(&call, &location, asked.listing, &asked.criteria)?;
    call.page_of(&page, |it| {
        let adapter = call.directory.adapter_of_source(it.source_id);
        match call.version {
            Version::V3_1_0 => PatientListItemByVersion::Detailed(Box::new(PatientProfile::from_record(it, adapter))),
            Version::V3_0_0 | Version::V2_2_2 => {
                PatientListItemByVersion::Listed(Box::new(PatientListItem::from_record(it, adapter)))
            }
        }
    })
}

/// Lists patients in the form of v2.2.2, with the requested includes.
pub(crate) async fn list_v2(
    mut call: ApiCall,
    AtLocation(location, asked): AtLocation<ListPatients>,
) -> Answer<Paged<PatientDetail<'static>>> {
    let ListPatients { listing, criteria, include } = asked;
    let page = found(&call, &location, listing, &criteria)?;
    let patients: Vec<&Record<Patient>> = page.rows.iter().map(|it| &**it).collect();
    let related = Related::read(&mut call, &location.tenant(), &patients, &include).await?;
    Ok(call.page(&page.views(|it| {
        let (includes, address) = (related.view(&call, it.id), related.address(it));
        PatientDetail::from_record(it, call.directory.adapter_of_source(it.source_id)).with(includes, address)
    })))
}

fn found(
    call: &ApiCall,
    location: &OpenLocation,
    listing: Listing,
    criteria: &Criteria,
) -> Result<ListPage<Row<Record<Patient>>>, ApiError> {
    let (tenant, source) = (location.tenant(), location.setup.source);
    let (country, number) = (location.setup.country(&location.institution), criteria.number(location));
    let takes_forms = criteria.forms_syncable.is_some() && takes_forms(call, location)?;
    let keep = |it: &Record<Patient>| {
        let known = if source.is_some() { it.source_id == source } else { reachable(call, &tenant, it) };
        let reached = number.is_none() || it.phones().any(|known| Number::read(known, country) == number);
        known && reached && criteria.keeps(it, takes_forms)
    };
    let institution = tenant.institution.id.0;
    let sources = source.map_or_else(|| call.sources(&tenant), |source| vec![source]);
    let page = listing.filtered(criteria.filters(location)).rows(call, &[institution], &sources, keep)?;
    page.rows.iter().for_each(|it| call.audit("read", "patient", it.id.into()));
    Ok(page)
}

/// Filters in addition to those that every list of patients has.
#[input]
struct Criteria {
    /// `true` to list only records of this location, not of the other locations that share its health record system.
    #[query(boolean(), name = "location_strict", default = false)]
    strict: bool,
    #[query(patient(), name = "patient_id")]
    id: Option<u32>,
    #[query(provider(), name = "provider_id")]
    provider: Option<u32>,
    /// Search text for the given name. Each word must be the beginning of a word of the given name.
    #[query(text(MAX_NAME))]
    first_name: Option<String>,
    /// Search text for the family name. Each word must be the beginning of a word of the family name.
    #[query(text(MAX_NAME))]
    last_name: Option<String>,
    /// Phone number; also accepted as `phone`. National and international forms of a number are equivalent in the
    /// country of the location, and an extension makes no difference.
    #[query(phone())]
    phone_number: Option<String>,
    /// `true` to list only patients whose form responses can be written to the health record system; `false` to list
    /// only the other patients.
    #[query(boolean())]
    forms_syncable: Option<bool>,
}

impl Criteria {
    /// Returns the filters that the engine supports.
    fn filters(&self, location: &OpenLocation) -> Vec<Filter> {
        let here = self.strict.then(|| Filter::Location(location.setup.id.0.into()));
        let one = self.id.map(|id| Filter::Ids([id.into()].into()));
        let names = [&self.first_name, &self.last_name].into_iter().flatten().cloned().map(Filter::Name);
        here.into_iter().chain(one).chain(names).chain(self.number(location).map(Filter::Phone)).collect()
    }

    fn number(&self, location: &OpenLocation) -> Option<Number> {
        Number::read(self.phone_number.as_deref()?, location.setup.country(&location.institution))
    }

    fn keeps(&self, it: &Record<Patient>, takes_forms: bool) -> bool {
        let called = |asked: &Option<String>, name: &str| asked.as_ref().is_none_or(|asked| name_matches(name, asked));
        let syncable = takes_forms && it.foreign_id.is_some();
        called(&self.first_name, &it.first_name)
            && called(&self.last_name, &it.last_name)
            && self.provider.is_none_or(|id| it.provider_id == Some(id))
            && self.forms_syncable.is_none_or(|wanted| wanted == syncable)
    }
}

/// Returns whether form responses can be written to the location's EHR.
fn takes_forms(call: &ApiCall, location: &OpenLocation) -> Result<bool, ApiError> {
    let ehr = match location.setup.source {
        Some(_) => call.api.engine.description(location.setup.id)?,
        None => None,
    };
    Ok(ehr.is_some_and(|ehr| ehr.writes.iter().any(|write| write == "create-form-response")))
}
