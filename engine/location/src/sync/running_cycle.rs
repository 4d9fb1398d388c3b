//! The running read cycle: the resources that it has read, and the one that it reads.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Resource, Timestamp, settings::PullPlan};

/// A read cycle. Resources are identified by name, because the EHR may change its list of resources during a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// Resources that were read to their end, or skipped.
    #[serde(default)]
    pub done: BTreeSet<Resource>,
    /// The current resource, once one of its pages was applied.
    #[serde(default)]
    pub reading: Option<Resource>,
    /// Applied pages of the current resource.
    pub pages: u32,
    /// Consecutive last pages without news.
    #[serde(default)]
    pub barren: u32,
    /// `true` if a resource was not read to its end.
    pub incomplete: bool,
    /// Start of a cycle that reads only the appointments; `None` for an ordinary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub appointments_only: Option<Timestamp>,
    /// The resource that gave way to a requested read of the appointments, with its `pages` and `barren`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<(Resource, u32, u32)>,
    /// `true` after a requested pass: the next one waits for a page of another resource or for the end of the cycle, so
    /// that requests in a row do not hold the other resources up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gives_way: bool,
}

impl Cycle {
    /// Returns the plan of the current or next resource, or `None` at the end of the cycle.
    pub fn next<'p>(&self, plan: &'p [PullPlan]) -> Option<&'p PullPlan> {
        let reads = |plan: &&PullPlan| self.appointments_only.is_none() || plan.resource == Resource::Appointments;
        plan.iter().filter(reads).find(|plan| !self.done.contains(&plan.resource))
    }

    /// Returns `true` if a pass over a resource is an additional one, made on request.
    pub fn is_additional(&self, resource: Resource) -> bool {
        resource == Resource::Appointments && (self.appointments_only.is_some() || self.done.contains(&resource))
    }

    /// Returns the number of applied pages of a resource, and of the last ones in a row without news.
    pub fn pages_of(&self, resource: Resource) -> (u32, u32) {
        match self.interrupted {
            _ if self.reading == Some(resource) => (self.pages, self.barren),
            Some((interrupted, pages, barren)) if interrupted == resource => (pages, barren),
            _ => (0, 0),
        }
    }

    /// Counts an applied page that is not the last one.
    pub fn page(&mut self, resource: Resource, barren: bool) {
        let (pages, before) = self.pages_of(resource);
        if let Some(other) = self.reading.filter(|reading| *reading != resource) {
            self.interrupted = Some((other, self.pages, self.barren));
        } else if self.interrupted.is_some_and(|(interrupted, ..)| interrupted == resource) {
            self.interrupted = None;
        }
        (self.reading, self.pages) = (Some(resource), pages + 1);
        self.gives_way &= resource == Resource::Appointments;
        self.barren = if barren { before + 1 } else { 0 };
    }

    /// Ends the current resource. One that gave way to it keeps its counts.
    pub fn done_with(&mut self, resource: Resource, incomplete: bool) {
        self.gives_way = self.is_additional(resource);
        self.done.insert(resource);
        if self.reading == Some(resource) {
            (self.reading, self.pages, self.barren) = (None, 0, 0);
        }
        if self.interrupted.is_some_and(|(interrupted, ..)| interrupted == resource) {
            self.interrupted = None;
        }
        self.incomplete |= incomplete;
    }
}
