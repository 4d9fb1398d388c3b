//! Settings of a machine, derived from the setup and the EHR's capabilities.

use location::{
    settings::{Capabilities, MachineSettings, PullPlan},
    time::Millis,
};
use records::{ehr::Description, schema};
use runtime::zones;
use setup::{LocationSetup, LocationStatus, Setup};

pub(crate) fn for_location(
    setup: &Setup,
    location: &LocationSetup,
    description: Option<&Description>,
) -> MachineSettings {
    let settings = &location.settings;
    MachineSettings {
        location: location.id,
        zone: (*zones::zone(location.zone)).clone(),
        map_by_operatory: location.map_by_operatory,
        capabilities: capabilities(setup, location, description),
        booking: settings.booking.limits,
        rules: settings.booking.rules.clone(),
        write: settings.write,
        pull: settings.pull,
        quota: settings.quota,
        place_wait: place_wait(setup, location),
    }
}

/// Returns the maximum wait of a location's call at the adapter host. It never exceeds the deadline of the call.
pub fn place_wait(setup: &Setup, location: &LocationSetup) -> Millis {
    let wait = Millis::try_from(setup.engine.guests.wait.as_millis()).unwrap_or(Millis::MAX);
    wait.min(location.settings.write.call_deadline).min(location.settings.pull.call_deadline)
}

fn capabilities(setup: &Setup, location: &LocationSetup, description: Option<&Description>) -> Capabilities {
    let Some(source) = location.source else { return Capabilities::default() };
    // Before the EHR has been asked, no capability is assumed.
    let Some(description) = description else { return Capabilities { integrated: true, ..Capabilities::default() } };
    let writes = |kind: &str| description.writes.iter().any(|known| known == kind);
    let lead = setup.lead(source) == Some(location.id);
    let active = location.status == LocationStatus::Active;
    let pulls = description.pulls.iter().filter(|pull| active && (lead || !pull.resource.shared()));
    let mut pulls: Vec<PullPlan> = pulls
        .map(|pull| PullPlan { resource: pull.resource, deletions_by_absence: pull.deletions_by_absence })
        .collect();
    pulls.sort_by_key(|plan| plan.resource);
    pulls.dedup_by_key(|plan| plan.resource);
    Capabilities {
        integrated: true,
        new_patients: description.new_patients && writes("create-patient"),
        creates_appointments: writes("create-appointment"),
        reschedules: writes("reschedule-appointment"),
        cancels: writes("cancel-appointment"),
        confirms: writes("confirm-appointment"),
        checks_in: writes("check-in-appointment"),
        notes: writes("note-appointment"),
        writes: schema::all_writes().filter(|(_, kind)| writes(kind)).map(|(write, _)| write).collect(),
        pulls,
    }
}
