//! GET /payment_types, /adjustment_types and one of each: catalogues, without amounts.

use engine::records::{AdjustmentType, PaymentType};

use crate::{
    access::{
        arguments::{AtLocation, Id, InTenant, reads},
        call::ApiCall,
        respond::{Answer, One, Paged},
    },
    records::listing::Listing,
    values::kinds::shared::active,
    views::catalogue::{AdjustmentTypeView, PaymentTypeView},
};

reads!(ListTypes |input| {
    active: bool = input.query.defaulted("active", active(), true),
    listing: Listing = input.listing().since().done(),
});

pub(crate) async fn payment_types(
    call: ApiCall,
    AtLocation(location, ListTypes { active, listing }): AtLocation<ListTypes>,
) -> Answer<Paged<PaymentTypeView<'static>>> {
    let page = listing
        .entries_at::<PaymentType>(&call, &location, |it| active == (it.body.active && it.deleted_at.is_none()))?;
    Ok(call.page(&page.views(PaymentTypeView::from_record)))
}

pub(crate) async fn payment_type(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<PaymentTypeView<'static>>> {
    Ok(call.show(PaymentTypeView::from_record(&call.entry::<PaymentType>(&tenant, id)?)))
}

pub(crate) async fn adjustment_types(
    call: ApiCall,
    AtLocation(location, ListTypes { active, listing }): AtLocation<ListTypes>,
) -> Answer<Paged<AdjustmentTypeView<'static>>> {
    let page = listing
        .entries_at::<AdjustmentType>(&call, &location, |it| active == (it.body.active && it.deleted_at.is_none()))?;
    Ok(call.page(&page.views(AdjustmentTypeView::from_record)))
}

pub(crate) async fn adjustment_type(
    call: ApiCall,
    Id(id): Id<u64>,
    InTenant(tenant, ()): InTenant<()>,
) -> Answer<One<AdjustmentTypeView<'static>>> {
    Ok(call.show(AdjustmentTypeView::from_record(&call.entry::<AdjustmentType>(&tenant, id)?)))
}
