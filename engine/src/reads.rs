//! Reads straight from the store: no actor is asked, so they see what is durable and never wait for a location.

use location::{
    ids::{AppointmentId, InstitutionId, LocationId},
    pull::Resource,
    time::{Span, Timestamp},
};
use processor::{
    error::{EngineError, failed},
    note_keys::{description_key, last_sync_key},
};
use query::{
    feed::{self, Changes, Stream},
    index::places,
    lists::{Lists, Order, Part, Position, Stretch, Walk},
};
use records::{
    self,
    document::{Document, Kind, Link, scope_of},
    ehr::Description,
    index::OrderBy,
    record::{Body, Record},
};
use runtime::clock;
use serde::{Deserialize, de::DeserializeOwned};
use store::{Direction, MAX_KEY_BYTES, feed_end, keys};
use webhooks::shapes::{Related, Scene, Unshaped};

use crate::{
    config_history::{self, INSTITUTIONS, LOCATIONS, SetUp, set_up_key},
    engine::Engine,
};

/// A record on the wire.
pub struct Shown {
    /// The one location it is for.
    pub made_at: Option<u32>,
    pub deleted: bool,
    pub record: serde_json::Value,
}

/// What every record that has them calls so.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    location_id: Option<u32>,
    #[serde(default)]
    deleted_at: Option<Timestamp>,
}

/// Working hours read to find who works at a location.
const HOURS_AT_MOST: usize = 10_000;

