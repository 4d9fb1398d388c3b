//! The switches that make the simulated EHR as unpleasant as real ones are. They are set in tests and in the demo, and do not
//! outlive a restart.

use serde::{Deserialize, Serialize};

use super::{
    wire::{Delivery, SandboxReply},
    write_kinds::WriteKind,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviours {
    /// Writes it refuses with 422. The first rule that fits is used.
    pub reject: Vec<Rejection>,
    /// Writes this EHR does not know: `about` leaves them out, and each is answered with 501.
    pub unsupported: Vec<WriteKind>,
    /// Every answer takes this long.
    pub delay_ms: u64,
    /// The next writes are carried out, their answers get lost.
    pub lose_next_replies: u32,
    /// So many of 1,000 writes are carried out and their answers get lost.
    pub lose_replies_per_mille: u32,
    /// The next writes get lost on their way.
    pub drop_next_writes: u32,
    pub drop_writes_per_mille: u32,
    pub refuse_new_patients: bool,
    /// Fields a new patient must have: `born`, `gender`, `email`, `cell`, `address`, ...
    pub required_patient_fields: Vec<String>,
    /// A patient with the same names and date of birth is refused.
    pub refuse_duplicate_patients: bool,
    /// Longest plan name, in characters.
    pub max_plan_name: Option<usize>,
    /// A write key seen before answers with the record then written, instead of writing again.
    pub idempotent: bool,
    /// An update with another version than the record's is refused.
    pub checks_versions: bool,
    pub down: Option<Down>,
    /// The next requests are answered with 429.
    pub throttle_next: u32,
    pub retry_after_seconds: u32,
    pub requests_per_minute: Option<u32>,
    /// Requests need `Authorization: Bearer <token>`.
    pub token: Option<String>,
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours {
            reject: Vec::new(),
            unsupported: Vec::new(),
            delay_ms: 0,
            lose_next_replies: 0,
            lose_replies_per_mille: 0,
            drop_next_writes: 0,
            drop_writes_per_mille: 0,
            refuse_new_patients: false,
            required_patient_fields: Vec::new(),
            refuse_duplicate_patients: false,
            max_plan_name: Some(32),
            idempotent: true,
            checks_versions: true,
            down: None,
            throttle_next: 0,
            retry_after_seconds: 2,
            requests_per_minute: None,
            token: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// None means every kind.
    #[serde(default)]
    pub write: Option<WriteKind>,
    /// None means from now on.
    #[serde(default)]
    pub times: Option<u32>,
    /// The `error` word of the answer.
    pub code: String,
    #[serde(default)]
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Down {
    pub until_ms: i64,
    pub how: HowDown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HowDown {
    /// Answers 503.
    Unavailable,
    /// Takes requests and answers none.
    Silent,
    /// Does not accept connections.
    Refused,
    /// Answers 500.
    Broken,
}

impl Behaviours {
    pub(super) fn down_at(&mut self, now_ms: i64) -> Option<SandboxReply> {
        let down = self.down?;
        if now_ms >= down.until_ms {
            self.down = None;
            return None;
        }
        let silent = |delivery| SandboxReply { delivery, ..SandboxReply::default() };
        Some(match down.how {
            HowDown::Unavailable => SandboxReply::error(503, "unavailable", "Closed for maintenance"),
            HowDown::Broken => SandboxReply::error(500, "internal", "Something went wrong"),
            HowDown::Silent => silent(Delivery::Lost),
            HowDown::Refused => silent(Delivery::Refused),
        })
    }

    pub(super) fn accepts_token(&self, authorization: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        authorization.and_then(|value| value.strip_prefix("Bearer ")) == Some(token)
    }

    pub(super) fn supports(&self, kind: WriteKind) -> bool {
        !self.unsupported.contains(&kind)
    }

    /// The answer to a write that is to be refused.
    pub(super) fn rejection(&mut self, kind: WriteKind) -> Option<SandboxReply> {
        let at = self.reject.iter().position(|rule| rule.write.is_none_or(|w| w == kind) && rule.times != Some(0))?;
        let rule = &mut self.reject[at];
        rule.times = rule.times.map(|n| n - 1);
        let reply = SandboxReply::error(422, &rule.code, &rule.message);
        if rule.times == Some(0) {
            self.reject.remove(at);
        }
        Some(reply)
    }
}
