//! Writes through the API, and refusals of a strict EHR.
//!
//! A creation contains the record's fields and a `write_key`; the EHR assigns id and version. An update contains the
//! fields to change, a `write_key` and optionally the expected `version`; a deletion contains a `write_key` or no body.
//! The response is the record: 201 created, 200 changed, 200 deleted (its `id` only), or 200 if the same write key was
//! written before.

use serde_json::{Map, Value, json};

use super::{
    Change, SandboxEhr, filed, hours,
    practice::{KeyedRecord, LONGEST},
    records::{Appointment, Patient, Record, Resource, Status, UntaggedRecord},
    refusals::{ValidationResult, invalid, malformed, not_found, slot_taken},
    triggers::{Trigger, block_instead},
    wire::SandboxReply,
    write_kinds::WriteKind,
};

/// Maximum length of a write key, in bytes.
const MAX_WRITE_KEY: usize = 200;

type WriteFields = Map<String, Value>;

enum WriteEffect {
    Save(u16, Box<Record>),
    Delete(Resource, String),
}

pub(super) fn create(ehr: &mut SandboxEhr, now_ms: i64, name: &str, body: &[u8]) -> SandboxReply {
    let Some(resource) = Resource::named(name) else { return not_found() };
    let kind = match resource {
        Resource::Patients => WriteKind::CreatePatient,
        Resource::Appointments => WriteKind::CreateAppointment,
        Resource::Hours => WriteKind::CreateHours,
        Resource::InsurancePlans => WriteKind::CreateInsurancePlan,
        Resource::Coverages => WriteKind::CreateCoverage,
        Resource::PatientHistoryItems => WriteKind::CreatePatientHistoryItem,
        Resource::PatientAlerts => WriteKind::CreatePatientAlert,
        Resource::CommunicationLogs => WriteKind::CreateCommunicationLog,
        Resource::FormResponses => WriteKind::CreateFormResponse,
        Resource::Payments => WriteKind::CreatePayment,
        Resource::Adjustments => WriteKind::CreateAdjustment,
        _ => return not_found(),
    };
    write(ehr, kind, (resource, None), body, |ehr, fields| {
        refuse_fields(&fields, &["id", "version"])?;
        filed::check_names(resource, &fields)?;
        let record = Record::from_json(resource, fields.into()).map_err(|e| malformed(&e))?;
        match &record {
            Record::Patient(patient) => new_patient(ehr, patient)?,
            Record::Appointment(appointment) => {
                if appointment.end * 1_000 <= now_ms {
                    return Err(invalid("in_the_past", "The appointment is over already"));
                }
                fits(ehr, appointment)?;
            }
            Record::Hours(hours) => hours::check(ehr, hours)?,
            Record::Filed(_, row) => filed::check(ehr, resource, row)?,
            _ => return Err(not_found()),
        }
        Ok(WriteEffect::Save(201, Box::new(record)))
    })
}

pub(super) fn update(ehr: &mut SandboxEhr, name: &str, id: &str, body: &[u8]) -> SandboxReply {
    let Some(resource) = Resource::named(name) else { return not_found() };
    let cancels = serde_json::from_slice::<Value>(body).is_ok_and(|fields| fields["status"] == "cancelled");
    let kind = match resource {
        Resource::Patients => WriteKind::UpdatePatient,
        Resource::Appointments if cancels => WriteKind::CancelAppointment,
        Resource::Appointments if moves(body) => WriteKind::MoveAppointment,
        Resource::Appointments => WriteKind::UpdateAppointment,
        Resource::Hours => WriteKind::UpdateHours,
        Resource::PatientHistoryItems => WriteKind::UpdatePatientHistoryItem,
        Resource::PatientAlerts => WriteKind::UpdatePatientAlert,
        _ => return not_found(),
    };
    write(ehr, kind, (resource, Some(id)), body, |ehr, mut fields| {
        refuse_fields(&fields, &["id", "location"])?;
        let before = ehr.practice.get(resource, id).ok_or_else(not_found)?;
        let rests_on = fields.remove("version");
        if ehr.behaviours.checks_versions && rests_on.is_some_and(|version| version != before.version()) {
            return Err(SandboxReply::error(409, "stale", "The record has changed since it was read"));
        }
        filed::check_names(resource, &fields)?;
        let record = merged(before, fields).map_err(|e| malformed(&e))?;
        match (before, &record) {
            (Record::Appointment(before), Record::Appointment(_)) if before.status == Status::Cancelled => {
                return Err(invalid("cancelled", "A cancelled appointment does not change any more"));
            }
            (_, Record::Appointment(appointment)) if appointment.occupies() => fits(ehr, appointment)?,
            (_, Record::Hours(hours)) => hours::check(ehr, hours)?,
            (_, Record::Filed(_, row)) => filed::check(ehr, resource, row)?,
            _ => (),
        }
        Ok(WriteEffect::Save(200, Box::new(record)))
    })
}

