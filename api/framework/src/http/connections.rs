//! Open connections of a listener: their number, each address's share of them, and those that were refused or cut.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use super::{
    keyed_semaphore::{KeyedPermit, KeyedSemaphore},
    proxies::network,
};

pub struct Connections {
    pub limit: usize,
    open: AtomicUsize,
    by_address: KeyedSemaphore<IpAddr>,
    refused: AtomicU64,
    cut: AtomicU64,
}

impl Connections {
    pub fn new(limit: usize) -> Arc<Connections> {
        Arc::new(Connections {
            limit,
            open: AtomicUsize::default(),
            by_address: KeyedSemaphore::default(),
            refused: AtomicU64::default(),
            cut: AtomicU64::default(),
        })
    }

    /// Counts a new connection for as long as the result lives. Returns `None` if the address has its share already.
    /// An IPv6 network counts as one address. A trusted proxy has no share and is passed as `None`.
    pub fn enter(self: &Arc<Self>, address: Option<IpAddr>, share: usize) -> Option<Seat> {
        let permit = address.map(|address| self.by_address.try_acquire(network(address), share));
        if matches!(permit, Some(None)) {
            self.refused.fetch_add(1, Relaxed);
            return None;
        }
        self.open.fetch_add(1, Relaxed);
        Some(Seat { connections: self.clone(), _permit: permit.flatten() })
    }

    /// Counts a connection that was closed because its client did not read.
    pub fn count_cut(&self) {
        self.cut.fetch_add(1, Relaxed);
    }

    pub fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    pub fn cut(&self) -> u64 {
        self.cut.load(Relaxed)
    }

    /// Returns `true` if the next connection waits until another one is closed.
    pub fn is_exhausted(&self) -> bool {
        self.open() >= self.limit
    }
}

/// Drop guard of a counted connection.
pub struct Seat {
    pub connections: Arc<Connections>,
    _permit: Option<KeyedPermit<IpAddr>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn an_address_over_its_share_is_refused_until_a_connection_is_closed() {
        let connections = Connections::new(10);
        let first = connections.enter(address("192.0.2.1"), 2).unwrap();
        let _second = connections.enter(address("192.0.2.1"), 2).unwrap();
        assert!(connections.enter(address("192.0.2.1"), 2).is_none());
        let _other = connections.enter(address("192.0.2.2"), 2).unwrap();
        assert_eq!((connections.open(), connections.refused()), (3, 1));
        drop(first);
        assert!(connections.enter(address("192.0.2.1"), 2).is_some());
    }

    #[test]
    fn a_network_of_ipv6_has_one_share_and_a_proxy_has_none() {
        let connections = Connections::new(3);
        let _held = connections.enter(address("2001:db8::1"), 1).unwrap();
        assert!(connections.enter(address("2001:db8::2"), 1).is_none());
        assert!(!connections.is_exhausted());
        let _proxies = [connections.enter(None, 1).unwrap(), connections.enter(None, 1).unwrap()];
        assert!(connections.is_exhausted());
    }

    #[test]
    fn closed_connections_leave_no_entry() {
        let connections = Connections::new(3);
        drop((connections.enter(address("192.0.2.1"), 2), connections.enter(address("192.0.2.1"), 2)));
        assert_eq!((connections.open(), connections.by_address.0.lock().len()), (0, 0));
    }
}
