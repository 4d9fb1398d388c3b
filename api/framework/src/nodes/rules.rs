//! Configuration of the internal listener.

use std::net::SocketAddr;

use crate::values::secret::Secret;

location::settings! {
    /// The listener for the other nodes.
    #[derive(Clone)]
    pub struct NodeListener {
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0)),
            from_str("must be an address such as 10.0.0.5:8081").env().required() =>
            restart, "The address of the internal listener, in a network that only the nodes share. May be `env:NAME`.";
        secret: Secret = Secret::from_bytes([0; 32]), parsed(Secret::parse_configured).credential().required() =>
            restart, "64 hexadecimal digits, the same on all nodes.";
    }
}
