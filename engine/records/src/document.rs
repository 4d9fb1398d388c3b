//! What the store needs to know of each record: its kind, whose it is, and how a foreign id leads to it.

use location::pull::Resource;
use serde::{Serialize, de::DeserializeOwned};

use crate::{index::Indexed, schema::rules};

/// Kinds of records, as bytes in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Records of a resource; the byte is its tag in the table.
    Of(Resource),
    /// A finished write to the EHR.
    Write,
    /// What a location's EHR can do.
    Description,
    /// Since when an institution or location is set up.
    SetUp,
    /// When a location was read last.
    LastSync,
    /// What subscribers were told last of how reading and writing stand.
    SyncTold,
    /// When a location that left memory had its last turn.
    LastTurn,
    /// A mark for each write that failed and that no operator has retried or dropped.
    FailedWrite,
}

impl Kind {
    /// Never reused or changed: they are on disks.
    pub fn byte(self) -> u8 {
        match self {
            Kind::Write => 7,
            Kind::Description => 8,
            Kind::SetUp => 9,
            Kind::LastSync => 10,
            Kind::SyncTold => 11,
            Kind::LastTurn => 12,
            Kind::FailedWrite => 13,
            Kind::Of(resource) => rules(resource).tag,
        }
    }
}

/// A record that has a place in the store.
pub trait Document: Indexed + Serialize + DeserializeOwned {
    /// Stands in its key.
    const KIND: Kind;
    /// Institution or location it belongs to; 0 where ids are unique by themselves.
    fn scope(&self) -> u32;
    /// Unique within its scope.
    fn id(&self) -> u64;
    /// Institution, data source or location whose lists show it: its scope, where records have one.
    fn owner(&self) -> u32 {
        self.scope()
    }
    /// The scope of an owner's records.
    fn scope_of(owner: u32) -> u32 {
        owner
    }
    /// Whether it is of the data source, and not of one location.
    const SHARED: bool;
    /// Whether several locations write it: then a turn that read it commits only if it is unchanged.
    const GUARDED: bool = Self::SHARED;
}

/// Instead of a digest, which begins with an odd byte: the EHR has said that the record is deleted.
const GONE: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// A foreign id's record here, and a digest of what the EHR last said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Our id.
    pub id: u64,
    /// All zero: nothing pulled yet.
    pub digest: [u8; 16],
}

impl Link {
    /// To a record that the EHR has not shown yet.
    pub fn new(id: u64) -> Link {
        Link { id, digest: [0; 16] }
    }

    /// The EHR has it no more. Should it come back, it is news.
    pub fn gone(id: u64) -> Link {
        Link { id, digest: GONE }
    }

    /// Whether the EHR has said that the record is deleted.
    pub fn is_gone(self) -> bool {
        self.digest == GONE
    }

    /// As it is stored: id, then digest.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.id.to_be_bytes()[..], &self.digest].concat()
    }

    /// As after a write of ours: what the EHR shows next is news, also if it is what it showed before.
    pub fn overwritten(self) -> Link {
        if self.pulled() { Link { digest: [0xFF; 16], ..self } } else { self }
    }

    /// The EHR has shown this record; without, only something that refers to it has, or we wrote it.
    pub fn pulled(self) -> bool {
        self.digest != [0; 16] && !self.is_gone()
    }

    /// None for what `to_bytes` did not make.
    pub fn from_bytes(bytes: &[u8]) -> Option<Link> {
        let (id, digest) = bytes.split_first_chunk::<8>()?;
        Some(Link { id: u64::from_be_bytes(*id), digest: digest.try_into().ok()? })
    }
}

/// Institution, data source or location a resource's records belong to.
pub fn scope_of(resource: Resource, institution: u32, source: Option<u32>, location: u32) -> u32 {
    rules(resource).scope.number(institution, source, location)
}
