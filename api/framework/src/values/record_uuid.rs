//! UUIDs of procedure codes, form schemas and communication logs. Version 8: the low seven bytes are the internal id,
//! the others a digest of resource, data source and id. They are found without a table, and forgeries are detected.

use engine::records::Resource;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// Ids are below this limit: `store::counters`.
const IDS: u64 = 1 << 53;
const ID_AT: usize = 9;

/// Returns the UUID of a record of a data source.
pub fn uuid(resource: Resource, source: u32, id: u64) -> Uuid {
    debug_assert!(id < IDS, "ids have 53 bits");
    let mut hash = Sha256::new();
    // The name, because the number depends on the order of the list.
    hash.update(format!("{resource:?} {source} {id}"));
    let mut bytes = [0; 16];
    bytes[..ID_AT].copy_from_slice(&hash.finalize()[..ID_AT]);
    bytes[ID_AT..].copy_from_slice(&id.to_be_bytes()[1..]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// Returns the id in a UUID. Returns `None` if the UUID is not one of this resource and data source.
pub fn id(resource: Resource, source: u32, of: &Uuid) -> Option<u64> {
    let bytes = of.as_bytes();
    let id = bytes[ID_AT..].iter().fold(0, |id, byte| id << 8 | u64::from(*byte));
    (id < IDS && uuid(resource, source, id) == *of).then_some(id)
}

/// Finds the data source and the id of a UUID among the data sources that the caller may reach.
pub fn id_in(resource: Resource, sources: impl IntoIterator<Item = u32>, of: &Uuid) -> Option<(u32, u64)> {
    sources.into_iter().find_map(|source| Some((source, id(resource, source, of)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_decodes_to_its_record_and_to_no_other() {
        for record in [0, 1, 255, 256, 1_000_000, IDS - 1] {
            let made = uuid(Resource::ProcedureCodes, 7, record);
            assert_eq!((made.get_version_num(), made.get_variant()), (8, uuid::Variant::RFC4122));
            assert_eq!(id(Resource::ProcedureCodes, 7, &made), Some(record));
            assert_eq!(id(Resource::FormSchemas, 7, &made), None);
            assert_eq!(id(Resource::ProcedureCodes, 8, &made), None);
            assert_eq!(id_in(Resource::ProcedureCodes, [5, 6, 7], &made), Some((7, record)));
            assert_eq!(id_in(Resource::ProcedureCodes, [5, 6], &made), None);
        }
    }

    #[test]
    fn an_altered_uuid_is_rejected() {
        let made = *uuid(Resource::FormSchemas, 1, 42).as_bytes();
        for bit in 0..128 {
            let mut altered = made;
            altered[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(id(Resource::FormSchemas, 1, &Uuid::from_bytes(altered)), None, "bit {bit}");
        }
        assert_eq!(id(Resource::FormSchemas, 1, &Uuid::nil()), None);
        assert_eq!(id(Resource::FormSchemas, 1, &Uuid::max()), None);
    }

    #[test]
    fn uuids_stay_the_same() {
        // Clients store these UUIDs, so they must not change.
        assert_eq!(uuid(Resource::ProcedureCodes, 1, 42).to_string(), "bd9efa1d-21d0-86c5-a400-00000000002a");
    }
}