/// Returns `true` if an update contains a new time, operatory or provider.
fn moves(body: &[u8]) -> bool {
    let fields: WriteFields = serde_json::from_slice(body).unwrap_or_default();
    ["start", "end", "operatory", "provider"].into_iter().any(|name| fields.contains_key(name))
}

pub(super) fn delete(ehr: &mut SandboxEhr, name: &str, id: &str, body: &[u8]) -> SandboxReply {
    let body = if body.is_empty() { b"{}" } else { body };
    let Some(resource) = Resource::named(name) else { return not_found() };
    let kind = match resource {
        Resource::Coverages => WriteKind::DeleteCoverage,
        Resource::Hours => WriteKind::DeleteHours,
        _ => return not_found(),
    };
    write(ehr, kind, (resource, Some(id)), body, |ehr, _| {
        ehr.practice.get(resource, id).ok_or_else(not_found)?;
        Ok(WriteEffect::Delete(resource, id.to_owned()))
    })
}

/// Returns a record with some fields replaced; null removes an optional field. In an address only the given lines
/// change.
pub(super) fn merged(record: &Record, fields: WriteFields) -> Result<Record, serde_json::Error> {
    let mut json = record.to_json();
    if let Value::Object(all) = &mut json {
        replace(all, fields);
    }
    Record::from_json(record.resource(), json)
}

fn replace(all: &mut WriteFields, fields: WriteFields) {
    for (name, value) in fields {
        match (value, all.get_mut(&name)) {
            (Value::Null, _) => drop(all.remove(&name)),
            (Value::Object(lines), Some(Value::Object(held))) if name == "address" => {
                replace(held, lines);
                if held.is_empty() {
                    all.remove(&name);
                }
            }
            (value, _) => drop(all.insert(name, value)),
        }
    }
}

/// Handles any write, unless it is lost before it arrives. The response may be lost afterwards.
fn write(
    ehr: &mut SandboxEhr,
    kind: WriteKind,
    of: (Resource, Option<&str>),
    body: &[u8],
    check: impl FnOnce(&SandboxEhr, WriteFields) -> ValidationResult<WriteEffect>,
) -> SandboxReply {
    if ehr.behaviours.forgets(kind) {
        return SandboxReply::default().lost();
    }
    match execute(ehr, kind, of, body, check) {
        Ok(reply) if ehr.behaviours.loses(kind) => reply.lost(),
        Ok(reply) | Err(reply) => reply,
    }
}

/// Executes any write: write key, switches, trigger names, validation, saving. `of` is the record to change or delete;
/// a new one has no id.
fn execute(
    ehr: &mut SandboxEhr,
    kind: WriteKind,
    of: (Resource, Option<&str>),
    body: &[u8],
    check: impl FnOnce(&SandboxEhr, WriteFields) -> ValidationResult<WriteEffect>,
) -> ValidationResult<SandboxReply> {
    let mut fields: WriteFields = serde_json::from_slice(body).map_err(|e| malformed(&e))?;
    let key = write_key(&mut fields)?;
    if let Some(earlier) =
        key.as_deref().filter(|_| ehr.behaviours.idempotent).and_then(|key| ehr.practice.written(key))
    {
        return Ok(written_reply(ehr, 200, earlier));
    }
    if !ehr.behaviours.supports(kind) {
        return Err(SandboxReply::error(501, "unsupported_write", "This EHR has no such write"));
    }
    if let Some(refusal) = ehr.behaviours.rejection(kind) {
        return Err(refusal);
    }
    let (resource, id) = of;
    let before = id.and_then(|id| ehr.practice.get(resource, id));
    let patient = |id: &str| ehr.practice.get(Resource::Patients, id);
    let rehearsal = Trigger::for_write(patient, resource, before, &fields);
    if let Some(refusal) = rehearsal.and_then(|rehearsal| rehearsal.refusal(kind)) {
        return Err(refusal);
    }
    // Only these two return the key of their creation.
    if let Some(key) = key.clone().filter(|_| matches!(kind, WriteKind::CreatePatient | WriteKind::CreateAppointment)) {
        fields.insert("write_key".into(), key.into());
    }
    let outcome = check(ehr, fields)?;
    if let (Some(Trigger::SlotTaken), WriteEffect::Save(201, record)) = (rehearsal, &outcome)
        && let Record::Appointment(wanted) = &**record
    {
        let staff = ehr.practice.save(Record::Appointment(block_instead(wanted)), None);
        return Ok(SandboxReply { changes: vec![staff], ..slot_taken() });
    }
    let (status, change) = match outcome {
        WriteEffect::Save(status, record) => (status, ehr.practice.save(*record, key.as_deref())),
        WriteEffect::Delete(resource, id) => {
            (200, ehr.practice.delete(resource, &id, key.as_deref()).ok_or_else(not_found)?)
        }
    };
    let written = match &change {
        Change::Saved { record, .. } => KeyedRecord { resource: record.resource(), id: record.id().to_owned() },
        Change::Deleted { resource, id, .. } => KeyedRecord { resource: *resource, id: id.clone() },
    };
    Ok(SandboxReply { changes: vec![change], ..written_reply(ehr, status, &written) })
}

