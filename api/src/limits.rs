//! Rate limits: per API key over all its locations, and tighter ones per endpoint. A refused call costs no disk write.

use std::{collections::HashMap, num::NonZeroU32};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use crate::{config::RateRules, errors::ApiError, keys::KeyHash};

type Bucket = DefaultKeyedRateLimiter<KeyHash>;

/// Buckets exist per configured key only, so their number is bounded.
pub struct Limits {
    per_key: Vec<Bucket>,
    per_endpoint: HashMap<String, Bucket>,
    clock: DefaultClock,
}

impl Limits {
    pub fn new(rules: &RateRules) -> Limits {
        let bucket =
            |count: u32, quota: fn(NonZeroU32) -> Quota| NonZeroU32::new(count).map(quota).map(RateLimiter::keyed);
        let per_key = [bucket(rules.per_second, Quota::per_second), bucket(rules.per_minute, Quota::per_minute)];
        let endpoint = |(name, count): (&String, &u32)| Some((name.clone(), bucket(*count, Quota::per_second)?));
        Limits {
            per_key: per_key.into_iter().flatten().collect(),
            per_endpoint: rules.endpoints.iter().filter_map(endpoint).collect(),
            clock: DefaultClock::default(),
        }
    }

    /// `endpoint` as in `GET /appointments`.
    pub fn check(&self, key: &KeyHash, endpoint: &str) -> Result<(), ApiError> {
        for bucket in self.per_key.iter().chain(self.per_endpoint.get(endpoint)) {
            bucket.check_key(key).map_err(|until| {
                let wait = until.wait_time_from(self.clock.now());
                ApiError::RateLimit { retry_after: wait.as_secs() + u64::from(wait.subsec_nanos() > 0) }
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rules(per_second: u32, per_minute: u32, endpoint: u32) -> RateRules {
        RateRules { per_second, per_minute, endpoints: [("GET /appointments".to_owned(), endpoint)].into() }
    }

    fn passed(limits: &Limits, key: u8, endpoint: &str, calls: u32) -> usize {
        (0..calls).filter(|_| limits.check(&[key; 32], endpoint).is_ok()).count()
    }

    #[test]
    fn keys_have_buckets_of_their_own() {
        let limits = Limits::new(&rules(5, 1_000, 100));
        assert_eq!(passed(&limits, 1, "GET /locations", 20), 5);
        assert_eq!(passed(&limits, 2, "GET /locations", 20), 5);
    }

    #[test]
    fn endpoints_are_limited_further() {
        let limits = Limits::new(&rules(100, 1_000, 3));
        assert_eq!(passed(&limits, 1, "GET /appointments", 20), 3);
        assert_eq!(passed(&limits, 1, "GET /locations", 20), 20);
    }

    #[test]
    fn a_refusal_says_how_long_to_wait() {
        let limits = Limits::new(&rules(100, 2, 100));
        assert_eq!(passed(&limits, 1, "x", 2), 2);
        let Err(ApiError::RateLimit { retry_after }) = limits.check(&[1; 32], "x") else { panic!("passed") };
        assert!((25..=30).contains(&retry_after), "{retry_after}");
    }

    #[test]
    fn zero_switches_a_limit_off() {
        assert_eq!(passed(&Limits::new(&rules(0, 0, 0)), 1, "GET /appointments", 500), 500);
    }
}
