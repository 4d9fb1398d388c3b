//! The common frame of every record (scope, origin, times of changes, state of the last write) around a body specific
//! to its resource.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use location::{Operation, Resource, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    document::{Document, DocumentKind},
    index::{Indexed, OrderBy, Term},
    references::{ForeignId, ForeignIdOf, Invalid, Missing, ResolveId},
};

/// The id of a record. The API fixes the width for each resource.
pub trait RecordId:
    Copy + Eq + fmt::Debug + fmt::Display + Into<u64> + TryFrom<u64> + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The highest id: clients store ids in 32 bits, or in JSON numbers, which are exact up to here.
    const LAST: u64;
}

impl RecordId for u32 {
    const LAST: u64 = i32::MAX as u64;
}

impl RecordId for u64 {
    const LAST: u64 = (1 << 53) - 1;
}

/// The owner of a resource's records: ids are looked up, and lists are read, within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The institution; all its locations share the records.
    Institution,
    /// The data source, or 0 for records without one.
    Source,
    /// The location, permanently.
    Location,
    /// No owner: ids are globally unique, and the records of a location are those currently in it, because staff move
    /// records between locations.
    Everywhere,
}

impl Scope {
    /// Returns `true` if the locations of a data source share the records.
    pub const fn shared(self) -> bool {
        matches!(self, Scope::Institution | Scope::Source)
    }

    /// Returns the number of the scope in keys.
    pub const fn number(self, institution: u32, source: Option<u32>, location: u32) -> u32 {
        match (self, source) {
            (Scope::Institution, _) => institution,
            (Scope::Source, Some(source)) => source,
            (Scope::Location, _) => location,
            (Scope::Source, None) | (Scope::Everywhere, _) => 0,
        }
    }
}

/// The properties of one resource.
#[derive(Clone, Copy, Debug)]
pub struct ResourceRules {
    pub resource: Resource,
    /// The byte of the resource in keys. Stored, so never reused or changed.
    pub tag: u8,
    pub scope: Scope,
    pub last_id: u64,
    /// The name of the record in the contract.
    pub record: &'static str,
    /// The name in messages: `Payment Type with id 7 not found`.
    pub name: &'static str,
    /// The name of the list of records in the API.
    pub list: &'static str,
    /// Referenced resources, by the name of the field in the contract.
    pub refers_to: &'static [(&'static str, Resource)],
    /// Supported writes, with their names in the contract.
    pub writes: &'static [(Operation, &'static str)],
}

/// The constants of a resource, attached to the type of its body by an attribute of `record_macro`.
pub trait Schema: Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The properties of the resource.
    const RULES: ResourceRules;
    const RESOURCE: Resource = Self::RULES.resource;
    /// The scope of the records.
    const SCOPE: Scope = Self::RULES.scope;

    /// The id type, with the width that the API specifies.
    type Id: RecordId;
    /// The record in the EHR's form, with foreign ids.
    type Ehr: Clone + PartialEq + Serialize;
}

/// The part of a record that is specific to its resource. References are our ids.
pub trait Body: Schema {
    /// `true` if lists are sorted by id; changes since a time are then listed in that order too.
    const LISTED_BY_ID: bool = true;

    /// Creates the body from the EHR's form, keeping the local fields of `kept`.
    fn resolve<E: From<Invalid>>(ehr: &Self::Ehr, kept: Option<&Self>, resolve_id: ResolveId<'_, E>)
    -> Result<Self, E>;

    /// Converts the body to the EHR's form.
    fn for_ehr<E: From<Missing>>(&self, id: ForeignId, foreign_id_of: ForeignIdOf<'_, E>) -> Result<Self::Ehr, E>;

    /// Returns the index terms of the body.
    fn terms(&self) -> Vec<Term>;

    /// Returns the terms of the words of names. May return other terms, too.
    fn names(&self) -> Vec<Term> {
        self.terms()
    }

    /// Returns the sort keys of the body in further orders, by fields that may change.
    fn orders(&self) -> Vec<(OrderBy, Timestamp)> {
        Vec::new()
    }

    /// Returns `true` if other records may refer to the record.
    fn in_use(&self) -> bool {
        true
    }

    /// Marks a record that the EHR has deleted; the record remains stored.
    fn mark_deleted(record: &mut Record<Self>, now: Timestamp) {
        record.deleted_at.get_or_insert(now);
    }

    /// Returns `true` if the record is marked as by [`Body::mark_deleted`]: the EHR may reuse its identifier.
    fn is_deleted(record: &Record<Self>) -> bool {
        record.deleted_at.is_some()
    }

    /// Returns `true` if a client created the record here. Always `false` for patients, which have no location.
    fn is_made_here(record: &Record<Self>) -> bool {
        record.write.is_some() && record.location_id.is_some()
    }
}

/// A record of one resource. Fields without a value are not stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Record<T: Body> {
    /// Unique within its scope.
    pub id: T::Id,
    pub institution_id: u32,
    /// The data source; `None` for records created without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<u32>,
    /// The location the record belongs to, or was created at; `None` if only the EHR knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_id: Option<u32>,
    /// The identifier in the EHR; `None` until the EHR has the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_id: Option<String>,
    /// Time at which this service first stored the record.
    pub created_at: Timestamp,
    /// Time at which this service last changed the record.
    pub updated_at: Timestamp,
    /// Time at which the EHR last showed new data, or accepted a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Timestamp>,
    /// Time at which this service learned that the EHR no longer has the record, or at which a client removed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// State of the last write to the EHR; `None` if the record only came from the EHR, or stays local.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<RecordWrite>,
    /// The part specific to the resource.
    pub body: T,
}

impl<T: Body> Record<T> {
    /// Creates a record of the institution that is not known to any EHR.
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

