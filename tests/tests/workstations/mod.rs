//! Workstations against the product as it runs: a process of its own, real sockets, a cloud EHR behind them. What workstations do wrong
//! here, real ones will.

mod leases;
mod offline;
mod sockets;
mod work;

use std::path::Path;
use tests::harness::process::binary;

use tests::harness::workstation::gated_process::GatedProcess;

fn program() -> &'static Path {
    binary()
}

async fn product() -> GatedProcess {
    GatedProcess::open(program(), "").await
}
