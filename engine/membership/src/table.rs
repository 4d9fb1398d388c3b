//! The table in the store: one row per process, and the views in the order of their epochs.

use serde::{Deserialize, Serialize};
use store::{
    Batch, Direction, Store, StoreError,
    keys::{self, Space},
};
use uuid::Uuid;

/// The identity of a process: the configured name of its node, and a random incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId {
    pub name: String,
    pub incarnation: Uuid,
}

impl NodeId {
    /// Creates the id of a new process. `random` distinguishes it from other processes with the same name.
    pub fn new(name: String, random: [u8; 16]) -> NodeId {
        NodeId { name, incarnation: Uuid::from_bytes(random) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    /// The address for requests from other nodes.
    pub address: String,
}

/// Written by its process. Deleted by its process after it has released everything, or by a node that finds
/// the process gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub node: Node,
    /// Incremented by each renewal.
    pub beats: u64,
    /// The last view for which the node has released everything it does not own.
    pub follows: u64,
    /// The node wants to leave.
    pub leaves: bool,
    /// A digest of the configuration this node serves. Nodes with different digests know different locations.
    /// `None` if the node reports no digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<u64>,
}

/// The members of the cluster. The epoch increases by one with each view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub epoch: u64,
    pub nodes: Vec<Node>,
    /// Members of earlier views that may still serve something.
    pub leaving: Vec<NodeId>,
}

impl View {
    pub fn has(&self, id: &NodeId) -> bool {
        self.nodes.iter().any(|node| node.id == *id)
    }
}

/// A consistent snapshot of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub rows: Vec<Row>,
    pub view: View,
}

pub fn read_snapshot(store: &dyn Store) -> Result<Snapshot, StoreError> {
    // One scan reads one consistent state.
    let mut snapshot = Snapshot::default();
    for (key, value) in store.scan(Space::Membership.range(), Direction::Forward, usize::MAX)? {
        let damaged = |_| StoreError::damaged(&key, "not a row of the membership table");
        match keys::parse_member_view(&key) {
            Some(_) => snapshot.view = serde_json::from_slice(&value).map_err(damaged)?,
            None => snapshot.rows.push(serde_json::from_slice(&value).map_err(damaged)?),
        }
    }
    Ok(snapshot)
}

fn row_key(id: &NodeId) -> Vec<u8> {
    keys::member_node(&id.name, id.incarnation.as_bytes())
}

pub(crate) fn put_row(batch: &mut Batch, row: &Row) {
    batch.put(row_key(&row.node.id), encoded(row));
}

pub(crate) fn delete_row(batch: &mut Batch, id: &NodeId) {
    batch.delete(row_key(id));
}

/// A new view proposed by a member, with the rows of the nodes that are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub view: View,
    pub gone: Vec<Row>,
}

impl Proposal {
    /// Returns the commit, or `None` if a node counted as gone has renewed its row. The commit conflicts if such
    /// a renewal or another view comes first.
    pub fn batch(&self, store: &dyn Store) -> Result<Option<Batch>, StoreError> {
        let mut batch = Batch::new();
        for row in &self.gone {
            let key = row_key(&row.node.id);
            let Some(found) = store.read(&key)? else { return Ok(None) };
            if found.value != encoded(row) {
                return Ok(None);
            }
            batch.expect_unchanged(key.clone(), Some(found.version)).delete(key);
        }
        let before = self.view.epoch - 1;
        expect_view(&mut batch, before);
        if before > 0 {
            batch.delete(keys::member_view(before));
        }
        batch.put(keys::member_view(self.view.epoch), encoded(&self.view));
        Ok(Some(batch))
    }
}

/// Adds the precondition that the current view has this epoch; 0 means that there is no view yet.
pub(crate) fn expect_view(batch: &mut Batch, epoch: u64) {
    match epoch {
        0 => batch.expect_absent(keys::member_view(1)),
        _ => batch.expect_present(keys::member_view(epoch)),
    };
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("rows and views have text keys alone")
}
