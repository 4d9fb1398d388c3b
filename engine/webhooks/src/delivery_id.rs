//! Delivery ids: they increase over time, and those of one event differ in their last bits only.

use std::sync::atomic::{AtomicU64, Ordering};

use location::time::Timestamp;
use uuid::Uuid;

/// Generates increasing ids (UUID version 7), also within a millisecond. The ids of one event differ in their last bits
/// only, so that each identifies the data of the event.
#[derive(Debug, Default)]
pub struct DeliveryIds(AtomicU64);

/// Bits of an id that number the deliveries of an event.
const NUMBERED: u32 = 20;

/// The maximum number of deliveries that share the data of an event.
pub const MAX_OF_ONE_EVENT: usize = 1 << NUMBERED;

/// Bits of an id's first half that count within a millisecond.
const COUNTED: u32 = 12;

impl DeliveryIds {
    /// Creates a generator that continues above `last`, even if the clock is behind.
    pub fn after(last: Option<Uuid>) -> DeliveryIds {
        DeliveryIds(AtomicU64::new(last.map_or(0, number)))
    }

    /// Continues above `last`, like `after`, in a process that has already generated ids.
    pub(super) fn advance_past(&self, last: Uuid) {
        self.0.fetch_max(number(last), Ordering::Relaxed);
    }

    /// Returns the first id of an event. `random` separates the id from ids generated at the same clock time before.
    pub fn next(&self, at: Timestamp, random: Uuid) -> Uuid {
        let wanted = at.0.max(0).unsigned_abs() << COUNTED;
        let later = |last: u64| wanted.max(last + 1);
        let last = self.0.update(Ordering::Relaxed, Ordering::Relaxed, later);
        let number = later(last);
        let version = 0x7000 | (number & ((1 << COUNTED) - 1));
        Uuid::from_u64_pair(((number >> COUNTED) << 16) | version, first_of(random).as_u64_pair().1)
    }
}

/// Returns the counter value in an id.
fn number(id: Uuid) -> u64 {
    let high = id.as_u64_pair().0;
    ((high >> 16) << COUNTED) | (high & ((1 << COUNTED) - 1))
}

/// Returns a number that increases with each message about a record. Counts from 2026, so that the number is exact in a
/// double until 2095.
pub fn sequence(id: Uuid) -> u64 {
    const FROM: u64 = 1_767_225_600_000 << COUNTED;
    number(id).saturating_sub(FROM)
}

/// Returns the first delivery id of the same event.
pub fn first_of(id: Uuid) -> Uuid {
    Uuid::from_u128(id.as_u128() & !(MAX_OF_ONE_EVENT as u128 - 1))
}

/// Returns the id of a further delivery of an event, by its number.
pub fn nth_of(first: Uuid, number: usize) -> Uuid {
    debug_assert!(number < MAX_OF_ONE_EVENT && first == first_of(first), "ids of an event are numbered from its first");
    Uuid::from_u128(first.as_u128() | number as u128)
}

/// Returns the number of a delivery among those of its event.
pub(crate) fn number_in_event(id: Uuid) -> usize {
    (id.as_u128() & (MAX_OF_ONE_EVENT as u128 - 1)) as usize
}

/// Returns the creation time encoded in an id.
pub fn creation_time(id: Uuid) -> Timestamp {
    Timestamp((id.as_u64_pair().0 >> 16).cast_signed())
}

/// Returns an id below all ids generated at that time, and above all earlier ones.
pub fn first_id_at(at: Timestamp) -> Uuid {
    Uuid::from_u64_pair(at.0.clamp(0, (1 << 48) - 1).unsigned_abs() << 16, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_increase_and_encode_their_time() {
        let (ids, random) = (DeliveryIds::default(), Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef));
        let at = Timestamp(1_795_255_200_123);
        let made: Vec<Uuid> = (0..10_000).map(|n| ids.next(at.plus(n % 3), random)).collect();
        assert!(made.is_sorted() && made.iter().all(|id| id.get_version_num() == 7));
        assert_eq!(creation_time(made[0]), at);
        assert!(first_id_at(at) < made[0] && made[0] < first_id_at(at.plus(1)));
        let later = ids.next(at.plus(60_000), random);
        assert_eq!(creation_time(later), at.plus(60_000));
        let many = [0, 1, 999, MAX_OF_ONE_EVENT - 1].map(|number| nth_of(later, number));
        assert!(many.is_sorted() && many.iter().all(|id| first_of(*id) == later && id.get_version_num() == 7));
        assert_eq!(many.map(number_in_event), [0, 1, 999, MAX_OF_ONE_EVENT - 1]);
        let next = ids.next(at, random);
        assert!(next > later && sequence(next) > sequence(later), "a clock that goes back makes no older ids");
        let restarted = DeliveryIds::after(Some(next)).next(at, random);
        assert!(restarted > next && sequence(restarted) > sequence(next), "nor does a restart");
        assert!(sequence(restarted) < 1 << 53);
    }
}
