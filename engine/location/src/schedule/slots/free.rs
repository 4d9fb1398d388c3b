//! Merges the free slots of all runs in order of time: each pass over the runs returns the slots of one start.

use super::{
    grid::{Alignment, on_grid},
    query::{Slot, SlotQuery},
    restrictions::Restrictions,
    windows::{Run, Windows},
};
use crate::{Calendar, Millis, Span, Timestamp, schedule::calendar::Column};

/// Maximum number of slots for which memory is reserved before they are found.
const MAX_RESERVED: usize = 1 << 15;

/// Gaps of at least one slot in each column. Computed once per column, because several providers may share it.
pub(super) struct Gaps {
    /// Columns in order, each with the index of its first gap.
    columns: Vec<(GapColumn, usize)>,
    gaps: Vec<Span>,
}

/// A column, and `true` if the restrictions of the search apply to its entries.
type GapColumn = (Column, bool);

/// Returns the columns in which a slot needs a gap: that of its place, to which restrictions apply, and the provider's.
fn columns_of(run: &Run, is_restricted: bool) -> [GapColumn; 2] {
    let place = run.operatory.map_or(Column::Provider(run.provider), Column::Operatory);
    [(place, is_restricted), (Column::Provider(run.provider), false)]
}

impl Gaps {
    /// Computes the gaps of all columns that `windows` need, for slots that start within `starts`.
    pub(super) fn compute(
        windows: &Windows,
        calendar: &Calendar,
        starts: Span,
        length: Millis,
        restrictions: Option<&Restrictions<'_>>,
    ) -> Gaps {
        let needed = windows.runs.iter().flat_map(|run| columns_of(run, restrictions.is_some()));
        let mut columns: Vec<(GapColumn, usize)> = needed.map(|column| (column, 0)).collect();
        columns.sort_unstable();
        columns.dedup();
        // The last possible slot starts a millisecond before `starts.end`.
        let whole = Span { end: starts.end.plus(length - 1), ..starts };
        let (mut gaps, mut occupied) = (Vec::new(), Vec::new());
        for ((column, is_restricted), first) in &mut columns {
            *first = gaps.len();
            let mut add = |start, end: Timestamp| {
                // Restrictions may begin after the last slot.
                let gap = Span { start, end: end.min(whole.end) };
                if gap.length() >= length {
                    gaps.push(gap);
                }
            };
            let mut free_from = whole.start;
            match restrictions.filter(|_| *is_restricted) {
                None => {
                    for entry in calendar.overlapping(*column, whole) {
                        add(free_from, entry.span.start);
                        free_from = free_from.max(entry.span.end);
                    }
                }
                Some(restrictions) => {
                    restrictions.occupy(*column, calendar, whole, &mut occupied);
                    for span in &occupied {
                        add(free_from, span.start);
                        free_from = free_from.max(span.end);
                    }
                }
            }
            add(free_from, whole.end);
        }
        Gaps { columns, gaps }
    }

    fn in_column(&self, column: GapColumn) -> &[Span] {
        let Ok(index) = self.columns.binary_search_by_key(&column, |(column, _)| *column) else { return &[] };
        let end = self.columns.get(index + 1).map_or(self.gaps.len(), |(_, first)| *first);
        &self.gaps[self.columns[index].1..end]
    }
}

/// Parameters common to the slots of all walks.
struct Grid<'a> {
    length: Millis,
    interval: Millis,
    alignment: Option<Alignment<'a>>,
}

/// Iterator over the free slots of all runs, in order of start, provider and operatory. If two layers of a place offer
/// the same slot, it occurs twice in a row.
pub(super) struct Free<'a> {
    grid: Grid<'a>,
    /// The walks in order of provider and operatory.
    walks: Vec<Walk<'a>>,
    /// The start of the slots of this pass.
    start: Timestamp,
    /// Number of walks that this pass has visited.
    visited: usize,
    /// The earliest next start of the visited walks, `Timestamp::MAX` if they have none.
    next_start: Timestamp,
}

