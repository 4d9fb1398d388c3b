//! Names and ids that must be unique across all files.

use std::{collections::HashMap, path::PathBuf};

use crate::{problems::Problems, reader::Located};

/// The position of the first use of every name.
#[derive(Default)]
pub(super) struct FirstUses {
    first: HashMap<(&'static str, String), (PathBuf, usize)>,
}

impl FirstUses {
    pub(crate) fn once(&mut self, problems: &Problems<'_>, what: &'static str, name: &Located<impl ToString>) {
        let name_text = name.value.to_string();
        let here = (problems.document.path.clone(), problems.line(name.at));
        let first = self.first.entry((what, name_text.clone())).or_insert_with(|| here.clone());
        if *first != here {
            let (file, line) = first;
            problems.add(name.at, format!("duplicate {what} `{name_text}`: it is at {}:{line}, too", file.display()));
        }
    }
}
