//! What the operator says of this node towards the others.

use std::net::SocketAddr;

use crate::values::secret::Secret;

#[derive(Clone)]
pub struct NodeListener {
    /// Only the other nodes call here.
    pub listen: SocketAddr,
    /// The same on all nodes.
    pub secret: Secret,
}