    /// Returns the data source of the record's references, or 0 without one.
    pub fn source(&self) -> u32 {
        self.source_id.unwrap_or(0)
    }

    /// Returns the location of the record. Records of `Scope::Location` and `Scope::Everywhere` always have one; for
    /// others 0, which is no location, means none.
    pub fn location(&self) -> u32 {
        self.location_id.unwrap_or(0)
    }

    /// Returns `true` if the record was created here and the EHR refused it.
    pub fn rejected(&self) -> bool {
        self.foreign_id.is_none() && self.write.as_ref().is_some_and(|write| write.status == WriteStatus::Failed)
    }

    /// Returns `true` if the content changed. Otherwise the old timestamps are kept; `created_at` is always kept.
    pub fn content_changed(&mut self, before: Option<&Record<T>>) -> bool {
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

    /// Marks the record as deleted in the EHR.
    pub fn delete(&mut self, now: Timestamp) {
        T::mark_deleted(self, now);
        self.updated_at = now;
    }
}

/// Gives access to the fields of the body: `patient.first_name` works like `patient.foreign_id`, a field of the frame.
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
    const KIND: DocumentKind = DocumentKind::Of(T::RESOURCE);
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

    fn names(&self) -> Vec<Term> {
        self.body.names()
    }

    fn sort_keys(&self) -> Vec<(OrderBy, Timestamp)> {
        let mut sort_keys = vec![(OrderBy::Updated, self.updated_at)];
        sort_keys.extend(self.body.orders());
        sort_keys
    }

    fn deleted(&self) -> bool {
        self.deleted_at.is_some()
    }
}

/// Redacted, because the record may contain patient data.
impl<T: Body> fmt::Debug for Record<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({:?} {}, redacted)", T::RESOURCE, self.id)
    }
}

/// State of a write, `ehr_writeback` (specification 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writeback {
    /// The EHR has not answered yet.
    Pending,
    /// The EHR has it.
    Confirmed,
    /// The EHR does not have the change: it was refused, withdrawn or given up.
    Failed,
}

/// State of a record's last write to the EHR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordWrite {
    pub status: WriteStatus,
    /// The reason of a failure, without patient data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RecordWrite {
    /// Creates the state of a pending write.
    pub fn pending() -> RecordWrite {
        RecordWrite { status: WriteStatus::Pending, reason: None }
    }

    /// Creates the state of a successful write.
    pub fn succeeded() -> RecordWrite {
        RecordWrite { status: WriteStatus::Succeeded, reason: None }
    }

    /// Creates the state of a failed write. `reason` must not contain patient data.
    pub fn failed(reason: &str) -> RecordWrite {
        RecordWrite { status: WriteStatus::Failed, reason: Some(reason.to_owned()) }
    }

    /// Returns the state as `ehr_writeback`, and the reason of a failure.
    pub fn writeback(&self) -> (Writeback, Option<&str>) {
        match self.status {
            WriteStatus::Pending => (Writeback::Pending, None),
            WriteStatus::Succeeded => (Writeback::Confirmed, None),
            WriteStatus::Failed => (Writeback::Failed, self.reason.as_deref()),
        }
    }
}

/// Status of a write (specification 3, communication log request).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteStatus {
    /// The EHR has not answered yet.
    Pending,
    /// The EHR has the record.
    Succeeded,
    /// The EHR refused the write, or the write was given up.
    Failed,
}
