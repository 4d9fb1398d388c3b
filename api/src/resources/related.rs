//! Related records (`include[]`): the requested ones are read before the view of the main record is built.

use std::{any::Any, cell::OnceCell};

use engine::{
    lists::{Filter, ListQuery, Order, PageRequest},
    records::record::{Body, Record, Scope},
};
use location::pull::Resource;

use crate::{
    access::{call::ApiCall, tenancy::Tenant},
    http::errors::ApiError,
    records::visible::is_live,
    values::{limits::MAX_RELATED, versions::Version},
    views::render::{IncludedRecords, Reader, RecordView},
};

/// The requested related records of an institution.
pub(super) struct Related<'a> {
    call: &'a ApiCall,
    tenant: &'a Tenant,
    requested: &'a [&'static str],
    loaded: Loaded,
}

/// A list of records that views borrow from until the response is complete.
#[derive(Default)]
struct Loaded(OnceCell<(Box<dyn Any>, Box<Loaded>)>);

impl Loaded {
    fn keep<T: 'static>(&self, records: T) -> &T {
        let mut last = self;
        while let Some((_, next)) = last.0.get() {
            last = next;
        }
        let (records, _) = last.0.get_or_init(|| (Box::new(records) as Box<dyn Any>, Box::default()));
        records.downcast_ref().expect("the records were stored with this type")
    }
}

impl<'a> Related<'a> {
    pub(super) fn new(call: &'a ApiCall, tenant: &'a Tenant, requested: &'a [&'static str]) -> Related<'a> {
        Related { call, tenant, requested, loaded: Loaded::default() }
    }
}

impl IncludedRecords for Related<'_> {
    type Error = ApiError;

    fn reader(&self) -> &dyn Reader {
        self.call
    }

    fn is_requested(&self, name: &str) -> bool {
        self.requested.contains(&name)
    }

    fn record<T: Body>(&self, id: Option<T::Id>) -> Result<Option<&Record<T>>, ApiError> {
        let Some(id) = id else { return Ok(None) };
        let found = match T::SCOPE {
            Scope::Institution => self.call.api.engine.entry::<T>(self.tenant.institution.id.0, id.into())?,
            _ => self.call.try_entry(self.tenant, id.into())?,
        };
        if T::RESOURCE == Resource::Patients && found.is_some() {
            self.call.audit("read", "patient", id.into());
        }
        Ok(found.map(|it| self.loaded.keep(it)))
    }

    fn matching<T: Body>(&self, source: u32, filter: Filter) -> Result<&[Record<T>], ApiError> {
        let found: Vec<Record<T>> = self.call.find_all(source, filter, MAX_RELATED)?;
        Ok(self.loaded.keep(found).as_slice())
    }
}

impl Reader for ApiCall {
    fn adapter(&self, source: Option<u32>) -> Option<&str> {
        self.directory.adapter_of_source(source)
    }

    fn sees_amounts(&self) -> bool {
        self.key.grants.financial
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl ApiCall {
    /// Returns the view of a record for the caller.
    pub(crate) fn view<'a, V: RecordView>(&'a self, entry: &'a Record<V::Body>) -> V::View<'a> {
        V::render(entry, self)
    }

    /// Returns the records of a data source that match a filter and are not deleted, in order of id, up to a limit.
    pub(crate) fn find_all<T: Body>(
        &self,
        source: u32,
        filter: Filter,
        limit: usize,
    ) -> Result<Vec<Record<T>>, ApiError> {
        let query = ListQuery::new([source], Order::Id).filtered([filter]);
        let shown = |it: &Record<T>| it.deleted_at.is_none() && is_live(it) && self.is_visible(it);
        Ok(self.api.engine.list(&query, &PageRequest::whole(limit), shown)?.rows)
    }
}
