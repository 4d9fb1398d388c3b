//! Follows changes of the cluster's members: releases locations and webhook endpoints that moved to other nodes, and
//! loads those that came.

use std::sync::Arc;

use membership::MembershipChange;
use tokio::sync::watch;
use webhooks::{moves::Moves, registry::EndpointRegistry};

use crate::{cluster::Cluster, directory::Directory};

/// Keeps this node a member, until it has left.
pub(crate) async fn run(
    cluster: Arc<Cluster>,
    directory: Arc<Directory>,
    webhooks: Arc<EndpointRegistry>,
    endpoints: Moves,
) {
    let (views, view) = watch::channel(0);
    let letting_go = tokio::spawn(let_go(cluster.clone(), directory.clone(), endpoints.clone(), view));
    while !cluster.has_left() {
        match cluster.beat(&webhooks).await {
            Ok(Some(MembershipChange::View { epoch })) => {
                tracing::info!(epoch, "the members of the cluster have changed");
                views.send_replace(epoch);
            }
            Ok(Some(MembershipChange::Settled)) => {
                directory.gained();
                endpoints.came();
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "this node could not renew its lease in the cluster"),
        }
        cluster.pause().await;
    }
    letting_go.abort();
}

/// Confirms each view once nothing of other nodes is in memory or being sent. Renewals continue meanwhile.
async fn let_go(cluster: Arc<Cluster>, directory: Arc<Directory>, endpoints: Moves, mut views: watch::Receiver<u64>) {
    while views.changed().await.is_ok() {
        let epoch = *views.borrow_and_update();
        tokio::join!(directory.let_go(), endpoints.let_go());
        cluster.let_go(epoch);
    }
}
