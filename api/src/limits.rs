//! Rate limits: per API key over all its locations, and tighter ones per endpoint. Each is a bucket that refills all the time. A refused
//! call costs no disk write.

use std::{collections::HashMap, fmt, num::NonZeroU32, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::{StateInformationMiddleware, StateSnapshot},
    state::keyed::DefaultKeyedStateStore,
};

use crate::{config::RateRules, errors::ApiError, keys::KeyHash};

type Bucket = RateLimiter<KeyHash, DefaultKeyedStateStore<KeyHash>, DefaultClock, StateInformationMiddleware>;

/// Buckets exist per configured key only, so their number is bounded.
pub struct Limits {
    per_key: Vec<(Per, Bucket)>,
    per_endpoint: HashMap<String, Bucket>,
    clock: DefaultClock,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Second,
    Minute,
    /// Calls of one endpoint in a second.
    Endpoint,
}

/// Where a caller stands within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub per: Per,
    /// Calls a full bucket holds.
    pub limit: u32,
    pub remaining: u32,
    /// Seconds until the bucket is full again, if nothing is taken meanwhile.
    pub reset: u64,
}

/// A call that came too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub standing: Standing,
    pub retry_after: u64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.per {
            Per::Second => "per second with this API key",
            Per::Minute => "per minute with this API key",
            Per::Endpoint => "per second to this endpoint",
        };
        write!(f, "{} calls {of}", self.limit)
    }
}

impl From<Exceeded> for ApiError {
    fn from(Exceeded { standing, retry_after }: Exceeded) -> ApiError {
        ApiError::RateLimit { retry_after, limit: standing }
    }
}

impl Limits {
    pub fn new(rules: &RateRules) -> Limits {
        let bucket = |count: u32, quota: fn(NonZeroU32) -> Quota| {
            let keyed = NonZeroU32::new(count).map(quota).map(RateLimiter::keyed);
            keyed.map(|keyed| keyed.with_middleware::<StateInformationMiddleware>())
        };
        let per_key = [
            (Per::Second, bucket(rules.per_second, Quota::per_second)),
            (Per::Minute, bucket(rules.per_minute, Quota::per_minute)),
        ];
        let endpoint = |(name, count): (&String, &u32)| Some((name.clone(), bucket(*count, Quota::per_second)?));
        Limits {
            per_key: per_key.into_iter().filter_map(|(per, bucket)| Some((per, bucket?))).collect(),
            per_endpoint: rules.endpoints.iter().filter_map(endpoint).collect(),
            clock: DefaultClock::default(),
        }
    }

    /// `endpoint` as in `GET /appointments`. Tells of the bucket with the fewest calls left. What refills soonest is asked first: a call
    /// that is refused there takes nothing from the minute.
    pub fn check(&self, key: &KeyHash, endpoint: &str) -> Result<Option<Standing>, Exceeded> {
        let of_endpoint = self.per_endpoint.get(endpoint).map(|bucket| (Per::Endpoint, bucket));
        let of_key = self.per_key.iter().map(|(per, bucket)| (*per, bucket));
        let mut tightest: Option<Standing> = None;
        for (per, bucket) in of_endpoint.into_iter().chain(of_key) {
            let taken = bucket.check_key(key).map_err(|until| {
                let standing = Standing::of(per, until.quota(), 0);
                Exceeded { standing, retry_after: whole_seconds(until.wait_time_from(self.clock.now())).max(1) }
            })?;
            let standing = Standing::after(per, &taken);
            if tightest.is_none_or(|it| standing.remaining < it.remaining) {
                tightest = Some(standing);
            }
        }
        Ok(tightest)
    }
}

impl Standing {
    fn after(per: Per, taken: &StateSnapshot) -> Standing {
        Standing::of(per, taken.quota(), taken.remaining_burst_capacity())
    }

    fn of(per: Per, quota: Quota, remaining: u32) -> Standing {
        let limit = quota.burst_size().get();
        let reset = whole_seconds(quota.replenish_interval() * limit.saturating_sub(remaining));
        Standing { per, limit, remaining, reset }
    }
}

/// Rounded up.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
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
        let Err(Exceeded { standing, retry_after }) = limits.check(&[1; 32], "x") else { panic!("passed") };
        assert!((25..=30).contains(&retry_after), "{retry_after}");
        assert_eq!((standing.per, standing.limit, standing.remaining, standing.reset), (Per::Minute, 2, 0, 60));
        assert_eq!(standing.to_string(), "2 calls per minute with this API key");
    }

    #[test]
    fn a_call_hears_of_the_tightest_limit() {
        let limits = Limits::new(&rules(100, 30, 20));
        let standing = |endpoint| limits.check(&[1; 32], endpoint).unwrap().unwrap();
        assert_eq!((standing("x").limit, standing("x").remaining), (30, 28));
        let of_endpoint = standing("GET /appointments");
        assert_eq!((of_endpoint.per, of_endpoint.limit, of_endpoint.remaining), (Per::Endpoint, 20, 19));
    }

    #[test]
    fn refused_calls_leave_the_minute_alone() {
        let limits = Limits::new(&rules(100, 50, 3));
        assert_eq!(passed(&limits, 1, "GET /appointments", 500), 3);
        assert_eq!(passed(&limits, 1, "GET /locations", 500), 47);
    }

    #[test]
    fn zero_switches_a_limit_off() {
        assert_eq!(passed(&Limits::new(&rules(0, 0, 0)), 1, "GET /appointments", 500), 500);
    }
}
