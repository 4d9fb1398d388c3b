//! Log output to stderr.

use std::{
    io::{IsTerminal, stderr},
    sync::OnceLock,
};

use configuration::{LogFormat, log_filter};
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::Directive,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    registry::Registry,
    reload,
    util::SubscriberInitExt,
};

use crate::tracing_export::Traces;

/// Silences the HTTP library, which logs every malformed request as an error. Any client can cause these, and receives
/// a response.
const QUIET: &str = "actix_http=off";
/// Suppresses several lines of the server library at each start and stop.
const BRIEF: &str = "actix_server=warn";

/// Starts the log of a command.
pub fn start(directives: &str) -> Result<(), String> {
    start_as(directives, LogFormat::Text, None)
}

/// Handle that changes the filter of the active log.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Returns the filter of `RUST_LOG`, which takes precedence.
fn given() -> Option<String> {
    std::env::var(EnvFilter::DEFAULT_ENV).ok().filter(|given| !given.is_empty())
}

/// Replaces the filter unless `RUST_LOG` is set. Without effect if the embedding process has another log.
pub fn filter_by(directives: &str) -> Result<(), String> {
    let Some(handle) = FILTER.get().filter(|_| given().is_none()) else { return Ok(()) };
    handle.reload(filter(directives)?).map_err(|error| error.to_string())
}

/// Starts the log, once per process. `RUST_LOG` takes precedence. Traces use the same spans, independently of the
/// filter.
pub fn start_as(directives: &str, format: LogFormat, traces: Option<&Traces>) -> Result<(), String> {
    let given = given();
    let directives = given.as_deref().unwrap_or(directives);
    // Color codes are for terminals only.
    let (subscriber, filter) = subscriber(directives, stderr, format, stderr().is_terminal(), traces)?;
    // Fails if the embedding process has installed a subscriber.
    if subscriber.try_init().is_ok() {
        let _ = FILTER.set(filter);
    }
    Ok(())
}

fn filter(directives: &str) -> Result<EnvFilter, String> {
    let mut filter = log_filter(directives)?;
    let is_quiet = ["off", "error"].contains(&directives.trim());
    for own in [QUIET, BRIEF].into_iter().filter(|own| *own == QUIET || !is_quiet) {
        if own.split('=').next().is_some_and(|target| !directives.contains(target)) {
            let directive = own.parse::<Directive>().map_err(|error| format!("{own}: {error}"))?;
            filter = filter.add_directive(directive);
        }
    }
    Ok(filter)
}

/// Returns a subscriber, and the handle that changes its filter.
fn subscriber<W>(
    directives: &str,
    writer: W,
    format: LogFormat,
    has_colours: bool,
    traces: Option<&Traces>,
) -> Result<(impl Subscriber + Send + Sync + use<W>, reload::Handle<EnvFilter, Registry>), String>
where
    W: for<'a> MakeWriter<'a> + Clone + Send + Sync + 'static,
{
    let filter = filter(directives).map_err(|error| format!("`log` {error}"))?;
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer().with_writer(writer).with_ansi(has_colours);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    Ok((Registry::default().with(lines.with_filter(filter)).with(traces.map(Traces::layer)), handle))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{io::Write, sync::Arc};

    use configuration::TraceRules;
    use parking_lot::Mutex;
    use tracing::subscriber::with_default;

    use super::*;

    #[derive(Clone, Default)]
    struct LogBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for LogBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(directives: &str, log: impl FnOnce()) -> String {
        written_as(LogFormat::Text, directives, log)
    }

    fn written_as(format: LogFormat, directives: &str, log: impl FnOnce()) -> String {
        let page = LogBuffer::default();
        let to = page.clone();
        with_default(subscriber(directives, move || to.clone(), format, false, None).unwrap().0, log);
        let bytes = page.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_log_applies_its_filter_and_has_no_colours() {
        let text = written("warn", || {
            tracing::info!("quiet");
            tracing::warn!("loud");
        });
        assert!(text.contains("loud") && !text.contains("quiet") && !text.contains('\u{1b}'), "{text}");
        assert!(subscriber("no such=level", stderr, LogFormat::Text, false, None).is_err());
    }

    #[test]
    fn the_server_library_logs_warnings_only() {
        let output_of = |directives| {
            written(directives, || {
                tracing::info!(target: "actix_server::builder", "starting 2 workers");
                tracing::warn!(target: "actix_server::accept", "accepting failed");
            })
        };
        let text = output_of("info");
        assert!(!text.contains("starting") && text.contains("accepting failed"), "{text}");
        assert!(output_of("info,actix_server=info").contains("starting"));
        assert_eq!(output_of("error"), "");
    }

    #[test]
    fn the_filter_of_an_active_log_can_be_replaced() {
        let page = LogBuffer::default();
        let to = page.clone();
        let (subscriber, handle) = subscriber("error", move || to.clone(), LogFormat::Text, false, None).unwrap();
        with_default(subscriber, || {
            tracing::info!("one");
            handle.reload(filter("info").unwrap()).unwrap();
            tracing::info!("two");
        });
        let text = String::from_utf8(page.0.lock().clone()).unwrap();
        assert!(!text.contains("one") && text.contains("two"), "{text}");
        assert!(filter("no such=level").is_err());
    }

    /// Without traces, spans are disabled and cost nothing.
    #[test]
    fn spans_are_enabled_only_with_traces() {
        let disabled = |traces: Option<&Traces>| {
            let subscriber = subscriber("info", stderr, LogFormat::Text, false, traces).unwrap().0;
            with_default(subscriber, || tracing::trace_span!(target: "api", "request", request = "an-id").is_disabled())
        };
        assert!(disabled(None));
        let rules = TraceRules { endpoint: "http://127.0.0.1:9/v1/traces".to_owned(), ratio: 1.0 };
        assert!(!disabled(Some(&Traces::start(&rules, None).unwrap())));
    }

    #[test]
    fn json_format_writes_one_object_per_line() {
        let text = written_as(LogFormat::Json, "info", || {
            tracing::info!(target: "access", status = 200, route = "/patients", "answered");
            tracing::info!(key = "k", id = 7_u64);
        });
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (&lines[0]["target"], &lines[0]["route"], &lines[0]["message"]),
            (&"access".into(), &"/patients".into(), &"answered".into())
        );
        assert_eq!((&lines[1]["key"], &lines[1]["id"]), (&"k".into(), &7.into()));
    }

    #[test]
    fn malformed_requests_are_not_logged_by_default() {
        let malformed = || tracing::error!(target: "actix_http::h1::dispatcher", "stream error: bad request line");
        assert_eq!(written("info", malformed), "");
        assert!(written("info,actix_http=error", malformed).contains("stream error"));
    }
}
