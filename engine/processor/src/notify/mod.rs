//! Webhook messages of a turn, added to its commit: changed records, outcomes of writes to the EHR, and the status of
//! reading and writing. No other module of this crate creates webhook messages.

pub(crate) mod sync_status;

use std::collections::BTreeSet;

use location::{
    command::DecisionContext,
    event::{Event as Happened, InsertFailure},
    ids::LocationId,
    intent::WriteIntent,
    pull::Resource,
    resource::Operation,
};
use query::stream::ChangeKind;
use records::schema::scope_of;
use runtime::clock;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use setup::Setup;
use store::Batch;
use webhooks::{
    catalogue::{Event, EventName, ResourceType, WriteOutcome},
    outbox::{CommittedEvent, Enqueued, keys_of},
    payload::{self, Item, Layout, Message},
    subscriptions::Recipients,
    views::{RelatedRecords, ViewContext, Views},
};

use crate::{
    error::Reject,
    processor::{Processor, decode},
    unit_of_work::{Changed, UnitOfWork},
};

/// Maximum additions to one commit: the keys of a page of 500 records with 20 subscriptions to one event, and the bytes
/// of their messages. The turn's own keys come on top; more of both would exceed the limits of the store. A page or
/// sweep with more messages is handled in parts.
const MOST_KEYS: usize = 500 * keys_of(20);
const MOST_BYTES: usize = 24 << 20;
/// Limits for a turn that cannot be split: the limits of the store, minus the few keys of the turn. No such request has
/// that many records and subscriptions. Messages beyond the limits are counted for their endpoints like those beyond
/// the capacity of a queue.
const MOST_KEYS_ALONE: usize = 85_000;
const MOST_BYTES_ALONE: usize = 48 << 20;

/// Adds the messages to the turn's batch. Returns them, and the number of deliveries left out. An institution without
/// subscriptions costs one check.
pub(crate) fn enqueue_messages(
    processor: &Processor,
    cx: DecisionContext,
    origin: Option<&str>,
    events: &[Happened],
    unit: &UnitOfWork<'_>,
    batch: &mut Batch,
    room: CommitBudget,
) -> Result<(Enqueued, usize), Reject> {
    let enqueued = processor.deps.outbox.begin(processor.institution.id, batch)?;
    if !processor.deps.outbox.has_subscribers(processor.institution.id) {
        return Ok((enqueued, 0));
    }
    let mut publisher = Publisher { processor, cx, origin, unit, batch, room, enqueued };
    publisher.sync_status(events)?;
    for event in events {
        publisher.outcome(event)?;
    }
    publisher.changes()?;
    Ok((publisher.enqueued, publisher.room.left_out))
}

/// Remaining capacity of the commit.
pub(crate) struct CommitBudget {
    keys: usize,
    bytes: usize,
    left_out: usize,
}

impl CommitBudget {
    pub(crate) fn beside_others() -> CommitBudget {
        CommitBudget { keys: MOST_KEYS, bytes: MOST_BYTES, left_out: 0 }
    }

    pub(crate) fn alone() -> CommitBudget {
        CommitBudget { keys: MOST_KEYS_ALONE, bytes: MOST_BYTES_ALONE, left_out: 0 }
    }

    fn take(&mut self, deliveries: usize, bytes: usize) -> bool {
        let left = self.keys.checked_sub(keys_of(deliveries)).zip(self.bytes.checked_sub(bytes));
        match left {
            Some((keys, bytes)) => (self.keys, self.bytes) = (keys, bytes),
            None => self.left_out += deliveries,
        }
        left.is_some()
    }
}

pub(super) struct Publisher<'t, 'd> {
    pub(super) processor: &'t Processor,
    pub(super) cx: DecisionContext,
    origin: Option<&'t str>,
    unit: &'t UnitOfWork<'d>,
    pub(super) batch: &'t mut Batch,
    room: CommitBudget,
    enqueued: Enqueued,
}

impl<'t, 'd> Publisher<'t, 'd> {
    fn renderer(&self) -> Renderer<'t, 'd> {
        Renderer { views: &*self.processor.deps.views, unit: self.unit }
    }

