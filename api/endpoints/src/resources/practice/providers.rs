//! GET /providers, GET /providers/{id}; POST, PATCH and DELETE at locations without an EHR.

use engine::commands::WriteOwnRecord;
use framework::values::kinds::shared::inactive;

use super::locations::{Facts, LocationView};
use crate::{
    prelude::*,
    resources::schedule::{
        appointment_types::{self, AppointmentTypeView},
        working_hours::{self, WorkingHourView},
    },
};

/// A provider: a person who treats patients.
#[view(of = Provider, named = "provider")]
pub struct ProviderView<'a> {
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    /// Display name, or the full name if there is none.
    #[view(with = entry.name())]
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    /// Always empty: personal data of providers are not provided.
    #[view(with = Bio {})]
    bio: Bio,
    inactive: bool,
    last_sync_time: Option<At>,
    display_name: Option<&'a str>,
    npi: Option<&'a str>,
    tin: Option<&'a str>,
    state_license: Option<&'a str>,
    specialty_code: Option<&'a str>,
    /// Locations at which the provider has active working hours.
    #[view(with = Vec::new())]
    locations: Vec<LocationView<'a>>,
    /// Ids of the locations in `locations`.
    #[view(with = Vec::new())]
    provider_requestables: Vec<RequestableLocation>,
    /// Working hours with the appointment types that they accept. With `include[]=appointment_types`, hours that accept
    /// every type list every type of their location; otherwise their list is empty.
    availabilities: IncludedList<WorkingHourView<'a>>,
    /// Appointment types that the provider's working hours accept.
    appointment_types: IncludedList<AppointmentTypeView>,
}

/// Always empty: no health record system provides personal data of providers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProviderBio")]
struct Bio {}

/// A location where the provider can be requested.
#[view]
struct RequestableLocation {
    location_id: u32,
}

/// Finds a provider of an EHR that the caller may reach, or of a location without an EHR: created for the location, or
/// with working hours there.
pub fn find(call: &ApiCall, tenant: &Tenant, id: u32) -> Result<Record<Provider>, ApiError> {
    if let Some(found) = call.api.engine.provider(tenant.institution.id, id)? {
        let locations = call.open_locations(tenant);
        let in_source = locations.iter().any(|location| location.setup.source == found.source_id);
        if in_source || works_without_ehr(call, &locations, id)? {
            return Ok(found);
        }
    }
    Err(ApiError::not_found(format!("Provider with id {id}")))
}

fn works_without_ehr(call: &ApiCall, locations: &[OpenLocation], id: u32) -> Result<bool, ApiError> {
    for location in locations.iter().filter(|it| it.setup.source.is_none()) {
        let hours = call.api.engine.working_hours(location.setup.id)?;
        if hours.iter().any(|hour| hour.provider_id == id && in_use(hour)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn in_use(hour: &Record<WorkingHour>) -> bool {
    hour.in_force() && hour.deleted_at.is_none()
}

/// Cache of the names of the providers in a list, each read once.
pub struct ProviderNames<'a> {
    call: &'a ApiCall,
    tenant: &'a Tenant,
    known: HashMap<u32, Option<String>>,
}

impl<'a> ProviderNames<'a> {
    pub fn new(call: &'a ApiCall, tenant: &'a Tenant) -> ProviderNames<'a> {
        ProviderNames { call, tenant, known: HashMap::new() }
    }

    pub fn get(&mut self, id: u32) -> Result<Option<String>, ApiError> {
        if let Some(name) = self.known.get(&id) {
            return Ok(name.clone());
        }
        let name = self.call.api.engine.provider_name(self.tenant.institution.id, id)?;
        self.known.insert(id, name.clone());
        Ok(name)
    }
}

#[input]
pub struct ListProviders {
    #[query(includes(INCLUDES))]
    include: Vec<&'static str>,
    #[query(sort(&["id"]), default = "id")]
    sort: Sort,
    filter: ProviderFilter,
    #[read(input.listing().foreign_ids().since().done())]
    listing: Listing,
}

#[input]
struct ProviderFilter {
    /// `true` to list only providers with working hours; `false` to list only providers without working hours.
    #[query(boolean())]
    requestable: Option<bool>,
    #[query(inactive(), default = false)]
    inactive: bool,
    /// Only records with these ids.
    #[query(id())]
    ids: Vec<u32>,
}

pub async fn list(
    call: ApiCall,
    InLocations(tenant, location, requested): InLocations<ListProviders>,
) -> Answer<Paged<ProviderView<'static>>> {
    let ListProviders { include, sort, filter, listing } = requested;
    let listing = listing.descending(sort.descending);
    let locations = call.open_locations(&tenant);
    let working = Working::at(&call, &tenant, &locations)?;
    let sources = call.sources(&tenant);
    let keep = |it: &Record<Provider>| {
        let here = location.as_ref().is_none_or(|location| working.may_work(it, location));
        (sources.contains(&it.source()) || working.without_ehr(it)) && filter.keeps(it, &working) && here
    };
    let page = listing.page(&call, &[tenant.institution.id.0], &sources, keep)?;
    Ok(call.page(&page.views(|it| view(&call, &working, it, &include))))
}

