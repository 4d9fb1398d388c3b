//! Writes without faults, and refusals of the EHR.

use std::rc::Rc;

use records::ehr::{Address, EhrAppointment, EhrPatient, EhrRecord, Fault, Resource, Write};
use serde_json::Value;

use super::kinds;
use crate::{
    display,
    effect::left,
    ehr_under_test::EhrUnderTest,
    report::{CaseEnd, CaseResult, skip_unless},
    subject::{SHOW_WHAT_IS_WRITTEN, Subject, shown_as},
};

const ONE_KEY: &str = "look for the key before writing, and answer the receipt of the record it left";
const ONLY_CHANGES: &str =
    "write only what differs from `before`: `PatientChange::onto` and `PatientChange::fields` do it";

pub async fn written_records_are_pulled_unchanged<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for kind in kinds(&subject)? {
        let write = subject.fresh(kind).await?;
        let receipt = subject.written(&write).await?;
        met(&subject, &write, &receipt.id).await?;
    }
    if subject.writes("save-patient-history-item") {
        for (made, ended) in subject.ended_histories().await? {
            let id = subject.written(&ended).await?.id;
            let Write::Record(_, entry) = &ended else { panic!("an entry") };
            subject.hold(
                entry.id() == id,
                format!("a receipt for {}: an update is of the record it is of", entry.id()),
                "change the record that the write names instead of making another one",
            )?;
            let shown = met(&subject, &ended, &id).await?;
            // `met` does not compare `false`, which most records have in fields that were not written.
            let active = shown.and_then(|shown| shown.fields().get("active").and_then(Value::as_bool));
            subject.hold_seen(
                active != Some(true) || !subject.keeps(Resource::PatientHistoryItems, "active"),
                format!("{} {id} is shown as active", display::name(Resource::PatientHistoryItems)),
                "an item that is not active: it was ended",
                "write `active` of an update to the EHR, and map it in pulls",
            )?;
            let new = subject.written(&made).await?.id;
            subject.hold(new != id, format!("another record than {id}"), "a new item is a new record")?;
        }
    }
    Ok(())
}

/// Checks that the record exists once in the EHR and is pulled as written, or that it is deleted. Returns the record as
/// pulled.
pub async fn met<S: EhrUnderTest>(subject: &Subject<S>, write: &Write, id: &str) -> CaseResult<Option<EhrRecord>> {
    let (resource, written) = left(write);
    subject.exists_once(write).await?;
    if subject.ability(resource).is_none() {
        return Ok(None);
    }
    match (subject.listed_record(resource, id).await?, written) {
        (Some(shown), Some(written)) => {
            let differs = subject.differences(resource, &written, &shown);
            subject.hold_seen(
                differs.is_empty(),
                format!("{} {id}: {}", display::name(resource), differs.join("; ")),
                format!("the record as it was written: {}", display::write(write)),
                "map each field in both directions. What the EHR has no place for belongs into `unkept-patient-fields` of \
                 `describe` or, of other records, into `unkept` of the subject",
            )?;
            Ok(Some(shown))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err(subject.failed(
            format!("{} {id} among the records, after {}", display::name(resource), display::write(write)),
            SHOW_WHAT_IS_WRITTEN,
        )),
        (Some(_), None) => Err(subject.failed(
            format!("no {} {id}: it was deleted", display::name(resource)),
            "leave out of pulls what the EHR marks as deleted",
        )),
    }
}

/// An update changes only fields that differ from the record as last pulled. Concurrent changes of staff stay, and
/// cleared fields are cleared.
pub async fn a_change_leaves_the_rest_to_staff<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    subject.needs(&["create-patient", "update-patient"])?;
    let write = subject.adjusted(Write::CreatePatient(subject.new_patient()));
    let id = subject.written(&write).await?.id;
    let Write::CreatePatient(patient) = write else { panic!("a patient") };
    let before = EhrPatient { id: id.clone(), ..patient };
    let phone = Some(format!("+1 312 888 {:04}", subject.number() % 10_000));
    subject.written(&Write::UpdatePatient(EhrPatient { cell_phone: phone.clone(), ..before.clone() }, None)).await?;

    let key = subject.key();
    let patient = EhrPatient { first_name: "Zoë-Ann".to_owned(), home_phone: None, ..before.clone() };
    let change = Write::UpdatePatient(patient, Some(Box::new(before)));
    found_after(&subject, &key, &change).await?;
    let shown = subject.listed_patient(&id).await?;
    let held = EhrRecord::Patient(shown.clone()).fields();
    let seen_phone = shown_as(Resource::Patients, "cell_phone", &held).as_str().map(str::to_owned);
    let phone = phone.filter(|_| seen_phone.is_some() || subject.keeps(Resource::Patients, "cell_phone"));
    let seen = (shown.first_name, seen_phone, shown.home_phone);
    let wanted = ("Zoë-Ann".to_owned(), phone, None);
    subject.hold_seen(
        seen == wanted,
        format!("first name, cell and home telephone are {seen:?}"),
        format!("{wanted:?}: the first name as changed, the cell telephone as staff changed it, no home telephone"),
        ONLY_CHANGES,
    )
}

