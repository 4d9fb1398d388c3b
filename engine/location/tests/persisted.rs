//! Stored names of events in journals and of the state in snapshots. They must not change when the code renames a type
//! or a field.

use location::{event::Event, state::State};
use serde::{Serialize, de::DeserializeOwned};

/// Deserializes and serializes a value, which must stay the same.
fn same_again<T: DeserializeOwned + Serialize>(stored: &str) {
    let stored: serde_json::Value = serde_json::from_str(stored).expect("the example is JSON");
    let read: T = serde_json::from_value(stored.clone()).expect("stored values stay readable");
    assert_eq!(serde_json::to_value(&read).expect("plain data makes JSON"), stored);
}

#[test]
fn stored_events_keep_their_names() {
    for event in [
        r#"{"booked":{"appointment":7,"placement":{"operatory":1,"provider":2,"span":{"start":1,"end":2}},
            "appointment_type":null,"patient":3,"key":{"key":"k","fingerprint":"f","expires":9},"integrated":true}}"#,
        r#"{"booked":{"appointment":7,"placement":{"operatory":1,"provider":2,"span":{"start":1,"end":2}},
            "appointment_type":null,"patient":3,"key":{"key":"k","fingerprint":"f","expires":9,"others":[8]},
            "integrated":true}}"#,
        r#"{"record_saved":{"resource":"patients","id":7,"verb":"create"}}"#,
        r#"{"appointment_changed":{"appointment":7,"what":{"confirmation":true,"check_in":false,"note":true}}}"#,
        r#"{"key_used":{"appointment":7,"key":{"key":"k","fingerprint":"f","expires":9}}}"#,
        r#"{"write_queued":{"write":1,"work":{"create_appointment":7},"lane":{"patient":3},"key":"k","deadline":9}}"#,
        r#"{"write_queued":{"write":1,"work":{"record":{"resource":"insurance_plans","id":5,"verb":"update"}},
            "lane":{"record":{"resource":"insurance_plans","id":5}},"key":"k","deadline":9,"origin":"call-7"}}"#,
        r#"{"write_retried":{"write":2,"of":1,"work":{"create_patient":7},"lane":{"patient":7},"key":"k","deadline":9,
            "look_first":true,"origin":"call-7"}}"#,
        r#"{"call_started":{"write":1,"attempt":1,"kind":"push","until":9,
            "sent":{"operatory":1,"provider":2,"span":{"start":1,"end":2}}}}"#,
        r#"{"write_done":{"write":1,"work":{"reschedule":7},"written":{"foreign_id":"a","version":null}}}"#,
        r#"{"write_failed":{"write":1,"work":{"check_in":7},"how":"timed_out","reason":"late"}}"#,
        r#"{"write_done":{"write":1,"work":{"replace":7},"written":{"foreign_id":"a","version":null}}}"#,
        r#"{"write_failed":{"write":2,"work":{"cancel_replaced":{"appointment":7,"replaced":2}},"how":"failed",
            "reason":"locked"}}"#,
        r#"{"replacement":{"done":{"appointment":7,"replaced":2,
            "from":{"operatory":1,"provider":2,"span":{"start":1,"end":2}},
            "to":{"operatory":1,"provider":2,"span":{"start":3,"end":4}},
            "written":{"foreign_id":"a","version":null}}}}"#,
        r#"{"replacement":{"gone":{"appointment":7,"replaced":2}}}"#,
        r#"{"replacement":{"late":{"appointment":7,"replaced":2,
            "at":{"operatory":1,"provider":2,"span":{"start":1,"end":2}},
            "written":{"foreign_id":"a","version":null}}}}"#,
        r#"{"replacement":{"late":{"appointment":7,"replaced":2,
            "at":{"operatory":1,"provider":2,"span":{"start":1,"end":2}},
            "visit":{"patient":3,"appointment_type":null,"gone":true,
                "placement":{"operatory":1,"provider":2,"span":{"start":3,"end":4}}},
            "written":{"foreign_id":"a","version":null}}}}"#,
        r#"{"path_failed":{"write":1}}"#,
        r#"{"path_blocked":{"why":"breaker","until":9}}"#,
        r#"{"path_blocked":{"why":"gate_closed","until":9}}"#,
        r#""path_cleared""#,
        r#"{"gate_turned":{"gate":{"shut":"no_workstation"}}}"#,
        r#"{"gate_turned":{"gate":"open"}}"#,
        r#"{"pause_turned":{"to":{"reading":true,"writing":false}}}"#,
        r#"{"pull_started":{"resource":"patients","call":3,"until":9}}"#,
        r#"{"pull_started":{"resource":"patients","call":3,"until":9,"asked_at":7,"written":[4]}}"#,
        r#"{"pull_put_off":{"resource":"appointments","reason":"wait","retry_at":9,"insert":true}}"#,
        r#"{"page_applied":{"resource":"appointments","cursor":"c","last":true,"whole":true,"records":2,
            "estimate":9,"unsure":true,"barren":true,"sweeping":true}}"#,
        r#"{"swept":{"resource":"patients","known":1000,"missing":3,"next":"p7","counted":false}}"#,
        r#"{"sweep_ended":{"resource":"patients"}}"#,
        r#"{"read_anew":{"resource":"working_hours"}}"#,
        r#"{"read_anew":{"resource":"working_hours","keep_cursor":true}}"#,
        r#"{"restored":{"skipped_writes":9}}"#,
        r#"{"guard_tripped":{"resource":"operatories","deletions":3,"known":4,"whole":true}}"#,
        r#"{"hour_shown":{"id":4,"provider":2,"operatory":null,"begin":480,"end":1020,"recurrence":{"weekly":["Monday"]},
            "kind":"working_hour","source":"manual","appointment_types":[],"active":true}}"#,
    ] {
        same_again::<Event>(event);
    }
}

