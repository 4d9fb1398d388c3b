//! Converts the EHR's records to stored records, and collects the facts about them for the machine.

use location::{
    AppointmentId, AppointmentTypeId, OperatoryId, PatientId, Resource, Timestamp,
    command::{PulledAppointment, PulledOperatory, Written},
};
use records::{
    Appointment, Body, EhrAppointment, EhrOperatory, EhrPatient, EhrRecord, EhrWorkingHour, Operatory, Patient, Record,
    Scope, WorkingHour, WriteStatus, Writeback,
    document::{Document, Link},
    references::Invalid,
    schema::{EhrVisitor, rules},
};
use sha2::{Digest, Sha256};

use crate::{
    Reject, UnitOfWork,
    ingest::page_ingest::PageIngest,
    patients::narrow,
    projections::{cancellation::cancellation_failed, working_hours},
    unit_of_work::merge_base::{changes_content, copy_written, three_way_merge},
};

/// The reason why a record of a page cannot be ingested.
pub(super) enum IngestError {
    /// An invalid record. The page is requested again.
    Invalid(String),
    Rejected(Reject),
}

impl From<Reject> for IngestError {
    fn from(reject: Reject) -> IngestError {
        IngestError::Rejected(reject)
    }
}

impl From<Invalid> for IngestError {
    fn from(Invalid(reason): Invalid) -> IngestError {
        IngestError::Invalid(reason.to_owned())
    }
}

