//! Differences between two setups: changes that apply while the engine runs, and those that require a restart.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use location::{
    ids::{InstitutionId, LocationId},
    keys::ReloadClass,
};
use setup::{LocationSetup, LocationStatus, Setup};

/// Differences by key, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference<K> {
    pub added: Vec<K>,
    pub changed: Vec<K>,
    pub gone: Vec<K>,
}

impl<K: Clone + Ord> Difference<K> {
    fn between<V: PartialEq>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> Difference<K> {
        let added = after.keys().filter(|id| !before.contains_key(id)).cloned().collect();
        let gone = before.keys().filter(|id| !after.contains_key(id)).cloned().collect();
        let other = |(id, value): (&K, &V)| before.get(id).is_some_and(|before| before != value).then(|| id.clone());
        Difference { added, changed: after.iter().filter_map(other).collect(), gone }
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.gone.is_empty()
    }
}

/// Changes that apply while the engine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupChanges {
    pub institutions: Difference<InstitutionId>,
    pub sources: Difference<u32>,
    pub locations: Difference<LocationId>,
    /// Names of `[adapters]` with another file.
    pub adapters: Difference<String>,
    /// Changed settings of the engine as a whole, by their names in the configuration.
    pub engine: Vec<&'static str>,
    /// Locations affected by a change of their own settings, their source, their institution or the engine. Added and
    /// removed locations are not included.
    pub touched: BTreeMap<LocationId, ChangeImpact>,
}

/// The action for a location that may be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeImpact {
    /// Other settings apply.
    Settings,
    /// The connection to the EHR is replaced.
    Connection,
    /// The data source changed, or the location's id in it. Calls in flight to the previous EHR are abandoned.
    Source,
}

impl SetupChanges {
    pub fn between(before: &Setup, after: &Setup) -> SetupChanges {
        let (old, new) = (&before.engine, &after.engine);
        SetupChanges {
            institutions: Difference::between(&before.institutions, &after.institutions),
            sources: Difference::between(&before.sources, &after.sources),
            locations: Difference::between(&before.locations, &after.locations),
            adapters: Difference::between(&old.adapters, &new.adapters),
            engine: changed(before, after, ReloadClass::Reload).collect(),
            touched: touched(before, after),
        }
    }

    /// Returns `true` if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.institutions.is_empty()
            && self.sources.is_empty()
            && self.locations.is_empty()
            && self.adapters.is_empty()
            && self.engine.is_empty()
    }
}

fn touched(before: &Setup, after: &Setup) -> BTreeMap<LocationId, ChangeImpact> {
    let (old, new) = (&before.engine, &after.engine);
    let all_connect = old.guests != new.guests;
    let all_settle = old.mailbox != new.mailbox || old.idle_seconds != new.idle_seconds;
    let (led, leads) = (leads(before), leads(after));
    let of = |(id, now): (&LocationId, &Arc<LocationSetup>)| {
        let was = before.locations.get(id)?;
        let source = |setup: &Setup| setup.sources.get(&now.source?).cloned();
        let institution = |setup: &Setup| setup.institutions.get(&now.institution).cloned();
        let touched = if was.source != now.source || was.foreign_id != now.foreign_id {
            ChangeImpact::Source
        } else if was != now || source(before) != source(after) || (all_connect && now.source.is_some()) {
            ChangeImpact::Connection
        } else if all_settle || institution(before) != institution(after) || led.contains(id) != leads.contains(id) {
            ChangeImpact::Settings
        } else {
            return None;
        };
        Some((*id, touched))
    };
    after.locations.iter().filter_map(of).collect()
}

/// Returns the locations that pull the shared resources of their data source, see `Setup::lead`.
fn leads(setup: &Setup) -> BTreeSet<LocationId> {
    let mut first = BTreeMap::new();
    for location in setup.locations.values().filter(|location| location.status == LocationStatus::Active) {
        location.source.map(|source| first.entry(source).or_insert(location.id));
    }
    first.into_values().collect()
}

/// Returns the changed settings of the engine of a class, by their names in the configuration.
fn changed(before: &Setup, after: &Setup, class: ReloadClass) -> impl Iterator<Item = &'static str> {
    let (old, new) = (&before.engine, &after.engine);
    let all = old.changed_keys(new).into_iter().chain(old.guests.changed_keys(&new.guests));
    all.filter(move |key| key.class == class).map(|key| key.name)
}

/// Returns the changes that require a restart, by their names in the configuration. Records are stored under their
/// institution and data source: one that moved to another institution would expose them to it.
pub fn needs_restart(before: &Setup, after: &Setup) -> Vec<String> {
    let mut found: Vec<String> = changed(before, after, ReloadClass::Restart).map(str::to_owned).collect();
    let sources = after.sources.iter().filter_map(|(id, now)| Some((id, before.sources.get(id)?, now)));
    let sources = sources.filter(|(_, was, now)| was.institution != now.institution);
    found.extend(sources.map(|(id, ..)| format!("the institution of source {id}")));
    let locations = after.locations.iter().filter_map(|(id, now)| Some((id, before.locations.get(id)?, now)));
    let locations = locations.filter(|(_, was, now)| was.institution != now.institution);
    found.extend(locations.map(|(id, ..)| format!("the institution of location {id}")));
    found
}