#[input]
pub struct ShowProvider {
    #[read(input.includes(INCLUDES))]
    include: Vec<&'static str>,
}

pub async fn show(
    call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, ShowProvider { include }): InTenant<ShowProvider>,
) -> Answer<One<ProviderView<'static>>> {
    let locations = call.open_locations(&tenant);
    let working = Working::at(&call, &tenant, &locations)?;
    let record = find(&call, &tenant, id)?;
    Ok(call.show(view(&call, &working, &record, &include)))
}

#[input(object("provider", "The provider."), builds = Provider, rest = Provider::default())]
pub struct NewProvider {
    /// Given name.
    #[body(filled(text(MAX_NAME)))]
    first_name: String,
    /// Family name.
    #[body(filled(text(MAX_NAME)))]
    last_name: String,
    /// Middle name.
    #[body(text(MAX_NAME), nonempty)]
    middle_name: Option<String>,
    /// Display name, shown instead of the name.
    #[body(text(MAX_NAME), nonempty)]
    display_name: Option<String>,
    #[body(email(), nonempty)]
    email: Option<String>,
    /// National Provider Identifier.
    #[body(text(MAX_NAME), nonempty)]
    npi: Option<String>,
    /// Taxpayer identification number.
    #[body(text(MAX_NAME), nonempty)]
    tin: Option<String>,
    /// Number of the state licence.
    #[body(text(MAX_NAME), nonempty)]
    state_license: Option<String>,
    /// Code of the specialty.
    #[body(text(MAX_NAME), nonempty)]
    specialty_code: Option<String>,
}

pub async fn create(
    mut call: ApiCall,
    AtLocation(location, NewProvider(new)): AtLocation<NewProvider>,
) -> Answer<Created<ProviderView<'static>>> {
    save(&mut call, &location, WriteOwnRecord::Create(new)).await
}

/// A change of a provider; missing fields stay unchanged.
#[input(object("provider", "The provider."), changes = Provider)]
pub struct ProviderUpdate {
    /// Given name.
    #[body(filled(text(MAX_NAME)), not_null)]
    first_name: Option<String>,
    /// Family name.
    #[body(filled(text(MAX_NAME)), not_null)]
    last_name: Option<String>,
    #[body(inactive(), not_null)]
    inactive: Option<bool>,
    /// Middle name.
    #[body(text(MAX_NAME))]
    middle_name: Option<Option<String>>,
    /// Display name, shown instead of the name.
    #[body(text(MAX_NAME))]
    display_name: Option<Option<String>>,
    #[body(email())]
    email: Option<Option<String>>,
    /// National Provider Identifier.
    #[body(text(MAX_NAME))]
    npi: Option<Option<String>>,
    /// Taxpayer identification number.
    #[body(text(MAX_NAME))]
    tin: Option<Option<String>>,
    /// Number of the state licence.
    #[body(text(MAX_NAME))]
    state_license: Option<Option<String>>,
    /// Code of the specialty.
    #[body(text(MAX_NAME))]
    specialty_code: Option<Option<String>>,
}

pub async fn update(
    mut call: ApiCall,
    Id(id): Id<u32>,
    AtLocation(location, change): AtLocation<ProviderUpdate>,
) -> Answer<One<ProviderView<'static>>> {
    if change.inactive == Some(true) {
        check_no_working_hours(&call, &location, id)?;
    }
    let change = Arc::new(move |it: &mut Provider| change.apply_to(it));
    save(&mut call, &location, WriteOwnRecord::Change(id.into(), change)).await
}

pub async fn delete(mut call: ApiCall, Id(id): Id<u32>, location: OpenLocation) -> Answer<One<ProviderView<'static>>> {
    check_no_working_hours(&call, &location, id)?;
    save(&mut call, &location, WriteOwnRecord::Remove(id.into())).await
}

/// Refuses the removal if the provider has working hours at another open location. The command checks its own location.
fn check_no_working_hours(call: &ApiCall, location: &OpenLocation, id: u32) -> Result<(), ApiError> {
    if location.setup.source.is_some() {
        return Err(PreconditionError::OfEhr.into());
    }
    for other in call.open_locations(&location.tenant()) {
        let hours = call.api.engine.working_hours(other.setup.id)?;
        if hours.iter().any(|hour| hour.provider_id == id && hour.deleted_at.is_none()) {
            return Err(PreconditionError::StillWorks { location: other.setup.id.0 }.into());
        }
    }
    Ok(())
}

async fn save<const STATUS: u16>(
    call: &mut ApiCall,
    location: &OpenLocation,
    request: WriteOwnRecord<Provider>,
) -> Answer<One<ProviderView<'static>, STATUS>> {
    let saved = call.save(location, request).await?;
    let tenant = location.tenant();
    let locations = call.open_locations(&tenant);
    let working = Working::at(call, &tenant, &locations)?;
    Ok(call.created(saved.replay, view(call, &working, &saved.record, &[])))
}