impl<'a> Free<'a> {
    pub(super) fn within(
        windows: &'a Windows,
        gaps: &'a Gaps,
        starts: Span,
        query: &SlotQuery,
        alignment: Option<Alignment<'a>>,
        is_restricted: bool,
    ) -> Free<'a> {
        let interval = query.interval.unwrap_or(query.length);
        let interval = alignment.map_or(interval, |alignment| alignment.interval(interval));
        let grid = Grid { length: query.length, interval, alignment };
        let mut walks = Vec::with_capacity(windows.runs.len());
        let mut next_start = Timestamp::MAX;
        for run in &windows.runs {
            let gaps = columns_of(run, is_restricted).map(|column| gaps.in_column(column));
            let windows = windows.spans_for(run);
            let mut walk = Walk { run, windows, gaps, start: Timestamp::MAX, until: Timestamp::MIN };
            if let Some(start) = walk.find(starts.start, &grid) {
                walk.start = start;
                next_start = next_start.min(start);
                walks.push(walk);
            }
        }
        Free { grid, start: Timestamp::MAX, visited: walks.len(), walks, next_start }
    }

    /// Returns the number of slots for which to reserve memory: those of an empty calendar, up to a maximum.
    pub(super) fn capacity(&self) -> usize {
        let open: Millis = self.walks.iter().flat_map(|walk| walk.windows).map(|window| window.length()).sum();
        MAX_RESERVED.min((open / self.grid.interval) as usize)
    }
}

impl Iterator for Free<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        loop {
            while let Some(walk) = self.walks.get_mut(self.visited) {
                self.visited += 1;
                let start = walk.start;
                let is_due = start == self.start;
                if is_due {
                    walk.advance(&self.grid);
                }
                self.next_start = self.next_start.min(walk.start);
                if is_due {
                    let Run { provider, operatory, .. } = *walk.run;
                    return Some(Slot { span: Span { start, end: start.plus(self.grid.length) }, provider, operatory });
                }
            }
            if self.next_start == Timestamp::MAX {
                return None;
            }
            (self.start, self.visited, self.next_start) = (self.next_start, 0, Timestamp::MAX);
        }
    }
}

/// Cursor over one run. Passed windows and gaps are dropped from the front of the slices.
struct Walk<'a> {
    run: &'a Run,
    windows: &'a [Span],
    /// Gaps of the place's column and of the provider's.
    gaps: [&'a [Span]; 2],
    /// The next start, `Timestamp::MAX` at the end.
    start: Timestamp,
    /// All points of the grid from `start` to before `until` are free.
    until: Timestamp,
}

impl Walk<'_> {
    fn advance(&mut self, grid: &Grid<'_>) {
        let next = self.start.plus(grid.interval);
        let is_free = next < self.until;
        self.start = if is_free { next } else { self.find(self.start.plus(1), grid).unwrap_or(Timestamp::MAX) };
    }

    /// Returns the first free start at or after `from`, and sets `until`.
    fn find(&mut self, mut from: Timestamp, grid: &Grid<'_>) -> Option<Timestamp> {
        loop {
            let window = *self.windows.first()?;
            if window.end.since(from.max(window.start)) < grid.length {
                self.windows = &self.windows[1..];
                continue;
            }
            let (start, grid_end) = match grid.alignment {
                None => (on_grid(window.start, from, grid.interval), Timestamp::MAX),
                Some(alignment) => alignment.next(window.start, from, grid.interval),
            };
            let end = start.plus(grid.length);
            if end > window.end {
                self.windows = &self.windows[1..];
                continue;
            }
            let [place, provider] = &mut self.gaps;
            let (place, provider) = (gap_beyond(place, end)?, gap_beyond(provider, end)?);
            from = place.start.max(provider.start);
            if from <= start {
                let free_until = window.end.min(place.end).min(provider.end);
                self.until = grid_end.min(free_until.minus(grid.length - 1));
                return Some(start);
            }
        }
    }
}

/// Drops the gaps that end before `end`, and returns the first remaining gap.
fn gap_beyond(gaps: &mut &[Span], end: Timestamp) -> Option<Span> {
    let passed = gaps.iter().take_while(|gap| gap.end < end).count();
    *gaps = &gaps[passed..];
    gaps.first().copied()
}
