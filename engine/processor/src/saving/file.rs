//! What a patient's file asks for besides the rules of all records: one entry for each item of a medical history, answers that fit
//! their form.

use location::{command::Cx, pull::Resource};
use query::lists::{Lists, Narrow, Order, Part, Walk};
use records::{
    entries,
    entry::{Body, Entry, WriteStatus},
    form_answers as forms,
    forms::{FormResponse, FormSchema},
    history::{HistoryItem, PatientHistoryItem},
    index::{Field, Term},
};
use serde_json::Value;
use store::Direction;

use crate::saving::{Prepared, unmet};
use crate::{
    requests::{NewEntry, NewHistoryItem, Unmet},
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

/// Entries of one patient's history that are looked through.
const MOST_ENTRIES: usize = 10_000;

impl Processor {
    pub(super) fn save_history_item(&self, cx: Cx, new: &NewHistoryItem, unit: &mut UnitOfWork<'_>) -> Prepared {
        let source = self.source().unwrap_or(0);
        let item = unit.get::<Entry<HistoryItem>>(source, new.item_id)?;
        if item.is_none_or(|item| item.body.category != new.category) {
            return unmet(Unmet::NotFound { resource: Resource::HistoryItems, id: new.item_id });
        }
        let (resource, patient) = (PatientHistoryItem::RESOURCE, new.patient_id);
        let known = self.history_entry(new)?;
        let before = known.as_ref().map(|entry| entry.body.clone());
        let body = PatientHistoryItem {
            patient_id: patient,
            category: new.category,
            item_id: new.item_id,
            note: new.note.clone().or_else(|| before.as_ref()?.note.clone()),
            active: new.active,
            extra: before.map(|before| before.extra).unwrap_or_default(),
        };
        let body = serde_json::to_value(body).map_err(|_| TurnError::Damaged("a body that cannot be written"))?;
        match known {
            Some(entry) => self.change_entry(cx, resource, entry.id, &body, unit),
            None => self.new_entry(cx, &NewEntry { resource, body, patient: Some(patient), number: None }, unit),
        }
    }

    /// The patient's entry for the item, one in force before one that is not. What the EHR would not take counts for nothing.
    fn history_entry(&self, new: &NewHistoryItem) -> Result<Option<Entry<PatientHistoryItem>>, TurnError> {
        let lists = Lists { store: &*self.deps.store, secrets: &self.deps.secrets };
        let narrow = vec![Narrow::Has(Term::number(Field::Patient, new.patient_id))];
        let walk = Walk { narrow, ..Walk::new(self.source().unwrap_or(0), Order::Id) };
        let part = Part { from: None, direction: Direction::Backward, limit: MOST_ENTRIES };
        let entries = lists.walk::<Entry<PatientHistoryItem>>(&walk, part)?.into_iter().map(|(_, entry)| entry);
        let failed = |it: &Entry<PatientHistoryItem>| {
            it.foreign_id.is_none() && it.write.as_ref().is_some_and(|write| write.status == WriteStatus::Failed)
        };
        let mut same: Vec<_> = entries
            .filter(|it| it.deleted_at.is_none() && !failed(it))
            .filter(|it| it.body.patient_id == new.patient_id && it.body.item_id == new.item_id)
            .collect();
        let at = same.iter().position(|it| it.body.active).unwrap_or(0);
        Ok((at < same.len()).then(|| same.swap_remove(at)))
    }

    /// Why answers do not fit the form they are for.
    pub(super) fn unfit(&self, body: &Value, unit: &mut UnitOfWork<'_>) -> Result<Option<Unmet>, TurnError> {
        let response: FormResponse = match entries::read(body.clone()) {
            Ok(response) => response,
            Err(wrong) => return Ok(Some(Unmet::Wrong(wrong))),
        };
        let schema = unit.get::<Entry<FormSchema>>(self.source().unwrap_or(0), response.form_schema_id)?;
        // A form that is not there is refused where all references are looked at.
        let Some(schema) = schema else { return Ok(None) };
        let problems = forms::problems(&schema.body.schema_json.value(), &response.answers_json.value());
        Ok((!problems.is_empty()).then_some(Unmet::Unfit(problems)))
    }
}
