//! Appointments made without a slot token, and changes of appointments (specification 4.10 and 7.3).

use location::{
    command::{Book, BookPatient, Closed, Command, Cx, Placement},
    decision::Reply,
    event::Change,
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, ProviderId},
    pull::Resource,
    time::{Span, Timestamp},
};
use records::{Appointment, Booking, Patient, Writeback};

use crate::saving::{Prepared, saved, unmet};
use crate::{
    book::narrow,
    requests::{AppointmentChange, NewAppointment, PatientDetails, Unmet},
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

/// Ends the foreign id of a patient whom the EHR shows on their first appointment only (specification 7.3).
const UNCONVERTED: &str = "_np";

/// The contract's appointment has no place for them.
const DESCRIPTORS_STAY: &str = "descriptor_ids stay here only: they are not written to the health record system.";

impl Processor {
    pub(super) fn new_appointment(&self, cx: Cx, new: &NewAppointment, unit: &mut UnitOfWork<'_>) -> Prepared {
        let (patient, mut wrong) = (self.patient_to_book(new.patient_id, unit)?, Vec::new());
        let guardian = patient.map_err(|why| wrong.push(why)).ok();
        wrong.extend(self.missing_for_appointment(new, unit)?);
        let guardian = match (guardian, Unmet::of(wrong)) {
            (Some(guardian), None) => guardian,
            (_, why) => return unmet(why),
        };
        let dependent = new.dependent.as_ref().map(|details| reached_through(&guardian, details));
        let known = match &dependent {
            Some(details) => self.matching_patient(details, unit)?,
            None => Some(guardian.clone()),
        };
        let is_new = known.is_none();
        let patient_id = match &known {
            Some(known) => known.id,
            None => narrow(unit.allot(Resource::Patients)?)?,
        };
        let missing_fields = match &dependent {
            Some(details) if is_new => self.missing_fields(details),
            _ => Vec::new(),
        };
        let id = unit.allot(Resource::Appointments)?;
        let (provider, kind) = (ProviderId(new.provider_id), new.appointment_type_id.map(AppointmentTypeId));
        let operatory = match new.operatory_id {
            Some(id) => Some(OperatoryId(id)),
            None if self.setup.map_by_operatory => None,
            None => self.machine.operatory_for(provider, new.span, kind, new.join_blocks),
        };
        let placement = Placement { operatory, provider: Some(provider), span: new.span };
        let decision = self.machine.decide(
            cx,
            &Command::Book(Book {
                appointment: AppointmentId(id),
                placement,
                appointment_type: kind,
                expires: Timestamp::MAX,
                // Holds are numbered by slot tokens, and none of them is 0.
                hold: 0,
                join_blocks: new.join_blocks,
                closed: Closed::default(),
                key: None,
                patient: BookPatient { id: PatientId(patient_id), is_new, missing_fields },
            }),
        );
        let name_of = known.as_ref().unwrap_or(&guardian);
        let (first_name, last_name) = match &dependent {
            Some(details) => (details.first_name.clone(), details.last_name.clone()),
            None => (name_of.first_name.clone(), name_of.last_name.clone()),
        };
        let record = Appointment {
            booking: Some(Booking {
                booking_ref: self.deps.secrets.booking_ref(id),
                writeback: Writeback::Pending,
                failure_reason: None,
                patient_first_name: first_name,
                patient_last_name: last_name,
                patient_matched: Some(!is_new),
                created_by: new.created_by.clone(),
                is_guardian: new.is_guardian,
                is_new_clients_patient: new.is_new_clients_patient,
                referrer: new.referrer.clone(),
                descriptor_ids: new.descriptor_ids.clone(),
            }),
            note: new.note.clone(),
            appointment_type_id: new.appointment_type_id,
            ..self.fresh_appointment(cx, id, patient_id, placement)
        };
        if matches!(decision.reply, Reply::Booked { .. }) {
            if let Some(details) = dependent.as_ref().filter(|_| is_new) {
                let mut dependent = self.fresh_patient(cx, patient_id, details);
                dependent.guarantor_id = Some(guardian.id);
                dependent.provider_id = Some(new.provider_id);
                self.index_patient(None, &dependent, unit)?;
                unit.put(&dependent)?;
            }
            unit.put(&record)?;
        }
        let (decision, mut answer) = saved(decision, &record)?;
        answer.warnings.extend(self.double_booked(&record).filter(|_| answer.saved.is_some()));
        if !new.descriptor_ids.is_empty() && answer.saved.is_some() {
            answer.warnings.push(DESCRIPTORS_STAY.to_owned());
        }
        Ok((decision, answer))
    }

    /// The patient an appointment may be made for here, or why not.
    fn patient_to_book(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Result<Patient, Unmet>, TurnError> {
        let Some(patient) = unit.get::<Patient>(self.institution.id.0, u64::from(id))? else {
            return Ok(Err(Unmet::NotFound { resource: Resource::Patients, id: id.into() }));
        };
        let synced = patient.foreign_id.is_some();
        if patient.source_id != self.source() {
            return Ok(Err(Unmet::PatientOfOtherEhr { id, synced }));
        }
        if !synced && !patient.location_ids.contains(&self.setup.id.0) {
            return Ok(Err(Unmet::PatientOfOtherLocation { id }));
        }
        let unconverted = patient.foreign_id.as_ref().is_some_and(|foreign_id| foreign_id.ends_with(UNCONVERTED));
        Ok(if patient.new_patient && unconverted { Err(Unmet::PatientNotConverted) } else { Ok(patient) })
    }

    fn missing_for_appointment(
        &self,
        new: &NewAppointment,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<Unmet>, TurnError> {
        let kinds: Vec<u32> = new.appointment_type_id.into_iter().collect();
        let mut missing = self.unknown_in_schedule(new.provider_id, new.operatory_id, &kinds, unit)?;
        missing.extend(self.unknown_descriptors(&new.descriptor_ids, unit)?);
        Ok(missing)
    }

    pub(super) fn change_appointment(
        &self,
        cx: Cx,
        id: AppointmentId,
        change: &AppointmentChange,
        unit: &mut UnitOfWork<'_>,
    ) -> Prepared {
        let found = unit.get::<Appointment>(0, id.0)?.filter(|record| record.location_id == self.setup.id.0);
        let Some(before) = found else {
            return unmet(Unmet::NotFound { resource: Resource::Appointments, id: id.0 });
        };
        if let Some(operatory) = change.operatory_id
            && !self.known_operatory(operatory, unit)?
        {
            return unmet(Unmet::NotFound { resource: Resource::Operatories, id: operatory });
        }
        let to = change.place(before.placement);
        if to.span.end <= to.span.start {
            return unmet(Unmet::Wrong("appt.end_time must lie after start_time.".to_owned()));
        }
        let what = Change {
            confirmation: change.confirmed.is_some_and(|confirmed| confirmed != before.confirmed),
            check_in: change.checkin_at.is_some_and(|at| Some(at) != before.checkin_at),
            note: change.note.is_some() && change.note != before.note,
        };
        let to = (to != before.placement).then_some(to);
        let command = Command::Change { appointment: id, to, join_blocks: change.join_blocks, what };
        let decision = self.machine.decide(cx, &command);
        let mut after = before.clone();
        if decision.reply == Reply::Changed && what != Change::default() {
            if what.confirmation {
                after.confirmed = change.confirmed.unwrap_or(before.confirmed);
                after.confirmed_at = after.confirmed.then_some(cx.now);
            }
            if what.check_in {
                after.checkin_at = change.checkin_at;
            }
            if what.note {
                after.note.clone_from(&change.note);
            }
            after.updated_at = cx.now;
            if self.source().is_some() {
                unit.keep_merge_base(&before)?;
            }
            unit.put(&after)?;
        }
        // The event that says it moved changes the document's place.
        after.placement = to.unwrap_or(after.placement);
        saved(decision, &after)
    }
}

/// Where nothing else is said, a dependent is reached through their guardian.
fn reached_through(guardian: &Patient, dependent: &PatientDetails) -> PatientDetails {
    let phones = [&guardian.primary_phone, &guardian.cell_phone, &guardian.home_phone, &guardian.work_phone];
    let phone = phones.into_iter().flatten().next();
    PatientDetails {
        phone_number: dependent.phone_number.clone().or_else(|| phone.cloned()),
        email: dependent.email.clone().or_else(|| guardian.email.clone()),
        ..dependent.clone()
    }
}

impl AppointmentChange {
    fn place(&self, now: Placement) -> Placement {
        let start = self.start.unwrap_or(now.span.start);
        // Moved without a new end, it stays as long as it was.
        let end = self.end.unwrap_or(start.plus(now.span.length()));
        let operatory = self.operatory_id.map(OperatoryId).or(now.operatory);
        Placement { operatory, span: Span { start, end }, ..now }
    }
}
