//! Records and queries with the fields that most tests leave alone.

use location::{Date, HourKind, SlotQuery, Timestamp, Weekday};
use records::{EhrWorkingHour, InsurancePlan, schema};
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

/// Returns a change in the stored format before the log of changes, with a time in 2026 and no request. `change` is 0
/// for created, 1 for updated, and 2 for deleted. `readers` is `[0, source]`, `[1, location]` or `[2]`. `entries` are
/// index entries to remove and to add. Several changes of one commit follow each other in a value.
pub fn earlier_change(tag: u8, id: u8, change: u8, readers: &[u8], entries: [&[Vec<u8>]; 2]) -> Vec<u8> {
    // The time 1,795,255,200,000 as a signed variable-length integer. All other numbers take one byte.
    let mut value = vec![0x80, 0xa4, 0xe3, 0xd8, 0xbf, 0x68, tag, id, change];
    let length = |bytes: usize| u8::try_from(bytes).ok().filter(|length| *length < 128).unwrap();
    value.extend(readers);
    for entries in entries {
        value.push(length(entries.len()));
        for entry in entries {
            value.push(length(entry.len()));
            value.extend(entry);
        }
    }
    value
}
