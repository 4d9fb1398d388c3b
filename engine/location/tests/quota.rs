//! Buckets of request quotas.

use location::{
    quota::Bucket,
    settings::Quota,
    time::{MINUTE, SECOND, Timestamp},
};

#[test]
fn bucket_allows_a_burst_then_the_rate() {
    let quota = Quota { per_minute: 60, burst: 3 };
    let mut bucket = Bucket::default();
    let start = Timestamp(1_000_000);
    for left in (0..3).rev() {
        bucket.take(quota, start);
        assert_eq!(bucket.available(quota, start), left);
    }
    assert_eq!(bucket.next_at(quota, start), start.plus(SECOND));
    assert_eq!(bucket.available(quota, start.plus(SECOND - 1)), 0);
    assert_eq!(bucket.available(quota, start.plus(SECOND)), 1);
    assert_eq!(bucket.available(quota, start.plus(3 * SECOND)), 3);
    assert_eq!(bucket.available(quota, start.plus(MINUTE)), 3, "never more than the burst");
}

#[test]
fn overdue_calls_wait_for_the_refill_after_the_last_call() {
    let quota = Quota { per_minute: 60, burst: 1 };
    let mut bucket = Bucket::default();
    let start = Timestamp(1_000_000);
    bucket.take(quota, start);
    for due in [Timestamp::MIN, Timestamp(0), start] {
        assert_eq!(bucket.next_at(quota, due), start.plus(SECOND));
    }
}

#[test]
fn next_at_returns_a_time_with_an_available_call() {
    for quota in
        [Quota { per_minute: 0, burst: 0 }, Quota { per_minute: 7, burst: 0 }, Quota { per_minute: 0, burst: 3 }]
    {
        let (mut bucket, mut now) = (Bucket::default(), Timestamp(1_000_000));
        for _ in 0..5 {
            now = bucket.next_at(quota, now);
            assert!(bucket.available(quota, now) > 0, "{quota:?}");
            bucket.take(quota, now);
        }
    }
}
