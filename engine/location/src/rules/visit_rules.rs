//! The rules of a visit, declared once per key: a struct with all values, and one that overrides single values.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    closure::{Closure, minute_of_day, show_minute},
    instead::Instead,
};
use crate::{
    DAY, MINUTE, Millis,
    keys::{ConfigKey, KeyReader, KeyTable},
};

/// Maximum of `horizon`, in days.
const MAX_HORIZON: i64 = 3_650;
/// The accepted values of `align`: the grid repeats every hour.
const ALIGNMENTS: [u16; 12] = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];

/// Declares the rules. A row has the field, its type and neutral value, and its kind as in `settings!`. The name in the
/// configuration and the sentence of the reference follow.
macro_rules! visit_rules {
    ($(
        $(#[$note:meta])*
        $field:ident: $type:ty = $default:expr,
        $kind:ident($($argument:expr),*) $(.$method:ident($($with:expr),*))* => $key:literal, $about:literal;
    )*) => {
        /// The booking rules of a visit. The default is neutral.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(default)]
        pub struct VisitRules {
            $(
                #[doc = $about]
                $(#[$note])*
                pub $field: $type,
            )*
            /// Caps that count only visits of the same type. They apply in addition to those of the location.
            pub type_caps: DailyCaps,
        }

        impl Default for VisitRules {
            fn default() -> VisitRules {
                VisitRules { $($field: $default,)* type_caps: DailyCaps::default() }
            }
        }

        /// The rules that an appointment type or a channel overrides.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(default)]
        pub struct RuleOverrides {
            $(
                #[doc = $about]
                #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
                pub $field: Option<$type>,
            )*
        }

        impl KeyTable for VisitRules {
            fn read_keys(&mut self, keys: &impl KeyReader) {
                $($crate::settings!(
                    @read keys,
                    ConfigKey::reload($key, $about),
                    &mut self.$field,
                    $kind($($argument),*) $(.$method($($with),*))*
                );)*
            }
        }

        impl KeyTable for RuleOverrides {
            fn read_keys(&mut self, keys: &impl KeyReader) {
                $(if keys.has_key($key) {
                    let mut value = self.$field.take().unwrap_or_else(|| VisitRules::default().$field);
                    $crate::settings!(
                        @read keys,
                        ConfigKey::reload($key, $about),
                        &mut value,
                        $kind($($argument),*) $(.$method($($with),*))*
                    );
                    self.$field = Some(value);
                })*
            }
        }

        impl RuleOverrides {
            /// Replaces the overridden values of `rules`.
            pub(super) fn apply(&self, rules: &mut VisitRules) {
                $(if let Some(value) = &self.$field {
                    rules.$field.clone_from(value);
                })*
            }
        }
    };
}

visit_rules! {
    minimum_notice: Millis = 0, duration(0..=365 * DAY) => "minimum_notice",
        "How long before its start a visit must be booked.";
    minimum_notice_days: u16 = 0, integer(0..=365) => "minimum_notice_days",
        "The same in calendar days of the location: 1 means no visits on the same day.";
    /// In minutes after midnight.
    cutoff: Option<u16> = None, text_as(cutoff_minute, cutoff_time).described("a local time", "").or_none() => "cutoff",
        "From this local time on, the next bookable day is one day later. With `minimum_notice_days = 0` no more \
         visits are booked on the same day.";
    horizon_days: u16 = 730, integer(0..=MAX_HORIZON) => "horizon",
        "Visits are booked at most this many calendar days ahead.";
    buffer_before: Millis = 0, minutes(0..=1_440) => "buffer_before",
        "Minutes before a visit that are free of other visits in its operatory, or of its provider if the visit has no \
         operatory. The time may be outside working hours or in a block of the EHR.";
    buffer_after: Millis = 0, minutes(0..=1_440) => "buffer_after", "The same after a visit, in minutes.";
    daily_visits: Option<u32> = None, integer(0..=100_000).or_none() => "daily_visits",
        "Visits of a day at the location, wherever they were booked; no more are booked. For an appointment type: \
         visits of that type, in addition to the cap of the location.";
    daily_minutes: Option<u32> = None, integer(0..=1_000_000).or_none() => "daily_minutes",
        "The same in minutes of visits.";
    daily_visits_per_provider: Option<u32> = None, integer(0..=100_000).or_none() => "daily_visits_per_provider",
        "Visits of a day of one provider at the location. For an appointment type: visits of that type.";
    daily_minutes_per_provider: Option<u32> = None, integer(0..=1_000_000).or_none() => "daily_minutes_per_provider",
        "The same in minutes of visits.";
    closures: Vec<Closure> = Vec::new(), list("dates, ranges of dates, or ranges with local times", closure) =>
        "closures",
        "Times without visits: `\"2026-12-24\"`, `\"2026-12-27..2027-01-02\"` or \
         `\"2026-12-31T12:00..2027-01-01T12:00\"`. The list replaces an inherited one.";
    /// In minutes.
    align: Option<u16> = None, one_of(&ALIGNMENTS).or_none() => "align",
        "Visits start at multiples of this many minutes from the full hour.";
    new_patients: bool = true, word(&PERMISSION) => "new_patients",
        "If `refused`, patients who are new to the practice cannot book.";
    known_patients: bool = true, word(&PERMISSION) => "known_patients",
        "If `refused`, patients whom the practice knows cannot book.";
    age_min: Option<u16> = None, integer(0..=150).or_none() => "age_min",
        "Lowest age on the day of the visit, in years.";
    age_max: Option<u16> = None, integer(0..=150).or_none() => "age_max",
        "Highest age on the day of the visit, in years.";
    cancel_notice: Millis = 0, duration(0..=365 * DAY) => "cancel_notice",
        "How long before its start a visit can be cancelled through an intent.";
    reschedule_notice: Millis = 0, duration(0..=365 * DAY) => "reschedule_notice",
        "How long before its start a visit can be rescheduled through an intent.";
    instead: Option<Instead> = None,
        text(instead).described("`call`, `request`, or `type:` and an id", "").or_none() => "instead",
        "The way out that clients should offer when a rule refuses a visit. Refusals contain it.";
}

const PERMISSION: [(&str, bool); 2] = [("allowed", true), ("refused", false)];

/// Caps of one local day. Minutes are those of the visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct DailyCaps {
    /// Visits at the location.
    pub visits: Option<u32>,
    /// Minutes at the location.
    pub minutes: Option<u32>,
    pub visits_per_provider: Option<u32>,
    pub minutes_per_provider: Option<u32>,
}

/// Two or more rules that together leave no visit, or of which one has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The keys, by their names in the configuration.
    pub keys: Vec<&'static str>,
    /// The problem and its fix.
    pub problem: String,
}

