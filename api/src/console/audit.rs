//! The newest entries of the audit trail.

use actix_web::HttpResponse;
use askama::Template;
use audit::{Actor, Filter, Recorded};
use location::time::{DAY, Timestamp};

use super::{
    page::{Failure, Frame},
    visit::{Visit, beside},
};
use crate::{
    http::errors::ApiError,
    values::{role::Role, times},
};

/// Entries of a page.
const ENTRIES: usize = 200;
/// Ids of an entry that are shown.
const IDS: usize = 8;

#[derive(Template)]
#[template(path = "console/audit.html")]
struct AuditPage {
    frame: Frame,
    kept: bool,
    asked: Asked,
    rows: Vec<Row>,
    /// Older entries were not looked through.
    cut: bool,
}

/// The filters, as they stand in their form.
struct Asked {
    kinds: [(&'static str, &'static str); 3],
    kind: String,
    name: String,
    record: String,
    id: String,
    from: String,
    to: String,
}

struct Row {
    seq: u64,
    at: String,
    who: String,
    client: String,
    action: String,
    record: String,
    ids: String,
    institution: Option<u64>,
    location: Option<u64>,
    route: String,
    status: String,
}

pub(super) async fn show(visit: Visit) -> Result<HttpResponse, Failure> {
    visit.needs(Role::Operator)?;
    let page = beside(&visit, |visit| async move { read(&visit) }).await?;
    visit.show("GET /console/audit", &page).await
}

fn read(visit: &Visit) -> Result<AuditPage, Failure> {
    let text = |name| visit.asked(name).unwrap_or_default().to_owned();
    let asked = Asked {
        kinds: [("key", "API key"), ("operator", "operator"), ("workstation", "workstation")],
        kind: text("kind"),
        name: text("name"),
        record: text("record"),
        id: text("id"),
        from: text("from"),
        to: text("to"),
    };
    let (filter, frame) = (asked.filter()?, visit.frame("audit", "Audit"));
    let Some(trail) = &visit.api.audit else {
        return Ok(AuditPage { frame, kept: false, asked, rows: Vec::new(), cut: false });
    };
    let newest = trail.newest(filter, ENTRIES).map_err(|error| {
        tracing::error!(%error, "the audit trail could not be read");
        ApiError::Refused(format!("The audit trail could not be read: {error}. `practice-sync audit verify` says more"))
    })?;
    let rows = newest.entries.into_iter().map(Row::of).collect();
    Ok(AuditPage { frame, kept: true, asked, rows, cut: newest.cut })
}

impl Asked {
    fn filter(&self) -> Result<Filter, ApiError> {
        let actor = || {
            Some(match self.kind.as_str() {
                "operator" => Actor::Operator(self.name.clone()),
                "workstation" => Actor::Workstation(self.name.clone()),
                _ => Actor::Key(self.name.clone()),
            })
        };
        let id = (!self.id.is_empty()).then(|| self.id.parse());
        let from = day(&self.from, "from")?;
        Ok(Filter {
            from: from.map(|at| at.0),
            to: day(&self.to, "to")?.map(|at| at.plus(DAY).0),
            actor: if self.name.is_empty() { None } else { actor() },
            record: Some(self.record.clone()).filter(|record| !record.is_empty()),
            id: id.transpose().map_err(|_| ApiError::bad("id must be a number"))?,
        })
    }
}

fn day(text: &str, name: &str) -> Result<Option<Timestamp>, ApiError> {
    if text.is_empty() {
        return Ok(None);
    }
    let date: location::zone::Date =
        text.parse().map_err(|_| ApiError::bad(format!("{name} must be a date such as 2026-12-01")))?;
    Ok(Some(Timestamp(i64::from(date.0) * DAY)))
}

impl Row {
    fn of(Recorded { seq, entry: it }: Recorded) -> Row {
        let who = match it.actor {
            Actor::Key(name) => format!("key {name}"),
            Actor::Operator(name) => format!("operator {name}"),
            Actor::Workstation(name) => format!("workstation {name}"),
            Actor::Service => "the service".to_owned(),
        };
        let more = it.ids.len().saturating_sub(IDS);
        let ids: Vec<String> = it.ids.iter().take(IDS).map(u64::to_string).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Row {
            seq,
            at: times::utc(Timestamp(it.at)),
            who,
            client: it.client.unwrap_or_default(),
            action: it.action,
            record: it.record,
            ids: format!("{}{more}", ids.join(", ")),
            institution: it.institution,
            location: it.location,
            route: it.route,
            status: it.status,
        }
    }
}
