//! GET /payment_types, /adjustment_types and one of each: catalogues, without amounts.

use engine::records::{AdjustmentType, PaymentType};

use crate::{
    access::call::Call,
    http::errors::HttpResult,
    values::kinds::{boolean, long_id},
    views::catalogue::{AdjustmentTypeView, PaymentTypeView},
};

pub(crate) async fn payment_types(mut call: Call) -> HttpResult {
    let (location, (active, listing)) = call.at_location(|input| {
        let active = input.query.defaulted("active", boolean(), true);
        Some((active, input.listing().since().done()))
    })?;
    let page = listing
        .entries_at::<PaymentType>(&call, &location, |it| active == (it.body.active && it.deleted_at.is_none()))?;
    Ok(call.page(&page.views(PaymentTypeView::of)))
}

pub(crate) async fn payment_type(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    Ok(call.show(PaymentTypeView::of(&call.entry::<PaymentType>(&tenant, id)?)))
}

pub(crate) async fn adjustment_types(mut call: Call) -> HttpResult {
    let (location, (active, listing)) = call.at_location(|input| {
        let active = input.query.defaulted("active", boolean(), true);
        Some((active, input.listing().since().done()))
    })?;
    let page = listing
        .entries_at::<AdjustmentType>(&call, &location, |it| active == (it.body.active && it.deleted_at.is_none()))?;
    Ok(call.page(&page.views(AdjustmentTypeView::of)))
}

pub(crate) async fn adjustment_type(mut call: Call) -> HttpResult {
    let id = call.path_id(long_id())?;
    let (tenant, ()) = call.in_tenant(|_| Some(()))?;
    Ok(call.show(AdjustmentTypeView::of(&call.entry::<AdjustmentType>(&tenant, id)?)))
}
