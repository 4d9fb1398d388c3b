//! A location in virtual time. Decisions, commits and loads are those of the engine. The calls to the EHR take no real
//! time, and their answers arrive [`LATENCY`] later in virtual time.

use std::{collections::BTreeMap, error::Error, sync::Arc, time::Duration};

use location::{
    command::{Command, DecisionContext},
    decision::Call,
    event::CallKind,
    ids::{InstitutionId, LocationId},
    slots::{self, SlotQuery},
    time::{HOUR, MINUTE, Millis, SECOND, Timestamp},
    zone::Date,
};
use processor::{
    commands::{BookSlot, Offer},
    error::Reject,
    ingest::IngestPage,
    patients::PatientDetails,
    processor::{Deps, Processor},
    push_payload,
    request::Request,
};
use records::ehr::Ehr;
use store::{Batch, CommitError};

use super::ehr::ChangingEhr;
use crate::{bench::options::BenchResult, harness::random::SeededRandom};

/// Time between a call and its answer.
const LATENCY: Millis = 200;
const DEADLINE: Duration = Duration::from_secs(30);
/// Number of times a turn is prepared again because ids ran out or documents changed concurrently.
const TRIES: u32 = 20;
/// Slots of a client's search.
const SLOTS: usize = 20;
/// Days over which bookings are distributed.
const BOOKED_DAYS: usize = 5;

/// A change of a practice's schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Staff change an appointment in the EHR.
    Staff,
    /// A client searches and books a slot.
    Booking,
}

enum Step {
    Described,
    Page(IngestPage),
    Answer(Box<Command>),
    /// Unloads the location if it was not used.
    Idle,
    Change(Change),
}

/// Numbers of a practice since the start.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) loads: u64,
    pub(super) commits: u64,
    /// Bytes of the keys and values of all commits.
    pub(super) bytes: u64,
}

impl Counts {
    pub(super) fn combine(self, other: Counts, with: fn(u64, u64) -> u64) -> Counts {
        Counts {
            calls: with(self.calls, other.calls),
            loads: with(self.loads, other.loads),
            commits: with(self.commits, other.commits),
            bytes: with(self.bytes, other.bytes),
        }
    }
}

pub(super) struct Practice {
    id: u32,
    deps: Arc<Deps>,
    ehr: ChangingEhr,
    /// `None` while the location is not in memory.
    processor: Option<Processor>,
    /// The next wake time, also while the location is not in memory.
    wake: Option<Timestamp>,
    steps: BTreeMap<(Timestamp, u64), Step>,
    next_step: u64,
    last_used: Timestamp,
    random: SeededRandom,
    changes: usize,
    bookings: usize,
    pub(super) counts: Counts,
}

