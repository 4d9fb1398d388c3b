//! What the office has in its database: its tables, its clock, its keys; and what tests and its staff do with them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::{
    faults::Switches,
    table::{Row, Table},
    tables,
};

/// What is answered: status, headers, body.
pub type Done = (u16, Vec<(&'static str, String)>, Option<Value>);

pub struct Database {
    pub zone: Tz,
    /// `DeveloperKey/CustomerKey`.
    pub keys: String,
    /// Methods, such as `POST payments`, the developer key has no permission for.
    pub forbidden: Vec<&'static str>,
    pub switches: Switches,
    /// Every request that reached the office: method, path, status.
    pub log: Vec<(String, String, u16)>,
    /// Parameters that the lists they were sent to do not know, after the path.
    pub ignored: Vec<String>,
    /// The confirmation status that the office chose for each word of the API, under eServices.
    pub automated: BTreeMap<&'static str, u64>,
    pub(super) tables: Vec<Table>,
    rows: BTreeMap<&'static str, BTreeMap<u64, Row>>,
    last_key: BTreeMap<&'static str, u64>,
}

impl Database {
    pub fn new(zone: Tz, keys: &str) -> Database {
        Database {
            zone,
            keys: keys.to_owned(),
            forbidden: Vec::new(),
            switches: Switches::default(),
            log: Vec::new(),
            ignored: Vec::new(),
            automated: BTreeMap::new(),
            tables: tables::all(),
            rows: BTreeMap::new(),
            last_key: BTreeMap::new(),
        }
    }

    /// What the office's clock shows: `2026-12-01 09:00:00`.
    pub fn now(&self) -> String {
        self.shown(present())
    }

    pub fn shown(&self, at: DateTime<Utc>) -> String {
        at.with_timezone(&self.zone).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    pub fn today(&self) -> String {
        self.now().chars().take(10).collect()
    }

    /// A row with these fields, as staff would make it: nothing is checked. Answers its key.
    pub fn insert(&mut self, table: &str, fields: Value) -> u64 {
        let spec = self.table(table);
        let (path, key, stamp, mut row) = (spec.path, spec.key, spec.stamp, spec.blank.clone());
        merge(&mut row, fields);
        let number = self.last_key.entry(path).or_default();
        *number += 1;
        let number = *number;
        let as_text = row.get(key).is_some_and(Value::is_string);
        row.insert(key.into(), if as_text { number.to_string().into() } else { number.into() });
        let now = self.now();
        if let Some(stamp) = stamp {
            row.insert(stamp.into(), now.clone().into());
        }
        for field in ["SecDateTEntry", "DateEntry", "SecDateEntry"] {
            // A date, or a date with a time, as the row has it.
            if let Some(Value::String(entered)) = row.get_mut(field) {
                *entered = now.chars().take(entered.len()).collect();
            }
        }
        self.rows.entry(path).or_default().insert(number, row);
        number
    }

    /// Changes fields of a row, as staff would.
    pub fn change(&mut self, table: &str, key: u64, fields: Value) {
        let spec = self.table(table);
        let (path, stamp, now) = (spec.path, spec.stamp, self.now());
        let row = self.rows.get_mut(path).and_then(|rows| rows.get_mut(&key)).expect("the row exists");
        merge(row, fields);
        if let Some(stamp) = stamp {
            row.insert(stamp.into(), now.into());
        }
    }

    /// All rows were changed last a day ago: nobody has touched them since anybody looked.
    pub fn age(&mut self) {
        let yesterday = self.shown(present() - chrono::Days::new(1));
        for table in &self.tables {
            let (Some(stamp), Some(rows)) = (table.stamp, self.rows.get_mut(table.path)) else { continue };
            for row in rows.values_mut() {
                row.insert(stamp.into(), yesterday.clone().into());
            }
        }
    }

    pub fn remove(&mut self, table: &str, key: u64) -> Option<Row> {
        self.rows.get_mut(table)?.remove(&key)
    }

    pub fn row(&self, table: &str, key: u64) -> Option<&Row> {
        self.rows.get(table)?.get(&key)
    }

    pub fn rows(&self, table: &str) -> impl Iterator<Item = &Row> {
        self.rows.get(table).into_iter().flat_map(BTreeMap::values)
    }

    /// The rows whose text `field` holds a word.
    pub fn holding(&self, table: &str, field: &str, word: &str) -> Vec<Row> {
        let holds = |row: &&Row| row.get(field).and_then(Value::as_str).is_some_and(|text| text.contains(word));
        self.rows(table).filter(holds).cloned().collect()
    }

    pub(super) fn table(&self, path: &str) -> &Table {
        self.tables.iter().find(|table| table.path == path).expect("the table is one of ours")
    }

    pub(super) fn exists(&self, table: &str, key: &Value) -> bool {
        number(key).is_some_and(|key| self.row(table, key).is_some())
    }

    /// What a field of the row a key names says, as text.
    pub(super) fn word(&self, table: &str, key: &Value, field: &str) -> String {
        let row = number(key).and_then(|key| self.row(table, key));
        row.and_then(|row| row.get(field)).map(plain).unwrap_or_default()
    }

    /// The row as the API shows it: with the fields that are not of the database, line breaks as spaces.
    pub(super) fn show(&self, table: &Table, row: &Row) -> Value {
        let mut shown: Row = row.clone();
        for value in shown.values_mut() {
            if let Value::String(text) = value {
                *text = text.replace("\r\n", " ").replace(['\r', '\n'], " ");
            }
        }
        for (field, of, from, named) in table.names {
            let name = self.word(from, row.get(*of).unwrap_or(&Value::Null), named);
            shown.insert((*field).into(), name.into());
        }
        if table.server_time {
            shown.insert("serverDateTime".into(), self.now().into());
        }
        Value::Object(shown)
    }
}

pub fn present() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(runtime::clock::now().0).expect("the present is near")
}

/// A key as a number, whether written as one or as text.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A value as it stands in a query.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn merge(row: &mut Row, fields: Value) {
    let Value::Object(fields) = fields else { panic!("fields are an object: {}", json!(fields)) };
    for (name, value) in fields {
        row.insert(name, value);
    }
}
