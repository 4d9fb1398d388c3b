//! Handlers for any view of records: lists, and single records with the includes that the view declares. Their
//! responses are typed by the view with the static lifetime, because the table of routes names no other.

use std::marker::PhantomData;

use engine::rows::Row;

use super::related::Related;
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
pub async fn list<V, L>(call: ApiCall, AtLocation(location, asked): AtLocation<L>) -> Answer<Paged<V::View<'static>>>
where
    V: RecordView,
    L: FromInput + Into<Listing>,
{
    let listing: Listing = asked.into();
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
    Ok(Paged::wrap(answer.into_response()))
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
