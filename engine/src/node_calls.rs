//! Queries of the API about nodes, and notifications from other nodes.

use std::time::Duration;

use location::InstitutionId;
use membership::Place;
use tokio::sync::watch;

use crate::{Engine, Nodes};

impl Engine {
    /// Hands everything over to the other nodes, which take over while this node still answers.
    pub async fn hand_over(&self, grace: Duration) {
        if let Some(cluster) = &self.cluster {
            cluster.leave(grace).await;
        }
    }

    /// Returns the placement of an institution. Without a cluster, it is this process.
    pub fn place(&self, institution: InstitutionId) -> Place {
        self.cluster.as_ref().map_or(Place::Mine, |cluster| cluster.place(institution))
    }

    /// Returns the cluster as this node sees it, or `None` without a cluster.
    pub fn nodes(&self) -> Option<Nodes> {
        self.cluster.as_ref().map(|cluster| cluster.nodes())
    }

    /// Returns the addresses of nodes whose configuration has other institutions or locations.
    pub fn nodes_configured_differently(&self) -> Vec<String> {
        self.cluster.as_ref().map(|cluster| cluster.nodes_configured_differently()).unwrap_or_default()
    }

    /// Reads the members at once instead of at the next beat, because another node has published a change.
    pub fn refresh_members(&self) {
        self.cluster.iter().for_each(|cluster| cluster.refresh_members());
    }

    /// Returns a receiver of the other nodes' addresses, sent when this node has published something that they wait
    /// for. Returns `None` without a cluster.
    pub fn announcements(&self) -> Option<watch::Receiver<Vec<String>>> {
        self.cluster.as_ref().map(|cluster| cluster.announcements())
    }
}