#[test]
fn stored_snapshots_keep_their_names() {
    same_again::<State>(
        r#"{
        "operatories": {"1": true},
        "hours": {"4": {"id":4,"provider":2,"operatory":null,"begin":480,"end":1020,"recurrence":{"weekly":["Monday"]},
            "kind":"working_hour","source":"manual","appointment_types":[],"active":true}},
        "told_hours": {"4": {"id":4,"provider":2,"operatory":null,"begin":480,"end":1020,
            "recurrence":{"weekly":["Monday"]},"kind":"working_hour","source":"manual","appointment_types":[],
            "active":true}},
        "appointments": {"7": {"patient":3,"appointment_type":null,
            "placement":{"operatory":null,"provider":null,"span":{"start":1,"end":2}},"unavailable":false,
            "insert":"pending","cancelling":false,"vacating":[],"confirmed":null}},
        "holds": {},
        "keys": {"k": {"fingerprint":"f","appointment":7,"expires":9},
            "g": {"fingerprint":"f","appointment":7,"expires":9,"others":[8]}},
        "queue": {"writes": [[1, {"work":{"create_appointment":7},"lane":{"patient":3},"key":"k","queued_at":1,
            "deadline":9,"attempts":1,"state":{"Calling":{"kind":"push","until":5}},"unknown":false,"not_found":0,
            "sent":null,"sent_hour":null,"overtaken":true,"reason":null,"clock_changed":false,"origin":"call-7"}]], "next": 2},
        "path": {"failing":[1],"blocked":{"why":"breaker","since":1,"until":2},"blocks":1},
        "gate": {"gate":{"shut":"logged_out"},"since":1},
        "paused": {"reading":1,"writing":null},
        "quota": {"spent":0,"at":0},
        "latest": 1,
        "pulls": {"next_cycle":1,"again":false,
            "cycle":{"done":["providers"],"reading":"appointments","pages":1,"barren":0,"incomplete":false},
            "calling":{"resource":"appointments","call":1,"asked_at":1,"until":2,"landed":[7]},
            "retry_at":null,"failures":0,"waits":0,"cursors":{"appointments":"c"},"passes":{"appointments":{"number":1,"shown":2}},
            "sweep":{"resource":"patients","from":"p7","known":1000,"missing":3,"counted":true},
            "next_call":2,"last_success":null,"failing":[1,"r"],"put_off":"wait","begun":1,
            "silent":{"since":1,"noted":1,"reason":"r"},"deleted":{},"guarded":["operatories"],"accepted":[],
            "known":["providers"],"unsure":["appointments"],
            "progress":{"appointments":{"running":true,"whole":true,"records":1,"estimate":null,"ended_at":null}}},
        "conflicts": [7],
        "pruned": null,
        "first_end": 2,
        "first_expiry": 9
    }"#,
    );
}
