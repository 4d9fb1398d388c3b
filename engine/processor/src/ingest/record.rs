//! What each kind of record of the EHR becomes: a document of ours, and what the machine has to know of it.

use location::{
    command::{Placement, PulledAppointment, PulledOperatory, Written},
    hours::{HourSource, Recurrence},
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, ProviderId},
    pull::Resource,
    time::{SECOND, Span, Timestamp},
    zone::Date,
};
use records::{
    self, Timed, Times,
    document::{Document, Link},
    ehr::{self, EhrRecord},
    entry::{Body, Entry},
    schema::EhrVisitor,
};
use sha2::{Digest, Sha256};

use crate::{
    error::Reject,
    ingest::intake::Intake,
    patients::narrow,
    projections::working_hours,
    unit_of_work::{
        UnitOfWork,
        merge_base::{changes_content, copy_written, three_way_merge},
    },
};

impl Intake<'_, '_, '_> {
    /// `Err` says what is wrong with the record.
    pub(super) fn record(&mut self, record: &EhrRecord) -> Result<Result<(), String>, Reject> {
        match record {
            EhrRecord::Provider(provider) => self.provider(provider),
            EhrRecord::Operatory(operatory) => self.operatory(operatory),
            EhrRecord::AppointmentType(kind) => self.appointment_type(kind),
            EhrRecord::Patient(patient) => self.patient(patient),
            EhrRecord::WorkingHour(hour) => return self.working_hour(hour),
            EhrRecord::Appointment(appointment) => return self.appointment(appointment),
            framed => {
                let taken = framed.on(Taken { intake: self });
                return taken.unwrap_or(Err(Reject::Damaged("a resource that is not kept in a frame"))).map(Ok);
            }
        }
        .map(Ok)
    }

    /// The record's id, and whether the EHR says anything new of it.
    fn seen(
        &mut self,
        resource: Resource,
        foreign_id: &str,
        said: &impl serde::Serialize,
    ) -> Result<(u64, bool), Reject> {
        let link = self.unit.id_of(self.source, resource, foreign_id)?;
        self.page.seen.push(link.id);
        let digest = digest(said)?;
        if link.digest == digest {
            return Ok((link.id, false));
        }
        self.page.news = true;
        self.unit.put_link(self.source, resource, foreign_id, Link { id: link.id, digest });
        Ok((link.id, true))
    }

    /// Our id of a record this one refers to.
    fn refer(&mut self, resource: Resource, foreign_id: Option<&String>) -> Result<Option<u64>, Reject> {
        foreign_id.map(|id| self.unit.id_of(self.source, resource, id).map(|link| link.id)).transpose()
    }

    fn refer32(&mut self, resource: Resource, foreign_id: Option<&String>) -> Result<Option<u32>, Reject> {
        self.refer(resource, foreign_id)?.map(narrow).transpose()
    }

    /// Writes a document unless it says nothing new: then not even its times change.
    fn put<T: Document + Timed>(&mut self, before: Option<T>, mut fresh: T) -> Result<(), Reject> {
        if is_news(before, &mut fresh) { self.unit.put(&fresh) } else { Ok(()) }
    }

    fn provider(&mut self, said: &ehr::EhrProvider) -> Result<(), Reject> {
        let (id, news) = self.seen(Resource::Providers, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let institution_id = self.processor.institution.id.0;
        let fresh = records::Provider {
            id: narrow(id)?,
            institution_id,
            source_id: self.source,
            foreign_id: Some(said.id.clone()),
            first_name: said.first_name.clone(),
            middle_name: said.middle_name.clone(),
            last_name: said.last_name.clone(),
            display_name: said.display_name.clone(),
            email: said.email.clone(),
            npi: said.npi.clone(),
            tin: said.tin.clone(),
            state_license: said.state_license.clone(),
            specialty_code: said.specialty_code.clone(),
            inactive: said.inactive,
            created_at: self.cx.now,
            updated_at: self.cx.now,
            last_sync_time: Some(self.cx.now),
        };
        let before = self.unit.get(institution_id, id)?;
        self.put(before, fresh)
    }

    fn operatory(&mut self, said: &ehr::EhrOperatory) -> Result<(), Reject> {
        let (id, news) = self.seen(Resource::Operatories, &said.id, said)?;
        self.page.operatories.push(PulledOperatory { id: OperatoryId(id), active: said.active });
        if !news {
            return Ok(());
        }
        let location_id = self.processor.setup.id.0;
        let fresh = records::Operatory {
            id,
            location_id,
            foreign_id: Some(said.id.clone()),
            name: said.name.clone(),
            display_name: said.display_name.clone(),
            active: said.active,
            bookable_online: said.bookable_online,
            appointment_type_ids: self.types(&said.appointment_types)?,
            created_at: self.cx.now,
            updated_at: self.cx.now,
            last_sync_time: Some(self.cx.now),
            deleted_at: None,
        };
        let before = self.unit.get(location_id, id)?;
        self.put(before, fresh)
    }

    fn types(&mut self, said: &[String]) -> Result<Vec<u32>, Reject> {
        let mut ids = Vec::with_capacity(said.len());
        for foreign_id in said {
            ids.extend(self.refer32(Resource::AppointmentTypes, Some(foreign_id))?);
        }
        Ok(ids)
    }

    fn appointment_type(&mut self, said: &ehr::EhrAppointmentType) -> Result<(), Reject> {
        let (id, news) = self.seen(Resource::AppointmentTypes, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let institution_id = self.processor.institution.id.0;
        let before: Option<records::AppointmentType> = self.unit.get(institution_id, id)?;
        let fresh = records::AppointmentType {
            id: narrow(id)?,
            institution_id,
            source_id: Some(self.source),
            location_id: None,
            foreign_id: Some(said.id.clone()),
            name: said.name.clone(),
            minutes: said.minutes,
            bookable_online: said.bookable_online,
            descriptor_ids: before.as_ref().map_or_else(Vec::new, |before| before.descriptor_ids.clone()),
            created_at: self.cx.now,
            updated_at: self.cx.now,
            deleted_at: None,
        };
        self.put(before, fresh)
    }

    fn patient(&mut self, said: &ehr::EhrPatient) -> Result<(), Reject> {
        let (id, news) = self.seen(Resource::Patients, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let (institution_id, now) = (self.processor.institution.id.0, self.cx.now);
        let before: Option<records::Patient> = self.unit.get(institution_id, id)?;
        let mut location_ids = before.as_ref().map_or_else(Vec::new, |b| b.location_ids.clone());
        if location_ids.is_empty() {
            location_ids.push(self.processor.setup.id.0);
            location_ids.extend(self.processor.visited_elsewhere(id, self.unit)?);
        }
        let address = said.address.as_ref().map(|address| records::PatientAddress {
            line_1: address.line1.clone(),
            line_2: address.line2.clone(),
            city: address.city.clone(),
            region: address.region.clone(),
            postal_code: address.postal_code.clone(),
            country: address.country.clone(),
        });
        let mut fresh = records::Patient {
            id: narrow(id)?,
            institution_id,
            source_id: Some(self.source),
            foreign_id: Some(said.id.clone()),
            first_name: said.first_name.clone(),
            middle_name: said.middle_name.clone(),
            last_name: said.last_name.clone(),
            date_of_birth: said.date_of_birth.clone(),
            gender: said.gender.clone(),
            email: said.email.clone(),
            cell_phone: said.cell_phone.clone(),
            home_phone: said.home_phone.clone(),
            work_phone: said.work_phone.clone(),
            work_phone_extension: said.work_phone_extension.clone(),
            primary_phone: said.primary_phone.clone(),
            address,
            ssn: None,
            guarantor_id: self.refer32(Resource::Patients, said.guarantor.as_ref())?,
            provider_id: self.refer32(Resource::Providers, said.provider.as_ref())?,
            billing_type: said.billing_type.clone(),
            chart_id: said.chart_id.clone(),
            preferred_language: said.preferred_language.clone(),
            premedication: said.premedication.clone(),
            inactive: said.inactive,
            new_patient: said.new_patient,
            non_patient: said.non_patient,
            unsubscribed_sms: said.unsubscribed_sms,
            unsubscribed_email: said.unsubscribed_email,
            more: before.as_ref().map_or_else(Vec::new, |before| before.more.clone()),
            location_ids,
            created_at: now,
            updated_at: now,
            last_sync_time: Some(now),
            write_error: None,
            write: before.as_ref().and_then(|before| before.write.clone()),
        };
        if let (Some(had), Some(ours)) = (self.unit.merge_base::<records::Patient>(institution_id, id)?, &before) {
            self.unit.set_merge_base(&fresh)?;
            fresh = three_way_merge(&had, ours, &fresh)?;
            fresh.swap_times(Times { created: now, updated: now, synced: Some(now) });
        }
        self.processor.index_patient(before.as_ref(), &fresh, self.unit)?;
        self.put(before, fresh)
    }

    fn working_hour(&mut self, said: &ehr::EhrWorkingHour) -> Result<Result<(), String>, Reject> {
        self.page.unmatched += u32::from(self.unit.link(self.source, Resource::WorkingHours, &said.id)?.is_none());
        let (id, news) = self.seen(Resource::WorkingHours, &said.id, said)?;
        let times = (minutes(&said.begin_time), minutes(&said.end_time), recurrence(said));
        let (Some(begin), Some(end), Some(recurrence)) = times else {
            return Ok(Err("begin_time, end_time or the days of the working hour cannot be read".to_owned()));
        };
        let id = narrow(id)?;
        let provider = self.refer32(Resource::Providers, Some(&said.provider))?.unwrap_or_default();
        let operatory = self.refer(Resource::Operatories, said.operatory.as_ref())?;
        let location_id = self.processor.setup.id.0;
        let before: Option<records::WorkingHour> = self.unit.get(location_id, u64::from(id))?;
        // Hours set here stay so, whoever changes them: clients may go on changing them.
        let source = before.as_ref().map_or(HourSource::Synced, |before| before.source);
        let fresh = records::WorkingHour {
            id,
            location_id,
            foreign_id: Some(said.id.clone()),
            provider_id: provider,
            operatory_id: operatory,
            begin,
            end,
            recurrence,
            kind: said.kind,
            source,
            appointment_type_ids: self.types(&said.appointment_types)?,
            label: said.label.clone(),
            active: said.active,
            write: before.as_ref().and_then(|before| before.write.clone()),
            created_at: self.cx.now,
            updated_at: self.cx.now,
            deleted_at: None,
        };
        let hour = working_hours::rules(&fresh);
        if let Err(problems) = hour.validate() {
            return Ok(Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")));
        }
        self.page.hours.push(hour);
        // While a change of ours is on its way, the machine keeps what the EHR has beside it.
        let changing = self.processor.machine.state.queue.of_record(Resource::WorkingHours, id.into()).next().is_some();
        if !news {
            return Ok(Ok(()));
        }
        if changing {
            self.unit.change::<records::WorkingHour>(location_id, id.into(), |record| record.label = fresh.label)?;
            return Ok(Ok(()));
        }
        self.put(before, fresh)?;
        Ok(Ok(()))
    }

    fn appointment(&mut self, said: &ehr::EhrAppointment) -> Result<Result<(), String>, Reject> {
        let span = Span::new(Timestamp(said.start.saturating_mul(SECOND)), Timestamp(said.end.saturating_mul(SECOND)));
        let Some(span) = span else { return Ok(Err("end is not after start".to_owned())) };
        if self.unit.link(self.source, Resource::Appointments, &said.id)?.is_none() {
            // A record with our write key is the appointment that write was for, whatever became of the reply.
            let key = said.write_key.as_ref();
            match key.map(|key| self.processor.written_by(key, self.unit)).transpose()?.flatten() {
                Some(ours) => self.unit.put_link(self.source, Resource::Appointments, &said.id, Link::new(ours.0)),
                None => self.page.unmatched += 1,
            }
        }
        // What one location shows is news at another: staff moved it.
        let location_id = self.processor.setup.id.0;
        let link = self.unit.link(self.source, Resource::Appointments, &said.id)?;
        let (id, news) = self.seen(Resource::Appointments, &said.id, &(location_id, said))?;
        if !news {
            return Ok(Ok(()));
        }
        let before: Option<records::Appointment> = self.unit.get(0, id)?;
        let elsewhere = before.as_ref().filter(|before| before.location_id != location_id);
        self.page.outdated |= elsewhere.is_some_and(|there| self.asked_before(there.updated_at));
        let placement = Placement {
            operatory: self.refer(Resource::Operatories, said.operatory.as_ref())?.map(OperatoryId),
            provider: self.refer32(Resource::Providers, said.provider.as_ref())?.map(ProviderId),
            span,
        };
        let patient = self.refer32(Resource::Patients, said.patient.as_ref())?;
        if let Some(patient) = patient {
            self.processor.seen_here(self.cx, patient, self.unit)?;
        }
        let kind = self.refer32(Resource::AppointmentTypes, said.appointment_type.as_ref())?;
        let past = span.end < self.cx.now.minus(self.processor.settings().pull.keep_past);
        let remembered = self.processor.machine.state.appointments.contains_key(&AppointmentId(id));
        if !past || remembered {
            self.page.appointments.push(PulledAppointment {
                id: AppointmentId(id),
                patient: patient.map(PatientId),
                appointment_type: kind.map(AppointmentTypeId),
                placement,
                unavailable: said.unavailable,
                cancelled: said.cancelled,
                written: Written { foreign_id: said.id.clone(), version: said.version.clone() },
            });
        }
        if let (true, true, Some(link)) = (elsewhere.is_some() && remembered, said.cancelled, link) {
            // It stood here and left: at the other location it is as it was shown there.
            self.unit.put_link(self.source, Resource::Appointments, &said.id, link);
            return Ok(Ok(()));
        }
        if elsewhere.is_some() {
            // What the other location wanted of it is that location's to end.
            self.unit.forget_merge_base::<records::Appointment>(0, id);
        }
        let time = |at: Option<i64>| at.map(|seconds| Timestamp(seconds.saturating_mul(SECOND)));
        let kept = |since: Option<Timestamp>, holds: bool| holds.then(|| since.unwrap_or(self.cx.now));
        let old = before.as_ref();
        let fresh = records::Appointment {
            id,
            institution_id: self.processor.institution.id.0,
            location_id,
            foreign_id: Some(said.id.clone()),
            version: said.version.clone(),
            patient_id: patient,
            appointment_type_id: kind.or(old.and_then(|b| b.appointment_type_id)),
            placement,
            note: said.note.clone(),
            unavailable: said.unavailable,
            cancelled: said.cancelled,
            cancelled_at: kept(old.and_then(|b| b.cancelled_at), said.cancelled),
            cancel_reason: old.and_then(|b| b.cancel_reason.clone()).filter(|_| said.cancelled),
            confirmed: said.confirmed,
            confirmed_at: kept(old.and_then(|b| b.confirmed_at), said.confirmed),
            patient_confirmed: said.patient_confirmed,
            patient_confirmed_at: kept(old.and_then(|b| b.patient_confirmed_at), said.patient_confirmed),
            patient_missed: said.patient_missed,
            checkin_at: time(said.checkin_at),
            checked_out_at: time(said.checked_out_at),
            created_at: self.cx.now,
            updated_at: self.cx.now,
            last_sync_time: Some(self.cx.now),
            booking: old.and_then(|b| b.booking.clone()),
        };
        let fresh = self.changed_here(fresh, old.filter(|_| elsewhere.is_none()))?;
        self.appointments.push((fresh, before));
        Ok(Ok(()))
    }

    /// The page may be older than what happened at this time: it was asked for before.
    fn asked_before(&self, at: Timestamp) -> bool {
        self.processor.machine.state.pulls.calling.as_ref().is_some_and(|call| call.asked_at <= at)
    }

    /// What of an appointment was changed here and is on its way stays ours; what the EHR says of it is kept beside.
    fn changed_here(
        &mut self,
        mut fresh: records::Appointment,
        ours: Option<&records::Appointment>,
    ) -> Result<records::Appointment, Reject> {
        let writes = self.processor.machine.state.queue.of(AppointmentId(fresh.id)).map(|(_, write)| write.work);
        let changes: Vec<_> = writes.filter(|work| changes_content(*work)).collect();
        if let (false, Some(ours)) = (changes.is_empty(), ours) {
            self.unit.set_merge_base(&fresh)?;
            changes.into_iter().for_each(|work| copy_written(work, ours, &mut fresh));
        }
        Ok(fresh)
    }
}

/// Takes in what the EHR says of a record in a frame.
struct Taken<'i, 's, 'd, 'p> {
    intake: &'i mut Intake<'s, 'd, 'p>,
}

impl EhrVisitor for Taken<'_, '_, '_, '_> {
    type Output = Result<(), Reject>;

    fn visit<T: Body>(self, foreign_id: &str, shown: &T::Ehr) -> Self::Output {
        let intake = self.intake;
        let (id, news) = intake.seen(T::RESOURCE, foreign_id, shown)?;
        if !news {
            return Ok(());
        }
        let (source, now) = (intake.source, intake.cx.now);
        let before = intake.unit.get::<Entry<T>>(source, id)?;
        let mut refer = |resource, foreign: &str| Ok(intake.unit.id_of(source, resource, foreign)?.id);
        let body = T::resolve::<Reject>(shown, before.as_ref().map(|before| &before.body), &mut refer)?;
        let mut fresh = Entry {
            id,
            institution_id: intake.processor.institution.id.0,
            source_id: source,
            location_id: before.as_ref().and_then(|before| before.location_id),
            foreign_id: Some(foreign_id.to_owned()),
            created_at: now,
            updated_at: now,
            last_sync_time: Some(now),
            deleted_at: None,
            write: before.as_ref().and_then(|before| before.write.clone()),
            body,
        };
        if let (Some(had), Some(ours)) = (intake.unit.merge_base::<Entry<T>>(source, id)?, &before) {
            intake.unit.set_merge_base(&fresh)?;
            fresh.body = three_way_merge(&had.body, &ours.body, &fresh.body)?;
            fresh.deleted_at = ours.deleted_at;
        }
        intake.put(before, fresh)
    }
}

/// Writes a pulled appointment unless it says nothing new.
pub(super) fn put_appointment(
    mut fresh: records::Appointment,
    before: Option<records::Appointment>,
    unit: &mut UnitOfWork<'_>,
) -> Result<(), Reject> {
    if !is_news(before, &mut fresh) {
        return Ok(());
    }
    if let Some(booking) = &mut fresh.booking {
        booking.writeback = records::Writeback::Confirmed;
        booking.failure_reason = None;
    }
    unit.put(&fresh)
}

/// Whether the EHR's record says more than the document before. The times of what is no news, and the first time of all, stay.
fn is_news<T: Timed>(before: Option<T>, fresh: &mut T) -> bool {
    let Some(before) = before else { return true };
    let now = fresh.swap_times(before.times());
    if *fresh == before {
        return false;
    }
    let created = before.times().created;
    fresh.swap_times(Times { created, ..now });
    true
}

fn digest(said: &impl serde::Serialize) -> Result<[u8; 16], Reject> {
    let bytes = serde_json::to_vec(said).map_err(|_| Reject::Damaged("a record that cannot be written"))?;
    let full: [u8; 32] = Sha256::digest(&bytes).into();
    let mut short = [0; 16];
    short.copy_from_slice(&full[..16]);
    // All zero means that nothing was pulled yet.
    short[0] |= 1;
    Ok(short)
}

/// `HH:MM` as minutes after midnight, `24:00` included.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && total <= 1_440).then_some(total)
}

fn recurrence(said: &ehr::EhrWorkingHour) -> Option<Recurrence> {
    match (&said.specific_date, &said.recurrence) {
        (Some(date), None) => Some(Recurrence::On(date.parse::<Date>().ok()?)),
        (None, Some(every)) => Some(Recurrence::Every {
            number: every.number,
            unit: every.unit,
            reference: every.reference.parse::<Date>().ok()?,
        }),
        (None, None) => Some(Recurrence::Weekly(said.days.clone())),
        (Some(_), Some(_)) => None,
    }
}