impl Practice {
    /// Creates a location that starts its first read cycle at `start`.
    pub(super) fn new(id: u32, deps: Arc<Deps>, ehr: ChangingEhr, start: Timestamp) -> Practice {
        Practice {
            id,
            deps,
            ehr,
            processor: None,
            wake: Some(start),
            steps: BTreeMap::new(),
            next_step: 0,
            last_used: start,
            random: SeededRandom::new(id.into()),
            changes: 0,
            bookings: 0,
            counts: Counts::default(),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.processor.is_some()
    }

    pub(super) fn plan_change(&mut self, at: Timestamp, change: Change) {
        self.plan(at, Step::Change(change));
    }

    fn plan(&mut self, at: Timestamp, step: Step) {
        self.steps.insert((at, self.next_step), step);
        self.next_step += 1;
    }

    /// Runs all steps before `end`.
    pub(super) async fn run_until(&mut self, end: Timestamp) -> BenchResult {
        loop {
            let planned = self.steps.first_key_value().map(|((at, _), _)| *at);
            match (planned, self.wake) {
                (Some(at), wake) if at < end && wake.is_none_or(|wake| at <= wake) => {
                    if let Some((_, step)) = self.steps.pop_first() {
                        self.take(at, step).await?;
                    }
                }
                (_, Some(now)) if now < end && self.is_in_memory() => self.internal(now, &Command::Wake).await?,
                (_, Some(now)) if now < end => self.load(now)?,
                _ => return Ok(()),
            }
        }
    }

    async fn take(&mut self, now: Timestamp, step: Step) -> BenchResult {
        match step {
            Step::Described => self.described(now).await,
            Step::Page(page) => self.internal(now, &page).await,
            Step::Answer(command) => self.internal(now, &*command).await,
            Step::Idle => self.idle(now).await,
            Step::Change(change) => {
                self.changes += 1;
                match change {
                    Change::Staff => {
                        self.ehr.change_by_staff(self.changes);
                        Ok(())
                    }
                    Change::Booking => self.book(now).await,
                }
            }
        }
    }

    fn processor(&self) -> Result<&Processor, String> {
        self.processor.as_ref().ok_or_else(|| format!("location {} is not in memory", self.id))
    }

    /// Loads the location, which then asks the EHR for its capabilities.
    fn load(&mut self, now: Timestamp) -> BenchResult {
        let processor = Processor::load(self.deps.clone(), LocationId(self.id))?;
        self.last_used = now;
        self.counts.loads += 1;
        self.counts.calls += 1;
        self.plan(now.plus(LATENCY), Step::Described);
        self.plan(now.plus(self.idle_time()), Step::Idle);
        self.processor = Some(processor);
        self.set_wake(now);
        Ok(())
    }

    fn idle_time(&self) -> Millis {
        i64::try_from(self.deps.setup.load_full().engine.idle_seconds).map_or(Millis::MAX, |seconds| seconds * SECOND)
    }

    fn set_wake(&mut self, now: Timestamp) {
        let wake = self.processor.as_ref().and_then(Processor::wake_at);
        self.wake = wake.map(|at| at.max(now.plus(1)));
    }

    async fn described(&mut self, now: Timestamp) -> BenchResult {
        let description = self.ehr.describe(DEADLINE).await?;
        self.internal(now, &Command::Described { outcome: Ok(()) }).await?;
        let processor = self.processor()?;
        if processor.description.as_ref() != Some(&description) {
            let batch = processor.describing(&description)?;
            self.commit(batch).await?;
            self.processor.iter_mut().for_each(|processor| processor.described(description.clone()));
        }
        self.set_wake(now);
        Ok(())
    }

    /// Unloads the location if no client used it and nothing is due soon.
    async fn idle(&mut self, now: Timestamp) -> BenchResult {
        let idle = self.idle_time();
        let processor = self.processor()?;
        let is_soon = processor.wake_at().is_some_and(|at| at <= now.plus(idle));
        if is_soon || now.since(self.last_used) < idle {
            self.plan(now.plus(idle), Step::Idle);
            return Ok(());
        }
        let batch = processor.leave()?;
        if !batch.is_empty() {
            self.commit(batch).await?;
        }
        self.set_wake(now);
        self.processor = None;
        Ok(())
    }

    async fn commit(&mut self, batch: Batch) -> Result<(), CommitError> {
        self.counts.commits += 1;
        self.counts.bytes += batch.written_bytes();
        self.deps.store.commit(batch).await
    }

    /// Runs a turn of the location itself. A refusal needs no further action.
    async fn internal<R: Request>(&mut self, now: Timestamp, request: &R) -> BenchResult {
        let done = self.turn(now, request).await;
        self.set_wake(now);
        match done {
            Err(error)
                if !matches!(error.downcast_ref::<Reject>(), Some(Reject::Refused(_) | Reject::Precondition(_))) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Runs a turn: decide, commit, evolve, act.
    async fn turn<R: Request>(&mut self, now: Timestamp, request: &R) -> Result<R::Reply, Box<dyn Error>> {
        for _ in 0..TRIES {
            let cx = DecisionContext { now, random: self.random.draw() };
            let (mut turn, reply) = match self.processor()?.prepare(cx, None, request) {
                Err(Reject::NeedIds(resource)) => {
                    self.deps.pool.fill(&self.deps.ids, resource).await?;
                    continue;
                }
                prepared => prepared?,
            };
            if !turn.is_free() {
                match self.commit(std::mem::take(&mut turn.batch)).await {
                    Err(CommitError::Conflict { .. }) => continue,
                    committed => committed?,
                }
            }
            let calls = self.processor.as_mut().map(|processor| processor.finish(turn)).unwrap_or_default();
            for call in calls {
                self.call(now, call).await?;
            }
            if self.processor()?.snapshot_due() {
                let batch = self.processor()?.snapshot()?;
                self.commit(batch).await?;
                self.processor.iter_mut().for_each(Processor::snapshot_taken);
            }
            return Ok(reply);
        }
        Err(format!("a turn of location {} conflicts again and again", self.id).into())
    }

    async fn call(&mut self, now: Timestamp, call: Call) -> BenchResult {
        self.counts.calls += 1;
        let answer = match call {
            Call::Pull { resource, call, cursor, .. } => {
                let limit = self.processor()?.settings().pull.page;
                let page = self.ehr.pull(resource, cursor, limit, DEADLINE).await?;
                Step::Page(IngestPage { resource, call, outcome: Ok(Box::new(page)) })
            }
            Call::Write { write, attempt, kind: CallKind::Push, work, key, placement, .. } => {
                let outgoing = self.processor()?.outgoing(work, &key, placement)?;
                let outcome = match outgoing {
                    Ok(outgoing) => {
                        let receipt = self.ehr.push(key, outgoing, DEADLINE).await;
                        receipt.map(push_payload::written).map_err(push_payload::failure)
                    }
                    Err(failure) => Err(failure),
                };
                Step::Answer(Box::new(Command::Pushed { write, attempt, outcome }))
            }
            Call::Write { work, kind: CallKind::Find, .. } => {
                return Err(format!("{work:?} is looked up, although each write was answered").into());
            }
        };
        self.plan(now.plus(LATENCY), answer);
        Ok(())
    }

    /// Searches for slots and books one. Every patient books twice.
    async fn book(&mut self, now: Timestamp) -> BenchResult {
        if !self.is_in_memory() {
            self.load(now)?;
        }
        self.last_used = now;
        let number = self.bookings;
        self.bookings += 1;
        let (machine, zone) = {
            let processor = self.processor()?;
            (&processor.machine, &processor.settings().zone)
        };
        let date = zone.local_date(now).add_days(1 + (number % BOOKED_DAYS) as i32);
        let query = SlotQuery { limit: SLOTS, ..testing::slot_query(date, 1, 30 * MINUTE, now) };
        let found = slots::free_slots(machine.hours(), &machine.state.calendar, zone, &query);
        let slot = found.get(number % found.len().max(1)).ok_or("no free slot")?;
        let person = number / 2;
        let request = BookSlot {
            offer: Offer {
                institution: InstitutionId(self.id),
                location: LocationId(self.id),
                provider: slot.provider,
                operatory: slot.operatory,
                span: slot.span,
                appointment_type: None,
                expires: now.plus(HOUR),
                join_blocks: true,
                hold: number as u64,
                channel: None,
                rules: None,
            },
            idempotency_key: format!("booking-{number}"),
            patient: PatientDetails {
                first_name: "Ada".to_owned(),
                last_name: format!("Patient{person}"),
                date_of_birth: Some(Date(3_650 + (person % 10_000) as i32)),
                phone_number: Some(format!("+1 555 {person:07}")),
                ..PatientDetails::default()
            },
            note: None,
            created_by: "benchmark".to_owned(),
        };
        let booked = self.turn(now, &request).await?;
        self.set_wake(now);
        if booked.replay { Err(format!("booking {number} was a replay").into()) } else { Ok(()) }
    }
}
