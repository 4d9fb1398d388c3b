//! Ports for processes that bind them later, and again after each start.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// Below the range of ephemeral ports, so that the system assigns none of these ports to others while the process is
/// down.
const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// Returns a port of 127.0.0.1 that is currently free.
pub fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut outcome = Err(io::ErrorKind::AddrInUse.into());
    for _ in 0..COUNT {
        // Spreads concurrent test processes over the range.
        let tried = process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        outcome = TcpListener::bind((Ipv4Addr::LOCALHOST, (FIRST + tried) as u16));
        if outcome.is_ok() {
            break;
        }
    }
    Ok(outcome?.local_addr()?.port())
}
