//! Appointments of the EHR that belong to a move by replacement: the new one, and those that moves left behind.

use location::{
    AppointmentId, AppointmentTypeId, PatientId, Resource, SECOND, Timestamp, WriteId, WriteIntent,
    command::{LateAppointment, PulledReplaced, Written},
    replacement::{ForgottenVisit, Replaced},
};
use records::{Appointment, EhrAppointment, EhrRecord, Record, document::Link, ehr};

use crate::{
    Reject,
    ingest::{IssuedKey, page_ingest::PageIngest, record::IngestError},
};

impl PageIngest<'_, '_, '_> {
    /// Finds the new appointments on the page that replacements in the queue created. The page may show the old ones
    /// before them, which must then be left out.
    pub(super) fn find_replacements(&mut self, page: &ehr::Page) -> Result<(), Reject> {
        let queue = &self.processor.machine.state.queue;
        if !queue.iter().any(|(_, write)| matches!(write.work, WriteIntent::Replace(_))) {
            return Ok(());
        }
        for record in &page.records {
            let EhrRecord::Appointment(shown) = record else { continue };
            let is_linked = self.unit.link(self.source, Resource::Appointments, &shown.id)?.is_some();
            if is_linked || page.deleted.contains(&shown.id) {
                continue;
            }
            let found = self.issued_key(shown)?.filter(|key| key.queued && matches!(key.work, WriteIntent::Replace(_)));
            if let Some(IssuedKey { appointment, write, .. }) = found {
                self.replacements.entry(appointment.0).or_insert_with(|| (write, shown.id.clone()));
            }
        }
        Ok(())
    }

    /// Returns the replacement that the appointment proves.
    pub(super) fn proven_replacement(&self, id: u64, foreign_id: &str) -> Option<WriteId> {
        self.replacements.get(&id).filter(|(_, new)| new == foreign_id).map(|(write, _)| *write)
    }

    /// Returns `true` if the page proves a replacement of the appointment. The visit then follows the new one.
    pub(super) fn is_old_of_replacement(&self, id: u64, foreign_id: &str) -> bool {
        self.replacements.get(&id).is_some_and(|(_, new)| new != foreign_id)
    }

    /// Links an appointment that a write of this location created, even if the reply was lost. Returns `false` if the
    /// appointment is not the current one of a visit, so that its data must not change the record.
    pub(super) fn link_appointment(&mut self, shown: &EhrAppointment) -> Result<bool, IngestError> {
        if let Some(link) = self.unit.link(self.source, Resource::Appointments, &shown.id)? {
            if link.is_replaced() {
                return self.replaced_shown(shown, link.id);
            }
            if !self.is_old_of_replacement(link.id, &shown.id) {
                return Ok(true);
            }
            self.others += 1;
            let (_, fresh) = self.stored_and_fresh::<Appointment>(link.id, &shown.id, shown)?;
            self.page.old.push((AppointmentId(link.id), (!shown.cancelled).then_some(fresh.placement)));
            return Ok(false);
        }
        let Some(key) = self.issued_key(shown)? else {
            self.page.unmatched += 1;
            return Ok(true);
        };
        let id = key.appointment.0;
        if self.proven_replacement(id, &shown.id).is_some() || !self.is_late(&key, shown)? {
            self.unit.put_link(self.source, Resource::Appointments, &shown.id, Link::new(id));
            return Ok(true);
        }
        self.unit.put_link(self.source, Resource::Appointments, &shown.id, Link::replaced(id));
        self.others += 1;
        if !shown.cancelled {
            let (before, fresh) = self.stored_and_fresh::<Appointment>(id, &shown.id, shown)?;
            let visit = before.and_then(|before| self.forgotten(&before));
            self.page.late.push(LateAppointment {
                appointment: key.appointment,
                placement: fresh.placement,
                visit,
                written: Written { foreign_id: shown.id.clone(), version: shown.version.clone() },
            });
        }
        Ok(false)
    }

    /// Returns `true` if the visit does not need an appointment that its write has created: the write was a replacement
    /// without success, or the visit is cancelled. An appointment that has begun counts as the EHR shows it, because
    /// clients cannot cancel it either.
    fn is_late(&mut self, key: &IssuedKey, shown: &EhrAppointment) -> Result<bool, Reject> {
        let is_replacement = matches!(key.work, WriteIntent::Replace(_));
        let known = self.processor.machine.state.appointments.get(&key.appointment);
        // A visit that is gone is known only until its other late appointments are cancelled.
        if known.is_some_and(|known| is_replacement || !known.gone) {
            return Ok(is_replacement);
        }
        let has_begun = Timestamp(shown.start.saturating_mul(SECOND)) <= self.cx.now;
        let visit = self.unit.get_ref::<Record<Appointment>>(0, key.appointment.0)?;
        let is_unneeded =
            |visit: &Record<Appointment>| visit.patient_id.is_some() && (is_replacement || visit.cancelled);
        Ok(!has_begun && visit.is_some_and(is_unneeded))
    }

    /// Returns the data by which the state knows a visit again that it no longer contains.
    fn forgotten(&self, visit: &Record<Appointment>) -> Option<ForgottenVisit> {
        Some(ForgottenVisit {
            patient: PatientId(visit.patient_id?),
            appointment_type: visit.appointment_type_id.map(AppointmentTypeId),
            placement: visit.placement,
            gone: visit.cancelled || visit.location() != self.processor.setup.id.0,
        })
    }

    fn issued_key(&mut self, shown: &EhrAppointment) -> Result<Option<IssuedKey>, Reject> {
        let Some(key) = &shown.write_key else { return Ok(None) };
        self.processor.written_by(key, self.unit)
    }

    /// Handles a replaced appointment. Returns `true` if staff have restored it after its cancellation: it is then a
    /// separate appointment.
    fn replaced_shown(&mut self, shown: &EhrAppointment, id: u64) -> Result<bool, IngestError> {
        let (before, fresh) = self.stored_and_fresh::<Appointment>(id, &shown.id, shown)?;
        let known = before.as_ref().and_then(|before| before.replaced.iter().find(|it| it.foreign_id == shown.id));
        let since_cancelled = |at| !self.was_requested_before(at);
        if !shown.cancelled && known.is_none_or(|known| known.cancelled_at.is_some_and(since_cancelled)) {
            let link = Link::new(self.unit.allot(Resource::Appointments)?);
            self.unit.put_link(self.source, Resource::Appointments, &shown.id, link);
            return Ok(true);
        }
        let Some(known) = known.filter(|known| known.cancelled_at.is_none()) else {
            self.others += 1;
            return Ok(false);
        };
        let replaced = WriteId(known.write);
        self.page.seen.push(Replaced::pass_id(replaced));
        let placement = (!shown.cancelled).then_some(fresh.placement);
        self.page.replaced.push(PulledReplaced { appointment: AppointmentId(id), replaced, placement });
        Ok(false)
    }

    /// Handles a replaced appointment that was removed from the EHR.
    pub(super) fn replaced_deleted(&mut self, id: u64, foreign_id: &str) -> Result<(), Reject> {
        if let Some(replaced) = self.replaced_left(id, foreign_id)? {
            let appointment = AppointmentId(id);
            self.page.replaced.push(PulledReplaced { appointment, replaced, placement: None });
        }
        Ok(())
    }

    /// Returns the number of a replaced appointment that the EHR still has, as far as known.
    pub(super) fn replaced_left(&mut self, id: u64, foreign_id: &str) -> Result<Option<WriteId>, Reject> {
        let before = self.unit.get_ref::<Record<Appointment>>(0, id)?;
        let known = before.and_then(|before| before.replaced.iter().find(|it| it.foreign_id == foreign_id));
        Ok(known.filter(|known| known.cancelled_at.is_none()).map(|known| WriteId(known.write)))
    }
}
