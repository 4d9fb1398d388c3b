//! Where a pull goes on, within a pass and between passes.

use adapter_sdk::{Fault, pass};
use serde::{Deserialize, Serialize};

use crate::paging::{At, Spot};

/// The windows of dates in which a pass searches: days of each, and the start of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    pub from: i64,
    pub days: i64,
}

/// The state of a pull, as JSON the engine's cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// This pass shows what changed since, by the EHR's clock; none: everything.
    pub since: Option<i64>,
    /// When this pass began, by the EHR's clock; none: it is about to.
    pub started: Option<i64>,
    /// When the last whole pass began, by ours.
    pub whole_at: i64,
    /// Nothing can have been missed so far.
    pub steady: bool,
    #[serde(flatten)]
    pub spot: Spot,
    /// Working hours of the current schedule that were shown already.
    #[serde(default)]
    pub shown: usize,
    /// Which of the resource types that make up the resource.
    #[serde(default)]
    pub part: usize,
    /// Some records could not be read and are left out: that they are not shown does not say that they are gone.
    #[serde(default)]
    pub partial: bool,
    /// How appointments are searched by a server that demands dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

impl Cursor {
    /// A whole pass, now.
    fn whole(now: i64) -> Cursor {
        let spot = Spot::default();
        let (since, started, windows) = (None, None, None);
        Cursor { since, started, whole_at: now, steady: true, spot, shown: 0, part: 0, partial: false, windows }
    }

    /// A pass is whole where there is no cursor, where deltas are not possible, and once every
    /// `whole_minutes`.
    pub fn parse(text: Option<&str>, now: i64, delta: bool, whole_minutes: i64) -> Result<Cursor, Fault> {
        let Some(text) = text else { return Ok(Cursor::whole(now)) };
        let cursor: Cursor = serde_json::from_str(text).map_err(|_| pass::foreign())?;
        let begins = cursor.started.is_none();
        let due = !delta || cursor.since.is_none() || now >= cursor.whole_at + whole_minutes * 60;
        // A refusal of the server holds for every pass.
        let spot = Spot { allowed: cursor.spot.allowed, ..Spot::default() };
        Ok(if begins && due { Cursor { spot, windows: cursor.windows, ..Cursor::whole(now) } } else { cursor })
    }

    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// Whether this pass has shown all there is so far.
    pub fn shows_all(&self) -> bool {
        self.is_whole() && self.steady && !self.partial
    }

    /// After the last page of a part that is not the last.
    pub fn next_part(self, steady: bool, now: i64) -> Cursor {
        let started = self.started.or(Some(now));
        let (spot, part) = (self.spot.again(), self.part + 1);
        Cursor { started, steady: self.steady && steady, spot, shown: 0, part, ..self }
    }

    /// After a page of this pass, by the EHR's clock `now` when it was the first one.
    pub fn after(self, next: Option<At>, steady: bool, now: i64) -> Cursor {
        let started = self.started.unwrap_or(now);
        let steady = self.steady && steady;
        match next {
            Some(at) => Cursor { started: Some(started), steady, spot: Spot { at, ..self.spot }, shown: 0, ..self },
            // An unsteady pass is done again: the next one starts where this one did.
            None => {
                let since = if steady { Some(started - pass::OVERLAP) } else { self.since };
                let spot = self.spot.again();
                Cursor { since, started: None, steady: true, spot, shown: 0, part: 0, partial: false, ..self }
            }
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}
