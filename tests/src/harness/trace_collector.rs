//! A collector that stores the received spans.

use std::{io, net::TcpListener, sync::Arc};

use actix_web::{App, HttpResponse, HttpServer, web};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1,
};
use parking_lot::Mutex;
use prost::Message;

#[derive(Clone, Debug)]
pub struct CollectedSpan {
    pub trace: String,
    pub id: String,
    /// Empty for the root of a trace.
    pub parent: String,
    pub name: String,
    pub fields: Vec<(String, String)>,
}

impl CollectedSpan {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// The spans, and all received data as text.
#[derive(Default)]
struct Received {
    spans: Vec<CollectedSpan>,
    text: String,
}

#[derive(Clone)]
pub struct TraceCollector {
    /// The endpoint for the table `[traces]`.
    pub endpoint: String,
    received: Arc<Mutex<Received>>,
}

impl TraceCollector {
    /// Listens on a free port of loopback. Must be called within an actix system.
    pub fn start() -> io::Result<TraceCollector> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let collector =
            TraceCollector { endpoint: format!("http://{}", listener.local_addr()?), received: Arc::default() };
        let data = web::Data::from(collector.received.clone());
        let app = move || App::new().app_data(data.clone()).route("/v1/traces", web::post().to(receive));
        actix_web::rt::spawn(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run());
        Ok(collector)
    }

    /// Returns the configuration table that sends traces here.
    pub fn table(&self) -> String {
        format!("\n[traces]\nendpoint = \"{}\"\n", self.endpoint)
    }

    /// Returns the spans of a request's trace.
    pub fn spans_for_request(&self, request: &str) -> Vec<CollectedSpan> {
        let received = self.received.lock();
        let of = received.spans.iter().find(|span| span.field("request") == Some(request)).map(|span| &span.trace);
        received.spans.iter().filter(|span| Some(&span.trace) == of).cloned().collect()
    }

    pub fn spans(&self) -> Vec<CollectedSpan> {
        self.received.lock().spans.clone()
    }

    /// Returns all received data as text: fields, events and resource attributes.
    pub fn text(&self) -> String {
        self.received.lock().text.clone()
    }
}

async fn receive(body: web::Bytes, received: web::Data<Mutex<Received>>) -> HttpResponse {
    let Ok(sent) = ExportTraceServiceRequest::decode(body) else { return HttpResponse::BadRequest().finish() };
    let mut received = received.lock();
    received.text.push_str(&format!("{sent:?}\n"));
    let spans = sent.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans);
    received.spans.extend(spans.map(span));
    HttpResponse::Ok().content_type("application/x-protobuf").finish()
}

fn span(span: v1::Span) -> CollectedSpan {
    let value = |value: Value| match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let fields = span.attributes.into_iter().map(|field| {
        let of = field.value.and_then(|of| of.value).map(value);
        (field.key, of.unwrap_or_default())
    });
    CollectedSpan {
        trace: hex::encode(span.trace_id),
        id: hex::encode(span.span_id),
        parent: hex::encode(span.parent_span_id),
        name: span.name,
        fields: fields.collect(),
    }
}
