//! The read cycle as a structure: what is pulled, how far each resource came, and how it goes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use crate::resource::Resource;
use crate::{
    settings::PullPlan,
    sync::is_zero,
    time::{Millis, Timestamp},
};

/// What is pulled, and how far it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulls {
    /// When the next cycle starts.
    pub next_cycle: Timestamp,
    /// Asked for while a cycle runs: another one follows it at once.
    #[serde(default)]
    pub again: bool,
    /// The running cycle.
    pub cycle: Option<Cycle>,
    /// The call in flight.
    pub calling: Option<PullCall>,
    /// Not before this, after a failure.
    pub retry_at: Option<Timestamp>,
    /// Failures in a row of the resource that is read.
    pub failures: u32,
    /// Times in a row its page was put off until a write of ours is answered.
    #[serde(default)]
    pub waits: u32,
    /// Where the next page, or the next pass, of a resource starts.
    pub cursors: BTreeMap<Resource, String>,
    /// The whole passes that are running. What they have shown the processor keeps in the store.
    #[serde(default)]
    pub passes: BTreeMap<Resource, Pass>,
    /// The search for records that a whole pass has missed. The cycle goes on when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// The number of the next call.
    pub next_call: u64,
    /// When a cycle last read everything.
    pub last_success: Option<Timestamp>,
    /// Since when cycles fail, and why.
    pub failing: Option<(Timestamp, String)>,
    /// Why the next page was not asked for yet, though nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_off: Option<String>,
    /// Since when reading is tried: of a source that was never reached all that is known.
    #[serde(default)]
    pub begun: Option<Timestamp>,
    /// The EHR does not say what it can do.
    #[serde(default)]
    pub silent: Option<Silent>,
    /// Deletions since the last pass that ended well: the guard counts them together, however many pages they are spread over.
    pub deleted: BTreeMap<Resource, u64>,
    /// Records that the last complete pass did not show, at most
    /// [`MISSING_AT_ONCE`](crate::sync::absence::MISSING_AT_ONCE) of a resource. Those that the next complete pass does
    /// not show either are deleted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<Resource, BTreeSet<u64>>,
    /// Resources whose running full pass confirms the missing records of the one before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub confirming: BTreeSet<Resource>,
    /// Confirming passes in a row that were short, by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub short_confirmations: BTreeMap<Resource, u32>,
    /// Resources whose deletions the guard stopped.
    pub guarded: BTreeSet<Resource>,
    /// Resources whose next deletions an operator accepted.
    pub accepted: BTreeSet<Resource>,
    /// Resources one whole pass of which has ended: before, what the EHR holds of them is not known.
    pub known: BTreeSet<Resource>,
    /// Resources to be read anew once the inserts on their way are answered: nobody is told twice what became of them meanwhile.
    #[serde(default, rename = "unsure", skip_serializing_if = "BTreeSet::is_empty")]
    pub needs_full_pass: BTreeSet<Resource>,
    /// How far each resource came.
    #[serde(default)]
    pub progress: BTreeMap<Resource, Progress>,
    /// Records that could not be read when they were last shown, by their identifier in the EHR; at most [`SKIPS`] of a resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<Resource, BTreeMap<String, Skip>>,
}

/// A record that the EHR shows and that cannot be read: left out, and nothing else of its page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its identifier in the EHR.
    pub id: String,
    /// Why, in words for operators.
    pub reason: String,
}

/// Why a record was left out, and when last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// In words for operators.
    pub reason: String,
    /// The number of the call whose page left it out.
    pub call: u64,
}

/// Records of a resource that are remembered as left out: what many have in common shows in a hundred.
pub const SKIPS: usize = 100;

/// Confirming passes of a resource that follow each other soon because the one before was short.
pub const CONFIRMED_AGAIN: u32 = 3;

/// A whole pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Never that of another pass of the location: the number of the call that read its first page.
    pub number: u64,
    /// Records it has shown, and those that a write of ours reached meanwhile.
    pub shown: u64,
    /// Different records and other entries of its pages: those that are reported deleted, and unreadable ones that are
    /// not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entries: u64,
    /// Records that a write of ours reached while it ran. They count as shown.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<u64>,
    /// Records in all, as the EHR announced them first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<u64>,
    /// A later page announced another total: records were added or removed while the pass was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total_changed: bool,
}

