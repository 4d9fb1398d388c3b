//! The state of reading the EHR: cycle, passes, cursors and failures.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Millis, Timestamp, sync::is_zero};
pub use crate::{
    Resource,
    sync::{
        running_cycle::Cycle,
        schedule_read::{Freshness, ScheduleRead},
    },
};

/// The state of reading the EHR.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulls {
    pub next_cycle: Timestamp,
    /// `true` if a cycle was requested during the running one: another one follows immediately.
    #[serde(default)]
    pub again: bool,
    pub cycle: Option<Cycle>,
    pub calling: Option<PullCall>,
    /// Earliest time of the next request after a failure.
    pub retry_at: Option<Timestamp>,
    /// Consecutive failures of the current resource.
    pub failures: u32,
    /// Consecutive postponements of the current page until an insert is answered.
    #[serde(default)]
    pub waits: u32,
    /// Cursor of the next page or pass of each resource.
    pub cursors: BTreeMap<Resource, String>,
    /// Cursors from before a whole pass, at which the pass after it resumes. A whole pass does not report the deletions
    /// before it, and its last cursor skips them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resume_at: BTreeMap<Resource, String>,
    /// Running whole passes. The processor stores the ids of the records that they contained.
    #[serde(default)]
    pub passes: BTreeMap<Resource, PullPass>,
    /// The sweep for records missing from a whole pass. The cycle continues after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    pub next_call: u64,
    /// End of the last cycle that read everything.
    pub last_success: Option<Timestamp>,
    /// Start and reason of the current failure.
    pub failing: Option<(Timestamp, String)>,
    /// The reason why the next page is postponed without a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_off: Option<String>,
    /// Time of the first attempt to read.
    #[serde(default)]
    pub begun: Option<Timestamp>,
    /// The failure of the adapter's `describe`, if it fails.
    #[serde(default)]
    pub silent: Option<DescribeFailure>,
    /// Deletions of each resource since its last complete pass. The guard adds them up across pages.
    pub deleted: BTreeMap<Resource, u64>,
    /// Records that the last complete pass did not contain, at most
    /// [`MISSING_AT_ONCE`](crate::sync::absence::MISSING_AT_ONCE) per resource. Records that the next complete pass
    /// lacks too are deleted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<Resource, BTreeSet<u64>>,
    /// Resources whose running whole pass confirms the missing records of the previous one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub confirming: BTreeSet<Resource>,
    /// Consecutive confirming passes that were short, by resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub short_confirmations: BTreeMap<Resource, u32>,
    /// Resources whose deletions the guard stopped.
    pub guarded: BTreeSet<Resource>,
    /// Resources whose next deletions an operator accepted.
    pub accepted: BTreeSet<Resource>,
    /// Resources with a complete pass. Before that, the EHR's records of a resource are unknown.
    pub known: BTreeSet<Resource>,
    /// Resources to read in full once their inserts in flight are answered: a result may have been shown unmatched, or
    /// missing records need confirmation.
    #[serde(default, rename = "unsure", skip_serializing_if = "BTreeSet::is_empty")]
    pub needs_full_pass: BTreeSet<Resource>,
    #[serde(default)]
    pub progress: BTreeMap<Resource, Progress>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub schedule: ScheduleRead,
    /// Records that were unreadable when last shown, by their identifier in the EHR; at most [`SKIPS`] per resource.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<Resource, BTreeMap<String, Skip>>,
}

/// An unreadable record of the EHR. The rest of its page is applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Identifier in the EHR.
    pub id: String,
    /// The reason, in words for operators.
    pub reason: String,
}

/// The reason why a record was skipped, and the last call that skipped it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The reason, in words for operators.
    pub reason: String,
    /// Number of the last call whose page contained the record.
    pub call: u64,
}

/// Maximum number of skipped records that are kept per resource; a hundred show a common cause.
pub const SKIPS: usize = 100;

/// Maximum number of confirming passes in a row that are repeated soon because they were short.
pub const CONFIRMED_AGAIN: u32 = 3;

/// A running whole pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullPass {
    /// Number of the call that read the first page; unique per location.
    pub number: u64,
    /// Number of records that the pass contained, plus those that our writes reached meanwhile.
    pub shown: u64,
    /// Number of distinct records and other entries of its pages: records reported as deleted, and unreadable unknown
    /// ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub entries: u64,
    /// Records that our writes reached during the pass; they count as shown.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub written: BTreeSet<u64>,
    /// The total number of records that the EHR announced first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<u64>,
    /// `true` if a later page announced another total: records were added or removed during the pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub total_changed: bool,
}

