//! The task that runs the follower: woken by commits, by changed subscriptions, by timers of held messages, and by a
//! clock, which finds changes whose wake-up was lost, or that another node left.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::Arc,
    time::Duration,
};

use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use runtime::{clock, doorbell::Doorbell};
use store::{CommitError, StoreError};
use tokio::{
    task::{self, JoinSet, spawn_blocking},
    time::{MissedTickBehavior, interval, sleep},
};

use super::{Follower, FollowerStep, places::by_institution};
use crate::limits::MAX_SLEEP;

/// Number of institutions that are followed concurrently.
const AT_ONCE: usize = 8;
/// Batches of one institution before others have their turn.
const BATCHES_AT_ONCE: usize = 4;
/// The interval at which all institutions are compared with the log: on a store that nodes share, and on another one.
const POLL_SHARED: Duration = Duration::from_secs(5);
const POLL_ALONE: Duration = Duration::from_secs(60);
/// Pause after a failure of the store, or a panic. Each further failure doubles it, up to the longest pause.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const AFTER_CONFLICT: Duration = Duration::from_millis(20);

/// Returns the next institution that waits and is not being followed.
fn next(
    waiting: &BTreeSet<InstitutionId>,
    last: InstitutionId,
    busy: &BTreeSet<InstitutionId>,
) -> Option<InstitutionId> {
    let after = waiting.range((Bound::Excluded(last), Bound::Unbounded));
    after.chain(waiting).copied().find(|institution| !busy.contains(institution))
}

/// Returns the pause after a failure that followed another pause.
pub(super) fn pause_after(last: Option<Duration>) -> Duration {
    last.map_or(AFTER_FAILURE, |last| LONGEST_PAUSE.min(2 * last))
}

/// The end of a task without a failure.
struct Followed {
    more: bool,
    due: Option<Timestamp>,
}

impl Follower {
    /// Creates the doorbell for `run`. It ignores locations of institutions that are not followed, so that their
    /// commits wake no task.
    pub fn doorbell(self: &Arc<Self>) -> Arc<Doorbell<LocationId>> {
        let this = self.clone();
        Arc::new(Doorbell::for_keys(move |location| {
            this.setup.load_full().locations.get(location).is_some_and(|location| this.follows(location.institution))
        }))
    }

    /// Follows all local institutions forever. `commits` receives the locations with new commits.
    pub async fn run(self: Arc<Self>, commits: Arc<Doorbell<LocationId>>) {
        let every = if self.is_local.is_some() { POLL_SHARED } else { POLL_ALONE };
        let (mut tasks, mut running) = (JoinSet::new(), HashMap::<task::Id, InstitutionId>::new());
        // An institution is busy also during the pause after a failure, which new commits do not end.
        let (mut busy, mut pauses) = (BTreeSet::new(), JoinSet::new());
        let mut failures = HashMap::<InstitutionId, Duration>::new();
        let (mut waiting, mut due) = (BTreeSet::new(), BTreeMap::<InstitutionId, Timestamp>::new());
        let (mut looks, mut last) = (interval(every), InstitutionId(0));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let subscribed = &self.outbox.subscriptions().changed;
        loop {
            let now = clock::now();
            waiting.extend(due.extract_if(.., |_, at| *at <= now).map(|(institution, _)| institution));
            // Round robin, so that institutions with much work delay the others by some batches only.
            while tasks.len() < AT_ONCE
                && let Some(institution) = next(&waiting, last, &busy)
            {
                waiting.remove(&institution);
                last = institution;
                if self.follows(institution) {
                    busy.insert(institution);
                    running.insert(tasks.spawn(self.clone().follow(institution)).id(), institution);
                }
            }
            let pause = due.values().min().map_or(MAX_SLEEP, |at| at.since(now).clamp(1, MAX_SLEEP));
            tokio::select! {
                Some(done) = tasks.join_next_with_id() => {
                    let id = match &done {
                        Ok((id, _)) => *id,
                        Err(error) => error.id(),
                    };
                    let Some(institution) = running.remove(&id) else { continue };
                    if let Err(error) = &done {
                        tracing::error!(%institution, %error, "webhooks do not follow the changes: a fault");
                    }
                    match done.ok().and_then(|(_, followed)| followed) {
                        Some(Followed { more, due: held }) => {
                            busy.remove(&institution);
                            failures.remove(&institution);
                            if more {
                                waiting.insert(institution);
                            }
                            due.extend(held.map(|at| (institution, at)));
                        }
                        None => {
                            let pause = pause_after(failures.get(&institution).copied());
                            failures.insert(institution, pause);
                            pauses.spawn(async move {
                                sleep(pause).await;
                                institution
                            });
                        }
                    }
                }
                Some(Ok(institution)) = pauses.join_next() => {
                    busy.remove(&institution);
                    waiting.insert(institution);
                }
                () = commits.wait() => waiting.extend(self.begin(commits.take())),
                () = subscribed.wait() => waiting.extend(subscribed.take()),
                _ = looks.tick() => waiting.extend(self.setup.load_full().institutions.keys().copied()),
                () = sleep(Duration::from_millis(pause.unsigned_abs())) => {}
            }
        }
    }

    /// Records new commits of locations. Returns the institutions to follow.
    pub(super) fn begin(&self, locations: BTreeSet<LocationId>) -> Vec<InstitutionId> {
        let mut active = by_institution(&self.setup.load_full(), locations);
        active.retain(|institution, _| self.follows(*institution));
        active
            .into_iter()
            .map(|(institution, locations)| {
                self.lags.begin(institution, clock::now());
                self.active.add(institution, locations);
                institution
            })
            .collect()
    }

    /// Returns `true` if this process follows the institution: it is local and has subscriptions.
    pub(super) fn follows(&self, institution: InstitutionId) -> bool {
        let is_local = self.is_local.as_ref().is_none_or(|is_local| is_local(institution));
        is_local && self.outbox.subscriptions().starts(institution).is_some()
    }

    /// Follows an institution for some batches. Returns `None` after a failure, which is logged.
    async fn follow(self: Arc<Self>, institution: InstitutionId) -> Option<Followed> {
        let mut followed = Followed { more: true, due: None };
        for _ in 0..BATCHES_AT_ONCE {
            match self.follow_once(institution).await {
                Ok(FollowerStep { more, due, .. }) => (followed.more, followed.due) = (more, due),
                // Another node follows the institution, or its recipients have changed.
                Err(CommitError::Conflict { .. }) => {
                    followed.more = true;
                    sleep(AFTER_CONFLICT).await;
                }
                Err(CommitError::Store(error @ StoreError::Damaged { .. })) => {
                    tracing::error!(%institution, %error, "webhooks do not follow the changes; trying again");
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%institution, %error, "webhooks do not follow the changes; trying again");
                    return None;
                }
            }
            if !followed.more {
                break;
            }
        }
        Some(followed)
    }

    async fn follow_once(self: &Arc<Self>, institution: InstitutionId) -> Result<FollowerStep, CommitError> {
        // Reads wait for a remote store, and rendering takes long.
        let this = self.clone();
        let prepared = spawn_blocking(move || this.prepare(institution, clock::now())).await;
        let mut step = prepared.unwrap_or_else(|ended| Err(StoreError::Unknown { why: ended.to_string() }))?;
        if let Some(mut prepared) = step.batch.take() {
            self.store.commit(std::mem::take(&mut prepared.batch)).await?;
            self.committed(prepared);
        }
        Ok(step)
    }
}
