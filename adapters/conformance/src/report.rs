//! The outcome of a case and its report to the author.

use std::{fmt, time::Duration};

use adapter_host::plain;

/// Maximum bytes of a line of the report.
const SHOWN: usize = 2_000;

/// A violation, in the four parts an author needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub asked: String,
    pub answered: String,
    pub expected: String,
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("asked", &self.asked),
            ("answered", &self.answered),
            ("expected", &self.expected),
            ("to mend", &self.remedy),
        ];
        lines.iter().try_for_each(|(what, text)| writeln!(f, "    {what:<9} {}", plain(text, SHOWN)))
    }
}

/// The reason why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseEnd {
    /// The case does not apply, for this reason: the adapter or its EHR does not support it.
    NotAsked(String),
    Failed(Box<Finding>),
}

/// The result of a step of a case.
pub type CaseResult<T = ()> = Result<T, CaseEnd>;

/// Skips the case for this reason unless the condition holds.
pub fn skip_unless(holds: bool, reason: impl Into<String>) -> CaseResult {
    if holds { Ok(()) } else { Err(CaseEnd::NotAsked(reason.into())) }
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub outcome: CaseResult,
    pub took: Duration,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match &self.outcome {
            Ok(()) => write!(f, "passed     {name} ({} ms)", self.took.as_millis()),
            Err(CaseEnd::NotAsked(reason)) => write!(f, "not asked  {name}: {}", plain(reason, SHOWN)),
            Err(CaseEnd::Failed(finding)) => write!(f, "FAILED     {name}\n{finding}"),
        }
    }
}

/// All cases, in the order in which they ran.
#[derive(Clone, Debug, Default)]
pub struct ConformanceReport {
    pub cases: Vec<Case>,
}

impl ConformanceReport {
    pub fn failed(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| matches!(case.outcome, Err(CaseEnd::Failed(_))))
    }

    /// Returns the last line: the number of cases per outcome.
    pub fn sum(&self) -> String {
        let count = |fits: fn(&CaseResult) -> bool| self.cases.iter().filter(|case| fits(&case.outcome)).count();
        let passed = count(CaseResult::is_ok);
        let not_asked = count(|outcome| matches!(outcome, Err(CaseEnd::NotAsked(_))));
        format!("{passed} passed, {} failed, {not_asked} not asked", self.failed().count())
    }
}
