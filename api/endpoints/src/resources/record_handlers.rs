//! Handlers for any view of records: lists, and single records with the includes that the view declares. Their
//! responses are typed by the view with the static lifetime, because the table of routes names no other. Records that
//! `include[]` requests are read before the view of the main record is built.

use std::{any::Any, cell::OnceCell, marker::PhantomData};

use engine::{records::Scope, rows::Row};

use crate::prelude::*;

/// The values of `include[]`, if the view has any.
pub struct Requested<V> {
    include: Vec<&'static str>,
    view: PhantomData<fn() -> V>,
}

impl<V: RecordView> FromInput for Requested<V> {
    fn from_input(input: &mut Input) -> Requested<V> {
        let include = if V::INCLUDES.is_empty() { Vec::new() } else { input.includes(V::INCLUDES) };
        Requested { include, view: PhantomData }
    }
}

/// Lists the records of a location that the health record system has not refused.
pub async fn list<V, L>(call: ApiCall, AtLocation(location, request): AtLocation<L>) -> Answer<Paged<V::View<'static>>>
where
    V: RecordView,
    L: FromInput + Into<Listing>,
{
    let listing: Listing = request.into();
    let page = listing.entries_at::<V::Body>(&call, &location, is_live)?;
    render_page::<V>(&call, &page)
}

#[input]
pub struct ListInUse {
    #[query(active(), default = true)]
    active: bool,
    #[read(input.listing().since().done())]
    listing: Listing,
}

/// Lists the records of a location that are in use, or with `active=false` the others.
pub(crate) async fn list_in_use<V: RecordView>(
    call: ApiCall,
    AtLocation(location, ListInUse { active, listing }): AtLocation<ListInUse>,
) -> Answer<Paged<V::View<'static>>> {
    let keep = |it: &Record<V::Body>| active == (Body::in_use(&it.body) && it.deleted_at.is_none());
    let page = listing.entries_at(&call, &location, keep)?;
    render_page::<V>(&call, &page)
}

fn render_page<V: RecordView>(
    call: &ApiCall,
    page: &ListPage<Row<Record<V::Body>>>,
) -> Answer<Paged<V::View<'static>>> {
    let answer: Paged<V::View<'_>> = call.page_of(page, |it| V::render(it, call))?;
    Ok(Wraps::<V::View<'static>>::wrap(answer.into_response()))
}

/// Returns a record of an institution.
pub async fn show<V: RecordView>(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, requested): InTenant<Requested<V>>,
) -> Answer<One<V::View<'static>>> {
    let entry = call.entry::<V::Body>(&tenant, id)?;
    with_includes(&call, &tenant, &entry, &requested)
}

/// Returns a record of any institution of the key.
pub(crate) async fn show_of_any<V: RecordView>(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenants(tenants, requested): InTenants<Requested<V>>,
) -> Answer<One<V::View<'static>>> {
    let (tenant, entry) = call.entry_of_any::<V::Body>(&tenants, id)?;
    with_includes(&call, &tenant, &entry, &requested)
}

/// Returns a record of a location's data source, without includes.
pub(crate) async fn show_at<V: RecordView>(
    call: ApiCall,
    Id(id): Id<u64>,
    location: OpenLocation,
) -> Answer<One<V::View<'static>>> {
    let entry = call.entry_at::<V::Body>(&location, id)?;
    let answer: One<V::View<'_>> = call.show(V::render(&entry, &call));
    Ok(One::wrap(answer.into_response()))
}

fn with_includes<V: RecordView>(
    call: &ApiCall,
    tenant: &Tenant,
    entry: &Record<V::Body>,
    Requested { include, .. }: &Requested<V>,
) -> Answer<One<V::View<'static>>> {
    let related = Related::new(call, tenant, include);
    let mut view = V::render(entry, call);
    V::include(&mut view, entry, &related)?;
    let answer: One<V::View<'_>> = call.show(view);
    Ok(One::wrap(answer.into_response()))
}

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

    /// Returns the first stored value of the type that fulfils the condition.
    fn find<T: 'static>(&self, condition: impl Fn(&T) -> bool) -> Option<&T> {
        let mut last = self;
        while let Some((records, next)) = last.0.get() {
            if let Some(found) = records.downcast_ref::<T>().filter(|it| condition(it)) {
                return Some(found);
            }
            last = next;
        }
        None
    }
}

/// The records that match a filter, which several includes of a response may request.
struct Matching<T: Body> {
    source: u32,
    filter: Filter,
    records: Vec<Record<T>>,
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
        let found = match self.loaded.find(|it: &Matching<T>| it.source == source && it.filter == filter) {
            Some(found) => found,
            None => {
                let records = self.call.find_all(source, filter.clone(), MAX_RELATED)?;
                self.loaded.keep(Matching { source, filter, records })
            }
        };
        Ok(&found.records)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_records_are_found_by_type_and_condition() {
        let loaded = Loaded::default();
        assert_eq!(loaded.find(|_: &u32| true), None);
        let (first, text, second) = (loaded.keep(1_u32), loaded.keep("one".to_owned()), loaded.keep(2_u32));
        assert_eq!((*first, text.as_str(), *second), (1, "one", 2));
        assert_eq!(loaded.find(|it: &u32| *it == 2), Some(&2));
        assert_eq!(loaded.find(|it: &u32| *it == 3), None);
        assert_eq!(loaded.find(|it: &String| it == "one"), Some(&"one".to_owned()));
    }
}
