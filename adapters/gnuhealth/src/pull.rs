//! One page of a resource.

use std::collections::BTreeMap;

use adapter_sdk::{Fault, Page, Record, Resource, SkippedRecord, clock, warn};
use serde_json::{Value, json};

use crate::{
    client::{self, Found},
    cursor::Cursor,
    map::{self, Shown},
    requests::{self, Search},
    responses::{APPOINTMENT, APPOINTMENT_FIELDS, PartyOf},
    settings::Settings,
    streams::{self, Part},
    values::DateTime,
};

/// The most rows the EHR is asked for at once.
const MAX_ROWS: u32 = 1_000;
/// Working hours are shown whole, and an engine's page has room for them.
const MAX_FREE_PLACES: u32 = 5_000;

pub fn page(settings: &Settings, resource: Resource, cursor: Option<&str>, limit: u32) -> Result<Page, Fault> {
    let delta = streams::has_deltas(resource);
    let cursor = Cursor::parse(cursor, clock::now(), delta, settings.whole_minutes)
        .ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    match resource {
        Resource::AppointmentTypes => Ok(finished(settings.types.iter().map(map::appointment_type).collect(), cursor)),
        Resource::WorkingHours => working_hours(settings, cursor, limit),
        other => match streams::parts(other) {
            [] => Err(Fault::unsupported("this adapter does not read such records")),
            parts => of_parts(settings, parts, cursor, limit),
        },
    }
}

fn of_parts(settings: &Settings, parts: &[Part], cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let part = parts.get(cursor.part).ok_or_else(|| Fault::rejected("not a cursor of this adapter"))?;
    let own = (part.domain)(settings);
    let domain = requests::page(&own, part.watched, cursor.since, cursor.after);
    let limit = limit.clamp(1, MAX_ROWS);
    let Found { mut rows, now } =
        client::search::<Value>(&Search { model: part.model, domain, limit, fields: part.fields })?;
    let full = rows.len() >= limit as usize;
    let last_id = rows.last().map(id_of).unwrap_or_default();
    if part.by_party {
        put_patients(&mut rows)?;
    }
    let mut page = Page { estimate: estimate(settings, parts, &cursor)?, ..Page::default() };
    let mut left_out = cursor.left_out;
    for row in rows {
        let id = id_of(&row);
        match (part.map)(row, settings) {
            Ok(Shown::Record(record)) => page.records.push(*record),
            // A whole pass tells what is gone by not showing it.
            Ok(Shown::Gone(id)) if !cursor.is_whole() => page.deleted.push(id),
            Ok(Shown::Gone(_) | Shown::Nothing) => (),
            // Where several models make up a resource, its ids name them.
            Err(why) if id > 0 && parts.len() > 1 => {
                page.skipped.push(SkippedRecord::new(format!("{},{id}", part.model), why));
            }
            Err(why) if id > 0 => page.skipped.push(SkippedRecord::new(id.to_string(), why)),
            Err(why) => {
                warn!("a row of {} is left out: {why}", part.model);
                left_out = true;
            }
        }
    }
    let next = match full {
        true => Some((cursor.part, last_id)),
        false => Some((cursor.part + 1, 0)).filter(|(part, _)| *part < parts.len()),
    };
    page.last = next.is_none();
    page.whole = cursor.is_whole() && !left_out;
    page.cursor = Cursor { left_out, ..cursor }.after(next, now.unwrap_or_else(clock::now)).to_string();
    Ok(page)
}

fn id_of(row: &Value) -> i64 {
    row["id"].as_i64().unwrap_or_default()
}

/// How many a first, whole pass will show: asked for once.
fn estimate(settings: &Settings, parts: &[Part], cursor: &Cursor) -> Result<Option<u64>, Fault> {
    if !cursor.is_whole() || !cursor.is_first_page() {
        return Ok(None);
    }
    let count = |part: &Part| {
        client::count(&Search { model: part.model, domain: json!((part.domain)(settings)), limit: 0, fields: &[] })
    };
    parts.iter().map(count).sum::<Result<u64, Fault>>().map(Some)
}

/// Writes into each row the patient whose party it names; nothing where the party is none.
fn put_patients(rows: &mut [Value]) -> Result<(), Fault> {
    let parties: Vec<i64> = rows.iter().filter_map(|row| row["party"].as_i64()).collect();
    if parties.is_empty() {
        return Ok(());
    }
    let patients = client::search::<PartyOf>(&requests::patients_of(&parties))?.rows;
    let patients: BTreeMap<i64, i64> = patients.into_iter().filter_map(|row| Some((row.party?, row.id))).collect();
    for row in rows {
        row["patient"] = row["party"].as_i64().and_then(|party| patients.get(&party)).copied().into();
    }
    Ok(())
}

/// The free places of the days ahead.
fn working_hours(settings: &Settings, cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let now = clock::now();
    let until = now + settings.slot_days * 86_400;
    let mut domain = vec![
        json!(["id", ">", cursor.after]),
        json!(["state", "=", "free"]),
        json!(["healthprof", "!=", null]),
        json!(["appointment_date_end", ">", DateTime::at(now)]),
        json!(["appointment_date", "<", DateTime::at(until)]),
    ];
    domain.extend(settings.institution.map(|id| json!(["institution", "=", id])));
    let limit = limit.clamp(1, MAX_FREE_PLACES);
    let search = Search { model: APPOINTMENT, domain: Value::Array(domain), limit, fields: APPOINTMENT_FIELDS };
    let rows = client::search::<Value>(&search)?.rows;
    let next = (rows.len() >= limit as usize).then(|| (0, rows.last().map(id_of).unwrap_or_default()));
    let mut page = Page { last: next.is_none(), ..Page::default() };
    let mut left_out = cursor.left_out;
    for row in rows {
        let id = id_of(&row);
        match map::working_hour(row, settings) {
            Ok(Shown::Record(record)) => page.records.push(*record),
            Ok(Shown::Gone(_) | Shown::Nothing) => (),
            Err(why) if id > 0 => page.skipped.push(SkippedRecord::new(id.to_string(), why)),
            Err(why) => {
                warn!("a free appointment is left out: {why}");
                left_out = true;
            }
        }
    }
    page.whole = !left_out;
    page.cursor = Cursor { left_out, ..cursor }.after(next, now).to_string();
    Ok(page)
}

/// The only page of a pass.
fn finished(records: Vec<Record>, cursor: Cursor) -> Page {
    let cursor = cursor.after(None, clock::now()).to_string();
    Page { records, cursor, last: true, whole: true, ..Page::default() }
}
