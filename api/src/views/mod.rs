//! How records look on the wire: one shape for each, made from the record. No handlers here. Doc comments of fields are their
//! descriptions in the API's documentation. What a handler adds on demand (`include[]`) is a public field that is absent until set.

pub mod catalogue;
pub mod clinical;
pub mod documents;
pub mod forms;
pub mod gate;
pub mod history;
pub mod hours;
pub mod insurance;
pub mod ledger;
pub mod people;
pub mod published;
pub mod talk;
#[cfg(test)]
mod tests;
pub mod told;

use engine::records::{
    Writeback,
    entry::{Entry, EntryWrite, WriteStatus},
    money::Money,
    values::Seconds,
};
use location::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::times::{At, WritebackState};

/// A record that may come along: absent unless asked for, null where there is none.
pub type Included<T> = Option<Option<T>>;

/// An amount of money.
#[derive(Serialize, JsonSchema)]
pub struct Price {
    /// In whole units, with the decimals of its currency: `-12.50`.
    amount: String,
    /// ISO 4217 code.
    currency: String,
}

impl Price {
    pub fn of(money: &Money) -> Price {
        let money = money.spelled();
        Price { amount: money.amount.to_string(), currency: money.currency.to_string() }
    }

    pub fn maybe(money: &Option<Money>) -> Option<Price> {
        money.as_ref().map(Price::of)
    }
}

/// How the last write of a record to the health record system goes. Nothing of a record that no client wrote.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub struct WriteStands<'a> {
    /// Only of what a client made or changed here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<WritebackState>")]
    ehr_writeback: Option<Writeback>,
    /// Why the health record system would not have the record, or its last change; only where it would not.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'a str>,
}

impl<'a> WriteStands<'a> {
    pub fn of(write: Option<&'a EntryWrite>) -> WriteStands<'a> {
        WriteStands {
            ehr_writeback: write.map(|write| match write.status {
                WriteStatus::Pending => Writeback::Pending,
                WriteStatus::Succeeded => Writeback::Confirmed,
                WriteStatus::Failed => Writeback::Failed,
            }),
            failure_reason: write.and_then(refusal),
        }
    }
}

/// The write-back of a record made here; what came from the EHR is written by nature.
fn status<T>(entry: &Entry<T>) -> &'static str {
    match entry.write.as_ref().map(|write| write.status) {
        Some(WriteStatus::Pending) => "pending",
        Some(WriteStatus::Failed) => "failed",
        Some(WriteStatus::Succeeded) | None => "succeeded",
    }
}

fn failure_reason<T>(entry: &Entry<T>) -> Option<&str> {
    entry.write.as_ref().and_then(refusal)
}

fn refusal(write: &EntryWrite) -> Option<&str> {
    Some(write).filter(|write| write.status == WriteStatus::Failed)?.reason.as_deref()
}

/// A time of which the second is known, of a record made at `created_at`: in the same second it does not lie before that.
fn second(at: Seconds, created_at: Timestamp) -> At {
    At(if Seconds::from(created_at) == at { created_at } else { at.at() })
}

/// A date on the wire.
fn day(day: &Option<engine::records::values::Day>) -> Option<String> {
    day.map(|day| day.to_string())
}
