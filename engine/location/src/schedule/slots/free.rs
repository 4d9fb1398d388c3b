//! Merges the free slots of all runs in order of time, with a heap of the next start of each run.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use super::{
    grid::{Alignment, on_grid},
    query::{Slot, SlotQuery},
    restrictions::Restrictions,
    windows::{Run, Windows},
};
use crate::{Calendar, Millis, OperatoryId, ProviderId, Span, Timestamp, schedule::calendar::Column};

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
        let whole = Span { end: starts.end.plus(length), ..starts };
        let (mut gaps, mut occupied) = (Vec::new(), Vec::new());
        for ((column, is_restricted), first) in &mut columns {
            *first = gaps.len();
            let mut add = |start, end: Timestamp| {
                if end.since(start) >= length {
                    gaps.push(Span { start, end });
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
    /// Exclusive upper bound of slot starts.
    until: Timestamp,
}

/// Iterator over the free slots of all runs, in order of start, provider and operatory. If two layers of a place offer
/// the same slot, it occurs twice in a row.
pub(super) struct Free<'a> {
    grid: Grid<'a>,
    walks: Vec<Walk<'a>>,
    /// The next start of each walk, if any.
    next: BinaryHeap<Reverse<Next>>,
}

/// Ordered like the offered slots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    start: Timestamp,
    provider: ProviderId,
    operatory: Option<OperatoryId>,
    walk: usize,
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
        let grid = Grid { length: query.length, interval, alignment, until: starts.end };
        let mut walks = Vec::with_capacity(windows.runs.len());
        let mut next = BinaryHeap::with_capacity(windows.runs.len());
        for run in &windows.runs {
            let gaps = columns_of(run, is_restricted).map(|column| gaps.in_column(column));
            let mut walk = Walk { windows: windows.spans_for(run), gaps, from: starts.start };
            if let Some(start) = walk.next_start(&grid) {
                let Run { provider, operatory, .. } = *run;
                next.push(Reverse(Next { start, provider, operatory, walk: walks.len() }));
                walks.push(walk);
            }
        }
        Free { grid, walks, next }
    }
}

impl Iterator for Free<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let mut top = self.next.peek_mut()?;
        let Next { start, provider, operatory, walk } = top.0;
        match self.walks[walk].next_start(&self.grid) {
            Some(next) => top.0.start = next,
            None => drop(PeekMut::pop(top)),
        }
        Some(Slot { span: Span { start, end: start.plus(self.grid.length) }, provider, operatory })
    }
}

/// Cursor over one run. Passed windows and gaps are dropped from the front of the slices.
struct Walk<'a> {
    windows: &'a [Span],
    /// Gaps of the place's column and of the provider's.
    gaps: [&'a [Span]; 2],
    from: Timestamp,
}

impl Walk<'_> {
    fn next_start(&mut self, grid: &Grid<'_>) -> Option<Timestamp> {
        loop {
            let window = *self.windows.first()?;
            if window.end.since(self.from.max(window.start)) < grid.length {
                self.windows = &self.windows[1..];
                continue;
            }
            let start = match grid.alignment {
                None => on_grid(window.start, self.from, grid.interval),
                Some(alignment) => alignment.next(window.start, self.from, grid.interval),
            };
            if start >= grid.until {
                return None;
            }
            let end = start.plus(grid.length);
            if end > window.end {
                self.windows = &self.windows[1..];
                continue;
            }
            let [place, provider] = &mut self.gaps;
            let free_from = gap_beyond(place, end)?.max(gap_beyond(provider, end)?);
            if free_from <= start {
                // An aligned grid may begin again within the interval.
                let step = if grid.alignment.is_some() { 1 } else { grid.interval };
                // A long interval must not carry over the start of the next window.
                self.from = start.plus(step).min(window.end);
                return Some(start);
            }
            self.from = free_from;
        }
    }
}

/// Drops the gaps that end before `end`, and returns the start of the first remaining gap.
fn gap_beyond(gaps: &mut &[Span], end: Timestamp) -> Option<Timestamp> {
    let passed = gaps.iter().take_while(|gap| gap.end < end).count();
    *gaps = &gaps[passed..];
    gaps.first().map(|gap| gap.start)
}
