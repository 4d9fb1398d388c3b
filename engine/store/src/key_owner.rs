//! The owner of a key, as far as the key contains it. A store distributed over machines keeps the values of
//! one owner together.

use super::{KeyRange, keys::Space, prefix_end};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyOwner {
    Location(u32),
    Source(u32),
    Institution(u32),
    /// An institution, a data source or a location. The kind of the record determines which; the store does not
    /// know it.
    Records {
        kind: u8,
        scope: u32,
    },
    /// No owner, or several owners.
    Shared,
}

/// The owner field of a key, with the byte offset of its number.
#[derive(Clone, Copy)]
enum OwnerField {
    Absent,
    Location(usize),
    Source(usize),
    Institution(usize),
    /// A kind, followed by a scope.
    Records(usize),
    /// The number of a stream, with the kind of its owner in the upper half.
    Stream(usize),
}

const AFTER_SPACE: usize = 1;
const AFTER_TIME: usize = 9;

fn owner_field(space: Space) -> OwnerField {
    use Space::*;

    match space {
        Journal | Snapshot | PullSeen | AuditPosition | Active | Asleep | Restored | PairingCodeOf | WorkstationAt
        | LocationAdapter | Lease => OwnerField::Location(AFTER_SPACE),
        Wake => OwnerField::Location(AFTER_TIME),
        Link | SandboxChange | Subscriber => OwnerField::Source(AFTER_SPACE),
        Claim | PatientMatch | WebhookHeard | WebhookPosition => OwnerField::Institution(AFTER_SPACE),
        Record | Before => OwnerField::Records(AFTER_SPACE),
        Feed | FeedPruned | IndexBlock | IndexManifest => OwnerField::Stream(AFTER_SPACE),
        Counter | Secret | AdapterPart | AdapterVersion | FeedEnd | Once | OnceExpiry | Endpoint | Subscription
        | Delivery | DeliveryDue | Subscribed | DeliveryFinished | DeliveryLog | Overflow | DeliveryEvent
        | DeliveryQueued | DeliveryCount | WebhookChanges | DeliveryStripes | PairingCode | Workstation
        | Membership | TokenUsed | Numbered => OwnerField::Absent,
    }
}

impl OwnerField {
    /// Returns the length of a key up to the end of its owner field.
    fn length(self) -> usize {
        match self {
            OwnerField::Absent => AFTER_SPACE,
            OwnerField::Location(at) | OwnerField::Source(at) | OwnerField::Institution(at) => at + 4,
            OwnerField::Records(at) => at + 5,
            OwnerField::Stream(at) => at + 8,
        }
    }
}

/// Returns the owner of a key. Keys that are too short or of no known space are shared.
pub fn owner_for_key(key: &[u8]) -> KeyOwner {
    read(key).unwrap_or(KeyOwner::Shared)
}

fn read(key: &[u8]) -> Option<KeyOwner> {
    Some(match owner_field(Space::from_key(key)?) {
        OwnerField::Absent => KeyOwner::Shared,
        OwnerField::Location(at) => KeyOwner::Location(number(key, at)?),
        OwnerField::Source(at) => KeyOwner::Source(number(key, at)?),
        OwnerField::Institution(at) => KeyOwner::Institution(number(key, at)?),
        OwnerField::Records(at) => KeyOwner::Records { kind: *key.get(at)?, scope: number(key, at + 1)? },
        OwnerField::Stream(at) => owner_for_stream(u64::from(number(key, at)?) << 32 | u64::from(number(key, at + 4)?)),
    })
}

/// Returns the owner of a stream of the feed. Stream numbers are built in `query::stream`.
pub fn owner_for_stream(stream: u64) -> KeyOwner {
    let id = (stream & u64::from(u32::MAX)) as u32;
    match stream >> 32 {
        1 => KeyOwner::Source(id),
        2 => KeyOwner::Location(id),
        3 => KeyOwner::Institution(id),
        _ => KeyOwner::Shared,
    }
}

/// Returns the common owner of all keys of a range, or `None` if they may have several.
pub fn owner_for_range(range: &KeyRange) -> Option<KeyOwner> {
    let owner_field = owner_field(Space::from_key(&range.start)?);
    let prefix = range.start.get(..owner_field.length())?;
    (range.end <= prefix_end(prefix)).then(|| owner_for_key(prefix))
}

