//! Traces, sent by OTLP to a configured collector. Each request has a trace, whose id is derived from the request id.
//! The request id is stored with queued work, so that later EHR calls join the trace and its sampling decision, even
//! after a restart or on another node. Traces contain only the spans listed here, with their initial fields, and no log
//! lines.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

use configuration::TraceRules;
use opentelemetry::{
    Context as Parent,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TracerProvider},
};
use opentelemetry_otlp::{SpanExporter as Otlp, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchSpanProcessor, IdGenerator, RandomIdGenerator, Sampler, SdkTracer, SdkTracerProvider, SpanData,
        SpanExporter,
    },
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::{Layer, filter::filter_fn, layer::Context, registry::LookupSpan};

/// Spans of a trace, by crate.
const SPANS: [(&str, &str); 6] = [
    ("api", REQUEST),
    ("processor", "turn"),
    ("processor", "commit"),
    ("processor", "ehr_call"),
    ("adapter_host", "adapter_call"),
    ("webhooks", "webhook"),
];
/// Span of a request from the first byte to the response, the root of its trace.
const REQUEST: &str = "request";
/// Timeout of the collector.
const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout for the last spans at process exit.
const LAST_SPANS: Duration = Duration::from_secs(2);
/// Interval between warnings about lost spans.
const REPORT_INTERVAL: Duration = Duration::from_secs(300);

/// Trace provider of this process.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts the export. `node` is the name of this process among others. Must be called outside of a runtime, because
    /// the client has its own.
    pub fn start(rules: &TraceRules, node: Option<&str>) -> Result<Traces, String> {
        engine::webhooks::egress::install_crypto();
        let client = reqwest::blocking::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(|error| format!("no HTTP client for traces: {error}"))?;
        let otlp = Otlp::builder().with_http().with_http_client(client).with_endpoint(&rules.endpoint);
        let otlp = otlp.with_timeout(PATIENCE).build().map_err(|error| format!("`endpoint` of [traces]: {error}"))?;
        let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder_empty().with_service_name("practice-sync").with_attribute(version);
        let node = node.map(|node| opentelemetry::KeyValue::new("service.instance.id", node.to_owned()));
        let provider = SdkTracerProvider::builder()
            .with_id_generator(SpanIdGenerator::default())
            .with_sampler(Sampler::TraceIdRatioBased(rules.ratio))
            .with_resource(resource.with_attributes(node).build())
            .with_span_processor(
                BatchSpanProcessor::builder(Collector { otlp, last_report: Mutex::default() }).build(),
            );
        Ok(Traces(provider.build()))
    }

    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("practice-sync"))
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false);
        ByRequest(spans).with_filter(filter_fn(traced))
    }

    /// Sends the remaining spans.
    pub fn end(&self) {
        // The exporter has logged lost spans.
        drop(self.0.shutdown_with_timeout(LAST_SPANS));
    }
}

fn traced(about: &Metadata<'_>) -> bool {
    let of = about.target().split("::").next().unwrap_or_default();
    about.is_span() && SPANS.contains(&(of, about.name()))
}

/// Position of a request's spans: its trace, its own span, and the caller's span if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SpanPosition {
    trace: TraceId,
    own: SpanId,
    above: Option<SpanId>,
}

impl SpanPosition {
    /// Derives the position. A request id that contains a caller's trace and span continues that trace.
    fn from_request_id(request: &str) -> SpanPosition {
        let hash = Sha256::digest(request);
        let part = |from: usize| u64::from_be_bytes(std::array::from_fn(|at| hash[from + at]));
        let own = SpanId::from(part(16).max(1));
        let callers = request.split_once('-').filter(|(trace, span)| (trace.len(), span.len()) == (32, 16));
        let callers =
            callers.and_then(|(trace, span)| Some((TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?)));
        let callers = callers.filter(|(trace, span)| *trace != TraceId::INVALID && *span != SpanId::INVALID);
        let derived = || TraceId::from(u128::from(part(0).max(1)) << 64 | u128::from(part(8)));
        let trace = callers.map_or_else(derived, |(trace, _)| trace);
        SpanPosition { trace, own, above: callers.map(|(_, span)| span) }
    }

