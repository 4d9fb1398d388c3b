//! Institutions and their locations.

use std::{collections::BTreeMap, sync::Arc};

use engine::setup::{Environment, Institution, LocationSetup, LocationStatus, Setup};
use location::ids::{InstitutionId, LocationId};

use super::{
    knobs::LocationSettings,
    reader::{Located, Section, words},
    seen::FirstUses,
    sources,
    values::Scope,
};
use crate::values::{kinds, limits::INT32};

/// Reads an institution into the setup. `lists` contains its sources and locations, unless they are in the same table.
pub(super) fn read(
    mut s: Section<'_, '_>,
    lists: Option<&Section<'_, '_>>,
    knobs: LocationSettings,
    setup: &mut Setup,
    seen: &mut FirstUses,
) {
    let id = s.identified(Scope::Institution);
    let subdomain = s.required(
        "subdomain",
        s.about("The name by which clients address the institution.").parsed("subdomain", subdomain),
    );
    let name = s.required("name", s.about("Shown to clients.").text("name"));
    let environment = s.about("API keys work only in this environment.").word("environment");
    let environment = s.required("environment", environment);
    let phone_number = s.about("Shown to clients.").text("phone_number").map(|placed| placed.value);
    let country_code = s
        .about("Two capital letters; `US` by default. Telephone numbers without a calling code are numbers of this country.")
        .parsed("country_code", country)
        .map_or_else(|| "US".to_owned(), |placed| placed.value);
    id.iter().for_each(|id| seen.once(&s.problems, "institution id", id));
    subdomain.iter().for_each(|name| seen.once(&s.problems, "subdomain", name));
    // Problems in the sources and locations are reported even if the institution itself has some.
    let owner = InstitutionId(id.map_or(0, |id| id.value as u32));
    let knobs = knobs.with(&s);
    let real = environment.as_ref().is_some_and(|environment| environment.value == Environment::Production);
    let lists = lists.unwrap_or(&s);
    for source in lists.about("An EHR that one or several locations share.").tables("sources") {
        sources::read(source, owner, real, setup, seen);
    }
    for place in lists
        .about("Locations of an institution. One without `source` has no EHR: create its providers and rooms through the API.")
        .tables("locations")
    {
        location(place, owner, knobs, setup, seen);
    }
    if let (Some(_), Some(subdomain), Some(environment)) = (id, subdomain, environment) {
        let institution = Institution {
            id: owner,
            subdomain: subdomain.value,
            name: name.map_or_else(String::new, |name| name.value),
            phone_number,
            country_code,
            environment: environment.value,
        };
        setup.institutions.insert(owner, Arc::new(institution));
    }
}

fn location(
    mut s: Section<'_, '_>,
    institution: InstitutionId,
    knobs: LocationSettings,
    setup: &mut Setup,
    seen: &mut FirstUses,
) {
    let id = s.identified(Scope::Location);
    // Records are stored under their institution, so a reload cannot change it.
    s.at_start().note("institution", institution);
    let name = s.required("name", s.about("Shown to clients.").text("name"));
    let zone = s.required(
        "zone",
        s.about("IANA name of the time zone, such as `America/New_York`.")
            .parsed("zone", |text| kinds::zone().text(text)),
    );
    let text = |key| s.about("Shown to clients.").text(key).map(|placed: Located<String>| placed.value);
    let (mut status, mut map_by_operatory) = (LocationStatus::Active, false);
    s.about("`pending` and `closed` refuse all calls.").choice("status", &words(), &mut status);
    let source =
        s.about("The `id` of the location's data source. Unset, the location has no EHR.").integer("source", INT32);
    let knobs = knobs.with(&s);
    let adapter_config =
        s.about("Settings of the adapter; see its README.").table("adapter_config").map_or_else(BTreeMap::new, |s| {
            s.about("A setting of the adapter.").note_any("NAME", "text", "\"...\"");
            s.keys().into_iter().filter_map(|key| Some((key.value.clone(), s.text(&key.value)?.value))).collect()
        });
    id.iter().for_each(|id| seen.once(&s.problems, "location id", id));
    let known = |id: i64| setup.sources.get(&(id as u32)).is_some_and(|source| source.institution == institution);
    if let Some(source) = source.filter(|source| !known(source.value)) {
        s.problems.add(source.at, format!("no source with id {} in this institution", source.value));
    }
    s.about("A booking must name an operatory.").flag("map_by_operatory", &mut map_by_operatory);
    let location = LocationSetup {
        id: LocationId(id.map_or(0, |id| id.value as u32)),
        institution,
        name: name.map_or_else(String::new, |name| name.value),
        street_address: text("street_address"),
        street_address_2: text("street_address_2"),
        city: text("city"),
        state: text("state"),
        zip_code: text("zip_code"),
        country_code: s
            .about("By default that of the institution. Telephone numbers without a calling code are numbers of this country.")
            .parsed("country_code", country)
            .map(|placed| placed.value),
        phone_number: text("phone_number"),
        email: text("email"),
        latitude: s.about("Shown to clients.").float("latitude", -90.0..=90.0),
        longitude: s.about("Shown to clients.").float("longitude", -180.0..=180.0),
        zone: zone.map_or(chrono_tz::Tz::UTC, |zone| zone.value),
        map_by_operatory,
        status,
        source: source.map(|source| source.value as u32),
        foreign_id: s.about("The id of the location in the EHR.").text("foreign_id").map(|placed| placed.value),
        booking: knobs.booking,
        write: knobs.write,
        pull: knobs.pull,
        quota: knobs.quota,
        workstation: knobs.workstation,
        adapter_config,
    };
    setup.locations.insert(location.id, Arc::new(location));
}

fn subdomain(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let valid = (1..=63).contains(&text.len()) && text.bytes().all(allowed);
    if valid { Ok(text.to_owned()) } else { Err("must have 1 to 63 lower case letters, digits and hyphens".into()) }
}

fn country(text: &str) -> Result<String, String> {
    let valid = text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
    if valid { Ok(text.to_owned()) } else { Err("must be a country code of two capital letters".into()) }
}
