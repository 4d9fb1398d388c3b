//! The one frame of every record: whose it is, where it came from, when it changed and how its last write goes, around a body that is
//! particular to its resource.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use location::{pull::Resource, time::Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    appointment::Writeback,
    document::{Document, Kind},
    ehr::ForeignId,
    index::{Indexed, OrderBy, Term},
    references::{Invalid, Missing, Ours, Theirs},
};

/// An id of a record. The API's contract fixes the width of each resource's.
pub trait RecordId:
    Copy + Eq + fmt::Debug + fmt::Display + Into<u64> + TryFrom<u64> + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The last one: clients keep ids in 32 bits, or in JSON numbers, which are exact up to here.
    const LAST: u64;
}

impl RecordId for u32 {
    const LAST: u64 = i32::MAX as u64;
}

impl RecordId for u64 {
    const LAST: u64 = (1 << 53) - 1;
}

/// Whose the records of a resource are: their ids are looked up there, and its lists show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All locations of an institution share them.
    Institution,
    /// A data source; what has none is kept under 0.
    Source,
    /// A location, for good.
    Location,
    /// Ids are unique by themselves, and a location's lists show what is there now: staff move it from one location to another.
    Everywhere,
}

impl Scope {
    /// Of the data source, and not of one location.
    pub const fn shared(self) -> bool {
        matches!(self, Scope::Institution | Scope::Source)
    }

    /// The number of the scope, as keys name it.
    pub const fn number(self, institution: u32, source: Option<u32>, location: u32) -> u32 {
        match (self, source) {
            (Scope::Institution, _) => institution,
            (Scope::Source, Some(source)) => source,
            (Scope::Location, _) => location,
            (Scope::Source, None) | (Scope::Everywhere, _) => 0,
        }
    }
}

/// The facts of a resource that its body's type carries (`schema::table`).
pub trait Schema: Clone + PartialEq + Serialize + DeserializeOwned + Send + 'static {
    /// The resource.
    const RESOURCE: Resource;
    /// Whose its records are.
    const SCOPE: Scope;

    /// As wide as the API's contract says.
    type Id: RecordId;
    /// What an EHR shows of it: references are the EHR's ids.
    type Ehr: Clone + PartialEq + Serialize;
}

/// What is particular to one resource. References are our ids.
pub trait Body: Schema {
    /// Lists show its records in the order of ids, so that what changed since a time is looked for in that order too.
    const LISTED_BY_ID: bool = true;

    /// The body of what an EHR shows. What only we know is kept.
    fn resolve<E: From<Invalid>>(ehr: &Self::Ehr, kept: Option<&Self>, ours: Ours<'_, E>) -> Result<Self, E>;

    /// The body as the EHR takes it.
    fn for_ehr<E: From<Missing>>(&self, id: ForeignId, theirs: Theirs<'_, E>) -> Result<Self::Ehr, E>;

    /// What its records are found by, besides their ids and the time they changed.
    fn terms(&self) -> Vec<Term>;

    /// Where its records stand in further orders by a field that may change.
    fn orders(&self) -> Vec<(OrderBy, Timestamp)> {
        Vec::new()
    }

    /// Others may refer to it.
    fn in_use(&self) -> bool {
        true
    }

    /// The record is gone from the EHR: it stays, and says so.
    fn mark_deleted(record: &mut Record<Self>, now: Timestamp) {
        record.deleted_at.get_or_insert(now);
    }

    /// It is as [`Body::mark_deleted`] marks it: the EHR may give its identifier to another record.
    fn is_deleted(record: &Record<Self>) -> bool {
        record.deleted_at.is_some()
    }

    /// Its record says that a client made it here. Patients name no location, so theirs does not say.
    fn is_made_here(record: &Record<Self>) -> bool {
        record.write.is_some() && record.location_id.is_some()
    }
}

/// A record of one resource.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Record<T: Body> {
    /// Unique within its scope.
    pub id: T::Id,
    /// The institution.
    pub institution_id: u32,
    /// None of what was made here without a data source.
    pub source_id: Option<u32>,
    /// The location it belongs to, or was made at; none where only the EHR knows.
    pub location_id: Option<u32>,
    /// None until the EHR has it.
    pub foreign_id: Option<String>,
    /// When this service first stored it.
    pub created_at: Timestamp,
    /// When this service last changed it.
    pub updated_at: Timestamp,
    /// When the EHR last showed something new of it, or took a write of it.
    pub last_sync_time: Option<Timestamp>,
    /// When this service learned that the EHR no longer has it, or a client removed it.
    pub deleted_at: Option<Timestamp>,
    /// How its last write to the EHR goes; none of what only came from there, and of what stays here.
    pub write: Option<RecordWrite>,
    /// What is particular to its resource.
    pub body: T,
}

impl<T: Body> Record<T> {
    /// A record as it starts out: the institution's, and not known to any EHR.
    pub fn new(id: T::Id, institution_id: u32, now: Timestamp, body: T) -> Record<T> {
        Record {
            id,
            institution_id,
            source_id: None,
            location_id: None,
            foreign_id: None,
            created_at: now,
            updated_at: now,
            last_sync_time: None,
            deleted_at: None,
            write: None,
            body,
        }
    }

