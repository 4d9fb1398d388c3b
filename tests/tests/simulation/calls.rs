//! Calls to the EHR, as scheduled events instead of futures.

use location::{
    command::{Command, Failure, Written},
    decision::Call,
    event::CallKind,
    ids::LocationId,
    time::{MINUTE, Timestamp},
};
use processor::{ingest::IngestPage, push_payload};
use records::ehr;

use super::{
    agenda::{CallInFlight, Question, SimEvent},
    ask::Ask,
    ehr::fate::{Fate, FateAnswer, Frame},
    sim::Sim,
};

impl Sim {
    /// Starts a call.
    pub fn call(&mut self, id: LocationId, call: Call) {
        let Some(host) = self.process.hosts.get(&id) else { return };
        let (incarnation, settings) = (host.incarnation, host.processor.settings());
        let frame = |until: Timestamp| Frame { now: self.now, until, settle: settings.write.settle };
        let (question, frame) = match call {
            Call::Pull { resource, call, cursor, until } => {
                let limit = settings.pull.page;
                (Question::Pull { resource, call, cursor, limit }, frame(until))
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
                        return self.answer(self.now, id, incarnation, Ask::Command(command));
                    }
                    (CallKind::Find, Err(failure)) => {
                        let outcome = Err(push_payload::lookup_failure(work, failure, false));
                        let command = Command::Found { write, attempt, outcome };
                        return self.answer(self.now, id, incarnation, Ask::Command(command));
                    }
                };
                (question, frame(until))
            }
        };
        let Some(ehr) = host.processor.source().and_then(|source| self.ehrs.get(&source)) else { return };
        let Fate { lands, answer } = match question {
            Question::Push { .. } => ehr.fate_of_write(frame, &mut self.random),
            Question::Find { .. } | Question::Pull { .. } => ehr.fate_of_read(frame, &mut self.random),
        };
        let answer_at = match answer {
            FateAnswer::Truth(at) => Some(at),
            FateAnswer::Never => None,
            FateAnswer::Fault(at, fault) => {
                let request = outcome(&question, EhrAnswer::Fault(push_payload::failure(fault)));
                self.answer(at, id, incarnation, request);
                None
            }
        };
        if let Some(at) = lands {
            self.agenda.plan(at, SimEvent::Land(CallInFlight { location: id, incarnation, question, answer_at }));
        }
    }

    fn answer(&mut self, at: Timestamp, location: LocationId, incarnation: u64, request: Ask) {
        self.agenda.plan(at, SimEvent::Answer { location, incarnation, request });
    }

    /// Delivers a call to the EHR.
    pub fn land(&mut self, trip: CallInFlight) {
        let CallInFlight { location, incarnation, question, answer_at } = trip;
        let Some(source) = self.plan.setup.locations.get(&location).and_then(|location| location.source) else {
            return;
        };
        let ehr = self.ehrs.get_mut(&source).expect("a location's source exists");
        let (line, heard) = match &question {
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
        self.say(|| line);
        if let (Question::Push { .. }, EhrAnswer::Pushed(Ok(receipt))) = (&question, &heard) {
            self.staff_may_notice(source, &receipt.id);
        }
        if let Some(at) = answer_at {
            self.answer(at, location, incarnation, outcome(&question, heard));
        }
    }

    /// May schedule a change by staff to an appointment that we wrote.
    fn staff_may_notice(&mut self, source: u32, id: &str) {
        let often = if self.plan.hectic { 600 } else { 100 };
        if !self.calm && self.random.chance(often) {
            let at = self.now.plus(self.random.between(1..=MINUTE));
            self.agenda.plan(at, SimEvent::Notice { source, id: id.to_owned() });
        }
    }

    /// Delivers an answer unless the calling incarnation is gone.
    pub fn hear(&mut self, location: LocationId, incarnation: u64, request: &Ask) {
        if self.process.hosts.get(&location).is_some_and(|host| host.incarnation == incarnation) {
            self.run_internal(location, request);
        }
    }
}

enum EhrAnswer {
    Fault(Failure),
    Pushed(Result<ehr::Receipt, ehr::Fault>),
    Found(Option<ehr::Receipt>),
    Page(Box<ehr::Page>),
}

/// Returns the message that the actor would send to itself.
fn outcome(question: &Question, heard: EhrAnswer) -> Ask {
    let written = |receipt: ehr::Receipt| -> Written { push_payload::written(receipt) };
    match question {
        Question::Push { write, attempt, .. } => {
            let outcome = match heard {
                EhrAnswer::Pushed(receipt) => receipt.map(written).map_err(push_payload::failure),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Found(_) | EhrAnswer::Page(_) => unreachable!("a push is answered with a receipt"),
            };
            Ask::Command(Command::Pushed { write: *write, attempt: *attempt, outcome })
        }
        Question::Find { write, attempt, .. } => {
            let outcome = match heard {
                EhrAnswer::Found(found) => Ok(found.map(written)),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Pushed(_) | EhrAnswer::Page(_) => {
                    unreachable!("a find is answered with a receipt or nothing")
                }
            };
            Ask::Command(Command::Found { write: *write, attempt: *attempt, outcome })
        }
        Question::Pull { resource, call, .. } => {
            let outcome = match heard {
                EhrAnswer::Page(page) => Ok(page),
                EhrAnswer::Fault(failure) => Err(failure),
                EhrAnswer::Pushed(_) | EhrAnswer::Found(_) => unreachable!("a pull is answered with a page"),
            };
            Ask::Page(IngestPage { resource: *resource, call: *call, outcome })
        }
    }
}
