//! Reads from the store without an actor: they see durable data, and never wait for a location.

use std::sync::Arc;

use location::{AppointmentId, InstitutionId, LocationId, Resource, Timestamp};
use membership::Place;
use processor::{
    EngineError,
    note_keys::{description_key, last_sync_key},
};
use query::{
    feed::{self, Changes, Reader},
    lists::{ListQuery, Lists, Order, Position, Range},
};
use records::{
    self, Body, Description, Record, Scope,
    document::{Document, DocumentKind},
    rules,
    schema::{EhrRecord, Visitor, on, scope_of},
};
use serde::{Deserialize, de::DeserializeOwned};
use setup::{LocationSetup, Setup};
use store::{StoreError, keys};
use webhooks::views::{RelatedRecords, ViewContext, ViewError};

use crate::{
    Engine, SetUp,
    config_history::{self, INSTITUTIONS, LOCATIONS, set_up_key},
};

/// A stored record, or `None` if it does not exist.
type Found<T> = Result<Option<Record<T>>, EngineError>;

/// A record as clients see it.
pub struct Shown {
    /// The location of the record, if it belongs to a single one.
    pub made_at: Option<u32>,
    pub deleted: bool,
    pub record: serde_json::Value,
}

/// Fields that all records share.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    source_id: Option<u32>,
    #[serde(default)]
    location_id: Option<u32>,
    #[serde(default)]
    deleted_at: Option<Timestamp>,
}

/// Reads the stored records of an owner.
struct StoredRecords<'a> {
    lists: Lists<'a>,
    query: ListQuery,
    range: Range,
}

impl Visitor for StoredRecords<'_> {
    type Output = Result<Vec<(Position, Vec<u8>)>, StoreError>;

    fn visit<T: Body<Ehr: Into<EhrRecord>>>(self) -> Self::Output {
        self.lists.scan_raw::<Record<T>>(&self.query, self.range)
    }
}

/// Maximum rows of lists that are read as a whole, such as the working hours of a location.
const HOURS_AT_MOST: usize = 10_000;

impl Engine {
    /// Returns the changes at a location and in its data source after a position, or the current position without
    /// `since`. An empty `resources` means all.
    pub fn changes(
        &self,
        location: LocationId,
        since: Option<u64>,
        resources: &[Resource],
        limit: usize,
    ) -> Result<Changes, EngineError> {
        let setup = self.location(location).ok_or(EngineError::UnknownLocation)?;
        let reader = Reader { institution: setup.institution.0, source: setup.source, location: location.0 };
        let store = &*self.deps.store;
        match since {
            None => {
                let next = feed::end(store, reader.institution)?;
                Ok(Changes { entries: Vec::new(), next, more: false })
            }
            Some(since) => feed::page(store, reader, since, resources, limit)?.ok_or(EngineError::Expired),
        }
    }

    /// Returns a number that rises with every change of an institution's records. Take it before reading.
    pub fn stamp(&self, institution: InstitutionId) -> Option<u64> {
        self.deps.change_counter.current(institution)
    }

    pub fn institution_set_up(&self, id: InstitutionId) -> Result<Option<SetUp>, EngineError> {
        config_history::read(&*self.deps.store, &set_up_key(INSTITUTIONS, id.0)).map_err(EngineError::from)
    }

    pub fn location_set_up(&self, id: LocationId) -> Result<Option<SetUp>, EngineError> {
        config_history::read(&*self.deps.store, &set_up_key(LOCATIONS, id.0)).map_err(EngineError::from)
    }

    /// Returns the time of a location's last successful read cycle.
    pub fn last_sync(&self, location: LocationId) -> Result<Option<Timestamp>, EngineError> {
        let Some(value) = self.deps.store.get(&last_sync_key(location))? else { return Ok(None) };
        let bytes = value.try_into().map_err(|_| EngineError::Damaged)?;
        Ok(Some(Timestamp(i64::from_be_bytes(bytes))))
    }

    /// Returns the capabilities reported by a location's EHR, or `None` before the first report.
    pub fn description(&self, location: LocationId) -> Result<Option<Description>, EngineError> {
        let value = self.deps.store.get(&description_key(location))?;
        value.map(|bytes| serde_json::from_slice(&bytes).map_err(|_| EngineError::Damaged)).transpose()
    }

    pub fn booking(&self, booking_ref: &str) -> Found<records::Appointment> {
        match self.deps.secrets.booking_of(booking_ref) {
            Some(id) => self.appointment(AppointmentId(id)),
            None => Ok(None),
        }
    }

    pub fn appointment(&self, id: AppointmentId) -> Found<records::Appointment> {
        self.document(0, id.0)
    }

    pub fn patient(&self, institution: InstitutionId, id: u32) -> Found<records::Patient> {
        self.document(institution.0, u64::from(id))
    }