    /// The data source whose records it refers to; 0, as in its scope, without one.
    pub fn source(&self) -> u32 {
        self.source_id.unwrap_or(0)
    }

    /// The location it belongs to. Records of resources that belong to one location have one from the start (`Scope::Location` and
    /// `Scope::Everywhere`); 0, which is no location, for any other that has none.
    pub fn location(&self) -> u32 {
        self.location_id.unwrap_or(0)
    }

    /// It was made here, and the EHR would not have it.
    pub fn rejected(&self) -> bool {
        self.rejecting().is_some()
    }

    /// Why the EHR would not have it, without patient data.
    pub fn rejection(&self) -> Option<&str> {
        self.rejecting()?.reason.as_deref()
    }

    fn rejecting(&self) -> Option<&RecordWrite> {
        self.write.as_ref().filter(|write| self.foreign_id.is_none() && write.status == WriteStatus::Failed)
    }

    /// Whether it says more than the record did before. The times of what is no news, and the first time of all, stay.
    pub fn is_news(&mut self, before: Option<&Record<T>>) -> bool {
        let Some(before) = before else { return true };
        let now = (self.updated_at, self.last_sync_time);
        self.created_at = before.created_at;
        (self.updated_at, self.last_sync_time) = (before.updated_at, before.last_sync_time);
        if self == before {
            return false;
        }
        (self.updated_at, self.last_sync_time) = now;
        true
    }

    /// It is gone from the EHR.
    pub fn delete(&mut self, now: Timestamp) {
        T::mark_deleted(self, now);
        self.updated_at = now;
    }
}

/// Frame and body are one record to those who read it: `patient.first_name` stands beside `patient.foreign_id`, whichever of the two
/// holds it.
impl<T: Body> Deref for Record<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T: Body> DerefMut for Record<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.body
    }
}

impl<T: Body> Document for Record<T> {
    const KIND: Kind = Kind::Of(T::RESOURCE);
    const SHARED: bool = T::SCOPE.shared();
    const GUARDED: bool = Self::SHARED || matches!(T::SCOPE, Scope::Everywhere);

    fn scope(&self) -> u32 {
        T::SCOPE.number(self.institution_id, self.source_id, self.location())
    }

    fn id(&self) -> u64 {
        self.id.into()
    }

    fn owner(&self) -> u32 {
        if T::SCOPE == Scope::Everywhere { self.location() } else { self.scope() }
    }

    fn scope_of(owner: u32) -> u32 {
        if T::SCOPE == Scope::Everywhere { 0 } else { owner }
    }
}

impl<T: Body> Indexed for Record<T> {
    const LISTED_BY_ID: bool = T::LISTED_BY_ID;

    fn terms(&self) -> Vec<Term> {
        self.body.terms()
    }

    fn places(&self) -> Vec<(OrderBy, Timestamp)> {
        let mut places = vec![(OrderBy::Updated, self.updated_at)];
        places.extend(self.body.orders());
        places
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

/// Patient data never reaches a log by accident.
impl<T: Body> fmt::Debug for Record<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({:?} {}, redacted)", T::RESOURCE, self.id)
    }
}

/// How a record's last write to the EHR goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordWrite {
    /// Of all its writes, the last one's.
    pub status: WriteStatus,
    /// Why it failed, without patient data.
    pub reason: Option<String>,
}

impl RecordWrite {
    /// On its way.
    pub fn pending() -> RecordWrite {
        RecordWrite { status: WriteStatus::Pending, reason: None }
    }

    /// The EHR has it.
    pub fn succeeded() -> RecordWrite {
        RecordWrite { status: WriteStatus::Succeeded, reason: None }
    }

    /// For good. `reason` is without patient data.
    pub fn failed(reason: &str) -> RecordWrite {
        RecordWrite { status: WriteStatus::Failed, reason: Some(reason.to_owned()) }
    }

    /// The state as `ehr_writeback`, and the reason if it failed.
    pub fn writeback(&self) -> (Writeback, Option<&str>) {
        match self.status {
            WriteStatus::Pending => (Writeback::Pending, None),
            WriteStatus::Succeeded => (Writeback::Confirmed, None),
            WriteStatus::Failed => (Writeback::Failed, self.reason.as_deref()),
        }
    }
}

/// Specification 3, communication log request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteStatus {
    /// Not answered yet.
    Pending,
    /// The EHR has it.
    Succeeded,
    /// Refused or given up.
    Failed,
}
