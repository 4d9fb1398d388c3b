//! Workstations against the product as it runs: a process of its own, real sockets, a cloud EHR behind them. What workstations do wrong
//! here, real ones will.
#![allow(clippy::unwrap_used)]

mod leases;
mod offline;
mod sockets;
mod work;

use std::path::Path;

use tests::workstation::office::Office;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_practice-sync-under-test"))
}

async fn office() -> Office {
    Office::open(program(), "").await
}
