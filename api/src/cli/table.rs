//! Tables printed to the terminal.

use crate::terminal::say;

/// A table. Each column is as wide as its longest cell.
pub(super) struct TextTable(Vec<Vec<String>>);

impl TextTable {
    pub(super) fn new(heads: &[&str]) -> TextTable {
        let mut table = TextTable(Vec::new());
        table.row(heads);
        table
    }

    pub(super) fn row(&mut self, cells: &[&str]) {
        self.0.push(cells.iter().map(|cell| (*cell).to_owned()).collect());
    }

    /// Prints the table, unless JSON lines were printed instead.
    pub(super) fn show(&self, instead: bool) {
        let width = |column: usize| self.0.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.0[0].len()).map(width).collect();
        for row in self.0.iter().filter(|_| !instead) {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            say(cells.join("  ").trim_end());
        }
    }
}
