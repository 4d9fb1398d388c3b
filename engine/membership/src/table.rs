//! What lies in the store: a row for each process, and the views in the order of their epochs.

use serde::{Deserialize, Serialize};
use store::{
    Batch, Direction, Store, StoreError,
    keys::{self, Space},
};
use uuid::Uuid;

/// A process that serves: the name the operator gave its node, and a number of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId {
    pub name: String,
    pub incarnation: Uuid,
}

impl NodeId {
    /// A process that begins; `random` tells it from all others of that name.
    pub fn new(name: String, random: [u8; 16]) -> NodeId {
        NodeId { name, incarnation: Uuid::from_bytes(random) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    /// Where the others reach it.
    pub address: String,
}

/// Written by the process it is of, and deleted by it when it has let go of everything; or by who finds it gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub node: Node,
    /// Rises with each renewal.
    pub beats: u64,
    /// The last view it has let go of everything for that is not its own.
    pub follows: u64,
    /// It wants to end.
    pub leaves: bool,
    /// A digest of what it is set up to serve: two that differ know different places. None where it does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<u64>,
}

/// Who is a member. The next view has the next epoch.
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

/// The table, all of it as it was at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub rows: Vec<Row>,
    pub view: View,
}

pub fn look(store: &dyn Store) -> Result<Look, StoreError> {
    // One scan sees one state.
    let mut look = Look::default();
    for (key, value) in store.scan(Space::Membership.range(), Direction::Forward, usize::MAX)? {
        let damaged = |_| StoreError::damaged(&key, "not a row of the membership table");
        match keys::parse_member_view(&key) {
            Some(_) => look.view = serde_json::from_slice(&value).map_err(damaged)?,
            None => look.rows.push(serde_json::from_slice(&value).map_err(damaged)?),
        }
    }
    Ok(look)
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

/// A view that a member wants, with the rows of those that are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    pub view: View,
    pub gone: Vec<Row>,
}

impl Proposal {
    /// None where somebody is not gone after all. The commit conflicts where that, or another view, comes in between.
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

/// That it is the view there is; 0 for none yet.
pub(crate) fn expect_view(batch: &mut Batch, epoch: u64) {
    match epoch {
        0 => batch.expect_absent(keys::member_view(1)),
        _ => batch.expect_present(keys::member_view(epoch)),
    };
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("rows and views have text keys alone")
}