impl DailyCaps {
    pub(super) fn any(&self) -> bool {
        *self != DailyCaps::default()
    }

    pub(super) fn any_per_provider(&self) -> bool {
        self.visits_per_provider.is_some() || self.minutes_per_provider.is_some()
    }
}

impl VisitRules {
    /// Returns the caps that count all visits of the location.
    pub(super) fn caps(&self) -> DailyCaps {
        DailyCaps {
            visits: self.daily_visits,
            minutes: self.daily_minutes,
            visits_per_provider: self.daily_visits_per_provider,
            minutes_per_provider: self.daily_minutes_per_provider,
        }
    }

    /// Replaces the caps that count all visits of the location.
    pub(super) fn set_caps(&mut self, caps: DailyCaps) {
        self.daily_visits = caps.visits;
        self.daily_minutes = caps.minutes;
        self.daily_visits_per_provider = caps.visits_per_provider;
        self.daily_minutes_per_provider = caps.minutes_per_provider;
    }

    /// Returns `true` if the rules refuse no time and no patient.
    pub fn is_neutral(&self) -> bool {
        let neutral = VisitRules::default();
        VisitRules {
            cancel_notice: self.cancel_notice,
            reschedule_notice: self.reschedule_notice,
            instead: self.instead,
            ..neutral
        } == *self
    }

    /// Returns the alignment in milliseconds.
    pub(super) fn alignment(&self) -> Option<Millis> {
        self.align.filter(|minutes| *minutes > 0).map(|minutes| i64::from(minutes) * MINUTE)
    }

    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        let mut add = |keys: &[&'static str], problem: &str| {
            found.push(Contradiction { keys: keys.to_vec(), problem: problem.to_owned() });
        };
        if self.minimum_notice_days > self.horizon_days {
            add(
                &["minimum_notice_days", "horizon"],
                "`horizon` is shorter than `minimum_notice_days`: no visit could be booked",
            );
        }
        if self.minimum_notice >= (i64::from(self.horizon_days) + 1) * DAY {
            add(&["minimum_notice", "horizon"], "`horizon` is shorter than `minimum_notice`: no visit could be booked");
        }
        if self.age_min.zip(self.age_max).is_some_and(|(least, most)| least > most) {
            add(&["age_min", "age_max"], "`age_min` is above `age_max`: no patient could book");
        }
        if !self.new_patients && !self.known_patients {
            add(
                &["new_patients", "known_patients"],
                "`new_patients` and `known_patients` are both refused: no patient could book",
            );
        }
        let caps = [
            ("daily_visits", self.daily_visits),
            ("daily_minutes", self.daily_minutes),
            ("daily_visits_per_provider", self.daily_visits_per_provider),
            ("daily_minutes_per_provider", self.daily_minutes_per_provider),
        ];
        let zero = caps.iter().find(|(_, cap)| *cap == Some(0));
        let other = caps.iter().find(|(_, cap)| cap.is_some_and(|cap| cap > 0));
        if let Some(((none, _), (other, _))) = zero.zip(other) {
            add(&[*none, *other], &format!("`{none} = 0` refuses every visit, so `{other}` has no effect"));
        }
        found
    }
}

/// Deserializes a value that is present, so that an override with no value differs from a missing override.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

fn cutoff_minute(text: &str) -> Result<u16, String> {
    minute_of_day(text).ok_or_else(|| "must be a local time from 00:00 to 23:59, such as 16:00".into())
}

/// Formats a cutoff. `KeyKind` passes values by reference.
fn cutoff_time(minute: &u16) -> String {
    show_minute(*minute)
}

fn closure(text: &str) -> Result<Closure, String> {
    text.parse()
}

fn instead(text: &str) -> Result<Instead, String> {
    text.parse()
}
