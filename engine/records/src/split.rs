//! Parts of payments and adjustments.

use record_macro::record_part;

use crate::Money;

/// The part of a payment or adjustment for one charge.
#[record_part(contract = "split")]
pub struct ChargeSplit {
    #[record(refers(id = Charges))]
    pub charge_id: u64,
    pub amount: Money,
}

/// The part of a payment or adjustment for one provider.
#[record_part(contract = "split")]
pub struct ProviderSplit {
    #[record(refers(id = Providers))]
    pub provider_id: u32,
    pub amount: Money,
}
