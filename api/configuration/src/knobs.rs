//! The settings of a location, read at three levels: the defaults, the institution and the location. Each level
//! overrides the one before.

use engine::setup::WorkstationRules;
use location::{
    keys::{ConfigKey, KeyTable},
    settings::{BookingRules, PullRules, Quota, WriteRules},
};

use crate::reader::Section;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LocationSettings {
    pub booking: BookingRules,
    pub write: WriteRules,
    pub pull: PullRules,
    pub quota: Quota,
    pub workstation: WorkstationRules,
}

impl LocationSettings {
    /// Returns these settings, overridden by those of a section.
    pub(crate) fn with(mut self, section: &Section<'_, '_>) -> LocationSettings {
        let table = |name, about| section.table_or_empty(ConfigKey::reload(name, about));
        self.booking.read_keys(&table(
            "booking",
            "Bookings. The settings of a location are inherited: `[defaults.X]`, then the institution's, then the \
             location's own; each level changes only the keys it names.",
        ));
        self.write.read_keys(&table("write", "Writes to the EHR."));
        self.pull.read_keys(&table("pull", "Reading from the EHR."));
        self.quota.read_keys(&table(
            "quota",
            "A bucket of requests that the EHR takes from a location. A call is not split: it is sent at once, and \
             the next one waits.",
        ));
        self.workstation.read_keys(&table("workstation", "EHRs that are reached through workstations."));
        self
    }
}
