//! Cursors of pulls. A pass lists every record of a resource, or those changed since the previous pass. The cursor of
//! its last page begins the next pass.
//!
//! [`Pass`] is for an EHR that lists changes since a time: a whole pass, then overlapping deltas, and periodically a
//! whole pass that reveals deletions. [`Marks`] is for an EHR that numbers or marks its changes and reports deletions.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Fault, records::Instant};

/// Overlap in seconds of a delta with the previous pass, because transactions take time to commit.
pub const OVERLAP: Instant = 300;
/// Overlap if the EHR's clock is unknown. Clocks differ by less, even if the location's zone is wrong.
const MARGIN: Instant = 86_400;

/// When a pass lists every record again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Always: the EHR cannot list changes.
    Always,
    /// This many minutes after the last whole pass.
    After(i64),
    /// Only in the first pass: the EHR reports deletions.
    Never,
}

/// The state of a pull by time; its JSON is the engine's cursor. `At` is a position within the pass; without a position
/// the pass restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass<At> {
    /// Start of the changes of this pass, by the EHR's clock; `None` for all records.
    pub since: Option<Instant>,
    /// Start of this pass, by the EHR's clock or, if unknown, by the adapter's; `None` before the first page.
    pub started: Option<Instant>,
    /// The EHR's clock at the start of the pass, if known.
    #[serde(default, rename = "told")]
    pub ehr_time: Option<Instant>,
    /// Start of the last whole pass, by the adapter's clock.
    pub whole_at: Instant,
    /// Start of the next page.
    #[serde(default)]
    pub at: At,
    /// Part of this pass could not be read or identified, so absence does not mean deletion.
    #[serde(default)]
    pub left_out: bool,
    /// Records may have been missed; the next pass starts at the same time as this one.
    #[serde(default)]
    pub missed: bool,
    /// Checksum of the record ids of lists that every pass lists in full, for this pass so far.
    #[serde(default)]
    pub ids: u64,
    /// The same checksum of the previous pass.
    #[serde(default)]
    pub ids_before: u64,
}

impl<At: Default + Serialize + DeserializeOwned> Pass<At> {
    fn whole(now: Instant) -> Pass<At> {
        Pass { whole_at: now, ..Pass::default() }
    }

    /// Parses a cursor. Without one a first, whole pass begins. `now`: the adapter's clock.
    pub fn from_cursor(cursor: Option<&str>, now: Instant, whole: Whole) -> Result<Pass<At>, Fault> {
        let Some(text) = cursor else { return Ok(Pass::whole(now)) };
        let pass: Pass<At> = serde_json::from_str(text).map_err(|_| foreign())?;
        // A later start is by a clock that was wrong. Changes before that time would never be listed.
        let due = pass.since.is_none_or(|since| since > now + MARGIN)
            || match whole {
                Whole::Always => true,
                Whole::After(minutes) => now >= pass.whole_at + minutes * 60,
                Whole::Never => false,
            };
        Ok(if pass.started.is_none() && due { Pass { ids_before: pass.ids_before, ..Pass::whole(now) } } else { pass })
    }

    /// Returns `true` if the pass lists every record.
    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// Returns `true` before the first page.
    pub fn begins(&self) -> bool {
        self.started.is_none()
    }

    /// Returns the state after a page. `next`: start of the next page, `None` after the last. `ehr_time`: the EHR's
    /// clock, used on the first page. `now`: the adapter's clock.
    pub fn after(self, next: Option<At>, ehr_time: Option<Instant>, now: Instant) -> Pass<At> {
        let (started, ehr_time) =
            self.started.map_or((ehr_time.unwrap_or(now), ehr_time), |started| (started, self.ehr_time));
        let pass = Pass { started: Some(started), ehr_time, ..self };
        match next {
            Some(at) => Pass { at, ..pass },
            None => pass.finished(started),
        }
    }

