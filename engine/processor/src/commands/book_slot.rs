//! Books a slot offered to a client (specification 4.8): the patient, the claim of the idempotency key, and the
//! documents.

use location::{
    command::{Book, BookPatient, KeyUse, Placement},
    decision::Reply,
    ids::{AppointmentTypeId, InstitutionId, LocationId, OperatoryId, ProviderId},
};
use records::{self, Booking, Writeback};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{Key, keys};

use super::prelude::*;
use crate::{patients::describe_patient, processor::decode};

/// A slot that may be booked, as sealed into a slot token. The HTTP layer seals and unseals; the engine decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub institution: InstitutionId,
    pub location: LocationId,
    pub provider: ProviderId,
    pub operatory: Option<OperatoryId>,
    pub span: Span,
    pub appointment_type: Option<AppointmentTypeId>,
    pub expires: Timestamp,
    /// Offered under an API version that joins synced hours with schedulable blocks.
    pub join_blocks: bool,
    /// Id of the token, and of the hold placed with it.
    pub hold: u64,
    /// The channel of the caller's API key.
    pub channel: Option<String>,
    /// Digest of the booking rules of the offer. `None` if unknown.
    pub rules: Option<u64>,
}

impl Offer {
    pub fn placement(&self) -> Placement {
        Placement { operatory: self.operatory, provider: Some(self.provider), span: self.span }
    }
}

/// A booking from a slot token (specification 4.8).
#[derive(Clone)]
pub struct BookSlot {
    pub offer: Offer,
    pub idempotency_key: String,
    pub patient: PatientDetails,
    pub note: Option<String>,
    /// Name of the API key, for the record.
    pub created_by: String,
}

pub struct Booked {
    pub appointment: Record<records::Appointment>,
    pub replay: bool,
    /// Warnings for the client of a successful booking.
    pub warnings: Vec<String>,
}

/// The location that used an idempotency key of an institution, and the expiry of that claim.
#[derive(Serialize, Deserialize)]
pub struct Claim {
    pub location: location::ids::LocationId,
    pub expires: Timestamp,
}

impl Claim {
    /// Returns the location that has claimed a key, if the claim has not expired.
    pub(super) fn owner(
        claim_key: &Key,
        now: Timestamp,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<LocationId>, Reject> {
        let claim: Option<Claim> = unit.guarded(claim_key.clone())?.map(|bytes| decode(&bytes)).transpose()?;
        Ok(claim.filter(|claim| now < claim.expires).map(|claim| claim.location))
    }

    /// Claims a key for a location.
    pub(super) fn put(
        at: &Processor,
        cx: DecisionContext,
        claim_key: Key,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let expires = cx.now.plus(at.settings().booking.key_lifetime);
        let claim = serde_json::to_vec(&Claim { location: at.setup.id, expires })
            .map_err(|_| Reject::Damaged("a claim that cannot be written"))?;
        unit.put_raw(claim_key, claim);
        Ok(())
    }
}

impl Request for BookSlot {
    type Reply = Booked;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<Booked> {
        let digest = key_digest(&self.idempotency_key);
        let claim_key = keys::claim(at.institution.id.0, &digest);
        unit.prefetch(at.match_keys(&self.patient).chain([claim_key.clone()]))?;
        let claimed_by = Claim::owner(&claim_key, cx.now, unit)?;
        let matched = at.matching_patient(cx, &self.patient, unit)?;
        let patient_matched = matched.is_some();
        // A patient rejected by the EHR is sent again, as described by this request.
        let is_new = matched.as_ref().is_none_or(|known| known.rejected());
        let patient_id = match &matched {
            Some(known) => known.id,
            None => narrow(unit.allot(Resource::Patients)?)?,
        };
        let appointment_id = unit.allot(Resource::Appointments)?;
        let offer = &self.offer;
        let placement = Placement { operatory: offer.operatory, provider: Some(offer.provider), span: offer.span };
        let command = Command::Book(Book {
            appointment: AppointmentId(appointment_id),
            placement,
            appointment_type: offer.appointment_type,
            expires: offer.expires,
            hold: offer.hold,
            join_blocks: offer.join_blocks,
            closed: at.closed_to_patients(offer.appointment_type)?,
            key: Some(KeyUse { key: hex::encode(digest), fingerprint: fingerprint(self), claimed_by }),
            patient: BookPatient {
                id: PatientId(patient_id),
                is_new,
                missing_fields: if is_new { at.missing_fields(&self.patient) } else { Vec::new() },
                date_of_birth: self.patient.date_of_birth,
            },
            by_rules: true,
            channel: offer.channel.clone(),
            rules: offer.rules,
        });
        let decision = at.decide(cx, &command)?;
        let reply = match &decision.reply {
            Reply::Booked { appointment, replay: true } => {
                let appointment = unit.get(0, appointment.0)?;
                let appointment = appointment.ok_or(Reject::Damaged("a booking without its appointment"))?;
                Booked { appointment, replay: true, warnings: Vec::new() }
            }
            Reply::Booked { replay: false, .. } => {
                if is_new {
                    self.put_patient(at, cx, patient_id, matched, unit)?;
                }
                let appointment = self.booked(at, cx, appointment_id, (patient_id, patient_matched), placement);
                unit.put(&appointment)?;
                Claim::put(at, cx, claim_key, unit)?;
                let warnings = at.double_booked(&appointment).into_iter().collect();
                Booked { appointment, replay: false, warnings }
            }
            _ => return Err(Reject::Damaged("a booking with an unexpected reply")),
        };
        Ok((decision, reply))
    }
}

impl BookSlot {
    fn booked(
        &self,
        at: &Processor,
        cx: DecisionContext,
        id: u64,
        (patient, patient_matched): (u32, bool),
        placement: Placement,
    ) -> Record<records::Appointment> {
        let mut appointment = at.fresh_appointment(cx, id, patient, placement);
        appointment.appointment_type_id = self.offer.appointment_type.map(|id| id.0);
        appointment.note.clone_from(&self.note);
        appointment.booking = Some(Booking {
            booking_ref: at.deps.secrets.booking_ref(id),
            writeback: Writeback::Pending,
            failure_reason: None,
            cancellation: None,
            patient_first_name: self.patient.first_name.clone(),
            patient_last_name: self.patient.last_name.clone(),
            patient_matched: Some(patient_matched),
            created_by: self.created_by.clone(),
            is_guardian: false,
            is_new_clients_patient: false,
            referrer: None,
            descriptor_ids: Vec::new(),
        });
        appointment
    }

    /// Creates the patient, or updates one that the EHR rejected with the details of this request.
    fn put_patient(
        &self,
        at: &Processor,
        cx: DecisionContext,
        id: u32,
        known: Option<Record<records::Patient>>,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let details = &self.patient;
        let mut patient = known.unwrap_or_else(|| {
            let mut patient = at.fresh_patient(cx, id, details);
            patient.provider_id = Some(self.offer.provider.0);
            patient
        });
        describe_patient(cx, &mut patient, details);
        at.index_patient(None, &patient, unit)?;
        unit.put(&patient)
    }
}

pub fn key_digest(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

/// Returns a digest of the request that used a key: the offer, the patient and the note.
fn fingerprint(request: &BookSlot) -> String {
    let said = serde_json::json!([request.offer.hold, request.patient, request.note]);
    hex::encode(Sha256::digest(said.to_string().as_bytes()))
}