/// Pushes a change and checks that it is found.
async fn found_after<S: EhrUnderTest>(subject: &Subject<S>, key: &str, change: &Write) -> CaseResult {
    subject.answered(subject.push(key, change).await?)?;
    let found = subject.find(key, change).await?;
    subject.hold(
        matches!(found, Ok(Some(_))),
        "a receipt: it was written",
        "compare only the fields that the change is of",
    )
}

/// The lines of an address are separate: staff add a second line while a client changes the city.
pub async fn a_change_of_one_line_of_an_address_leaves_the_others<S: EhrUnderTest>(
    subject: Rc<Subject<S>>,
) -> CaseResult {
    subject.needs(&["create-patient", "update-patient"])?;
    skip_unless(subject.ability(Resource::Patients).is_some(), "patients cannot be pulled")?;
    let write = subject.adjusted(Write::CreatePatient(subject.new_patient()));
    let id = subject.written(&write).await?.id;
    // As returned by the EHR, because not every EHR separates all lines.
    let before = subject.listed_patient(&id).await?;
    let Some(address) = before.address.clone() else {
        return Err(CaseEnd::NotAsked("the EHR keeps no address".into()));
    };
    let changed = |change: &dyn Fn(&mut Address)| {
        let mut address = address.clone();
        change(&mut address);
        EhrPatient { address: Some(address), ..before.clone() }
    };
    let by_staff = changed(&|address| address.line1 = Some("77 Staff Avenue".to_owned()));
    subject.written(&Write::UpdatePatient(by_staff, Some(Box::new(before.clone())))).await?;

    let moved = changed(&|address| address.city = Some("Peoria".to_owned()));
    let (key, change) = (subject.key(), Write::UpdatePatient(moved, Some(Box::new(before))));
    found_after(&subject, &key, &change).await?;
    let shown = subject.listed_patient(&id).await?.address.unwrap_or_default();
    let seen = (shown.line1.as_deref(), shown.city.as_deref(), shown.line2, shown.postal_code);
    let wanted = (Some("77 Staff Avenue"), Some("Peoria"), address.line2, address.postal_code);
    subject.hold_seen(
        seen == wanted,
        format!("first line, city, second line and postal code are {seen:?}"),
        format!("{wanted:?}: the first line as staff changed it, the city as changed, the rest as it was"),
        ONLY_CHANGES,
    )
}

pub async fn one_key_writes_once<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for kind in kinds(&subject)? {
        let (key, write) = (subject.key(), subject.fresh(kind).await?);
        let first = subject.answered(subject.push(&key, &write).await?)?.id;
        let again = subject.answered(subject.push(&key, &write).await?)?.id;
        subject.hold(again == first, format!("a receipt for {first}: the same key, the same record"), ONE_KEY)?;
        let found = subject.answered(subject.find(&key, &write).await?)?.map(|receipt| receipt.id);
        subject.hold(
            found.as_ref() == Some(&first),
            format!("a receipt for {first}, which was written with this key"),
            "keep the key with the record, or compare what is there with what was to be written",
        )?;
        subject.exists_once(&write).await?;
    }
    Ok(())
}

