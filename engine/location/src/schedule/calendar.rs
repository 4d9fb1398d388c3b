//! The calendar of busy spans: a column per operatory, and one per provider for entries without an operatory.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use crate::{AppointmentId, OperatoryId, ProviderId, Span, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Entries in an operatory.
    Operatory(OperatoryId),
    /// Entries without an operatory: they block the provider in all of them.
    Provider(ProviderId),
}

/// Operatory, provider and time of an appointment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Placement {
    pub operatory: Option<OperatoryId>,
    pub provider: Option<ProviderId>,
    pub span: Span,
}

impl Placement {
    /// Returns the calendar column of the placement, or `None` if the EHR names neither operatory nor provider.
    pub fn column(&self) -> Option<Column> {
        self.operatory.map(Column::Operatory).or(self.provider.map(Column::Provider))
    }
}

/// The appointment or hold that occupies a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    Appointment(AppointmentId),
    /// The old slot of an appointment whose move the EHR has not confirmed yet.
    Vacating(AppointmentId),
    /// A slot kept for a client that has not booked yet.
    Hold(u64),
}

/// A busy span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    pub span: Span,
    pub holder: Holder,
}

/// The busy spans of a location. Entries of one column may overlap, because the EHR books independently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    columns: BTreeMap<Column, ColumnEntries>,
    /// Entries with neither operatory nor provider. They prevent no booking.
    unplaced: BTreeSet<Entry>,
}

impl Calendar {
    pub fn new() -> Calendar {
        Calendar::default()
    }

    /// Adds an entry. Returns `false` without adding it if the span is empty or the entry exists already.
    pub fn insert(&mut self, column: Column, span: Span, holder: Holder) -> bool {
        span.start < span.end && self.columns.entry(column).or_default().insert(Entry { span, holder })
    }

    /// Removes an entry. Returns `false` if it does not exist.
    pub fn remove(&mut self, column: Column, span: Span, holder: Holder) -> bool {
        let Some(column_entries) = self.columns.get_mut(&column) else { return false };
        let removed = column_entries.remove(Entry { span, holder });
        if column_entries.entries.is_empty() {
            self.columns.remove(&column);
        }
        removed
    }

    /// Adds the entry of a placement, which may have no column.
    pub(crate) fn occupy(&mut self, place: &Placement, holder: Holder) {
        match place.column() {
            Some(column) => self.insert(column, place.span, holder),
            None => self.unplaced.insert(Entry { span: place.span, holder }),
        };
    }

    /// Removes the entry of a placement.
    pub(crate) fn vacate(&mut self, place: &Placement, holder: Holder) {
        match place.column() {
            Some(column) => self.remove(column, place.span, holder),
            None => self.unplaced.remove(&Entry { span: place.span, holder }),
        };
    }

    /// Returns all entries that overlap `span`, in any column or none.
    pub fn during(&self, span: Span) -> impl Iterator<Item = &Entry> {
        let unplaced = self.unplaced.iter().filter(move |entry| entry.span.overlaps(span));
        self.columns.values().flat_map(move |column| column.overlapping(span)).chain(unplaced)
    }

    /// Returns the entries that prevent `provider` from working in `operatory` during `span`: the operatory's column
    /// first, then the provider's, each in order of start. The first entry is found in logarithmic time.
    pub fn busy(
        &self,
        operatory: Option<OperatoryId>,
        provider: ProviderId,
        span: Span,
    ) -> impl Iterator<Item = &Entry> {
        let there = operatory.map(Column::Operatory).into_iter();
        there.chain([Column::Provider(provider)]).flat_map(move |column| self.overlapping(column, span))
    }

    /// Returns the entries of one column that overlap `span`, in order of start.
    pub fn overlapping(&self, column: Column, span: Span) -> impl Iterator<Item = &Entry> {
        self.columns.get(&column).into_iter().flat_map(move |column_entries| column_entries.overlapping(span))
    }

    /// Iterates over all entries, column by column, in order of start.
    pub fn entries(&self) -> impl Iterator<Item = (Column, &Entry)> {
        self.columns
            .iter()
            .flat_map(|(column, column_entries)| column_entries.entries.iter().map(|entry| (*column, entry)))
    }

