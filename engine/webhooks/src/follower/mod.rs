//! The follower of the log of changes: it enqueues the messages of each commit, in order, after the commit.
//!
//! ```text
//!  log of changes ──► steps of each commit ──► render ──► batch: deliveries, counts, position ──► store
//!       │                                        ▲
//!       └─ later changes ──► history ────────────┘ records after the commit
//! ```
//!
//! A position per institution is the durable cursor. Deliveries, their counts and the position enter one batch, which
//! expects the position that was read. So each message is enqueued once, by one of the processes that share the store,
//! and a follower that stops at any point continues there. A change is never lost: the log keeps it until it is
//! followed (`followed_to`).
//!
//! A message shows the records as they were after its commit (`history`). Changes that are followed late, after more
//! later changes than are read ahead, may show a newer state; their messages have `is_newer`. Related records may be
//! newer by the changes committed while the message is rendered.
//!
//! An institution without subscriptions costs one look-up in memory. A subscription gets the changes after the number
//! at which it was created. The lowest of these numbers is where an institution without a position begins. Changes that
//! cause no message move the position in memory only, until there are many of them. Among these are the changes of
//! versions that sent messages in the commit of a change: their headers have no turn.
//!
//! The position passes a number only if its change was found, or if no stream of the institution has it. Reads begin
//! with the streams of locations that reported commits (`places`). So the cost of a batch does not grow with the number
//! of locations, if the store numbers the changes of the institution without gaps.

mod batch;
mod history;
mod lag;
mod places;
mod position;
mod render;
mod repair;
mod run;
mod steps;
mod sync_status;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    rc::Rc,
    sync::Arc,
};

use location::{
    ids::{InstitutionId, LocationId},
    time::Timestamp,
};
use parking_lot::Mutex;
use query::{
    feed,
    log::{LoggedCommit, LoggedCommits},
};
use setup::{Current, Institution, LocationSetup, Setup};
use store::{Batch, Key, Store, StoreError, Version};

use self::{
    batch::{Cause, MOST_KEYS, MessageBatch, Outgoing},
    history::History,
    lag::Lags,
    places::{ActiveLocations, Places},
    position::Position,
    render::Renderer,
    steps::{Step, steps},
    sync_status::{StatusMessage, StatusThrottle},
};
pub use self::{lag::Lag, repair::repair_numbers};
use crate::{
    catalogue::{Event, EventName, ResourceType},
    model::Payload,
    outbox::{Enqueued, Outbox},
    payload::{self, Message},
    subscriptions::Recipients,
    views::{ViewContext, ViewError, Views},
};

/// Limits of a batch. Tests set lower ones.
#[derive(Clone, Copy)]
struct Sizes {
    /// Size of the changes that are read for one batch. Several times what fits into it in most cases.
    window: usize,
    /// Size of the later changes that are read to find the states of records. It bounds the memory and the work of a
    /// follower that is far behind.
    look_ahead: usize,
    batch_keys: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { window: 2 << 20, look_ahead: 4 << 20, batch_keys: MOST_KEYS }
    }
}

/// Numbers of changes without messages after which the position is stored. A start reads at most these again.
const STORED_EVERY: u64 = 10_000;

/// Predicate that returns `true` if an institution is currently placed on this node.
pub type IsLocal = Arc<dyn Fn(InstitutionId) -> bool + Send + Sync>;

/// The follower of all institutions that are placed on this node.
pub struct Follower {
    setup: Arc<Current>,
    store: Arc<dyn Store>,
    outbox: Outbox,
    views: Arc<dyn Views>,
    /// `None` if one process follows all institutions.
    is_local: Option<IsLocal>,
    /// The number up to which changes cause no message, by institution, and the version of the stored position.
    passed: Mutex<HashMap<InstitutionId, (Option<Version>, u64)>>,
    lags: Lags,
    active: ActiveLocations,
    sizes: Sizes,
}

/// The next work of an institution.
#[derive(Default)]
pub struct FollowerStep {
    pub batch: Option<FollowerBatch>,
    pub more: bool,
    /// The time at which a held message is due.
    pub due: Option<Timestamp>,
}

/// A batch of messages. Pass it to `Follower::committed` once its `batch` is durable.
pub struct FollowerBatch {
    pub batch: Batch,
    enqueued: Enqueued,
    institution: InstitutionId,
    /// The lag once the batch is durable.
    lag: Option<Lag>,
}