    /// Returns those of the institutions that have a patient with this id. Reads the store once.
    pub fn with_patient(&self, institutions: &[InstitutionId], id: u32) -> Result<Vec<InstitutionId>, EngineError> {
        let kind = DocumentKind::Of(Resource::Patients).byte();
        let keys: Vec<_> = institutions.iter().map(|it| keys::record(kind, it.0, id.into())).collect();
        let found = self.deps.store.get_many(&keys)?;
        Ok(institutions.iter().zip(found).filter_map(|(it, found)| found.map(|_| *it)).collect())
    }

    pub fn provider(&self, institution: InstitutionId, id: u32) -> Found<records::Provider> {
        self.document(institution.0, u64::from(id))
    }

    /// Returns the name of a provider, or `None` if the provider does not exist.
    pub fn provider_name(&self, institution: InstitutionId, id: u32) -> Result<Option<String>, EngineError> {
        let stamp = self.deps.change_counter.providers(institution);
        if let Some(name) = stamp.and_then(|stamp| self.provider_names.get((institution, id), stamp)) {
            return Ok(Some(name));
        }
        let name = self.provider(institution, id)?.map(|it| it.name());
        // Changes by other nodes are not counted here. When this node loses an institution, all counters advance before
        // another node may write.
        if let (Some(stamp), Some(name), Place::Mine) = (stamp, &name, self.place(institution)) {
            self.provider_names.insert((institution, id), stamp, name.clone());
        }
        Ok(name)
    }

    pub fn operatory(&self, location: LocationId, id: u64) -> Found<records::Operatory> {
        self.document(location.0, id)
    }

    pub fn appointment_type(&self, institution: InstitutionId, id: u32) -> Found<records::AppointmentType> {
        self.document(institution.0, u64::from(id))
    }

    /// Returns all appointment types, up to the limit of one list. Practices have some dozens.
    pub fn appointment_types(
        &self,
        institution: InstitutionId,
    ) -> Result<Vec<Record<records::AppointmentType>>, EngineError> {
        self.by_id(institution.0, Range::first(HOURS_AT_MOST))
    }

    pub fn working_hour(&self, location: LocationId, id: u32) -> Found<records::WorkingHour> {
        self.document(location.0, u64::from(id))
    }

    /// Returns all working hours of a location, up to the limit of one list.
    pub fn working_hours(&self, location: LocationId) -> Result<Vec<Record<records::WorkingHour>>, EngineError> {
        self.by_id(location.0, Range::first(HOURS_AT_MOST))
    }

    /// Returns a record of a data source.
    pub fn entry<T: Body>(&self, source: u32, id: u64) -> Found<T> {
        self.document(source, id)
    }

    /// Returns the id of a record with this foreign id.
    pub fn id_of_foreign(&self, source: u32, kind: DocumentKind, foreign_id: &str) -> Result<Option<u64>, EngineError> {
        self.lists().id_of_foreign(source, kind, foreign_id).map_err(EngineError::from)
    }

    /// Returns a record of a location or its data source as clients of an API version see it, with or without amounts.
    pub fn record_view(
        &self,
        location: LocationId,
        resource: Resource,
        id: u64,
        version: &str,
        amounts: bool,
    ) -> Result<Option<Shown>, EngineError> {
        let store = &*self.deps.store;
        let setup = self.setup();
        let place = setup.locations.get(&location).ok_or(EngineError::UnknownLocation)?;
        let scope = scope_of(resource, place.institution.0, place.source, location.0);
        let Some(stored) = store.stored(resource, scope, id)? else { return Ok(None) };
        let frame: Frame = parsed(DocumentKind::Of(resource), &stored)?;
        let record = self.view((&*setup, place), resource, &stored, version, amounts)?;
        Ok(Some(Shown { made_at: frame.location_id, deleted: frame.deleted_at.is_some(), record }))
    }

    fn view(
        &self,
        (setup, location): (&Setup, &Arc<LocationSetup>),
        resource: Resource,
        stored: &[u8],
        version: &str,
        amounts: bool,
    ) -> Result<serde_json::Value, EngineError> {
        let context = ViewContext { setup, location, version, amounts, now: self.now() };
        let store = &*self.deps.store;
        self.views.record(&context, resource, stored, &store).map_err(|error| match error {
            ViewError::Store(error) => error.into(),
            ViewError::Damaged => EngineError::Damaged,
        })
    }