impl PullPass {
    /// Returns `true` if `total` contradicts the one announced first. Each of the `written` records that our writes
    /// reached meanwhile may have added one.
    pub fn contradicts(&self, total: Option<u64>, written: usize) -> bool {
        let Some((before, now)) = self.announced.zip(total) else { return false };
        now < before || now - before > written as u64
    }
}

/// A stepwise sweep for records missing from a whole pass. All are counted before the first one is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    pub resource: Resource,
    /// Start of the next step; `None` for the first one.
    pub from: Option<String>,
    /// Number of known records counted so far.
    pub known: u64,
    /// Number of counted records that the pass did not contain.
    pub missing: u64,
    /// `true` once all known records are counted and the guard allows the deletions.
    pub counted: bool,
    /// Missing records that the previous complete pass contained.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unconfirmed: BTreeSet<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribeFailure {
    pub since: Timestamp,
    /// Time at which the reason was recorded.
    pub noted: Timestamp,
    /// The reason, in words for operators and clients.
    pub reason: String,
}

/// Progress of the running pass over a resource, or of the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// `true` while the pass is running.
    pub running: bool,
    /// `true` if the pass lists every record, `false` if only changes.
    pub whole: bool,
    /// Number of records shown so far.
    pub records: u64,
    /// Total number of records, if the EHR reports it.
    pub estimate: Option<u64>,
    /// End of the last complete pass.
    pub ended_at: Option<Timestamp>,
    /// `true` if the last whole pass contradicted itself, see [`is_short`](crate::Location::is_short): its absences are
    /// ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
}

