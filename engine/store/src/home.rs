//! Whose a value is, as far as its key says: a store that is spread over machines keeps together what belongs to one owner.

use super::{
    keys::Space,
    range::{KeyRange, prefix_end},
};

/// Whom a key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    Location(u32),
    Source(u32),
    Institution(u32),
    /// An institution, a data source or a location: which of them, the kind of the record says, and that the store does not know.
    Records {
        kind: u8,
        scope: u32,
    },
    /// Nobody, or several.
    Shared,
}

/// Where a key says it: at which byte the number begins.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    Location(usize),
    Source(usize),
    Institution(usize),
    /// A kind, and behind it a scope.
    Records(usize),
    /// The number of a stream, which has the kind of its owner in its upper half.
    Stream(usize),
}

const BEHIND_SPACE: usize = 1;
const BEHIND_TIME: usize = 9;

fn says(space: Space) -> Says {
    match space {
        Space::Journal
        | Space::Snapshot
        | Space::PullSeen
        | Space::Active
        | Space::Asleep
        | Space::Restored
        | Space::PairingCodeOf
        | Space::WorkstationAt
        | Space::LocationAdapter
        | Space::Lease => Says::Location(BEHIND_SPACE),
        Space::Wake => Says::Location(BEHIND_TIME),
        Space::Link | Space::SandboxChange | Space::Subscriber => Says::Source(BEHIND_SPACE),
        Space::Claim | Space::PatientMatch | Space::WebhookHeard => Says::Institution(BEHIND_SPACE),
        Space::Record | Space::Before => Says::Records(BEHIND_SPACE),
        Space::Feed | Space::FeedPruned | Space::IndexBlock | Space::IndexManifest => Says::Stream(BEHIND_SPACE),
        Space::Counter
        | Space::Secret
        | Space::AdapterPart
        | Space::AdapterVersion
        | Space::FeedEnd
        | Space::Once
        | Space::OnceExpiry
        | Space::Endpoint
        | Space::Subscription
        | Space::Delivery
        | Space::DeliveryDue
        | Space::Subscribed
        | Space::DeliveryFinished
        | Space::DeliveryLog
        | Space::Overflow
        | Space::DeliveryData
        | Space::DeliveryCount
        | Space::WebhookChanges
        | Space::DeliveryStripes
        | Space::PairingCode
        | Space::Workstation
        | Space::Membership
        | Space::TokenUsed
        | Space::Numbered => Says::Nothing,
    }
}

impl Says {
    /// The bytes of a key up to the end of what says whose it is.
    fn length(self) -> usize {
        match self {
            Says::Nothing => BEHIND_SPACE,
            Says::Location(at) | Says::Source(at) | Says::Institution(at) => at + 4,
            Says::Records(at) => at + 5,
            Says::Stream(at) => at + 8,
        }
    }
}

/// A key that is too short to say it, or of no space, is nobody's.
pub fn of_key(key: &[u8]) -> Home {
    read(key).unwrap_or(Home::Shared)
}

fn read(key: &[u8]) -> Option<Home> {
    Some(match says(Space::of(key)?) {
        Says::Nothing => Home::Shared,
        Says::Location(at) => Home::Location(number(key, at)?),
        Says::Source(at) => Home::Source(number(key, at)?),
        Says::Institution(at) => Home::Institution(number(key, at)?),
        Says::Records(at) => Home::Records { kind: *key.get(at)?, scope: number(key, at + 1)? },
        Says::Stream(at) => of_stream(u64::from(number(key, at)?) << 32 | u64::from(number(key, at + 4)?)),
    })
}

/// Whose a stream of the feed is; its number is made in `query::stream`.
pub fn of_stream(stream: u64) -> Home {
    let id = (stream & u64::from(u32::MAX)) as u32;
    match stream >> 32 {
        1 => Home::Source(id),
        2 => Home::Location(id),
        3 => Home::Institution(id),
        _ => Home::Shared,
    }
}

/// Whose all keys of a range are; none where they may be of several.
pub fn of_range(range: &KeyRange) -> Option<Home> {
    let says = says(Space::of(&range.start)?);
    let prefix = range.start.get(..says.length())?;
    (range.end <= prefix_end(prefix)).then(|| of_key(prefix))
}

