//! Locations in memory: equal settings are one allocation in all institutions, rare keys are boxed, and recorded values
//! are packed.

use std::{collections::BTreeMap, sync::Arc};

use engine::changes::{ChangeImpact, SetupChanges};
use location::{ids::LocationId, settings::LocationSettings};

use super::{PRACTICE, parse, with_source};
use crate::{Config, values::Scope};

/// Returns a configuration in which locations 1 and 2 override a setting, and locations 3 and 4 of two institutions
/// override none.
fn practices(page_of_second: u32) -> Config {
    let location = |id: u32| format!("[[institutions.locations]]\nid = {id}\nname = \"L\"\nzone = \"UTC\"\n");
    let page = |page: u32| format!("[institutions.locations.pull]\npage = {page}\n");
    let other = "[[institutions]]\nid = 2\nsubdomain = \"other\"\nname = \"Other\"\nenvironment = \"sandbox\"\n";
    let parts =
        [PRACTICE.to_owned(), page(7), location(2), page(page_of_second), location(3), other.to_owned(), location(4)];
    parse(&parts.concat()).unwrap()
}

fn settings(config: &Config, id: u32) -> &Arc<LocationSettings> {
    &config.setup.locations[&LocationId(id)].settings
}

#[test]
fn locations_with_equal_settings_share_one_allocation() {
    let config = practices(7);
    let [one, two, three, four] = [1, 2, 3, 4].map(|id| settings(&config, id));
    assert!(Arc::ptr_eq(one, two) && Arc::ptr_eq(three, four));
    assert_eq!((one.pull.page, three), (7, &Arc::default()));
}

#[test]
fn a_reload_of_one_location_leaves_those_that_shared_its_settings() {
    let (before, after) = (practices(7), practices(8));
    assert_eq!([1, 2].map(|id| settings(&before, id).pull.page), [7, 7]);
    assert_eq!([1, 2].map(|id| settings(&after, id).pull.page), [7, 8]);
    assert!(!Arc::ptr_eq(settings(&after, 1), settings(&after, 2)));
    let changes = SetupChanges::between(&before.setup, &after.setup);
    assert_eq!(changes.touched, [(LocationId(2), ChangeImpact::Connection)].into());
}

/// Keys that few locations or data sources have are stored apart from the others.
#[test]
fn a_reload_detects_changes_of_rare_keys() {
    let location = |keys: &str| parse(&format!("{PRACTICE}{keys}")).unwrap().setup;
    let touched = |before: &str, after: &str| SetupChanges::between(&location(before), &location(after)).touched;
    let connection = BTreeMap::from([(LocationId(1), ChangeImpact::Connection)]);
    let settings = |keys: &str| format!("[institutions.locations.adapter_config]\n{keys}");
    for keys in ["latitude = 40.5\n", "street_address_2 = \"Suite 2\"\n", &settings("site = \"2\"\n")] {
        assert_eq!([touched("", keys), touched(keys, "")], [connection.clone(), connection.clone()], "{keys}");
    }
    assert_eq!(touched("", &settings("")), BTreeMap::new(), "an empty table is like none");

    let source = |keys: &str| with_source(keys).unwrap().setup;
    let changed = |before: &str, after: &str| SetupChanges::between(&source(before), &source(after)).sources.changed;
    for keys in ["allowed_paths = [\"/api/\"]\n", "[institutions.sources.headers]\nX-Site = \"2\"\n"] {
        assert_eq!([changed("", keys), changed(keys, "")], [[1], [1]], "{keys}");
    }
    assert_eq!(changed("", "allowed_paths = []\n"), [0; 0], "an empty list is like none");
}

/// As a map, four values take more than ten times as much.
#[test]
fn recorded_values_of_a_location_are_small() {
    let values = parse(PRACTICE).unwrap().values;
    let packed = &values.0[&Scope::Location(1)];
    assert!((40..=80).contains(&packed.len()), "{} bytes", packed.len());
}
