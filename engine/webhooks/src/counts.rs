//! The number of waiting deliveries per endpoint. Stored in the batch of each change, so that a start need not count
//! them.
//!
//! Followers, owners and the dispatcher commit changes concurrently, and must neither wait for nor overwrite each
//! other. So each change in flight has a stripe of counts to itself, and the count of an endpoint is the sum over all
//! stripes. There are as many stripes as the highest number of concurrent changes so far.
//!
//! If nodes share the store, each claims a block of stripes, and every change has the claim as a precondition. A block
//! of a dead node is taken over with its counts: the former owner can no longer write there, and claims another block.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use runtime::clock;
use store::{Batch, CommitError, Direction, KeyRange, Store, StoreError, Version, keys::Space};
use uuid::Builder;

use super::{
    keys,
    load_error::WebhookLoadError,
    model::EndpointId,
    placement::{Placement, RACES},
};

const PAGE: usize = 1_000;
/// Blocks of dead nodes are taken over only after this many blocks exist: a starting node may not be in the membership
/// table yet.
const FRESH_BLOCKS: u32 = 16;

#[derive(Default)]
pub(super) struct Counts(Mutex<Stripes>);

#[derive(Default)]
struct Stripes {
    /// The durable net change by each stripe of this process.
    of: BTreeMap<u32, BTreeMap<EndpointId, i64>>,
    free: BTreeSet<u32>,
    ownership: StripeOwnership,
}

/// The stripes that this process may use.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum StripeOwnership {
    /// All stripes: no other process uses the store.
    #[default]
    All,
    /// None yet. Commits of counts conflict.
    Unclaimed,
    /// The stripes of a block, as long as the claim is valid.
    Block { block: u16, claim: Version },
}

impl Stripes {
    fn next(&self) -> u32 {
        let first = match self.ownership {
            StripeOwnership::Block { block, .. } => keys::first_stripe(block),
            StripeOwnership::All | StripeOwnership::Unclaimed => 0,
        };
        self.of.last_key_value().map_or(first, |(last, _)| last + 1)
    }
}

impl Counts {
    /// Loads the counts. Returns the sum for each endpoint too.
    pub(super) fn load(store: &dyn Store) -> Result<(Counts, BTreeMap<EndpointId, i64>), WebhookLoadError> {
        let of = read(store, Space::DeliveryCount.range())?;
        let (sums, free) = (sums(of.values()), of.keys().copied().collect());
        Ok((Counts(Mutex::new(Stripes { of, free, ownership: StripeOwnership::All })), sums))
    }

    /// Creates the counts of one of several nodes. A node has no stripes before `claim`.
    pub(super) fn unclaimed() -> Counts {
        Counts(Mutex::new(Stripes { ownership: StripeOwnership::Unclaimed, ..Stripes::default() }))
    }

    /// Claims a block of stripes, unless the node has a valid claim.
    pub(super) async fn claim(&self, store: &dyn Store, placement: &dyn Placement) -> Result<(), CommitError> {
        let ownership = self.0.lock().ownership;
        if let StripeOwnership::Block { block, claim } = ownership
            && store.read(&keys::stripes(block))?.is_some_and(|found| found.version == claim)
        {
            return Ok(());
        }
        for _ in 0..RACES {
            let (block, before) = free_block(store, placement)?;
            let key = keys::stripes(block);
            // Distinguishes this claim from all others of a node of that name.
            let unique = Builder::from_random_bytes(clock::random()).into_uuid();
            let value = claim_of(&placement.name(), &unique.to_string());
            let mut batch = Batch::new();
            batch.expect_unchanged(key.clone(), before).put(key.clone(), value.clone());
            match store.commit(batch).await {
                Err(CommitError::Conflict { .. }) => continue,
                committed => committed?,
            }
            if let Some(found) = store.read(&key)?.filter(|found| found.value == value) {
                let range = KeyRange::new(
                    keys::count(keys::first_stripe(block), EndpointId(0)),
                    keys::count(keys::first_stripe(block) | u32::from(u16::MAX), EndpointId(i32::MAX)),
                );
                let of = read(store, range).map_err(|_| StoreError::damaged(&key, "counts cannot be decoded"))?;
                let (free, ownership) =
                    (of.keys().copied().collect(), StripeOwnership::Block { block, claim: found.version });
                *self.0.lock() = Stripes { of, free, ownership };
                return Ok(());
            }
        }
        Err(StoreError::Busy.into())
    }

    /// Returns the number of waiting deliveries, including those counted by other nodes.
    pub(super) fn sums(
        &self,
        store: &dyn Store,
    ) -> Result<impl FnOnce() -> BTreeMap<EndpointId, i64>, WebhookLoadError> {
        let mut all = read(store, Space::DeliveryCount.range())?;
        Ok(move || {
            let stripes = self.0.lock();
            match stripes.ownership {
                StripeOwnership::All => all.clear(),
                StripeOwnership::Unclaimed => {}
                StripeOwnership::Block { block, .. } => all.retain(|stripe, _| keys::block_of(*stripe) != block),
            }
            sums(all.values().chain(stripes.of.values()))
        })
    }
}

fn claim_of(name: &str, unique: &str) -> Vec<u8> {
    format!("{unique} {name}").into_bytes()
}

fn name_of(claim: &[u8]) -> Option<&str> {
    std::str::from_utf8(claim).ok()?.split_once(' ').map(|(_, name)| name)
}

