//! The newest entries of the audit trail.

use audit::{Actor, AuditError, Filter, Recorded, Trail};
use endpoints::resources::practice::write_requests::{parsed, public_id};
use location::DAY;

use crate::{prelude::*, words};

/// Entries per page.
const ENTRIES: usize = 200;
/// Maximum number of ids shown per entry.
const IDS: usize = 8;

#[derive(Template)]
#[template(path = "console/audit.html")]
struct AuditPage {
    frame: PageFrame,
    kept: bool,
    asked: FilterForm,
    rows: Vec<AuditRow>,
    /// Older entries were not searched.
    cut: bool,
}

struct FilterForm {
    kinds: [(&'static str, &'static str); 4],
    kind: String,
    name: String,
    record: String,
    id: String,
    from: String,
    to: String,
}

pub(super) struct AuditRow {
    pub seq: u64,
    pub at: String,
    pub request: String,
    pub who: String,
    pub client: String,
    pub action: String,
    pub record: String,
    pub ids: String,
    pub institution: Option<u64>,
    pub location: Option<u64>,
    pub route: String,
    pub tool: Option<String>,
    pub status: String,
}

pub(crate) async fn show(visit: ConsoleRequest) -> Result<HttpResponse, ConsoleError> {
    visit.needs(Role::Operator)?;
    let page = read_blocking(&visit, |visit| async move { read(&visit) }).await?;
    visit.show("GET /console/audit", &page).await
}

/// Returns a number that changes with each entry.
pub(crate) fn version(api: &Api) -> u64 {
    api.audit.as_ref().map_or(0, Trail::written)
}

fn read(visit: &ConsoleRequest) -> Result<AuditPage, ConsoleError> {
    let text = |name| visit.query_value(name).unwrap_or_default().to_owned();
    let asked = FilterForm {
        kinds: [("", "anyone"), ("key", "API key"), ("operator", "operator"), ("workstation", "workstation")],
        kind: text("kind"),
        name: text("name"),
        record: text("record"),
        id: text("id"),
        from: text("from"),
        to: text("to"),
    };
    let filter = asked.filter()?;
    let live = live_address("/console/audit", version(&visit.api));
    let frame = PageFrame { live: Some(live), ..visit.frame("audit", "Audit") };
    let Some(trail) = &visit.api.audit else {
        return Ok(AuditPage { frame, kept: false, asked, rows: Vec::new(), cut: false });
    };
    let newest = trail.newest(filter, ENTRIES).map_err(unreadable_trail)?;
    let rows = newest.entries.into_iter().map(AuditRow::from_recorded).collect();
    Ok(AuditPage { frame, kept: true, asked, rows, cut: newest.cut })
}

pub(crate) fn unreadable_trail(error: AuditError) -> ApiError {
    tracing::error!(%error, "the audit trail could not be read");
    ApiError::refused(format!(
        "The audit trail could not be read: {error}. Run `practice-sync audit verify` for details"
    ))
}

impl FilterForm {
    fn filter(&self) -> Result<Filter, ApiError> {
        let actor = match (self.kind.as_str(), self.name.clone()) {
            (_, name) if name.is_empty() => None,
            ("operator", name) => Some(Actor::Operator(name)),
            ("workstation", name) => Some(Actor::Workstation(name)),
            ("key", name) => Some(Actor::Key(name)),
            _ => return Err(ApiError::bad("a name needs a kind: API key, operator or workstation")),
        };
        let write = parsed(&self.id);
        let known = || self.id.parse().ok().or(write.map(|(_, id)| id));
        let id = (!self.id.is_empty()).then(|| {
            known().ok_or_else(|| ApiError::bad("id must be a number, or that of a write request such as 101-8"))
        });
        let from = day(&self.from, "from")?;
        Ok(Filter {
            from: from.map(|at| at.0),
            to: day(&self.to, "to")?.map(|at| at.plus(DAY).0),
            actor,
            actor_kind: Some(self.kind.clone()).filter(|kind| !kind.is_empty()),
            location: write.map(|(location, _)| location.into()),
            record: match write {
                // Records of other kinds are numbered separately.
                Some(_) => Some("write request".to_owned()),
                None => Some(self.record.clone()).filter(|record| !record.is_empty()),
            },
            id: id.transpose()?,
            request: None,
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

impl AuditRow {
    pub(super) fn from_recorded(Recorded { seq, entry: it }: Recorded) -> AuditRow {
        let who = match it.actor {
            Actor::Key(name) => format!("key {name}"),
            Actor::Operator(name) => format!("operator {name}"),
            Actor::Workstation(name) => format!("workstation {name}"),
            Actor::Service => "the service".to_owned(),
        };
        // Entries of bookings contain their location only in the journal positions.
        let location = it.location.or(it.decisions.first().map(|(location, _)| *location));
        let more = it.ids.len().saturating_sub(IDS);
        let id = |id: &u64| match (it.record.as_str(), location) {
            // Writes are numbered per location from 0; operators see another number.
            ("write request", Some(location)) => {
                u32::try_from(location).map(|of| public_id(of, *id)).unwrap_or_default()
            }
            // The entry concerns no single record.
            ("webhook message", _) if *id == 0 => String::new(),
            _ => id.to_string(),
        };
        let ids: Vec<String> = it.ids.iter().take(IDS).map(id).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        AuditRow {
            seq,
            at: words::seconds(Timestamp(it.at)),
            who,
            client: it.client.unwrap_or_default(),
            action: it.action,
            record: it.record.to_lowercase(),
            request: it.request_id,
            ids: format!("{}{more}", ids.join(", ")),
            institution: it.institution,
            location,
            route: it.route,
            tool: it.tool,
            status: it.status,
        }
    }
}