impl Pass {
    /// Returns `true` if a total contradicts the one announced first. `written`: number of records that writes of ours
    /// reached meanwhile, each of which may have added one.
    pub fn contradicts(&self, total: Option<u64>, written: usize) -> bool {
        let Some((before, now)) = self.announced.zip(total) else { return false };
        now < before || now - before > written as u64
    }
}

/// A search, in steps, for records that a whole pass has missed: all of them are counted before the first one is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The resource.
    pub resource: Resource,
    /// Start of the next step; `None` for the first one.
    pub from: Option<String>,
    /// Known records counted so far.
    pub known: u64,
    /// Counted records that the pass did not contain.
    pub missing: u64,
    /// All are counted, and the guard lets them go.
    pub counted: bool,
    /// Those that the complete pass before this one showed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unconfirmed: BTreeSet<u64>,
}

/// Asked what it can do, the EHR gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {
    /// Since when.
    pub since: Timestamp,
    /// When the reason was noted.
    pub noted: Timestamp,
    /// The reason, in words for operators and clients.
    pub reason: String,
}

/// How far the running pass over a resource came, or the last one if none runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Whether the pass is still running.
    pub running: bool,
    /// It shows every record there is, not only changes.
    pub whole: bool,
    /// Records it has shown.
    pub records: u64,
    /// Records in all, where the EHR tells.
    pub estimate: Option<u64>,
    /// When the last complete pass ended.
    pub ended_at: Option<Timestamp>,
    /// The last full pass contradicted itself, see [`is_short`](crate::Location::is_short): nothing follows from what
    /// it did not show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
}

impl Progress {
    /// A page was applied.
    pub fn page(&mut self, at: Timestamp, shown: PageShown) {
        if !self.running {
            // A pass over changes does not make up for a full pass that was short.
            let short = self.short && !shown.whole;
            *self =
                Progress { running: true, whole: shown.whole, ended_at: self.ended_at, short, ..Progress::default() };
        }
        self.records += u64::from(shown.records);
        self.estimate = shown.estimate.or(self.estimate);
        if shown.last {
            (self.running, self.ended_at) = (false, Some(at));
            self.short |= shown.short;
        }
    }
}

/// The contents of a page that matter for the pass it is part of.
#[derive(Clone, Copy, Debug)]
pub struct PageShown {
    /// Records on the page.
    pub records: u32,
    /// Those of them that its whole pass had not shown before.
    pub distinct: u32,
    /// Its other entries: records that are reported deleted, and unreadable ones that are not known.
    pub others: u32,
    /// Records in all, if the EHR announces them.
    pub estimate: Option<u64>,
    /// `true` for the last page of its pass.
    pub last: bool,
    /// `true` if its pass lists every record, `false` if only changes.
    pub whole: bool,
    /// Whether its pass ends and contradicts itself.
    pub short: bool,
    /// Whether a sweep looks for the records that its pass missed.
    pub sweeping: bool,
    /// Whether it brought nothing that its pass had not brought before.
    pub barren: bool,
}

impl Pulls {
    /// The number of the whole pass over a resource: of the one that runs, or of the one that the page on its way begins.
    pub fn pass_number(&self, resource: Resource) -> u64 {
        let calling = || self.calling.as_ref().map_or(self.next_call, |calling| calling.call);
        self.passes.get(&resource).map_or_else(calling, |pass| pass.number)
    }

    /// A page of the call showed these, and could not read some. Once a whole pass has `ended`, what it did not leave out is no longer.
    pub fn note_skipped(&mut self, resource: Resource, call: u64, told: (&[Skipped], &[String]), ended: Option<u64>) {
        let (skipped, read) = told;
        let known = self.skipped.entry(resource).or_default();
        for id in read {
            known.remove(id);
        }
        for Skipped { id, reason } in skipped {
            if known.len() < SKIPS || known.contains_key(id) {
                known.insert(id.clone(), Skip { reason: reason.clone(), call });
            }
        }
        if let Some(number) = ended {
            known.retain(|_, skip| skip.call >= number);
        }
        if known.is_empty() {
            self.skipped.remove(&resource);
        }
    }

