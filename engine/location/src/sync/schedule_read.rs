//! The age of the schedule, and the requested read of it.

use serde::{Deserialize, Serialize};

use crate::{Millis, Resource, Timestamp};

/// Age of the appointments, and the requested read of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRead {
    /// Time at which the first page of the running pass over the appointments was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Timestamp>,
    /// Start of the last complete pass: the EHR's earlier changes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Time of the request for another pass. A pass that starts later fulfils it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Timestamp>,
    /// End of the last ordinary cycle, from which the rhythm counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_ended: Option<Timestamp>,
}

impl ScheduleRead {
    /// Records that a pass over a resource ended.
    pub(super) fn pass_ended(&mut self, at: Timestamp, resource: Resource) {
        if resource != Resource::Appointments {
            return;
        }
        let began = self.asked.take().unwrap_or(at);
        self.as_of = Some(began);
        self.requested = self.requested.filter(|requested| began < *requested);
    }

    /// Adjusts the times after a backward step of the clock.
    pub(super) fn set_back(&mut self, at: Timestamp, by: Millis) {
        self.asked = self.asked.map(|asked| asked.minus(by));
        self.as_of = self.as_of.map(|as_of| as_of.min(at));
        self.requested = self.requested.map(|requested| requested.min(at));
        self.cycle_ended = self.cycle_ended.map(|ended| ended.minus(by));
    }
}

/// Answer to a request for a fresh schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    Fresh,
    /// A read is in progress, or can start in time.
    Waiting,
    /// No read can start in time, with the reason in words for clients.
    Unavailable(&'static str),
}
