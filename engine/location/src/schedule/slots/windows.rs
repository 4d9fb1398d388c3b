//! Working hours of a provider and place, resolved to instants and merged into windows.

use std::ops::Range;

use crate::{
    Date, HourKind, HourSource, MINUTE, OperatoryId, ProviderId, Recurrence, Span, Timestamp, Weekday, WorkingHour,
    Zone,
};

/// Merged, disjoint windows of one provider in one place, in order.
pub(super) struct Run {
    pub provider: ProviderId,
    pub operatory: Option<OperatoryId>,
    windows: Range<usize>,
}

/// All runs, in order of provider and operatory. A provider may have two runs in a place: hours, and blocks that do not
/// join them.
#[derive(Default)]
pub(super) struct Windows {
    pub runs: Vec<Run>,
    spans: Vec<Span>,
}

impl Windows {
    /// Resolves the windows of `hours` on the dates from `first` to `last`.
    pub(super) fn open(hours: &[&WorkingHour], zone: &Zone, first: Date, last: Date, join_blocks: bool) -> Windows {
        let mut hours = hours.to_vec();
        hours.sort_by_key(|hour| (hour.provider, hour.operatory));
        let days = LocalDay::list(zone, first, last);
        let mut opened = Windows::default();
        let mut layers = Layers::default();
        for place in hours.chunk_by(|a, b| (a.provider, a.operatory) == (b.provider, b.operatory)) {
            for hour in place {
                layers.add(hour, zone, &days, join_blocks);
            }
            layers.merge(join_blocks);
            let (provider, operatory) = (place[0].provider, place[0].operatory);
            for layer in [&mut layers.hours, &mut layers.blocks] {
                let start = opened.spans.len();
                opened.spans.extend(layer.drain(..).map(|window| window.span));
                let windows = start..opened.spans.len();
                if !windows.is_empty() {
                    opened.runs.push(Run { provider, operatory, windows });
                }
            }
        }
        opened
    }

    pub(super) fn spans_for(&self, run: &Run) -> &[Span] {
        &self.spans[run.windows.clone()]
    }
}

#[derive(Clone, Copy)]
struct OpenWindow {
    span: Span,
    /// `true` if a schedulable block is part of the window.
    block: bool,
}

/// The windows of one place. A slot must fit into a single layer.
#[derive(Default)]
struct Layers {
    hours: Vec<OpenWindow>,
    /// Schedulable blocks, and the synced hours if these join them.
    blocks: Vec<OpenWindow>,
}

impl Layers {
    fn add(&mut self, hour: &WorkingHour, zone: &Zone, days: &[LocalDay], join_blocks: bool) {
        let block = hour.kind == HourKind::SchedulableBlock;
        let joins = join_blocks && hour.source == HourSource::Synced;
        let mut add = |span| {
            if !block {
                self.hours.push(OpenWindow { span, block });
            }
            if block || joins {
                self.blocks.push(OpenWindow { span, block });
            }
        };
        match &hour.recurrence {
            Recurrence::Weekly(weekdays) => {
                let weekdays = weekdays.iter().fold(0, |mask, day| mask | mask_of(*day));
                let days = days.iter().filter(|day| day.weekday & weekdays != 0);
                days.filter_map(|day| day.window(hour, zone)).for_each(&mut add);
            }
            Recurrence::On(_) | Recurrence::Every { .. } => {
                let days = days.iter().filter(|day| hour.applies_on(day.date));
                days.filter_map(|day| day.window(hour, zone)).for_each(&mut add);
            }
        }
    }

    fn merge(&mut self, join_blocks: bool) {
        merge(&mut self.hours);
        merge(&mut self.blocks);
        if join_blocks {
            // Synced hours are in both layers: they count with the blocks if one joins them, otherwise as hours.
            self.blocks.retain(|window| window.block);
            let blocks = &self.blocks;
            self.hours.retain(|window| {
                let until = blocks.partition_point(|block| block.span.start <= window.span.start);
                !blocks[..until].last().is_some_and(|block| block.span.contains(window.span))
            });
        }
    }
}

/// Merges windows that touch or overlap.
fn merge(windows: &mut Vec<OpenWindow>) {
    windows.sort_by_key(|window| window.span.start);
    windows.dedup_by(|next, kept| {
        let meets = next.span.start <= kept.span.end;
        if meets {
            kept.span.end = kept.span.end.max(next.span.end);
            kept.block |= next.block;
        }
        meets
    });
}

/// A local date, resolved once for all hours.
struct LocalDay {
    date: Date,
    weekday: u8,
    /// Local midnight; `None` if clocks change on this date or the next.
    even_midnight: Option<Timestamp>,
}

impl LocalDay {
    fn list(zone: &Zone, first: Date, last: Date) -> Vec<LocalDay> {
        let day =
            |date: Date| LocalDay { date, weekday: mask_of(date.weekday()), even_midnight: zone.even_midnight(date) };
        (first.0..=last.0).map(|days| day(Date(days))).collect()
    }

    fn window(&self, hour: &WorkingHour, zone: &Zone) -> Option<Span> {
        let Some(midnight) = self.even_midnight else { return hour.span_on(zone, self.date) };
        let at = |minutes: u16| midnight.plus(i64::from(minutes) * MINUTE);
        Span::new(at(hour.begin), at(hour.closing()))
    }
}

fn mask_of(day: Weekday) -> u8 {
    1 << day as u8
}