impl PageIngest<'_, '_, '_> {
    pub(super) fn record(&mut self, record: &EhrRecord) -> Result<(), IngestError> {
        match record {
            EhrRecord::Operatory(shown) => self.operatory(shown),
            EhrRecord::Patient(shown) => self.patient(shown),
            EhrRecord::WorkingHour(shown) => self.working_hour(shown),
            EhrRecord::Appointment(shown) => self.appointment(shown),
            any => any.on(IngestVisitor { page_ingest: self }),
        }
    }

    /// Returns the id of the record, and whether the EHR shows a change.
    fn seen(
        &mut self,
        resource: Resource,
        foreign_id: &str,
        shown: &impl serde::Serialize,
    ) -> Result<(u64, bool), Reject> {
        let link = self.unit.id_of(self.source, resource, foreign_id)?;
        self.page.seen.push(link.id);
        let digest = digest(shown)?;
        if link.digest == digest {
            return Ok((link.id, false));
        }
        self.page.news = true;
        self.unit.put_link(self.source, resource, foreign_id, Link { id: link.id, digest });
        Ok((link.id, true))
    }

    /// Returns the stored record, and the record as the EHR shows it now.
    pub(super) fn stored_and_fresh<T: Body>(
        &mut self,
        id: u64,
        foreign_id: &str,
        shown: &T::Ehr,
    ) -> Result<(Option<Record<T>>, Record<T>), IngestError> {
        let (institution, location) = (self.processor.institution.id.0, self.processor.setup.id.0);
        let before: Option<Record<T>> = self.unit.get(T::SCOPE.number(institution, Some(self.source), location), id)?;
        let fresh = self.fresh(id, foreign_id, shown, before.as_ref())?;
        Ok((before, fresh))
    }

    /// Returns the record as the EHR shows it now. `before` is the stored record.
    fn fresh<T: Body>(
        &mut self,
        id: u64,
        foreign_id: &str,
        shown: &T::Ehr,
        before: Option<&Record<T>>,
    ) -> Result<Record<T>, IngestError> {
        let (institution, location) = (self.processor.institution.id.0, self.processor.setup.id.0);
        let mut resolve_id = |to, foreign: &str| Ok(self.unit.id_of(self.source, to, foreign)?.id);
        let body = T::resolve::<IngestError>(shown, before.map(|before| &before.body), &mut resolve_id)?;
        let here = matches!(T::SCOPE, Scope::Location | Scope::Everywhere).then_some(location);
        Ok(Record {
            source_id: Some(self.source),
            location_id: here.or(before.and_then(|before| before.location_id)),
            foreign_id: Some(foreign_id.to_owned()),
            last_sync_time: Some(self.cx.now),
            write: before.and_then(|before| before.write.clone()),
            ..Record::new(narrow(id)?, institution, self.cx.now, body)
        })
    }

    /// Keeps pending local changes, and stores the EHR's version as their merge base.
    fn merged<T: Body>(&mut self, before: Option<&Record<T>>, mut fresh: Record<T>) -> Result<Record<T>, Reject> {
        let Some(local) = before.filter(|_| !rules(T::RESOURCE).writes.is_empty()) else { return Ok(fresh) };
        if let Some(had) = self.unit.merge_base::<Record<T>>(fresh.scope(), fresh.id.into())? {
            self.unit.set_merge_base(&fresh)?;
            fresh.body = three_way_merge(&had.body, &local.body, &fresh.body)?;
            if local.deleted_at != had.deleted_at {
                fresh.deleted_at = local.deleted_at;
            }
        }
        Ok(fresh)
    }

    /// Writes a record if its content changed. Otherwise its times stay unchanged, too.
    fn put<T: Body>(&mut self, before: Option<&Record<T>>, mut fresh: Record<T>) -> Result<(), Reject> {
        if !fresh.content_changed(before) {
            return Ok(());
        }
        self.page.outdated |= before.is_some_and(|before| self.has_newer_write(before));
        self.unit.put(&fresh)
    }

    /// Returns `true` if the EHR has accepted a write of the record, from any location, since the page was requested.
    /// Times after now are from a clock that was ahead; they would outdate every page.
    fn has_newer_write<T: Body>(&self, record: &Record<T>) -> bool {
        let is_written = record.write.as_ref().is_some_and(|write| write.status == WriteStatus::Succeeded);
        let at = record.last_sync_time.filter(|at| *at <= self.cx.now);
        is_written && at.is_some_and(|at| self.was_requested_before(at))
    }

    fn operatory(&mut self, shown: &EhrOperatory) -> Result<(), IngestError> {
        IngestVisitor { page_ingest: &mut *self }.visit::<Operatory>(&shown.id, shown)?;
        let id = self.unit.id_of(self.source, Resource::Operatories, &shown.id)?.id;
        self.page.operatories.push(PulledOperatory { id: OperatoryId(id), active: shown.active });
        Ok(())
    }

    fn patient(&mut self, shown: &EhrPatient) -> Result<(), IngestError> {
        let (id, news) = self.seen(Resource::Patients, &shown.id, shown)?;
        if !news {
            return Ok(());
        }
        let (before, mut fresh) = self.stored_and_fresh::<Patient>(id, &shown.id, shown)?;
        if fresh.location_ids.is_empty() {
            fresh.location_ids.push(self.processor.setup.id.0);
            fresh.location_ids.extend(self.processor.visited_elsewhere(id, self.unit)?);
        }
        let fresh = self.merged(before.as_ref(), fresh)?;
        self.processor.index_patient(before.as_ref(), &fresh, self.unit)?;
        Ok(self.put(before.as_ref(), fresh)?)
    }

    fn working_hour(&mut self, shown: &EhrWorkingHour) -> Result<(), IngestError> {
        self.page.unmatched += u32::from(self.unit.link(self.source, Resource::WorkingHours, &shown.id)?.is_none());
        let (id, news) = self.seen(Resource::WorkingHours, &shown.id, shown)?;
        // Of unchanged hours, the document is read only if the machine does not know their source.
        let source = if news { None } else { self.processor.source_of_hours(id) };
        let (before, fresh) = match source {
            Some(source) => {
                let mut fresh = self.fresh::<WorkingHour>(id, &shown.id, shown, None)?;
                fresh.body.source = source;
                (None, fresh)
            }
            None => self.stored_and_fresh::<WorkingHour>(id, &shown.id, shown)?,
        };
        let hour = working_hours::rules(&fresh);
        if let Err(problems) = hour.validate() {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(IngestError::Invalid(problems.join("; ")));
        }
        self.page.hours.push(hour);
        if !news {
            return Ok(());
        }
        // While a local change is pending, the machine keeps the EHR's version next to its own.
        let changing = self.processor.machine.state.queue.for_record(Resource::WorkingHours, id).next().is_some();
        if changing {
            let label = fresh.body.label;
            self.unit.change::<Record<WorkingHour>>(self.processor.setup.id.0, id, |record| record.label = label)?;
            return Ok(());
        }
        Ok(self.put(before.as_ref(), fresh)?)
    }

    fn appointment(&mut self, shown: &EhrAppointment) -> Result<(), IngestError> {
        if !self.link_appointment(shown)? {
            return Ok(());
        }
        // The digest covers the location: an appointment that staff moved is a change at its new location.
        let location = self.processor.setup.id.0;
        let link = self.unit.link(self.source, Resource::Appointments, &shown.id)?;
        let (id, news) = self.seen(Resource::Appointments, &shown.id, &(location, shown))?;
        if !news {
            return Ok(());
        }
        let (before, mut fresh) = self.stored_and_fresh::<Appointment>(id, &shown.id, shown)?;
        let elsewhere = before.as_ref().filter(|before| before.location() != location);
        self.page.outdated |= elsewhere.is_some_and(|there| self.was_requested_before(there.updated_at));
        if let Some(patient) = fresh.patient_id {
            self.processor.seen_here(self.cx, patient, self.unit)?;
        }
        let past = fresh.placement.span.end < self.cx.now.minus(self.processor.settings().pull.keep_past);
        let remembered = self.processor.machine.state.appointments.contains_key(&AppointmentId(id));
        if !past || remembered {
            let kind = shown.appointment_type.as_ref().and(fresh.appointment_type_id);
            let replacement = self.proven_replacement(id, &shown.id);
            self.page.appointments.push(PulledAppointment {
                id: AppointmentId(id),
                patient: fresh.patient_id.map(PatientId),
                appointment_type: kind.map(AppointmentTypeId),
                placement: fresh.placement,
                unavailable: shown.unavailable,
                cancelled: shown.cancelled,
                written: Written { foreign_id: shown.id.clone(), version: shown.version.clone() },
                replacement,
            });
        }
        if let (true, true, Some(link)) = (elsewhere.is_some() && remembered, shown.cancelled, link) {
            // The appointment moved away from here. Its link keeps the digest from the other location.
            self.unit.put_link(self.source, Resource::Appointments, &shown.id, link);
            return Ok(());
        }
        if elsewhere.is_some() {
            // Pending changes of the other location end there.
            self.unit.forget_merge_base::<Record<Appointment>>(0, id);
        }
        if !shown.cancelled && link.is_some_and(Link::is_gone_unanswered) {
            self.unit.ended.push(cancellation_failed(&mut fresh));
        }
        fresh.set_flag_times(self.cx.now);
        let local = before.as_ref().filter(|_| elsewhere.is_none());
        let fresh = self.changed_here(fresh, local)?;
        self.page.outdated |= local.is_some_and(|local| self.lacks_written_details(local, &fresh, link));
        self.appointments.push((fresh, before));
        Ok(())
    }

    /// Returns `true` if the page was requested by this time, and may thus be older.
    pub(super) fn was_requested_before(&self, at: Timestamp) -> bool {
        self.processor.machine.state.pulls.calling.as_ref().is_some_and(|call| call.asked_at <= at)
    }

    /// Returns `true` if an appointment is shown without a confirmation, check-in or note, and our writes reached it
    /// since the page was requested. The machine compares places, but does not know these details. `link` is from
    /// before the page.
    fn lacks_written_details(
        &self,
        local: &Record<Appointment>,
        shown: &Record<Appointment>,
        link: Option<Link>,
    ) -> bool {
        let calling = self.processor.machine.state.pulls.calling.as_ref();
        let is_written = calling.is_some_and(|call| call.written_during_pull.contains(&local.id));
        let lacks_flag =
            (local.confirmed && !shown.confirmed) || (local.checkin_at.is_some() && shown.checkin_at.is_none());
        // The insert itself may have been the write, and the EHR may have another form of its note.
        let has_other_note = link.is_some_and(Link::pulled) && local.note != shown.note;
        is_written && (lacks_flag || has_other_note)
    }

    /// Keeps pending local changes of an appointment, and stores the EHR's version as their merge base.
    fn changed_here(
        &mut self,
        mut fresh: Record<Appointment>,
        local: Option<&Record<Appointment>>,
    ) -> Result<Record<Appointment>, Reject> {
        let writes =
            self.processor.machine.state.queue.for_appointment(AppointmentId(fresh.id)).map(|(_, write)| write.work);
        let changes: Vec<_> = writes.filter(|work| changes_content(*work)).collect();
        if let (false, Some(local)) = (changes.is_empty(), local) {
            self.unit.set_merge_base(&fresh)?;
            changes.into_iter().for_each(|work| copy_written(work, local, &mut fresh));
        }
        Ok(fresh)
    }
}