pub async fn a_key_never_sent_is_not_found<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for kind in kinds(&subject)? {
        let (key, write) = (subject.key(), subject.fresh(kind).await?);
        let found = subject.find(&key, &write).await?;
        subject.hold(
            found == Ok(None),
            "none: no such write was sent",
            "look for this key, or for a record that is as the write was to leave it, and not for one that is like it",
        )?;
    }
    Ok(())
}

pub async fn an_occupied_place_is_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    subject.needs(&["create-appointment"])?;
    skip_unless(subject.description.operatories, "its appointments carry no operatory")?;
    let Write::CreateAppointment(first) = subject.fresh("create-appointment").await? else { panic!("an appointment") };
    subject.written(&Write::CreateAppointment(first.clone())).await?;
    // In the middle of the first appointment.
    let n = subject.number();
    let second = subject.adjusted(Write::CreateAppointment(subject.appointment_at(first.start + 900, n)));
    let refused = subject.push(&subject.key(), &second).await?;
    subject.hold(
        matches!(refused, Err(Fault::Rejected(_))),
        format!("rejected: the operatory is occupied by another appointment at {}", first.start),
        "where the EHR takes two appointments at one place, look before writing and answer `rejected`",
    )?;
    subject.check_copies(&second, 0).await
}

/// Concurrent changes of staff are not overwritten if the EHR has versions.
pub async fn a_stale_version_is_refused<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    subject.needs(&["create-appointment", "reschedule-appointment"])?;
    let Write::RescheduleAppointment(moved, reason) = subject.fresh("reschedule-appointment").await? else {
        panic!("a move")
    };
    skip_unless(moved.version.is_some(), "its appointments have no version")?;
    let changed = subject.changed_by_staff(Resource::Appointments, &moved.id).await;
    skip_unless(changed, "the subject does not say how staff would change an appointment")?;
    let write = Write::RescheduleAppointment(moved.clone(), reason.clone());
    let refused = subject.push(&subject.key(), &write).await?;
    subject.hold(
        matches!(refused, Err(Fault::Rejected(_))),
        format!("rejected: staff changed the appointment after version {:?}", moved.version),
        "hand the version on to the EHR, or compare it before writing",
    )?;
    subject.check_copies(&write, 0).await?;
    let version = match subject.listed_record(Resource::Appointments, &moved.id).await? {
        Some(EhrRecord::Appointment(EhrAppointment { version, .. })) => version,
        _ => return Err(subject.failed(format!("appointment {}", moved.id), SHOW_WHAT_IS_WRITTEN)),
    };
    subject.written(&Write::RescheduleAppointment(EhrAppointment { version, ..moved }, reason)).await?;
    Ok(())
}

pub async fn a_refusal_has_its_reason_and_no_patient<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    subject.needs(&["create-patient"])?;
    let write = subject.fresh("create-patient").await?;
    let Some(write) = subject.system.refused(write).await else {
        return Err(CaseEnd::NotAsked("the subject does not say what the EHR refuses".into()));
    };
    let refused = subject.push(&subject.key(), &write).await?;
    let Err(Fault::Rejected(reason)) = refused else {
        return Err(subject.failed("rejected: the EHR refuses it", "a 4xx that the EHR itself explains is `rejected`"));
    };
    subject.hold(
        reason.trim().len() > 3,
        "a reason that says what to change",
        "put what the EHR says into the reason, without the patient's data",
    )?;
    let written = left(&write).1.unwrap_or_default();
    for field in ["first_name", "last_name", "date_of_birth", "email", "cell_phone", "home_phone", "note"] {
        let is_quoted = written.get(field).and_then(|value| value.as_str()).is_some_and(|value| reason.contains(value));
        subject.hold(
            !is_quoted,
            format!("a reason without the patient's {field}"),
            "reasons are kept and shown to others: name the field, not its value",
        )?;
    }
    subject.check_copies(&write, 0).await
}
