//! A walk over resource types, page after page: what several streams have in common.

use std::rc::Rc;

use adapter_sdk::{Fault, Page, Record, SkippedRecord, clock, limits, pass, warn};
use serde_json::Value;

use crate::{
    client::{self, Searched},
    cursor::Cursor,
    enrich::enrich,
    map::{Unmapped, history},
    paging::{At, Spot, Step},
    requests,
    settings::Settings,
};

pub type Map = fn(Value, &Settings) -> Result<Record, Unmapped>;
/// Whether a resource is one of those that were asked for: servers let through what a filter they do not know would
/// keep out.
pub type Keep = Rc<dyn Fn(&mut Value) -> bool>;

/// One resource type as a pull shows it.
#[derive(Clone)]
pub struct Part {
    pub resource_type: &'static str,
    pub search: String,
    pub map: Map,
    /// `None`: the server's filter is one that every server knows.
    pub keep: Option<Keep>,
    /// The pass continues without this part if the server refuses the search, and is not whole then.
    pub may_be_refused: bool,
}

/// One page of one part, and the cursor behind it; the next part begins where one ends.
pub fn walk(settings: &Settings, parts: &[Part], mut cursor: Cursor, limit: u32) -> Result<(Page, Cursor), Fault> {
    let part = parts.get(cursor.part).ok_or_else(pass::foreign)?;
    let search = cursor.since.map_or_else(|| part.search.clone(), |at| requests::since(&part.search, at));
    let mut searched = match client::page(settings, part.resource_type, &search, &cursor.spot, limit) {
        // A server that cannot search by time of change shows everything instead.
        Err(Fault::Rejected(_)) if cursor.since.is_some() && cursor.started.is_none() => {
            warn!("{} cannot be searched by _lastUpdated: everything is read", part.resource_type);
            return walk(settings, parts, Cursor { since: None, whole_at: clock::now(), ..cursor }, limit);
        }
        // Links do not live for ever: this part begins again.
        Err(Fault::Rejected(_)) if matches!(cursor.spot.at, At::Link(_)) => {
            warn!("{}: the server no longer knows its link to the next page", part.resource_type);
            let whole = cursor.shows_all();
            let cursor = Cursor { spot: Spot { base: None, ..cursor.spot.again() }, ..cursor };
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
        // A record of another site is missing from the whole passes here if it was this site's before.
        if part.keep.as_ref().is_some_and(|keep| !keep(&mut resource)) {
            continue;
        }
        match (part.map)(resource, settings) {
            Ok(record) => page.records.push(record),
            // It is there, whatever it is.
            Err(Unmapped::Unreadable(why)) if limits::is_id(&id) => page.skipped.push(SkippedRecord::new(id, why)),
            Err(Unmapped::Unreadable(why)) => {
                warn!("a {} is left out: {why}", part.resource_type);
                cursor.partial = true;
            }
            // It may have been shown before.
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
