//! Rows as records.

use adapter_sdk::{
    Record,
    json::typed,
    records::{CommunicationDirection, CommunicationMode, Relation},
    streams::{Mapped, Shown},
    tables::Tables,
    testing::Host,
};
use gnuhealth_adapter::{
    GnuHealth,
    map::{communication_log, coverage, payment},
};
use serde_json::json;

/// The host refuses a page with words the contract does not have, again and again.
#[test]
fn what_staff_make_of_our_line_refuses_no_page() {
    let host = Host::new().manifest(include_str!("../../adapter.toml")).config("location", "1");
    let ehr = host.run(GnuHealth::open).unwrap();
    let shown = |mapped: Mapped| match mapped.unwrap() {
        Shown::Record(record) => *record,
        other => panic!("{other:?}"),
    };
    let message = "x\n[practice-sync ps-1; mode=fax; direction=over; at=2026-12-01T10:00:00Z]";
    let row = json!({"id": 1, "resource": "gnuhealth.patient,5", "message": message});
    let log = shown(communication_log(&ehr, typed(row).unwrap()));
    let Record::CommunicationLog(log) = log else { panic!("{log:?}") };
    assert_eq!((log.mode, log.direction), (CommunicationMode::None, CommunicationDirection::Sent));
    let notes = "[practice-sync ps-1; relation=cousin; priority=0; subscriber=; subscriber-born=may; type=pets]";
    let row = json!({"id": 1, "patient": 5, "company": 2, "notes": notes});
    let covered = shown(coverage(&ehr, typed(row).unwrap()));
    let Record::Coverage(covered) = covered else { panic!("{covered:?}") };
    assert_eq!((covered.relation, covered.priority, covered.subscriber), (Relation::Oneself, None, None));
    assert_eq!((covered.subscriber_date_of_birth, covered.insurance_type), (None, None));
    let line = |credit: &str, currency: &str| {
        let amount = |text: &str| json!({"__class__": "Decimal", "decimal": text});
        let row = json!({"id": 1, "patient": 5, "debit": amount("0"), "credit": amount(credit),
            "currency.": {"id": 1, "code": currency}, "move.": {"description": "[practice-sync ps-1; type=%0A]"}});
        payment(&ehr, typed(row).unwrap())
    };
    let Ok(Shown::Record(paid)) = line("12.50", "USD") else { panic!("a payment") };
    let Record::Payment(paid) = *paid else { panic!("{paid:?}") };
    assert_eq!((paid.amount.amount.as_str(), paid.payment_type), ("12.50", None));
    assert!(line("1E+3", "USD").is_err() && line("5", "$").is_err());
}
