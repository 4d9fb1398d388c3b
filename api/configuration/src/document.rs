//! Configuration texts, and the findings in all texts of a configuration: problems, values and unique names.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    fmt, mem,
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::values::{ConfigValue, Scope, Values, ValuesByKey};

/// A file and its text.
#[derive(Clone, Debug)]
pub(super) struct SourceText {
    pub path: PathBuf,
    pub text: String,
}

impl SourceText {
    /// Returns the folder that relative paths in the file refer to.
    pub(crate) fn base(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// `None` for a problem of the whole file.
    pub line: Option<usize>,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.text),
            None => write!(f, "{}: {}", self.file.display(), self.text),
        }
    }
}

/// The findings in all files of a configuration.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    values: BTreeMap<Scope, ValuesByKey>,
    /// File, position and line of the first use of each unique name.
    first_uses: HashMap<(&'static str, String), (PathBuf, usize, usize)>,
}

/// A file, or the part of it that begins at `from`, with the findings in all files of the configuration.
#[derive(Clone)]
pub(super) struct Document<'a> {
    pub source: &'a SourceText,
    from: usize,
    found: Rc<RefCell<Findings>>,
}

impl<'a> Document<'a> {
    pub(crate) fn new(source: &'a SourceText) -> Document<'a> {
        Document { source, from: 0, found: Rc::default() }
    }

    /// Returns another file of the same configuration.
    pub(crate) fn other<'b>(&self, source: &'b SourceText) -> Document<'b> {
        Document { source, from: 0, found: self.found.clone() }
    }

    /// Returns a part of the same file that is parsed separately.
    pub(crate) fn part(&self, from: usize) -> Document<'a> {
        Document { from, ..self.clone() }
    }

    pub(crate) fn report(&self, at: usize, text: impl Into<String>) {
        let line = Some(self.line(at));
        let problem = Problem { file: self.source.path.clone(), line, text: text.into() };
        self.found.borrow_mut().problems.push(problem);
    }

    /// Records a value for the comparison with another configuration.
    pub(crate) fn record(&self, subject: &Scope, key: String, value: ConfigValue) {
        self.found.borrow_mut().values.entry(subject.clone()).or_default().insert(key, value);
    }

    /// Reports a name that another part of the configuration has, too.
    pub(crate) fn unique(&self, at: usize, what: &'static str, name: String) {
        let here = (self.source.path.clone(), self.from + at, self.line(at));
        let mut found = self.found.borrow_mut();
        let first = found.first_uses.entry((what, name.clone())).or_insert_with(|| here.clone()).clone();
        drop(found);
        if first != here {
            let (file, _, line) = first;
            self.report(at, format!("duplicate {what} `{name}`: it is at {}:{line}, too", file.display()));
        }
    }

    fn line(&self, at: usize) -> usize {
        let text = &self.source.text;
        let before = &text.as_bytes()[..(self.from + at).min(text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    pub(crate) fn take_values(&self) -> Values {
        Values::new(mem::take(&mut self.found.borrow_mut().values))
    }

    /// Takes the problems in the order of files and lines, those of this file first.
    pub(crate) fn take_problems(&self) -> Vec<Problem> {
        let mut problems = mem::take(&mut self.found.borrow_mut().problems);
        let is_other = |problem: &Problem| problem.file != self.source.path;
        problems.sort_by(|a, b| (is_other(a), &a.file, a.line).cmp(&(is_other(b), &b.file, b.line)));
        problems
    }
}
