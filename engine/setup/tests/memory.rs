//! The memory of locations and data sources.

use std::sync::Arc;

use location::{ids::LocationId, settings::LocationSettings};
use setup::{DataSource, LocationSetup};

#[test]
fn a_change_of_shared_settings_concerns_one_location() {
    let settings = Arc::new(LocationSettings::default());
    let location = |id| LocationSetup { settings: settings.clone(), ..testing::location(LocationId(id), 1, 1) };
    let (mut one, two) = (location(1), location(2));
    one.settings_mut().quota.burst += 1;
    assert_ne!(one.settings, two.settings);
    assert_eq!(*two.settings, LocationSettings::default());
}

/// There may be 100,000 of each. With the reference counts of an `Arc`, these sizes are size classes of the allocator.
#[test]
fn locations_and_data_sources_are_small() {
    assert_eq!((size_of::<LocationSetup>(), size_of::<DataSource>()), (176, 96));
}