impl Engine {
    pub fn walk<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, D)>, EngineError> {
        self.walkable(walk)?;
        self.lists().walk(walk, part).map_err(failed)
    }

    /// The records as JSON, as the store keeps them.
    pub fn walk_raw<D: Document>(&self, walk: &Walk, part: Part) -> Result<Vec<(Position, Vec<u8>)>, EngineError> {
        self.walkable(walk)?;
        self.lists().walk_raw::<D>(walk, part).map_err(failed)
    }

    fn lists(&self) -> Lists<'_> {
        Lists { store: &*self.deps().store, secrets: &self.deps().secrets }
    }

    /// Places older than that are forgotten, so the walk could skip records.
    fn walkable(&self, walk: &Walk) -> Result<(), EngineError> {
        match walk.order {
            Order::By(_) if walk.as_of < clock::now().minus(places::KEPT) => Err(EngineError::Expired),
            _ => Ok(()),
        }
    }

    /// What changed at a location and in its data source after a position; without a position, the position of now. No resources
    /// means all of them.
    pub fn changes(
        &self,
        location: LocationId,
        since: Option<u64>,
        resources: &[Resource],
        limit: usize,
    ) -> Result<Changes, EngineError> {
        let setup = self.setup().locations.get(&location).ok_or(EngineError::UnknownLocation)?;
        let shared = setup.source.map(Stream::Source);
        let streams: Vec<Stream> = [Stream::Location(location.0)].into_iter().chain(shared).collect();
        let store = &*self.deps().store;
        match since {
            None => Ok(Changes { entries: Vec::new(), next: feed_end(store).map_err(failed)?, more: false }),
            Some(since) => {
                feed::page(store, &streams, since, resources, limit).map_err(failed)?.ok_or(EngineError::Expired)
            }
        }
    }

    /// Rises with every change of an institution's records; take it before reading.
    pub fn stamp(&self, institution: InstitutionId) -> Option<u64> {
        self.deps().change_counter.of(institution)
    }

    pub fn institution_set_up(&self, id: InstitutionId) -> Result<Option<SetUp>, EngineError> {
        config_history::read(&*self.deps().store, &set_up_key(INSTITUTIONS, id.0)).map_err(failed)
    }

    pub fn location_set_up(&self, id: LocationId) -> Result<Option<SetUp>, EngineError> {
        config_history::read(&*self.deps().store, &set_up_key(LOCATIONS, id.0)).map_err(failed)
    }

    /// When a location's read cycle ended well last.
    pub fn last_sync(&self, location: LocationId) -> Result<Option<Timestamp>, EngineError> {
        let Some(value) = self.deps().store.get(&last_sync_key(location)).map_err(failed)? else { return Ok(None) };
        let bytes = value.try_into().map_err(|_| EngineError::Damaged)?;
        Ok(Some(Timestamp(i64::from_be_bytes(bytes))))
    }

    /// What a location's EHR said it can do; none until it was asked.
    pub fn description(&self, location: LocationId) -> Result<Option<Description>, EngineError> {
        let value = self.deps().store.get(&description_key(location)).map_err(failed)?;
        value.map(|bytes| serde_json::from_slice(&bytes).map_err(|_| EngineError::Damaged)).transpose()
    }

    pub fn booking(&self, booking_ref: &str) -> Result<Option<Record<records::Appointment>>, EngineError> {
        match self.deps().secrets.booking_of(booking_ref) {
            Some(id) => self.appointment(AppointmentId(id)),
            None => Ok(None),
        }
    }

    pub fn appointment(&self, id: AppointmentId) -> Result<Option<Record<records::Appointment>>, EngineError> {
        self.document(0, id.0)
    }

    /// Appointments of a location that start in `range`, in order of start and id, after a position.
    pub fn appointments(
        &self,
        location: LocationId,
        range: Span,
        after: Option<(Timestamp, u64)>,
        backwards: bool,
        limit: usize,
    ) -> Result<Vec<Record<records::Appointment>>, EngineError> {
        let mut walk = Walk::new(location.0, Order::By(OrderBy::Start));
        walk.within = Some(range);
        let from = after.map(|(at, id)| Position { at, id });
        let direction = if backwards { Direction::Backward } else { Direction::Forward };
        let found = self.walk(&walk, Part { from, direction, limit })?;
        Ok(found.into_iter().map(|(_, appointment)| appointment).collect())
    }

    pub fn patient(
        &self,
        institution: InstitutionId,
        id: u32,
    ) -> Result<Option<Record<records::Patient>>, EngineError> {
        self.document(institution.0, u64::from(id))
    }

    pub fn provider(
        &self,
        institution: InstitutionId,
        id: u32,
    ) -> Result<Option<Record<records::Provider>>, EngineError> {
        self.document(institution.0, u64::from(id))
    }

    pub fn providers(
        &self,
        institution: InstitutionId,
        part: Stretch,
    ) -> Result<Vec<Record<records::Provider>>, EngineError> {
        self.list(institution.0, part)
    }

    pub fn operatory(&self, location: LocationId, id: u64) -> Result<Option<Record<records::Operatory>>, EngineError> {
        self.document(location.0, id)
    }

    pub fn operatories(
        &self,
        location: LocationId,
        part: Stretch,
    ) -> Result<Vec<Record<records::Operatory>>, EngineError> {
        self.list(location.0, part)
    }

    pub fn appointment_type(
        &self,
        institution: InstitutionId,
        id: u32,
    ) -> Result<Option<Record<records::AppointmentType>>, EngineError> {
        self.document(institution.0, u64::from(id))
    }

    /// All of them, up to the limit of one list: practices have some dozens.
    pub fn appointment_types(
        &self,
        institution: InstitutionId,
    ) -> Result<Vec<Record<records::AppointmentType>>, EngineError> {
        self.list(institution.0, Stretch { after: None, before: None, limit: HOURS_AT_MOST })
    }

    pub fn working_hour(
        &self,
        location: LocationId,
        id: u32,
    ) -> Result<Option<Record<records::WorkingHour>>, EngineError> {
        self.document(location.0, u64::from(id))
    }

    /// All of a location, up to the limit of one list.
    pub fn working_hours(&self, location: LocationId) -> Result<Vec<Record<records::WorkingHour>>, EngineError> {
        self.list(location.0, Stretch { after: None, before: None, limit: HOURS_AT_MOST })
    }

    /// A record of a data source.
    pub fn entry<T: Body>(&self, source: u32, id: u64) -> Result<Option<Record<T>>, EngineError> {
        self.document(source, id)
    }

    /// Our id of what a data source calls so.
    pub fn id_of_foreign(&self, source: u32, kind: Kind, foreign_id: &str) -> Result<Option<u64>, EngineError> {
        let key = keys::link(source, kind.byte(), foreign_id.as_bytes());
        // A foreign id too long for a key was never linked.
        if key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        let value = self.deps().store.get(&key).map_err(failed)?;
        value.map(|bytes| Link::from_bytes(&bytes).map(|link| link.id).ok_or(EngineError::Damaged)).transpose()
    }

    /// A record of a location or its data source, as it looks on the wire in a version of the API, to callers who may see amounts or may
    /// not.
    pub fn shown(
        &self,
        location: LocationId,
        resource: Resource,
        id: u64,
        version: &str,
        amounts: bool,
    ) -> Result<Option<Shown>, EngineError> {
        let (deps, store) = (self.deps(), &*self.deps().store);
        let place = deps.setup.locations.get(&location).ok_or(EngineError::UnknownLocation)?;
        let scope = scope_of(resource, place.institution.0, place.source, location.0);
        let Some(stored) = store.stored(resource, scope, id).map_err(failed)? else { return Ok(None) };
        let frame: Frame = parsed(Kind::Of(resource), &stored)?;
        let scene = Scene { setup: &deps.setup, location: place, version, amounts, now: self.now() };
        let record = deps.shapes.record(&scene, resource, &stored, &store).map_err(|error| match error {
            Unshaped::Store(error) => failed(error),
            Unshaped::Damaged => EngineError::Damaged,
        })?;
        Ok(Some(Shown { made_at: frame.location_id, deleted: frame.deleted_at.is_some(), record }))
    }

    pub(crate) fn document<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, EngineError> {
        let value = self.deps().store.get(&keys::record(T::KIND.byte(), scope, id)).map_err(failed)?;
        value.map(|bytes| parsed(T::KIND, &bytes)).transpose()
    }

    pub(crate) fn list<T: Document>(&self, scope: u32, part: Stretch) -> Result<Vec<T>, EngineError> {
        let kind = T::KIND.byte();
        let mut range = keys::records(kind, scope);
        if let Some(after) = part.after {
            range = range.after(&keys::record(kind, scope, after));
        }
        if let Some(before) = part.before {
            range.end = keys::record(kind, scope, before);
        }
        // Looking back from a position shows the nearest records, still in rising order.
        let direction = if part.before.is_some() { Direction::Backward } else { Direction::Forward };
        let found = self.deps().store.scan(range, direction, part.limit).map_err(failed)?;
        let mut records = found.iter().map(|(_, bytes)| parsed(T::KIND, bytes)).collect::<Result<Vec<T>, _>>()?;
        if part.before.is_some() {
            records.reverse();
        }
        Ok(records)
    }
}

fn parsed<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(bytes).map_err(|error| {
        tracing::error!(?kind, line = error.line(), column = error.column(), "a record in the store cannot be read");
        EngineError::Damaged
    })
}