fn number(key: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*key.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, keys};

    /// Every builder of keys. Those of webhooks are built elsewhere; most name endpoints, which are an
    /// institution's no more than another's.
    #[test]
    fn every_key_says_whose_it_is() {
        let (location, source, institution) = (Home::Location(7), Home::Source(7), Home::Institution(7));
        let records = Home::Records { kind: 3, scope: 7 };
        let digest = [9; 32];
        let known = [
            (Space::Journal, keys::journal(7, 1), location),
            (Space::Snapshot, keys::snapshot(7), location),
            (Space::PullSeen, keys::pull_seen(7, 1, 2, 3), location),
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
            (Space::Feed, keys::feed(7, 1), Home::Shared),
            (Space::FeedEnd, keys::feed_end(), Home::Shared),
            (Space::Counter, keys::counter("patient"), Home::Shared),
            (Space::Secret, keys::secret("seed"), Home::Shared),
            (Space::AdapterPart, keys::adapter_part(&digest, 1), Home::Shared),
            (Space::AdapterVersion, keys::adapter_version(&digest, "fhir"), Home::Shared),
            (Space::Once, keys::once(&digest), Home::Shared),
            (Space::OnceExpiry, keys::once_expiry(1, &digest), Home::Shared),
            (Space::PairingCode, keys::pairing_code(&digest), Home::Shared),
            (Space::Workstation, keys::workstation(&[1; 16]), Home::Shared),
            (Space::Numbered, keys::numbered(&digest), Home::Shared),
            (Space::Membership, keys::member_view(1), Home::Shared),
            (Space::TokenUsed, keys::token_used(&digest), Home::Shared),
        ];
        for (space, key, home) in &known {
            assert_eq!((Space::of(key), of_key(key)), (Some(*space), *home), "{space:?}");
            assert_eq!(of_key(&key[..1]), Home::Shared, "{space:?}, cut short");
        }
        for space in Space::ALL {
            let webhooks = (Space::Endpoint as u8..=Space::DeliveryStripes as u8).contains(&(*space as u8));
            assert_eq!(known.iter().any(|(it, ..)| it == space), !webhooks, "{space:?}");
            assert_eq!(of_range(&space.range()), webhooks_or_shared(*space), "{space:?}");
        }
        assert_eq!(of_key(&[]), Home::Shared);
        assert_eq!(of_key(&[0xEF, 1]), Home::Shared);
    }

    /// A whole space is one owner's where its keys name nobody.
    fn webhooks_or_shared(space: Space) -> Option<Home> {
        matches!(says(space), Says::Nothing).then_some(Home::Shared)
    }

    #[test]
    fn a_range_of_one_owner_is_told_from_one_of_several() {
        let one = [
            (KeyRange::prefix(&keys::journal(7, 0)[..5]), Home::Location(7)),
            (KeyRange::new(keys::journal(7, 3), keys::journal(7, 9)), Home::Location(7)),
            (keys::records(3, 7), Home::Records { kind: 3, scope: 7 }),
            (keys::records(3, 7).after(&keys::record(3, 7, 9)), Home::Records { kind: 3, scope: 7 }),
            (keys::links(7, 3), Home::Source(7)),
            (keys::feed_after(3 << 32 | 7, 4), Home::Institution(7)),
            (keys::index_segment(2 << 32 | 7, 4), Home::Location(7)),
            (keys::pull_seen_before(7, 1, 9), Home::Location(7)),
            (keys::pairing_codes_of(7), Home::Location(7)),
            (keys::workstations_at(7), Home::Location(7)),
            (keys::sandbox_changes(7), Home::Source(7)),
            (keys::once_expired(5), Home::Shared),
        ];
        for (range, home) in one {
            assert_eq!(of_range(&range), Some(home), "{range:?}");
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
            assert_eq!(of_range(&range), None, "{range:?}");
        }
    }

    /// What is written under one owner is found by every range that holds its key.
    #[test]
    fn a_key_in_a_range_of_one_owner_is_that_owners() {
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
                    let home = of_range(&range);
                    assert!(home.is_none_or(|home| home == of_key(key)), "{range:?}");
                }
            }
        }
    }
}
