//! Rendering of the steps of a commit: the content of their messages for each group of recipients.

use std::collections::BTreeSet;

use location::{ids::LocationId, pull::Resource};
use query::stream::EndedWrite;
use records::facts::{ChangedBy, VisitFact};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use setup::Setup;
use store::Key;

use super::{
    history::{AtCommit, History},
    steps::{ChangedRecord, in_ehr},
    sync_status::StatusMessage,
};
use crate::{
    catalogue::{Event, EventName},
    payload::{self, Item, Layout, Message},
    subscriptions::Recipients,
    views::{ViewContext, ViewError, Views},
};

/// Fields of views that show the state of a record's write.
const WRITE_STATES: [&str; 2] = ["ehr_writeback", "failure_reason"];

/// A group of recipients, with the inputs of their views.
#[derive(Clone, Copy)]
pub(super) struct Renderer<'a> {
    pub views: &'a dyn Views,
    pub history: &'a History<'a>,
    pub context: ViewContext<'a>,
    pub recipients: &'a Recipients,
    /// The number of the last change of the commit.
    pub number: u64,
}

impl Renderer<'_> {
    pub(super) fn status(&self, name: EventName, news: &StatusMessage) -> Result<Vec<Message>, ViewError> {
        let location = self.context.location.id;
        if self.recipients.locations.as_ref().is_some_and(|wanted| !wanted.contains(&location)) {
            return Ok(Vec::new());
        }
        let mut data = Map::new();
        data.insert(name.resource_type().key().to_owned(), self.views.sync_status(&self.context, &news.status)?);
        if let Some((field, value)) = news.previous {
            data.insert("previous_attributes".to_owned(), json!({ field: value }));
        }
        Ok(vec![Message { data, location: Some(location) }])
    }

    /// Renders the outcome of a write, with the record after it.
    pub(super) fn ended(&self, event: Event, write: &EndedWrite, key: &Key) -> Result<Vec<Message>, ViewError> {
        let Some(stored) = self.history.at(key, self.number)? else { return Ok(Vec::new()) };
        if !self.includes(&stored)? {
            return Ok(Vec::new());
        }
        let view = self.view(write.resource, &stored)?;
        let (patient, location) = (patient(event, &stored)?, placement(&stored)?.location_id);
        let item = Item { view, previous: None, patient, location };
        Ok(payload::messages(event, vec![item], write.reason.as_deref()))
    }

    pub(super) fn changed(&self, event: Event, records: &[ChangedRecord<'_>]) -> Result<Vec<Message>, ViewError> {
        let mut items = Vec::new();
        for changed in records {
            let Some(after) = self.history.at(&changed.key, self.number)? else { continue };
            if self.concerns(changed, &after)? {
                items.extend(self.item(event, changed, &after)?);
            }
        }
        Ok(payload::messages(event, items, None))
    }

    /// Renders a fact of an appointment, with the record after its change.
    pub(super) fn fact(
        &self,
        event: Event,
        (fact, by): (VisitFact, ChangedBy),
        record: &ChangedRecord<'_>,
    ) -> Result<Vec<Message>, ViewError> {
        let Some(after) = self.history.at(&record.key, self.number)? else { return Ok(Vec::new()) };
        if !self.concerns(record, &after)? {
            return Ok(Vec::new());
        }
        let (view, location) = (self.view(record.resource, &after)?, placement(&after)?.location_id);
        let mut messages = payload::messages(event, vec![Item { view, previous: None, patient: None, location }], None);
        messages.iter_mut().for_each(|message| payload::add_fact(&mut message.data, fact, by));
        Ok(messages)
    }

    /// Returns `None` for an update without visible changes.
    fn item(&self, event: Event, changed: &ChangedRecord<'_>, after: &[u8]) -> Result<Option<Item>, ViewError> {
        let view = self.view(changed.resource, after)?;
        let mut previous = None;
        if let Some(before) = changed.before.filter(|_| event.is_update()) {
            previous = payload::previous(&self.view(changed.resource, before)?, &view);
            // The state of a write has a separate event, except that of an appointment's insert.
            let has_event = |name: &String| WRITE_STATES.contains(&name.as_str()) || payload::is_stamp(name);
            let inserting = changed.resource == Resource::Appointments && !in_ehr(after);
            if previous.as_ref().is_none_or(|previous| !inserting && previous.keys().all(has_event)) {
                return Ok(None);
            }
        }
        let (patient, location) = (patient(event, after)?, placement(after)?.location_id);
        Ok(Some(Item { view, previous, patient, location }))
    }

    fn view(&self, resource: Resource, stored: &[u8]) -> Result<Value, ViewError> {
        let related = AtCommit { history: self.history, number: self.number };
        self.views.record(&self.context, resource, stored, &related)
    }

    /// Returns `true` if the recipients may see a record before or after its change.
    fn concerns(&self, changed: &ChangedRecord<'_>, after: &[u8]) -> Result<bool, ViewError> {
        Ok(self.includes(after)? || changed.before.map_or(Ok(false), |before| self.includes(before))?)
    }

    /// Returns `true` if the recipients may see a record. The record belongs to its own location, or to those where a
    /// patient was seen. If only the EHR knows the location, it belongs to all locations of its data source.
    fn includes(&self, stored: &[u8]) -> Result<bool, ViewError> {
        let Some(wanted) = &self.recipients.locations else { return Ok(true) };
        Ok(is_within(&placement(stored)?, wanted, self.context.setup))
    }
}

fn is_within(record: &RecordPlacement, wanted: &BTreeSet<LocationId>, setup: &Setup) -> bool {
    match record.location_id {
        Some(location) => wanted.contains(&location),
        None if !record.body.location_ids.is_empty() => {
            record.body.location_ids.iter().any(|location| wanted.contains(location))
        }
        None => wanted.iter().any(|location| {
            let source = setup.locations.get(location).and_then(|location| location.source);
            record.source_id.is_none() || record.source_id == source
        }),
    }
}

/// The fields that locate a stored record of any kind.
#[derive(Deserialize)]
struct RecordPlacement {
    #[serde(default)]
    location_id: Option<LocationId>,
    #[serde(default)]
    source_id: Option<u32>,
    #[serde(default)]
    body: SeenAt,
}

/// A patient's locations.
#[derive(Default, Deserialize)]
struct SeenAt {
    #[serde(default)]
    location_ids: Vec<LocationId>,
}

fn placement(stored: &[u8]) -> Result<RecordPlacement, ViewError> {
    decode(stored)
}

fn patient(event: Event, stored: &[u8]) -> Result<Option<u64>, ViewError> {
    #[derive(Deserialize)]
    struct OfPatient {
        body: PatientRef,
    }
    #[derive(Deserialize)]
    struct PatientRef {
        patient_id: u64,
    }
    if Layout::for_event(event) != Layout::OfPatient {
        return Ok(None);
    }
    Ok(Some(decode::<OfPatient>(stored)?.body.patient_id))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ViewError> {
    serde_json::from_slice(bytes).map_err(|_| ViewError::Damaged)
}