    /// Applies the page of the call in flight. Returns the numbers of its whole pass and of the call. `missing`:
    /// records that its pass, which ends, is the first not to show, or that it reports deleted before a sweep.
    pub fn page_applied(
        &mut self,
        at: Timestamp,
        resource: Resource,
        shown: PageShown,
        missing: &BTreeSet<u64>,
    ) -> (u64, u64) {
        self.progress.entry(resource).or_default().page(at, shown);
        let number = self.pass_number(resource);
        let call = self.calling.take();
        let asked = call.as_ref().map_or(number, |call| call.call);
        (self.failures, self.waits) = (0, 0);
        if shown.whole && (!shown.last || shown.sweeping) {
            let pass = self.passes.entry(resource).or_insert(Pass { number, ..Pass::default() });
            let written = call.map_or_else(BTreeSet::new, |call| call.written_during_pull);
            pass.shown += u64::from(shown.records) + written.len() as u64;
            pass.entries += u64::from(shown.distinct) + u64::from(shown.others);
            pass.written.extend(written);
            pass.total_changed |= pass.contradicts(shown.estimate, pass.written.len());
            pass.announced = pass.announced.or(shown.estimate);
        }
        if shown.last {
            self.known.insert(resource);
        }
        if shown.sweeping && !missing.is_empty() {
            self.missing.entry(resource).or_default().extend(missing);
        }
        match &mut self.cycle {
            Some(cycle) if !shown.last => cycle.page(resource, shown.barren),
            _ if shown.sweeping => {}
            _ => {
                self.done_with(resource, false);
                if shown.short {
                    self.pass_was_short(resource);
                } else if shown.last {
                    self.pass_ended(resource, shown.whole.then(|| missing.clone()));
                }
            }
        }
        (number, asked)
    }

    /// Continues the search for missing records after a step.
    pub fn swept(&mut self, step: Sweep) {
        let mut unconfirmed = self.sweep.take().map_or_else(BTreeSet::new, |sweep| sweep.unconfirmed);
        unconfirmed.extend(&step.unconfirmed);
        self.sweep = Some(Sweep { unconfirmed, ..step });
    }

    /// Ends the search for missing records, and with it the pass.
    pub fn sweep_ended(&mut self, resource: Resource) {
        let missing = self.sweep.take().map_or_else(BTreeSet::new, |sweep| sweep.unconfirmed);
        self.pass_ended(resource, Some(missing));
        self.done_with(resource, false);
    }

    /// Ends a pass over a resource. `missing`: of a complete pass, the records it is the first not to show, which
    /// another pass must confirm; `None` of a pass over changes.
    pub fn pass_ended(&mut self, resource: Resource, missing: Option<BTreeSet<u64>>) {
        let mut accepted_are_done = !self.missing.contains_key(&resource);
        if let Some(missing) = missing {
            accepted_are_done = self.missing.remove(&resource).is_some() || missing.is_empty();
            let was_confirming = self.confirming.remove(&resource);
            self.short_confirmations.remove(&resource);
            if !missing.is_empty() {
                self.missing.insert(resource, missing);
                // Where records disappear all the time, each confirming pass would demand another one.
                if !was_confirming {
                    self.needs_full_pass.insert(resource);
                }
            }
        }
        self.passes.remove(&resource);
        if accepted_are_done {
            self.accepted.remove(&resource);
        }
        self.guarded.remove(&resource);
        self.deleted.remove(&resource);
    }

    /// Ends a full pass that contradicts itself. One that was to confirm missing records is read again soon, up to
    /// [`CONFIRMED_AGAIN`] times in a row: the total of a busy EHR may change in every pass.
    fn pass_was_short(&mut self, resource: Resource) {
        self.passes.remove(&resource);
        if self.confirming.remove(&resource) && self.missing.contains_key(&resource) {
            let short = self.short_confirmations.entry(resource).or_default();
            *short += 1;
            if *short <= CONFIRMED_AGAIN {
                self.needs_full_pass.insert(resource);
            }
        }
    }

    /// Removes records from the missing ones.
    pub fn shown_again(&mut self, resource: Resource, ids: &[u64]) {
        if let Some(sweep) = self.sweep.as_mut().filter(|sweep| sweep.resource == resource) {
            sweep.unconfirmed.retain(|id| !ids.contains(id));
        }
        if let Some(missing) = self.missing.get_mut(&resource) {
            missing.retain(|id| !ids.contains(id));
            if missing.is_empty() {
                self.missing.remove(&resource);
            }
        }
    }

