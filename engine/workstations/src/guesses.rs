//! Rate limits of wrong pairing codes, per address and in total.

use std::{collections::HashMap, net::IpAddr};

use location::{Quota, Timestamp, quota::Bucket};
use parking_lot::Mutex;

use super::limits::{GUESSERS, GUESSES_OF_ALL, GUESSES_OF_ONE};

#[derive(Default)]
pub(crate) struct CodeRateLimiter(Mutex<GuessCounts>);

#[derive(Default)]
struct GuessCounts {
    all: Bucket,
    peers: HashMap<IpAddr, Bucket>,
}

impl CodeRateLimiter {
    /// Tries a code behind the lock. Returns the seconds to wait as the outer error if too many codes were wrong.
    pub(crate) fn attempt<T, E>(
        &self,
        peer: IpAddr,
        now: Timestamp,
        try_it: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Result<Option<T>, E>, u32> {
        let peer = network(peer);
        let mut counts = self.0.lock();
        let wait = |bucket: &Bucket, quota: Quota| bucket.next_at(quota, now).since(now);
        let of_one = counts.peers.get(&peer).map_or(0, |bucket| wait(bucket, GUESSES_OF_ONE));
        let longest = of_one.max(wait(&counts.all, GUESSES_OF_ALL));
        if longest > 0 {
            return Err(u32::try_from(longest.div_euclid(1_000) + 1).unwrap_or(u32::MAX));
        }
        let tried = try_it();
        if matches!(tried, Ok(None)) {
            counts.wrong(peer, now);
        }
        Ok(tried)
    }
}

impl GuessCounts {
    fn wrong(&mut self, peer: IpAddr, now: Timestamp) {
        self.all.take(GUESSES_OF_ALL, now);
        if self.peers.len() >= GUESSERS {
            self.peers.retain(|_, bucket| bucket.available(GUESSES_OF_ONE, now) < GUESSES_OF_ONE.burst);
        }
        if self.peers.len() < GUESSERS || self.peers.contains_key(&peer) {
            self.peers.entry(peer).or_default().take(GUESSES_OF_ONE, now);
        }
    }
}

/// Masks an IPv6 address to its /64 network: a client with one address has all 2^64 of them.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => IpAddr::V4(mapped),
            None => IpAddr::V6((u128::from(address) & (u128::MAX << 64)).into()),
        },
        v4 => v4,
    }
}
