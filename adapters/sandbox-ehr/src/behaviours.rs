//! Switches for the misbehaviour of real EHRs. They are set in tests and in the demo, and are reset by a restart.

use serde::{Deserialize, Serialize};

use super::{
    wire::{Delivery, SandboxReply},
    write_kinds::WriteKind,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviours {
    /// Writes to refuse with 422. The first matching rule is used.
    pub reject: Vec<Rejection>,
    /// Unsupported writes: omitted from `about` and answered with 501.
    pub unsupported: Vec<WriteKind>,
    /// Writes that are executed but whose response is lost. The first matching rule is used.
    pub lose: Vec<Loss>,
    /// Writes that are lost before they arrive. The first matching rule is used.
    pub forget: Vec<Loss>,
    /// Delay of every response.
    pub delay_ms: u64,
    /// Number of next writes that are executed but whose response is lost.
    pub lose_next_replies: u32,
    /// Per mille of writes that are executed but whose response is lost.
    pub lose_replies_per_mille: u32,
    /// Number of next writes that are lost before they arrive.
    pub drop_next_writes: u32,
    pub drop_writes_per_mille: u32,
    pub refuse_new_patients: bool,
    /// Required fields of a new patient: `born`, `gender`, `email`, `cell`, `address`, ...
    pub required_patient_fields: Vec<String>,
    /// Refuses a patient with the same names and date of birth.
    pub refuse_duplicate_patients: bool,
    /// Maximum length of a plan name, in characters.
    pub max_plan_name: Option<usize>,
    /// A repeated write key returns the record of the first write instead of writing again.
    pub idempotent: bool,
    /// Refuses an update with another version than the record's.
    pub checks_versions: bool,
    pub down: Option<Down>,
    /// Number of next requests that are answered with 429.
    pub throttle_next: u32,
    pub retry_after_seconds: u32,
    pub requests_per_minute: Option<u32>,
    /// Required token of the `Authorization: Bearer <token>` header.
    pub token: Option<String>,
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours {
            reject: Vec::new(),
            unsupported: Vec::new(),
            lose: Vec::new(),
            forget: Vec::new(),
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
    /// `None` for every kind.
    #[serde(default)]
    pub write: Option<WriteKind>,
    /// `None` for an unlimited number.
    #[serde(default)]
    pub times: Option<u32>,
    /// The `error` code of the response.
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// A rule for writes that are lost, or whose response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// `None` for every kind.
    #[serde(default)]
    pub write: Option<WriteKind>,
    /// `None` for an unlimited number.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Uses the first rule for a kind of write, and removes it after its last time. `parts` returns the kind and the times
/// of a rule.
fn use_rule<T: Clone>(
    rules: &mut Vec<T>,
    kind: WriteKind,
    parts: fn(&mut T) -> (Option<WriteKind>, &mut Option<u32>),
) -> Option<T> {
    rules.retain_mut(|rule| *parts(rule).1 != Some(0));
    let at = rules.iter_mut().position(|rule| parts(rule).0.is_none_or(|of| of == kind))?;
    let rule = rules[at].clone();
    let (_, times) = parts(&mut rules[at]);
    *times = times.map(|left| left - 1);
    if *times == Some(0) {
        rules.remove(at);
    }
    Some(rule)
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
    /// Responds with 503.
    Unavailable,
    /// Accepts requests but does not respond.
    Silent,
    /// Does not accept connections.
    Refused,
    /// Responds with 500.
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

    /// Returns the response to a write that matches a rule.
    pub(super) fn rejection(&mut self, kind: WriteKind) -> Option<SandboxReply> {
        let rule = use_rule(&mut self.reject, kind, |rule| (rule.write, &mut rule.times))?;
        Some(SandboxReply::error(422, &rule.code, &rule.message))
    }

    /// Returns `true` if a write is lost before it arrives.
    pub(super) fn forgets(&mut self, kind: WriteKind) -> bool {
        use_rule(&mut self.forget, kind, |rule| (rule.write, &mut rule.times)).is_some()
    }

    /// Returns `true` if the response to an executed write is lost.
    pub(super) fn loses(&mut self, kind: WriteKind) -> bool {
        use_rule(&mut self.lose, kind, |rule| (rule.write, &mut rule.times)).is_some()
    }
}
