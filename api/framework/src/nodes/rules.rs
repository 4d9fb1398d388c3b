//! Configuration of the internal listener.

use std::net::SocketAddr;

use crate::values::secret::Secret;

#[derive(Clone)]
pub struct NodeListener {
    /// Address for the other nodes.
    pub listen: SocketAddr,
    /// Shared secret, identical on all nodes.
    pub secret: Secret,
}
