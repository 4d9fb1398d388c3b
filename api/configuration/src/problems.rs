//! Configuration texts and the problems found in them.

use std::{
    cell::RefCell,
    fmt,
    path::{Path, PathBuf},
    rc::Rc,
};

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

impl Problem {
    pub(super) fn in_file(file: &Path, text: impl Into<String>) -> Problem {
        Problem { file: file.to_path_buf(), line: None, text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.text),
            None => write!(f, "{}: {}", self.file.display(), self.text),
        }
    }
}

/// The problems of a file, or of the part of it that begins at `from`.
#[derive(Clone)]
pub(super) struct Problems<'a> {
    pub document: &'a SourceText,
    from: usize,
    found: Rc<RefCell<Vec<Problem>>>,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(document: &'a SourceText) -> Problems<'a> {
        Problems { document, from: 0, found: Rc::default() }
    }

    /// Returns a collector for a part of the same file that is parsed separately.
    pub(crate) fn from(&self, from: usize) -> Problems<'a> {
        Problems { from, ..self.clone() }
    }

    pub(crate) fn add(&self, at: usize, text: impl Into<String>) {
        let line = Some(self.line(at));
        self.found.borrow_mut().push(Problem { file: self.document.path.clone(), line, text: text.into() });
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        let text = &self.document.text;
        let before = &text.as_bytes()[..(self.from + at).min(text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Returns the problems in the order of their lines.
    pub(crate) fn take(&self) -> Vec<Problem> {
        let mut found = std::mem::take(&mut *self.found.borrow_mut());
        found.sort_by_key(|problem| problem.line);
        found
    }
}
