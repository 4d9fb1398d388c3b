//! Institutions and their locations.

use std::sync::Arc;

use engine::setup::{Environment, Institution, LocationSetup, LocationStatus, Setup};
use framework::values::{kinds, limits::INT32};
use location::{
    ids::{InstitutionId, LocationId},
    keys::{ConfigKey, KeyReader},
};

use crate::{
    kinds::{choice, integer, number, parsed, text, words},
    knobs::LocationSettings,
    reader::Section,
    sources,
    values::Scope,
};

const SHOWN: &str = "Shown to clients.";

/// Reads an institution into the setup. `lists` contains its sources and locations, unless they are in the same table.
pub(crate) fn read(
    mut s: Section<'_, '_>,
    lists: Option<&Section<'_, '_>>,
    knobs: LocationSettings,
    setup: &mut Setup,
) {
    let id = s.identified("institution id", Scope::Institution);
    let about = "The name by which clients address the institution.";
    let subdomain = s.required(ConfigKey::reload("subdomain", about), &parsed(subdomain));
    let name = s.required(ConfigKey::reload("name", SHOWN), &text());
    let about = "API keys work only in this environment.";
    let environment: Option<Environment> = s.required(ConfigKey::reload("environment", about), &choice(&words()));
    let phone_number = s.read(ConfigKey::reload("phone_number", SHOWN), &text());
    let about = "Two capital letters; `US` by default. Telephone numbers without a calling code are numbers of this \
                 country.";
    let country_code = s.read(ConfigKey::reload("country_code", about), &parsed(country));
    s.unique("subdomain", "subdomain", subdomain.as_ref());
    // Problems in the sources and locations are reported even if the institution itself has some.
    let owner = InstitutionId(id.unwrap_or(0));
    let knobs = knobs.with(&s);
    let real = environment == Some(Environment::Production);
    let lists = lists.unwrap_or(&s);
    for source in lists.tables(ConfigKey::reload("sources", "An EHR that one or several locations share.")) {
        sources::read(source, owner, real, setup);
    }
    let about = "Locations of an institution. One without `source` has no EHR: create its providers and rooms through \
                 the API.";
    for place in lists.tables(ConfigKey::reload("locations", about)) {
        location(place, owner, knobs, setup);
    }
    if let (Some(_), Some(subdomain), Some(environment)) = (id, subdomain, environment) {
        let institution = Institution {
            id: owner,
            subdomain,
            name: name.unwrap_or_default(),
            phone_number,
            country_code: country_code.unwrap_or_else(|| "US".to_owned()),
            environment,
        };
        setup.institutions.insert(owner, Arc::new(institution));
    }
}

fn location(mut s: Section<'_, '_>, institution: InstitutionId, knobs: LocationSettings, setup: &mut Setup) {
    let id = s.identified("location id", Scope::Location);
    // Records are stored under their institution, so a reload cannot change it.
    s.derived(ConfigKey::restart("institution", ""), institution);
    let name = s.required(ConfigKey::reload("name", SHOWN), &text());
    let about = "IANA name of the time zone, such as `America/New_York`.";
    let zone = s.required(ConfigKey::reload("zone", about), &parsed(|text| kinds::zone().text(text)));
    let shown = |key| s.read(ConfigKey::reload(key, SHOWN), &text());
    let coordinate = |key, range| s.read(ConfigKey::reload(key, SHOWN), &number(range));
    let (mut status, mut map_by_operatory) = (LocationStatus::Active, false);
    s.word(ConfigKey::reload("status", "`pending` and `closed` refuse all calls."), &mut status, &words());
    let about = "The `id` of the location's data source. Unset, the location has no EHR.";
    let source: Option<u32> = s.read(ConfigKey::reload("source", about), &integer(INT32));
    let knobs = knobs.with(&s);
    let adapter_config = s.table(ConfigKey::reload("adapter_config", "Settings of the adapter; see its README."));
    let entries = adapter_config.map(|s| s.entries(ConfigKey::reload("NAME", "A setting of the adapter."), &text()));
    let adapter_config = entries.into_iter().flatten().filter_map(|(name, value)| Some((name.value, value?))).collect();
    let known = |id: u32| setup.sources.get(&id).is_some_and(|source| source.institution == institution);
    if let Some(source) = source.filter(|source| !known(*source)) {
        s.report_key("source", format!("no source with id {source} in this institution"));
    }
    s.flag(ConfigKey::reload("map_by_operatory", "A booking must name an operatory."), &mut map_by_operatory);
    let about = "By default that of the institution. Telephone numbers without a calling code are numbers of this \
                 country.";
    let location = LocationSetup {
        id: LocationId(id.unwrap_or(0)),
        institution,
        name: name.unwrap_or_default(),
        street_address: shown("street_address"),
        street_address_2: shown("street_address_2"),
        city: shown("city"),
        state: shown("state"),
        zip_code: shown("zip_code"),
        country_code: s.read(ConfigKey::reload("country_code", about), &parsed(country)),
        phone_number: shown("phone_number"),
        email: shown("email"),
        latitude: coordinate("latitude", -90.0..=90.0),
        longitude: coordinate("longitude", -180.0..=180.0),
        zone: zone.unwrap_or(chrono_tz::Tz::UTC),
        map_by_operatory,
        status,
        source,
        foreign_id: s.read(ConfigKey::reload("foreign_id", "The id of the location in the EHR."), &text()),
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
