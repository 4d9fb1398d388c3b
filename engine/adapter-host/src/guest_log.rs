//! Log lines of guests, under a target for each adapter, `adapter::fhir-r4`, with location, call and write key. The
//! macros of `tracing` need targets known at compile time, so the call sites are created here, once for each adapter.

use std::{collections::BTreeMap, sync::OnceLock};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata,
    callsite::{Callsite, Identifier},
    dispatcher,
    field::{Field, FieldSet, Value},
    metadata::Kind,
    subscriber::Interest,
};

use super::{bindings::practice_sync::ehr::log::Level, trace::Trace};

const FIELDS: [&str; 6] = ["message", "adapter", "location", "call", "id", "write"];

/// The call sites of an adapter. Leaked for the life of the process: the names of adapters come from the configuration,
/// so their number is bounded.
pub(crate) struct GuestLog {
    adapter: &'static str,
    sites: [&'static Site; 4],
}

#[derive(Default)]
struct Site(OnceLock<Metadata<'static>>);

impl Callsite for Site {
    /// Interest is not cached; `write` asks the subscriber.
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        self.0.get().expect("set by the constructor")
    }
}

impl Site {
    fn new(target: &'static str, level: tracing::Level) -> &'static Site {
        let site: &'static Site = Box::leak(Box::default());
        let fields = FieldSet::new(&FIELDS, Identifier(site));
        site.0.get_or_init(|| Metadata::new("line", target, level, None, None, None, fields, Kind::EVENT));
        site
    }
}

impl GuestLog {
    pub(crate) fn for_adapter(adapter: &str) -> &'static GuestLog {
        static LOGS: Mutex<BTreeMap<String, &'static GuestLog>> = Mutex::new(BTreeMap::new());
        let mut logs = LOGS.lock();
        if let Some(log) = logs.get(adapter) {
            return log;
        }
        let target: &'static str = Box::leak(format!("adapter::{adapter}").into_boxed_str());
        let levels = [tracing::Level::DEBUG, tracing::Level::INFO, tracing::Level::WARN, tracing::Level::ERROR];
        let sites = levels.map(|level| Site::new(target, level));
        let log: &'static GuestLog = Box::leak(Box::new(GuestLog { adapter: &target["adapter::".len()..], sites }));
        logs.insert(adapter.to_owned(), log);
        log
    }

    /// Writes a line. `text` must be redacted already.
    pub(crate) fn write(&self, level: Level, location: &str, trace: &Trace, text: &str) {
        let site = match level {
            Level::Debug => self.sites[0],
            Level::Info => self.sites[1],
            Level::Warn => self.sites[2],
            Level::Error => self.sites[3],
        };
        let metadata = site.0.get().expect("set by the constructor");
        if !dispatcher::get_default(|log| log.enabled(metadata)) {
            return;
        }
        let field = |name: &str| metadata.fields().field(name).expect("one of its fields");
        let fields: [Field; 6] = FIELDS.map(field);
        let write = trace.write_key.as_deref();
        let values: [Option<&dyn Value>; 6] = [
            Some(&text),
            Some(&self.adapter),
            Some(&location),
            Some(&trace.name),
            Some(&trace.id),
            write.as_ref().map(|key| key as &dyn Value),
        ];
        let [a, b, c, d, e, f] = &fields;
        let [v, w, x, y, z, u] = values;
        Event::dispatch(metadata, &metadata.fields().value_set(&[(a, v), (b, w), (c, x), (d, y), (e, z), (f, u)]));
    }
}
