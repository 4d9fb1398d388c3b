//! A walk over resource types, page by page, shared by several streams.

use std::rc::Rc;

use adapter_sdk::{Fault, Page, Record, SkippedRecord, clock, limits, pass, warn};
use serde_json::Value;

use crate::{
    client::{self, Searched},
    cursor::Cursor,
    enrich::enrich,
    map::{Unmapped, history},
    paging::{At, Step, WalkPosition},
    requests,
    settings::Settings,
};

pub type Map = fn(Value, &Settings) -> Result<Record, Unmapped>;
/// Returns `true` for a requested resource, because servers ignore filters they do not support.
pub type Keep = Rc<dyn Fn(&mut Value) -> bool>;

/// A resource type of a pull.
#[derive(Clone)]
pub struct Part {
    pub resource_type: &'static str,
    pub search: String,
    pub map: Map,
    /// `None` if every server supports the filter.
    pub keep: Option<Keep>,
    /// If the server refuses the search, the pass continues without this part but is not whole.
    pub may_be_refused: bool,
}

/// Reads one page of one part and returns the next cursor. The next part begins after the end of one.
pub fn walk(settings: &Settings, parts: &[Part], mut cursor: Cursor, limit: u32) -> Result<(Page, Cursor), Fault> {
    let part = parts.get(cursor.part).ok_or_else(pass::foreign)?;
    let search = cursor.since.map_or_else(|| part.search.clone(), |at| requests::since(&part.search, at));
    let mut searched = match client::page(settings, part.resource_type, &search, &cursor.spot, limit) {
        // If the server does not support searches by time of change, everything is read.
        Err(Fault::Rejected(_)) if cursor.since.is_some() && cursor.started.is_none() => {
            warn!("{} cannot be searched by _lastUpdated: everything is read", part.resource_type);
            return walk(settings, parts, Cursor { since: None, whole_at: clock::now(), ..cursor }, limit);
        }
        // The link has expired, so this part restarts.
        Err(Fault::Rejected(_)) if matches!(cursor.spot.at, At::Link(_)) => {
            warn!("{}: the server no longer knows its link to the next page", part.resource_type);
            let whole = cursor.shows_all();
            let cursor = Cursor { spot: WalkPosition { base: None, ..cursor.spot.again() }, ..cursor };
            return Ok((Page { cursor: cursor.to_string(), whole, ..Page::default() }, cursor));
        }
        Err(Fault::Rejected(reason)) if part.may_be_refused => {
            warn!("{} resources of one range are not read: {reason}", part.resource_type);
            cursor.partial = true;
            let step = Step { steady: true, ..Step::default() };
            Searched { step, spot: cursor.spot.clone(), now: None }
        }
        other => other?,
    };
    let mut resources = searched.read(part.resource_type);
    let Searched { step, spot, now } = searched;
    cursor.spot = spot;
    enrich(settings, part.resource_type, &mut resources)?;
    let mut page = Page::default();
    let typed = history::TYPES.contains(&part.resource_type);
    for mut resource in resources {
        let id = client::text(&resource, "id").to_owned();
        let id = if typed { format!("{}/{id}", part.resource_type) } else { id };
        // A record moved to another site is missing from later whole passes here.
        if part.keep.as_ref().is_some_and(|keep| !keep(&mut resource)) {
            continue;
        }
        match (part.map)(resource, settings) {
            Ok(record) => page.records.push(record),
            // The record exists, even if it cannot be read.
            Err(Unmapped::Unreadable(why)) if limits::is_id(&id) => page.skipped.push(SkippedRecord::new(id, why)),
            Err(Unmapped::Unreadable(why)) => {
                warn!("a {} is left out: {why}", part.resource_type);
                cursor.partial = true;
            }
            // The record may have been listed before.
            Err(Unmapped::NoRecord(why)) => {
                warn!("{} {id} is no record: {why}", part.resource_type);
                page.deleted.push(id);
            }
        }
    }
    page.whole = cursor.shows_all() && step.steady;
    page.estimate = step.total.filter(|_| cursor.is_whole() && parts.len() == 1 && part.keep.is_none());
    let now = now.unwrap_or_else(clock::now);
    let more = step.next.is_none() && cursor.part + 1 < parts.len();
    page.last = step.next.is_none() && !more;
    let cursor = if more { cursor.next_part(step.steady, now) } else { cursor.after(step.next, step.steady, now) };
    page.cursor = cursor.to_string();
    Ok((page, cursor))
}