/// Returns a block claimed by an earlier process of this name, a free one, or one of a dead node. Also returns the
/// version of its claim.
fn free_block(store: &dyn Store, placement: &dyn Placement) -> Result<(u16, Option<Version>), StoreError> {
    let mut gone = None;
    for block in 1..=u16::MAX {
        let Some(found) = store.read(&keys::stripes(block))? else {
            return Ok(if u32::from(block) > FRESH_BLOCKS { gone.unwrap_or((block, None)) } else { (block, None) });
        };
        match name_of(&found.value) {
            Some(name) if name == placement.name() => return Ok((block, Some(found.version))),
            Some(name) if gone.is_none() && placement.is_gone(name)? => gone = Some((block, Some(found.version))),
            _ => {}
        }
    }
    gone.ok_or(StoreError::Busy)
}

fn read(store: &dyn Store, mut range: KeyRange) -> Result<BTreeMap<u32, BTreeMap<EndpointId, i64>>, WebhookLoadError> {
    let mut stripes: BTreeMap<u32, BTreeMap<EndpointId, i64>> = BTreeMap::new();
    loop {
        let page = store.scan(range.clone(), Direction::Forward, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(stripes) };
        range = range.after(last);
        for (key, value) in &page {
            let Some(stripe) = keys::parse_count(key) else { continue };
            let counts: BTreeMap<EndpointId, i64> = serde_json::from_slice(value)?;
            stripes.entry(stripe).or_default().extend(counts);
        }
    }
}

fn sums<'s>(stripes: impl Iterator<Item = &'s BTreeMap<EndpointId, i64>>) -> BTreeMap<EndpointId, i64> {
    let mut sums = BTreeMap::new();
    for (endpoint, count) in stripes.flatten() {
        *sums.entry(*endpoint).or_default() += count;
    }
    sums
}

/// A change of counts in flight. If its batch is not committed, the change is dropped.
pub(super) struct CountChange {
    counts: Arc<Counts>,
    stripe: u32,
    ownership: StripeOwnership,
    /// The batch has the claim as a precondition.
    has_precondition: bool,
    by: BTreeMap<EndpointId, i64>,
    /// Endpoints with counts that the batch does not have yet.
    unwritten: BTreeSet<EndpointId>,
}

impl CountChange {
    pub(super) fn begin(counts: &Arc<Counts>) -> CountChange {
        let mut stripes = counts.0.lock();
        let stripe = stripes.free.pop_first().unwrap_or_else(|| {
            let next = stripes.next();
            stripes.of.insert(next, BTreeMap::new());
            next
        });
        let ownership = stripes.ownership;
        drop(stripes);
        let (by, unwritten) = (BTreeMap::new(), BTreeSet::new());
        CountChange { counts: counts.clone(), stripe, ownership, has_precondition: false, by, unwritten }
    }

    pub(super) fn add(&mut self, endpoint: EndpointId, deliveries: i64) {
        *self.by.entry(endpoint).or_default() += deliveries;
        if deliveries != 0 {
            self.unwritten.insert(endpoint);
        }
    }

    /// Adds the counts changed since the last call to the batch. Endpoints with neighbouring ids share a value.
    pub(super) fn put(&mut self, batch: &mut Batch) {
        let stripes = self.counts.0.lock();
        if !self.unwritten.is_empty() && !std::mem::replace(&mut self.has_precondition, true) {
            match self.ownership {
                StripeOwnership::All => {}
                // This block does not exist, so the commit conflicts.
                StripeOwnership::Unclaimed => drop(batch.expect_present(keys::stripes(0))),
                StripeOwnership::Block { block, claim } => {
                    batch.expect_unchanged(keys::stripes(block), Some(claim));
                }
            }
        }
        let nothing = BTreeMap::new();
        // If the block was lost, the batch conflicts anyway.
        let durable = stripes.of.get(&self.stripe).filter(|_| stripes.ownership == self.ownership).unwrap_or(&nothing);
        while let Some(endpoint) = self.unwritten.first() {
            let together = keys::counted_together(*endpoint);
            let mut counts: BTreeMap<EndpointId, i64> =
                durable.range(together.clone()).map(|(endpoint, count)| (*endpoint, *count)).collect();
            for (endpoint, by) in self.by.range(together.clone()) {
                *counts.entry(*endpoint).or_default() += by;
            }
            counts.retain(|_, count| *count != 0);
            let key = keys::count(self.stripe, *together.start());
            match counts.is_empty() {
                true => batch.delete(key),
                false => batch.put(key, serde_json::to_vec(&counts).expect("numbers serialize")),
            };
            self.unwritten.retain(|endpoint| !together.contains(endpoint));
        }
    }

    pub(super) fn by(&self) -> &BTreeMap<EndpointId, i64> {
        &self.by
    }

    /// Applies the change after its batch is durable.
    pub(super) fn committed(&self) {
        debug_assert!(self.unwritten.is_empty(), "what was counted is in the batch");
        let mut stripes = self.counts.0.lock();
        if stripes.ownership != self.ownership {
            return;
        }
        let durable = stripes.of.entry(self.stripe).or_default();
        for (endpoint, by) in &self.by {
            let count = durable.entry(*endpoint).or_default();
            *count += by;
            if *count == 0 {
                durable.remove(endpoint);
            }
        }
    }
}

/// Frees the stripe for the next change.
impl Drop for CountChange {
    fn drop(&mut self) {
        let mut stripes = self.counts.0.lock();
        if stripes.ownership == self.ownership {
            stripes.free.insert(self.stripe);
        }
    }
}
