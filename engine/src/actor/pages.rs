//! A page of the EHR's records turned into ours: foreign ids into ids, records into documents, and what the machine has to know of them.

use std::collections::BTreeSet;

use location::{
    command::{Command, Cx, Failure, Outcome, Page, Placement, PulledAppointment, PulledOperatory, Written},
    decision::{Decision, Reply},
    hours::{HourSource, Recurrence},
    ids::{AppointmentId, AppointmentTypeId, OperatoryId, PatientId, ProviderId, WorkingHourId, WriteId},
    pull::Resource,
    time::{SECOND, Span, Timestamp},
    zone::Date,
};
use sha2::{Digest, Sha256};

use super::{
    book::narrow,
    docs::{Docs, Document, Kind, Link},
    pool::Sequence,
    request::Answer,
    turn::{Shell, TurnError},
};
use crate::{
    ehr::{self, EhrRecord},
    records,
    store::{Direction, keys},
};

/// Links read at a time when a whole pass looks for what is gone.
const LINKS_AT_ONCE: usize = 5_000;

/// One location's view while a page is taken in.
struct Intake<'s, 'd, 'p> {
    shell: &'s Shell,
    source: u32,
    cx: Cx,
    docs: &'d mut Docs<'p>,
    page: Page,
    /// Appointments to be written once the machine has said which placements stay ours.
    appointments: Vec<(records::Appointment, Option<records::Appointment>)>,
}

impl Shell {
    pub fn prepare_page(
        &self,
        cx: Cx,
        resource: Resource,
        call: u64,
        outcome: &Outcome<Box<ehr::Page>>,
        docs: &mut Docs<'_>,
    ) -> Result<(Decision, Answer), TurnError> {
        let source = self.source().ok_or(TurnError::Damaged("a page for a location without EHR"))?;
        let mut appointments = Vec::new();
        let outcome = match outcome {
            Err(failure) => Err(failure.clone()),
            Ok(page) => {
                let mut intake = Intake {
                    shell: self,
                    source,
                    cx,
                    docs: &mut *docs,
                    page: Page::default(),
                    appointments: Vec::new(),
                };
                match intake.take(resource, page)? {
                    Ok(()) => {
                        appointments = intake.appointments;
                        Ok(intake.page)
                    }
                    Err(reason) => Err(Failure::RetryLater { reason, after: None }),
                }
            }
        };
        let decision = self.machine.decide(cx, &Command::Pulled { resource, call, outcome });
        match &decision.reply {
            Reply::PageApplied { keep } => {
                for (mut record, before) in appointments {
                    if let Some(before) = before.as_ref().filter(|_| keep.contains(&AppointmentId(record.id))) {
                        record.placement = before.placement;
                        record.cancelled = before.cancelled;
                        record.cancelled_at = before.cancelled_at;
                    }
                    put_appointment(cx, self.setup.id.0, record, before, docs)?;
                }
            }
            // Nothing of a page that came too late, or that the guard stopped, may be stored.
            _ => docs.discard(),
        }
        let answer = Answer::from(decision.reply.clone());
        Ok((decision, answer))
    }

    /// The appointment a write key of ours was made for.
    fn written_by(&self, key: &str, docs: &mut Docs<'_>) -> Result<Option<AppointmentId>, TurnError> {
        let mut parts = key.strip_prefix("ps-").unwrap_or_default().split('-');
        let (location, write) = (parts.next(), parts.next());
        let (Some(Ok(location)), Some(Ok(write))) = (location.map(str::parse::<u32>), write.map(str::parse::<u64>))
        else {
            return Ok(None);
        };
        if location != self.setup.id.0 {
            return Ok(None);
        }
        if let Some(queued) = self.machine.state.queue.get(WriteId(write)) {
            return Ok(queued.work.appointment().filter(|_| queued.key == key));
        }
        let finished = docs.get::<records::Write>(location, write)?;
        Ok(finished.filter(|write| write.key == key).and_then(|write| write.work.appointment()))
    }
}

