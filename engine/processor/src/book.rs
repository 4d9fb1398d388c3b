//! What a booking needs besides the rules: the patient it is for, the key's claim, and the documents it leaves.

use location::{
    command::{Book, BookPatient, Command, Cx, KeyUse, Placement},
    decision::{Decision, Reply},
    ids::{AppointmentId, PatientId},
    pull::Resource,
    time::Timestamp,
};
use records::{
    self, Booking, Writeback,
    entry::EntryWrite,
    index::words::{self, phone},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{Key, keys};

use crate::requests::{BookRequest, PatientDetails};
use crate::{
    request::Answer,
    turn::{Processor, TurnError},
    unit_of_work::{UnitOfWork, decode},
};

/// Without these nobody knows whom the chair is for, whatever the EHR takes.
const ALWAYS_REQUIRED: [&str; 3] = ["first_name", "last_name", "date_of_birth"];

const SAME_TIME: &str = "The patient has another appointment at this location at the same time.";

/// Who holds an idempotency key of an institution, and how long.
#[derive(Serialize, Deserialize)]
pub struct Claim {
    pub location: location::ids::LocationId,
    pub expires: Timestamp,
}

impl Processor {
    pub fn prepare_booking(
        &self,
        cx: Cx,
        request: &BookRequest,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(Decision, Answer), TurnError> {
        let digest = key_digest(&request.idempotency_key);
        let claim_key = keys::claim(self.institution.id.0, &digest);
        let claim: Option<Claim> = unit.guarded(claim_key.clone())?.map(|bytes| decode(&bytes)).transpose()?;
        let claimed_by = claim.filter(|claim| cx.now < claim.expires).map(|claim| claim.location);
        let matched = self.matching_patient(&request.patient, unit)?;
        let patient_matched = matched.is_some();
        // A patient the EHR refused once is offered to it again, as this request describes the patient.
        let is_new = matched.as_ref().is_none_or(|known| known.foreign_id.is_none() && known.write_error.is_some());
        let patient_id = match &matched {
            Some(known) => known.id,
            None => narrow(unit.allot(Resource::Patients)?)?,
        };
        let appointment_id = unit.allot(Resource::Appointments)?;
        let offer = &request.offer;
        let placement = Placement { operatory: offer.operatory, provider: Some(offer.provider), span: offer.span };
        let command = Command::Book(Book {
            appointment: AppointmentId(appointment_id),
            placement,
            appointment_type: offer.appointment_type,
            expires: offer.expires,
            hold: offer.hold,
            join_blocks: offer.join_blocks,
            closed: self.closed_to_patients(offer.appointment_type)?,
            key: Some(KeyUse { key: hex::encode(digest), fingerprint: fingerprint(request), claimed_by }),
            patient: BookPatient {
                id: PatientId(patient_id),
                is_new,
                missing_fields: if is_new { self.missing_fields(&request.patient) } else { Vec::new() },
            },
        });
        let decision = self.machine.decide(cx, &command);
        let mut answer = Answer::from(decision.reply.clone());
        match decision.reply {
            Reply::Booked { appointment, replay: true } => {
                answer.appointment = unit.get(0, appointment.0)?;
            }
            Reply::Booked { replay: false, .. } => {
                if is_new {
                    self.put_patient(cx, patient_id, matched, request, unit)?;
                }
                let record = self.booked(cx, appointment_id, (patient_id, patient_matched), placement, request);
                unit.put(&record)?;
                answer.warnings.extend(self.double_booked(&record));
                let expires = cx.now.plus(self.settings().booking.key_lifetime);
                let claim = serde_json::to_vec(&Claim { location: self.setup.id, expires })
                    .map_err(|_| TurnError::Damaged("a claim that cannot be written"))?;
                unit.put_raw(claim_key, claim);
                answer.appointment = Some(record);
            }
            _ => {}
        }
        Ok((decision, answer))
    }

    fn booked(
        &self,
        cx: Cx,
        id: u64,
        (patient, patient_matched): (u32, bool),
        placement: Placement,
        request: &BookRequest,
    ) -> records::Appointment {
        records::Appointment {
            appointment_type_id: request.offer.appointment_type.map(|id| id.0),
            note: request.note.clone(),
            booking: Some(Booking {
                booking_ref: self.deps.secrets.booking_ref(id),
                writeback: Writeback::Pending,
                failure_reason: None,
                patient_first_name: request.patient.first_name.clone(),
                patient_last_name: request.patient.last_name.clone(),
                patient_matched: Some(patient_matched),
                created_by: request.created_by.clone(),
                is_guardian: false,
                is_new_clients_patient: false,
                referrer: None,
                descriptor_ids: Vec::new(),
            }),
            ..self.fresh_appointment(cx, id, patient, placement)
        }
    }

    /// An appointment made here, as it starts out.
    pub fn fresh_appointment(&self, cx: Cx, id: u64, patient: u32, placement: Placement) -> records::Appointment {
        records::Appointment {
            id,
            institution_id: self.institution.id.0,
            location_id: self.setup.id.0,
            foreign_id: None,
            version: None,
            patient_id: Some(patient),
            appointment_type_id: None,
            placement,
            note: None,
            unavailable: false,
            cancelled: false,
            cancelled_at: None,
            cancel_reason: None,
            confirmed: false,
            confirmed_at: None,
            patient_confirmed: false,
            patient_confirmed_at: None,
            patient_missed: false,
            checkin_at: None,
            checked_out_at: None,
            created_at: cx.now,
            updated_at: cx.now,
            last_sync_time: None,
            booking: None,
        }
    }

    /// A patient made here, as they start out.
    pub fn fresh_patient(&self, cx: Cx, id: u32, details: &PatientDetails) -> records::Patient {
        let mut patient = records::Patient {
            id,
            institution_id: self.institution.id.0,
            source_id: self.source(),
            new_patient: true,
            location_ids: vec![self.setup.id.0],
            created_at: cx.now,
            ..records::Patient::default()
        };
        describe_patient(cx, &mut patient, details);
        patient
    }

    /// Creates the patient, or brings one the EHR refused up to what this request says.
    fn put_patient(
        &self,
        cx: Cx,
        id: u32,
        known: Option<records::Patient>,
        request: &BookRequest,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), TurnError> {
        let details = &request.patient;
        let mut patient = known.unwrap_or_else(|| records::Patient {
            provider_id: Some(request.offer.provider.0),
            ..self.fresh_patient(cx, id, details)
        });
        describe_patient(cx, &mut patient, details);
        self.index_patient(None, &patient, unit)?;
        unit.put(&patient)
    }

    /// The patient of this data source with the same date of birth, first and last name, and phone or e-mail (decisions: Booking
    /// intent). Twins, and parents and children of one name, share all but one of these.
    pub fn matching_patient(
        &self,
        details: &PatientDetails,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<records::Patient>, TurnError> {
        let number = details.phone_number.as_deref().and_then(phone);
        let email = details.email.as_deref().map(plain);
        let same = |patient: &records::Patient| {
            let phones = [&patient.cell_phone, &patient.home_phone, &patient.work_phone, &patient.primary_phone];
            let same_phone = number.is_some() && phones.into_iter().flatten().any(|known| phone(known) == number);
            same_phone || email.is_some() && patient.email.as_deref().map(plain) == email
        };
        let mut namesakes = self.namesakes(details, unit)?.into_iter();
        Ok(namesakes.find(|patient| same_name(&patient.first_name, &details.first_name) && same(patient)))
    }

    /// Patients of this data source with the same date of birth and last name.
    pub fn namesakes(
        &self,
        details: &PatientDetails,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<records::Patient>, TurnError> {
        let Some(born) = details.date_of_birth else { return Ok(Vec::new()) };
        let born = born.to_string();
        let mut ids = Vec::new();
        for name in [folded(&details.last_name), plain(&details.last_name)] {
            if let Some(key) = self.match_key(&name, &born) {
                ids.extend(self.matches(&key, unit)?);
            }
        }
        ids.sort_unstable();
        ids.dedup();
        let mut patients = Vec::new();
        for id in ids {
            patients.extend(unit.get::<records::Patient>(self.institution.id.0, u64::from(id))?);
        }
        // A list may name one whose name was changed since: only their document says who they are.
        let same = |patient: &records::Patient| same_name(&patient.last_name, &details.last_name);
        patients.retain(|patient| patient.date_of_birth.as_ref() == Some(&born) && same(patient));
        Ok(patients)
    }

    fn matches(&self, key: &Key, unit: &mut UnitOfWork<'_>) -> Result<Vec<u32>, TurnError> {
        Ok(unit.guarded(key.clone())?.map(|bytes| decode(&bytes)).transpose()?.unwrap_or_default())
    }

    /// Where patients of one date of birth and last name are listed. A keyed digest: keys on disk are not encrypted. The name is
    /// `folded`; lists from before that was so stand under the name that is only `plain`.
    fn match_key(&self, name: &str, born: &str) -> Option<Key> {
        let scope = self.source().unwrap_or(0);
        (!name.is_empty()).then(|| {
            let digest = self.deps.secrets.digest(&[b"patient", name.as_bytes(), born.as_bytes()]);
            keys::patient_match(self.institution.id.0, scope, &digest)
        })
    }

    /// Keeps the list of patients by date of birth and last name.
    pub fn index_patient(
        &self,
        old: Option<&records::Patient>,
        new: &records::Patient,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), TurnError> {
        let key_of = |patient: &records::Patient| {
            patient.date_of_birth.as_deref().and_then(|born| self.match_key(&folded(&patient.last_name), born))
        };
        let (before, after) = (old.and_then(key_of), key_of(new));
        for (key, present) in [(&before, false), (&after, true)] {
            let Some(key) = key.as_ref().filter(|_| present || before != after) else { continue };
            let mut ids = self.matches(key, unit)?;
            if ids.contains(&new.id) == present {
                continue;
            }
            ids.retain(|id| *id != new.id);
            ids.extend(present.then_some(new.id));
            let bytes = serde_json::to_vec(&ids).map_err(|_| TurnError::Damaged("a list of patients"))?;
            unit.put_raw(key.clone(), bytes);
        }
        Ok(())
    }

    /// What whoever booked should know.
    pub fn double_booked(&self, record: &records::Appointment) -> Option<String> {
        let (patient, id) = (PatientId(record.patient_id?), AppointmentId(record.id));
        let twice = self.machine.is_double_booked(patient, record.placement.span, id);
        twice.then(|| SAME_TIME.to_owned())
    }

    /// Fields a new patient needs and the request lacks, named as in the API: who it is, and what the EHR asks for besides.
    pub fn missing_fields(&self, details: &PatientDetails) -> Vec<String> {
        let given = |field: &str| match field {
            "first_name" => !details.first_name.is_empty(),
            "last_name" => !details.last_name.is_empty(),
            "middle_name" => details.middle_name.is_some(),
            "date_of_birth" => details.date_of_birth.is_some(),
            "phone_number" => details.phone_number.is_some(),
            "email" => details.email.is_some(),
            "gender" => details.gender.is_some(),
            "address" => details.address.is_some(),
            _ => false,
        };
        let by_ehr = self.description.iter().flat_map(|description| &description.required_patient_fields);
        let mut required: Vec<&str> = ALWAYS_REQUIRED.to_vec();
        for field in by_ehr.map(String::as_str) {
            if !required.contains(&field) {
                required.push(field);
            }
        }
        required.into_iter().filter(|field| !given(field)).map(str::to_owned).collect()
    }
}

/// What a request says of a patient.
fn describe_patient(cx: Cx, patient: &mut records::Patient, details: &PatientDetails) {
    patient.first_name.clone_from(&details.first_name);
    patient.middle_name.clone_from(&details.middle_name);
    patient.last_name.clone_from(&details.last_name);
    patient.date_of_birth = details.date_of_birth.map(|date| date.to_string());
    patient.cell_phone.clone_from(&details.phone_number);
    patient.email.clone_from(&details.email);
    patient.gender.clone_from(&details.gender);
    patient.address.clone_from(&details.address);
    patient.write_error = None;
    patient.write = Some(EntryWrite::pending());
    patient.updated_at = cx.now;
}

pub fn key_digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// What a key was used for: the offer, the patient and the note.
fn fingerprint(request: &BookRequest) -> String {
    let said = serde_json::json!([request.offer.hold, request.patient, request.note]);
    hex::encode(Sha256::digest(said.to_string().as_bytes()))
}

pub fn narrow(id: u64) -> Result<u32, TurnError> {
    u32::try_from(id).map_err(|_| TurnError::Damaged("an id beyond 32 bits"))
}

/// For comparison only: a name without case, accents and signs. One of signs alone is compared as it is.
fn folded(name: &str) -> String {
    let words = words::of(name).join(" ");
    if words.is_empty() { plain(name) } else { words }
}

/// Whether two names are the same, but for case, accents and signs. Names that are not known are nobody's.
pub fn same_name(one: &str, other: &str) -> bool {
    let name = folded(one);
    !name.is_empty() && name == folded(other)
}

/// For comparison only: lower case, without space at the ends.
pub fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}