impl Follower {
    pub fn new(
        setup: Arc<Current>,
        store: Arc<dyn Store>,
        outbox: Outbox,
        views: Arc<dyn Views>,
        is_local: Option<IsLocal>,
    ) -> Arc<Follower> {
        Arc::new(Follower {
            setup,
            store,
            outbox,
            views,
            is_local,
            passed: Mutex::default(),
            lags: Lags::default(),
            active: ActiveLocations::default(),
            sizes: Sizes::default(),
        })
    }

    /// Prepares the next batch of an institution, without changing the store.
    pub fn prepare(&self, institution: InstitutionId, now: Timestamp) -> Result<FollowerStep, StoreError> {
        let setup = self.setup.load_full();
        let Some(followed) = setup.institutions.get(&institution) else { return Ok(FollowerStep::default()) };
        if self.outbox.subscriptions().starts(institution).is_none() {
            return Ok(FollowerStep::default());
        }
        // Read in this order: a partly enqueued commit is not after `end`, and every subscription that was created
        // before a change up to `end` is known, also those of other nodes.
        let (stored, version) = Position::read(&*self.store, institution)?;
        let end = feed::end(&*self.store, institution.0)?;
        let mut batch = Batch::new();
        let enqueued = self.outbox.begin(institution, &mut batch)?;
        let Some((lowest, highest)) = self.outbox.subscriptions().starts(institution) else {
            return Ok(FollowerStep::default());
        };
        if let Some(last) = stored.last_delivery {
            self.outbox.subscriptions().delivery_ids.advance_past(last);
        }
        let passed = self.passed.lock().get(&institution).filter(|(of, _)| *of == version).map_or(0, |(_, to)| *to);
        let position = stored.at_least(lowest).at_least(passed);
        let active = self.active.take(institution);
        let places = Places::new(&setup, institution, &active);
        let read = places.commits(&*self.store, (position.after, end), self.sizes.window)?;
        self.lags.set(institution, Lag::new(position.after, end, &read.commits));
        let (wants_status, mut throttle) = (self.wants_status(institution), StatusThrottle::default());
        if wants_status {
            throttle = StatusThrottle::load(&*self.store, places.locations.iter().copied(), now)?;
        }
        let stored_records = self.records_to_send(&setup, institution, &read.commits)?;
        let now_end = if read.commits.is_empty() { end } else { feed::end(&*self.store, institution.0)? };
        let ahead = places.commits(&*self.store, (read.read_to, now_end), self.sizes.look_ahead)?;
        let all = read.commits.iter().chain(&ahead.commits);
        let history = History::new(&*self.store, all, stored_records, ahead.read_to >= now_end);
        let mut publisher = Publisher {
            follower: self,
            setup: &setup,
            institution: followed,
            history: &history,
            highest,
            recipients: HashMap::new(),
            wants_status,
            throttle,
            messages: MessageBatch::new(&self.outbox, followed, (batch, enqueued), now, self.sizes.batch_keys),
        };
        let (reached, is_full) = publisher.publish(&read, position)?;
        let more = is_full || reached.after < end;
        if more {
            self.active.add(institution, active);
        }
        // Alone in a batch, so that there is room for them.
        let is_due = publisher.throttle.due().is_some_and(|at| at <= now);
        if !more && publisher.messages.enqueued.is_empty() && is_due {
            publisher.publish_due(now)?;
        }
        let due = publisher.throttle.due();
        let lag = Lag::new(reached.after, now_end, read.commits.iter().chain(&ahead.commits));
        if !is_full && publisher.is_empty() && reached.after.saturating_sub(stored.after) < STORED_EVERY {
            self.passed.lock().insert(institution, (version, reached.after));
            self.lags.set(institution, lag);
            return Ok(FollowerStep { batch: None, more, due });
        }
        let batch = publisher.finish(reached, stored, version, lag);
        Ok(FollowerStep { batch: Some(batch), more, due })
    }

    pub fn committed(&self, batch: FollowerBatch) {
        self.outbox.committed(batch.enqueued);
        self.lags.set(batch.institution, batch.lag);
    }

    /// Returns the lag of the institutions that this process follows, or `None` if it has followed all changes.
    pub fn lag(&self) -> Option<Lag> {
        self.lags.total(|institution| self.follows(institution))
    }

