//! Limits on the disk space that a location may fill by reading: a token bucket of bytes, a pause after large pages,
//! and a floor of free space. Without them, an endless pull could make the store refuse the writes of all locations.
//! Reading pauses at the floor long before bookings do.

use location::{MINUTE, Millis, Timestamp};
use parking_lot::Mutex;
use records::Fault;
use setup::EngineRules;
use store::Health;

/// The reason shown to operators.
pub const SLOWED: &str = "reading is slowed down: it has filled its share of the disk";

/// Size of a page that no pause follows: about 400 records.
const AT_ONCE: u64 = 2 << 20;
/// The pause for each further MiB. Bookings of all locations wait while a page is written, 15 ms per MiB on a usual
/// disk. The pause keeps the affected bookings below 1%.
const PAUSE_PER_MIB: u64 = 3_000;
const LONGEST_PAUSE: u64 = 10_000;

/// The bucket of a location. It exists as long as the process, so unloading the location does not fill it.
#[derive(Debug, Default)]
pub struct DiskShare(Mutex<Used>);

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    bytes: u64,
    at: Timestamp,
    /// Pause after a page written at `at`.
    pause: Millis,
}

impl DiskShare {
    /// Takes the bytes of a committed page from the bucket.
    pub fn take(&self, rules: &EngineRules, bytes: u64, now: Timestamp) {
        let mut used = self.0.lock();
        let pause = (bytes.saturating_sub(AT_ONCE).saturating_mul(PAUSE_PER_MIB) >> 20).min(LONGEST_PAUSE);
        *used = Used { bytes: used.still(rules, now).saturating_add(bytes), at: now, pause: pause.cast_signed() };
    }

    /// Returns the wait until the bucket contains something again.
    pub fn wait(&self, rules: &EngineRules, now: Timestamp) -> Millis {
        let over = self.0.lock().still(rules, now).saturating_sub(rules.pull_burst_bytes);
        let wait =
            u128::from(over) * u128::from(MINUTE.unsigned_abs()) / u128::from(rules.pull_bytes_per_minute.max(1));
        Millis::try_from(wait).unwrap_or(Millis::MAX)
    }

    /// Returns `true` if the last page was followed by a pause. A prefetched page would be requested before the pause.
    pub fn has_large_pages(&self) -> bool {
        self.0.lock().pause > 0
    }

    /// Returns the rest of the pause after a large page.
    fn pause(&self, now: Timestamp) -> Millis {
        let used = self.0.lock();
        (used.pause - now.since(used.at).max(0)).max(0)
    }
}

impl Used {
    /// Returns the used bytes that have not been refilled since. A clock that was set back refills nothing.
    fn still(self, rules: &EngineRules, now: Timestamp) -> u64 {
        let passed = u128::from(now.since(self.at).max(0).unsigned_abs());
        let out = passed * u128::from(rules.pull_bytes_per_minute) / u128::from(MINUTE.unsigned_abs());
        self.bytes.saturating_sub(u64::try_from(out).unwrap_or(u64::MAX))
    }
}

/// Returns the wait before the next page. Fails if the wait exceeds `patience`, or if free disk space is below the
/// floor.
pub fn may_read(
    share: &DiskShare,
    rules: &EngineRules,
    health: &Health,
    now: Timestamp,
    patience: Millis,
) -> Result<Millis, Fault> {
    // Not below the store's own floor, which operators may raise.
    let floor = rules.pull_floor_bytes.max(health.floor);
    if let Some(free) = health.free.filter(|free| *free < floor) {
        let reason = format!(
            "reading pauses: {} MiB are free on the server's disk, and below {} MiB they are kept for bookings",
            free >> 20,
            floor >> 20
        );
        return Err(Fault::RetryLater { reason, after: None });
    }
    match share.wait(rules, now) {
        wait if wait <= patience => Ok(wait.max(share.pause(now).min(patience))),
        wait => {
            let after = Some(std::time::Duration::from_millis(wait.unsigned_abs()));
            Err(Fault::RetryLater { reason: SLOWED.to_owned(), after })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::HOUR;
    use store::{MemoryStore, Store};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn rules() -> EngineRules {
        EngineRules { pull_burst_bytes: 100 * MIB, pull_bytes_per_minute: 6 * MIB, ..EngineRules::default() }
    }

    #[test]
    fn endless_pull_is_slowed_but_a_first_pull_is_not() {
        let (share, rules) = (DiskShare::default(), rules());
        let mut now = Timestamp(1_000_000);
        for _ in 0..100 {
            assert_eq!(share.wait(&rules, now), 0);
            share.take(&rules, MIB, now);
        }
        // From here on, reading gets the refill rate: 6 MiB a minute.
        let began = now;
        for _ in 0..600 {
            share.take(&rules, MIB, now);
            now = now.plus(share.wait(&rules, now));
        }
        assert_eq!(now.since(began) / MINUTE, 100);
        assert_eq!(share.wait(&rules, now.plus(HOUR)), 0);
        assert!(share.wait(&rules, now.minus(HOUR)) <= MINUTE, "a clock set back lengthens no wait");
    }

    #[test]
    fn large_page_is_followed_by_a_pause() {
        let (share, rules, now) = (DiskShare::default(), rules(), Timestamp(1_000_000));
        let health = Health { free: None, ..MemoryStore::new().health() };
        let wait = |at: Timestamp| may_read(&share, &rules, &health, at, 6_000).unwrap();
        share.take(&rules, 2 * MIB, now);
        assert_eq!((wait(now), share.has_large_pages()), (0, false));
        share.take(&rules, 4 * MIB, now);
        assert!(share.has_large_pages());
        assert_eq!([0, 1_000, 3_000, 9_000].map(|later| wait(now.plus(later))), [6_000, 5_000, 3_000, 0]);
        assert_eq!(wait(now.minus(HOUR)), 6_000, "a clock set back lengthens no wait");
        share.take(&rules, 60 * MIB, now);
        assert_eq!(wait(now), 6_000, "it is never a reason not to read at all");
        assert_eq!(share.wait(&rules, now), 0, "its share is not used up");
    }

    #[test]
    fn reading_pauses_before_bookings_do() {
        let (share, rules) = (DiskShare::default(), rules());
        let health = |free: u64| Health { free: Some(free), floor: 512 * MIB, ..MemoryStore::new().health() };
        let now = Timestamp(0);
        let low = may_read(&share, &rules, &health(700 * MIB), now, MINUTE).unwrap_err().to_string();
        assert!(low.contains("reading pauses: 700 MiB are free") && low.contains("below 1024 MiB"), "{low}");
        assert!(health(700 * MIB).accepts_writes(), "bookings go on");
        assert_eq!(may_read(&share, &rules, &health(2_000 * MIB), now, MINUTE).unwrap(), 0);
        (0..101).for_each(|_| share.take(&rules, MIB, now));
        assert_eq!(may_read(&share, &rules, &health(2_000 * MIB), now, MINUTE).unwrap(), 10_000);
        share.take(&rules, 101 * MIB, now);
        let over = may_read(&share, &rules, &health(2_000 * MIB), now, MINUTE).unwrap_err();
        assert!(matches!(over, Fault::RetryLater { after: Some(_), .. }), "{over}");
    }
}