fn number(key: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*key.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, keys};

    /// Covers every builder of keys. Keys of webhooks are built elsewhere; most contain endpoints, which have no
    /// single institution.
    #[test]
    fn every_key_has_an_owner() {
        let (location, source, institution) = (KeyOwner::Location(7), KeyOwner::Source(7), KeyOwner::Institution(7));
        let records = KeyOwner::Records { kind: 3, scope: 7 };
        let digest = [9; 32];
        let known = [
            (Space::Journal, keys::journal(7, 1), location),
            (Space::Snapshot, keys::snapshot(7), location),
            (Space::PullSeen, keys::pull_seen(7, 1, 2, 3), location),
            (Space::AuditPosition, keys::audit_position(7), location),
            (Space::Wake, keys::wake(-5, 7), location),
            (Space::Active, keys::active(7), location),
            (Space::Asleep, keys::asleep(7), location),
            (Space::Restored, keys::restored(7), location),
            (Space::PairingCodeOf, keys::pairing_code_of(7, 1, &digest), location),
            (Space::WorkstationAt, keys::workstation_at(7, &[1; 16]), location),
            (Space::Lease, keys::lease(7), location),
            (Space::LocationAdapter, keys::location_adapter(7), location),
            (Space::Link, keys::link(7, 3, b"EHR-1"), source),
            (Space::SandboxChange, keys::sandbox_change(7, 1), source),
            (Space::Subscriber, keys::subscriber(7, &digest), source),
            (Space::Claim, keys::claim(7, &digest), institution),
            (Space::PatientMatch, keys::patient_match(7, 8, &digest), institution),
            (Space::Record, keys::record(3, 7, 1), records),
            (Space::Before, keys::before(3, 7, 1), records),
            (Space::Feed, keys::feed(1 << 32 | 7, 1), source),
            (Space::FeedPruned, keys::feed_pruned(2 << 32 | 7), location),
            (Space::IndexBlock, keys::index_block(3 << 32 | 7, 1, 2, 3), institution),
            (Space::IndexManifest, keys::index_manifest(3 << 32 | 7), institution),
            (Space::Feed, keys::feed(7, 1), KeyOwner::Shared),
            (Space::FeedEnd, keys::feed_end(), KeyOwner::Shared),
            (Space::Counter, keys::counter("patient"), KeyOwner::Shared),
            (Space::Secret, keys::secret("seed"), KeyOwner::Shared),
            (Space::AdapterPart, keys::adapter_part(&digest, 1), KeyOwner::Shared),
            (Space::AdapterVersion, keys::adapter_version(&digest, "fhir"), KeyOwner::Shared),
            (Space::Once, keys::once(&digest), KeyOwner::Shared),
            (Space::OnceExpiry, keys::once_expiry(1, &digest), KeyOwner::Shared),
            (Space::PairingCode, keys::pairing_code(&digest), KeyOwner::Shared),
            (Space::Workstation, keys::workstation(&[1; 16]), KeyOwner::Shared),
            (Space::Numbered, keys::numbered(&digest), KeyOwner::Shared),
            (Space::Membership, keys::member_view(1), KeyOwner::Shared),
            (Space::TokenUsed, keys::token_used(&digest), KeyOwner::Shared),
        ];
        for (space, key, key_owner) in &known {
            assert_eq!((Space::from_key(key), owner_for_key(key)), (Some(*space), *key_owner), "{space:?}");
            assert_eq!(owner_for_key(&key[..1]), KeyOwner::Shared, "{space:?}, cut short");
        }
        for space in Space::ALL {
            let webhooks = (Space::Endpoint as u8..=Space::DeliveryQueued as u8).contains(&(*space as u8));
            assert_eq!(known.iter().any(|(it, ..)| it == space), !webhooks, "{space:?}");
            assert_eq!(owner_for_range(&space.range()), webhooks_or_shared(*space), "{space:?}");
        }
        assert_eq!(owner_for_key(&[]), KeyOwner::Shared);
        assert_eq!(owner_for_key(&[0xEF, 1]), KeyOwner::Shared);
    }

    /// Returns the owner of a whole space, which is known only if its keys contain no owner.
    fn webhooks_or_shared(space: Space) -> Option<KeyOwner> {
        matches!(owner_field(space), OwnerField::Absent).then_some(KeyOwner::Shared)
    }

    #[test]
    fn ranges_of_one_owner_are_distinguished_from_shared_ones() {
        let one = [
            (KeyRange::prefix(&keys::journal(7, 0)[..5]), KeyOwner::Location(7)),
            (KeyRange::new(keys::journal(7, 3), keys::journal(7, 9)), KeyOwner::Location(7)),
            (keys::records(3, 7), KeyOwner::Records { kind: 3, scope: 7 }),
            (keys::records(3, 7).after(&keys::record(3, 7, 9)), KeyOwner::Records { kind: 3, scope: 7 }),
            (keys::links(7, 3), KeyOwner::Source(7)),
            (keys::feed_after(3 << 32 | 7, 4), KeyOwner::Institution(7)),
            (keys::index_segment(2 << 32 | 7, 4), KeyOwner::Location(7)),
            (keys::pull_seen_before(7, 1, 9), KeyOwner::Location(7)),
            (keys::pairing_codes_of(7), KeyOwner::Location(7)),
            (keys::workstations_at(7), KeyOwner::Location(7)),
            (keys::sandbox_changes(7), KeyOwner::Source(7)),
            (keys::once_expired(5), KeyOwner::Shared),
        ];
        for (range, key_owner) in one {
            assert_eq!(owner_for_range(&range), Some(key_owner), "{range:?}");
        }
        let several = [
            KeyRange::prefix(&[]),
            Space::Journal.range(),
            keys::wakes_due(5),
            KeyRange::new(keys::journal(7, 0), keys::journal(8, 0)),
            KeyRange::new(keys::journal(7, 0), Space::Journal.range().end),
            KeyRange::new(keys::record(3, 7, 0), keys::records(3, u32::MAX).end),
            KeyRange::new(vec![Space::Journal as u8, 0], keys::journal(7, 0)),
            KeyRange::new(vec![Space::Once as u8], vec![0xEF]),
            KeyRange::new(vec![1], vec![2]),
        ];
        for range in several {
            assert_eq!(owner_for_range(&range), None, "{range:?}");
        }
    }

    /// Every range that contains a key has the same owner as the key, or none.
    #[test]
    fn a_key_has_the_owner_of_every_range_that_contains_it() {
        let keys = [
            keys::journal(7, 1),
            keys::wake(5, 7),
            keys::record(3, 7, 1),
            keys::link(7, 3, b""),
            keys::feed(1 << 32, 1),
            keys::once(&[0; 32]),
        ];
        for key in &keys {
            for length in 0..=key.len() {
                for direction in [Direction::Forward, Direction::Backward] {
                    let mut range = KeyRange::prefix(&key[..length]);
                    if direction == Direction::Forward {
                        range.start = key.clone();
                    }
                    let key_owner = owner_for_range(&range);
                    assert!(key_owner.is_none_or(|key_owner| key_owner == owner_for_key(key)), "{range:?}");
                }
            }
        }
    }
}
