//! Common parts of views: money, the state of a write, the origin of a record, dates.

use engine::records::RecordWrite;

use crate::prelude::*;

/// An optional related record: absent unless requested, null if it does not exist.
pub(crate) type Included<T> = Option<Option<T>>;
/// An optional value, absent from the response if it is `None`.
pub(crate) type Omittable<T> = Option<T>;
/// Related records: absent unless requested.
pub(crate) type IncludedList<T> = Option<Vec<T>>;

/// An amount of money.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Price {
    /// Amount in whole units of the currency, with its decimals: `-12.50`.
    amount: String,
    /// ISO 4217 code of the currency.
    currency: String,
}

impl Price {
    pub(crate) fn from_money(money: &Money) -> Price {
        let money = money.spelled();
        Price { amount: money.amount.to_string(), currency: money.currency.to_string() }
    }

    pub(crate) fn maybe(money: &Option<Money>) -> Option<Price> {
        money.as_ref().map(Price::from_money)
    }
}

/// The state of a record's last write to the health record system. Empty for a record that no client has written.
#[view]
#[derive(Clone, Copy)]
pub struct WriteState<'a> {
    /// State of the last write to the health record system. Present only for records that a client created or changed
    /// through the API.
    ehr_writeback: Omittable<Word<Writeback>>,
    /// Reason for which the health record system refused the record or its last change; absent unless it was refused.
    failure_reason: Omittable<&'a str>,
}

impl<'a> WriteState<'a> {
    pub(crate) fn from_write(write: Option<&'a RecordWrite>) -> WriteState<'a> {
        WriteState::new(write.map(RecordWrite::writeback))
    }

    /// Returns the state of an appointment's insert, then of its last change.
    pub(crate) fn from_appointment(appointment: &'a Record<Appointment>) -> WriteState<'a> {
        WriteState::new(appointment.last_write())
    }

    fn new(write: Option<(Writeback, Option<&'a str>)>) -> WriteState<'a> {
        WriteState {
            ehr_writeback: write.map(|(state, _)| Word(state)),
            failure_reason: write.and_then(|(_, reason)| reason),
        }
    }
}

/// Returns the state of the write to the EHR. Records read from the EHR have succeeded.
pub fn status<T: Body>(entry: &Record<T>) -> Word<WriteStatus> {
    Word(entry.write.as_ref().map_or(WriteStatus::Succeeded, |write| write.status))
}

pub fn failure_reason<T: Body>(entry: &Record<T>) -> Option<&str> {
    entry.write.as_ref().and_then(refusal)
}

fn refusal(write: &RecordWrite) -> Option<&str> {
    Some(write).filter(|write| write.status == WriteStatus::Failed)?.reason.as_deref()
}

/// Returns a time with a resolution of seconds, but not before `created_at` if both are in the same second.
pub fn second(at: Seconds, created_at: Timestamp) -> At {
    At(if Seconds::from(created_at) == at { created_at } else { at.at() })
}

/// A date on the wire.
pub fn day(day: &Option<engine::records::values::Day>) -> Option<String> {
    day.map(|day| day.to_string())
}

/// Returns the system of a foreign id. Records without one in the EHR have `nex`.
pub fn foreign_id_type<'a>(foreign_id: Option<&str>, adapter: Option<&'a str>) -> &'a str {
    match (foreign_id, adapter) {
        (Some(_), Some(adapter)) => adapter,
        _ => "nex",
    }
}
