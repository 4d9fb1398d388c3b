//! The `data` of a message: its key, the views of its records, and the previous values of changed attributes.

use location::ids::LocationId;
use serde_json::{Map, Value};

use super::catalogue::{Event, ResourceType};

/// The maximum number of records in a message that may carry several: about a page of a list.
pub const MOST: usize = 100;

/// A record as a subscriber sees it.
pub struct Item {
    pub view: Value,
    /// The previous values of the attributes that an update changed.
    pub previous: Option<Map<String, Value>>,
    /// The patient of the record, if messages are grouped by patient.
    pub patient: Option<u64>,
    /// The location of the record, if it has one.
    pub location: Option<LocationId>,
}

/// The `data` of a message, and the location common to its records.
pub struct Message {
    pub data: Map<String, Value>,
    pub location: Option<LocationId>,
}

/// The grouping of records into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `{"payment": {}}`: one message per record.
    One,
    /// `{"patients": [{}]}`
    Many,
    /// `{"medical_history": {"patient_id": 7, "patient_items": [{}]}}`: one message per patient.
    OfPatient,
}

impl Layout {
    pub fn for_event(event: Event) -> Layout {
        match (event, event.resource_type()) {
            (Event::AppointmentCreated, _) | (_, ResourceType::Patient) => Layout::Many,
            (_, ResourceType::MedicalHistory) => Layout::OfPatient,
            _ => Layout::One,
        }
    }
}

/// Builds the messages, as many as the records need.
pub fn messages(event: Event, items: Vec<Item>, failure: Option<&str>) -> Vec<Message> {
    let layout = Layout::for_event(event);
    let mut messages = Vec::new();
    for items in shared(layout, items) {
        let mut data = Map::new();
        if let Some(reason) = failure {
            data.insert("failure_reason".to_owned(), reason.into());
        }
        let previous = items.iter().any(|item| item.previous.is_some()).then(|| previous_of(layout, &items));
        let location = items.first().and_then(|item| item.location);
        let location = location.filter(|_| items.iter().all(|item| item.location == location));
        let (key, value) = content(layout, event.resource_type().key(), items);
        data.insert(key, value);
        data.extend(previous.map(|previous| ("previous_attributes".to_owned(), previous)));
        messages.push(Message { data, location });
    }
    messages
}

