//! Tables printed to the terminal.

use serde_json::Value;

use crate::{
    server::{ListArguments, ServerSession, answer, elements},
    terminal::print_line,
};

/// A table. Each column is as wide as its longest cell. With `as_json`, lines of JSON are printed instead.
pub struct TextTable {
    rows: Vec<Vec<String>>,
    as_json: bool,
}

impl TextTable {
    pub fn new(heads: &[&str], as_json: bool) -> TextTable {
        let mut table = TextTable { rows: Vec::new(), as_json };
        table.row(heads);
        table
    }

    /// Prints the object as a line of JSON, or adds its cells.
    pub fn add(&mut self, object: &Value, cells: &[&str]) {
        if self.as_json { print_line(object) } else { self.row(cells) }
    }

    /// Adds a row without an object.
    pub fn row(&mut self, cells: &[&str]) {
        self.rows.push(cells.iter().map(|cell| (*cell).to_owned()).collect());
    }

    pub fn show(&self) {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for row in self.rows.iter().filter(|_| !self.as_json) {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            print_line(cells.join("  ").trim_end());
        }
    }
}

/// Prints the elements of a list of the server: one JSON object per line, or a table with one field per column.
/// A list of `most` elements ends with a note that only the newest are shown.
pub async fn show_list(
    ListArguments { json, server }: &ListArguments,
    path: &str,
    most: Option<usize>,
    heads: &[&str],
    fields: &[&str],
) -> Result<(), String> {
    let session = ServerSession::begin(server)?;
    let rows = match most {
        Some(most) => elements(&session, path, most).await?,
        None => serde_json::from_value(answer(session.get(path)).await?).unwrap_or_default(),
    };
    let mut table = TextTable::new(heads, *json);
    for row in &rows {
        let cells: Vec<String> = fields.iter().map(|field| cell(&row[*field])).collect();
        table.add(row, &cells.iter().map(String::as_str).collect::<Vec<_>>());
    }
    if most == Some(rows.len()) {
        let mut note = vec![""; heads.len() - 2];
        note.insert(0, "...");
        note.push("the newest are shown");
        table.row(&note);
    }
    table.show();
    Ok(())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => (if *yes { "yes" } else { "no" }).to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
