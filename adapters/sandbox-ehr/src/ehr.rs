//! The state of the simulated EHR: its database, its switches and its rate limit.

use super::{
    behaviours::Behaviours,
    change::Change,
    practice::PracticeDatabase,
    profile::Profile,
    random::SplitMix64,
    records::{Record, Resource},
    seed,
    wire::{SandboxReply, SandboxRequest},
};

/// The simulated EHR of one practice. Its state is the seed plus every [`Change`] it has returned.
pub struct SandboxEhr {
    pub(super) profile: Profile,
    pub(super) practice: PracticeDatabase,
    pub(super) behaviours: Behaviours,
    /// Random source for lost responses, in the order of the requests.
    chance: SplitMix64,
    /// The current minute and its number of requests.
    quota: (i64, u32),
}

impl SandboxEhr {
    pub fn new(profile: Profile) -> SandboxEhr {
        SandboxEhr {
            practice: seed::practice(&profile),
            chance: SplitMix64::new(profile.seed ^ 0x1057),
            behaviours: Behaviours::default(),
            quota: (0, 0),
            profile,
        }
    }

    /// Restores the EHR from all changes it has returned since `new`, in order. The switches have their defaults.
    pub fn replay(profile: Profile, changes: impl IntoIterator<Item = Change>) -> SandboxEhr {
        let mut ehr = SandboxEhr::new(profile);
        for change in changes {
            ehr.practice.apply(change);
        }
        ehr
    }

    /// Returns the reply of a fault that prevents the request from being handled.
    pub(super) fn failure_reply(&mut self, now_ms: i64, request: &SandboxRequest) -> Option<SandboxReply> {
        if let Some(reply) = self.behaviours.down_at(now_ms) {
            return Some(reply);
        }
        if !self.behaviours.accepts_token(request.header("authorization")) {
            return Some(SandboxReply::error(401, "unauthorized", "The token is not accepted"));
        }
        if let Some(seconds) = self.over_quota(now_ms) {
            let reply = SandboxReply::error(429, "throttled", "Too many requests");
            return Some(reply.with_header("retry-after", &seconds.to_string()));
        }
        (request.is_write() && self.drops_request()).then(|| SandboxReply::default().lost())
    }

    /// Returns the seconds to wait if the request exceeds the rate limit.
    fn over_quota(&mut self, now_ms: i64) -> Option<u32> {
        if self.behaviours.throttle_next > 0 {
            self.behaviours.throttle_next -= 1;
            return Some(self.behaviours.retry_after_seconds);
        }
        let limit = self.behaviours.requests_per_minute?;
        let minute = now_ms.div_euclid(60_000);
        if self.quota.0 != minute {
            self.quota = (minute, 0);
        }
        self.quota.1 = self.quota.1.saturating_add(1);
        let left_ms = 60_000 - now_ms.rem_euclid(60_000);
        (self.quota.1 > limit).then(|| u32::try_from((left_ms + 999) / 1_000).unwrap_or(60))
    }

    fn drops_request(&mut self) -> bool {
        count_down(&mut self.behaviours.drop_next_writes)
            || self.chance.per_mille(self.behaviours.drop_writes_per_mille)
    }

    pub(super) fn loses_reply(&mut self) -> bool {
        count_down(&mut self.behaviours.lose_next_replies)
            || self.chance.per_mille(self.behaviours.lose_replies_per_mille)
    }

    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    pub fn behaviours(&self) -> &Behaviours {
        &self.behaviours
    }

    pub fn record(&self, resource: Resource, id: &str) -> Option<&Record> {
        self.practice.get(resource, id)
    }

    /// Returns all records of a resource, ordered by id.
    pub fn records(&self, resource: Resource) -> impl Iterator<Item = &Record> {
        self.practice.all(resource)
    }
}

/// Returns `true` the first `n` times.
fn count_down(n: &mut u32) -> bool {
    let some = *n > 0;
    *n = n.saturating_sub(1);
    some
}
