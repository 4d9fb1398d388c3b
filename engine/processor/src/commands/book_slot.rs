//! Books slots offered to a client, one or several as one request (specification 4.8): the patients, the claim of the
//! idempotency key, and the documents.

use std::collections::BTreeSet;

use location::{
    AppointmentTypeId, InstitutionId, LocationId, OperatoryId, Placement, ProviderId, Reply,
    command::{Book, BookGroup, BookPatient, Closed, KeyUse, OfferedSlot},
};
use records::{self, Booking, Writeback, demographics::name};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{Key, keys};

use super::prelude::*;
use crate::{patients::describe_patient, processor::decode};

/// Prefix of idempotency keys that are derived from the slots and the patients of a booking, because the caller chooses
/// none. A repetition with such a key may differ in its notes and in other details of the patients.
pub const DERIVED_KEY: &str = "derived-";

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

    /// Returns the slot for a command, with the operatories and types that are closed to the caller.
    pub fn slot(&self, closed: Closed) -> OfferedSlot {
        OfferedSlot {
            placement: self.placement(),
            appointment_type: self.appointment_type,
            expires: self.expires,
            hold: self.hold,
            join_blocks: self.join_blocks,
            closed,
            channel: self.channel.clone(),
            rules: self.rules,
        }
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

/// Bookings of several slot tokens of one location as one request: all or none.
#[derive(Clone)]
pub struct BookSlots {
    pub bookings: Vec<SlotBooking>,
    pub idempotency_key: String,
    /// Name of the API key, for the record.
    pub created_by: String,
}

/// One booking of a group.
#[derive(Clone)]
pub struct SlotBooking {
    pub offer: Offer,
    pub patient: PatientDetails,
    pub note: Option<String>,
}

pub struct BookedGroup {
    /// The appointments, in the order of the request.
    pub appointments: Vec<Record<records::Appointment>>,
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
        let drafts = [Draft { offer: &self.offer, patient: &self.patient, note: &self.note }];
        let fingerprint = fingerprint(&drafts[0].contents(&self.idempotency_key));
        let (key, created_by) = (&self.idempotency_key, &self.created_by);
        let request = BookingRequest { drafts: &drafts, is_group: false, key, fingerprint, created_by };
        let (decision, BookedGroup { mut appointments, replay, warnings }) = request.prepare(at, cx, unit)?;
        let appointment = appointments.pop().ok_or(Reject::Damaged("a booking without its appointment"))?;
        Ok((decision, Booked { appointment, replay, warnings }))
    }
}

impl Request for BookSlots {
    type Reply = BookedGroup;

    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<BookedGroup> {
        let drafts: Vec<Draft<'_>> = self
            .bookings
            .iter()
            .map(|booking| Draft { offer: &booking.offer, patient: &booking.patient, note: &booking.note })
            .collect();
        let contents = drafts.iter().map(|draft| draft.contents(&self.idempotency_key)).collect();
        let fingerprint = fingerprint(&serde_json::Value::Array(contents));
        let (key, created_by) = (&self.idempotency_key, &self.created_by);
        BookingRequest { drafts: &drafts, is_group: true, key, fingerprint, created_by }.prepare(at, cx, unit)
    }
}

/// The bookings of a request, with its idempotency key.
struct BookingRequest<'a> {
    drafts: &'a [Draft<'a>],
    /// `true` for `BookSlots`, whose refusals name the booking.
    is_group: bool,
    key: &'a str,
    /// Digest of the request data.
    fingerprint: String,
    created_by: &'a str,
}

/// A requested booking.
struct Draft<'a> {
    offer: &'a Offer,
    patient: &'a PatientDetails,
    note: &'a Option<String>,
}

struct DraftPatient {
    id: u32,
    known: Option<Record<records::Patient>>,
    /// The EHR does not have the patient. A patient that it rejected is sent again, as described by this request.
    is_new: bool,
    /// The booking creates the patient. Of several bookings for one new patient, the first does.
    creates: bool,
}

