//! The catalogues of medical history: all codes in the practice's records, and the setting `history_items`. FHIR has no
//! list of them, so all entries are walked page by page. Later passes walk only if an entry changed. A code used on
//! several pages is listed with each.

use std::collections::BTreeMap;

use adapter_sdk::{Fault, Page, Record, clock, records::HistoryItem};
use serde_json::{Value, json};

use crate::{
    client,
    cursor::Cursor,
    map::{self, history},
    paging::{At, WalkPosition},
    requests,
    responses::{CodeableConcept, filed::History},
    settings::Settings,
    walk::{Part, walk},
};

/// Returns one page, filled from the next type if one ends early. `parts` map each entry to its catalogue item.
pub fn page(settings: &Settings, parts: &[Part], cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let mut cursor = match cursor.started {
        Some(_) => cursor,
        None => match check_changes(settings, parts, cursor.since)? {
            (false, now) => {
                let cursor = cursor.after(None, true, now).to_string();
                return Ok(Page { cursor, last: true, ..Page::default() });
            }
            // The changed entry may have been the only one with its code.
            (true, now) => Cursor { since: None, started: Some(now), ..cursor },
        },
    };
    let limit = limit.max(1) as usize;
    let mut items: BTreeMap<String, HistoryItem> = BTreeMap::new();
    if cursor.part == 0 && cursor.spot.at == At::Start {
        let set = settings.history.iter().map(history::configured).skip(cursor.shown).take(limit);
        items.extend(set.map(|item| (item.id.clone(), item)));
        cursor.shown += items.len();
    }
    let mut whole = cursor.shows_all();
    while items.len() < limit {
        let room = u32::try_from(limit - items.len()).unwrap_or(u32::MAX);
        let (Page { records, skipped, last, whole: shown, .. }, after) = walk(settings, parts, cursor, room)?;
        // The name from the setting takes precedence.
        let found = records.into_iter().filter_map(history_item);
        for item in found.filter(|item| !settings.history.iter().any(|set| history::configured(set).id == item.id)) {
            let held = items.entry(item.id.clone()).or_insert_with(|| item.clone());
            // A code may have several names; the alphabetically first of a page is used.
            if item.name < held.name {
                held.name = item.name;
            }
        }
        (cursor, whole) = (after, shown);
        if !skipped.is_empty() {
            // The item of an unreadable entry is unknown.
            (cursor.partial, whole) = (true, false);
        }
        // The server determines the number of results of a link, so nothing else is added to this page.
        if last || cursor.spot.at != At::Start {
            let records = items.into_values().map(Record::HistoryItem).collect();
            return Ok(Page { records, cursor: cursor.to_string(), last, whole, ..Page::default() });
        }
    }
    let records = items.into_values().map(Record::HistoryItem).collect();
    Ok(Page { records, cursor: cursor.to_string(), whole, ..Page::default() })
}

fn history_item(record: Record) -> Option<HistoryItem> {
    match record {
        Record::HistoryItem(item) => Some(item),
        _ => None,
    }
}

/// Returns whether any entry changed since, and the EHR's current time.
fn check_changes(settings: &Settings, parts: &[Part], since: Option<i64>) -> Result<(bool, i64), Fault> {
    let mut present = None;
    for Part { resource_type, search, .. } in parts {
        let search = since.map_or_else(|| search.clone(), |at| requests::since(search, at));
        let found = match client::page(settings, resource_type, &search, &WalkPosition::default(), 1) {
            // The server does not support searches by time of change.
            Err(Fault::Rejected(_)) if since.is_some() => return Ok((true, clock::now())),
            found => found?,
        };
        let now = *present.get_or_insert(found.now.unwrap_or_else(clock::now));
        // A change may be on a page after an empty one.
        if since.is_none() || !found.step.resources.is_empty() || found.step.next.is_some() {
            return Ok((true, now));
        }
    }
    Ok((false, present.unwrap_or_else(clock::now)))
}

/// Returns the concept to write for a catalogue item, with the name used elsewhere in the records, or only its code.
pub fn concept(settings: &Settings, item: &str) -> Result<Value, Fault> {
    let unknown = || Fault::rejected("the item is of none of this adapter's catalogues");
    let (category, system, code) = history::parts(item).ok_or_else(unknown)?;
    let Some(system) = system else { return Ok(json!({"text": code})) };
    let coding = |display: Option<&str>| requests::concept(Some(system), code, display);
    if let Some(known) = settings.history.iter().find(|known| history::configured(known).id == item) {
        return Ok(coding(Some(&known.name)));
    }
    let resource_type = history::resource_type(category);
    let search = requests::about(resource_type, system, code);
    let found = client::first(settings, resource_type, &search, 1)?;
    let concepts = found.into_iter().filter_map(|resource| map::read::<History>(resource).ok()).map(|read| read.code);
    let same = |concept: &CodeableConcept| history::item(category, concept).is_some_and(|(id, _)| id == item);
    let name =
        concepts.into_iter().find(same).and_then(|concept| history::item(category, &concept)).map(|(_, name)| name);
    Ok(coding(name.as_deref()))
}
