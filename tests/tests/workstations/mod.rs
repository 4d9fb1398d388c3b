//! Workstations against the product as a process, with real sockets and a cloud EHR. The misbehaviour tested here
//! also occurs in practice.

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
