//! The rules of a location, with overrides by appointment type and channel.

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
    iter,
};

use serde::{Deserialize, Serialize};

use super::{
    instead::Instead,
    visit_rules::{Contradiction, DailyCaps, RuleOverrides, VisitRules},
};
use crate::{
    AppointmentTypeId, Millis,
    keys::{ConfigKey, KeyReader, KeyTable},
};

/// The booking rules of a location. The default is neutral.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleSet {
    /// The rules without overrides.
    pub plain: VisitRules,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<AppointmentTypeId, RuleOverrides>,
    /// Overrides by the channel of an API key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, RuleOverrides>,
}

/// The rules for one type and channel, and the buffers of the visits around.
#[derive(Clone, Debug)]
pub(crate) struct RulesInForce<'a> {
    pub(crate) rules: VisitRules,
    pub(super) set: &'a RuleSet,
    /// The longest buffer of any visit at the location.
    pub(super) longest_buffer: Millis,
}

impl RulesInForce<'_> {
    /// Returns the times before and after a new visit of another type that stay free.
    pub(super) fn buffers_of(
        &self,
        appointment_type: Option<AppointmentTypeId>,
        channel: Option<&str>,
    ) -> (Millis, Millis) {
        let rules = self.set.effective(appointment_type, channel);
        (rules.buffer_before, rules.buffer_after)
    }

    /// Returns `true` if the rules refuse no time and no patient.
    pub(super) fn is_neutral(&self) -> bool {
        self.longest_buffer == 0 && self.rules.is_neutral()
    }
}

impl RuleSet {
    /// Returns `true` if there are no rules at all.
    pub fn is_neutral(&self) -> bool {
        self.types.is_empty() && self.channels.is_empty() && self.plain == VisitRules::default()
    }

    /// Returns the rules for a type and a channel. If both override a key, the type's value applies. Caps of the type
    /// are in `type_caps`, because they count only its visits.
    pub fn effective(&self, appointment_type: Option<AppointmentTypeId>, channel: Option<&str>) -> VisitRules {
        let mut rules = self.plain.clone();
        if let Some(overrides) = channel.and_then(|channel| self.channels.get(channel)) {
            overrides.apply(&mut rules);
        }
        if let Some(overrides) = appointment_type.and_then(|id| self.types.get(&id)) {
            let of_location = rules.caps();
            rules.set_caps(DailyCaps::default());
            overrides.apply(&mut rules);
            rules.type_caps = rules.caps();
            rules.set_caps(of_location);
        }
        // A type is no way out of itself.
        rules.instead = rules.instead.filter(|instead| appointment_type.map(Instead::Type) != Some(*instead));
        rules
    }

    /// Returns a digest of the rules for a type, as sealed into slot tokens. It covers all channels, so that a token of
    /// one channel that a key of another one uses is no change of the rules. It is 0 for rules that refuse no time and
    /// no patient.
    pub fn digest(&self, appointment_type: Option<AppointmentTypeId>) -> u64 {
        if self.is_neutral() {
            return 0;
        }
        let (mut hasher, mut refuses) = (Fnv(0xcbf2_9ce4_8422_2325), false);
        for channel in iter::once(None).chain(self.channels.keys().map(|name| Some(name.as_str()))) {
            let rules = self.refusing(appointment_type, channel);
            refuses |= !rules.is_neutral();
            (channel, rules).hash(&mut hasher);
        }
        if refuses { hasher.finish().max(1) } else { 0 }
    }

    /// Returns the rules for a type and a channel without notices of changes and `instead`, which refuse no slot.
    pub(crate) fn refusing(&self, appointment_type: Option<AppointmentTypeId>, channel: Option<&str>) -> VisitRules {
        let rules = self.effective(appointment_type, channel);
        VisitRules { cancel_notice: 0, reschedule_notice: 0, instead: None, ..rules }
    }

    /// Returns the rules for a type and a channel, with what else decides about a time.
    pub(crate) fn in_force(
        &self,
        appointment_type: Option<AppointmentTypeId>,
        channel: Option<&str>,
    ) -> RulesInForce<'_> {
        let rules = self.effective(appointment_type, channel);
        let longest_buffer = self.longest_buffer();
        RulesInForce { rules, set: self, longest_buffer }
    }

    /// Returns the minutes before and after a visit of a type that stay free.
    pub(super) fn buffers(&self, appointment_type: Option<AppointmentTypeId>) -> (Millis, Millis) {
        let overrides = appointment_type.and_then(|id| self.types.get(&id));
        let before = overrides.and_then(|it| it.buffer_before).unwrap_or(self.plain.buffer_before);
        let after = overrides.and_then(|it| it.buffer_after).unwrap_or(self.plain.buffer_after);
        (before, after)
    }

    fn longest_buffer(&self) -> Millis {
        let overridden = self.types.values().chain(self.channels.values());
        let overridden = overridden.flat_map(|it| [it.buffer_before, it.buffer_after]).flatten();
        let plain = [self.plain.buffer_before, self.plain.buffer_after];
        overridden.chain(plain).fold(0, Millis::max)
    }

    /// Reports contradictions of overrides with the rules around them.
    fn check_overrides(&self, keys: &impl KeyReader) {
        let known = self.plain.contradictions();
        let check = |table: &str, name: &str, overrides: &RuleOverrides| {
            let mut rules = self.plain.clone();
            overrides.apply(&mut rules);
            for Contradiction { keys: names, problem } in rules.contradictions() {
                if !known.iter().any(|known| known.keys == names) {
                    keys.problem(&[table, name], &names, &format!("{problem} (in `{table}.{name}`)"));
                }
            }
        };
        for (id, overrides) in &self.types {
            check("types", &id.to_string(), overrides);
            if overrides.instead == Some(Some(Instead::Type(*id))) {
                let problem = "`instead` names the appointment type itself: name another type, `call` or `request`";
                keys.problem(&["types", &id.to_string()], &["instead"], problem);
            }
        }
        for (name, overrides) in &self.channels {
            check("channels", name, overrides);
        }
    }
}

impl KeyTable for RuleSet {
    fn read_keys(&mut self, keys: &impl KeyReader) {
        self.plain.read_keys(keys);
        let type_id = |text: &str| {
            let id = text.parse::<u32>().ok().filter(|id| *id > 0 && i32::try_from(*id).is_ok());
            id.map(AppointmentTypeId).ok_or_else(|| "must be the id of an appointment type".to_owned())
        };
        keys.tables_by_name(ConfigKey::reload("types", ""), "ID", &mut self.types, type_id);
        keys.tables_by_name(ConfigKey::reload("channels", ""), "NAME", &mut self.channels, channel_name);
        for Contradiction { keys: names, problem } in self.plain.contradictions() {
            keys.problem(&[], &names, &problem);
        }
        self.check_overrides(keys);
    }
}

/// Parses the name of a channel.
pub fn channel_name(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    let valid = (1..=63).contains(&text.len()) && text.bytes().all(allowed);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("must have 1 to 63 lower case letters, digits, hyphens and underscores".into())
    }
}

/// The FNV-1a hash: the same on every node and in every process.
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
