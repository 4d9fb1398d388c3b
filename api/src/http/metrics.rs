//! Answers counted for /metrics: how many, of which route, and how long they took; and how its text is written.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use engine::metrics::{BOUNDS, Histogram};

use super::{context::EndpointLabel, rate_limit::Per};

/// Of which answers are counted together: the method and path of the table, and the class of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub path: &'static str,
    pub method: &'static str,
    pub class: &'static str,
}

/// Their number is bounded by the table of routes.
#[derive(Default)]
pub struct RequestMetrics {
    series: Mutex<BTreeMap<Series, Histogram>>,
    limited: Mutex<BTreeMap<&'static str, u64>>,
}

impl RequestMetrics {
    /// Without an endpoint: there is none at that path, or it was never looked for.
    pub(crate) fn count(&self, endpoint: Option<EndpointLabel>, status: u16, took: Duration) {
        let (method, path) = endpoint.map_or(("-", "-"), |it| (it.method, it.path));
        let series = Series { path, method, class: class(status) };
        self.series.lock().unwrap_or_else(PoisonError::into_inner).entry(series).or_default().note(took);
    }

    /// An answer 429, by the limit that was reached; None: a limit of another sort than calls of a key.
    pub(crate) fn limited(&self, per: Option<Per>) {
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        *limited.entry(limit_name(per)).or_default() += 1;
    }

    pub(crate) fn histograms(&self) -> BTreeMap<Series, Histogram> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All limits, those too that no one has reached.
    pub(crate) fn by_limit(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all = [Some(Per::Second), Some(Per::Minute), Some(Per::Endpoint), None].map(limit_name);
        all.into_iter().map(move |name| (name, limited.get(name).copied().unwrap_or(0)))
    }
}

pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

fn class(status: u16) -> &'static str {
    CLASSES[usize::from(status / 100).clamp(1, CLASSES.len()) - 1]
}

fn limit_name(per: Option<Per>) -> &'static str {
    match per {
        Some(Per::Second) => "key_second",
        Some(Per::Minute) => "key_minute",
        Some(Per::Endpoint) => "endpoint",
        None => "other",
    }
}

/// Begins a family of series in the Prometheus text format.
pub(crate) fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP practice_sync_{name} {help}\n# TYPE practice_sync_{name} {kind}")
        .expect("a string takes all text");
}

/// One series of a family of histograms.
pub(crate) fn histogram(text: &mut String, name: &str, labels: &str, seen: &Histogram) {
    let comma = if labels.is_empty() { "" } else { "," };
    for (bound, within) in BOUNDS.iter().zip(seen.within) {
        sample(text, &format!("{name}_bucket{{{labels}{comma}le=\"{bound}\"}}"), within);
    }
    sample(text, &format!("{name}_bucket{{{labels}{comma}le=\"+Inf\"}}"), seen.count);
    let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    sample(text, &format!("{name}_sum{braced}"), seen.seconds);
    sample(text, &format!("{name}_count{braced}"), seen.count);
}

pub(crate) fn sample(text: &mut String, name: &str, value: impl std::fmt::Display) {
    writeln!(text, "practice_sync_{name} {value}").expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_apart_by_class() {
        let metrics = RequestMetrics::default();
        for status in [200, 204, 599] {
            metrics.count(None, status, Duration::from_millis(30));
        }
        let all: Vec<_> = metrics.histograms().into_iter().map(|(series, seen)| (series.class, seen.count)).collect();
        assert_eq!(all, [("2xx", 2), ("5xx", 1)]);
    }

    #[test]
    fn a_histogram_is_written_with_and_without_labels() {
        let (mut seen, mut text) = (Histogram::default(), String::new());
        seen.note(Duration::from_millis(250));
        histogram(&mut text, "turn_seconds", "", &seen);
        histogram(&mut text, "adapter_call_seconds", "call=\"pull\"", &seen);
        for line in [
            "practice_sync_turn_seconds_bucket{le=\"0.1\"} 0",
            "practice_sync_turn_seconds_bucket{le=\"0.25\"} 1",
            "practice_sync_turn_seconds_sum 0.25",
            "practice_sync_adapter_call_seconds_bucket{call=\"pull\",le=\"+Inf\"} 1",
            "practice_sync_adapter_call_seconds_count{call=\"pull\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }

    #[test]
    fn limits_are_named() {
        let metrics = RequestMetrics::default();
        metrics.limited(Some(Per::Minute));
        metrics.limited(None);
        let all: Vec<_> = metrics.by_limit().collect();
        assert_eq!(all, [("key_second", 0), ("key_minute", 1), ("endpoint", 0), ("other", 1)]);
    }
}
