//! Limits for searches of a patient's visits: per API key, and per telephone number or e-mail address. They bound the
//! details that a caller can try until a patient is found. Every search counts, whether or not it finds a patient.

use std::num::NonZeroU32;

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use location::InstitutionId;
use sha2::{Digest, Sha256};

use crate::http::{errors::ApiError, rate_limit::whole_seconds};

/// Maximum number of tracked numbers and addresses, a few megabytes. Beyond it, inactive ones are discarded.
const CONTACTS: usize = 50_000;

/// Hash of an API key, or of a contact.
type LimitKey = [u8; 32];

type Bucket = DefaultKeyedRateLimiter<LimitKey>;

/// A telephone number or e-mail address of a search, hashed. Institutions do not share limits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contact(LimitKey);

impl Contact {
    /// Hashes a normalized number or address.
    pub fn new(institution: InstitutionId, contact: &str) -> Contact {
        let mut hash = Sha256::new();
        hash.update(institution.0.to_be_bytes());
        hash.update(contact.as_bytes());
        Contact(hash.finalize().into())
    }
}

pub struct FindLimits {
    /// `None` without a limit.
    per_key: Option<Bucket>,
    /// `None` without a limit.
    per_contact: Option<Bucket>,
    clock: DefaultClock,
}

impl FindLimits {
    /// Creates limits per minute for a key, and per hour for a contact. 0 switches a limit off.
    pub fn new(per_minute: u32, per_hour: u32) -> FindLimits {
        FindLimits {
            per_key: NonZeroU32::new(per_minute).map(Quota::per_minute).map(RateLimiter::keyed),
            per_contact: NonZeroU32::new(per_hour).map(Quota::per_hour).map(RateLimiter::keyed),
            clock: DefaultClock::default(),
        }
    }

    /// Counts a search. A search beyond the limit of its key does not count for its contacts.
    pub fn admit(&self, key: &LimitKey, contacts: &[Contact]) -> Result<(), ApiError> {
        if let Some(wait) = self.per_key.as_ref().and_then(|bucket| self.wait(bucket, key)) {
            return Err(ApiError::too_many("Too many searches for visits with this API key; please wait.", wait));
        }
        let Some(bucket) = &self.per_contact else { return Ok(()) };
        if bucket.len() >= CONTACTS {
            bucket.retain_recent();
        }
        let waits = contacts.iter().filter_map(|Contact(contact)| self.wait(bucket, contact));
        // The maximum counts every contact.
        match waits.max() {
            Some(wait) => {
                let message = "Too many searches for visits with this telephone number or e-mail address; please wait.";
                Err(ApiError::too_many(message, wait))
            }
            None => Ok(()),
        }
    }

    /// Counts a search. Returns the seconds to wait if the limit is exceeded.
    fn wait(&self, bucket: &Bucket, key: &LimitKey) -> Option<u64> {
        let refused = bucket.check_key(key).err()?;
        Some(whole_seconds(refused.wait_time_from(self.clock.now())).max(1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn contact(text: &str) -> Contact {
        Contact::new(InstitutionId(1), text)
    }

    #[test]
    fn each_key_and_each_contact_has_a_limit() {
        let limits = FindLimits::new(4, 2);
        let find = |key: u8, contacts: &[Contact]| limits.admit(&[key; 32], contacts).map_err(|it| it.retry_after());
        assert_eq!(find(1, &[contact("5550101"), contact("a@example.com")]), Ok(()));
        assert_eq!(find(1, &[contact("5550101")]), Ok(()));
        // Other keys share the limit of a contact, and any contact over its limit is sufficient.
        let refused = find(2, &[contact("5550102"), contact("5550101")]).unwrap_err().unwrap();
        assert!((1..=1_800).contains(&refused), "{refused}");
        assert_eq!(find(1, &[contact("a@example.com")]), Ok(()));
        assert_eq!(find(1, &[contact("5550103")]), Ok(()));
        let refused = find(1, &[contact("5550104")]).unwrap_err().unwrap();
        assert!((1..=15).contains(&refused), "{refused}");
        assert_eq!(find(2, &[contact("5550104")]), Ok(()));
    }

    #[test]
    fn institutions_have_separate_limits() {
        let limits = FindLimits::new(0, 1);
        for institution in [1, 2] {
            let contact = Contact::new(InstitutionId(institution), "5550101");
            assert!(limits.admit(&[1; 32], &[contact]).is_ok());
            assert!(limits.admit(&[1; 32], &[contact]).is_err());
        }
    }

    #[test]
    fn a_limit_of_zero_refuses_no_search() {
        let limits = FindLimits::new(0, 0);
        assert!((0..1_000).all(|_| limits.admit(&[1; 32], &[contact("5550101")]).is_ok()));
    }
}