    /// Ends the pass. A delta that reported no time does not advance: if the EHR's clock is slow, changes would be
    /// missed.
    fn finished(self, started: Instant) -> Pass<At> {
        let since = match self.ehr_time {
            _ if self.missed => self.since,
            Some(at) => Some(at - OVERLAP),
            None => self.since.or(Some(started - MARGIN)),
        };
        // Rows that disappeared from a list that deltas list in full are detected only by absence.
        let gone = !self.is_whole() && self.ids != self.ids_before;
        Pass { since, whole_at: if gone { 0 } else { self.whole_at }, ids_before: self.ids, ..Pass::default() }
    }
}

/// Formats the cursor.
impl<At: Serialize> fmt::Display for Pass<At> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The fault of a cursor that is not from this adapter.
pub fn foreign() -> Fault {
    Fault::rejected("not a cursor of this adapter")
}

/// Maximum length of a mark; longer than the marks of any EHR.
const MAX_MARK: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassKind {
    Whole,
    /// A whole pass during which the EHR's data was replaced. Records of its first pages may be gone, so another whole
    /// pass follows.
    Torn,
    Delta,
}

const KINDS: [(PassKind, &str); 3] = [(PassKind::Whole, "whole"), (PassKind::Torn, "torn"), (PassKind::Delta, "delta")];

/// The state of a pull by the EHR's own change marks: `whole:e.5`, `delta:17`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    kind: PassKind,
    mark: Option<String>,
}

impl Marks {
    /// Parses a cursor. Without one a first, whole pass begins.
    pub fn from_cursor(cursor: Option<&str>) -> Result<Marks, Fault> {
        let Some(text) = cursor else { return Ok(Marks { kind: PassKind::Whole, mark: None }) };
        let (word, mark) = text.split_once(':').ok_or_else(foreign)?;
        let (kind, _) = KINDS.into_iter().find(|(_, held)| *held == word).ok_or_else(foreign)?;
        let plain = mark.len() <= MAX_MARK && mark.bytes().all(|b| b.is_ascii_graphic());
        // Only a whole pass begins without a mark.
        let begins = mark.is_empty() && kind == PassKind::Whole;
        match plain && (begins || !mark.is_empty()) {
            true => Ok(Marks { kind, mark: Some(mark.to_owned()).filter(|mark| !mark.is_empty()) }),
            false => Err(foreign()),
        }
    }

    /// Returns the mark after which changes are requested; `None` for all records.
    pub fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }

    /// Returns `true` if the pass lists every record.
    pub fn is_whole(&self) -> bool {
        self.kind != PassKind::Delta
    }

    /// Restarts the pass after the mark turned out to belong to replaced data.
    pub fn started_over(self) -> Marks {
        let kind = if self.kind == PassKind::Delta { PassKind::Whole } else { PassKind::Torn };
        Marks { kind, mark: None }
    }

    /// Returns the state after a page that ends at `mark`.
    pub fn after(self, mark: &str, more: bool) -> Marks {
        let mark = Some(mark.to_owned());
        match (self.kind, more) {
            (kind, true) => Marks { kind, mark },
            (PassKind::Torn, false) => Marks { kind: PassKind::Whole, mark: None },
            (_, false) => Marks { kind: PassKind::Delta, mark },
        }
    }
}

