//! Tables printed to the terminal.

use serde_json::Value;

use crate::{
    server::{ListArguments, ServerSession, answer},
    terminal::say,
};

/// A table. Each column is as wide as its longest cell.
pub struct TextTable(Vec<Vec<String>>);

impl TextTable {
    pub fn new(heads: &[&str]) -> TextTable {
        let mut table = TextTable(Vec::new());
        table.row(heads);
        table
    }

    pub fn row(&mut self, cells: &[&str]) {
        self.0.push(cells.iter().map(|cell| (*cell).to_owned()).collect());
    }

    /// Prints the table, unless JSON lines were printed instead.
    pub fn show(&self, instead: bool) {
        let width = |column: usize| self.0.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.0[0].len()).map(width).collect();
        for row in self.0.iter().filter(|_| !instead) {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            say(cells.join("  ").trim_end());
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
    let all = answer(ServerSession::begin(server)?.get(path)).await?;
    let rows = all.as_array().map_or(&[][..], Vec::as_slice);
    let mut table = TextTable::new(heads);
    for row in rows {
        if *json {
            say(row);
        }
        table.0.push(fields.iter().map(|field| cell(&row[*field])).collect());
    }
    if most == Some(rows.len()) {
        let mut note = vec![""; heads.len() - 2];
        note.insert(0, "...");
        note.push("the newest are shown");
        table.row(&note);
    }
    table.show(*json);
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
