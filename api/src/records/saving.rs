//! What handlers have saved, and how they answer it.

use engine::{
    EngineError, Request, Saved,
    commands::CreateRecord,
    idempotency::IdempotencyKey,
    records::record::{Body, Record},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::name_of,
};

impl Call {
    /// Warnings go into the answer.
    pub(crate) async fn save<T, R>(&mut self, location: &OpenLocation, request: R) -> Result<Saved<T>, EngineError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        R: Request<Reply = Saved<T>> + Clone,
    {
        let key = self.idempotency_key();
        self.save_with_key(location, request, key).await
    }

    /// With a key of its own, where one request saves several things.
    pub(crate) async fn save_with_key<T, R>(
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

    /// A new record in a frame; `patient` is whose it is.
    pub(crate) async fn save_entry<T: Body>(
        &mut self,
        location: &OpenLocation,
        body: &T,
        patient: Option<u32>,
    ) -> Result<Saved<Record<T>>, EngineError> {
        self.save_numbered(location, body, patient, None).await
    }

    /// The same; `number` is the client's own number of it, which only one record has.
    pub(crate) async fn save_numbered<T: Body>(
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

    /// Where a shared record is written when the request names no location: one of `preferred` that is open to the caller, or any other
    /// of its data source.
    pub(crate) fn location_for(&self, tenant: &Tenant, source: u32, preferred: &[u32]) -> Option<OpenLocation> {
        let mut locations = self.open_locations(tenant);
        locations.retain(|location| location.setup.source == Some(source));
        let at = locations.iter().position(|location| preferred.contains(&location.setup.id.0)).unwrap_or(0);
        (at < locations.len()).then(|| locations.swap_remove(at))
    }
}