    /// Returns the number up to which the changes of a location are followed: later ones must be kept. Returns
    /// `u64::MAX` if no follower needs any.
    pub fn followed_to(&self, location: LocationId) -> Result<u64, StoreError> {
        let setup = self.setup.load_full();
        let institution = setup.locations.get(&location).map(|location| location.institution);
        let Some((institution, (lowest, _))) =
            institution.and_then(|id| Some((id, self.outbox.subscriptions().starts(id)?)))
        else {
            return Ok(u64::MAX);
        };
        Ok(Position::read(&*self.store, institution)?.0.at_least(lowest).after)
    }

    fn wants_status(&self, institution: InstitutionId) -> bool {
        let events = ResourceType::SyncStatus.events();
        events.iter().any(|event| self.outbox.has_subscribers_for(institution, *event))
    }

    /// Reads the changed records that subscribers are sent.
    fn records_to_send(
        &self,
        setup: &Setup,
        institution: InstitutionId,
        commits: &[LoggedCommit],
    ) -> Result<HashMap<Key, Option<Vec<u8>>>, StoreError> {
        let (mut keys, mut wanted) = (BTreeSet::new(), HashMap::new());
        for step in commits.iter().flat_map(|commit| steps(commit, setup)) {
            let (event, of_step): (Event, Vec<Key>) = match step {
                Step::Status(_) => continue,
                Step::Ended { name, key, .. } => (name.event(), key.into_iter().collect()),
                Step::Changed { name, records } => {
                    (name.event(), records.into_iter().map(|record| record.key).collect())
                }
                Step::Fact { name, record, .. } => (name.event(), vec![record.key]),
            };
            if *wanted.entry(event).or_insert_with(|| self.outbox.has_subscribers_for(institution, event)) {
                keys.extend(of_step);
            }
        }
        let keys: Vec<Key> = keys.into_iter().collect();
        // On a remote store, an empty read costs a round trip too.
        let found = if keys.is_empty() { Vec::new() } else { self.store.get_many(&keys)? };
        Ok(keys.into_iter().zip(found).collect())
    }
}

struct Publisher<'p> {
    follower: &'p Follower,
    setup: &'p Setup,
    institution: &'p Institution,
    history: &'p History<'p>,
    /// The highest number after which a subscription is sent changes.
    highest: u64,
    /// The recipients of messages about a change, by event and number. All numbers above `highest` count as one.
    recipients: HashMap<(EventName, u64), Vec<Rc<Recipients>>>,
    wants_status: bool,
    throttle: StatusThrottle,
    messages: MessageBatch<'p>,
}

