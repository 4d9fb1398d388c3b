//! What the API asks of the nodes, and what the other nodes tell this one.

use std::time::Duration;

use location::ids::InstitutionId;
use membership::Place;
use tokio::sync::watch;

use crate::{cluster::Nodes, engine::Engine};

impl Engine {
    /// Hands what is here to the other nodes, which takes it over while this one still answers.
    pub async fn hand_over(&self, grace: Duration) {
        if let Some(cluster) = &self.cluster {
            cluster.leave(grace).await;
        }
    }

    /// Which node an institution lives on; alone, it is this process.
    pub fn place(&self, institution: InstitutionId) -> Place {
        self.cluster.as_ref().map_or(Place::Mine, |cluster| cluster.place(institution))
    }

    /// What this node knows of the cluster; none where it is alone.
    pub fn nodes(&self) -> Option<Nodes> {
        self.cluster.as_ref().map(|cluster| cluster.nodes())
    }

    /// Where nodes are that have other institutions or locations in their configuration than this one.
    pub fn nodes_set_up_otherwise(&self) -> Vec<String> {
        self.cluster.as_ref().map(|cluster| cluster.set_up_otherwise()).unwrap_or_default()
    }

    /// Another node has said something that concerns the members: this one looks at once, and not with its next beat.
    pub fn look(&self) {
        self.cluster.iter().for_each(|cluster| cluster.look());
    }

    /// Changes whenever this node has said something that the others wait for; holds their addresses. None where it is alone.
    pub fn said(&self) -> Option<watch::Receiver<Vec<String>>> {
        self.cluster.as_ref().map(|cluster| cluster.said())
    }
}
