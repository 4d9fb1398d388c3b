//! The position of a pull, within a pass and between passes.

use adapter_sdk::{Fault, pass};
use serde::{Deserialize, Serialize};

use crate::paging::{At, WalkPosition};

/// Date windows in which a pass searches: days of each, and the start of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    pub from: i64,
    pub days: i64,
}

/// The state of a pull; its JSON is the engine's cursor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Start of the changes of this pass, by the EHR's clock; `None` for all records.
    pub since: Option<i64>,
    /// Start of this pass, by the EHR's clock; `None` before the first page.
    pub started: Option<i64>,
    /// Start of the last whole pass, by the adapter's clock.
    pub whole_at: i64,
    /// No record can have been missed so far.
    pub steady: bool,
    #[serde(flatten)]
    pub spot: WalkPosition,
    /// Working hours of the current schedule that were already listed.
    #[serde(default)]
    pub shown: usize,
    /// Index of the current part, one of the resource types of the resource.
    #[serde(default)]
    pub part: usize,
    /// Some records could not be read, so absence does not mean deletion.
    #[serde(default)]
    pub partial: bool,
    /// Windows of appointment searches on a server that requires dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

impl Cursor {
    /// Starts a whole pass.
    fn whole(now: i64) -> Cursor {
        let spot = WalkPosition::default();
        let (since, started, windows) = (None, None, None);
        Cursor { since, started, whole_at: now, steady: true, spot, shown: 0, part: 0, partial: false, windows }
    }

    /// Parses a cursor. A pass is whole without a cursor, without support for deltas, and every `whole_minutes`.
    pub fn parse(text: Option<&str>, now: i64, delta: bool, whole_minutes: i64) -> Result<Cursor, Fault> {
        let Some(text) = text else { return Ok(Cursor::whole(now)) };
        let cursor: Cursor = serde_json::from_str(text).map_err(|_| pass::foreign())?;
        let begins = cursor.started.is_none();
        let due = !delta || cursor.since.is_none() || now >= cursor.whole_at + whole_minutes * 60;
        // A page size limit of the server applies to every pass.
        let spot = WalkPosition { allowed: cursor.spot.allowed, ..WalkPosition::default() };
        Ok(if begins && due { Cursor { spot, windows: cursor.windows, ..Cursor::whole(now) } } else { cursor })
    }

    pub fn is_whole(&self) -> bool {
        self.since.is_none()
    }

    /// Returns `true` if this pass has listed all records so far.
    pub fn shows_all(&self) -> bool {
        self.is_whole() && self.steady && !self.partial
    }

    /// Returns the cursor after the last page of a part that is not the last part.
    pub fn next_part(self, steady: bool, now: i64) -> Cursor {
        let started = self.started.or(Some(now));
        let (spot, part) = (self.spot.again(), self.part + 1);
        Cursor { started, steady: self.steady && steady, spot, shown: 0, part, ..self }
    }

    /// Returns the cursor after a page. `now`: the EHR's clock, used after the first page.
    pub fn after(self, next: Option<At>, steady: bool, now: i64) -> Cursor {
        let started = self.started.unwrap_or(now);
        let steady = self.steady && steady;
        match next {
            Some(at) => {
                Cursor { started: Some(started), steady, spot: WalkPosition { at, ..self.spot }, shown: 0, ..self }
            }
            // After an unsteady pass, the next one starts at the same time.
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