    /// Returns the calendar without the entries of some holders in columns.
    pub(crate) fn without(&self, holders: &[Holder]) -> Cow<'_, Calendar> {
        let left_out = self.entries().filter(|(_, entry)| holders.contains(&entry.holder));
        left_out.fold(Cow::Borrowed(self), |mut calendar, (column, entry)| {
            calendar.to_mut().remove(column, entry.span, entry.holder);
            calendar
        })
    }

    /// Returns the number of entries in columns.
    pub fn len(&self) -> usize {
        self.columns.values().map(|column_entries| column_entries.entries.len()).sum()
    }

    /// Returns `true` if the calendar has no entries in columns.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the pairs of entries of one column that overlap.
    pub fn overlaps_within(&self) -> impl Iterator<Item = (Column, &Entry, &Entry)> {
        self.columns.iter().flat_map(|(column, column_entries)| {
            column_entries.overlaps().map(|(first, second)| (*column, first, second))
        })
    }

    /// Panics if the data structure is inconsistent. Overlaps are allowed.
    pub fn check(&self) {
        for (column, column_entries) in &self.columns {
            assert!(!column_entries.entries.is_empty(), "{column:?} is empty but not removed");
            assert!(
                column_entries.entries.is_sorted_by(|a, b| a < b),
                "{column:?} is out of order or has an entry twice"
            );
            assert!(
                column_entries.entries.iter().all(|entry| entry.span.start < entry.span.end),
                "{column:?} has an empty span"
            );
            assert_eq!(
                column_entries.reach,
                ColumnEntries::reach_of(&column_entries.entries),
                "{column:?} has an outdated `reach`"
            );
        }
    }
}

/// One column: its entries in order of start, and for each the maximum end of the entries up to it. As `reach` is
/// sorted, a binary search finds the first entry that can overlap a span, however the entries are nested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ColumnEntries {
    entries: Vec<Entry>,
    reach: Vec<Timestamp>,
}

impl ColumnEntries {
    fn insert(&mut self, entry: Entry) -> bool {
        let Err(index) = self.entries.binary_search(&entry) else { return false };
        let before = index.checked_sub(1).map_or(Timestamp::MIN, |previous| self.reach[previous]);
        self.entries.insert(index, entry);
        self.reach.insert(index, before.max(entry.span.end));
        self.recompute_reach(index + 1);
        true
    }

    fn remove(&mut self, entry: Entry) -> bool {
        let Ok(index) = self.entries.binary_search(&entry) else { return false };
        self.entries.remove(index);
        self.reach.remove(index);
        self.recompute_reach(index);
        true
    }

    fn overlapping(&self, span: Span) -> impl Iterator<Item = &Entry> {
        let first = self.reach.partition_point(|reach| *reach <= span.start);
        let candidates = self.entries[first..].iter().take_while(move |entry| entry.span.start < span.end);
        candidates.filter(move |entry| entry.span.end > span.start)
    }

    fn overlaps(&self) -> impl Iterator<Item = (&Entry, &Entry)> {
        self.entries.iter().enumerate().flat_map(|(index, first)| {
            let later = self.entries[index + 1..].iter();
            later.take_while(|second| second.span.start < first.span.end).map(move |second| (first, second))
        })
    }

    /// Recomputes `reach` from `index` on after a change there, until the computed value equals the stored one.
    fn recompute_reach(&mut self, index: usize) {
        let mut reach = index.checked_sub(1).map_or(Timestamp::MIN, |previous| self.reach[previous]);
        for (entry, known) in self.entries[index..].iter().zip(&mut self.reach[index..]) {
            reach = reach.max(entry.span.end);
            if *known == reach {
                break;
            }
            *known = reach;
        }
    }

    fn reach_of(entries: &[Entry]) -> Vec<Timestamp> {
        let further = |reach: &mut Timestamp, entry: &Entry| {
            *reach = (*reach).max(entry.span.end);
            Some(*reach)
        };
        entries.iter().scan(Timestamp::MIN, further).collect()
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Operatory(id) => write!(f, "operatory {id}"),
            Column::Provider(id) => write!(f, "provider {id}"),
        }
    }
}
