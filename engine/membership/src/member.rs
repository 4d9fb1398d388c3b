//! The state machine of one process: evaluates snapshots of the table and prepares writes to it. It reads no
//! clock and no store.

use std::collections::BTreeMap;

use store::Batch;

use crate::{
    rendezvous::owner,
    table::{Node, NodeId, Proposal, Row, Snapshot, View, delete_row, expect_view, put_row},
};

/// Milliseconds on a monotonic clock of this process, with an arbitrary origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    fn since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct MembershipRules {
    /// How long a node may serve after it began a renewal, in milliseconds.
    pub period: u64,
}

impl MembershipRules {
    /// Returns the time without a renewal after which a node counts as gone. A quarter is added to the period for
    /// clocks of different speed.
    fn gone_after(self) -> u64 {
        self.period + self.period / 4
    }
}

/// The node that serves an institution, as known to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Mine,
    /// The address of the serving node.
    Elsewhere(String),
    /// The institution is moving, or this node cannot reach the store. Retry soon.
    Unsettled,
}

/// A change found in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// A new view. The node must release everything it does not own under the view, and then call `confirm_release`.
    View { epoch: u64 },
    /// From now on, this node serves the institutions it gained by the view.
    Settled,
}

#[derive(Clone, Copy)]
struct LastBeat {
    beats: u64,
    /// The time after the snapshot in which this value was first seen.
    at: Moment,
    /// `true` if another value was seen before.
    renewed: bool,
}

pub struct Member {
    node: Node,
    rules: MembershipRules,
    beats: u64,
    view: View,
    follows: u64,
    leaves: bool,
    serves: Option<u64>,
    /// The node has released everything and its row is deleted.
    left: bool,
    serves_until: Moment,
    /// `true` if all nodes follow the view.
    settled: bool,
    /// The last view that was settled while this node was a member, and the views since then.
    kept: Vec<View>,
    seen: BTreeMap<NodeId, LastBeat>,
}