/// Visitor that ingests a record the machine does not need.
struct IngestVisitor<'i, 's, 'd, 'p> {
    page_ingest: &'i mut PageIngest<'s, 'd, 'p>,
}

impl EhrVisitor for IngestVisitor<'_, '_, '_, '_> {
    type Output = Result<(), IngestError>;

    fn visit<T: Body>(self, foreign_id: &str, shown: &T::Ehr) -> Self::Output {
        let page_ingest = self.page_ingest;
        let (id, news) = page_ingest.seen(T::RESOURCE, foreign_id, shown)?;
        if !news {
            return Ok(());
        }
        let (before, fresh) = page_ingest.stored_and_fresh::<T>(id, foreign_id, shown)?;
        let fresh = page_ingest.merged(before.as_ref(), fresh)?;
        Ok(page_ingest.put(before.as_ref(), fresh)?)
    }
}

/// Writes a pulled appointment if its content changed.
pub(super) fn put_appointment(
    mut fresh: Record<Appointment>,
    before: Option<&Record<Appointment>>,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    if !fresh.content_changed(before) {
        return Ok(());
    }
    if let Some(booking) = &mut fresh.booking {
        booking.writeback = Writeback::Confirmed;
        booking.failure_reason = None;
    }
    unit.put(&fresh)
}

fn digest(shown: &impl serde::Serialize) -> Result<[u8; 16], Reject> {
    let bytes = serde_json::to_vec(shown).map_err(|_| Reject::Damaged("a record that cannot be written"))?;
    let mut short: [u8; 16] = *Sha256::digest(&bytes).first_chunk().expect("a digest is longer");
    // An all-zero digest means that nothing was pulled yet.
    short[0] |= 1;
    Ok(short)
}
