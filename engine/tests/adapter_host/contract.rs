//! What a guest returns is checked against the contract; a rule that is broken is named with record, field and rule.

use std::time::Duration;

use engine::ehr::{EhrPatient, EhrRecord, Fault, Resource, Write};

use crate::support::{DEADLINE, TestEhr, booking, connected};

async fn refused(behaviour: &str, resource: Resource) -> String {
    let guest = connected(&[("behaviour", behaviour)], &TestEhr::ok()).await;
    match guest.pull(resource, Some("c0".into()), 3, DEADLINE).await {
        Err(Fault::RetryLater { reason, after: None }) => reason,
        other => panic!("{behaviour}: {other:?}"),
    }
}

#[tokio::test]
async fn a_broken_rule_is_named() {
    use Resource::*;
    for (behaviour, resource, expected) in [
        ("too-many-records", Patients, "more records than were asked for"),
        ("long-cursor", Patients, "field cursor: must have at most 4096 bytes"),
        ("stuck-cursor", Patients, "field cursor: must move"),
        ("other-resource", Patients, "record 0 is of kind provider, but Patients were asked for"),
        ("later-resource", Patients, "record 0: insurance-plan records are not supported yet by this engine"),
        ("bad-deletion", Patients, "deletion 1, field deleted: must have 1 to 200 bytes"),
        ("many-deletions", Patients, "field deleted: must have at most 10000 entries"),
        ("empty-id", Operatories, "record 0 (operatory), field id: must have 1 to 200 bytes"),
        ("long-id", Providers, "record 0 (provider), field id: must have 1 to 200 bytes"),
        ("huge-text", Patients, "record 0 (patient), field first_name: must have at most 500 bytes"),
        ("bad-gender", Patients, "field gender: must be Male, Female or Other"),
        ("bad-date", Patients, "field date_of_birth: must be a date, YYYY-MM-DD"),
        ("many-extras", Patients, "field extra: must have at most 64 pairs"),
        ("many-references", Operatories, "field appointment_types: must have at most 1000 entries"),
        ("bad-minutes", AppointmentTypes, "record 0 (appointment-type), field minutes: must be 1 to 1440"),
        ("bad-time", WorkingHours, "record 0 (working-hour), field begin_time: must be a time of day, HH:MM"),
        ("no-day", WorkingHours, "field days: exactly one of days, specific_date and recurrence must be given"),
        ("bad-end", Appointments, "record 0 (appointment), field end: must lie after start"),
        ("far-start", Appointments, "record 0 (appointment), field start: must lie in the years 1 to 9999"),
    ] {
        let reason = refused(behaviour, resource).await;
        assert!(
            reason.starts_with("the adapter broke the contract: ") && reason.contains(expected),
            "{behaviour}: {reason}"
        );
    }
}

#[tokio::test]
async fn good_pages_arrive_for_each_resource() {
    let guest = connected(&[("behaviour", "full-page")], &TestEhr::ok()).await;
    for resource in [
        Resource::Patients,
        Resource::Providers,
        Resource::Operatories,
        Resource::AppointmentTypes,
        Resource::WorkingHours,
        Resource::Appointments,
    ] {
        let page = guest.pull(resource, None, 3, DEADLINE).await.unwrap();
        assert_eq!((page.records.len(), page.cursor.as_str(), page.last, page.whole), (3, "c1", false, true));
    }
    let page = guest.pull(Resource::Patients, None, 1, DEADLINE).await.unwrap();
    let EhrRecord::Patient(patient) = &page.records[0] else { panic!("{page:?}") };
    assert_eq!((patient.id.as_str(), patient.first_name.as_str()), ("0", "Ada"));
}

#[tokio::test]
async fn writes_arrive_as_they_were_given() {
    let guest = connected(&[], &TestEhr::ok()).await;
    let patient = EhrPatient { first_name: "Ada".into(), last_name: "Lovelace".into(), ..Default::default() };
    let receipt = guest.push("key-1".into(), Write::CreatePatient(patient), DEADLINE).await.unwrap();
    assert_eq!((receipt.id.as_str(), receipt.version.as_deref()), ("Ada-Lovelace", Some("key-1")));
    let cancel = Write::CancelAppointment(Default::default(), Some("moved away".into()));
    assert_eq!(guest.push("key-2".into(), cancel, DEADLINE).await.unwrap().id, "moved away");
    let moved = guest.push("key-3".into(), Write::RescheduleAppointment(Default::default()), DEADLINE).await;
    assert!(matches!(moved, Err(Fault::Unsupported(_))), "{moved:?}");
    assert_eq!(guest.find("key-1".into(), booking(), DEADLINE).await.unwrap(), None);
}

#[tokio::test]
async fn a_description_is_checked_and_narrowed_to_what_the_engine_knows() {
    let description = connected(&[], &TestEhr::ok()).await.describe(DEADLINE).await.unwrap();
    let pulls: Vec<_> = description.pulls.iter().map(|p| (p.resource, p.delta, p.deletions_by_absence)).collect();
    assert_eq!(pulls, [(Resource::Patients, true, false), (Resource::Appointments, false, true)]);
    assert_eq!(description.writes, ["create-appointment", "check-in-appointment"]);
    assert_eq!(description.requests_per_minute, Some(120), "the manifest's number is the lower one");
    for (settings, expected) in [
        ([("behaviour", "long-name")].as_slice(), "description, field name: must have at most 500 bytes"),
        (&[("hosting", "moon")], "description, field hosting: must be cloud or onprem"),
    ] {
        let refused = connected(settings, &TestEhr::ok()).await.describe(DEADLINE).await;
        let Err(Fault::RetryLater { reason, .. }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn reasons_are_cut_and_stay_on_one_line() {
    let guest = connected(&[("behaviour", "fault")], &TestEhr::ok()).await;
    let Err(Fault::Rejected(reason)) = guest.push("k".into(), booking(), Duration::from_secs(5)).await else {
        panic!("the guest rejects");
    };
    assert!(reason.len() < 600 && !reason.contains('\n') && reason.starts_with("no xxx"), "{reason}");
    let guest = connected(&[("behaviour", "bad-receipt")], &TestEhr::ok()).await;
    let found = guest.find("k".into(), booking(), DEADLINE).await;
    assert!(
        matches!(&found, Err(Fault::RetryLater { reason, .. }) if reason.contains("receipt, field id")),
        "{found:?}"
    );
}
