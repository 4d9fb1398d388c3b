//! A configuration change applied to one node after the other.

use postgres_server::is_skipped;
use sandbox_ehr::Behaviours;
use serde_json::{Value, json};

use crate::nodes::cluster::{FIRST, Nodes, subdomain};
use testing::until;

/// The second location of the first institution.
const LAKESIDE: u32 = 61;
const NOWHERE: u32 = 62;

fn patients(location: u32) -> String {
    format!("/patients?subdomain={}&location_id={location}", subdomain(1))
}

/// Adds the location to a node's configuration, which the node reloads.
async fn add(nodes: &Nodes, node: usize) {
    let installation = &nodes.nodes[node].installation;
    let text = std::fs::read_to_string(installation.config()).unwrap();
    let first = "source = 1\nforeign_id = \"main-street\"\n";
    let second = format!(
        "{first}[[institutions.locations]]\nid = {LAKESIDE}\nname = \"Lakeside\"\nzone = \"America/Chicago\"\nsource = 1\n\
         foreign_id = \"lakeside\"\n"
    );
    assert_eq!(text.matches(first).count(), 1);
    std::fs::write(installation.config(), text.replace(first, &second)).unwrap();
    let mut operator = installation.operator().await.unwrap();
    let (status, answer) = operator.post("/configuration/reload", &json!({})).await.unwrap();
    assert_eq!((status, &answer["data"]["applied"]), (200, &Value::Bool(true)), "{answer}");
}

async fn get_status(nodes: &Nodes, node: usize, path: &str) -> u16 {
    nodes.sign_in(node).await.get(path).await.unwrap().0
}

async fn operator_asked(nodes: &Nodes, node: usize) -> u16 {
    let mut operator = nodes.nodes[node].installation.operator().await.unwrap();
    operator.get(&format!("/locations/{LAKESIDE}/sync")).await.unwrap().0
}

async fn is_answered(nodes: &Nodes, node: usize, path: &str, wanted: u16) {
    let what = format!("{wanted} of node {node} for {path}");
    until(&what, async || (get_status(nodes, node, path).await == wanted).then_some(())).await;
}

/// Right after a change, other nodes may still return 404 until they see it, within a quarter of `period`. The test
/// therefore waits for the expected status.
#[actix::test]
async fn nodes_without_a_new_location_return_503_instead_of_404() {
    if is_skipped() {
        return;
    }
    let nodes = Nodes::started(&Behaviours::default(), &[]).await;
    let owner = nodes.owner(0, 1).await;
    let [early, late] = [1, 2].map(|by| (owner + by) % FIRST);
    for node in 0..FIRST {
        assert_eq!(get_status(&nodes, node, &patients(LAKESIDE)).await, 404);
    }

    // One node knows the location, and its owner does not.
    add(&nodes, early).await;
    for node in [owner, early, late] {
        is_answered(&nodes, node, &patients(LAKESIDE), 503).await;
        assert_eq!(get_status(&nodes, node, &patients(1)).await, 200, "the others are served as before");
    }
    for _ in 0..20 {
        assert_eq!(get_status(&nodes, late, &patients(LAKESIDE)).await, 503);
    }
    assert_eq!(operator_asked(&nodes, late).await, 503);

    // The owner knows the location, and one node does not.
    add(&nodes, owner).await;
    for node in [owner, early, late] {
        is_answered(&nodes, node, &patients(LAKESIDE), 200).await;
    }
    let served = async || (operator_asked(&nodes, late).await == 200).then_some(());
    until("the location, through a node that does not know it", served).await;

    add(&nodes, late).await;
    for node in [owner, early, late] {
        is_answered(&nodes, node, &patients(NOWHERE), 404).await;
        assert_eq!(get_status(&nodes, node, &patients(LAKESIDE)).await, 200);
        assert_eq!(operator_asked(&nodes, node).await, 200);
    }
    nodes.no_panics().await;
}
