//! Optional grants of an API key.

use super::words::closed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    Financial,
    Beta,
}

closed! {
    Grant: "Grant"
        "An additional permission of an API key. `financial`: charges, claims, payments, fee schedules and insurance \
         plans. `beta`: version v3.1.0." {
        Financial = "financial", Beta = "beta",
    }
}
