//! Conversions between the contract's types and the engine's, in both directions. Values from a guest are validated.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use records::{Description, EhrAppointment, Fault, Page, PullAbility, Receipt, Resource, Write, ehr::Skipped};

use super::{
    bindings::exports::practice_sync::ehr::ehr as wit,
    check::{self, Checked, Convert, require},
    limits::{CURSOR_BYTES, DELETED_IDS, DESCRIBED, SHORT_TEXT_BYTES},
    log_line::plain_char,
    record,
};

/// Converts a fault, with the guest's unredacted reason.
pub(crate) fn fault(fault: wit::Fault) -> Fault {
    match fault {
        wit::Fault::Rejected(reason) => Fault::Rejected(reason),
        wit::Fault::RetryLater(wit::RetryLater { reason, seconds }) => {
            Fault::RetryLater { reason, after: seconds.map(|seconds| Duration::from_secs(seconds.into())) }
        }
        wit::Fault::Unknown(reason) => Fault::Unknown(reason),
        wit::Fault::Unauthorized(reason) => Fault::Unauthorized(reason),
        wit::Fault::Unsupported(reason) => Fault::Unsupported(reason),
        wit::Fault::GateClosed => Fault::GateClosed,
    }
}

pub(crate) fn description(from: wit::Description) -> Checked<Description> {
    require(!from.name.is_empty(), "name", "must not be empty")?;
    let lists = [
        ("pulls", from.pulls.len()),
        ("writes", from.writes.len()),
        ("required_patient_fields", from.required_patient_fields.len()),
        ("unkept_patient_fields", from.unkept_patient_fields.len()),
        ("max_lengths", from.max_lengths.len()),
    ];
    for (field, entries) in lists {
        require(entries <= DESCRIBED, field, "must have at most 200 entries")?;
    }
    require(from.requests_per_minute != Some(0), "requests_per_minute", "must be at least 1")?;
    let pulls: Vec<PullAbility> = from.pulls.into_iter().map(pull_ability).collect();
    let distinct: BTreeSet<Resource> = pulls.iter().map(|ability| ability.resource).collect();
    require(distinct.len() == pulls.len(), "pulls", "must name each resource once")?;
    // Clients use snake case for records and fields.
    let length = |most: wit::MaxLength| (check::text(most.field).replace('-', "_"), most.characters);
    let required: BTreeSet<String> = from.required_patient_fields.into_iter().map(given_as).collect();
    let unkept = from.unkept_patient_fields.into_iter().map(|field| case_name(field, '_'));
    Ok(Description {
        name: sanitize_text(from.name),
        version: sanitize_text(from.version),
        hosting: match from.hosting {
            wit::Hosting::Cloud => "cloud",
            wit::Hosting::Onprem => "onprem",
        }
        .to_owned(),
        pulls,
        writes: from.writes.into_iter().map(|kind| case_name(kind, '-')).collect(),
        required_patient_fields: required.into_iter().collect(),
        unkept_patient_fields: unkept.collect(),
        max_lengths: from.max_lengths.into_iter().map(length).collect(),
        new_patients: from.new_patients,
        operatories: from.operatories,
        requests_per_minute: from.requests_per_minute,
        gated: from.gated,
    })
}

/// Cleans a text for operators and clients: one line, without markup in case a page does not escape it.
fn sanitize_text(text: String) -> String {
    let plain = |c: char| if matches!(c, '<' | '>') { ' ' } else { plain_char(c) };
    check::cut(text, SHORT_TEXT_BYTES).chars().map(plain).collect()
}

fn pull_ability(from: wit::PullAbility) -> PullAbility {
    let deletions_by_absence = matches!(from.deletions, wit::Deletions::ByAbsence);
    PullAbility { resource: record::known_resource(from.resource), delta: from.delta, deletions_by_absence }
}

/// Returns the client's name of a field of a new patient, whose only number is the cell phone's.
fn given_as(field: wit::PatientField) -> String {
    use wit::PatientField::{CellPhone, HomePhone, PrimaryPhone, WorkPhone};
    match field {
        CellPhone | HomePhone | WorkPhone | PrimaryPhone => "phone_number".to_owned(),
        field => case_name(field, '_'),
    }
}

