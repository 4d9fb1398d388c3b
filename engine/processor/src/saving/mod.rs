//! What a saved record needs besides the rules: what it refers to, its document, the answer a repeated request gets.

mod appointment_types;
mod appointments;
mod entries;
mod file;
mod hours;
mod patients;

use location::{
    command::{Command, Cx, Save},
    decision::{Decision, Reply},
    ids::{Lane, PatientId},
    pull::{Resource, Verb},
};
use query::idempotency::{self, Lookup};
use records::{self, catalogue::AppointmentDescriptor, entry::Entry};
use serde::Serialize;

use crate::requests::{SaveRequest, Saving, Unmet};
use crate::{
    request::Answer,
    turn::{Processor, TurnError},
    unit_of_work::UnitOfWork,
};

pub type Prepared = Result<(Decision, Answer), TurnError>;

impl Processor {
    pub fn prepare_save(&self, cx: Cx, request: &SaveRequest, unit: &mut UnitOfWork<'_>) -> Prepared {
        if let Some(once) = &request.once {
            match idempotency::lookup(unit, once, cx.now)? {
                Lookup::Fresh => {}
                Lookup::Replay(saved) => return Ok((Decision::nothing(), Answer::replay(saved))),
                Lookup::Conflict => return unmet(Unmet::KeyReused),
            }
        }
        let (decision, answer) = match &request.what {
            Saving::Patient(new) => self.new_patient(cx, new, unit),
            Saving::PatientChange { id, change } => self.change_patient(cx, *id, change, unit),
            Saving::Appointment(new) => self.new_appointment(cx, new, unit),
            Saving::AppointmentChange { id, change } => self.change_appointment(cx, *id, change, unit),
            Saving::Hour(hour) => self.new_hour(cx, hour, unit),
            Saving::HourChange { id, change } => self.change_hour(cx, *id, change, unit),
            Saving::HourRemoval { id } => self.remove_hour(cx, *id, unit),
            Saving::AppointmentType(new) => self.new_type(cx, new, unit),
            Saving::AppointmentTypeChange { id, change } => self.change_type(cx, *id, change, unit),
            Saving::AppointmentTypeRemoval { id } => self.remove_type(cx, *id, unit),
            Saving::HistoryItem(new) => self.save_history_item(cx, new, unit),
            Saving::Entry(new) => self.new_entry(cx, new, unit),
            Saving::EntryChange { resource, id, body } => self.change_entry(cx, *resource, *id, body, unit),
            Saving::EntryRemoval { resource, id } => self.remove_entry(cx, *resource, *id, unit),
        }?;
        if let (Some(once), Some(saved), false) = (&request.once, &answer.saved, decision.events.is_empty()) {
            idempotency::remember(unit, once, saved.clone(), cx.now)?;
        }
        Ok((decision, answer))
    }

    /// The machine's word on a record.
    fn decide_save(&self, cx: Cx, resource: Resource, id: u64, verb: Verb, lane: Lane, here_only: bool) -> Decision {
        self.machine.decide(cx, &Command::Save(Save { resource, id, verb, lane, here_only }))
    }

    /// A patient this location may write of: in its EHR, where it has one.
    fn synced_patient(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Result<records::Patient, Unmet>, TurnError> {
        let found = unit.get::<records::Patient>(self.institution.id.0, u64::from(id))?;
        let Some(patient) = found.filter(|patient| patient.source_id == self.source()) else {
            return Ok(Err(Unmet::NotFound { resource: Resource::Patients, id: id.into() }));
        };
        let stays_here = self.source().is_none();
        Ok(if stays_here || patient.foreign_id.is_some() { Ok(patient) } else { Err(Unmet::PatientNotSynced) })
    }

    /// A provider of this location's data source; without one, of the institution.
    fn known_provider(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Option<records::Provider>, TurnError> {
        let found = unit.get::<records::Provider>(self.institution.id.0, u64::from(id))?;
        Ok(found.filter(|provider| self.source().is_none_or(|source| source == provider.source_id)))
    }

    fn known_type(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<bool, TurnError> {
        let found = unit.get::<records::AppointmentType>(self.institution.id.0, u64::from(id))?;
        let here = |kind: &records::AppointmentType| {
            kind.deleted_at.is_none()
                && kind.location_id.is_none_or(|location| location == self.setup.id.0)
                && kind.source_id.is_none_or(|source| Some(source) == self.source())
        };
        Ok(found.is_some_and(|kind| here(&kind)))
    }

    /// Those of these descriptors that the EHR does not have.
    fn unknown_descriptors(&self, ids: &[u32], unit: &mut UnitOfWork<'_>) -> Result<Vec<Unmet>, TurnError> {
        let mut unknown = Vec::new();
        for id in ids.iter().map(|id| u64::from(*id)) {
            let found = match self.source() {
                Some(source) => unit.get::<Entry<AppointmentDescriptor>>(source, id)?,
                None => None,
            };
            if found.is_none_or(|descriptor| descriptor.deleted_at.is_some()) {
                unknown.push(Unmet::NotFound { resource: Resource::AppointmentDescriptors, id });
            }
        }
        Ok(unknown)
    }

    /// Those of a provider, an operatory and appointment types that this location does not have.
    fn unknown_in_schedule(
        &self,
        provider: u32,
        operatory: Option<u64>,
        kinds: &[u32],
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<Unmet>, TurnError> {
        let mut unknown = Vec::new();
        if self.known_provider(provider, unit)?.is_none() {
            unknown.push(Unmet::NotFound { resource: Resource::Providers, id: provider.into() });
        }
        if let Some(id) = operatory
            && !self.known_operatory(id, unit)?
        {
            unknown.push(Unmet::NotFound { resource: Resource::Operatories, id });
        }
        for id in kinds {
            if !self.known_type(*id, unit)? {
                unknown.push(Unmet::NotFound { resource: Resource::AppointmentTypes, id: (*id).into() });
            }
        }
        Ok(unknown)
    }

    fn known_operatory(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, TurnError> {
        Ok(unit.get::<records::Operatory>(self.setup.id.0, id)?.is_some_and(|operatory| operatory.deleted_at.is_none()))
    }
}

fn lane_of(patient: Option<u32>, resource: Resource, id: u64) -> Lane {
    patient.map_or(Lane::Record { resource, id }, |patient| Lane::Patient(PatientId(patient)))
}

fn unmet(why: impl Into<Option<Unmet>>) -> Prepared {
    Ok((Decision::nothing(), Answer { unmet: why.into(), ..Answer::default() }))
}

/// The machine's decision with the record it is about; a refusal has none.
fn saved(decision: Decision, record: &impl Serialize) -> Prepared {
    let mut answer = Answer::from(decision.reply.clone());
    if !matches!(decision.reply, Reply::Refused(_)) {
        let record = serde_json::to_value(record).map_err(|_| TurnError::Damaged("a record that cannot be written"))?;
        answer.saved = Some(record);
    }
    Ok((decision, answer))
}

/// A write of it is on its way, and what the EHR has is to be kept until that is answered.
fn queued(decision: &Decision) -> bool {
    decision.reply == Reply::Saved { queued: true }
}

fn refused(decision: &Decision) -> bool {
    matches!(decision.reply, Reply::Refused(_))
}
