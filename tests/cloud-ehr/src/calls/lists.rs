//! Lists, and changes since a mark.

use chrono::{NaiveDate, TimeZone};
use serde_json::{Value, json};

use super::{
    appointments, patients,
    result::{CallResult, mark_of},
};
use crate::{
    CloudAppointmentType, CloudPractice, FormRefusal, Hours, Operatory, Provider,
    application::Application,
    markup::{APPOINTMENT, HOURS, Markup, OPERATORY, PATIENT, PROVIDER, TYPE},
    table::{RevisedRow, Table},
    web::WebRequest,
};

/// Maximum number of records in an answer.
const MOST: usize = 200;

/// Returns changed records in order of their changes. A mark with another epoch is refused, so that the client reads
/// everything again.
pub fn changes(application: &Application, asked: &WebRequest) -> CallResult {
    let kind = asked.parameter("of").ok_or_else(|| FormRefusal::missing("of"))?;
    let since = match asked.parameter("since") {
        None => 0,
        Some(mark) => revision_of(application, &mark)?,
    };
    let limit = asked.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(MOST).clamp(1, MOST);
    let feed = Feed { application, since, limit };
    let (practice, markup) = (&application.practice, application.markup);
    match kind.as_str() {
        "patients" => Ok(feed.render_changes(&practice.patients, |row| markup.render(PATIENT, &patients::object(row)))),
        "providers" => Ok(feed.render_changes(&practice.providers, |row| provider(markup, row))),
        "operatories" => Ok(feed.render_changes(&practice.operatories, |row| operatory(markup, row))),
        "types" => Ok(feed.render_changes(&practice.types, |row| kind_of(markup, row))),
        "hours" => Ok(feed.render_changes(&practice.hours, |row| hours(markup, row))),
        "appointments" => {
            let shown = |row: &_| markup.render(APPOINTMENT, &appointments::object(practice, row));
            Ok(feed.render_changes(&practice.appointments, shown))
        }
        _ => Err(FormRefusal::wrong("of")),
    }
}

/// Returns the records that match the query, up to the page's maximum.
pub fn list(application: &Application, kind: &str, asked: &WebRequest) -> CallResult {
    let (practice, markup) = (&application.practice, application.markup);
    let reference = asked.parameter("reference");
    let items: Vec<Value> = match kind {
        "patients" => {
            let letters = asked.parameter("q");
            let all = practice.patients.rows().filter(|row| {
                reference.as_ref().is_none_or(|_| row.record.reference == reference)
                    && letters.as_ref().is_none_or(|letters| patients::fits(&row.record, letters))
            });
            all.map(|row| markup.render(PATIENT, &patients::object(row))).take(MOST).collect()
        }
        "appointments" => {
            let day = asked.parameter("day").map(|day| span(practice, &day)).transpose()?;
            let all = practice.appointments.rows().filter(|row| {
                reference.as_ref().is_none_or(|_| row.record.reference == reference)
                    && day.is_none_or(|(from, to)| row.record.start < to && from < row.record.end)
            });
            all.map(|row| markup.render(APPOINTMENT, &appointments::object(practice, row))).take(MOST).collect()
        }
        "providers" => practice.providers.rows().map(|row| provider(markup, row)).collect(),
        "operatories" => practice.operatories.rows().map(|row| operatory(markup, row)).collect(),
        "types" => practice.types.rows().map(|row| kind_of(markup, row)).collect(),
        "hours" => practice.hours.rows().map(|row| hours(markup, row)).collect(),
        _ => return Err(FormRefusal::not_found("page")),
    };
    Ok(json!({"items": items}))
}

/// Returns start and end of a local day, in seconds since 1970.
pub fn span(practice: &CloudPractice, day: &str) -> Result<(i64, i64), FormRefusal> {
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").map_err(|_| FormRefusal::wrong("day"))?;
    let midnight = |day: NaiveDate| {
        let at = practice.zone.from_local_datetime(&day.and_hms_opt(0, 0, 0)?).earliest()?;
        Some(at.timestamp())
    };
    let next = day.succ_opt().and_then(midnight);
    midnight(day).zip(next).ok_or_else(|| FormRefusal::wrong("day"))
}

struct Feed<'a> {
    application: &'a Application,
    since: u64,
    limit: usize,
}

impl Feed<'_> {
    fn render_changes<T>(&self, table: &Table<T>, shown: impl Fn(&RevisedRow<T>) -> Value) -> Value {
        let changes = self.application.practice.changes(table, self.since, self.limit);
        json!({
            "items": changes.rows.iter().map(|row| shown(row)).collect::<Vec<_>>(),
            "removed": changes.removed,
            "mark": mark_of(self.application, changes.revision),
            "more": changes.more,
            "total": table.len(),
        })
    }
}

fn revision_of(application: &Application, mark: &str) -> Result<u64, FormRefusal> {
    let own = mark.strip_prefix(&application.epoch).and_then(|rest| rest.strip_prefix('.'));
    let expired = || FormRefusal::new(410, "mark_expired", "Please read everything again.");
    own.and_then(|revision| revision.parse().ok()).ok_or_else(expired)
}

fn provider(markup: Markup, row: &RevisedRow<Provider>) -> Value {
    let p = &row.record;
    let own = json!({"id": p.id, "firstName": p.first_name, "lastName": p.last_name, "email": p.email, "npi": p.npi,
        "inactive": p.inactive});
    markup.render(PROVIDER, &own)
}

fn operatory(markup: Markup, row: &RevisedRow<Operatory>) -> Value {
    let o = &row.record;
    markup.render(OPERATORY, &json!({"id": o.id, "name": o.name, "closed": o.closed}))
}

fn kind_of(markup: Markup, row: &RevisedRow<CloudAppointmentType>) -> Value {
    let t = &row.record;
    markup.render(TYPE, &json!({"id": t.id, "name": t.name, "minutes": t.minutes}))
}

fn hours(markup: Markup, row: &RevisedRow<Hours>) -> Value {
    let h = &row.record;
    let own = json!({"id": h.id, "provider": h.provider, "operatory": h.operatory, "days": h.days, "begin": h.begin,
        "end": h.end});
    markup.render(HOURS, &own)
}
