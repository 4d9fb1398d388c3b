//! Checks whether this location can use the references of a request.

use records::{self, AppointmentDescriptor};

use super::prelude::*;

/// Collects a missing reference, so that the others are checked, too.
pub(super) fn set_aside<T>(found: Result<T, Reject>, unmet: &mut Vec<PreconditionError>) -> Result<Option<T>, Reject> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Reject::Precondition(why)) => {
            unmet.push(why);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// Rejects the request if a precondition is not met.
pub(super) fn all_met(unmet: Vec<PreconditionError>) -> Result<(), Reject> {
    PreconditionError::from_all(unmet).map_or(Ok(()), |why| Err(why.into()))
}

/// Returns the problem of a patient whom the EHR refused: waiting does not help. `subject` begins the sentence.
pub(super) fn refusal_of(patient: &Record<records::Patient>, subject: &str) -> Option<PreconditionError> {
    let reason = patient.write.as_ref().and_then(|write| write.reason.as_deref());
    let reason = reason.unwrap_or("it gave no reason").trim_end_matches('.');
    patient.rejected().then(|| {
        PreconditionError::InvalidValue(format!(
            "{subject} that the health record system refused ({reason}). Correct the data, create the patient again \
             with POST /patients, and send the new id."
        ))
    })
}

impl Processor {
    /// Returns a patient to whom records of this location may refer. With an EHR, the patient must exist there.
    pub fn synced_patient(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<Record<records::Patient>, Reject> {
        let found = unit.get::<Record<records::Patient>>(self.institution.id.0, u64::from(id))?;
        let found = found.filter(|patient| patient.source_id == self.source());
        let patient = found.ok_or(PreconditionError::NotFound { resource: Resource::Patients, id: id.into() })?;
        let stays_here = self.source().is_none();
        if stays_here || patient.foreign_id.is_some() {
            Ok(patient)
        } else if let Some(refusal) = refusal_of(&patient, &format!("Patient with id {id} is one")) {
            Err(refusal.into())
        } else {
            Err(PreconditionError::PatientNotSynced.into())
        }
    }

    /// Returns a provider of the location's data source, or of the institution if the location has none.
    pub fn known_provider(
        &self,
        id: u32,
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Option<Record<records::Provider>>, Reject> {
        let found = unit.get::<Record<records::Provider>>(self.institution.id.0, u64::from(id))?;
        Ok(found.filter(|provider| self.source().is_none_or(|source| provider.source_id == Some(source))))
    }

    fn known_type(&self, id: u32, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        let found = unit.get::<Record<records::AppointmentType>>(self.institution.id.0, u64::from(id))?;
        let here = |kind: &Record<records::AppointmentType>| {
            kind.deleted_at.is_none()
                && kind.location_id.is_none_or(|location| location == self.setup.id.0)
                && kind.source_id.is_none_or(|source| Some(source) == self.source())
        };
        Ok(found.is_some_and(|kind| here(&kind)))
    }

    /// Returns the descriptors that the EHR does not have.
    pub fn unknown_descriptors(
        &self,
        ids: &[u32],
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<PreconditionError>, Reject> {
        let mut unknown = Vec::new();
        for id in ids.iter().map(|id| u64::from(*id)) {
            let found = match self.source() {
                Some(source) => unit.get::<Record<AppointmentDescriptor>>(source, id)?,
                None => None,
            };
            if found.is_none_or(|descriptor| descriptor.deleted_at.is_some()) {
                unknown.push(PreconditionError::NotFound { resource: Resource::AppointmentDescriptors, id });
            }
        }
        Ok(unknown)
    }

    /// Returns the references to a provider, an operatory and appointment types that this location does not have.
    pub fn unknown_in_schedule(
        &self,
        provider: u32,
        operatory: Option<u64>,
        kinds: &[u32],
        unit: &mut UnitOfWork<'_>,
    ) -> Result<Vec<PreconditionError>, Reject> {
        let mut unknown = Vec::new();
        let (resource, id) = (Resource::Providers, provider.into());
        match self.known_provider(provider, unit)? {
            None => unknown.push(PreconditionError::NotFound { resource, id }),
            // A provider created here and removed since.
            Some(known) if known.source_id.is_none() && known.inactive => {
                unknown.push(PreconditionError::NotUsable { resource, id })
            }
            Some(_) => {}
        }
        if let Some(id) = operatory
            && !self.known_operatory(id, unit)?
        {
            unknown.push(PreconditionError::NotFound { resource: Resource::Operatories, id });
        }
        unknown.extend(self.unknown_types(kinds, unit)?);
        Ok(unknown)
    }

    /// Returns the appointment types that this location does not have.
    pub fn unknown_types(&self, ids: &[u32], unit: &mut UnitOfWork<'_>) -> Result<Vec<PreconditionError>, Reject> {
        let mut unknown = Vec::new();
        for id in ids {
            if !self.known_type(*id, unit)? {
                unknown.push(PreconditionError::NotFound { resource: Resource::AppointmentTypes, id: (*id).into() });
            }
        }
        Ok(unknown)
    }

    pub fn known_operatory(&self, id: u64, unit: &mut UnitOfWork<'_>) -> Result<bool, Reject> {
        Ok(unit
            .get::<Record<records::Operatory>>(self.setup.id.0, id)?
            .is_some_and(|operatory| operatory.deleted_at.is_none()))
    }
}