/// Returns the written record, or the id of a deleted one.
fn written_reply(ehr: &SandboxEhr, status: u16, written: &KeyedRecord) -> SandboxReply {
    match ehr.practice.get(written.resource, &written.id) {
        Some(record) => SandboxReply::json(status, &UntaggedRecord(record)),
        None => SandboxReply::json(status, &json!({"id": written.id})),
    }
}

fn write_key(fields: &mut WriteFields) -> ValidationResult<Option<String>> {
    match fields.remove("write_key") {
        None => Ok(None),
        Some(Value::String(key)) if !key.is_empty() && key.len() <= MAX_WRITE_KEY => Ok(Some(key)),
        Some(_) => Err(SandboxReply::error(400, "malformed", "write_key must be a text of at most 200 bytes")),
    }
}

fn refuse_fields(fields: &WriteFields, names: &[&str]) -> ValidationResult {
    match names.iter().find(|name| fields.contains_key(**name)) {
        Some(name) => Err(SandboxReply::error(400, "malformed", &format!("{name} is given by the EHR"))),
        None => Ok(()),
    }
}

fn new_patient(ehr: &SandboxEhr, patient: &Patient) -> ValidationResult {
    let switches = &ehr.behaviours;
    if switches.refuse_new_patients {
        return Err(invalid("new_patients_refused", "This practice takes no new patients"));
    }
    if patient.first_name.trim().is_empty() || patient.last_name.trim().is_empty() {
        return Err(invalid("missing_field", "first_name and last_name are required"));
    }
    let json = Record::Patient(Box::new(patient.clone())).to_json();
    let mut required =
        switches.required_patient_fields.iter().map(String::as_str).chain(Trigger::required_field(patient));
    if let Some(field) = required.find(|name| json[*name].is_null()) {
        return Err(invalid("missing_field", &format!("{field} is required")));
    }
    let same = |other: &Patient| {
        (&other.first_name, &other.last_name, &other.born) == (&patient.first_name, &patient.last_name, &patient.born)
    };
    let mut others = ehr.practice.all(Resource::Patients);
    if switches.refuse_duplicate_patients && others.any(|r| matches!(r, Record::Patient(other) if same(other))) {
        let message = format!("{} {} is on file already", patient.first_name, patient.last_name);
        return Err(SandboxReply::error(409, "duplicate_patient", &message));
    }
    Ok(())
}

/// Validates an appointment that occupies time, like a strict EHR.
pub(super) fn fits(ehr: &SandboxEhr, a: &Appointment) -> ValidationResult {
    if a.end <= a.start || a.end - a.start > LONGEST {
        return Err(invalid("bad_time", "end must be after start, by at most 24 hours"));
    }
    let here = |id| match ehr.practice.get(Resource::Operatories, id) {
        Some(Record::Operatory(operatory)) => operatory.location == a.location,
        _ => false,
    };
    if a.operatory.as_deref().is_some_and(|id| !here(id)) {
        return Err(invalid("unknown_operatory", "The location has no such operatory"));
    }
    let Some(place) = a.place() else {
        return Err(invalid("missing_field", "operatory or provider is required"));
    };
    let known = |resource, id: &Option<String>| id.as_ref().is_none_or(|id| ehr.practice.get(resource, id).is_some());
    if a.patient.is_none() && !a.blocked {
        return Err(invalid("missing_field", "patient is required"));
    }
    if !known(Resource::Patients, &a.patient) {
        return Err(invalid("unknown_patient", "There is no such patient"));
    }
    if !known(Resource::Providers, &a.provider) {
        return Err(invalid("unknown_provider", "There is no such provider"));
    }
    if !known(Resource::Types, &a.kind) {
        return Err(invalid("unknown_type", "There is no such appointment type"));
    }
    if ehr.practice.occupied(place, a.start, a.end, &a.id).is_some() {
        return Err(slot_taken());
    }
    Ok(())
}
