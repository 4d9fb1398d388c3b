//! Differences between two setups, and the changes they require in a running engine.

use std::sync::Arc;

use engine::changes::{ChangeImpact, Difference, SetupChanges, needs_restart};
use location::ids::{InstitutionId, LocationId};
use setup::{LocationSetup, LocationStatus, Setup, WorkstationAccess};

const IDS: [LocationId; 4] = [LocationId(1), LocationId(2), LocationId(3), LocationId(4)];

/// Returns a setup of two locations on each of two sources.
fn setup() -> Setup {
    let locations = [(1, 1), (2, 1), (3, 2), (4, 2)].map(|(id, source)| testing::location(LocationId(id), 1, source));
    testing::setup([testing::institution(1)], locations, [testing::source(1, 1), testing::source(2, 1)])
}

fn changed(setup: &mut Setup, id: LocationId, change: impl FnOnce(&mut LocationSetup)) {
    change(setup.locations.get_mut(&id).map(Arc::make_mut).expect("the test set it up"));
}

#[test]
fn a_change_touches_only_the_locations_it_concerns() {
    let before = setup();
    let touched = |change: &dyn Fn(&mut Setup)| {
        let mut after = setup();
        change(&mut after);
        assert_eq!(needs_restart(&before, &after), <[String; 0]>::default());
        SetupChanges::between(&before, &after).touched.into_iter().collect::<Vec<_>>()
    };
    use ChangeImpact::{Connection, Settings, Source};
    let [one, two, three, four] = IDS;
    assert_eq!(touched(&|_| {}), []);
    assert_eq!(touched(&|it| changed(it, two, |it| it.settings_mut().quota.burst += 1)), [(two, Connection)]);
    let gated = |it: &mut Setup| {
        let source = it.sources.get_mut(&2).map(Arc::make_mut).expect("the test set it up");
        source.access.get_or_insert_default().workstation = Some(WorkstationAccess { probe: "/".into() });
    };
    assert_eq!(touched(&gated), [(three, Connection), (four, Connection)]);
    let closed = |it: &mut Setup| changed(it, one, |it| it.status = LocationStatus::Closed);
    assert_eq!(touched(&closed), [(one, Connection), (two, Settings)], "the second one pulls for both now");
    assert_eq!(touched(&|it| changed(it, four, |it| it.source = Some(1))), [(four, Source)]);
    assert_eq!(touched(&|it| changed(it, four, |it| it.foreign_id = Some("north".into()))), [(four, Source)]);
    assert_eq!(touched(&|it| it.engine.idle_seconds += 1), IDS.map(|id| (id, Settings)));
    assert_eq!(touched(&|it| it.engine.guests.wait *= 2), IDS.map(|id| (id, Connection)));
    assert_eq!(touched(&|it| it.engine.history_days += 1), []);
    let renamed = |it: &mut Setup| {
        it.institutions.values_mut().for_each(|it| Arc::make_mut(it).name = "Other".into());
    };
    assert_eq!(touched(&renamed), IDS.map(|id| (id, Settings)));
}

#[test]
fn added_and_removed_parts_are_named() {
    let (before, mut after) = (setup(), setup());
    after.locations.remove(&IDS[0]);
    after.locations.insert(LocationId(9), testing::location(LocationId(9), 1, 2).into());
    changed(&mut after, IDS[1], |it| it.status = LocationStatus::Pending);
    after.engine.adapters.insert("new".into(), "new.wasm".into());
    after.engine.history_days += 1;
    let changes = SetupChanges::between(&before, &after);
    let locations = Difference { added: vec![LocationId(9)], changed: vec![IDS[1]], gone: vec![IDS[0]] };
    assert_eq!(changes.locations, locations);
    assert_eq!((changes.adapters.added, changes.engine), (vec!["new".to_owned()], vec!["engine.history_days"]));
    assert!(SetupChanges::between(&after, &after).is_empty());
}

#[test]
fn changes_that_require_a_restart_are_named() {
    let (before, mut after) = (setup(), setup());
    after.engine.actor_threads += 1;
    after.engine.guests.calls += 1;
    after.engine.store_verify = !after.engine.store_verify;
    changed(&mut after, IDS[2], |it| it.institution = InstitutionId(2));
    let named = ["engine.actor_threads", "engine.store_verify", "guests.calls", "the institution of location 3"];
    assert_eq!(needs_restart(&before, &after), named);
}
