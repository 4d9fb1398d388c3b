//! This process as a node of a cluster: its membership in the store, and the placement of institutions.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use location::InstitutionId;
use membership::{Member, MembershipChange, MembershipRules, Moment, Node, NodeId, Place, Snapshot, read_snapshot};
use parking_lot::Mutex;
use runtime::clock;
use setup::{NodeRules, Setup};
use sha2::{Digest, Sha256};
use store::{CommitError, Store, StoreError};
use tokio::sync::{Notify, watch};
use webhooks::{model::EndpointId, placement::Placement, registry::EndpointRegistry};

/// Reads and renewals per period, so that a failed one can be repeated in time.
const BEATS: u32 = 4;

/// The cluster as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Name of this node.
    pub name: String,
    /// Increases whenever members join or leave.
    pub view: u64,
    pub members: Vec<String>,
    /// The node is a member that has renewed its lease in time.
    pub is_serving: bool,
    /// The node is not a member, because another process of its name is.
    pub is_kept_out: bool,
}

pub(crate) struct Cluster {
    name: String,
    store: Arc<dyn Store>,
    member: Mutex<Member>,
    began: Instant,
    period: Duration,
    /// Ends the pause before the next beat.
    soon: Notify,
    /// The last published state of this node's row.
    reported: Mutex<Option<(u64, bool, Option<u64>)>>,
    /// Addresses of the other nodes, sent whenever this node has published something that they wait for.
    announcements: watch::Sender<Vec<String>>,
    /// Addresses of nodes with another configuration, as of the last read.
    otherwise: Mutex<Vec<String>>,
}

impl Cluster {
    pub(crate) fn new(store: Arc<dyn Store>, rules: NodeRules, setup: &Setup) -> Arc<Cluster> {
        let (name, id) = (rules.name.clone(), NodeId::new(rules.name, clock::random()));
        let period = u64::try_from(rules.period.as_millis()).unwrap_or(u64::MAX);
        let mut member = Member::new(Node { id, address: rules.address }, MembershipRules { period });
        member.set_configuration(places(setup));
        let (began, period, soon, announcements) =
            (Instant::now(), rules.period, Notify::new(), watch::Sender::default());
        let (member, reported, otherwise) = (Mutex::new(member), Mutex::default(), Mutex::default());
        Arc::new(Cluster { name, store, member, began, period, soon, reported, announcements, otherwise })
    }

    /// Applies another setup, and publishes the digest of its placements at once.
    pub(crate) fn apply_setup(&self, setup: &Setup) {
        // The digest of many locations takes a while, so it is computed without the lock.
        let places = places(setup);
        self.member.lock().set_configuration(places);
        self.soon.notify_one();
    }

    /// Returns the addresses of nodes whose configuration has other institutions or locations than this node's.
    pub(crate) fn nodes_configured_differently(&self) -> Vec<String> {
        self.otherwise.lock().clone()
    }

    fn note_otherwise(&self, snapshot: &Snapshot) {
        let member = self.member.lock();
        let (names, found): (Vec<&str>, Vec<String>) = member
            .nodes_configured_differently(snapshot)
            .map(|node| (node.id.name.as_str(), node.address.clone()))
            .unzip();
        let mut otherwise = self.otherwise.lock();
        if *otherwise != found {
            match names.join(", ") {
                none if none.is_empty() => tracing::info!("all nodes have the same institutions and locations"),
                nodes => tracing::info!(nodes, "these nodes have other institutions or locations than this one"),
            }
            *otherwise = found;
        }
    }

    pub(crate) fn place(&self, institution: InstitutionId) -> Place {
        let now = self.now();
        self.member.lock().place(institution.0, now)
    }

    pub(crate) fn nodes(&self) -> Nodes {
        let now = self.now();
        let member = self.member.lock();
        Nodes {
            name: self.name.clone(),
            view: member.view().epoch,
            members: member.view().nodes.iter().map(|node| node.id.name.clone()).collect(),
            is_serving: member.is_serving(now),
            is_kept_out: member.is_kept_out(),
        }
    }

    pub(crate) fn has_left(&self) -> bool {
        self.member.lock().has_left()
    }

    /// Confirms that nothing of other nodes under the view of `epoch` is in memory any more.
    pub(crate) fn confirm_release(&self, epoch: u64) {
        self.member.lock().confirm_release(epoch);
        self.soon.notify_one();
    }