/// Formats the cursor.
impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        write!(f, "{word}:{}", self.mark.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: Instant = 1_000_000;
    const HOUR: Whole = Whole::After(60);

    type ById = Pass<(usize, i64)>;

    fn again(pass: &ById, now: Instant, whole: Whole) -> ById {
        Pass::from_cursor(Some(&pass.to_string()), now, whole).unwrap()
    }

    fn first() -> ById {
        Pass::from_cursor(None, NOW, HOUR).unwrap()
    }

    #[test]
    fn a_whole_pass_is_followed_by_deltas_that_overlap() {
        assert!(first().is_whole() && first().begins());
        let middle = first().after(Some((1, 77)), Some(NOW + 5), NOW);
        assert!(middle.is_whole() && !middle.begins() && again(&middle, NOW + 9_999, Whole::Always) == middle);
        let done = middle.after(None, Some(NOW + 60), NOW);
        // The first page's time counts, so changes made while the pass ran are listed again.
        assert_eq!((done.since, done.started, done.at), (Some(NOW + 5 - OVERLAP), None, (0, 0)));
        assert_eq!(again(&done, NOW + 3_599, HOUR), done);
        assert!(again(&done, NOW + 3_600, HOUR).is_whole());
        assert!(again(&done, NOW + 1, Whole::Always).is_whole());
        assert!(!again(&done, NOW + 1_000_000, Whole::Never).is_whole());
    }

    #[test]
    fn a_pass_that_may_have_missed_records_is_repeated() {
        let whole = Pass { missed: true, ..first().after(Some((1, 7)), Some(NOW), NOW) };
        assert!(again(&whole.after(None, None, NOW), NOW, HOUR).is_whole());
        let delta = ById { since: Some(7), started: Some(NOW), whole_at: NOW, missed: true, ..Pass::default() };
        assert_eq!(delta.after(None, None, NOW).since, Some(7));
    }

    /// An empty page has no row with a time, and the adapter's clock may be ahead of the EHR's.
    #[test]
    fn a_pass_without_a_time_does_not_advance() {
        let silent = first().after(None, None, NOW);
        assert_eq!(silent.since, Some(NOW - MARGIN));
        assert_eq!(silent.clone().after(None, None, NOW + 60).since, silent.since);
    }

    /// Once, the EHR's clock was ahead. A delta from that time on would list nothing until then.
    #[test]
    fn a_start_beyond_any_zone_in_the_future_forces_a_whole_pass() {
        let after = |told: Instant| first().after(None, Some(told), NOW);
        assert!(again(&after(NOW + 10 * MARGIN), NOW + 60, Whole::Never).is_whole());
        assert!(!again(&after(NOW + MARGIN), NOW + 60, Whole::Never).is_whole());
    }

    #[test]
    fn deletions_from_a_fully_listed_list_force_a_whole_pass() {
        let shown = |ids: u64, pass: &ById| Pass { ids, ..pass.clone() }.after(None, Some(NOW), NOW);
        let whole = shown(5, &first());
        assert_eq!((whole.ids_before, whole.whole_at), (5, NOW));
        assert!(!again(&shown(5, &whole), NOW + 60, HOUR).is_whole());
        assert!(again(&shown(4, &whole), NOW + 60, HOUR).is_whole());
    }

    /// Cursors outlive releases of an adapter; one without a position restarts its pass.
    #[test]
    fn a_cursor_without_a_position_restarts_its_pass() {
        let held: ById =
            Pass::from_cursor(Some(r#"{"since":5,"started":null,"whole_at":1000000}"#), NOW, HOUR).unwrap();
        assert_eq!((held.since, held.at), (Some(5), (0, 0)));
    }

    #[test]
    fn other_text_is_rejected_as_a_cursor() {
        for bad in ["", "{}", "delta:5", "null", "[1]"] {
            assert_eq!(Pass::<u32>::from_cursor(Some(bad), NOW, HOUR), Err(foreign()), "{bad}");
        }
    }

    #[test]
    fn marks_round_trip() {
        let first = Marks::from_cursor(None).unwrap();
        assert_eq!(first.clone().after("e.5", true).to_string(), "whole:e.5");
        let after = first.after("e.9", false);
        assert_eq!(after.to_string(), "delta:e.9");
        assert_eq!(Marks::from_cursor(Some("delta:e.9")), Ok(after));
        for bad in ["", "9", "delta:", "torn:", "other:1", "delta:1 2", "no cursor of anybody"] {
            assert_eq!(Marks::from_cursor(Some(bad)), Err(foreign()), "{bad}");
        }
        assert_eq!(Marks::from_cursor(Some("whole:")).unwrap().mark(), None);
    }

    #[test]
    fn replaced_data_during_a_whole_pass_forces_another() {
        let torn = Marks::from_cursor(Some("whole:e.5")).unwrap().started_over();
        assert!(torn.is_whole());
        let on = Marks::from_cursor(Some(&torn.after("f.3", true).to_string())).unwrap();
        assert_eq!((on.to_string().as_str(), on.is_whole()), ("torn:f.3", true));
        assert_eq!(on.after("f.9", false).to_string(), "whole:");
        let delta = Marks::from_cursor(Some("delta:e.5")).unwrap().started_over();
        assert_eq!(delta.after("f.9", false).to_string(), "delta:f.9");
    }
}
