//! The appointments of the EHR that moves by replacement create, linked to their visits as the processor's documents
//! link them.

use std::collections::BTreeMap;

use location::{
    command::{LateAppointment, PulledPage, PulledReplaced},
    event::Event,
    ids::{AppointmentId, PatientId, WriteId},
    intent::WriteIntent,
    replacement::{ForgottenVisit, Replaced, Replacement},
};

use super::{Sim, ehr::written};

/// An appointment of the EHR that a visit left behind.
struct LeftBehind {
    visit: AppointmentId,
    replaced: WriteId,
    /// `false` once it is cancelled.
    is_left: bool,
}

#[derive(Default)]
pub struct VisitMap {
    /// The current appointment of each visit that has another one than at first.
    current: BTreeMap<AppointmentId, AppointmentId>,
    replaced: BTreeMap<AppointmentId, LeftBehind>,
}

impl VisitMap {
    fn current(&self, visit: AppointmentId) -> AppointmentId {
        self.current.get(&visit).copied().unwrap_or(visit)
    }

    /// Returns the appointment of the EHR that a write changes.
    pub fn target(&self, work: WriteIntent) -> Option<AppointmentId> {
        match work {
            WriteIntent::CancelReplaced { appointment, replaced } => {
                let mut all = self.replaced.iter();
                all.find(|(_, it)| it.is_left && it.visit == appointment && it.replaced == replaced).map(|(id, _)| *id)
            }
            work => work.appointment().map(|visit| self.current(visit)),
        }
    }
}

impl Sim {
    /// Returns the visit of an appointment of the EHR, if it is linked.
    pub fn visit_of(&self, id: AppointmentId) -> Option<AppointmentId> {
        if let Some(replaced) = self.visits.replaced.get(&id) {
            return Some(replaced.visit);
        }
        match self.ehr.made_for(id) {
            None => Some(id).filter(|visit| self.visits.current(*visit) == id),
            Some((visit, _)) => Some(visit).filter(|visit| self.visits.current(*visit) == id),
        }
    }

    /// Translates the ids of a page to ours.
    pub fn visits_shown(&mut self, page: PulledPage) -> PulledPage {
        let PulledPage { appointments, deleted, .. } = &page;
        let queue = &self.location.state.queue;
        let replacement = |key: &str| {
            let mut writes = queue.iter();
            writes.find(|(_, w)| w.key == key && matches!(w.work, WriteIntent::Replace(_))).map(|(id, _)| id)
        };
        let unlinked = |id: AppointmentId| self.ehr.made_for(id).filter(|_| self.visit_of(id).is_none());
        let proofs: BTreeMap<AppointmentId, (AppointmentId, WriteId)> = appointments
            .iter()
            .filter_map(|shown| {
                let (visit, key) = unlinked(shown.id)?;
                Some((visit, (shown.id, replacement(key)?)))
            })
            .collect();
        let is_old = |visit: AppointmentId, id| proofs.get(&visit).is_some_and(|(new, _)| *new != id);
        let mut ours = PulledPage { appointments: Vec::new(), seen: Vec::new(), deleted: Vec::new(), ..page.clone() };
        let mut adopted = Vec::new();
        for shown in appointments {
            let placement = (!shown.cancelled).then_some(shown.placement);
            if let Some(LeftBehind { visit, replaced, is_left }) = self.visits.replaced.get(&shown.id) {
                let (appointment, replaced) = (*visit, *replaced);
                ours.replaced.extend(is_left.then_some(PulledReplaced { appointment, replaced, placement }));
                ours.seen.extend(is_left.then_some(Replaced::pass_id(replaced)));
                continue;
            }
            let mut record = shown.clone();
            if let Some((visit, key)) = unlinked(shown.id) {
                record.id = visit;
                record.replacement = replacement(key);
                let is_known = self.location.state.appointments.contains_key(&visit);
                // An appointment that has begun counts as the EHR shows it, unless its visit is known.
                if record.replacement.is_none() && (is_known || self.to_come(&shown.placement)) {
                    let patient = PatientId(visit.0 as u32 % 5);
                    let late = LateAppointment {
                        appointment: visit,
                        placement: shown.placement,
                        visit: Some(ForgottenVisit {
                            patient,
                            appointment_type: None,
                            placement: shown.placement,
                            gone: true,
                        }),
                        written: written(shown.id.0),
                    };
                    ours.late.extend(placement.map(|_| late));
                    continue;
                }
                if record.replacement.is_none() {
                    adopted.push((visit, shown.id));
                }
            } else if let Some(visit) = self.visit_of(shown.id) {
                record.id = visit;
                if is_old(visit, shown.id) {
                    ours.old.push((visit, placement));
                    continue;
                }
            } else {
                continue;
            }
            record.patient = Some(PatientId(record.id.0 as u32 % 5));
            ours.seen.push(record.id.0);
            ours.appointments.push(record);
        }
        for id in deleted.iter().map(|id| AppointmentId(*id)) {
            match (self.visits.replaced.get(&id), self.visit_of(id)) {
                (Some(LeftBehind { visit, replaced, is_left }), _) => {
                    let (appointment, replaced) = (*visit, *replaced);
                    let gone = PulledReplaced { appointment, replaced, placement: None };
                    ours.replaced.extend(is_left.then_some(gone));
                }
                (None, Some(visit)) if is_old(visit, id) => ours.old.push((visit, None)),
                (None, Some(visit)) => ours.deleted.push(visit.0),
                _ => {}
            }
        }
        self.visits.current.extend(adopted);
        ours
    }

    /// Links the appointments of replacements.
    pub fn link_visits(&mut self, events: &[Event]) {
        let number = |foreign_id: &str| AppointmentId(foreign_id[1..].parse().unwrap());
        for event in events {
            let Event::Replacement(step) = event else { continue };
            match step {
                Replacement::Done { appointment, replaced, from, written, .. } => {
                    let (visit, replaced) = (*appointment, *replaced);
                    let old = self.visits.current.insert(visit, number(&written.foreign_id)).unwrap_or(visit);
                    if from.is_some() {
                        self.visits.replaced.insert(old, LeftBehind { visit, replaced, is_left: true });
                    }
                }
                Replacement::Late { appointment, replaced, written, .. } => {
                    let left = LeftBehind { visit: *appointment, replaced: *replaced, is_left: true };
                    self.visits.replaced.insert(number(&written.foreign_id), left);
                }
                Replacement::Shown { .. } => {}
                Replacement::Gone { appointment, replaced } => {
                    let gone = |it: &&mut LeftBehind| it.visit == *appointment && it.replaced == *replaced;
                    self.visits.replaced.values_mut().filter(gone).for_each(|it| it.is_left = false);
                }
            }
        }
    }

    /// Returns `true` if the machine knows that the EHR still has the appointment next to the current one of its visit.
    pub fn is_left_behind(&self, id: AppointmentId) -> bool {
        let Some(left) = self.visits.replaced.get(&id).filter(|it| it.is_left) else { return false };
        let known = self.location.state.appointments.get(&left.visit);
        known.is_some_and(|known| known.replaced.iter().any(|it| it.write == left.replaced))
    }
}
