//! Saving of records, with warnings for the response.

use engine::{
    EngineError, Request, Saved,
    commands::CreateRecord,
    idempotency::IdempotencyKey,
    records::{Body, Record},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    access::{
        call::ApiCall,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::name_of,
};

impl ApiCall {
    /// Saves with the idempotency key of the request. Warnings are added to the response.
    pub async fn save<T, R>(&mut self, location: &OpenLocation, request: R) -> Result<Saved<T>, EngineError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        R: Request<Reply = Saved<T>> + Clone,
    {
        let key = self.idempotency_key();
        self.save_with_key(location, request, key).await
    }

    /// Saves with a separate key, for requests that save several records.
    pub async fn save_with_key<T, R>(
        &mut self,
        location: &OpenLocation,
        request: R,
        key: Option<IdempotencyKey>,
    ) -> Result<Saved<T>, EngineError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        R: Request<Reply = Saved<T>> + Clone,
    {
        let saved = self.api.engine.save(location.setup.id, key, request).await?;
        saved.warnings.iter().for_each(|warning| self.warn(warning));
        Ok(saved)
    }

    /// Creates a record, optionally of a patient.
    pub async fn save_entry<T: Body>(
        &mut self,
        location: &OpenLocation,
        body: &T,
        patient: Option<u32>,
    ) -> Result<Saved<Record<T>>, EngineError> {
        self.save_numbered(location, body, patient, None).await
    }

    /// Like `save_entry`, with the client's unique number for the record.
    pub async fn save_numbered<T: Body>(
        &mut self,
        location: &OpenLocation,
        body: &T,
        patient: Option<u32>,
        number: Option<IdempotencyKey>,
    ) -> Result<Saved<Record<T>>, EngineError> {
        let saved = self.save(location, CreateRecord { body: body.clone(), patient, number }).await?;
        self.audit("write", name_of(T::RESOURCE), saved.record.id.into());
        Ok(saved)
    }

    /// Selects the location at which a shared record is written if the request names none. Returns an open location of
    /// the data source, from `preferred` if possible.
    pub fn location_for(&self, tenant: &Tenant, source: u32, preferred: &[u32]) -> Option<OpenLocation> {
        let mut locations = self.open_locations(tenant);
        locations.retain(|location| location.setup.source == Some(source));
        let at = locations.iter().position(|location| preferred.contains(&location.setup.id.0)).unwrap_or(0);
        (at < locations.len()).then(|| locations.swap_remove(at))
    }
}
