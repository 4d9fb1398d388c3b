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
    let releasing = tokio::spawn(release_moved(cluster.clone(), directory.clone(), endpoints.clone(), view));
    while !cluster.has_left() {
        match cluster.beat(&webhooks).await {
            Ok(Some(MembershipChange::View { epoch })) => {
                tracing::info!(epoch, "the members of the cluster have changed");
                views.send_replace(epoch);
            }
            Ok(Some(MembershipChange::Settled)) => {
                directory.take_over();
                endpoints.notify_assigned();
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "this node could not renew its lease in the cluster"),
        }
        cluster.pause().await;
    }
    releasing.abort();
}

/// Confirms each view once nothing of other nodes is in memory or being sent. Renewals continue meanwhile.
async fn release_moved(
    cluster: Arc<Cluster>,
    directory: Arc<Directory>,
    endpoints: Moves,
    mut views: watch::Receiver<u64>,
) {
    while views.changed().await.is_ok() {
        let epoch = *views.borrow_and_update();
        tokio::join!(directory.release_moved(), endpoints.release_moved());
        cluster.confirm_release(epoch);
    }
}
