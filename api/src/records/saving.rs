//! What handlers have saved, and how they answer it.

use engine::{
    EngineError, Refused,
    once::Once,
    records::entry::{Body, Entry},
    saving::{NewEntry, SaveRequest, Saved, Saving},
};
use serde::de::DeserializeOwned;

use crate::{
    access::{
        call::Call,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::name_of,
};

impl Call {
    /// Warnings go into the answer.
    pub(crate) async fn save<T: DeserializeOwned>(
        &mut self,
        place: &OpenLocation,
        what: Saving,
    ) -> Result<Saved<T>, Refused> {
        let once = self.idempotency_key();
        self.save_with_key(place, what, once).await
    }

    /// With a key of its own, where one request saves several things.
    pub(crate) async fn save_with_key<T: DeserializeOwned>(
        &mut self,
        place: &OpenLocation,
        what: Saving,
        once: Option<Once>,
    ) -> Result<Saved<T>, Refused> {
        let request = SaveRequest { location: place.location.id, what, once };
        let saved: Saved<T> = self.api.engine.save(request).await?;
        saved.warnings.iter().for_each(|warning| self.warn(warning));
        Ok(saved)
    }

    /// A new record in a frame; `patient` is whose it is.
    pub(crate) async fn save_entry<T: Body>(
        &mut self,
        place: &OpenLocation,
        body: &T,
        patient: Option<u32>,
    ) -> Result<Saved<Entry<T>>, Refused> {
        self.save_numbered(place, body, patient, None).await
    }

    /// The same; `number` is the client's own number of it, which only one record has.
    pub(crate) async fn save_numbered<T: Body>(
        &mut self,
        place: &OpenLocation,
        body: &T,
        patient: Option<u32>,
        number: Option<Once>,
    ) -> Result<Saved<Entry<T>>, Refused> {
        let body = serde_json::to_value(body).map_err(|_| EngineError::Internal)?;
        let what = Saving::Entry(NewEntry { resource: T::RESOURCE, body, patient, number });
        let saved: Saved<Entry<T>> = self.save(place, what).await?;
        self.audit("write", name_of(T::RESOURCE), saved.record.id);
        Ok(saved)
    }

    /// Where a shared record is written when the request names no location: one of `preferred` that is open to the caller, or any other
    /// of its data source.
    pub(crate) fn location_for(&self, tenant: &Tenant, source: u32, preferred: &[u32]) -> Option<OpenLocation> {
        let mut places = self.open_locations(tenant);
        places.retain(|place| place.location.source == Some(source));
        let at = places.iter().position(|place| preferred.contains(&place.location.id.0)).unwrap_or(0);
        (at < places.len()).then(|| places.swap_remove(at))
    }
}
