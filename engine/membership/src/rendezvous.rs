//! Rendezvous hashing: the member with the highest score for an institution owns it. When a node joins or
//! leaves, only the institutions it gains or loses move.

use sha2::{Digest, Sha256};

use crate::table::{Node, View};

/// Returns the score of a node. It depends on the node's name only, so that a restarted node regains its
/// institutions.
fn score(node: &Node, placed: &[u8]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(placed);
    hash.update(node.id.name.as_bytes());
    u64::from_be_bytes(*hash.finalize().first_chunk().expect("a digest is longer"))
}

/// Returns the owner, or `None` if the view has no members.
pub(crate) fn owner<'v>(view: &'v View, placed: &[u8]) -> Option<&'v Node> {
    view.nodes.iter().max_by_key(|node| (score(node, placed), &node.id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use uuid::Uuid;

    use super::*;
    use crate::table::NodeId;

    const INSTITUTIONS: u32 = 100_000;

    fn view(names: &[&str]) -> View {
        let node = |name: &&str| {
            let id = NodeId { name: (*name).to_owned(), incarnation: Uuid::nil() };
            Node { id, address: format!("{name}:7001") }
        };
        View { epoch: 1, nodes: names.iter().map(node).collect(), leaving: Vec::new() }
    }

    fn owners(view: &View) -> Vec<&str> {
        (0..INSTITUTIONS)
            .map(|id| owner(view, &id.to_be_bytes()).expect("the view has members").id.name.as_str())
            .collect()
    }

    #[test]
    fn only_the_share_of_a_new_node_moves() {
        let (three, four) = (view(&["a", "b", "c"]), view(&["a", "b", "c", "d"]));
        let (of_three, of_four) = (owners(&three), owners(&four));
        let moved = of_three.iter().zip(&of_four).filter(|(before, after)| before != after);
        assert!(moved.clone().all(|(_, after)| *after == "d"), "only what the new node gets");
        let moved = moved.count();
        assert_eq!(moved, of_four.iter().filter(|owner| **owner == "d").count());
        assert!((24_000..26_000).contains(&moved), "a quarter of {INSTITUTIONS}, not {moved}");
    }

    #[test]
    fn nodes_have_equal_shares() {
        let ten = view(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
        let mut shares = BTreeMap::new();
        owners(&ten).into_iter().for_each(|owner| *shares.entry(owner).or_insert(0) += 1);
        assert_eq!(shares.len(), 10);
        assert!(shares.values().all(|share| (9_500..10_500).contains(share)), "{shares:?}");
    }

    #[test]
    fn a_restart_moves_nothing() {
        let before = view(&["a", "b", "c"]);
        let mut after = view(&["c", "b", "a"]);
        after.nodes[1].id.incarnation = Uuid::max();
        assert_eq!(owners(&before), owners(&after));
    }
}
