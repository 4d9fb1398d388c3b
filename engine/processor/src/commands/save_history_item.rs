//! Records that an item of a medical history catalogue applies or no longer applies to a patient. Each item has one
//! entry.

use query::lists::{Filter, ListQuery, Lists, Order, Range};
use records::{HistoryCategory, HistoryItem, PatientHistoryItem};

use super::{change_record::ChangeRecord, create_record::CreateRecord, prelude::*};

/// Maximum number of a patient's entries that are searched.
const MOST_ENTRIES: usize = 10_000;

/// Changes the patient's entry for an item of the catalogue, or creates one.
#[derive(Clone)]
pub struct SaveHistoryItem {
    pub patient_id: u32,
    pub category: HistoryCategory,
    pub item_id: u64,
    /// `None` keeps the current note.
    pub note: Option<String>,
    pub active: bool,
}

impl Request for SaveHistoryItem {
    type Reply = Saved<Record<PatientHistoryItem>>;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Self::Reply> {
        let item = unit.get::<Record<HistoryItem>>(at.source().unwrap_or(0), self.item_id)?;
        if item.is_none_or(|item| item.body.category != self.category) {
            return Err(PreconditionError::NotFound { resource: Resource::HistoryItems, id: self.item_id }.into());
        }
        let known = self.entry(at)?;
        let before = known.as_ref().map(|entry| entry.body.clone());
        let body = PatientHistoryItem {
            patient_id: self.patient_id,
            category: self.category,
            item_id: self.item_id,
            note: self.note.clone().or_else(|| before.as_ref()?.note.clone()),
            active: self.active,
            extra: before.map(|before| before.extra).unwrap_or_default(),
        };
        match known {
            Some(entry) => ChangeRecord { id: entry.id, body: Some(body) }.prepare(at, cx, unit),
            None => CreateRecord { body, patient: Some(self.patient_id), number: None }.prepare(at, cx, unit),
        }
    }
}

impl SaveHistoryItem {
    /// Returns the patient's entry for the item, active ones first. Entries rejected by the EHR are ignored.
    fn entry(&self, at: &Processor) -> Result<Option<Record<PatientHistoryItem>>, Reject> {
        let lists = Lists { store: &*at.deps.store, index: &at.deps.index };
        let query = ListQuery::new([at.source().unwrap_or(0)], Order::Id);
        let query = query.filtered([Filter::Patient(self.patient_id.into())]);
        let entries = lists.scan::<Record<PatientHistoryItem>>(&query, Range::last(MOST_ENTRIES))?;
        let entries = entries.into_iter().map(|(_, entry)| entry);
        let mut same: Vec<_> = entries
            .filter(|it| it.deleted_at.is_none() && !it.rejected())
            .filter(|it| it.body.patient_id == self.patient_id && it.body.item_id == self.item_id)
            .collect();
        let at = same.iter().position(|it| it.body.active).unwrap_or(0);
        Ok((at < same.len()).then(|| same.swap_remove(at)))
    }
}
