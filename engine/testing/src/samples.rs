//! Records and queries with the fields that most tests leave alone.

use location::{
    hours::{HourKind, Weekday},
    slots::SlotQuery,
    time::Timestamp,
    zone::Date,
};
use records::{InsurancePlan, ehr::EhrWorkingHour, schema};
use serde_json::json;

/// Returns an insurance plan named `Family Plan`, to be created in a [`FakeEhr`](crate::FakeEhr).
pub fn insurance_plan() -> InsurancePlan {
    schema::read(json!({"name": "Family Plan"})).unwrap()
}

/// Returns active working hours on each day of the week, as `HH:MM`, without an identifier and a provider.
pub fn working_hour(begin: &str, end: &str) -> EhrWorkingHour {
    EhrWorkingHour {
        id: String::new(),
        provider: String::new(),
        operatory: None,
        begin_time: begin.to_owned(),
        end_time: end.to_owned(),
        days: Weekday::ALL.to_vec(),
        specific_date: None,
        recurrence: None,
        kind: HourKind::WorkingHour,
        appointment_types: Vec::new(),
        label: None,
        active: true,
        extra: Vec::new(),
    }
}

/// Returns a search for any free slots of `length` milliseconds.
pub fn slot_query(from: Date, days: u16, length: i64, not_before: Timestamp) -> SlotQuery {
    SlotQuery {
        from,
        days,
        length,
        interval: None,
        appointment_type: None,
        providers: Vec::new(),
        operatories: Vec::new(),
        source: None,
        hours: None,
        join_blocks: true,
        overlapping_operatory_slots: false,
        appointments_per_timeslot: 1,
        not_before,
        limit: 1_000,
    }
}
