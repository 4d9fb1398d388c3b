//! GET /providers

use std::collections::{BTreeSet, HashMap};

use engine::records::Provider;
use location::ids::LocationId;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, locations::LocationView};
use crate::{
    bounds::MAX_TEXT,
    cursor::Position,
    errors::ApiError,
    kinds::{boolean, id, includes, instant, sort, text},
    pages::{Page, stretch},
    scope::{Call, Place, Tenant},
    wire::{At, foreign_id_type},
};

#[derive(Serialize, JsonSchema)]
pub struct ProviderView<'a> {
    id: u32,
    email: Option<&'a str>,
    first_name: &'a str,
    middle_name: Option<&'a str>,
    last_name: &'a str,
    name: String,
    created_at: At,
    updated_at: At,
    institution_id: u32,
    foreign_id: Option<&'a str>,
    foreign_id_type: &'a str,
    bio: Bio,
    inactive: bool,
    last_sync_time: Option<At>,
    display_name: Option<&'a str>,
    npi: Option<&'a str>,
    tin: Option<&'a str>,
    state_license: Option<&'a str>,
    specialty_code: Option<&'a str>,
    locations: Vec<LocationView<'a>>,
    provider_requestables: Vec<Requestable>,
}

/// What is known of a provider as a person: nothing that an EHR tells.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ProviderBio")]
struct Bio {}

/// A location where the provider can be asked for.
#[derive(Serialize, JsonSchema)]
struct Requestable {
    #[schemars(with = "u32")]
    location_id: LocationId,
}

impl<'a> ProviderView<'a> {
    fn of(record: &'a Provider, adapter: Option<&'a str>) -> ProviderView<'a> {
        ProviderView {
            id: record.id,
            email: record.email.as_deref(),
            first_name: &record.first_name,
            middle_name: record.middle_name.as_deref(),
            last_name: &record.last_name,
            name: record.name(),
            created_at: At(record.created_at),
            updated_at: At(record.updated_at),
            institution_id: record.institution_id,
            foreign_id: record.foreign_id.as_deref(),
            foreign_id_type: foreign_id_type(record.foreign_id.as_deref(), adapter),
            bio: Bio {},
            inactive: record.inactive,
            last_sync_time: record.last_sync_time.map(At),
            display_name: record.display_name.as_deref(),
            npi: record.npi.as_deref(),
            tin: record.tin.as_deref(),
            state_license: record.state_license.as_deref(),
            specialty_code: record.specialty_code.as_deref(),
            locations: Vec::new(),
            provider_requestables: Vec::new(),
        }
    }
}

/// The one a request names.
pub fn find(call: &Call, tenant: &Tenant, id: u32) -> Result<Provider, ApiError> {
    let found = call.api.engine.provider(tenant.institution.id, id)?;
    found.ok_or_else(|| ApiError::NotFound(format!("Provider with id {id}")))
}

/// Names of the providers a list of records mentions, each read once.
pub struct Names<'a> {
    call: &'a Call,
    tenant: &'a Tenant,
    known: HashMap<u32, Option<String>>,
}

impl<'a> Names<'a> {
    pub fn new(call: &'a Call, tenant: &'a Tenant) -> Names<'a> {
        Names { call, tenant, known: HashMap::new() }
    }

    pub fn of(&mut self, id: u32) -> Result<Option<String>, ApiError> {
        if let Some(name) = self.known.get(&id) {
            return Ok(name.clone());
        }
        let name = self.call.api.engine.provider(self.tenant.institution.id, id)?.map(|it| it.name());
        self.known.insert(id, name.clone());
        Ok(name)
    }
}

struct Filter {
    descending: bool,
    foreign_id: Option<String>,
    requestable: Option<bool>,
    inactive: bool,
    since: Option<location::time::Timestamp>,
    ids: Vec<u32>,
}

pub async fn list(mut call: Call) -> Answer {
    let (tenant, place, (paging, filter)) = call.in_places(|input| {
        // Locations are always there; working hours and appointment types of a provider come from elsewhere.
        let include = input.query.list("include", includes(&["locations", "availabilities", "appointment_types"]));
        if include.iter().any(|name| *name != "locations") {
            input.query.without_effect("include");
        }
        let filter = Filter {
            descending: input.query.defaulted("sort", sort(&["id"]), "id").descending,
            foreign_id: input.query.optional("foreign_id", text(MAX_TEXT)),
            requestable: input.query.optional("requestable", boolean()),
            inactive: input.query.defaulted("inactive", boolean(), false),
            since: input.query.optional("updated_since", instant()),
            ids: input.query.list("ids", id()),
        };
        Some((input.paging(), filter))
    })?;
    let places = call.open_places(&tenant);
    let working = Working::at(&call, &places)?;
    let page = paging.collect(
        filter.descending,
        |at, backwards, limit| call.api.engine.providers(tenant.institution.id, stretch(at, backwards, limit)),
        |it| filter.keeps(it, &working) && place.as_ref().is_none_or(|place| working.works(it.id, place.location.id)),
        |it| Position::id(it.id.into()),
    )?;
    let adapter = call.api.directory.shared_adapter(tenant.institution.id);
    let rows = page.rows.iter().map(|it| {
        let own = || places.iter().map(|place| &place.location).filter(|location| working.works(it.id, location.id));
        ProviderView {
            locations: own()
                .map(|location| LocationView::of(location, call.api.directory.adapter(location), None))
                .collect(),
            provider_requestables: own().map(|location| Requestable { location_id: location.id }).collect(),
            ..ProviderView::of(it, adapter)
        }
    });
    Ok(call.page(&Page { rows: rows.collect(), found: page.found }))
}

impl Filter {
    fn keeps(&self, it: &Provider, working: &Working) -> bool {
        it.inactive == self.inactive
            && self.foreign_id.as_ref().is_none_or(|id| it.foreign_id.as_ref() == Some(id))
            && self.requestable.is_none_or(|requestable| requestable == working.anywhere(it.id))
            && self.since.is_none_or(|since| it.updated_at >= since)
            && (self.ids.is_empty() || self.ids.contains(&it.id))
    }
}

/// Who has working hours where.
struct Working(HashMap<LocationId, BTreeSet<u32>>);

impl Working {
    fn at(call: &Call, places: &[Place]) -> Result<Working, ApiError> {
        let mut working = HashMap::new();
        for place in places {
            let providers = call.api.engine.providers_at(place.location.id)?;
            working.insert(place.location.id, providers.into_iter().collect());
        }
        Ok(Working(working))
    }

    fn works(&self, provider: u32, location: LocationId) -> bool {
        self.0.get(&location).is_some_and(|providers| providers.contains(&provider))
    }

    fn anywhere(&self, provider: u32) -> bool {
        self.0.values().any(|providers| providers.contains(&provider))
    }
}
