//! How a location stands after its turn, for the metrics.

use location::{Location, time::Timestamp};
use records::sync_state::SyncState;
use runtime::metrics::Standing;

pub(crate) fn of(machine: &Location, now: Timestamp) -> Standing {
    let (state, sync) = (&machine.state, SyncState::of(machine, None, now));
    let queued = state.queue.len() as u64;
    let parked = if state.writes_nothing() || state.breaker.blocked.is_some() { queued } else { 0 };
    let last_read = sync.last_sync.filter(|_| machine.settings.capabilities.integrated);
    let (reads, writes) = (sync.read_ok, sync.write_ok);
    let skipped = state.pulls.skipped.values().map(|skips| skips.len() as u64).sum();
    Standing { queued, parked, oldest_write: sync.oldest_queued, last_read, reads, writes, skipped }
}
