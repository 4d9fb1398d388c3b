//! What is busy: a column per operatory, and one per provider for what stands in no operatory.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppointmentId, OperatoryId, ProviderId},
    time::{Span, Timestamp},
};

/// A column of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Entries in an operatory.
    Operatory(OperatoryId),
    /// Entries without an operatory: they block the provider in all of them.
    Provider(ProviderId),
}

/// Where an appointment takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Placement {
    /// The operatory.
    pub operatory: Option<OperatoryId>,
    /// The provider.
    pub provider: Option<ProviderId>,
    /// Start and end.
    pub span: Span,
}

impl Placement {
    /// The column of the calendar it takes. None where the EHR names neither operatory nor provider.
    pub fn column(&self) -> Option<Column> {
        self.operatory.map(Column::Operatory).or(self.provider.map(Column::Provider))
    }
}

/// Who keeps a span busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// An appointment.
    Appointment(AppointmentId),
    /// The old place of an appointment whose move the EHR has not confirmed yet.
    Vacating(AppointmentId),
    /// A slot kept for a client that has not booked yet.
    Hold(u64),
}

/// A busy span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Start and end.
    pub span: Span,
    /// The appointment or hold that occupies the span.
    pub holder: Holder,
}

/// The busy spans of a location. Entries of one column may overlap: the EHR does not ask us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    columns: BTreeMap<Column, ColumnEntries>,
}

impl Calendar {
    /// An empty calendar.
    pub fn new() -> Calendar {
        Calendar::default()
    }

    /// False, and nothing done, when that very entry is there already or its span is empty.
    pub fn insert(&mut self, column: Column, span: Span, holder: Holder) -> bool {
        span.start < span.end && self.columns.entry(column).or_default().insert(Entry { span, holder })
    }

    /// False when there is no such entry.
    pub fn remove(&mut self, column: Column, span: Span, holder: Holder) -> bool {
        let Some(column_entries) = self.columns.get_mut(&column) else { return false };
        let removed = column_entries.remove(Entry { span, holder });
        if column_entries.entries.is_empty() {
            self.columns.remove(&column);
        }
        removed
    }

    /// What keeps `provider` from working in `operatory` during `span`: first what is in the operatory's column, then what
    /// is in the provider's own, each in order of start. The first one is found in logarithmic time.
    pub fn busy(
        &self,
        operatory: Option<OperatoryId>,
        provider: ProviderId,
        span: Span,
    ) -> impl Iterator<Item = &Entry> {
        let there = operatory.map(Column::Operatory).into_iter();
        there.chain([Column::Provider(provider)]).flat_map(move |column| self.overlapping(column, span))
    }

    /// The entries of one column that overlap `span`, in order of start.
    pub fn overlapping(&self, column: Column, span: Span) -> impl Iterator<Item = &Entry> {
        self.columns.get(&column).into_iter().flat_map(move |column_entries| column_entries.overlapping(span))
    }

    /// All entries, column by column, in order of start.
    pub fn entries(&self) -> impl Iterator<Item = (Column, &Entry)> {
        self.columns
            .iter()
            .flat_map(|(column, column_entries)| column_entries.entries.iter().map(|entry| (*column, entry)))
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.columns.values().map(|column_entries| column_entries.entries.len()).sum()
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Drops what has ended by `before` and tells how much that was.
    pub fn prune(&mut self, before: Timestamp) -> usize {
        let count = self.len();
        self.columns.retain(|_, column_entries| {
            column_entries.prune(before);
            !column_entries.entries.is_empty()
        });
        count - self.len()
    }

    /// Pairs of one column that overlap each other.
    pub fn overlaps_within(&self) -> impl Iterator<Item = (Column, &Entry, &Entry)> {
        self.columns.iter().flat_map(|(column, column_entries)| {
            column_entries.overlaps().map(|(first, second)| (*column, first, second))
        })
    }

    /// Asserts what must hold of the structure itself; says nothing about overlaps.
    pub fn check(&self) {
        for (column, column_entries) in &self.columns {
            assert!(!column_entries.entries.is_empty(), "{column:?} is kept without entries");
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
                "{column:?} does not know how far its entries reach"
            );
        }
    }
}

/// One column: its entries in order, and for each how far it and those before it reach. As `reach` never falls, a binary
/// search in it finds the first entry that can overlap a span, however long and however nested the entries are.
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
        self.mend(index + 1);
        true
    }

    fn remove(&mut self, entry: Entry) -> bool {
        let Ok(index) = self.entries.binary_search(&entry) else { return false };
        self.entries.remove(index);
        self.reach.remove(index);
        self.mend(index);
        true
    }

    fn prune(&mut self, before: Timestamp) {
        if self.entries.iter().any(|entry| entry.span.end <= before) {
            self.entries.retain(|entry| entry.span.end > before);
            self.reach = ColumnEntries::reach_of(&self.entries);
        }
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

    /// Sets `reach` right from `index` on after a change there; where it agrees again, the rest does too.
    fn mend(&mut self, index: usize) {
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
