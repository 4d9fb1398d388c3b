//! The reference of a configuration, written by what reads it: the same calls, over files that hold nothing, note each key they ask for.

use std::{cell::RefCell, fmt::Write, rc::Rc};

use super::values::at_start;

/// A key as the reference shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyNote {
    key: String,
    required: bool,
    default: Option<String>,
    range: String,
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
        for (n, table) in tables.iter().enumerate() {
            let same = |other: &&TableNote| !table.path.is_empty() && other.keys == table.keys;
            if table.keys.is_empty() && table.meaning.is_empty() || tables[..n].iter().any(|it| same(&it)) {
                continue;
            }
            let also = tables[n + 1..].iter().filter(same);
            let names: Vec<String> = [table].into_iter().chain(also).map(TableNote::name).collect();
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
                key.row(&table.path, &mut page);
            }
        }
        page
    }
}

impl TableNote {
    fn name(&self) -> String {
        if self.is_list { format!("`[[{}]]`", self.path) } else { format!("`[{}]`", self.path) }
    }
}

impl KeyNote {
    fn row(&self, table: &str, page: &mut String) {
        let path = if table.is_empty() { self.key.clone() } else { format!("{table}.{}", self.key) };
        let default = match &self.default {
            _ if self.required => "required".to_owned(),
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let when = if at_start(&path) { "start" } else { "reload" };
        let _ = writeln!(page, "| `{}` | {default} | {} | {when} | {} |", self.key, self.range, self.meaning);
    }
}

impl TableNotes {
    pub(super) fn below(&self, key: &str, is_list: bool, meaning: Option<&'static str>) -> TableNotes {
        let path = self.notes.0.borrow()[self.table].path.clone();
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        self.notes.table(path, is_list, meaning.unwrap_or_default())
    }

    /// Once for each key: the first to tell of it knows most.
    pub(super) fn key(&self, key: &str, default: Option<String>, range: String, meaning: Option<&'static str>) {
        let keys = &mut self.notes.0.borrow_mut()[self.table].keys;
        if keys.iter().all(|known| known.key != key) {
            let meaning = meaning.unwrap_or_default();
            keys.push(KeyNote { key: key.to_owned(), required: false, default, range, meaning });
        }
    }

    pub(super) fn required(&self, key: &str) {
        let keys = &mut self.notes.0.borrow_mut()[self.table].keys;
        keys.iter_mut().filter(|known| known.key == key).for_each(|known| known.required = true);
    }
}
