//! The order of lists with the latest change first. A record changed during a walk through the pages would
//! move to the beginning and be missed. Changes since the list began are therefore appended at its end, in
//! ascending order.
//!
//! ```text
//! changed before the list began: latest … earliest │ changed since: earliest … latest
//! ```

use location::time::{SECOND, Timestamp};
use store::{Direction, StoreError};

use super::page::{Position, Range};

/// A commit may land a moment after its timestamp was taken, so a list begins slightly before its first
/// request.
const COMMITS_WITHIN: i64 = 5 * SECOND;

/// Upper bound of the times of appended positions, which are mirrored to times before any real one. The whole
/// list is thus descending.
const END: i64 = i64::MIN / 2;

/// A part of a list by time of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Exclusive lower bound of the time of change.
    pub after: Option<Timestamp>,
    /// Inclusive upper bound of the time of change.
    pub until: Option<Timestamp>,
}

impl Window {
    /// The whole list.
    pub(super) const ALL: Window = Window { after: None, until: None };

    pub(super) fn has(self, at: Timestamp) -> bool {
        self.after.is_none_or(|after| at > after) && self.until.is_none_or(|until| at <= until)
    }
}

pub(super) struct LatestFirst {
    begun: Timestamp,
}

impl LatestFirst {
    /// `first_page` is the time of the list's first request.
    pub(super) fn new(first_page: Timestamp) -> LatestFirst {
        LatestFirst { begun: first_page.minus(COMMITS_WITHIN) }
    }

    /// Returns the rows in a range of the combined list. `read` returns the rows of each part in the order of
    /// times.
    pub(super) fn fetch<R>(
        &self,
        range: Range,
        read: impl Fn(Window, Range) -> Result<Vec<(Position, R)>, StoreError>,
    ) -> Result<Vec<(Position, R)>, StoreError> {
        let before = Window { until: Some(self.begun), ..Window::ALL };
        let since = Window { after: Some(self.begun), ..Window::ALL };
        let in_end = range.from.is_some_and(|from| from.at.0 < END);
        let of_list = |range: Range| read(before, range);
        let of_end = |range: Range| -> Result<Vec<(Position, R)>, StoreError> {
            // The appended part has the opposite order.
            let direction = match range.direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
            let rows = read(since, Range { from: range.from.map(mirrored), direction, ..range })?;
            Ok(rows.into_iter().map(|(position, row)| (mirrored(position), row)).collect())
        };
        let on = |rows: &Vec<_>| Range { from: None, limit: range.limit - rows.len(), ..range };
        // In descending order, the appended part comes last; in ascending order, first.
        let mut rows = Vec::new();
        match range.direction {
            Direction::Backward => {
                if !in_end {
                    rows = of_list(range)?;
                }
                let rest = if in_end { range } else { on(&rows) };
                if rest.limit > 0 {
                    rows.extend(of_end(rest)?);
                }
            }
            Direction::Forward => {
                if in_end || range.from.is_none() {
                    rows = of_end(range)?;
                }
                let rest = if in_end || range.from.is_none() { on(&rows) } else { range };
                if rest.limit > 0 {
                    rows.extend(of_list(rest)?);
                }
            }
        }
        Ok(rows)
    }
}

/// Converts a position between the appended part and the combined list.
fn mirrored(position: Position) -> Position {
    Position { at: Timestamp((END - 1).wrapping_sub(position.at.0)), id: !position.id }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_combined_list_is_descending_and_reads_in_both_directions() {
        let all: Vec<Position> =
            (1..=9).map(|n| Position { at: Timestamp(n / 2 * 10), id: n.unsigned_abs() }).collect();
        let read = |window: Window, range: Range| {
            let mut rows: Vec<Position> = all.iter().copied().filter(|it| window.has(it.at)).collect();
            if range.direction == Direction::Backward {
                rows.reverse();
            }
            let beyond = |it: &Position| match (range.from, range.direction) {
                (None, _) => true,
                (Some(from), Direction::Forward) => *it > from,
                (Some(from), Direction::Backward) => *it < from,
            };
            Ok(rows.into_iter().filter(beyond).take(range.limit).map(|it| (it, it.id)).collect())
        };
        let order = LatestFirst { begun: Timestamp(20) };
        let walk = |direction, limit| {
            let (mut from, mut ids, mut positions): (_, Vec<u64>, Vec<Position>) = (None, Vec::new(), Vec::new());
            loop {
                let rows = order.fetch(Range { from, direction, limit }, read).unwrap();
                let Some((last, _)) = rows.last() else { return (ids, positions) };
                from = Some(*last);
                for (position, id) in rows {
                    positions.push(position);
                    ids.push(id);
                }
            }
        };
        let expected = [5, 4, 3, 2, 1, 6, 7, 8, 9];
        for limit in 1..12 {
            let (there, falling) = walk(Direction::Backward, limit);
            assert_eq!(there, expected, "{limit} at a time");
            assert!(falling.is_sorted_by(|one, next| one > next));
            let (back, rising) = walk(Direction::Forward, limit);
            assert!(back.iter().rev().eq(&expected), "{back:?}, {limit} at a time");
            assert!(rising.is_sorted_by(|one, next| one < next));
        }
    }
}
