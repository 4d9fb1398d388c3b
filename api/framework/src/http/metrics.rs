//! Response counts and durations for /metrics, and the metric families of its text.

use std::time::Duration;

use engine::metrics::{Collector, Family, HistogramVec, NAMESPACE, durations_by};
use prometheus::{
    IntCounterVec, Opts, TextEncoder,
    proto::{Counter, Gauge, LabelPair, Metric, MetricType},
};

use super::{context::EndpointLabel, rate_limit::Per};

/// Metrics of responses. The number of series is bounded by the table of routes.
pub struct RequestMetrics {
    seconds: HistogramVec,
    limited: IntCounterVec,
}

impl Default for RequestMetrics {
    fn default() -> RequestMetrics {
        let labels = ["method", "route", "class"];
        let seconds = durations_by("http_request_seconds", "Response time by route and status class.", &labels);
        let limited = Opts::new("http_limited_total", "Responses with status 429, by limit.").namespace(NAMESPACE);
        let limited = IntCounterVec::new(limited, &["limit"]).expect("names and labels are words");
        // Creates all series at zero.
        for limit in [Some(Per::Second), Some(Per::Minute), Some(Per::Endpoint), None] {
            limited.with_label_values(&[limit_name(limit)]);
        }
        RequestMetrics { seconds, limited }
    }
}

impl RequestMetrics {
    /// Counts a response. `endpoint` is `None` if no endpoint exists at the path, or routing was not reached.
    pub fn count(&self, endpoint: Option<EndpointLabel>, status: u16, took: Duration) {
        let (method, path) = endpoint.map_or(("-", "-"), |it| (it.method, it.path));
        self.seconds.with_label_values(&[method, path, class(status)]).observe(took.as_secs_f64());
    }

    /// Counts a response 429 by its limit; `None` for limits other than those of API keys.
    pub fn limited(&self, per: Option<Per>) {
        self.limited.with_label_values(&[limit_name(per)]).inc();
    }

    pub fn collect(&self, families: &mut Families) {
        let by_route = self.seconds.collect();
        let all = || by_route.iter().flat_map(Family::get_metric);
        let classes = CLASSES.map(|class| {
            let of_class = all().filter(|it| it.get_label().iter().any(|label| label.value() == class));
            let count: u64 = of_class.map(|it| it.get_histogram().get_sample_count()).sum();
            (vec![("class", class)], count as f64)
        });
        families.add("http_responses_total", "Responses by status class.", classes);
        let seconds = all().map(|it| it.get_histogram().get_sample_sum()).sum();
        families.one("http_seconds_total", "Total time spent on responses, in seconds.", seconds);
        families.extend(self.limited.collect());
        families.extend(by_route);
    }
}

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

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

/// Metric families of one scrape. A metric is a counter if its name ends in `_total`, otherwise a gauge.
#[derive(Default)]
pub struct Families(Vec<Family>);

impl Families {
    /// Adds families with a single value: name, help and value.
    pub fn all<const N: usize>(&mut self, rows: [(&str, &str, u64); N]) {
        rows.into_iter().for_each(|(name, help, value)| self.one(name, help, value as f64));
    }

    pub fn one(&mut self, name: &str, help: &str, value: f64) {
        self.add(name, help, [(Vec::new(), value)]);
    }

    /// Adds collected families, except empty ones.
    pub fn extend(&mut self, families: Vec<Family>) {
        self.0.extend(families.into_iter().filter(|family| !family.get_metric().is_empty()));
    }

    /// Adds a family with values and labels that were counted elsewhere.
    pub fn add<'a>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Vec<(&'static str, &'a str)>, f64)>,
    ) {
        let mut family = Family::default();
        family.set_name(format!("{NAMESPACE}_{name}"));
        family.set_help(help.to_owned());
        // `node_view` is older than the rule.
        let is_counter = name.ends_with("_total") || name == "node_view";
        family.set_field_type(if is_counter { MetricType::COUNTER } else { MetricType::GAUGE });
        family.set_metric(values.into_iter().map(|(labels, value)| metric(is_counter, labels, value)).collect());
        self.extend(vec![family]);
    }

    pub fn text(&self) -> prometheus::Result<String> {
        TextEncoder.encode_to_string(&self.0)
    }
}

fn metric(is_counter: bool, labels: Vec<(&'static str, &str)>, value: f64) -> Metric {
    let label = |(name, value): (&str, &str)| {
        let mut label = LabelPair::default();
        label.set_name(name.to_owned());
        label.set_value(value.to_owned());
        label
    };
    let mut metric = Metric::from_label(labels.into_iter().map(label).collect());
    if is_counter {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    }
    metric
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn render(metrics: &RequestMetrics) -> String {
        let mut families = Families::default();
        metrics.collect(&mut families);
        families.text().unwrap()
    }

    #[test]
    fn responses_are_counted_by_status_class() {
        let metrics = RequestMetrics::default();
        for status in [200, 204, 599] {
            metrics.count(None, status, Duration::from_millis(250));
        }
        let text = render(&metrics);
        for line in [
            "# HELP practice_sync_http_responses_total Responses by status class.",
            "# TYPE practice_sync_http_responses_total counter",
            "practice_sync_http_responses_total{class=\"2xx\"} 2",
            "practice_sync_http_responses_total{class=\"3xx\"} 0",
            "practice_sync_http_seconds_total 0.75",
            "# TYPE practice_sync_http_request_seconds histogram",
            "practice_sync_http_request_seconds_bucket{class=\"5xx\",method=\"-\",route=\"-\",le=\"0.1\"} 0",
            "practice_sync_http_request_seconds_bucket{class=\"5xx\",method=\"-\",route=\"-\",le=\"0.25\"} 1",
            "practice_sync_http_request_seconds_count{class=\"2xx\",method=\"-\",route=\"-\"} 2",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }

    #[test]
    fn refused_responses_are_counted_by_limit() {
        let metrics = RequestMetrics::default();
        metrics.limited(Some(Per::Minute));
        metrics.limited(None);
        let text = render(&metrics);
        for (limit, count) in [("key_second", 0), ("key_minute", 1), ("endpoint", 0), ("other", 1)] {
            assert!(text.contains(&format!("http_limited_total{{limit=\"{limit}\"}} {count}\n")), "{text}");
        }
    }

    #[test]
    fn labels_are_escaped() {
        let mut families = Families::default();
        families.add("build_info", "Always 1.", [(vec![("version", "a\"b")], 1.0)]);
        assert!(families.text().unwrap().ends_with("practice_sync_build_info{version=\"a\\\"b\"} 1\n"));
    }
}