    /// Returns up to `limit` records of a location, its data source or its institution after a position, as stored.
    /// [`Engine::view_at`] selects those of the location. Records that change between two calls are repeated or stay in
    /// their place; none is skipped.
    pub fn stored_after(
        &self,
        location: LocationId,
        resource: Resource,
        after: Position,
        limit: usize,
    ) -> Result<Vec<(Position, Vec<u8>)>, EngineError> {
        let place = self.location(location).ok_or(EngineError::UnknownLocation)?;
        let query = match (rules(resource).scope, place.source) {
            (Scope::Institution, _) => ListQuery::new([place.institution.0], Order::Id),
            (Scope::Location, _) => ListQuery::new([place.id.0], Order::Id),
            // In the order of ids, the records of all locations would be read.
            (Scope::Everywhere, _) => ListQuery::new([place.id.0], Order::UpdatedAt),
            (Scope::Source, Some(source)) => ListQuery::new([source], Order::Id),
            // Locations without an EHR have no such records.
            (Scope::Source, None) => return Ok(Vec::new()),
        };
        let range = Range { from: Some(after), ..Range::first(limit) };
        Ok(on(resource, StoredRecords { lists: self.lists(), query, range })?)
    }

    /// Returns the view of a stored record. Returns `None` if the record is deleted, or is not one of the location, its
    /// data source or its institution.
    pub fn view_at(
        &self,
        location: LocationId,
        resource: Resource,
        stored: &[u8],
        version: &str,
        amounts: bool,
    ) -> Result<Option<serde_json::Value>, EngineError> {
        let setup = self.setup();
        let place = setup.locations.get(&location).ok_or(EngineError::UnknownLocation)?;
        let frame: Frame = parsed(DocumentKind::Of(resource), stored)?;
        let here = frame.location_id.is_none_or(|id| id == location.0);
        if frame.deleted_at.is_some() || !here || !has_source_of(place, resource, &frame, stored)? {
            return Ok(None);
        }
        self.view((&*setup, place), resource, stored, version, amounts).map(Some)
    }

    /// Returns `true` if a request to an institution may name a record, at a location if it names one. Also returns
    /// `true` if only the location can decide.
    pub fn may_name(
        &self,
        institution: InstitutionId,
        location: Option<LocationId>,
        resource: Resource,
        id: u64,
    ) -> Result<bool, EngineError> {
        let place = location.and_then(|id| self.location(id)).filter(|place| place.institution == institution);
        let source = place.as_ref().and_then(|place| place.source);
        let scope = match (rules(resource).scope, place.as_deref()) {
            (Scope::Institution, _) => institution.0,
            (Scope::Location, Some(place)) => place.id.0,
            (Scope::Source, Some(LocationSetup { source: Some(source), .. })) => *source,
            _ => return Ok(true),
        };
        let store = &*self.deps.store;
        let Some(stored) = store.stored(resource, scope, id)? else { return Ok(false) };
        let frame: Frame = parsed(DocumentKind::Of(resource), &stored)?;
        let of_ehr = source.is_none() || frame.source_id.is_none() || frame.source_id == source;
        let person = matches!(resource, Resource::Patients | Resource::Providers);
        Ok(of_ehr && (person || frame.deleted_at.is_none()))
    }

    pub(crate) fn document<T: Document>(&self, scope: u32, id: u64) -> Result<Option<T>, EngineError> {
        let value = self.deps.store.get(&keys::record(T::BYTE, scope, id))?;
        value.map(|bytes| parsed(T::KIND, &bytes)).transpose()
    }

    /// Returns records of a scope by id, without the index.
    pub(crate) fn by_id<T: Document>(&self, scope: u32, range: Range) -> Result<Vec<T>, EngineError> {
        let kind = T::BYTE;
        let mut keys = keys::records(kind, scope);
        if let Some(from) = range.from {
            keys = keys.continued(range.direction, &keys::record(kind, scope, from.id));
        }
        let found = self.deps.store.scan(keys, range.direction, range.limit)?;
        found.iter().map(|(_, bytes)| parsed(T::KIND, bytes)).collect()
    }
}

/// Returns `true` if a record belongs to the data source of a location, as in the lists of the location.
fn has_source_of(place: &LocationSetup, resource: Resource, frame: &Frame, stored: &[u8]) -> Result<bool, EngineError> {
    let same = frame.source_id == place.source;
    Ok(match (resource, place.source) {
        // Without an EHR, patients belong to the locations that have a record of them.
        (Resource::Patients, None) if same => {
            let patient: Record<records::Patient> = parsed(DocumentKind::Of(resource), stored)?;
            patient.location_ids.contains(&place.id.0)
        }
        // A type without a data source belongs to the whole institution.
        (Resource::AppointmentTypes, _) => same || frame.source_id.is_none(),
        _ => same || rules(resource).scope != Scope::Institution,
    })
}

fn parsed<T: DeserializeOwned>(kind: DocumentKind, bytes: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(bytes).map_err(|error| {
        tracing::error!(?kind, line = error.line(), column = error.column(), "a record in the store cannot be read");
        EngineError::Damaged
    })
}