impl Publisher<'_> {
    /// Adds the messages of the commits from a position. Returns the position reached, and `true` if the batch is full.
    fn publish(&mut self, read: &LoggedCommits, from: Position) -> Result<(Position, bool), StoreError> {
        let mut position = from;
        for commit in &read.commits {
            let done = if position.steps_of == commit.last { position.steps } else { 0 };
            position.steps = 0;
            for (number, step) in steps(commit, self.setup).iter().enumerate().skip(done) {
                let throttle = matches!(step, Step::Status(_)).then(|| self.throttle.clone());
                let messages = match self.rendered(commit, step) {
                    Ok(messages) => messages,
                    Err(ViewError::Store(error)) => return Err(error),
                    Err(ViewError::Damaged) => {
                        let institution = self.institution.id;
                        tracing::error!(%institution, change = commit.last, "a record for webhooks cannot be decoded");
                        Vec::new()
                    }
                };
                let is_newer = self.may_be_newer(commit, step);
                let cause = Cause { time: commit.header.at, origin: commit.header.origin.as_deref(), is_newer };
                if !self.messages.add(messages, cause) {
                    if let Some(throttle) = throttle {
                        self.throttle = throttle;
                    }
                    return Ok((Position { steps: number, steps_of: commit.last, ..position }, true));
                }
            }
            position.after = commit.last;
        }
        Ok((Position { after: read.read_to.max(position.after), ..position }, false))
    }

    fn publish_due(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let mut messages = Vec::new();
        for (location, news) in self.throttle.due_messages(now) {
            let Some(location) = self.setup.locations.get(&location) else { continue };
            match self.rendered_status(location, u64::MAX, now, &[news]) {
                Ok(rendered) => messages.extend(rendered),
                Err(ViewError::Store(error)) => return Err(error),
                Err(ViewError::Damaged) => {}
            }
        }
        self.messages.add(messages, Cause { time: now, origin: None, is_newer: false });
        Ok(())
    }

    /// Returns `true` if the batch would change nothing but the position.
    fn is_empty(&self) -> bool {
        self.messages.enqueued.is_empty() && !self.throttle.is_changed()
    }

    fn finish(self, reached: Position, stored: Position, version: Option<Version>, lag: Option<Lag>) -> FollowerBatch {
        let MessageBatch { mut batch, enqueued, .. } = self.messages;
        self.throttle.put(&mut batch);
        let last_delivery = enqueued.last().or(stored.last_delivery);
        let institution = self.institution.id;
        Position { last_delivery, ..reached }.put(institution, version, &mut batch);
        FollowerBatch { batch, enqueued, institution, lag }
    }

    fn rendered(&mut self, commit: &LoggedCommit, step: &Step<'_>) -> Result<Vec<Outgoing>, ViewError> {
        let (setup, number, at) = (self.setup, commit.last, commit.header.at);
        let location = commit.header.turn.and_then(|(location, _)| setup.locations.get(&location));
        let Some(location) = location else { return Ok(Vec::new()) };
        match step {
            Step::Status(change) => {
                if !self.wants_status {
                    return Ok(Vec::new());
                }
                let news = self.throttle.change(location.id, change, at.min(self.messages.now));
                self.rendered_status(location, number, at, &news)
            }
            Step::Ended { name, write, key } => {
                self.rendered_for_all(*name, location, number, at, |renderer| match key {
                    Some(key) => renderer.ended(name.event(), write, key),
                    None => Ok(Vec::new()),
                })
            }
            Step::Changed { name, records } => {
                self.rendered_for_all(*name, location, number, at, |renderer| renderer.changed(name.event(), records))
            }
            Step::Fact { name, fact, by, record } => self.rendered_for_all(*name, location, number, at, |renderer| {
                renderer.fact(name.event(), (*fact, *by), record)
            }),
        }
    }

    fn rendered_status(
        &mut self,
        location: &Arc<LocationSetup>,
        number: u64,
        at: Timestamp,
        news: &[StatusMessage],
    ) -> Result<Vec<Outgoing>, ViewError> {
        let mut messages = Vec::new();
        for news in news {
            let Some(name) = EventName::change(news.event) else { continue };
            messages.extend(self.rendered_for_all(name, location, number, at, |renderer| renderer.status(name, news))?);
        }
        Ok(messages)
    }

    /// Renders messages once for all recipients of the same content.
    fn rendered_for_all(
        &mut self,
        name: EventName,
        location: &Arc<LocationSetup>,
        number: u64,
        now: Timestamp,
        render: impl Fn(Renderer<'_>) -> Result<Vec<Message>, ViewError>,
    ) -> Result<Vec<Outgoing>, ViewError> {
        let (outbox, institution) = (&self.follower.outbox, self.institution.id);
        let number_of_group = number.min(self.highest.saturating_add(1));
        let groups = self.recipients.entry((name, number_of_group)).or_insert_with(|| {
            outbox.recipients(institution, name, number_of_group).into_iter().map(Rc::new).collect()
        });
        let mut messages = Vec::new();
        for recipients in groups.iter() {
            let (version, amounts) = (recipients.version.as_str(), recipients.amounts);
            let context = ViewContext { setup: self.setup, location, version, amounts, now };
            let (views, history) = (&*self.follower.views, self.history);
            let mut rendered = render(Renderer { views, history, context, recipients, number })?;
            if recipients.payload == Payload::Ids {
                rendered.iter_mut().for_each(|message| message.data = payload::ids(name.event(), &message.data));
            }
            messages.extend(rendered.into_iter().map(|message| Outgoing::new(name, recipients.clone(), message)));
        }
        Ok(messages)
    }

    fn may_be_newer(&self, commit: &LoggedCommit, step: &Step<'_>) -> bool {
        match step {
            Step::Status(_) => false,
            Step::Ended { key, .. } => key.as_ref().is_some_and(|key| self.history.may_be_newer(key, commit.last)),
            Step::Changed { records, .. } => {
                records.iter().any(|record| self.history.may_be_newer(&record.key, commit.last))
            }
            Step::Fact { record, .. } => self.history.may_be_newer(&record.key, commit.last),
        }
    }
}
