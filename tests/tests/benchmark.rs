//! Runs every section of the benchmark briefly and with little data. The figures are not meaningful.

use std::process::Command;

use serde_json::{Value, json};
use tests::bench::{bodies::PlainSlot, bookings::halves};

const LITTLE: &str = "--seconds 0.3 --warm-up 0 --repetitions 20 --connections 4 --locations 2 --bookings 300 --sessions 4 \
                      --appointments 50 --journal 600 --idle 200 --simulated 3 --hours 2 --patients 200 --exported 1000 --pulled 250 \
                      --lead 0 --events 5 --readers 20 --workstations 20 --watched 1 --gated 10";

fn section(name: &str, figures: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).arg(name).args(LITTLE.split_whitespace()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    for figure in figures {
        assert!(printed.contains(figure), "{name} prints no {figure:?}:\n{printed}");
    }
}

#[test]
fn bookings() {
    section("bookings", &["echo", "bookings"]);
}

#[test]
fn audit() {
    section("audit", &["with the audit trail / without", "with the access log / without"]);
}

#[test]
fn rules() {
    section("rules", &["with booking rules / without"]);
}

#[test]
fn nodes() {
    section("nodes", &["24 institutions"]);
}

#[test]
fn slots() {
    section("slots", &["a full calendar", "an empty calendar"]);
}

#[test]
fn activation() {
    section("activation", &["activation"]);
}

#[test]
fn idle() {
    section("idle", &["locations"]);
}

#[test]
fn day() {
    section("day", &["a booking with search and write-back", "such nodes for 1,000,000 locations"]);
}

#[test]
fn adapter() {
    section(
        "adapter",
        &["a call whose guest does nothing", "describe: one request", "a page of 1000 patients", "wasmtime alone"],
    );
}

#[test]
fn lists() {
    section("lists", &["patients"]);
}

#[test]
fn reads() {
    section("reads", &["bare"]);
}

#[test]
fn probes() {
    section("probes", &["alone: clients, /healthz", "under load: operators, /readyz"]);
}

#[test]
fn slow_readers() {
    section("slow-readers", &["/openapi.json, not read", "their 99th percentile / alone"]);
}

#[test]
fn pulls() {
    section("pulls", &["records in all", "adapter alone"]);
}

#[test]
fn webhooks() {
    section("webhooks", &["deliver"]);
}

#[test]
fn fairness() {
    section("fairness", &["quiet", "searches for 10,000 slots"]);
}

#[test]
fn export() {
    section("export", &["records of an export alone", "during exports / alone"]);
}

#[test]
fn freshness() {
    section("freshness", &["no limit of age: conflicts", "conflicts with fresh_within / without"]);
}

#[test]
fn workstations() {
    section("workstations", &["workstations"]);
}

#[test]
fn operatories_are_chosen_by_provider_independent_of_ids() {
    let hour = |(provider, operatory): (u64, u64)| json!({"provider_id": provider, "operatory_id": operatory});
    let places = [(1, 834), (0, 912), (2, 859), (2, 12), (0, 868), (1, 900)];
    let found = halves(&places.map(hour).to_vec().into());
    assert_eq!(found, [vec![912, 834, 859], vec![868, 900, 12]]);
    assert!(halves(&Value::Null).is_empty());
}

#[test]
fn plain_slot_round_trips() {
    let slot = PlainSlot { location: 250, operatory: 2_509, provider: 4, start: 1_800_000_000, end: 1_800_001_800 };
    assert_eq!(PlainSlot::parse(&slot.token()), Some(slot));
    assert_eq!(slot.token().len(), 150);
    assert_eq!(PlainSlot::parse("slt_00"), None);
}
