//! Fields that records have only in v2.2.2. The views of the ledger contain them as a flattened part between their
//! other fields, because clients may depend on the order. Views of later versions have no such part.

use crate::prelude::*;

/// The fields of a charge in v2.2.2.
#[view(of = Charge, only = "v2.2.2")]
pub(crate) struct ChargeV2<'a> {
    /// The same as `fee`. Only in v2.2.2.
    #[view(from = fee)]
    value: Option<Price>,
    /// The same as `charged_at`. Only in v2.2.2.
    #[schemars(extend("format" = "date"))]
    #[view(from = charged_at)]
    date: Option<String>,
    /// The same as `description`. Only in v2.2.2.
    #[view(from = description)]
    notes: Option<&'a str>,
}

/// The fields of a payment in v2.2.2.
#[view(of = Payment, only = "v2.2.2")]
pub(crate) struct PaymentV2<'a> {
    /// Always null: no health record system provides it. Only in v2.2.2.
    #[view(none)]
    procedure_id: Option<u64>,
    /// The same as `payment_amount`. Only in v2.2.2.
    #[view(with = Some(Price::from_money(&entry.body.amount)))]
    value: Option<Price>,
    /// The same as `paid_at`. Only in v2.2.2.
    #[schemars(extend("format" = "date"))]
    #[view(from = paid_at)]
    date: Option<String>,
    /// The same as `description`. Only in v2.2.2.
    #[view(from = description)]
    notes: Option<&'a str>,
}

/// The fields of an adjustment in v2.2.2.
#[view(of = Adjustment, only = "v2.2.2")]
pub(crate) struct AdjustmentV2<'a> {
    /// Always null: no health record system provides it. Only in v2.2.2.
    #[view(none)]
    procedure_id: Option<u64>,
    /// The same as `adjustment_amount`. Only in v2.2.2.
    #[view(with = Some(Price::from_money(&entry.body.amount)))]
    value: Option<Price>,
    /// The same as `adjusted_at`. Only in v2.2.2.
    #[schemars(extend("format" = "date"))]
    #[view(from = adjusted_at)]
    date: Option<String>,
    /// The same as `description`. Only in v2.2.2.
    #[view(from = description)]
    notes: Option<&'a str>,
    /// Only in v2.2.2: `credit` lowers the balance, `debit` raises it.
    #[schemars(extend("enum" = ["credit", "debit"]))]
    #[view(with = Some(if entry.body.amount.amount.is_sign_negative() { "credit" } else { "debit" }))]
    directionality: Option<&'static str>,
}
