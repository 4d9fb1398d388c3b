//! How a case ended, and what an author is told of it.

use std::{fmt, time::Duration};

use adapter_host::plain;

/// Bytes of a line of the report.
const SHOWN: usize = 2_000;

/// What does not conform, in the four things an author needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub asked: String,
    pub answered: String,
    pub expected: String,
    pub mend: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("asked", &self.asked),
            ("answered", &self.answered),
            ("expected", &self.expected),
            ("to mend", &self.mend),
        ];
        lines.iter().try_for_each(|(what, text)| writeln!(f, "    {what:<9} {}", plain(text, SHOWN)))
    }
}

/// Why a case ended before its end.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The adapter or its EHR has no such ability.
    NotAsked(String),
    Failed(Box<Finding>),
}

/// How a case goes on.
pub type Going<T = ()> = Result<T, Ended>;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// With the reason.
    NotAsked(String),
    Failed(Finding),
}

impl From<Going> for Outcome {
    fn from(going: Going) -> Outcome {
        match going {
            Ok(()) => Outcome::Passed,
            Err(Ended::NotAsked(reason)) => Outcome::NotAsked(reason),
            Err(Ended::Failed(finding)) => Outcome::Failed(*finding),
        }
    }
}

/// One case that ran.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub outcome: Outcome,
    pub took: Duration,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match &self.outcome {
            Outcome::Passed => write!(f, "passed     {name} ({} ms)", self.took.as_millis()),
            Outcome::NotAsked(reason) => write!(f, "not asked  {name}: {}", plain(reason, SHOWN)),
            Outcome::Failed(finding) => write!(f, "FAILED     {name}\n{finding}"),
        }
    }
}

/// All cases, in the order in which they ran.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub cases: Vec<Case>,
}

impl Report {
    pub fn failed(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| matches!(case.outcome, Outcome::Failed(_)))
    }

    /// The last line: how many there are of each.
    pub fn sum(&self) -> String {
        let count = |fits: fn(&Outcome) -> bool| self.cases.iter().filter(|case| fits(&case.outcome)).count();
        let passed = count(|outcome| *outcome == Outcome::Passed);
        let not_asked = count(|outcome| matches!(outcome, Outcome::NotAsked(_)));
        format!("{passed} passed, {} failed, {not_asked} not asked", self.failed().count())
    }
}
