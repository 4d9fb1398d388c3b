//! The office's database: tables, clock and keys, with operations for tests and staff.

use std::{collections::BTreeMap, time::Instant};

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::{
    faults::Switches,
    table::{OpenDentalRow, Table},
    tables,
};

/// A response: status, headers, body.
pub type Done = (u16, Vec<(&'static str, String)>, Option<Value>);

pub struct Database {
    pub zone: Tz,
    /// `DeveloperKey/CustomerKey`.
    pub keys: String,
    /// Methods, such as `POST payments`, that the developer key has no permission for.
    pub forbidden: Vec<&'static str>,
    pub switches: Switches,
    /// Every request that reached the office: method, path, status.
    pub log: Vec<(String, String, u16)>,
    /// Ignored query parameters, prefixed with the path of their list.
    pub ignored: Vec<String>,
    /// The office's confirmation status for each word of the API, configured under eServices.
    pub automated: BTreeMap<&'static str, u64>,
    /// Time of the last poll for each subscription.
    pub(super) polled: BTreeMap<u64, Instant>,
    pub(super) tables: Vec<Table>,
    rows: BTreeMap<&'static str, BTreeMap<u64, OpenDentalRow>>,
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
            polled: BTreeMap::new(),
            tables: tables::all(),
            rows: BTreeMap::new(),
            last_key: BTreeMap::new(),
        }
    }

    /// Returns the office's local time: `2026-12-01 09:00:00`.
    pub fn now(&self) -> String {
        self.local_time(present())
    }

    pub fn local_time(&self, at: DateTime<Utc>) -> String {
        at.with_timezone(&self.zone).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    pub fn today(&self) -> String {
        self.now().chars().take(10).collect()
    }

    /// Inserts a row without checks, like staff, and returns its key.
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
            // A date or a date with a time, depending on the row.
            if let Some(Value::String(entered)) = row.get_mut(field) {
                *entered = now.chars().take(entered.len()).collect();
            }
        }
        self.rows.entry(path).or_default().insert(number, row);
        number
    }

    /// Changes fields of a row, like staff.
    pub fn change(&mut self, table: &str, key: u64, fields: Value) {
        let spec = self.table(table);
        let (path, stamp, now) = (spec.path, spec.stamp, self.now());
        let row = self.rows.get_mut(path).and_then(|rows| rows.get_mut(&key)).expect("the row exists");
        merge(row, fields);
        if let Some(stamp) = stamp {
            row.insert(stamp.into(), now.into());
        }
    }

    /// Sets the modification times of all rows to a day ago, so that no row counts as recently changed.
    pub fn age(&mut self) {
        let yesterday = self.local_time(present() - chrono::Days::new(1));
        for table in &self.tables {
            let (Some(stamp), Some(rows)) = (table.stamp, self.rows.get_mut(table.path)) else { continue };
            for row in rows.values_mut() {
                row.insert(stamp.into(), yesterday.clone().into());
            }
        }
    }

    pub fn remove(&mut self, table: &str, key: u64) -> Option<OpenDentalRow> {
        self.rows.get_mut(table)?.remove(&key)
    }

    pub fn row(&self, table: &str, key: u64) -> Option<&OpenDentalRow> {
        self.rows.get(table)?.get(&key)
    }

    pub fn rows(&self, table: &str) -> impl Iterator<Item = &OpenDentalRow> {
        self.rows.get(table).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the rows whose text `field` contains a word.
    pub fn holding(&self, table: &str, field: &str, word: &str) -> Vec<OpenDentalRow> {
        let holds =
            |row: &&OpenDentalRow| row.get(field).and_then(Value::as_str).is_some_and(|text| text.contains(word));
        self.rows(table).filter(holds).cloned().collect()
    }

    pub(super) fn table(&self, path: &str) -> &Table {
        self.tables.iter().find(|table| table.path == path).expect("the table is one of ours")
    }

    pub(super) fn exists(&self, table: &str, key: &Value) -> bool {
        number(key).is_some_and(|key| self.row(table, key).is_some())
    }

    /// Returns a field of the row with this key as text.
    pub(super) fn word(&self, table: &str, key: &Value, field: &str) -> String {
        let row = number(key).and_then(|key| self.row(table, key));
        row.and_then(|row| row.get(field)).map(plain).unwrap_or_default()
    }

    /// Returns the row in the format of the API: with fields from other tables, and line breaks replaced by spaces.
    pub(super) fn show(&self, table: &Table, row: &OpenDentalRow) -> Value {
        let mut shown: OpenDentalRow = row.clone();
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

/// Parses a key written as a number or as text.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Formats a value as in a query.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn merge(row: &mut OpenDentalRow, fields: Value) {
    let Value::Object(fields) = fields else { panic!("fields are an object: {}", json!(fields)) };
    for (name, value) in fields {
        row.insert(name, value);
    }
}
