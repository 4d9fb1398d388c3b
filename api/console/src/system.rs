//! The server (version, disk, backups, certificates, keys and operators), and the documents for operators.

use std::sync::Arc;

use actix_web::{HttpRequest, web::Path};
use endpoints::resources::documentation;
use framework::{
    access::{keys::ApiKey, operators::Operator},
    values::words::WireEnum,
};

use crate::{prelude::*, words};

#[derive(Template)]
#[template(path = "console/system.html")]
struct SystemPage {
    frame: PageFrame,
    version: &'static str,
    started: RelativeTime,
    up: String,
    ready: Badge,
    not_ready: Option<String>,
    free_mib: u64,
    store: Badge,
    backup: Option<Backup>,
    audit_waiting: u64,
    node: Option<String>,
    certificates: Vec<(&'static str, RelativeTime)>,
    institutions: usize,
    locations: usize,
    keys: Vec<Arc<ApiKey>>,
    /// The operators and their last uses; `None` unless the operator is an admin.
    operators: Option<Vec<(Arc<Operator>, Option<RelativeTime>)>>,
}

struct Backup {
    /// `None` before the first backup.
    newest: Option<RelativeTime>,
    failed: u64,
}

pub(crate) async fn show(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    let page = read(&visit);
    visit.show("GET /console/system", &page).await
}

fn read(visit: &ConsoleRequest) -> SystemPage {
    let (api, now) = (&visit.api, visit.api.engine.now());
    let (engine, numbers) = (&api.engine, api.engine.metrics());
    let not_ready = engine.ready().err().map(|reason| reason.to_string());
    let directory = api.directory();
    let mut keys: Vec<Arc<ApiKey>> = api.keys().all().cloned().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    let operators = visit.may(Role::Admin).then(|| {
        let last_used = |it: &Operator| it.last_used().map(|at| RelativeTime::new(at, now));
        let mut all: Vec<_> = api.operators().all().map(|it| (it.clone(), last_used(it))).collect();
        all.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        all
    });
    let backup = engine
        .backup_numbers()
        .map(|(newest, failed)| Backup { newest: newest.map(|at| RelativeTime::new(at, now)), failed });
    SystemPage {
        frame: visit.frame("system", "System"),
        version: env!("CARGO_PKG_VERSION"),
        started: RelativeTime::new(api.started, now),
        up: words::span(now.since(api.started)),
        ready: if not_ready.is_none() { Badge::good("ready") } else { Badge::bad("not ready") },
        not_ready,
        free_mib: numbers.store_free_bytes >> 20,
        store: if numbers.store_damaged > 0 { Badge::bad("damaged") } else { Badge::good("intact") },
        backup,
        audit_waiting: engine.audit_follower().waiting() as u64,
        node: engine.nodes().map(|nodes| nodes.name),
        certificates: api.certificates.all().map(|it| (it.listener, RelativeTime::new(it.expires(), now))).collect(),
        institutions: directory.institutions().count(),
        locations: directory.locations().count(),
        keys,
        operators,
    }
}

/// Returns a document for operators. The text contains no data of the service, so no session is needed.
pub(crate) async fn document(request: HttpRequest, name: Path<String>) -> Result<HttpResponse, ConsoleError> {
    Ok(documentation::operator_page(&request, &name)?)
}
