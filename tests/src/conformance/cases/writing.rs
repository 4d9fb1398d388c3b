//! Writes in fair weather, and what the EHR refuses.

use std::rc::Rc;

use records::ehr::{Address, EhrAppointment, EhrPatient, EhrRecord, Fault, Resource, Write};

use crate::conformance::{
    EhrUnderTest, KINDS, Subject,
    writes::{due, left},
};

pub async fn what_is_written_is_what_is_pulled<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for kind in KINDS.into_iter().filter(|kind| subject.writes(kind)) {
        let write = subject.fresh(kind).await;
        let receipt = subject.written(&write).await;
        met(&subject, &write, &receipt.id).await;
    }
    if subject.writes("save-patient-history-item") {
        for (made, ended) in subject.ended_histories().await {
            let id = subject.written(&ended).await.id;
            met(&subject, &ended, &id).await;
            let Write::Record(_, entry) = &ended else { panic!("an entry") };
            assert_eq!(entry.id(), id, "an update is of the record it is of");
            assert_ne!(subject.written(&made).await.id, id, "and a new one is a new one");
        }
    }
}

/// The record is in the EHR once, and a pull shows it as it was written; or it is gone.
pub async fn met<S: EhrUnderTest>(subject: &Subject<S>, write: &Write, id: &str) {
    let (resource, written) = left(write);
    assert_eq!(subject.system.copies(write).await, due(write), "records of {write:?} in the EHR");
    if subject.ability(resource).is_none() {
        return;
    }
    match (subject.shown(resource, id).await, written) {
        (Some(shown), Some(written)) => {
            let differs = subject.differences(resource, &written, &shown);
            assert!(differs.is_empty(), "{write:?}: {differs:#?}");
        }
        (None, None) => (),
        (shown, _) => panic!("{write:?}: {shown:?} is shown"),
    }
}

/// A change is of what differs from what the EHR last showed: what staff changed since stays, and what is taken away is gone.
pub async fn a_change_leaves_the_rest_to_staff<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    if !subject.writes("create-patient") || !subject.writes("update-patient") {
        return;
    }
    let mut write = Write::CreatePatient(subject.somebody());
    subject.system.adjust(&mut write);
    let id = subject.written(&write).await.id;
    let Write::CreatePatient(patient) = write else { panic!("a patient") };
    let before = EhrPatient { id: id.clone(), ..patient };
    let phone = Some(format!("+1 312 888 {:04}", subject.number() % 10_000));
    subject.written(&Write::UpdatePatient(EhrPatient { cell_phone: phone.clone(), ..before.clone() }, None)).await;

    let key = subject.key();
    let patient = EhrPatient { first_name: "Zoë-Ann".to_owned(), home_phone: None, ..before.clone() };
    let change = Write::UpdatePatient(patient, Some(Box::new(before)));
    let pushed = subject.push(&key, &change).await;
    assert!(pushed.is_ok(), "{pushed:?}");
    assert!(matches!(subject.find(&key, &change).await, Ok(Some(_))), "it is found");
    let Some(EhrRecord::Patient(shown)) = subject.shown(Resource::Patients, &id).await else { panic!("it is shown") };
    assert_eq!((shown.first_name.as_str(), shown.cell_phone, shown.home_phone), ("Zoë-Ann", phone, None));
}

/// An address is several things: staff add a second line, a client moves the patient to another town.
pub async fn a_change_of_one_line_of_an_address_leaves_the_others<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    if !subject.writes("create-patient") || !subject.writes("update-patient") {
        return;
    }
    let mut write = Write::CreatePatient(subject.somebody());
    subject.system.adjust(&mut write);
    let id = subject.written(&write).await.id;
    // As the EHR shows them: not every EHR tells all lines apart.
    let before = subject.patient_shown(&id).await;
    let Some(address) = before.address.clone() else { return };
    let changed = |change: &dyn Fn(&mut Address)| {
        let mut address = address.clone();
        change(&mut address);
        EhrPatient { address: Some(address), ..before.clone() }
    };
    let by_staff = changed(&|address| address.line1 = Some("77 Staff Avenue".to_owned()));
    subject.written(&Write::UpdatePatient(by_staff, Some(Box::new(before.clone())))).await;

    let moved = changed(&|address| address.city = Some("Peoria".to_owned()));
    let (key, change) = (subject.key(), Write::UpdatePatient(moved, Some(Box::new(before))));
    let pushed = subject.push(&key, &change).await;
    assert!(pushed.is_ok(), "{pushed:?}");
    assert!(matches!(subject.find(&key, &change).await, Ok(Some(_))), "it is found");
    let shown = subject.patient_shown(&id).await.address.expect("they live somewhere");
    assert_eq!((shown.line1.as_deref(), shown.city.as_deref()), (Some("77 Staff Avenue"), Some("Peoria")));
    assert_eq!((shown.line2, shown.postal_code), (address.line2, address.postal_code));
}

