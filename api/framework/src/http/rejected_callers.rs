//! Limit for calls with rejected credentials, per address, so that floods get a short answer and are logged. A valid
//! key passes regardless of other calls from its address, because a key has 256 random bits and cannot be guessed.

use std::{
    net::IpAddr,
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use governor::{
    DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use crate::http::{errors::ApiError, proxies::network, rate_limit::whole_seconds};

/// Maximum number of tracked addresses, a few megabytes. Beyond it, inactive ones are discarded.
const ADDRESSES: usize = 50_000;
/// Log limit: one line per interval, with bursts.
const LOGGED_EVERY: Duration = Duration::from_secs(10);
const LOGGED_AT_ONCE: NonZeroU32 = NonZeroU32::new(5).expect("five is not zero");

pub struct RejectedCallers {
    /// `None` without a limit.
    addresses: Option<DefaultKeyedRateLimiter<IpAddr>>,
    log: DefaultDirectRateLimiter,
    unlogged: AtomicU64,
    clock: DefaultClock,
}

impl RejectedCallers {
    pub fn new(per_minute: u32) -> RejectedCallers {
        let log = Quota::with_period(LOGGED_EVERY).expect("a period above zero").allow_burst(LOGGED_AT_ONCE);
        RejectedCallers {
            addresses: NonZeroU32::new(per_minute).map(Quota::per_minute).map(RateLimiter::keyed),
            log: RateLimiter::direct(log),
            unlogged: AtomicU64::new(0),
            clock: DefaultClock::default(),
        }
    }

    /// Counts a call with rejected credentials. Returns `why`, or an error once its address exceeds the limit. Callers
    /// without an address are local and are not counted.
    pub fn refused(&self, client: Option<IpAddr>, what: &'static str, why: ApiError) -> ApiError {
        let Some(client) = client else { return why };
        let retry_after = self.count(client);
        if self.log.check().is_ok() {
            let unlogged = self.unlogged.swap(0, Ordering::Relaxed);
            tracing::warn!(address = %client, what, limited = retry_after.is_some(), unlogged, "a key or token was not accepted");
        } else {
            self.unlogged.fetch_add(1, Ordering::Relaxed);
        }
        let message = "Too many calls from this address with a key or token that is not accepted; please wait.";
        retry_after.map_or(why, |retry_after| ApiError::too_many(message, retry_after))
    }

    /// Counts a call. Returns the seconds to wait if the limit is exceeded.
    fn count(&self, client: IpAddr) -> Option<u64> {
        let addresses = self.addresses.as_ref()?;
        if addresses.len() >= ADDRESSES {
            addresses.retain_recent();
        }
        let checked = addresses.check_key(&network(client));
        checked.err().map(|until| whole_seconds(until.wait_time_from(self.clock.now())).max(1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::values::failures::Failure;

    fn token() -> ApiError {
        Failure::TokenInvalid.into()
    }

    #[test]
    fn each_address_has_a_separate_limit() {
        let callers = RejectedCallers::new(3);
        let refused = |address: &str| callers.refused(Some(address.parse().unwrap()), "key", token());
        for _ in 0..3 {
            assert_eq!(refused("192.0.2.1"), token());
        }
        let limited = refused("192.0.2.1");
        assert_eq!(limited.failure(), Failure::TooMany);
        assert!(matches!(limited.retry_after(), Some(1..=20)));
        assert_eq!(refused("192.0.2.2"), token());
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let callers = RejectedCallers::new(1);
        let refused = |address: &str| callers.refused(Some(address.parse().unwrap()), "key", token());
        assert_eq!(refused("2001:db8::1"), token());
        assert_eq!(refused("2001:db8::2").failure(), Failure::TooMany);
        assert_eq!(refused("2001:db8:0:1::1"), token());
    }

    #[test]
    fn a_limit_of_zero_refuses_no_address() {
        let address = Some("192.0.2.1".parse().unwrap());
        let [off, on] = [0, 1].map(RejectedCallers::new);
        for _ in 0..100 {
            assert_eq!(off.refused(address, "key", token()), token());
            assert_eq!(on.refused(None, "key", token()), token());
        }
    }
}
