//! Calls to the EHR, as scheduled events instead of futures.

use location::{
    command::{Command, Failure, Written},
    decision::Call,
    event::CallKind,
    ids::LocationId,
    time::{MINUTE, Timestamp},
};
use processor::push_payload;
use records::ehr;

use super::{
    agenda::{CallInFlight, Question, SimEvent},
    ehr::fate::{Fate, FateAnswer, Frame},
    sim::Sim,
    sim_request::SimRequest,
};

impl Sim {
    /// Starts a call. `asks_for_prefetched`: a pull takes over the page that was requested ahead.
    pub fn call(&mut self, id: LocationId, call: Call, asks_for_prefetched: bool) {
        let Some(host) = self.process.hosts.get(&id) else { return };
        let incarnation = host.incarnation;
        match call {
            Call::Pull { resource, call, cursor, until } => {
                self.pull(id, (resource, call), (cursor, until), asks_for_prefetched);
            }
            Call::Write { write, attempt, kind, work, key, placement, until } => {
                let outgoing = match host.processor.outgoing(work, &key, placement) {
                    Ok(outgoing) => outgoing,
                    Err(error) => panic!("write {write} of location {id} could not be composed: {error}"),
                };
                let question = match (kind, outgoing) {
                    (CallKind::Push, Ok(outgoing)) => Question::Push { write, attempt, work, key, outgoing },
                    (CallKind::Find, Ok(_)) => Question::Find { write, attempt, key },
                    (CallKind::Push, Err(failure)) => {
                        let command = Command::Pushed { write, attempt, outcome: Err(failure) };
                        return self.answer(id, incarnation, command);
                    }
                    (CallKind::Find, Err(failure)) => {
                        let outcome = Err(push_payload::lookup_failure(work, failure, false));
                        return self.answer(id, incarnation, Command::Found { write, attempt, outcome });
                    }
                };
                self.send(id, question, until);
            }
        }
    }

    /// Sends a question to the EHR, whose fate is drawn at once.
    pub fn send(&mut self, id: LocationId, question: Question, until: Timestamp) {
        let Some(host) = self.process.hosts.get(&id) else { return };
        let (incarnation, settle) = (host.incarnation, host.processor.settings().write.settle);
        let Some(ehr) = host.processor.source().and_then(|source| self.ehrs.get(&source)) else { return };
        let frame = Frame { now: self.now, until, settle };
        let Fate { lands, answer } = match question {
            Question::Push { .. } => ehr.fate_of_write(frame, &mut self.random),
            Question::Find { .. } | Question::Pull { .. } => ehr.fate_of_read(frame, &mut self.random),
        };
        let answer_at = match answer {
            FateAnswer::Truth(at) => Some(at),
            FateAnswer::Never => None,
            FateAnswer::Fault(at, fault) => {
                let ehr_answer = EhrAnswer::Fault(push_payload::failure(fault));
                self.agenda.plan(at, outcome(id, incarnation, &question, ehr_answer));
                None
            }
        };
        if let Some(at) = lands {
            self.agenda.plan(at, SimEvent::Land(CallInFlight { location: id, incarnation, question, answer_at }));
        }
    }

    /// Answers a call that was not made.
    fn answer(&mut self, location: LocationId, incarnation: u64, command: Command) {
        let request = SimRequest::Command(command);
        self.agenda.plan(self.now, SimEvent::Answer { location, incarnation, request });
    }

    /// Delivers a call to the EHR.
    pub fn land(&mut self, trip: CallInFlight) {
        let CallInFlight { location, incarnation, question, answer_at } = trip;
        let Some(source) = self.plan.setup.locations.get(&location).and_then(|location| location.source) else {
            return;
        };
        let ehr = self.ehrs.get_mut(&source).expect("a location's source exists");
        let (line, ehr_answer) = match &question {
            Question::Push { work, key, outgoing, .. } => {
                let receipt = ehr.write(location, *work, key, outgoing);
                (format!("EHR {source} takes {work:?} of {location}: {receipt:?}"), EhrAnswer::Pushed(receipt))
            }
            Question::Find { key, .. } => {
                let found = ehr.find(key);
                (format!("EHR {source} looks for {key}: {found:?}"), EhrAnswer::Found(found))
            }
            Question::Pull { resource, cursor, limit, .. } => {
                let page = ehr.page(location, *resource, cursor.as_deref(), *limit, &mut self.random);
                let (count, gone, last) = (page.records.len(), page.deleted.len(), page.last);
                let line = format!("EHR {source} shows {location} {count} {resource:?}, {gone} gone, last {last}");
                (line, EhrAnswer::Page(Box::new(page)))
            }
        };
        self.log_line(|| line);
        if let (Question::Push { .. }, EhrAnswer::Pushed(Ok(receipt))) = (&question, &ehr_answer) {
            self.staff_may_notice(source, &receipt.id);
        }
        if let Some(at) = answer_at {
            self.agenda.plan(at, outcome(location, incarnation, &question, ehr_answer));
        }
    }

    /// May schedule a change by staff to an appointment that we wrote.
    fn staff_may_notice(&mut self, source: u32, id: &str) {
        let often = if self.plan.hectic { 600 } else { 100 };
        if !self.without_faults && self.random.chance(often) {
            let at = self.now.plus(self.random.between(1..=MINUTE));
            self.agenda.plan(at, SimEvent::Notice { source, id: id.to_owned() });
        }
    }

    /// Delivers an answer unless the calling incarnation is gone.
    pub fn deliver(&mut self, location: LocationId, incarnation: u64, request: &SimRequest) {
        let is_here = |sim: &Sim| sim.process.hosts.get(&location).is_some_and(|host| host.incarnation == incarnation);
        if !is_here(self) {
            return;
        }
        self.run_internal(location, request);
        if matches!(request, SimRequest::Page(_)) && is_here(self) {
            self.drop_prefetched(location);
        }
    }
}

enum EhrAnswer {
    Fault(Failure),
    Pushed(Result<ehr::Receipt, ehr::Fault>),
    Found(Option<ehr::Receipt>),
    Page(Box<ehr::Page>),
}

/// Returns the event in which a location receives an answer.
fn outcome(location: LocationId, incarnation: u64, question: &Question, ehr_answer: EhrAnswer) -> SimEvent {
    let written = |receipt: ehr::Receipt| -> Written { push_payload::written(receipt) };
    let command = match question {
        Question::Push { write, attempt, .. } => {
            let outcome = match ehr_answer {
                EhrAnswer::Pushed(receipt) => receipt.map(written).map_err(push_payload::failure),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Found(_) | EhrAnswer::Page(_) => unreachable!("a push is answered with a receipt"),
            };
            Command::Pushed { write: *write, attempt: *attempt, outcome }
        }
        Question::Find { write, attempt, .. } => {
            let outcome = match ehr_answer {
                EhrAnswer::Found(found) => Ok(found.map(written)),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Pushed(_) | EhrAnswer::Page(_) => {
                    unreachable!("a find is answered with a receipt or nothing")
                }
            };
            Command::Found { write: *write, attempt: *attempt, outcome }
        }
        Question::Pull { number, .. } => {
            let outcome = match ehr_answer {
                EhrAnswer::Page(page) => Ok(page),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Pushed(_) | EhrAnswer::Found(_) => unreachable!("a pull is answered with a page"),
            };
            return SimEvent::PageArrived { location, incarnation, number: *number, outcome };
        }
    };
    SimEvent::Answer { location, incarnation, request: SimRequest::Command(command) }
}