    fn changes(&mut self) -> Result<(), Reject> {
        let (unit, renderer) = (self.unit, self.renderer());
        // In the order of the records, so patients precede their appointments.
        let mut by_event: Vec<(Event, Vec<Changed<'_>>)> = Vec::new();
        for changed in unit.changes() {
            let Some(kind) = ResourceType::from_resource(changed.resource) else { continue };
            let Some(event) = heard(&changed)?.and_then(|change| kind.changed(change)) else { continue };
            match by_event.iter_mut().rev().find(|(known, _)| *known == event) {
                Some((_, all)) => all.push(changed),
                None => by_event.push((event, vec![changed])),
            }
        }
        for (event, changed) in by_event {
            let Some(name) = EventName::change(event) else { continue };
            self.send(name, |context, hears| {
                let mut items = Vec::new();
                for changed in &changed {
                    if hears.includes(changed.after)?
                        || changed.before.map_or(Ok(false), |before| hears.includes(before))?
                    {
                        items.extend(renderer.item(context, event, changed)?);
                    }
                }
                Ok(payload::messages(event, items, None))
            })?;
        }
        Ok(())
    }

    /// Publishes the outcome of a write, with the current record.
    fn outcome(&mut self, event: &Happened) -> Result<(), Reject> {
        let Some(EndedWrite { resource, id, operation, outcome, reason }) = ended(event) else { return Ok(()) };
        let event = ResourceType::from_resource(resource).and_then(|kind| kind.written(operation));
        let Some(name) = event.and_then(|event| EventName::written(event, outcome)) else { return Ok(()) };
        let (unit, renderer) = (self.unit, self.renderer());
        let scope =
            scope_of(resource, self.processor.institution.id.0, self.processor.source(), self.processor.setup.id.0);
        self.send(name, |context, hears| {
            let Some(stored) = unit.stored(resource, scope, id)? else { return Ok(Vec::new()) };
            if !hears.includes(&stored)? {
                return Ok(Vec::new());
            }
            let view = renderer.render(context, resource, &stored)?;
            let (patient, location) = (patient(name.event(), &stored)?, at(&stored)?.location_id);
            let item = Item { view, previous: None, patient, location };
            Ok(payload::messages(name.event(), vec![item], reason))
        })
    }

    /// Renders each message once for all recipients of the same content.
    pub(super) fn send(
        &mut self,
        name: EventName,
        render: impl Fn(&ViewContext<'_>, &LocationFilter<'_>) -> Result<Vec<Message>, Reject>,
    ) -> Result<(), Reject> {
        let (deps, institution, time) = (&self.processor.deps, &self.processor.institution, self.cx.now);
        let setup = deps.setup.now();
        for Recipients { version, amounts, locations, subscriptions } in &deps.outbox.recipients(institution.id, name) {
            let context =
                ViewContext { setup: &setup, location: &self.processor.setup, version, amounts: *amounts, now: time };
            for Message { data, location } in
                render(&context, &LocationFilter { locations: locations.as_ref(), setup: &setup })?
            {
                let size = serde_json::to_string(&data).map_or(0, |text| text.len());
                if !self.room.take(subscriptions.len(), size) {
                    deps.outbox.leave_out(subscriptions, self.batch, time, &mut self.enqueued);
                    continue;
                }
                let (institution, subdomain) = (institution.id, institution.subdomain.as_str());
                let origin = self.origin;
                let event = CommittedEvent { institution, subdomain, location, name, time, data: &data, origin };
                let new_id = || uuid::Builder::from_random_bytes(clock::random()).into_uuid();
                deps.outbox.enqueue(subscriptions, self.batch, &event, new_id, &mut self.enqueued);
            }
        }
        Ok(())
    }

    pub(super) fn wanted(&self, event: Event) -> bool {
        self.processor.deps.outbox.has_subscribers_for(self.processor.institution.id, event)
    }
}

/// The locations that a recipient may see.
pub(super) struct LocationFilter<'a> {
    locations: Option<&'a BTreeSet<LocationId>>,
    setup: &'a Setup,
}

