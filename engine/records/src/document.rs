//! The properties of a record that the store needs: kind, scope, and the link from its foreign id.

use location::Resource;
use serde::{Serialize, de::DeserializeOwned};

use crate::index::Indexed;

/// Kinds of records, with the byte of each in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// Records of a resource; the byte is the tag of its rules.
    Of(Resource),
    /// A finished write to the EHR.
    Write,
    /// The description of a location's EHR.
    Description,
    /// The time at which an institution or location was set up.
    SetUp,
    /// The time at which a location was last read.
    LastSync,
    /// The read and write status last reported to subscribers.
    ReportedSyncStatus,
    /// The time of the last turn of a location that is no longer in memory.
    LastTurn,
    /// A marker of a failed write that no operator has retried or dropped.
    FailedWrite,
    /// The data source of a location with records, and the location's id in the EHR.
    EhrSite,
}

/// A record in the store.
pub trait Document: Indexed + Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The kind of the record, part of its key.
    const KIND: DocumentKind;
    /// The byte of the kind in keys.
    const BYTE: u8 = Self::KIND.byte();
    /// Returns the institution or location that the record belongs to, or 0 if ids are globally unique.
    fn scope(&self) -> u32;
    /// Returns the id, unique within the scope.
    fn id(&self) -> u64;
    /// Returns the institution, data source or location whose lists contain the record. Defaults to the scope.
    fn owner(&self) -> u32 {
        self.scope()
    }
    /// Returns the scope of an owner's records.
    fn scope_of(owner: u32) -> u32 {
        owner
    }
    /// `true` if the locations of a data source share the record.
    const SHARED: bool;
    /// `true` if several locations write the record. A turn that has read it then commits only if it is unchanged.
    const GUARDED: bool = Self::SHARED;
}

/// Digest of a record that the EHR has reported as deleted. Real digests begin with an odd byte.
const GONE: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Digest of an appointment that another one of the same visit replaced.
const REPLACED: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Digest of an appointment that was gone before the EHR had answered its cancellation.
const UNANSWERED: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3];

/// The local record of a foreign id, with a digest of the EHR's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub id: u64,
    /// Digest of the data that the EHR last showed; all zero if the record was never pulled.
    pub digest: [u8; 16],
}

impl Link {
    /// Creates a link to a record that the EHR has not shown yet.
    pub fn new(id: u64) -> Link {
        Link { id, digest: [0; 16] }
    }

    /// Creates a link to a record that the EHR has deleted. If the record comes back, it counts as changed.
    pub fn gone(id: u64) -> Link {
        Link { id, digest: GONE }
    }

    /// Creates a link to an appointment that was gone before the EHR had answered its cancellation. If the appointment
    /// comes back, it was not cancelled.
    pub fn gone_unanswered(id: u64) -> Link {
        Link { id, digest: UNANSWERED }
    }

    /// Creates a link from an appointment of the EHR to the visit whose move replaced it. Its data do not change the
    /// visit.
    pub fn replaced(id: u64) -> Link {
        Link { id, digest: REPLACED }
    }

    /// Returns `true` if the record is an appointment that another one of the same visit replaced.
    pub fn is_replaced(self) -> bool {
        self.digest == REPLACED
    }

    /// Returns `true` if the EHR has reported the record as deleted.
    pub fn is_gone(self) -> bool {
        self.digest == GONE || self.is_gone_unanswered()
    }

    /// Returns `true` if the appointment was gone before the EHR had answered its cancellation.
    pub fn is_gone_unanswered(self) -> bool {
        self.digest == UNANSWERED
    }

    /// Returns the stored form: id, then digest.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.id.to_be_bytes()[..], &self.digest].concat()
    }

    /// Returns the link after a write of ours: the next data from the EHR counts as changed, even if it equals the
    /// previous data.
    pub fn overwritten(self) -> Link {
        if self.pulled() { Link { digest: [0xFF; 16], ..self } } else { self }
    }

    /// Returns `true` if the EHR has shown the record, as opposed to a reference to it or a write of ours.
    pub fn pulled(self) -> bool {
        self.digest != [0; 16] && !self.is_gone() && !self.is_replaced()
    }

    /// Reads the stored form. Returns `None` for any other value.
    pub fn from_bytes(bytes: &[u8]) -> Option<Link> {
        let (id, digest) = bytes.split_first_chunk::<8>()?;
        Some(Link { id: u64::from_be_bytes(*id), digest: digest.try_into().ok()? })
    }
}
