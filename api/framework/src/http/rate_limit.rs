//! Rate limits per API key over all locations, and stricter ones per endpoint. Each is a continuously refilled bucket.
//! A refused call causes no disk write.

use std::{collections::HashMap, fmt, num::NonZeroU32, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DefaultKeyedStateStore,
};

use super::{keyed_semaphore::KeyedSemaphore, rules::RateRules};

/// Hash of an API key.
type RateLimitKey = [u8; 32];

type Bucket = RateLimiter<RateLimitKey, DefaultKeyedStateStore<RateLimitKey>, DefaultClock, StateInformationMiddleware>;

/// Maximum delay of a call. Sequential calls are slowed down instead of refused.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of delayed calls per key, enough for a client with a few sequential workers.
const WAITING: usize = 4;

/// Rate limits. Their memory is bounded because buckets exist only for configured keys.
pub struct RateLimits {
    per_key: Vec<(Per, Bucket)>,
    per_endpoint: HashMap<String, Bucket>,
    /// Delayed calls.
    waiting: KeyedSemaphore<RateLimitKey>,
    clock: DefaultClock,
}

/// Scope of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Second,
    Minute,
    /// Calls to one endpoint per second.
    Endpoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitState {
    pub per: Per,
    /// Bucket capacity in calls.
    pub limit: u32,
    pub remaining: u32,
    /// Seconds until the bucket is full, without further calls.
    pub reset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub limit_state: RateLimitState,
    pub retry_after: u64,
}

impl fmt::Display for RateLimitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match self.per {
            Per::Second => "per second with this API key",
            Per::Minute => "per minute with this API key",
            Per::Endpoint => "per second to this endpoint",
        };
        write!(f, "{} calls {of}", self.limit)
    }
}

impl RateLimits {
    pub fn new(rules: &RateRules) -> RateLimits {
        let bucket = |count: u32, quota: fn(NonZeroU32) -> Quota| {
            let keyed = NonZeroU32::new(count).map(quota).map(RateLimiter::keyed);
            keyed.map(|keyed| keyed.with_middleware::<StateInformationMiddleware>())
        };
        let per_key = [
            (Per::Second, bucket(rules.per_second, Quota::per_second)),
            (Per::Minute, bucket(rules.per_minute, Quota::per_minute)),
        ];
        let endpoint = |(name, count): (&String, &u32)| Some((name.clone(), bucket(*count, Quota::per_second)?));
        RateLimits {
            per_key: per_key.into_iter().filter_map(|(per, bucket)| Some((per, bucket?))).collect(),
            per_endpoint: rules.endpoints.iter().filter_map(endpoint).collect(),
            waiting: KeyedSemaphore::default(),
            clock: DefaultClock::default(),
        }
    }

    /// Admits a call to `endpoint`, such as `GET /appointments`. Returns the state of the tightest limit. Checks the
    /// fastest bucket first, so that refused calls do not count per minute. Delays a call that exceeds a limit per
    /// second if the wait is short.
    pub async fn admit(&self, key: &RateLimitKey, endpoint: &str) -> Result<Option<RateLimitState>, Exceeded> {
        let of_endpoint = self.per_endpoint.get(endpoint).map(|bucket| (Per::Endpoint, bucket));
        let of_key = self.per_key.iter().map(|(per, bucket)| (*per, bucket));
        let (mut left, mut place, mut tightest) = (PATIENCE, None, None::<RateLimitState>);
        for (per, bucket) in of_endpoint.into_iter().chain(of_key) {
            let taken = loop {
                let until = match bucket.check_key(key) {
                    Ok(taken) => break taken,
                    Err(until) => until,
                };
                let wait = until.wait_time_from(self.clock.now());
                let patient = per != Per::Minute && wait <= left;
                if patient && place.is_none() {
                    place = self.waiting.try_acquire(*key, WAITING);
                }
                if !patient || place.is_none() {
                    let limit_state = RateLimitState::new(per, until.quota(), 0);
                    return Err(Exceeded { limit_state, retry_after: whole_seconds(wait).max(1) });
                }
                left -= wait;
                tokio::time::sleep(wait).await;
            };
            let limit_state = RateLimitState::new(per, taken.quota(), taken.remaining_burst_capacity());
            if tightest.is_none_or(|it| limit_state.remaining < it.remaining) {
                tightest = Some(limit_state);
            }
        }
        Ok(tightest)
    }
}

impl RateLimitState {
    fn new(per: Per, quota: Quota, remaining: u32) -> RateLimitState {
        let limit = quota.burst_size().get();
        let reset = whole_seconds(quota.replenish_interval() * limit.saturating_sub(remaining));
        RateLimitState { per, limit, remaining, reset }
    }
}