impl LocationFilter<'_> {
    pub(super) fn at(&self, location: LocationId) -> bool {
        self.locations.is_none_or(|heard| heard.contains(&location))
    }

    /// Returns `true` if the recipient may see a record. The record belongs to its own location, or to those where a
    /// patient was seen. If only the EHR knows the location, it belongs to all locations of its data source.
    fn includes(&self, stored: &[u8]) -> Result<bool, Reject> {
        let Some(heard) = self.locations else { return Ok(true) };
        let at = at(stored)?;
        Ok(match at.location_id {
            Some(location) => heard.contains(&location),
            None if !at.body.location_ids.is_empty() => {
                at.body.location_ids.iter().any(|location| heard.contains(location))
            }
            None => heard.iter().any(|location| {
                let source = self.setup.locations.get(location).and_then(|location| location.source);
                at.source_id.is_none() || at.source_id == source
            }),
        })
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

fn at(stored: &[u8]) -> Result<RecordPlacement, Reject> {
    decode(stored)
}

/// Returns the change to publish, if any. A payment or adjustment made here counts as created when it reaches the
/// ledger (specification 6.5). Changes of deleted records are not published.
fn heard(changed: &Changed<'_>) -> Result<Option<ChangeKind>, Reject> {
    if changed.deleted && (changed.was_deleted || changed.change == ChangeKind::Created) {
        return Ok(None);
    }
    if !matches!(changed.resource, Resource::Payments | Resource::Adjustments) {
        return Ok(Some(changed.change));
    }
    let before = changed.before.map_or(Ok(false), in_ehr)?;
    Ok(match (before, in_ehr(changed.after)?) {
        (true, _) => Some(changed.change),
        (false, true) => Some(ChangeKind::Created).filter(|_| !changed.deleted),
        (false, false) => None,
    })
}

fn in_ehr(stored: &[u8]) -> Result<bool, Reject> {
    #[derive(Deserialize)]
    struct Origin {
        foreign_id: Option<IgnoredAny>,
    }
    Ok(decode::<Origin>(stored)?.foreign_id.is_some())
}

/// Fields of views that show the state of a record's write.
const WRITE_STANDS: [&str; 2] = ["ehr_writeback", "failure_reason"];

/// Renders records as clients see them, together with related records as the turn leaves them.
#[derive(Clone, Copy)]
struct Renderer<'t, 'd> {
    views: &'t dyn Views,
    unit: &'t UnitOfWork<'d>,
}

impl Renderer<'_, '_> {
    fn render(self, context: &ViewContext<'_>, resource: Resource, stored: &[u8]) -> Result<Value, Reject> {
        Ok(self.views.record(context, resource, stored, self.unit)?)
    }

    /// Returns `None` for an update without visible changes.
    fn item(self, context: &ViewContext<'_>, event: Event, changed: &Changed<'_>) -> Result<Option<Item>, Reject> {
        let view = self.render(context, changed.resource, changed.after)?;
        let mut previous = None;
        if let Some(before) = changed.before.filter(|_| event.is_update()) {
            previous = payload::previous(&self.render(context, changed.resource, before)?, &view);
            // The state of a write has a separate event, except that of an appointment's insert.
            let has_event = |name: &String| WRITE_STANDS.contains(&name.as_str()) || payload::is_stamp(name);
            let inserting = changed.resource == Resource::Appointments && !in_ehr(changed.after)?;
            if previous.as_ref().is_none_or(|previous| !inserting && previous.keys().all(has_event)) {
                return Ok(None);
            }
        }
        let (patient, location) = (patient(event, changed.after)?, at(changed.after)?.location_id);
        Ok(Some(Item { view, previous, patient, location }))
    }
}

fn patient(event: Event, stored: &[u8]) -> Result<Option<u64>, Reject> {
    #[derive(Deserialize)]
    struct Whose {
        body: PatientRef,
    }
    #[derive(Deserialize)]
    struct PatientRef {
        patient_id: u64,
    }
    if Layout::for_event(event) != Layout::OfPatient {
        return Ok(None);
    }
    Ok(Some(decode::<Whose>(stored)?.body.patient_id))
}

/// A finished write.
struct EndedWrite<'e> {
    resource: Resource,
    id: u64,
    operation: Operation,
    outcome: WriteOutcome,
    /// The reason for the failure.
    reason: Option<&'e str>,
}

fn ended(event: &Happened) -> Option<EndedWrite<'_>> {
    let done = |(resource, id, operation)| EndedWrite {
        resource,
        id,
        operation,
        outcome: WriteOutcome::Complete,
        reason: None,
    };
    let failed = |(resource, id, operation), how: InsertFailure, reason| {
        let outcome = match how {
            InsertFailure::Failed => WriteOutcome::Failed,
            InsertFailure::TimedOut => WriteOutcome::TimedOut,
            InsertFailure::Withdrawn => return None,
        };
        Some(EndedWrite { resource, id, operation, outcome, reason: Some(reason) })
    };
    let insert = |appointment: u64| (Resource::Appointments, appointment, Operation::Create);
    match event {
        Happened::InsertDone { appointment, .. } => Some(done(insert(appointment.0))),
        Happened::InsertFailed { appointment, how, reason } => failed(insert(appointment.0), *how, reason),
        Happened::WriteDone { work, .. } => written(*work).map(done),
        Happened::WriteFailed { work, how, reason, .. } => failed(written(*work)?, *how, reason),
        _ => None,
    }
}

/// Returns the record of a write, or `None` for inserts of appointments, which have separate events.
fn written(work: WriteIntent) -> Option<(Resource, u64, Operation)> {
    match work {
        WriteIntent::CreatePatient(patient) => Some((Resource::Patients, u64::from(patient.0), Operation::Create)),
        WriteIntent::CreateAppointment(_) => None,
        WriteIntent::Reschedule(id)
        | WriteIntent::Cancel(id)
        | WriteIntent::Confirm(id)
        | WriteIntent::CheckIn(id)
        | WriteIntent::Note(id) => Some((Resource::Appointments, id.0, Operation::Update)),
        WriteIntent::Record { resource, id, operation } => Some((resource, id, operation)),
    }
}

#[cfg(test)]
mod tests;