    /// What a running cycle has read already is read once more after it.
    pub fn ask_for_cycle(&mut self, at: Timestamp) {
        self.next_cycle = at;
        self.again = self.cycle.is_some();
    }

    /// The EHR has gone on without this location, which was restored to an earlier day: nothing that was read counts.
    pub fn forget(&mut self, at: Timestamp) {
        (self.cycle, self.calling, self.sweep, self.retry_at, self.last_success) = (None, None, None, None, None);
        self.cursors.clear();
        self.passes.clear();
        self.known.clear();
        self.deleted.clear();
        self.needs_full_pass.clear();
        self.missing.clear();
        self.confirming.clear();
        self.short_confirmations.clear();
        self.progress.clear();
        (self.next_cycle, self.again) = (at, false);
    }

    /// On with the next resource: what went wrong with this one says nothing about it.
    pub fn done_with(&mut self, resource: Resource, incomplete: bool) {
        (self.failures, self.waits) = (0, 0);
        if let Some(cycle) = &mut self.cycle {
            cycle.done_with(resource, incomplete);
        }
    }

    /// Moves pending times back by `by`, and past ones to `at` at the latest, after a backward step of the clock.
    pub fn set_back(&mut self, at: Timestamp, by: Millis) {
        self.next_cycle = self.next_cycle.minus(by);
        self.retry_at = self.retry_at.map(|retry| retry.minus(by));
        self.last_success = self.last_success.map(|last| last.min(at));
        self.begun = self.begun.map(|begun| begun.min(at));
        if let Some(silent) = &mut self.silent {
            (silent.since, silent.noted) = (silent.since.min(at), silent.noted.min(at));
        }
        if let Some(call) = &mut self.calling {
            call.until = call.until.minus(by);
        }
        if let Some((since, _)) = &mut self.failing {
            *since = (*since).min(at);
        }
    }

    /// A cycle ended; the next one starts at `next`, or at once where one was asked for meanwhile.
    pub fn cycle_ended(&mut self, at: Timestamp, next: Timestamp) {
        self.next_cycle = if std::mem::take(&mut self.again) { at } else { next };
    }
}

/// By the names of resources, not by their places in the plan: the EHR may say anew what can be read while a cycle runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// Resources it has read to their end, or left.
    #[serde(default)]
    pub done: BTreeSet<Resource>,
    /// The resource it reads, once a page of it was applied.
    #[serde(default)]
    pub reading: Option<Resource>,
    /// Pages of that resource so far.
    pub pages: u32,
    /// The last of them, in a row, that brought nothing new.
    #[serde(default)]
    pub barren: u32,
    /// A resource was not pulled to its end.
    pub incomplete: bool,
}

impl Cycle {
    /// What it reads, or reads next.
    pub fn next<'p>(&self, plan: &'p [PullPlan]) -> Option<&'p PullPlan> {
        plan.iter().find(|plan| !self.done.contains(&plan.resource))
    }

    /// Pages of a resource so far, and how many of the last ones brought nothing new.
    pub fn pages_of(&self, resource: Resource) -> (u32, u32) {
        if self.reading == Some(resource) { (self.pages, self.barren) } else { (0, 0) }
    }

    /// A page that is not the last one was applied.
    pub fn page(&mut self, resource: Resource, barren: bool) {
        let (pages, before) = self.pages_of(resource);
        (self.reading, self.pages) = (Some(resource), pages + 1);
        self.barren = if barren { before + 1 } else { 0 };
    }

    /// On with the next resource.
    pub fn done_with(&mut self, resource: Resource, incomplete: bool) {
        self.done.insert(resource);
        (self.reading, self.pages, self.barren) = (None, 0, 0);
        self.incomplete |= incomplete;
    }
}

/// A page that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullCall {
    /// The resource.
    pub resource: Resource,
    /// The number of the call.
    pub call: u64,
    /// When it was asked for: what another location learned since may be newer than the answer.
    #[serde(default)]
    pub asked_at: Timestamp,
    /// The deadline of the call.
    pub until: Timestamp,
    /// Records of the resource that a write of ours reached meanwhile: what the page says of them may be older than that.
    #[serde(rename = "landed")]
    pub written_during_pull: BTreeSet<u64>,
}