fn shared(layout: Layout, items: Vec<Item>) -> Vec<Vec<Item>> {
    let most = if layout == Layout::One { 1 } else { MOST };
    let mut groups: Vec<Vec<Item>> = Vec::new();
    for item in items {
        let fits = |group: &&mut Vec<Item>| group.len() < most && group[0].patient == item.patient;
        match groups.iter_mut().rev().find(fits) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

fn content(layout: Layout, key: &str, items: Vec<Item>) -> (String, Value) {
    let patient = items.first().and_then(|item| item.patient);
    let mut views = items.into_iter().map(|item| item.view);
    match layout {
        Layout::One => (key.to_owned(), views.next().unwrap_or_default()),
        Layout::Many => (format!("{key}s"), views.collect()),
        Layout::OfPatient => {
            let items: Value = views.collect();
            (key.to_owned(), serde_json::json!({ "patient_id": patient, "patient_items": items }))
        }
    }
}

/// Returns the previous values in the order of the records; null for a new record.
fn previous_of(layout: Layout, items: &[Item]) -> Value {
    let mut each = items.iter().map(|item| item.previous.clone().map_or(Value::Null, Value::Object));
    if layout == Layout::One { each.next().unwrap_or_default() } else { each.collect() }
}

/// Attributes that change with every update and are not reported on their own.
const STAMPS: [&str; 2] = ["updated_at", "last_sync_time"];

/// Returns `true` if the attribute changes with every update.
pub fn is_stamp(name: &str) -> bool {
    STAMPS.contains(&name)
}

/// Returns the previous values of changed attributes. Returns `None` if nothing but stamps changed, which is not sent.
pub fn previous(before: &Value, after: &Value) -> Option<Map<String, Value>> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return None };
    let mut changed = Map::new();
    for (name, value) in before {
        if after.get(name) != Some(value) {
            changed.insert(name.clone(), value.clone());
        }
    }
    for name in after.keys().filter(|name| !before.contains_key(*name)) {
        changed.insert(name.clone(), Value::Null);
    }
    changed.keys().any(|name| !STAMPS.contains(&name.as_str())).then_some(changed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn item(id: u64, previous: Option<Value>, patient: Option<u64>) -> Item {
        let previous = previous.map(|it| it.as_object().unwrap().clone());
        Item { view: json!({ "id": id }), previous, patient, location: None }
    }

    fn message_data(event: Event, items: Vec<Item>) -> Value {
        messages(event, items, None).into_iter().map(|message| Value::Object(message.data)).collect()
    }

    #[test]
    fn each_layout_has_its_key() {
        let two = || vec![item(1, None, None), item(2, None, None)];
        assert_eq!(message_data(Event::PaymentCreated, two()), json!([{"payment": {"id": 1}}, {"payment": {"id": 2}}]));
        assert_eq!(message_data(Event::AppointmentCreated, two()), json!([{"appointments": [{"id": 1}, {"id": 2}]}]));
        assert_eq!(message_data(Event::PatientUpdated, two()), json!([{"patients": [{"id": 1}, {"id": 2}]}]));
        let of_two =
            vec![item(1, None, Some(7)), item(2, Some(json!({"note": null})), Some(8)), item(3, None, Some(7))];
        let told = message_data(Event::MedicalHistoryPatientItemsUpdated, of_two);
        let first = json!({"medical_history": {"patient_id": 7, "patient_items": [{"id": 1}, {"id": 3}]}});
        let second = json!({"medical_history": {"patient_id": 8, "patient_items": [{"id": 2}]},
            "previous_attributes": [{"note": null}]});
        assert_eq!(told, json!([first, second]));
    }

    #[test]
    fn previous_values_are_in_the_order_of_the_records() {
        let items = vec![item(1, Some(json!({"name": "Al"})), None), item(2, None, None)];
        let told = message_data(Event::PatientUpdated, items);
        assert_eq!(told[0]["previous_attributes"], json!([{"name": "Al"}, null]));
        let one = self::message_data(Event::ChargeUpdated, vec![item(1, Some(json!({"fee": 5})), None)]);
        assert_eq!(one, json!([{"charge": {"id": 1}, "previous_attributes": {"fee": 5}}]));
        let failed = messages(Event::PaymentInsertion, vec![item(1, None, None)], Some("no such type"));
        assert_eq!(failed[0].data["failure_reason"], "no such type");
    }

    #[test]
    fn a_message_names_the_location_of_all_it_shows() {
        let at = |location: u32| Item { location: Some(LocationId(location)), ..item(1, None, None) };
        let location = |items| messages(Event::AppointmentCreated, items, None)[0].location;
        assert_eq!(location(vec![at(7), at(7)]), Some(LocationId(7)));
        assert_eq!(location(vec![at(7), at(8)]), None);
        assert_eq!(location(vec![at(7), item(1, None, None)]), None);
    }

    #[test]
    fn messages_are_bounded() {
        let many = (0..250).map(|id| item(id, None, None)).collect();
        let sizes = messages(Event::PatientCreated, many, None);
        let sizes: Vec<usize> = sizes.iter().map(|it| it.data["patients"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [100, 100, 50]);
    }

    #[test]
    fn stamps_alone_are_no_change() {
        let before = json!({"id": 1, "note": "a", "updated_at": "x", "last_sync_time": null});
        let stamped = json!({"id": 1, "note": "a", "updated_at": "y", "last_sync_time": "z"});
        assert_eq!(previous(&before, &stamped), None);
        assert_eq!(previous(&before, &before), None);
        let changed = json!({"id": 1, "note": "b", "updated_at": "y", "last_sync_time": null, "more": 1});
        let was = json!({"note": "a", "updated_at": "x", "more": null});
        assert_eq!(previous(&before, &changed).map(Value::Object), Some(was));
    }
}