impl BookingRequest<'_> {
    fn prepare(&self, at: &Processor, cx: DecisionContext, unit: &mut UnitOfWork<'_>) -> Prepared<BookedGroup> {
        let digest = key_digest(self.key);
        let claim_key = keys::claim(at.institution.id.0, &digest);
        let match_keys: Vec<Vec<Key>> = self.drafts.iter().map(|draft| at.match_keys(draft.patient)).collect();
        // Patients of one family may share a key.
        let read: BTreeSet<Key> = match_keys.iter().flatten().chain([&claim_key]).cloned().collect();
        unit.prefetch(read)?;
        let claimed_by = Claim::owner(&claim_key, cx.now, unit)?;
        let mut patients: Vec<DraftPatient> = Vec::with_capacity(self.drafts.len());
        let mut bookings: Vec<Book> = Vec::with_capacity(self.drafts.len());
        for (draft, keys) in self.drafts.iter().zip(&match_keys) {
            let patient = self.patient_of((draft, keys.as_slice()), &patients, at, cx, unit)?;
            bookings.push(draft.booking(&patient, unit.allot(Resource::Appointments)?, at)?);
            patients.push(patient);
        }
        let ids: Vec<u64> = bookings.iter().map(|booking| booking.appointment.0).collect();
        let key = Some(KeyUse { key: hex::encode(digest), fingerprint: self.fingerprint.clone(), claimed_by });
        let command = match bookings.pop() {
            Some(booking) if !self.is_group => Command::Book(Book { key, ..booking }),
            last => {
                bookings.extend(last);
                Command::BookGroup(BookGroup { bookings, key })
            }
        };
        let decision = at.decide(cx, &command)?;
        let (booked, replay) = match &decision.reply {
            Reply::Booked { appointment, replay } => (vec![*appointment], *replay),
            Reply::GroupBooked { appointments, replay } => (appointments.clone(), *replay),
            _ => return Err(Reject::Damaged("a booking with an unexpected reply")),
        };
        let mut appointments = Vec::with_capacity(booked.len());
        if replay {
            for id in booked {
                let appointment = unit.get(0, id.0)?;
                appointments.push(appointment.ok_or(Reject::Damaged("a booking without its appointment"))?);
            }
            return Ok((decision, BookedGroup { appointments, replay, warnings: Vec::new() }));
        }
        for ((draft, patient), id) in self.drafts.iter().zip(patients).zip(ids) {
            let of_patient = (patient.id, patient.known.is_some());
            if patient.creates {
                draft.put_patient(at, cx, patient, unit)?;
            }
            let appointment = draft.booked(at, cx, id, of_patient, self.created_by);
            unit.put(&appointment)?;
            appointments.push(appointment);
        }
        Claim::put(at, cx, claim_key, unit)?;
        let warning = |(index, appointment): (usize, &Record<records::Appointment>)| {
            let warning = at.double_booked(appointment)?;
            Some(if self.is_group { format!("bookings[{index}]: {warning}") } else { warning })
        };
        let warnings = appointments.iter().enumerate().filter_map(warning).collect();
        Ok((decision, BookedGroup { appointments, replay, warnings }))
    }

    /// Returns the patient of a booking, which may have one of these `match_keys`. `earlier` are the patients of the
    /// bookings before it.
    fn patient_of(
        &self,
        (draft, keys): (&Draft<'_>, &[Key]),
        earlier: &[DraftPatient],
        at: &Processor,
        cx: DecisionContext,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<DraftPatient, Reject> {
        if let Some(known) = at.matching_patient(cx, draft.patient, keys, unit)? {
            let (id, is_new) = (known.id, known.rejected());
            let creates = is_new && !earlier.iter().any(|other| other.id == id);
            return Ok(DraftPatient { id, known: Some(known), is_new, creates });
        }
        let mut new_patients = earlier.iter().zip(self.drafts).filter(|(other, _)| other.known.is_none());
        let same = new_patients.find(|(_, other)| at.is_same_person(other.patient, draft.patient));
        let id = match same {
            Some((other, _)) => other.id,
            None => narrow(unit.allot(Resource::Patients)?)?,
        };
        Ok(DraftPatient { id, known: None, is_new: true, creates: same.is_none() })
    }
}

impl Draft<'_> {
    /// Returns the data that identifies the booking: the offer, the patient and the note. With a derived key, the
    /// patient's name and date of birth suffice.
    fn contents(&self, key: &str) -> serde_json::Value {
        let PatientDetails { first_name, last_name, date_of_birth, .. } = self.patient;
        match key.starts_with(DERIVED_KEY) {
            true => {
                serde_json::json!([self.offer.hold, name::fold(first_name), name::fold(last_name), date_of_birth])
            }
            false => serde_json::json!([self.offer.hold, self.patient, self.note]),
        }
    }

    fn booking(&self, patient: &DraftPatient, appointment: u64, at: &Processor) -> Result<Book, Reject> {
        Ok(Book {
            appointment: AppointmentId(appointment),
            offer: self.offer.slot(at.closed_to_patients(self.offer.appointment_type)?),
            key: None,
            patient: BookPatient {
                id: PatientId(patient.id),
                is_new: patient.is_new,
                missing_fields: if patient.creates { at.missing_fields(self.patient) } else { Vec::new() },
                date_of_birth: self.patient.date_of_birth,
            },
            by_rules: true,
        })
    }

    fn booked(
        &self,
        at: &Processor,
        cx: DecisionContext,
        id: u64,
        (patient, patient_matched): (u32, bool),
        created_by: &str,
    ) -> Record<records::Appointment> {
        let mut appointment = at.fresh_appointment(cx, id, patient, self.offer.placement());
        appointment.appointment_type_id = self.offer.appointment_type.map(|id| id.0);
        appointment.note.clone_from(self.note);
        appointment.booking = Some(Booking {
            booking_ref: at.deps.secrets.booking_ref(id),
            writeback: Writeback::Pending,
            failure_reason: None,
            cancellation: None,
            patient_first_name: self.patient.first_name.clone(),
            patient_last_name: self.patient.last_name.clone(),
            patient_matched: Some(patient_matched),
            created_by: created_by.to_owned(),
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
        DraftPatient { id, known, .. }: DraftPatient,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<(), Reject> {
        let details = self.patient;
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

/// Returns a digest of the data of a request.
fn fingerprint(contents: &serde_json::Value) -> String {
    hex::encode(Sha256::digest(contents.to_string().as_bytes()))
}
