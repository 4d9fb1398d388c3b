//! The `data` of a message: its key, the views of its records, and the previous values of changed attributes.

use location::ids::LocationId;
use records::facts::{ChangedBy, VisitFact};
use serde_json::{Map, Value, json};

use super::{
    catalogue::{Event, ResourceType},
    sign::event_time,
};

/// The maximum number of records in a message that may carry several: about a page of a list.
pub const MOST: usize = 100;

/// A record as a subscriber sees it.
pub struct Item {
    pub view: Value,
    /// The previous values of the attributes that an update changed.
    pub previous: Option<Map<String, Value>>,
    /// The patient of the record, if messages are grouped by patient.
    pub patient: Option<u64>,
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

/// Returns the ids in a message's data, under the same keys. The result contains no patient data: also `by` and the
/// times of a fact are left out.
pub fn ids(event: Event, data: &Map<String, Value>) -> Map<String, Value> {
    let key = event.resource_type().key();
    let records = data.iter().filter(|(name, _)| name.strip_prefix(key).is_some_and(|rest| matches!(rest, "" | "s")));
    records.map(|(name, records)| (name.clone(), ids_of(records))).collect()
}

/// Returns the id of a record. A medical history has the ids of its patient and items, a sync status those of its
/// locations.
fn ids_of(view: &Value) -> Value {
    match view {
        Value::Array(views) => views.iter().map(ids_of).collect(),
        Value::Object(fields) if fields.contains_key("id") => json!({ "id": fields["id"] }),
        Value::Object(fields) => {
            let ids = fields.iter().filter_map(|(name, value)| match name.as_str() {
                "patient_id" => Some((name.clone(), value.clone())),
                "patient_items" | "locations" => Some((name.clone(), ids_of(value))),
                _ => None,
            });
            Value::Object(ids.collect())
        }
        _ => Value::Null,
    }
}

/// Adds the party that caused a fact to the data of its message and, for a reschedule, both starts.
pub fn add_fact(data: &mut Map<String, Value>, fact: VisitFact, by: ChangedBy) {
    data.insert("by".to_owned(), by.name().into());
    if let Some((from, to)) = fact.starts() {
        data.insert("from".to_owned(), event_time(from).into());
        data.insert("to".to_owned(), event_time(to).into());
    }
}

/// Returns `true` if the attribute changes with every update. Such attributes are not reported on their own.
pub fn is_stamp(name: &str) -> bool {
    matches!(name, "updated_at" | "last_sync_time")
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
    changed.keys().any(|name| !is_stamp(name)).then_some(changed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use location::time::Timestamp;

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
        let rendered = message_data(Event::MedicalHistoryPatientItemsUpdated, of_two);
        let first = json!({"medical_history": {"patient_id": 7, "patient_items": [{"id": 1}, {"id": 3}]}});
        let second = json!({"medical_history": {"patient_id": 8, "patient_items": [{"id": 2}]},
            "previous_attributes": [{"note": null}]});
        assert_eq!(rendered, json!([first, second]));
    }

    #[test]
    fn previous_values_are_in_the_order_of_the_records() {
        let items = vec![item(1, Some(json!({"name": "Al"})), None), item(2, None, None)];
        let rendered = message_data(Event::PatientUpdated, items);
        assert_eq!(rendered[0]["previous_attributes"], json!([{"name": "Al"}, null]));
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

    #[test]
    fn ids_have_the_keys_of_the_whole_records_and_nothing_else() {
        for (event, data, expected) in [
            (
                Event::AppointmentCancelled,
                json!({"appointment": {"id": 7, "patient_id": 3, "note": "n"}, "by": "staff"}),
                json!({"appointment": {"id": 7}}),
            ),
            (
                Event::PatientUpdated,
                json!({"patients": [{"id": 7, "email": "a"}, {"id": 8}], "previous_attributes": [{"email": "b"}, null]}),
                json!({"patients": [{"id": 7}, {"id": 8}]}),
            ),
            (
                Event::PaymentInsertion,
                json!({"payment": {"id": 7, "amount": 5}, "failure_reason": "no"}),
                json!({"payment": {"id": 7}}),
            ),
            (
                Event::MedicalHistoryPatientItemsUpdated,
                json!({"medical_history": {"patient_id": 7, "patient_items": [{"id": 1, "note": "mild"}]}}),
                json!({"medical_history": {"patient_id": 7, "patient_items": [{"id": 1}]}}),
            ),
            (
                Event::SyncDegraded,
                json!({"sync_status": {"read_status": "red", "locations": [{"id": 2, "name": "Main"}]}}),
                json!({"sync_status": {"locations": [{"id": 2}]}}),
            ),
        ] {
            assert_eq!(Value::Object(ids(event, data.as_object().unwrap())), expected);
        }
    }

    #[test]
    fn a_fact_has_its_party_and_its_times() {
        let data = |fact| {
            let mut data = Map::new();
            add_fact(&mut data, fact, ChangedBy::Patient);
            Value::Object(data)
        };
        assert_eq!(data(VisitFact::Missed), json!({"by": "patient"}));
        let moved = VisitFact::Rescheduled { from: Timestamp(0), to: Timestamp(3_600_000) };
        let expected = json!({"by": "patient", "from": "1970-01-01T00:00:00.000Z", "to": "1970-01-01T01:00:00.000Z"});
        assert_eq!(data(moved), expected);
    }
}