/// Locations are always included.
const INCLUDES: &[&str] = &["locations", "availabilities", "appointment_types"];

fn view<'a>(
    call: &'a ApiCall,
    working: &'a Working<'a>,
    it: &'a Record<Provider>,
    include: &[&str],
) -> ProviderView<'a> {
    let requested = |name: &str| include.contains(&name).then_some(());
    let (now, types) = (call.api.engine.now(), &working.types);
    let typed = requested("appointment_types");
    let shown = |(location, hour): (&OpenLocation, &'a Record<WorkingHour>)| {
        let mut view = working_hours::view(hour, location, types, now);
        if typed.is_some() && hour.appointment_type_ids.is_empty() {
            view.appointment_types = Some(working.types_at(location).map(AppointmentTypeView::from_record).collect());
        }
        view
    };
    let accepted = || -> BTreeMap<u32, AppointmentTypeView> {
        let kinds = working.hours_of(it.id).flat_map(|(location, hour)| {
            let named = &hour.appointment_type_ids;
            working.types_at(location).filter(move |kind| named.is_empty() || named.contains(&kind.id))
        });
        kinds.map(|kind| (kind.id, AppointmentTypeView::from_record(kind))).collect()
    };
    let own = || working.locations.iter().filter(|(location, _)| working.works(it.id, location.setup.id));
    let adapter = |location: &'a OpenLocation| call.directory.adapter(&location.setup);
    ProviderView {
        locations: own()
            .map(|(location, facts)| LocationView::from_value(&location.setup, *facts, adapter(location)))
            .collect(),
        provider_requestables: own()
            .map(|(location, _)| RequestableLocation { location_id: location.setup.id.0 })
            .collect(),
        availabilities: requested("availabilities").or(typed).map(|()| working.hours_of(it.id).map(shown).collect()),
        appointment_types: typed.map(|()| accepted().into_values().collect()),
        ..ProviderView::from_record(it, call.directory.adapter_of_source(it.source_id))
    }
}

impl ProviderFilter {
    fn keeps(&self, it: &Record<Provider>, working: &Working<'_>) -> bool {
        it.inactive == self.inactive
            && self.requestable.is_none_or(|requestable| requestable == working.anywhere(it.id))
            && (self.ids.is_empty() || self.ids.contains(&it.id))
    }
}

/// Working hours and types of the locations of a request.
struct Working<'a> {
    locations: Vec<(&'a OpenLocation, Facts)>,
    /// Working hours in use.
    hours: Vec<(&'a OpenLocation, Vec<Record<WorkingHour>>)>,
    every_type: Vec<Record<AppointmentType>>,
    types: working_hours::Types,
}

impl<'a> Working<'a> {
    fn at(call: &ApiCall, tenant: &Tenant, locations: &'a [OpenLocation]) -> Result<Working<'a>, ApiError> {
        let (mut known, mut hours) = (Vec::new(), Vec::new());
        for location in locations {
            known.push((location, Facts::read(call, &location.setup)?));
            let mut own = call.api.engine.working_hours(location.setup.id)?;
            own.retain(in_use);
            hours.push((location, own));
        }
        let every_type = appointment_types::all(call, tenant)?;
        let types = every_type.iter().map(|it| (it.id, AppointmentTypeView::from_record(it))).collect();
        Ok(Working { locations: known, hours, every_type, types: Some(types) })
    }

    fn types_at(&self, location: &OpenLocation) -> impl Iterator<Item = &Record<AppointmentType>> {
        self.every_type.iter().filter(move |it| appointment_types::is_at(it, std::slice::from_ref(location)))
    }

    fn hours_of(&self, provider: u32) -> impl Iterator<Item = (&'a OpenLocation, &Record<WorkingHour>)> {
        let all = self.hours.iter().flat_map(|(location, hours)| hours.iter().map(move |hour| (*location, hour)));
        all.filter(move |(_, hour)| hour.provider_id == provider)
    }

    fn works(&self, provider: u32, id: LocationId) -> bool {
        self.hours_of(provider).any(|(location, _)| location.setup.id == id)
    }

    /// Returns whether a provider may work at a location. A provider without hours may work at any location of their
    /// EHR, and at those without an EHR.
    fn may_work(&self, provider: &Record<Provider>, at: &OpenLocation) -> bool {
        let theirs = at.setup.source.is_none_or(|source| provider.source_id == Some(source));
        (theirs && !self.anywhere(provider.id)) || self.works(provider.id, at.setup.id)
    }

    /// Returns whether the provider has hours at a location without an EHR, or was created for such locations.
    fn without_ehr(&self, provider: &Record<Provider>) -> bool {
        let own = provider.source_id.is_none() && self.locations.iter().any(|(it, _)| it.setup.source.is_none());
        own || self.hours_of(provider.id).any(|(location, _)| location.setup.source.is_none())
    }

    fn anywhere(&self, provider: u32) -> bool {
        self.hours_of(provider).next().is_some()
    }
}