impl Intake<'_, '_, '_> {
    /// `Err` says what is wrong with the page.
    fn take(&mut self, resource: Resource, page: &ehr::Page) -> Result<Result<(), String>, TurnError> {
        for (position, record) in page.records.iter().enumerate() {
            if resource_of(record) != resource {
                return Ok(Err(format!("record {position} of the page is not one of {resource:?}")));
            }
            if let Err(reason) = self.record(record)? {
                return Ok(Err(format!("record {position} of the page: {reason}")));
            }
        }
        for foreign_id in &page.deleted {
            if let Some(link) = self.docs.link(self.source, kind_of(resource), foreign_id)? {
                self.page.deleted.push(link.id);
                // Should it come back, it is news again.
                self.docs.put_link(self.source, kind_of(resource), foreign_id, Link::new(link.id));
                if resource == Resource::Appointments {
                    self.forgotten_is_gone(link.id)?;
                }
            } else if resource == Resource::Appointments {
                self.page.strangers += 1;
            }
        }
        self.page.cursor.clone_from(&page.cursor);
        self.page.last = page.last;
        self.page.whole = page.whole;
        let by_absence = |plan: &location::settings::PullPlan| plan.resource == resource && plan.deletions_by_absence;
        let settings = self.shell.settings();
        let look_for_gone = page.last && page.whole && settings.capabilities.pulls.iter().any(by_absence);
        let before = self.shell.machine.state.pulls.deleted.get(&resource).copied().unwrap_or_default();
        let many_deleted = before + self.page.deleted.len() as u64 >= u64::from(settings.pull.guard_at_least);
        if resource.shared() && (look_for_gone || many_deleted) {
            self.known(resource, look_for_gone)?;
        }
        Ok(Ok(()))
    }

    /// An appointment so long past that the machine forgot it: only its document can say that it is gone.
    fn forgotten_is_gone(&mut self, id: u64) -> Result<(), TurnError> {
        if self.shell.machine.state.appointments.contains_key(&AppointmentId(id)) {
            return Ok(());
        }
        let before = self.docs.get::<records::Appointment>(0, id)?;
        let Some(mut record) = before.filter(|before| !before.cancelled) else { return Ok(()) };
        record.cancelled = true;
        record.cancelled_at = Some(self.cx.now);
        record.updated_at = self.cx.now;
        self.docs.put(&record)
    }

    /// Counts the records known of a shared resource, and finds those a whole pass did not show.
    fn known(&mut self, resource: Resource, look_for_gone: bool) -> Result<(), TurnError> {
        let shown: BTreeSet<u64> = self.page.seen.iter().copied().collect();
        let earlier = self.shell.machine.state.pulls.seen.get(&resource);
        let mut range = keys::links(self.source, kind_of(resource) as u8);
        loop {
            let links = self.shell.env.store.scan(range.clone(), Direction::Forward, LINKS_AT_ONCE)?;
            let more = links.len() == LINKS_AT_ONCE;
            if let Some((last, _)) = links.last() {
                range = range.after(last);
            }
            for (_, value) in &links {
                let Some(link) = Link::from_bytes(value).filter(|link| link.pulled()) else { continue };
                self.page.known += 1;
                if look_for_gone && !shown.contains(&link.id) && !earlier.is_some_and(|seen| seen.contains(&link.id)) {
                    self.page.absent.push(link.id);
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn record(&mut self, record: &EhrRecord) -> Result<Result<(), String>, TurnError> {
        match record {
            EhrRecord::Provider(provider) => self.provider(provider),
            EhrRecord::Operatory(operatory) => self.operatory(operatory),
            EhrRecord::AppointmentType(kind) => self.appointment_type(kind),
            EhrRecord::Patient(patient) => self.patient(patient),
            EhrRecord::WorkingHour(hour) => return self.working_hour(hour),
            EhrRecord::Appointment(appointment) => return self.appointment(appointment),
        }
        .map(Ok)
    }

    /// The record's id, and whether the EHR says anything new of it.
    fn seen(
        &mut self,
        kind: Kind,
        sequence: Sequence,
        foreign_id: &str,
        said: &impl serde::Serialize,
    ) -> Result<(u64, bool), TurnError> {
        let link = self.docs.id_of(self.source, kind, sequence, foreign_id)?;
        self.page.seen.push(link.id);
        let digest = digest(said)?;
        if link.digest == digest {
            return Ok((link.id, false));
        }
        self.docs.put_link(self.source, kind, foreign_id, Link { id: link.id, digest });
        Ok((link.id, true))
    }

    /// Our id of a record this one refers to.
    fn refer(&mut self, kind: Kind, sequence: Sequence, foreign_id: Option<&String>) -> Result<Option<u64>, TurnError> {
        foreign_id.map(|id| self.docs.id_of(self.source, kind, sequence, id).map(|link| link.id)).transpose()
    }

    fn refer32(
        &mut self,
        kind: Kind,
        sequence: Sequence,
        foreign_id: Option<&String>,
    ) -> Result<Option<u32>, TurnError> {
        self.refer(kind, sequence, foreign_id)?.map(narrow).transpose()
    }

    /// Writes a document unless it says nothing new: then not even its times change.
    fn put<T: Document + PartialEq>(
        &mut self,
        before: Option<T>,
        mut fresh: T,
        stamp: impl Fn(&mut T, Option<&T>, Timestamp),
    ) -> Result<(), TurnError> {
        let unchanged = before.as_ref().is_some_and(|before| {
            stamp(&mut fresh, Some(before), Timestamp::MIN);
            fresh == *before
        });
        if unchanged {
            return Ok(());
        }
        stamp(&mut fresh, before.as_ref(), self.cx.now);
        self.docs.put(&fresh)
    }

    fn provider(&mut self, said: &ehr::EhrProvider) -> Result<(), TurnError> {
        let (id, news) = self.seen(Kind::Provider, Sequence::Provider, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let institution_id = self.shell.institution.id.0;
        let fresh = records::Provider {
            id: narrow(id)?,
            institution_id,
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
        let before = self.docs.get(institution_id, id)?;
        self.put(before, fresh, |fresh, before, now| {
            stamp(
                before.map(|b| (b.created_at, b.updated_at, b.last_sync_time)),
                now,
                &mut fresh.created_at,
                &mut fresh.updated_at,
                Some(&mut fresh.last_sync_time),
            );
        })
    }

    fn operatory(&mut self, said: &ehr::EhrOperatory) -> Result<(), TurnError> {
        let (id, news) = self.seen(Kind::Operatory, Sequence::Operatory, &said.id, said)?;
        self.page.operatories.push(PulledOperatory { id: OperatoryId(id), active: said.active });
        if !news {
            return Ok(());
        }
        let location_id = self.shell.setup.id.0;
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
        let before = self.docs.get(location_id, id)?;
        self.put(before, fresh, |fresh, before, now| {
            stamp(
                before.map(|b| (b.created_at, b.updated_at, b.last_sync_time)),
                now,
                &mut fresh.created_at,
                &mut fresh.updated_at,
                Some(&mut fresh.last_sync_time),
            );
        })
    }

    fn types(&mut self, said: &[String]) -> Result<Vec<u32>, TurnError> {
        let mut ids = Vec::with_capacity(said.len());
        for foreign_id in said {
            ids.extend(self.refer32(Kind::AppointmentType, Sequence::AppointmentType, Some(foreign_id))?);
        }
        Ok(ids)
    }

    fn appointment_type(&mut self, said: &ehr::EhrAppointmentType) -> Result<(), TurnError> {
        let (id, news) = self.seen(Kind::AppointmentType, Sequence::AppointmentType, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let institution_id = self.shell.institution.id.0;
        let fresh = records::AppointmentType {
            id: narrow(id)?,
            institution_id,
            foreign_id: Some(said.id.clone()),
            name: said.name.clone(),
            minutes: said.minutes,
            bookable_online: said.bookable_online,
            created_at: self.cx.now,
            updated_at: self.cx.now,
            deleted_at: None,
        };
        let before = self.docs.get(institution_id, id)?;
        self.put(before, fresh, |fresh, before, now| {
            stamp(
                before.map(|b| (b.created_at, b.updated_at, None)),
                now,
                &mut fresh.created_at,
                &mut fresh.updated_at,
                None,
            );
        })
    }

    fn patient(&mut self, said: &ehr::EhrPatient) -> Result<(), TurnError> {
        let (id, news) = self.seen(Kind::Patient, Sequence::Patient, &said.id, said)?;
        if !news {
            return Ok(());
        }
        let institution_id = self.shell.institution.id.0;
        let before: Option<records::Patient> = self.docs.get(institution_id, id)?;
        let mut location_ids = before.as_ref().map_or_else(Vec::new, |b| b.location_ids.clone());
        if location_ids.is_empty() {
            location_ids.push(self.shell.setup.id.0);
        }
        let address = said.address.as_ref().map(|address| records::PatientAddress {
            line_1: address.line1.clone(),
            line_2: address.line2.clone(),
            city: address.city.clone(),
            region: address.region.clone(),
            postal_code: address.postal_code.clone(),
            country: address.country.clone(),
        });
        let fresh = records::Patient {
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
            provider_id: self.refer32(Kind::Provider, Sequence::Provider, said.provider.as_ref())?,
            billing_type: said.billing_type.clone(),
            chart_id: said.chart_id.clone(),
            preferred_language: said.preferred_language.clone(),
            premedication: said.premedication.clone(),
            inactive: said.inactive,
            new_patient: said.new_patient,
            non_patient: said.non_patient,
            unsubscribed_sms: said.unsubscribed_sms,
            unsubscribed_email: said.unsubscribed_email,
            location_ids,
            created_at: self.cx.now,
            updated_at: self.cx.now,
            last_sync_time: Some(self.cx.now),
            write_error: None,
        };
        self.shell.index_patient(before.as_ref(), &fresh, self.docs)?;
        self.put(before, fresh, |fresh, before, now| {
            stamp(
                before.map(|b| (b.created_at, b.updated_at, b.last_sync_time)),
                now,
                &mut fresh.created_at,
                &mut fresh.updated_at,
                Some(&mut fresh.last_sync_time),
            );
        })
    }

    fn working_hour(&mut self, said: &ehr::EhrWorkingHour) -> Result<Result<(), String>, TurnError> {
        let (id, news) = self.seen(Kind::WorkingHour, Sequence::WorkingHour, &said.id, said)?;
        let times = (minutes(&said.begin_time), minutes(&said.end_time), recurrence(said));
        let (Some(begin), Some(end), Some(recurrence)) = times else {
            return Ok(Err("begin_time, end_time or the days of the working hour cannot be read".to_owned()));
        };
        let id = narrow(id)?;
        let provider = self.refer32(Kind::Provider, Sequence::Provider, Some(&said.provider))?.unwrap_or_default();
        let operatory = self.refer(Kind::Operatory, Sequence::Operatory, said.operatory.as_ref())?;
        let appointment_type_ids = self.types(&said.appointment_types)?;
        let hour = location::hours::WorkingHour {
            id: WorkingHourId(id),
            provider: ProviderId(provider),
            operatory: operatory.map(OperatoryId),
            begin,
            end,
            recurrence: recurrence.clone(),
            kind: said.kind,
            source: HourSource::Synced,
            appointment_types: appointment_type_ids.iter().map(|id| AppointmentTypeId(*id)).collect(),
            active: said.active,
        };
        if let Err(problems) = hour.validate() {
            return Ok(Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")));
        }
        self.page.hours.push(hour);
        if !news {
            return Ok(Ok(()));
        }
        let location_id = self.shell.setup.id.0;
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
            source: HourSource::Synced,
            appointment_type_ids,
            label: said.label.clone(),
            active: said.active,
            created_at: self.cx.now,
            updated_at: self.cx.now,
        };
        let before = self.docs.get(location_id, u64::from(id))?;
        self.put(before, fresh, |fresh, before, now| {
            stamp(
                before.map(|b| (b.created_at, b.updated_at, None)),
                now,
                &mut fresh.created_at,
                &mut fresh.updated_at,
                None,
            );
        })?;
        Ok(Ok(()))
    }

    fn appointment(&mut self, said: &ehr::EhrAppointment) -> Result<Result<(), String>, TurnError> {
        let span = Span::new(Timestamp(said.start.saturating_mul(SECOND)), Timestamp(said.end.saturating_mul(SECOND)));
        let Some(span) = span else { return Ok(Err("end is not after start".to_owned())) };
        if self.docs.link(self.source, Kind::Appointment, &said.id)?.is_none() {
            // A record with our write key is the appointment that write was for, whatever became of the reply.
            let key = said.write_key.as_ref();
            match key.map(|key| self.shell.written_by(key, self.docs)).transpose()?.flatten() {
                Some(ours) => self.docs.put_link(self.source, Kind::Appointment, &said.id, Link::new(ours.0)),
                None => self.page.strangers += 1,
            }
        }
        let (id, news) = self.seen(Kind::Appointment, Sequence::Appointment, &said.id, said)?;
        if !news {
            return Ok(Ok(()));
        }
        let placement = Placement {
            operatory: self.refer(Kind::Operatory, Sequence::Operatory, said.operatory.as_ref())?.map(OperatoryId),
            provider: self.refer32(Kind::Provider, Sequence::Provider, said.provider.as_ref())?.map(ProviderId),
            span,
        };
        let patient = self.refer32(Kind::Patient, Sequence::Patient, said.patient.as_ref())?;
        let kind = self.refer32(Kind::AppointmentType, Sequence::AppointmentType, said.appointment_type.as_ref())?;
        let before: Option<records::Appointment> = self.docs.get(0, id)?;
        let past = span.end < self.cx.now.minus(self.shell.settings().pull.keep_past);
        if !past || self.shell.machine.state.appointments.contains_key(&AppointmentId(id)) {
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
        let time = |at: Option<i64>| at.map(|seconds| Timestamp(seconds.saturating_mul(SECOND)));
        let kept = |since: Option<Timestamp>, holds: bool| holds.then(|| since.unwrap_or(self.cx.now));
        let old = before.as_ref();
        let fresh = records::Appointment {
            id,
            institution_id: self.shell.institution.id.0,
            location_id: self.shell.setup.id.0,
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
        self.appointments.push((fresh, before));
        Ok(Ok(()))
    }
}

/// Writes a pulled appointment unless it says nothing new.
fn put_appointment(
    cx: Cx,
    location: u32,
    mut fresh: records::Appointment,
    before: Option<records::Appointment>,
    docs: &mut Docs<'_>,
) -> Result<(), TurnError> {
    let times = before.as_ref().map(|b| (b.created_at, b.updated_at, b.last_sync_time));
    if before.as_ref().is_some_and(|before| {
        stamp(times, Timestamp::MIN, &mut fresh.created_at, &mut fresh.updated_at, Some(&mut fresh.last_sync_time));
        fresh == *before
    }) {
        return Ok(());
    }
    stamp(times, cx.now, &mut fresh.created_at, &mut fresh.updated_at, Some(&mut fresh.last_sync_time));
    if let Some(booking) = &mut fresh.booking {
        booking.writeback = records::Writeback::Confirmed;
        booking.failure_reason = None;
    }
    let old = before.as_ref().filter(|b| b.location_id == location).map(|b| b.placement.span.start);
    if let Some(moved) = before.as_ref().filter(|b| b.location_id != location) {
        docs.delete(keys::appointment_time(moved.location_id, moved.placement.span.start.0, moved.id));
    }
    docs.index_start(location, fresh.id, old, fresh.placement.span.start);
    docs.put(&fresh)
}

/// Times of a document: with `MIN` those it had, so that it can be compared; else created once, updated and synchronised now.
fn stamp(
    before: Option<(Timestamp, Timestamp, Option<Timestamp>)>,
    now: Timestamp,
    created: &mut Timestamp,
    updated: &mut Timestamp,
    synced: Option<&mut Option<Timestamp>>,
) {
    let (created_before, updated_before, synced_before) = before.unwrap_or((now, now, Some(now)));
    *created = created_before;
    *updated = if now == Timestamp::MIN { updated_before } else { now };
    if let Some(synced) = synced {
        *synced = if now == Timestamp::MIN { synced_before } else { Some(now) };
    }
}

fn digest(said: &impl serde::Serialize) -> Result<[u8; 16], TurnError> {
    let bytes = serde_json::to_vec(said).map_err(|_| TurnError::Damaged("a record that cannot be written"))?;
    let full: [u8; 32] = Sha256::digest(&bytes).into();
    let mut short = [0; 16];
    short.copy_from_slice(&full[..16]);
    // All zero means that nothing was pulled yet.
    short[0] |= 1;
    Ok(short)
}

fn kind_of(resource: Resource) -> Kind {
    match resource {
        Resource::Providers => Kind::Provider,
        Resource::Operatories => Kind::Operatory,
        Resource::AppointmentTypes => Kind::AppointmentType,
        Resource::Patients => Kind::Patient,
        Resource::WorkingHours => Kind::WorkingHour,
        Resource::Appointments => Kind::Appointment,
    }
}

fn resource_of(record: &EhrRecord) -> Resource {
    match record {
        EhrRecord::Provider(_) => Resource::Providers,
        EhrRecord::Operatory(_) => Resource::Operatories,
        EhrRecord::AppointmentType(_) => Resource::AppointmentTypes,
        EhrRecord::Patient(_) => Resource::Patients,
        EhrRecord::WorkingHour(_) => Resource::WorkingHours,
        EhrRecord::Appointment(_) => Resource::Appointments,
    }
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
