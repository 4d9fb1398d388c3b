//! Parts of payments and adjustments.

use record_macro::record_part;

use crate::Money;

/// The part of a payment or adjustment for one charge.
#[record_part(contract = "split")]
pub struct ChargeSplit {
    /// The charge.
    #[record(refers(id = Charges))]
    pub charge_id: u64,
    /// Amount of the part.
    pub amount: Money,
}

/// The part of a payment or adjustment for one provider.
#[record_part(contract = "split")]
pub struct ProviderSplit {
    /// The provider.
    #[record(refers(id = Providers))]
    pub provider_id: u32,
    /// Amount of the part.
    pub amount: Money,
}
