//! Records in a frame, as handlers ask for them: of the data sources a caller may reach.

use engine::records::entry::{Body, Entry};

use crate::{
    errors::{ApiError, name_of},
    listing::Listing,
    pages::Page,
    scope::{Call, Place, Tenant},
};

impl Place {
    /// Whose lists show the location's shared records: its data source; none without an EHR.
    pub fn sources(&self) -> Vec<u32> {
        self.location.source.into_iter().collect()
    }
}

impl Call {
    /// The data sources of all locations of the institution that are open to the caller.
    pub fn sources(&self, tenant: &Tenant) -> Vec<u32> {
        let mut sources: Vec<u32> = self.open_places(tenant).iter().filter_map(|place| place.location.source).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The one a path names.
    pub fn entry<T: Body>(&self, tenant: &Tenant, id: u64) -> Result<Entry<T>, ApiError> {
        let found = self.try_entry(tenant, id)?;
        found.ok_or_else(|| ApiError::NotFound(format!("{} with id {id}", name_of(T::RESOURCE))))
    }

    /// One that another record refers to, where there is one.
    pub fn try_entry<T: Body>(&self, tenant: &Tenant, id: u64) -> Result<Option<Entry<T>>, ApiError> {
        for source in self.sources(tenant) {
            if let Some(entry) = self.api.engine.entry::<T>(source, id)? {
                let here = |location| self.open_places(tenant).iter().any(|place| place.location.id.0 == location);
                return Ok(entry.location_id.is_none_or(here).then_some(entry));
            }
        }
        Ok(None)
    }

    /// The one a path names, where no institution is named.
    pub fn entry_of_any<T: Body>(&self, tenants: &[Tenant], id: u64) -> Result<(Tenant, Entry<T>), ApiError> {
        for tenant in tenants {
            if let Some(entry) = self.try_entry(tenant, id)? {
                return Ok((tenant.clone(), entry));
            }
        }
        Err(ApiError::NotFound(format!("{} with id {id}", name_of(T::RESOURCE))))
    }

    /// A page of a location's records: those of its data source, but not what was made at another location.
    pub fn entries<T: Body>(
        &self,
        place: &Place,
        listing: &Listing,
        keep: impl Fn(&Entry<T>) -> bool,
    ) -> Result<Page<Entry<T>>, ApiError> {
        let here = |entry: &Entry<T>| entry.location_id.is_none_or(|id| id == place.location.id.0);
        listing.page(
            self,
            &place.sources(),
            |entry: &Entry<T>| entry.foreign_id.as_deref(),
            |entry| here(entry) && keep(entry),
        )
    }

    /// The one a path names, at a location.
    pub fn entry_at<T: Body>(&self, place: &Place, id: u64) -> Result<Entry<T>, ApiError> {
        let found = match place.location.source {
            Some(source) => self.api.engine.entry::<T>(source, id)?,
            None => None,
        };
        found.ok_or_else(|| ApiError::NotFound(format!("{} with id {id}", name_of(T::RESOURCE))))
    }
}