    fn below(&self, span: SpanId) -> Parent {
        let span = SpanContext::new(self.trace, span, TraceFlags::SAMPLED, true, Default::default());
        Parent::new().with_remote_span_context(span)
    }
}

/// Layer that assigns spans with a request id to its trace.
struct ByRequest<S>(OpenTelemetryLayer<S, SdkTracer>);

impl<S> Layer<S> for ByRequest<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attrs: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut fields = SpanFields::default();
        attrs.record(&mut fields);
        let Some(place) = fields.request else { return self.0.on_new_span(attrs, id, ctx) };
        let above = if attrs.metadata().name() == REQUEST && !fields.handed_on {
            ctx.span(id).into_iter().for_each(|span| span.extensions_mut().insert(place));
            place.above
        } else {
            Some(place.own)
        };
        let _placed = above.map(|above| place.below(above).attach());
        // The parent is the enclosing span if there is one.
        self.0.on_new_span(&Attributes::new(attrs.metadata(), attrs.values()), id, ctx);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        self.0.on_record(id, values, ctx);
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        self.0.on_exit(id, ctx);
    }

    /// A span without children receives its ids only at this point.
    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let place = ctx.span(&id).and_then(|span| span.extensions().get::<SpanPosition>().copied());
        NEXT.set(place);
        self.0.on_close(id, ctx);
        NEXT.set(None);
    }
}

/// Fields that determine the position of a span.
#[derive(Default)]
struct SpanFields {
    request: Option<SpanPosition>,
    /// `true` on the node that received a forwarded request. The first node has the request's span.
    handed_on: bool,
}

impl Visit for SpanFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "request" {
            self.request = Some(SpanPosition::from_request_id(value));
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.handed_on |= value && field.name() == "handed_on";
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

thread_local! {
    /// Position of the span that this thread is closing.
    static NEXT: Cell<Option<SpanPosition>> = const { Cell::new(None) };
}

#[derive(Debug, Default)]
struct SpanIdGenerator(RandomIdGenerator);

impl IdGenerator for SpanIdGenerator {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().map_or_else(|| self.0.new_trace_id(), |next| next.trace)
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().map_or_else(|| self.0.new_span_id(), |next| next.own)
    }
}

/// Exporter that logs lost spans occasionally. Nothing waits for it.
#[derive(Debug)]
struct Collector {
    otlp: Otlp,
    last_report: Mutex<Option<Instant>>,
}

impl Collector {
    fn warn_about_loss(&self, lost: usize, error: &dyn fmt::Display) {
        let mut last_report = self.last_report.lock();
        if last_report.is_none_or(|last_report| last_report.elapsed() > REPORT_INTERVAL) {
            *last_report = Some(Instant::now());
            tracing::warn!(%error, spans = lost, "traces do not reach their collector: spans are lost");
        }
    }
}

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.otlp.export(batch).await;
        sent.inspect_err(|error| self.warn_about_loss(spans, error))
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.otlp.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_of_a_request_is_derived_from_its_id() {
        let place = SpanPosition::from_request_id("call-7");
        assert_eq!((SpanPosition::from_request_id("call-7"), place.above), (place, None));
        assert!(SpanPosition::from_request_id("call-8").trace != place.trace && place.trace != TraceId::INVALID);
    }

    #[test]
    fn a_callers_trace_is_continued() {
        let place = SpanPosition::from_request_id("4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7");
        assert_eq!(place.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(place.above.map(|above| above.to_string()).as_deref(), Some("00f067aa0ba902b7"));
        for odd in ["00000000000000000000000000000000-00f067aa0ba902b7", "7d4e0c1a-1b2c-4d5e-8f90-0123456789ab"] {
            assert_eq!(SpanPosition::from_request_id(odd).above, None, "{odd}");
        }
    }
}