    /// Reads the rows at once, because another node has published something.
    pub(crate) fn refresh_members(&self) {
        self.soon.notify_one();
    }

    /// Returns a receiver that changes when this node has published something that others wait for. It holds their
    /// addresses.
    pub(crate) fn announcements(&self) -> watch::Receiver<Vec<String>> {
        self.announcements.subscribe()
    }

    fn announce(&self, snapshot: &Snapshot) {
        let own = self.name.as_str();
        let others = snapshot.rows.iter().map(|row| &row.node).filter(|node| node.id.name != own);
        self.announcements.send_replace(others.map(|node| node.address.clone()).collect());
    }

    /// Waits for the next beat.
    pub(crate) async fn pause(&self) {
        tokio::select! {
            () = tokio::time::sleep(self.period / BEATS) => {}
            () = self.soon.notified() => {}
        }
    }

    /// Hands everything over, and waits up to `grace` until the membership has ended.
    pub(crate) async fn leave(&self, grace: Duration) {
        self.member.lock().leave();
        self.soon.notify_one();
        let left = async {
            while !self.has_left() {
                tokio::time::sleep(self.period / BEATS / 4).await;
            }
        };
        if tokio::time::timeout(grace, left).await.is_err() {
            tracing::warn!(
                "the other nodes were not notified of the shutdown in time; they take over when the lease expires"
            );
        }
    }

    /// Reads the rows once, and acts on them.
    pub(crate) async fn beat(&self, webhooks: &EndpointRegistry) -> Result<Option<MembershipChange>, CommitError> {
        let snapshot = self.reading(read_snapshot).await?;
        self.note_otherwise(&snapshot);
        let settles = self.member.lock().settles(&snapshot);
        // Must precede `apply`, and thus the first message about an institution that comes here. Institutions that stay
        // are served meanwhile.
        let news = match if settles { webhooks.arrive().await } else { Ok(()) } {
            Ok(()) => self.member.lock().apply(&snapshot, self.now()),
            Err(error) => {
                tracing::error!(%error, "webhooks could not be taken over; nothing comes to this node before they are");
                self.member.lock().note_renewals(&snapshot, self.now());
                None
            }
        };
        let proposal = self.member.lock().proposal(&snapshot, self.now());
        if let Some(proposal) = proposal
            && let Some(batch) = self.reading(move |store| proposal.batch(store)).await?
        {
            match self.store.commit(batch).await {
                // The next read shows the new members.
                Ok(()) => {
                    self.soon.notify_one();
                    self.announce(&snapshot);
                }
                Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (begun, renewal, reported) = {
            let mut member = self.member.lock();
            (self.now(), member.renewal(), member.published())
        };
        match self.store.commit(renewal).await {
            Ok(()) => {
                self.member.lock().renewed(begun);
                if self.reported.lock().replace(reported) != Some(reported) {
                    self.announce(&snapshot);
                }
            }
            // The next read shows the view that caused the conflict.
            Err(CommitError::Conflict { .. }) => self.soon.notify_one(),
            Err(error) => return Err(error),
        }
        Ok(news)
    }

    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || read(&*store)).await;
        read.unwrap_or_else(|ended| Err(StoreError::Refusing { why: ended.to_string() }))
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Returns a digest of everything that nodes can host: institutions by name, and their locations.
fn places(setup: &Setup) -> u64 {
    let mut all = Sha256::new();
    for (id, institution) in &setup.institutions {
        all.update(format!("institution {id} {}\n", institution.subdomain));
    }
    for (id, location) in &setup.locations {
        all.update(format!("location {id} of {}\n", location.institution));
    }
    u64::from_be_bytes(*all.finalize().first_chunk().expect("a digest is longer"))
}

impl Placement for Cluster {
    fn is_here(&self, endpoint: EndpointId) -> bool {
        let (now, placed) = (self.now(), format!("webhook endpoint {endpoint}"));
        self.member.lock().place_of(placed.as_bytes(), now) == Place::Mine
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_gone(&self, name: &str) -> Result<bool, StoreError> {
        Ok(!read_snapshot(&*self.store)?.rows.iter().any(|row| row.node.id.name == name))
    }
}
