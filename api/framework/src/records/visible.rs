//! Records visible to the caller, by id or all that match: those of reachable data sources.

use engine::{
    lists::{Filter, ListQuery, Order, PageRequest},
    records::{Body, Record, document::Document},
};

use crate::{
    access::{
        call::ApiCall,
        tenancy::{OpenLocation, Tenant},
    },
    http::errors::{ApiError, name_of},
    records::listing::is_live,
    values::limits::MAX_WHOLE,
};

impl ApiCall {
    /// Returns the records of a data source that match a filter and are not deleted, in order of id, up to a limit.
    pub fn find_all<T: Body>(&self, source: u32, filter: Filter, limit: usize) -> Result<Vec<Record<T>>, ApiError> {
        let query = ListQuery::new([source], Order::Id).filtered([filter]);
        let shown = |it: &Record<T>| it.deleted_at.is_none() && is_live(it) && self.is_visible(it);
        Ok(self.api.engine.lists().list(&query, &PageRequest::whole(limit), shown)?.rows)
    }

    /// Returns a record by id. Fails if none is visible.
    pub fn entry<T: Body>(&self, tenant: &Tenant, id: u64) -> Result<Record<T>, ApiError> {
        let found = self.try_entry(tenant, id)?;
        found.ok_or_else(|| ApiError::not_found(format!("{} with id {id}", name_of(T::RESOURCE))))
    }

    /// Returns a record by id, or `None` if none is visible.
    pub fn try_entry<T: Body>(&self, tenant: &Tenant, id: u64) -> Result<Option<Record<T>>, ApiError> {
        for source in self.sources(tenant) {
            if let Some(entry) = self.api.engine.entry::<T>(source, id)? {
                let entry = Some(entry).filter(|entry| self.is_visible(entry));
                entry.iter().for_each(|entry| self.shown.audit_read(&T::RULES, entry.id.into()));
                return Ok(entry);
            }
        }
        Ok(None)
    }

    /// Returns a record by id from any of the institutions.
    pub fn entry_of_any<T: Body>(&self, tenants: &[Tenant], id: u64) -> Result<(Tenant, Record<T>), ApiError> {
        for tenant in tenants {
            if let Some(entry) = self.try_entry(tenant, id)? {
                self.shown.set_scope(tenant.institution.id, None);
                return Ok((tenant.clone(), entry));
            }
        }
        Err(ApiError::not_found(format!("{} with id {id}", name_of(T::RESOURCE))))
    }

    /// Returns a record by id from the data source of a location.
    pub fn entry_at<T: Body>(&self, location: &OpenLocation, id: u64) -> Result<Record<T>, ApiError> {
        let found = match location.setup.source {
            Some(source) => self.api.engine.entry::<T>(source, id)?.filter(|entry| self.is_visible(entry)),
            None => None,
        };
        let found = found.ok_or_else(|| ApiError::not_found(format!("{} with id {id}", name_of(T::RESOURCE))))?;
        self.shown.audit_read(&T::RULES, found.id.into());
        Ok(found)
    }

    /// Returns all records of the owners that match the filters, including deleted ones. Adds a warning if the list is
    /// cut at the limit.
    pub fn whole<D: Document>(&mut self, owners: &[u32], filters: Vec<Filter>) -> Result<Vec<D>, ApiError> {
        self.whole_up_to(MAX_WHOLE, owners, filters)
    }

    /// Like `whole`, with another limit, for lists that are sorted later: the lowest ids are not necessarily the first
    /// results.
    pub fn whole_up_to<D: Document>(
        &mut self,
        limit: usize,
        owners: &[u32],
        filters: Vec<Filter>,
    ) -> Result<Vec<D>, ApiError> {
        let query = ListQuery::new(owners, Order::Id).filtered(filters);
        let found = self.api.engine.lists().list(&query, &PageRequest::whole(limit), |_| true)?;
        if found.has_next {
            self.ends_after(limit);
        }
        Ok(found.rows)
    }

    fn ends_after(&mut self, limit: usize) {
        let sentence = format!("A list ends after {limit} records; there are more.");
        if !self.description().is_some_and(|known| known.contains(&sentence)) {
            self.warn(&sentence);
        }
    }

    /// Cuts a list at a limit, with a warning.
    pub fn end_after<R>(&mut self, limit: usize, list: &mut Vec<R>) {
        if list.len() > limit {
            list.truncate(limit);
            self.ends_after(limit);
        }
    }

    /// Keeps the records that the caller may see, and audits them.
    pub fn keep_visible<T: Body>(&self, rows: &mut Vec<Record<T>>) {
        rows.retain(|it| self.is_visible(it) && is_live(it));
        rows.iter().for_each(|it| self.shown.audit_read(&T::RULES, it.id.into()));
    }

    /// Returns all visible records that match the filters, including deleted ones.
    pub fn all_entries_including_deleted<T: Body>(
        &mut self,
        sources: &[u32],
        filters: Vec<Filter>,
    ) -> Result<Vec<Record<T>>, ApiError> {
        let mut rows: Vec<Record<T>> = self.whole(sources, filters)?;
        self.keep_visible(&mut rows);
        Ok(rows)
    }

    /// Returns all visible records that match the filters and are not deleted.
    pub fn all_entries<T: Body>(&mut self, sources: &[u32], filters: Vec<Filter>) -> Result<Vec<Record<T>>, ApiError> {
        let mut rows = self.all_entries_including_deleted(sources, filters)?;
        rows.retain(|it| it.deleted_at.is_none());
        Ok(rows)
    }

    /// Returns the source system of a record, as in `foreign_id_type`.
    pub fn adapter_of<T: Body>(&self, entry: &Record<T>) -> Option<&str> {
        self.directory.adapter_of_source(entry.source_id)
    }
}
