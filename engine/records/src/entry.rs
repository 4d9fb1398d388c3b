//! Records that no rule of the schedule needs: one frame around a body of their own. They belong to a data source.

use location::{pull::Resource, time::Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Timed, Times};
use crate::{
    ehr::{EhrRecord, ForeignId},
    index::Term,
    schema::{Missing, Ours, Theirs, WideId},
};

/// What is particular to one resource. References are our ids.
pub trait Body: Clone + PartialEq + Serialize + DeserializeOwned + Send + 'static {
    const RESOURCE: Resource;

    /// What an EHR shows of it: references are the EHR's ids.
    type Ehr: Clone + PartialEq + Serialize + Into<EhrRecord>;

    /// The body of what an EHR shows. What only we know is kept.
    fn resolve<E: From<WideId>>(ehr: &Self::Ehr, kept: Option<&Self>, ours: Ours<'_, E>) -> Result<Self, E>;
    /// The body as the EHR takes it.
    fn for_ehr<E: From<Missing>>(&self, id: ForeignId, theirs: Theirs<'_, E>) -> Result<Self::Ehr, E>;
    /// What its records are found by, besides their ids and the time they changed.
    fn terms(&self) -> Vec<Term>;

    /// Others may refer to it.
    fn in_use(&self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<T> {
    pub id: u64,
    pub institution_id: u32,
    pub source_id: u32,
    /// The location it was made at; none where only the EHR knows.
    pub location_id: Option<u32>,
    pub foreign_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_sync_time: Option<Timestamp>,
    pub deleted_at: Option<Timestamp>,
    /// How its last write to the EHR goes; none of what only came from there.
    pub write: Option<EntryWrite>,
    pub body: T,
}

impl<T: PartialEq> Timed for Entry<T> {
    fn times(&self) -> Times {
        Times { created: self.created_at, updated: self.updated_at, synced: self.last_sync_time }
    }

    fn swap_times(&mut self, times: Times) -> Times {
        let before = self.times();
        (self.created_at, self.updated_at, self.last_sync_time) = (times.created, times.updated, times.synced);
        before
    }
}

/// Patient data never reaches a log by accident.
impl<T> std::fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry({}, redacted)", self.id)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryWrite {
    pub status: WriteStatus,
    /// Why it failed, without patient data.
    pub reason: Option<String>,
}

impl EntryWrite {
    /// On its way.
    pub fn pending() -> EntryWrite {
        EntryWrite { status: WriteStatus::Pending, reason: None }
    }

    pub fn succeeded() -> EntryWrite {
        EntryWrite { status: WriteStatus::Succeeded, reason: None }
    }

    pub fn failed(reason: &str) -> EntryWrite {
        EntryWrite { status: WriteStatus::Failed, reason: Some(reason.to_owned()) }
    }
}

/// Specification 3, communication log request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteStatus {
    Pending,
    Succeeded,
    Failed,
}
