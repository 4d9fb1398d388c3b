//! The catalogues of medical history: what is coded in the practice's files, each concept once, and the setting `history_items`. FHIR
//! has no list of them, so all entries are walked for each page; passes after the first only where an entry changed.

use std::collections::BTreeMap;

use adapter_sdk::{Fault, Page, clock, records::HistoryCategory};
use serde_json::Value;

use crate::{
    cursor::Cursor,
    map::{self, history},
    requests,
    responses::{CodeableConcept, filed::History},
    server,
    settings::Settings,
};

pub fn page(settings: &Settings, types: &[&str], cursor: Cursor, limit: u32) -> Result<Page, Fault> {
    let (cursor, began) = match cursor.started {
        Some(began) => (cursor, began),
        None => match look(settings, types, cursor.since)? {
            (false, now) => {
                let cursor = cursor.after(None, true, now).to_string();
                return Ok(Page { cursor, last: true, ..Page::default() });
            }
            // One changed entry may change what its code is called: the names are made of all.
            (true, now) => (Cursor { since: None, ..cursor }, now),
        },
    };
    // By id: pages of one pass need one order.
    let mut items: BTreeMap<String, (HistoryCategory, String)> = BTreeMap::new();
    for resource_type in types {
        let search = requests::search(resource_type, &[]);
        let category = history::category(resource_type);
        server::each_page(settings, resource_type, &search, |resources| {
            let read = resources.into_iter().filter_map(|resource| map::read::<History>(resource).ok());
            for (id, name) in read.filter_map(|read| history::item(category, &read.code)) {
                let held = items.entry(id).or_insert_with(|| (category, name.clone()));
                // One code may be named in several ways; whatever comes first in the alphabet is one name.
                if name < held.1 {
                    held.1 = name;
                }
            }
        })?;
    }
    for item in &settings.history {
        let (id, name) = history::configured(item);
        items.insert(id, (item.category, name));
    }
    let limit = limit.max(1) as usize;
    let shown = items.iter().skip(cursor.shown).take(limit);
    let records: Vec<_> =
        shown.map(|(id, (category, name))| history::catalogue_item(*category, id.clone(), name.clone())).collect();
    let (shown, whole) = (cursor.shown + records.len(), cursor.is_whole() && cursor.steady);
    if shown < items.len() {
        let cursor = Cursor { shown, started: Some(began), ..cursor };
        return Ok(Page { records, cursor: cursor.to_string(), whole, ..Page::default() });
    }
    let cursor = cursor.after(None, true, began).to_string();
    Ok(Page { records, cursor, last: true, whole, ..Page::default() })
}

/// Whether any entry changed since, and the present by the EHR's clock.
fn look(settings: &Settings, types: &[&str], since: Option<i64>) -> Result<(bool, i64), Fault> {
    let mut present = None;
    for resource_type in types {
        let search = requests::search(resource_type, &[]);
        let search = since.map_or(search.clone(), |at| requests::since(&search, at));
        let found = match server::page(settings, resource_type, &search, &Default::default(), 1) {
            // The server cannot search by time of change.
            Err(Fault::Rejected(_)) if since.is_some() => return Ok((true, clock::now())),
            found => found?,
        };
        let now = *present.get_or_insert(found.now.unwrap_or_else(clock::now));
        if since.is_none() || !found.step.resources.is_empty() {
            return Ok((true, now));
        }
    }
    Ok((false, present.unwrap_or_else(clock::now)))
}

/// A catalogue entry as a concept to be written: as it is coded elsewhere in the practice's files, or by its code alone.
pub fn concept(settings: &Settings, item: &str) -> Result<Value, Fault> {
    let unknown = || Fault::rejected("the item is of none of this adapter's catalogues");
    let (category, system, code) = history::parts(item).ok_or_else(unknown)?;
    let Some(system) = system else { return Ok(serde_json::json!({"text": code})) };
    let coding = |display: Option<&str>| {
        let mut coding = serde_json::json!({"code": code});
        if !system.is_empty() {
            coding["system"] = system.into();
        }
        if let Some(display) = display {
            coding["display"] = display.into();
        }
        serde_json::json!({"coding": [coding]})
    };
    if let Some(known) = settings.history.iter().find(|known| history::configured(known).0 == item) {
        return Ok(coding(Some(&known.name)));
    }
    let resource_type = history::resource_type(category);
    let search = requests::about(resource_type, system, code);
    let found = server::page(settings, resource_type, &search, &Default::default(), 1)?.step.resources;
    let concepts = found.into_iter().filter_map(|resource| map::read::<History>(resource).ok()).map(|read| read.code);
    let same = |concept: &CodeableConcept| history::item(category, concept).is_some_and(|(id, _)| id == item);
    let name =
        concepts.into_iter().find(same).and_then(|concept| history::item(category, &concept)).map(|(_, name)| name);
    Ok(coding(name.as_deref()))
}