/// Returns the name of a case of an enum of the contract, with a separator between its words.
fn case_name(case: impl Debug, separator: char) -> String {
    let mut name = String::new();
    for letter in format!("{case:?}").rsplit(':').next().unwrap_or_default().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push(separator);
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// Converts a page that was requested with this resource, cursor and limit. Returns the broken rule as an error.
/// `heard` redacts a text of the guest.
pub(crate) fn page(
    from: wit::Page,
    asked: Resource,
    cursor: Option<&str>,
    limit: u32,
    heard: impl Fn(&str) -> String,
) -> Result<Page, String> {
    let whole_page = |holds: bool, rule: &str| if holds { Ok(()) } else { Err(rule.to_string()) };
    let shown = from.records.len() + from.skipped.len();
    whole_page(shown <= limit as usize, "the page holds more records than were asked for")?;
    whole_page(from.deleted.len() <= DELETED_IDS, "field deleted: must have at most 10000 entries")?;
    whole_page(from.cursor.len() <= CURSOR_BYTES, "field cursor: must have at most 4096 bytes")?;
    let moves = from.last || cursor != Some(from.cursor.as_str());
    whole_page(moves, "field cursor: must move on a page that is not the last")?;
    let mut records = Vec::with_capacity(from.records.len());
    for (index, wit_record) in from.records.into_iter().enumerate() {
        let (kind, converted) = record::read(wit_record);
        let converted = converted.map_err(|broken| format!("record {index} ({kind}), {broken}"))?;
        if converted.resource() != asked {
            return Err(format!("record {index} is of kind {kind}, but {asked:?} were asked for"));
        }
        records.push(converted);
    }
    let mut skipped = Vec::with_capacity(from.skipped.len());
    for (index, wit::SkippedRecord { id, reason }) in from.skipped.into_iter().enumerate() {
        let id = check::id("id", id).map_err(|broken| format!("skipped record {index}, {broken}"))?;
        skipped.push(Skipped { id, reason: heard(&reason) });
    }
    let deleted = from.deleted.into_iter().enumerate();
    let deleted = deleted
        .map(|(index, id)| check::id("deleted", id).map_err(|broken| format!("deletion {index}, {broken}")))
        .collect::<Result<_, _>>()?;
    let wit::Page { cursor, last, whole, estimate, .. } = from;
    Ok(Page { records, skipped, deleted, cursor, last, whole, estimate })
}

pub(crate) fn receipt(from: wit::Receipt) -> Checked<Receipt> {
    Ok(Receipt { id: check::id("id", from.id)?, version: check::optional_exact("version", from.version)? })
}

/// Converts a write. Returns `Unsupported` if the contract has no case for it.
pub(crate) fn write(write: Write) -> Result<wit::Write, Fault> {
    let change =
        |appointment: EhrAppointment, reason| wit::AppointmentChange { appointment: appointment.write(), reason };
    Ok(match write {
        Write::CreatePatient(patient) => wit::Write::CreatePatient(patient.write()),
        Write::CreateAppointment(appointment) => wit::Write::CreateAppointment(change(appointment, None)),
        Write::RescheduleAppointment(appointment, reason) => {
            wit::Write::RescheduleAppointment(change(appointment, reason))
        }
        Write::CancelAppointment(appointment, reason) => wit::Write::CancelAppointment(change(appointment, reason)),
        Write::UpdatePatient(patient, before) => wit::Write::UpdatePatient(wit::PatientChange {
            patient: patient.write(),
            before: before.map(|before| before.write()),
        }),
        Write::ConfirmAppointment(appointment) => wit::Write::ConfirmAppointment(change(appointment, None)),
        Write::CheckInAppointment(appointment) => wit::Write::CheckInAppointment(change(appointment, None)),
        Write::NoteAppointment(appointment) => wit::Write::NoteAppointment(change(appointment, None)),
        Write::CreateWorkingHour(hour) => wit::Write::CreateWorkingHour(hour.write()),
        Write::UpdateWorkingHour(hour) => wit::Write::UpdateWorkingHour(hour.write()),
        Write::DeleteWorkingHour(id) => wit::Write::DeleteWorkingHour(id),
        Write::Record(operation, record) => record::write(operation, record)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_names_are_those_of_the_contract() {
        assert_eq!(case_name(wit::WriteKind::CheckInAppointment, '-'), "check-in-appointment");
        assert_eq!(case_name(wit::PatientField::WorkPhoneExtension, '_'), "work_phone_extension");
        assert_eq!(case_name(wit::PatientField::Ssn, '_'), "ssn");
    }
}