/// Returns the duration in seconds, rounded up.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{
        future::{Future, poll_fn},
        task::Poll,
    };

    use super::*;

    fn rules(per_second: u32, per_minute: u32, endpoint: u32) -> RateRules {
        RateRules { per_second, per_minute, endpoints: [("GET /appointments".to_owned(), endpoint)].into() }
    }

    /// Returns the numbers of concurrent calls that pass in total, and without delay.
    async fn passed(limits: &RateLimits, key: u8, endpoint: &str, calls: u32) -> (usize, usize) {
        let key = [key; 32];
        let calls: Vec<_> = (0..calls).map(|_| Box::pin(limits.admit(&key, endpoint))).collect();
        let (mut passed, mut at_once, mut waiting) = (0, 0, Vec::new());
        for mut call in calls {
            match poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await {
                Poll::Ready(answer) => at_once += usize::from(answer.is_ok()),
                Poll::Pending => waiting.push(call),
            }
        }
        for call in waiting {
            passed += usize::from(call.await.is_ok());
        }
        (passed + at_once, at_once)
    }

    #[tokio::test]
    async fn each_key_has_a_separate_bucket() {
        let limits = RateLimits::new(&rules(0, 5, 100));
        assert_eq!(passed(&limits, 1, "GET /locations", 20).await, (5, 5));
        assert_eq!(passed(&limits, 2, "GET /locations", 20).await, (5, 5));
    }

    #[tokio::test]
    async fn endpoints_have_an_additional_limit() {
        let limits = RateLimits::new(&rules(100, 1_000, 3));
        assert_eq!(passed(&limits, 1, "GET /appointments", 20).await, (3 + WAITING, 3));
        assert_eq!(passed(&limits, 1, "GET /locations", 20).await, (20, 20));
    }

    #[tokio::test]
    async fn sequential_calls_are_delayed_and_not_refused() {
        let limits = RateLimits::new(&rules(0, 0, 20));
        for _ in 0..50 {
            assert!(limits.admit(&[1; 32], "GET /appointments").await.is_ok());
        }
        assert!(limits.waiting.0.lock().is_empty());
    }

    #[tokio::test]
    async fn cancelled_calls_do_not_count_as_delayed() {
        let limits = RateLimits::new(&rules(1, 0, 0));
        assert!(limits.admit(&[1; 32], "x").await.is_ok());
        for _ in 0..3 * WAITING {
            let call = tokio::time::timeout(Duration::from_millis(1), limits.admit(&[1; 32], "x"));
            assert!(call.await.is_err(), "it waits");
        }
    }

    #[tokio::test]
    async fn a_refusal_contains_the_wait_and_the_limit() {
        let limits = RateLimits::new(&rules(100, 2, 100));
        assert_eq!(passed(&limits, 1, "x", 2).await, (2, 2));
        let Err(Exceeded { limit_state, retry_after }) = limits.admit(&[1; 32], "x").await else { panic!("passed") };
        assert!((25..=30).contains(&retry_after), "{retry_after}");
        assert_eq!(
            (limit_state.per, limit_state.limit, limit_state.remaining, limit_state.reset),
            (Per::Minute, 2, 0, 60)
        );
        assert_eq!(limit_state.to_string(), "2 calls per minute with this API key");
    }

    #[tokio::test]
    async fn the_limit_with_the_fewest_calls_left_is_returned() {
        let limits = RateLimits::new(&rules(100, 30, 20));
        let limit_state = async |endpoint| limits.admit(&[1; 32], endpoint).await.unwrap().unwrap();
        let (first, second) = (limit_state("x").await, limit_state("x").await);
        assert_eq!((first.limit, second.remaining), (30, 28));
        let of_endpoint = limit_state("GET /appointments").await;
        assert_eq!((of_endpoint.per, of_endpoint.limit, of_endpoint.remaining), (Per::Endpoint, 20, 19));
    }

    #[tokio::test]
    async fn refused_calls_do_not_count_per_minute() {
        let limits = RateLimits::new(&rules(100, 50, 3));
        assert_eq!(passed(&limits, 1, "GET /appointments", 500).await, (3 + WAITING, 3));
        let left = 50 - 3 - WAITING;
        // The minute's bucket refilled slightly during the delays.
        let now = passed(&limits, 1, "GET /locations", 500).await.1;
        assert!((left..left + 5).contains(&now), "{now}");
    }

    #[tokio::test]
    async fn zero_switches_a_limit_off() {
        assert_eq!(passed(&RateLimits::new(&rules(0, 0, 0)), 1, "GET /appointments", 500).await, (500, 500));
    }
}
