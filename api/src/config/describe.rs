//! The reference of a configuration, written by what reads it: the same calls, over files that hold nothing, note each key they ask for. It
//! is shown as a page, and as a file to begin with.

use std::{cell::RefCell, fmt::Write, rc::Rc};

/// Columns of a printed file.
const WIDTH: usize = 120;

/// What is accepted for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Takes {
    /// As TOML, or in words.
    pub default: Option<String>,
    pub range: String,
    /// As TOML: the default, or where there is none a value that shows how one is written.
    pub example: String,
}

impl Takes {
    /// A key with a default, which is TOML.
    pub(super) fn by_default(default: String, range: impl Into<String>) -> Takes {
        Takes { range: range.into(), example: default.clone(), default: Some(default) }
    }

    pub(super) fn like(example: impl Into<String>, range: impl Into<String>) -> Takes {
        Takes { default: None, range: range.into(), example: example.into() }
    }
}

/// A key as the reference shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyNote {
    key: String,
    required: bool,
    at_start: bool,
    takes: Takes,
    meaning: &'static str,
}

struct TableNote {
    /// `institutions.locations`; empty for a whole file.
    path: String,
    is_list: bool,
    meaning: &'static str,
    keys: Vec<KeyNote>,
}

/// What was asked for, table by table.
#[derive(Clone, Default)]
pub(super) struct Notes(Rc<RefCell<Vec<TableNote>>>);

/// Where one table is noted.
#[derive(Clone)]
pub(super) struct TableNotes {
    notes: Notes,
    table: usize,
}

impl Notes {
    pub(super) fn root(&self) -> TableNotes {
        self.table(String::new(), false, "")
    }

    fn table(&self, path: String, is_list: bool, meaning: &'static str) -> TableNotes {
        let mut tables = self.0.borrow_mut();
        tables.push(TableNote { path, is_list, meaning, keys: Vec::new() });
        TableNotes { notes: self.clone(), table: tables.len() - 1 }
    }

    /// Keys without a meaning, as `table.key`.
    #[cfg(test)]
    pub(super) fn without_meaning(&self) -> Vec<String> {
        let tables = self.0.borrow();
        let all = tables.iter().flat_map(|table| table.keys.iter().map(move |key| (table, key)));
        all.filter(|(_, key)| key.meaning.is_empty())
            .map(|(table, key)| format!("{}.{}", table.path, key.key))
            .collect()
    }

    /// As a page. Tables with the same keys are one.
    pub(super) fn page(&self, title: &str) -> String {
        let tables = self.0.borrow();
        let mut page = format!("## {title}\n");
        for (table, also) in distinct(&tables) {
            if table.keys.is_empty() && table.meaning.is_empty() {
                continue;
            }
            let names: Vec<String> =
                [table].into_iter().chain(also).map(|table| format!("`{}`", table.head())).collect();
            if !table.path.is_empty() {
                let _ = write!(page, "\n### {}\n", names.join(", "));
            }
            if !table.meaning.is_empty() {
                let _ = write!(page, "\n{}\n", table.meaning);
            }
            if !table.keys.is_empty() {
                page.push_str("\n| key | default | range | changes at | meaning |\n|---|---|---|---|---|\n");
            }
            for key in &table.keys {
                key.row(&mut page);
            }
        }
        page
    }

    /// As a file: with every key that has a default, and with the others commented out, as are tables that are a matter of the user's own.
    pub(super) fn file(&self) -> String {
        let tables = self.0.borrow();
        let (mut file, mut left_out) = (String::new(), Vec::new());
        for (table, _) in distinct(&tables).filter(|(table, _)| !table.keys.is_empty()) {
            let below = |path: &&str| table.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
            let is_left_out = table.is_list || table.keys.iter().any(|key| key.required) || left_out.iter().any(below);
            let block = table.block();
            file.push('\n');
            match is_left_out {
                true => {
                    left_out.push(table.path.as_str());
                    block.lines().for_each(|line| file.push_str(&format!("# {line}\n")));
                }
                false => file.push_str(&block),
            }
        }
        file
    }
}

/// Tables with the same keys are one: the first, and those that are as it is.
fn distinct(tables: &[TableNote]) -> impl Iterator<Item = (&TableNote, Vec<&TableNote>)> {
    let same = |one: &TableNote, other: &TableNote| !one.path.is_empty() && other.keys == one.keys;
    tables.iter().enumerate().filter_map(move |(n, table)| {
        let is_first = !tables[..n].iter().any(|it| same(table, it));
        is_first.then(|| (table, tables[n + 1..].iter().filter(|it| same(table, it)).collect()))
    })
}

/// Lines of a comment.
fn comment(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), "#".to_owned());
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            lines.push_str(&format!("{line}\n"));
            line = "#".to_owned();
        }
        line.push_str(&format!(" {word}"));
    }
    lines + &line + "\n"
}

impl TableNote {
    fn head(&self) -> String {
        if self.is_list { format!("[[{}]]", self.path) } else { format!("[{}]", self.path) }
    }

    /// As a part of a file.
    fn block(&self) -> String {
        let mut block = if self.meaning.is_empty() { String::new() } else { comment(self.meaning) };
        if !self.path.is_empty() {
            let _ = writeln!(block, "{}", self.head());
        }
        self.keys.iter().for_each(|key| key.lines(&mut block));
        block
    }
}

impl KeyNote {
    fn row(&self, page: &mut String) {
        let default = match &self.takes.default {
            _ if self.required => "required".to_owned(),
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let when = if self.at_start { "start" } else { "reload" };
        let _ = writeln!(page, "| `{}` | {default} | {} | {when} | {} |", self.key, self.takes.range, self.meaning);
    }

    fn lines(&self, file: &mut String) {
        let Takes { default, range, example } = &self.takes;
        let by_default = default.as_ref().filter(|default| *default != example);
        let by_default = by_default.map_or_else(String::new, |default| format!("; by default {default}"));
        let when = if self.at_start { "; read at start only" } else { "" };
        file.push_str(&comment(&format!("{} ({range}{by_default}{when})", self.meaning)));
        let is_set = self.required || default.as_ref() == Some(example);
        let _ = writeln!(file, "{}{} = {example}", if is_set { "" } else { "# " }, self.key);
    }
}

impl TableNotes {
    pub(super) fn below(&self, key: &str, is_list: bool, meaning: Option<&'static str>) -> TableNotes {
        let path = self.notes.0.borrow()[self.table].path.clone();
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        self.notes.table(path, is_list, meaning.unwrap_or_default())
    }

    /// Once for each key: the first to tell of it knows most.
    pub(super) fn key(&self, key: &str, takes: Takes, at_start: bool, meaning: Option<&'static str>) {
        let keys = &mut self.notes.0.borrow_mut()[self.table].keys;
        if keys.iter().all(|known| known.key != key) {
            let meaning = meaning.unwrap_or_default();
            keys.push(KeyNote { key: key.to_owned(), required: false, at_start, takes, meaning });
        }
    }

    pub(super) fn required(&self, key: &str) {
        let keys = &mut self.notes.0.borrow_mut()[self.table].keys;
        keys.iter_mut().filter(|known| known.key == key).for_each(|known| known.required = true);
    }
}
