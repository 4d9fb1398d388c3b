//! Costs of adapter calls: by adapter for /metrics, where one series per location would be too many, and by location in
//! the operators' view of its read cycle.

use engine::adapter_host::{CallCosts, CostsByCall};

use framework::http::metrics::Families;

use crate::prelude::*;

/// The cost of all calls of one kind for a location since the start of the process. Calls that did not start are not
/// counted.
#[view(value = CallCosts, args(call: &'static str))]
pub(crate) struct AdapterCallsView {
    /// The kind of call: `describe`, `pull`, `push` or `find`.
    #[view(with = call)]
    call: &'static str,
    /// Number of calls that the adapter answered without a fault.
    answered: u64,
    /// Number of calls that the adapter answered with a fault.
    faults: u64,
    /// Number of calls that ended without an answer, because the adapter trapped or exceeded its time limit.
    lost: u64,
    /// Duration of all calls, in seconds, including the time spent waiting for the health record system.
    #[view(with = entry.time.as_secs_f64())]
    seconds: f64,
    /// Processor time of all calls, in seconds.
    #[view(with = entry.processor.as_secs_f64())]
    processor_seconds: f64,
    /// Number of requests that reached, or may have reached, the health record system.
    requests: u64,
    /// Total size of the request bodies, in bytes.
    #[view(from = sent)]
    sent_bytes: u64,
    /// Total size of the response bodies, in bytes.
    #[view(from = received)]
    received_bytes: u64,
    /// Peak memory of a single call, in bytes.
    #[view(from = memory)]
    memory_bytes: u64,
}

/// Adds the metrics of /metrics except the histogram of durations.
pub fn collect(families: &mut Families, by_adapter: &BTreeMap<String, CostsByCall>) {
    let series =
        || by_adapter.iter().flat_map(|(adapter, calls)| calls.iter().map(move |(call, costs)| (adapter, call, costs)));
    let labels = |adapter, call| vec![("adapter", adapter), ("call", call)];
    let ended = series().flat_map(|(adapter, call, costs)| {
        let by_outcome = [("answered", costs.answered), ("fault", costs.faults), ("lost", costs.lost)];
        by_outcome.map(|(outcome, count)| {
            (vec![("adapter", adapter.as_str()), ("call", *call), ("outcome", outcome)], count as f64)
        })
    });
    families.add("adapter_ended_total", "Calls of adapters that ended, by adapter, call and outcome.", ended);
    type Number = fn(&CallCosts) -> f64;
    let numbers: [(&str, &str, Number); 5] = [
        ("adapter_processor_seconds_total", "Processor time of calls in seconds.", |it| it.processor.as_secs_f64()),
        ("adapter_requests_total", "Requests that reached a health record system, or may have.", |it| {
            it.requests as f64
        }),
        ("adapter_sent_bytes_total", "Total size of the request bodies, in bytes.", |it| it.sent as f64),
        ("adapter_received_bytes_total", "Total size of the response bodies, in bytes.", |it| it.received as f64),
        ("adapter_memory_peak_bytes", "Peak memory of a single call, in bytes.", |it| it.memory as f64),
    ];
    for (name, help, number) in numbers {
        let values = series().map(|(adapter, call, costs)| (labels(adapter.as_str(), *call), number(costs)));
        families.add(name, help, values);
    }
}