pub async fn one_key_writes_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for kind in KINDS.into_iter().filter(|kind| subject.writes(kind)) {
        let (key, write) = (subject.key(), subject.fresh(kind).await);
        let first = subject.push(&key, &write).await.unwrap_or_else(|fault| panic!("{kind}: {fault}"));
        let again = subject.push(&key, &write).await.unwrap_or_else(|fault| panic!("{kind}, again: {fault}"));
        assert_eq!(first.id, again.id, "{kind}: the same key, the same record");
        let found = subject.find(&key, &write).await.unwrap_or_else(|fault| panic!("{kind}, find: {fault}"));
        assert_eq!(found.map(|receipt| receipt.id), Some(first.id), "{kind}: it is found");
        assert_eq!(subject.system.copies(&write).await, due(&write), "{kind}: {write:?}");
    }
}

pub async fn a_key_never_sent_is_not_found<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for kind in KINDS.into_iter().filter(|kind| subject.writes(kind)) {
        let (key, write) = (subject.key(), subject.fresh(kind).await);
        assert_eq!(subject.find(&key, &write).await, Ok(None), "{kind}");
    }
}

pub async fn an_occupied_place_is_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    if !subject.writes("create-appointment") || !subject.description.operatories {
        return;
    }
    let Write::CreateAppointment(first) = subject.fresh("create-appointment").await else { panic!("an appointment") };
    subject.written(&Write::CreateAppointment(first.clone())).await;
    // In its middle.
    let n = subject.number();
    let mut second = Write::CreateAppointment(subject.appointment_at(first.start + 900, n));
    subject.system.adjust(&mut second);
    let refused = subject.push(&subject.key(), &second).await;
    assert!(matches!(refused, Err(Fault::Rejected(_))), "{refused:?}");
    assert_eq!(subject.system.copies(&second).await, 0);
}

/// What staff changed since it was read is not overwritten, where the EHR tells versions.
pub async fn a_stale_version_is_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    if !subject.writes("reschedule-appointment") {
        return;
    }
    let Write::RescheduleAppointment(moved) = subject.fresh("reschedule-appointment").await else { panic!("a move") };
    if moved.version.is_none() || !subject.system.change(Resource::Appointments, &moved.id).await {
        return;
    }
    let refused = subject.push(&subject.key(), &Write::RescheduleAppointment(moved.clone())).await;
    assert!(matches!(refused, Err(Fault::Rejected(_))), "{refused:?}");
    assert_eq!(subject.system.copies(&Write::RescheduleAppointment(moved.clone())).await, 0, "it did not move");
    let shown = subject.shown(Resource::Appointments, &moved.id).await;
    let Some(records::ehr::EhrRecord::Appointment(EhrAppointment { version, .. })) = shown else { panic!("{shown:?}") };
    subject.written(&Write::RescheduleAppointment(EhrAppointment { version, ..moved })).await;
}

pub async fn a_refusal_has_its_reason_and_no_patient<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let write = subject.fresh("create-patient").await;
    let Some(write) = subject.system.refused(write).await else { return };
    let refused = subject.push(&subject.key(), &write).await;
    let Err(Fault::Rejected(reason)) = refused else { panic!("it was to be refused: {refused:?}") };
    assert!(reason.trim().len() > 3, "it says why: {reason:?}");
    let written = left(&write).1.expect("a record");
    for field in ["first_name", "last_name", "date_of_birth", "email", "cell_phone", "home_phone", "note"] {
        if let Some(value) = written.get(field).and_then(|value| value.as_str()) {
            assert!(!reason.contains(value), "the reason tells the patient's {field}: {reason:?}");
        }
    }
    assert_eq!(subject.system.copies(&write).await, 0);
}
