//! Answers counted for /metrics: how many, of which route, and how long they took; and how its text is written.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{context::EndpointLabel, rate_limit::Per};

/// Upper bounds of the histogram, in seconds. Single records take some milliseconds, long lists some hundred.
pub(crate) const BOUNDS: [f64; 7] = [0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Of which answers are counted together: the method and path of the table, and the class of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub path: &'static str,
    pub method: &'static str,
    pub class: &'static str,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    /// Answers within each bound; those beyond the last are in `count` alone.
    pub within: [u64; BOUNDS.len()],
    pub count: u64,
    pub seconds: f64,
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
        let seconds = took.as_secs_f64();
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = all.entry(series).or_default();
        histogram.count += 1;
        histogram.seconds += seconds;
        let bounds = BOUNDS.iter().zip(&mut histogram.within);
        bounds.filter(|(bound, _)| seconds <= **bound).for_each(|(_, within)| *within += 1);
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

pub(crate) fn sample(text: &mut String, name: &str, value: impl std::fmt::Display) {
    writeln!(text, "practice_sync_{name} {value}").expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_in_every_bound_it_kept() {
        let metrics = RequestMetrics::default();
        for milliseconds in [1, 30, 30, 60_000] {
            metrics.count(None, 200, Duration::from_millis(milliseconds));
        }
        metrics.count(None, 599, Duration::ZERO);
        let all: Vec<_> = metrics.histograms().into_iter().collect();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].0.class, all[0].1.within, all[0].1.count), ("2xx", [1, 1, 3, 3, 3, 3, 3], 4));
        assert_eq!((all[1].0.class, all[1].1.count), ("5xx", 1));
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