impl Member {
    pub fn new(node: Node, rules: MembershipRules) -> Member {
        Member {
            node,
            rules,
            beats: 0,
            view: View::default(),
            follows: 0,
            leaves: false,
            serves: None,
            left: false,
            serves_until: Moment::default(),
            settled: false,
            kept: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    pub fn place(&self, institution: u32, now: Moment) -> Place {
        self.place_of(&institution.to_be_bytes(), now)
    }

    /// Like `place`, for other things that are placed on one node at a time. Their names are longer than the four
    /// bytes of an institution's number, so that keys cannot collide.
    pub fn place_of(&self, placed: &[u8], now: Moment) -> Place {
        let Some(of) = owner(&self.view, placed).filter(|_| now < self.serves_until) else {
            return Place::Unsettled;
        };
        if of.id != self.node.id {
            return Place::Elsewhere(of.address.clone());
        }
        let is_mine = |view: &View| owner(view, placed).is_some_and(|of| of.id == self.node.id);
        let kept = !self.kept.is_empty() && self.kept.iter().all(is_mine);
        if self.settled || kept { Place::Mine } else { Place::Unsettled }
    }

    /// Applies a snapshot of the table. `now` is a time after the snapshot was read, so the renewals in it began
    /// earlier.
    pub fn apply(&mut self, snapshot: &Snapshot, now: Moment) -> Option<MembershipChange> {
        self.note_renewals(snapshot, now);
        if snapshot.view.epoch > self.view.epoch {
            self.adopt(&snapshot.view);
            return Some(MembershipChange::View { epoch: self.view.epoch });
        }
        if self.settles(snapshot) {
            self.settled = true;
            self.kept = vec![self.view.clone()];
            return Some(MembershipChange::Settled);
        }
        None
    }

    /// Returns whether this node may serve the institutions it gained by the view. Preparations for serving must
    /// be finished before the snapshot is applied with `apply`.
    pub fn settles(&self, snapshot: &Snapshot) -> bool {
        let same = snapshot.view.epoch == self.view.epoch;
        same && !self.settled && self.is_member() && all_follow(&self.view, &snapshot.rows)
    }

    /// Notes the renewals in a snapshot. Must be called for each snapshot that is not applied, because a node without
    /// renewals counts as gone.
    pub fn note_renewals(&mut self, snapshot: &Snapshot, now: Moment) {
        let rows = &snapshot.rows;
        self.seen.retain(|id, _| rows.iter().any(|row| row.node.id == *id));
        for row in rows {
            let before = self.seen.get(&row.node.id).copied();
            if before.is_none_or(|before| before.beats != row.beats) {
                let seen = LastBeat { beats: row.beats, at: now, renewed: before.is_some() };
                self.seen.insert(row.node.id.clone(), seen);
            }
        }
    }

    fn adopt(&mut self, view: &View) {
        self.view = view.clone();
        self.settled = false;
        if !self.is_member() {
            self.kept.clear();
        } else if !self.kept.is_empty() {
            self.kept.push(view.clone());
        }
    }

    /// Confirms that nothing outside this node's share of the view of `epoch` is served or in progress here.
    pub fn confirm_release(&mut self, epoch: u64) {
        self.follows = self.follows.max(epoch);
    }

    /// Returns the next view if the snapshot requires one.
    pub fn proposal(&self, snapshot: &Snapshot, now: Moment) -> Option<Proposal> {
        if snapshot.view.epoch != self.view.epoch {
            return None;
        }
        let row = |id: &NodeId| snapshot.rows.iter().find(|row| row.node.id == *id);
        let is_gone = |id: &NodeId| {
            let silent = self.seen.get(id).is_none_or(|seen| now.since(seen.at) > self.rules.gone_after());
            silent && *id != self.node.id
        };
        let stays = |node: &&Node| row(&node.id).is_some_and(|row| !row.leaves && !is_gone(&node.id));
        let joins = |row: &&Row| {
            let new = !self.view.has(&row.node.id) && !row.leaves && row.follows == self.view.epoch;
            let renewed = self.seen.get(&row.node.id).is_some_and(|seen| seen.renewed);
            new && renewed && !is_gone(&row.node.id)
        };
        let mut nodes: Vec<Node> = self.view.nodes.iter().filter(stays).cloned().collect();
        let gone: Vec<&Row> = snapshot.rows.iter().filter(|row| is_gone(&row.node.id)).collect();
        let out = self.view.nodes.iter().map(|node| &node.id).filter(|id| !nodes.iter().any(|node| node.id == **id));
        // A former member that follows the current view has released everything.
        let still = |id: &&NodeId| row(id).is_some_and(|row| row.follows < self.view.epoch);
        let leaving = out.chain(self.view.leaving.iter().filter(still));
        let leaving: Vec<NodeId> = leaving.filter(|id| row(id).is_some() && !is_gone(id)).cloned().collect();
        for row in snapshot.rows.iter().filter(joins) {
            // A node writes to the store under its name, so two processes with the same name must not be members
            // together.
            let named = |id: &NodeId| id.name == row.node.id.name;
            if !nodes.iter().any(|node| named(&node.id)) && !leaving.iter().any(named) {
                nodes.push(row.node.clone());
            }
        }
        if nodes == self.view.nodes && gone.is_empty() {
            return None;
        }
        let gone = gone.into_iter().cloned().collect();
        Some(Proposal { view: View { epoch: self.view.epoch + 1, nodes, leaving }, gone })
    }

    /// Returns the batch that renews or deletes the row. Call `renewed` once it is durable. The batch conflicts
    /// if the view has changed: a node that counts as gone or has lost institutions must read the table first.
    pub fn renewal(&mut self) -> Batch {
        let mut batch = Batch::new();
        expect_view(&mut batch, self.view.epoch);
        if self.may_end() {
            delete_row(&mut batch, &self.node.id);
        } else {
            self.beats += 1;
            let (node, beats, follows) = (self.node.clone(), self.beats, self.follows);
            let row = Row { node, beats, follows, leaves: self.leaves, serves: self.serves };
            put_row(&mut batch, &row);
        }
        batch
    }

    /// Returns the fields of its row that other nodes wait for.
    pub fn published(&self) -> (u64, bool, Option<u64>) {
        (self.follows, self.leaves, self.serves)
    }

    /// Sets the digest of the configuration this node serves from now on.
    pub fn set_configuration(&mut self, digest: u64) {
        self.serves = Some(digest);
    }

    /// Returns the nodes whose configuration differs from this node's.
    pub fn nodes_configured_differently<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = &'a Node> {
        let differs = |row: &&Row| row.serves.is_some() && row.serves != self.serves;
        // This node's own row may still contain the previous digest.
        snapshot.rows.iter().filter(differs).map(|row| &row.node).filter(|node| node.id.name != self.node.id.name)
    }

    /// Extends the lease. `begun` is the time when the renewal was passed to the store, or earlier.
    pub fn renewed(&mut self, begun: Moment) {
        if self.may_end() {
            self.left = true;
        } else {
            self.serves_until = self.serves_until.max(Moment(begun.0 + self.rules.period));
        }
    }

    /// Requests to leave the cluster.
    pub fn leave(&mut self) {
        self.leaves = true;
    }

    pub fn has_left(&self) -> bool {
        self.left
    }

    /// Returns whether this node is a member with a valid lease.
    pub fn is_serving(&self, now: Moment) -> bool {
        self.is_member() && now < self.serves_until
    }

    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        &self.node.id.name
    }

    /// Returns whether another process with the same node name is a member.
    pub fn is_kept_out(&self) -> bool {
        let own = &self.node.id;
        self.view.nodes.iter().any(|node| node.id.name == own.name && node.id != *own)
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    fn is_member(&self) -> bool {
        self.view.has(&self.node.id)
    }

    fn may_end(&self) -> bool {
        self.leaves && !self.is_member() && self.follows >= self.view.epoch
    }
}

fn all_follow(view: &View, rows: &[Row]) -> bool {
    let row = |id: &NodeId| rows.iter().find(|row| row.node.id == *id);
    let members = view.nodes.iter().all(|node| row(&node.id).is_some_and(|row| row.follows >= view.epoch));
    // A node without a row has left.
    members && view.leaving.iter().all(|id| row(id).is_none_or(|row| row.follows >= view.epoch))
}
