//! Institutions and their locations.

use std::sync::Arc;

use engine::setup::{Environment, Institution, LocationSettings, LocationSetup, LocationStatus, Setup, country_code};
use framework::values::{kinds, limits::INT32};
use location::{
    ids::{InstitutionId, LocationId},
    keys::{ConfigKey, KeyReader, KeyTable},
};

use crate::{
    kinds::{choice, integer, parsed, text, words},
    reader::Section,
    sources,
    values::Scope,
};

const SHOWN: &str = "Shown to clients.";

/// Reads an institution into the setup. `lists` contains its sources and locations, unless they are in the same table.
pub(crate) fn read(
    mut s: Section<'_, '_>,
    lists: Option<&Section<'_, '_>>,
    mut settings: LocationSettings,
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
    let country_code = s.read(ConfigKey::reload("country_code", about), &parsed(country_code));
    s.unique("subdomain", "subdomain", subdomain.as_ref());
    // Problems in the sources and locations are reported even if the institution itself has some.
    let owner = InstitutionId(id.unwrap_or(0));
    settings.read_keys(&s);
    let real = environment == Some(Environment::Production);
    let lists = lists.unwrap_or(&s);
    for source in lists.tables(ConfigKey::reload("sources", "An EHR that one or several locations share.")) {
        sources::read(source, owner, real, setup);
    }
    let about = "Locations of an institution. One without `source` has no EHR: create its providers and rooms through \
                 the API.";
    for place in lists.tables(ConfigKey::reload("locations", about)) {
        location(place, owner, settings.clone(), setup);
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

fn location(mut s: Section<'_, '_>, institution: InstitutionId, mut settings: LocationSettings, setup: &mut Setup) {
    let id = LocationId(s.identified("location id", Scope::Location).unwrap_or(0));
    // Records are stored under their institution, so a reload cannot change it.
    s.derived(ConfigKey::restart("institution", ""), institution);
    let name = s.required(ConfigKey::reload("name", SHOWN), &text()).unwrap_or_default();
    let about = "IANA name of the time zone, such as `America/New_York`.";
    let zone = s.required(ConfigKey::reload("zone", about), &parsed(|text| kinds::zone().text(text)));
    let zone = zone.unwrap_or(chrono_tz::Tz::UTC);
    let mut status = LocationStatus::Active;
    s.word(ConfigKey::reload("status", "`pending` and `closed` refuse all calls."), &mut status, &words());
    let about = "The `id` of the location's data source. Unset, the location has no EHR.";
    let source: Option<u32> = s.read(ConfigKey::reload("source", about), &integer(INT32));
    let known = |id: u32| setup.sources.get(&id).is_some_and(|source| source.institution == institution);
    if let Some(source) = source.filter(|source| !known(*source)) {
        s.report_key("source", format!("no source with id {source} in this institution"));
    }
    settings.read_keys(&s);
    let LocationSettings { booking, write, pull, quota, workstation } = settings;
    let adapter_config = s.table(ConfigKey::reload("adapter_config", "Settings of the adapter; see its README."));
    let entries = adapter_config.map(|s| s.entries(ConfigKey::reload("NAME", "A setting of the adapter."), &text()));
    let adapter_config = entries.into_iter().flatten().filter_map(|(name, value)| Some((name.value, value?))).collect();
    let mut location = LocationSetup {
        id,
        institution,
        name,
        zone,
        status,
        source,
        booking: booking.limits,
        rules: booking.rules,
        write,
        pull,
        quota,
        workstation,
        adapter_config,
        ..LocationSetup::default()
    };
    location.read_keys(&s);
    setup.locations.insert(id, Arc::new(location));
}

fn subdomain(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let valid = (1..=63).contains(&text.len()) && text.bytes().all(allowed);
    if valid { Ok(text.to_owned()) } else { Err("must have 1 to 63 lower case letters, digits and hyphens".into()) }
}
