//! Institutions with their data sources and locations.

use std::{collections::HashSet, sync::Arc};

use engine::{
    adapter_host::{AddressError, check_address},
    setup::{DataSource, Environment, Institution, LocationSetup, Setup},
};
use location::{
    keys::{ConfigKey, KeyTable},
    settings::LocationSettings,
};

use crate::reader::Section;

/// The settings of locations during a load.
#[derive(Default)]
pub(crate) struct Inherited {
    pub(crate) defaults: LocationSettings,
    shared: HashSet<Arc<LocationSettings>>,
}

impl Inherited {
    /// Returns the allocation of these settings, which locations with equal settings share.
    fn share(&mut self, settings: LocationSettings) -> Arc<LocationSettings> {
        let shared = self.shared.get(&settings).cloned().unwrap_or_else(|| Arc::new(settings));
        self.shared.insert(shared.clone());
        shared
    }
}

/// Reads an institution into the setup. `lists` contains its sources and locations.
pub(crate) fn read(s: &Section<'_, '_>, lists: &Section<'_, '_>, inherited: &mut Inherited, setup: &mut Setup) {
    let (mut institution, mut settings) = (Institution::default(), inherited.defaults.clone());
    institution.read_keys(s);
    settings.read_keys(s);
    for s in lists.tables(ConfigKey::reload("sources", "An EHR that one or several locations share.")) {
        source(&s, &institution, setup);
    }
    let about = "Locations of an institution. One without `source` has no EHR: create its providers and rooms through \
                 the API.";
    for s in lists.tables(ConfigKey::reload("locations", about)) {
        let mut settings = settings.clone();
        settings.read_keys(&s);
        location(&s, &institution, inherited.share(settings), setup);
    }
    // An invalid `environment` must not count as the sandbox.
    if s.is_valid() {
        setup.institutions.insert(institution.id, Arc::new(institution));
    }
}

fn source(s: &Section<'_, '_>, institution: &Institution, setup: &mut Setup) {
    let mut source = DataSource { institution: institution.id, ..DataSource::default() };
    source.read_keys(s);
    s.record_institution(institution.id);
    if source.base_url == "sandbox:" {
        if institution.environment == Environment::Production {
            let problem = "`base_url` \"sandbox:\" is the simulated EHR, which a production institution must not have; \
                           give the address of its EHR, or make its `environment` \"sandbox\"";
            s.report("base_url", problem);
        }
        if setup.engine.node.is_some() {
            let problem =
                "`base_url` \"sandbox:\" is an EHR within one process, which the nodes of [node] cannot share";
            s.report("base_url", problem);
        }
    }
    // An invalid `base_url` is empty, and reported already.
    if !["", "sandbox:"].contains(&source.base_url.as_str()) {
        let checked = check_address(&source.base_url, source.headers().to_vec(), source.allowed_paths().to_vec());
        if let Err(error) = checked {
            let key = if matches!(error, AddressError::AllowedPath(_)) { "allowed_paths" } else { "base_url" };
            s.report(key, format!("`{key}`: {error}"));
        }
    }
    if !source.adapter.is_empty() && !setup.engine.adapters.contains_key(&source.adapter) {
        let known = setup.engine.adapters.keys().cloned().collect::<Vec<_>>().join(", ");
        s.report("adapter", format!("no adapter `{}` in [adapters]; known are: {known}", source.adapter));
    }
    setup.sources.insert(source.id, Arc::new(source));
}

fn location(s: &Section<'_, '_>, institution: &Institution, settings: Arc<LocationSettings>, setup: &mut Setup) {
    let mut location = LocationSetup { institution: institution.id, settings, ..LocationSetup::default() };
    location.read_keys(s);
    s.record_institution(institution.id);
    let known = |id: u32| setup.sources.get(&id).is_some_and(|source| source.institution == institution.id);
    if let Some(source) = location.source.filter(|source| !known(*source)) {
        s.report("source", format!("no source with id {source} in this institution"));
    }
    setup.locations.insert(location.id, Arc::new(location));
}