impl Progress {
    /// Counts an applied page.
    pub fn page(&mut self, at: Timestamp, shown: PageSummary) {
        if !self.running {
            // A pass over changes does not replace a whole pass that was short.
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

/// The properties of a page that matter to its pass.
#[derive(Clone, Copy, Debug)]
pub struct PageSummary {
    pub records: u32,
    /// Number of records that are new to the whole pass.
    pub distinct: u32,
    /// Number of other entries: records reported as deleted, and unreadable unknown ones.
    pub others: u32,
    /// Total number of records, if the EHR reports it.
    pub estimate: Option<u64>,
    /// `true` for the last page of its pass.
    pub last: bool,
    /// `true` if its pass lists every record, `false` if only changes.
    pub whole: bool,
    /// `true` if the whole pass ends in contradiction with itself.
    pub short: bool,
    /// `true` if a sweep starts for the records missing from the pass.
    pub sweeping: bool,
    /// `true` if the page contained nothing new to its pass.
    pub barren: bool,
}

impl Pulls {
    /// Returns the number of the running whole pass over a resource, or of the one that the call in flight starts.
    pub fn pass_number(&self, resource: Resource) -> u64 {
        let calling = || self.calling.as_ref().map_or(self.next_call, |calling| calling.call);
        self.passes.get(&resource).map_or_else(calling, |pass| pass.number)
    }

    /// Updates the skipped records of a resource after a page. Once a whole pass has `ended`, records that it did not
    /// skip are removed.
    pub fn note_skipped(&mut self, resource: Resource, call: u64, page: (&[Skipped], &[String]), ended: Option<u64>) {
        let (skipped, read) = page;
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

    /// Applies the page of the call in flight. Returns the numbers of the whole pass and of the call. `missing`:
    /// records missing for the first time from the pass that ends or, before a sweep, records reported as deleted.
    pub fn page_applied(
        &mut self,
        at: Timestamp,
        resource: Resource,
        shown: PageSummary,
        missing: &BTreeSet<u64>,
    ) -> (u64, u64) {
        self.progress.entry(resource).or_default().page(at, shown);
        let number = self.pass_number(resource);
        let call = self.calling.take();
        let asked = call.as_ref().map_or(number, |call| call.call);
        (self.failures, self.waits) = (0, 0);
        if shown.whole && (!shown.last || shown.sweeping) {
            let pass = self.passes.entry(resource).or_insert(PullPass { number, ..PullPass::default() });
            let written = call.map_or_else(BTreeSet::new, |call| call.written_during_pull);
            pass.shown += u64::from(shown.records) + written.len() as u64;
            pass.entries += u64::from(shown.distinct) + u64::from(shown.others);
            pass.written.extend(written);
            pass.total_changed |= pass.contradicts(shown.estimate, pass.written.len());
            pass.announced = pass.announced.or(shown.estimate);
        }
        if shown.last {
            self.resume_at.remove(&resource);
            self.known.insert(resource);
            self.schedule.pass_ended(at, resource);
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

    /// Stores the result of a step of the sweep.
    pub fn swept(&mut self, step: Sweep) {
        let mut unconfirmed = self.sweep.take().map_or_else(BTreeSet::new, |sweep| sweep.unconfirmed);
        unconfirmed.extend(&step.unconfirmed);
        self.sweep = Some(Sweep { unconfirmed, ..step });
    }

    /// Ends the sweep and its pass.
    pub fn sweep_ended(&mut self, resource: Resource) {
        let missing = self.sweep.take().map_or_else(BTreeSet::new, |sweep| sweep.unconfirmed);
        self.pass_ended(resource, Some(missing));
        self.done_with(resource, false);
    }

    /// Ends a pass over a resource. `missing`: records missing for the first time from a complete pass, to be confirmed
    /// by another one. `None` for a pass over changes.
    pub fn pass_ended(&mut self, resource: Resource, missing: Option<BTreeSet<u64>>) {
        let mut accepted_are_done = !self.missing.contains_key(&resource);
        if let Some(missing) = missing {
            accepted_are_done = self.missing.remove(&resource).is_some() || missing.is_empty();
            let was_confirming = self.confirming.remove(&resource);
            self.short_confirmations.remove(&resource);
            if !missing.is_empty() {
                self.missing.insert(resource, missing);
                // If records disappear all the time, each confirming pass would require another one.
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

    /// Ends a whole pass that contradicts itself. A confirming pass is repeated soon, up to [`CONFIRMED_AGAIN`] times
    /// in a row, because the total of a busy EHR may change during every pass.
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

    /// Removes records that were shown again from the missing ones.
    pub fn clear_missing(&mut self, resource: Resource, ids: &[u64]) {
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

    /// Schedules a cycle now, or right after the running one.
    pub fn request_cycle(&mut self, at: Timestamp) {
        self.next_cycle = at;
        self.again = self.cycle.is_some();
    }

    /// Discards the progress of reading after a restore, because the EHR has changed since the backup.
    pub fn forget(&mut self, at: Timestamp, keep_cursors: bool) {
        (self.cycle, self.calling, self.sweep, self.retry_at, self.last_success) = (None, None, None, None, None);
        for resource in self.cursors.keys().copied().collect::<Vec<_>>() {
            self.drop_cursor(resource, keep_cursors);
        }
        self.passes.clear();
        self.known.clear();
        self.deleted.clear();
        self.needs_full_pass.clear();
        self.missing.clear();
        self.confirming.clear();
        self.short_confirmations.clear();
        self.progress.clear();
        self.schedule = ScheduleRead::default();
        (self.next_cycle, self.again) = (at, false);
    }

    /// Removes the cursor of a resource, so that the next pass is a whole one. With `keep`, reading resumes at it
    /// afterwards.
    pub(super) fn drop_cursor(&mut self, resource: Resource, keep: bool) {
        if let Some(cursor) = self.cursors.remove(&resource).filter(|_| keep) {
            self.resume_at.entry(resource).or_insert(cursor);
        }
    }

    /// Ends the current resource of the cycle and resets its failures.
    pub fn done_with(&mut self, resource: Resource, incomplete: bool) {
        (self.failures, self.waits) = (0, 0);
        if let Some(cycle) = &mut self.cycle {
            cycle.done_with(resource, incomplete);
        }
    }

    /// Moves due times and the time of the request in flight back by `by`, and caps start times at `at`, after a
    /// backward step of the clock.
    pub fn set_back(&mut self, at: Timestamp, by: Millis) {
        self.next_cycle = self.next_cycle.minus(by);
        self.retry_at = self.retry_at.map(|retry| retry.minus(by));
        self.last_success = self.last_success.map(|last| last.min(at));
        self.begun = self.begun.map(|begun| begun.min(at));
        if let Some(silent) = &mut self.silent {
            (silent.since, silent.noted) = (silent.since.min(at), silent.noted.min(at));
        }
        if let Some(call) = &mut self.calling {
            (call.asked_at, call.until) = (call.asked_at.minus(by), call.until.minus(by));
        }
        if let Some((since, _)) = &mut self.failing {
            *since = (*since).min(at);
        }
        self.schedule.set_back(at, by);
        if let Some(cycle) = &mut self.cycle {
            cycle.appointments_only = cycle.appointments_only.map(|since| since.min(at));
        }
    }
}

/// A page request in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullCall {
    pub resource: Resource,
    pub call: u64,
    /// Time of the request. Another location may have read newer data since.
    #[serde(default)]
    pub asked_at: Timestamp,
    pub until: Timestamp,
    /// Records that our writes reached meanwhile; the page may show their earlier state.
    #[serde(rename = "landed")]
    pub written_during_pull: BTreeSet<u64>,
}
