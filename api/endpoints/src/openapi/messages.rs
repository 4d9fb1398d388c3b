//! The `webhooks` of a document: the messages posted to endpoints, for every event. Uses the types of the views.

use engine::{
    records::{ChangedBy, schema::all_writes},
    webhooks::{
        catalogue::{Event, EventName, ResourceType, WriteOutcome},
        payload::{Layout, MOST},
    },
};
use framework::{http::endpoint::Group, values::versions::Version};
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::resources::{
    care::medical_history::MedicalHistoryEvent,
    patients::show::{PatientDetail, PatientProfile},
    practice::sync_status::SyncStatusView,
    record_views::schema_of,
};

/// The group of webhook messages.
pub(super) const GROUP: Group =
    Group { name: "Webhook messages", about: "The messages that are posted to an endpoint, by event." };

pub fn all(versions: &[Version], schemas: &mut Schemas) -> Map<String, Value> {
    let events = ResourceType::ALL.iter().flat_map(|kind| kind.events());
    events.map(|event| (event.name().to_owned(), json!({ "post": message(*event, versions, schemas) }))).collect()
}

fn message(event: Event, versions: &[Version], schemas: &mut Schemas) -> Value {
    let name = camel(event.name());
    let schema = body(event, versions, schemas);
    let schema = schemas.named(&format!("{name}Message"), schema);
    json!({
        "operationId": format!("on{name}"),
        "tags": [GROUP.name],
        "summary": summary(event),
        "description": description(event),
        "security": [],
        "parameters": [
            header("timestamp", "Time at which this attempt was sent, in ISO 8601."),
            header("signature",
                "Hexadecimal HMAC-SHA256 of the timestamp, a full stop and the base64 of the body, with the \
                 endpoint's `secret_key` as the key."),
            header("delivery-id", "Id of the delivery. All attempts to deliver this message have the same id."),
        ],
        "requestBody": {"required": true, "content": {"application/json": schemas.with_example(schema)}},
        "responses": {
            "2XX": {"description": "Received. After any other response, or none, the message is retried later."},
        },
    })
}

fn header(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "header", "required": true, "description": description, "schema": {"type": "string"}})
}

/// Converts `payment_created` to `PaymentCreated`.
fn camel(name: &str) -> String {
    let capital = |part: &str| part.get(..1).unwrap_or_default().to_uppercase() + part.get(1..).unwrap_or_default();
    name.split('_').map(capital).collect()
}

/// Returns the names under which messages of a subscription are sent.
pub fn names(event: Event) -> Vec<String> {
    let outcomes = [WriteOutcome::Complete, WriteOutcome::Failed, WriteOutcome::TimedOut];
    let outcomes = outcomes.into_iter().filter(|_| is_written(event)).filter_map(|it| EventName::written(event, it));
    EventName::change(event).into_iter().chain(outcomes).map(|name| name.to_string()).collect()
}

/// Returns `true` if the event also reports outcomes of this service's writes.
fn is_written(event: Event) -> bool {
    let kind = event.resource_type();
    let ends_in_it = |((resource, verb), _)| {
        ResourceType::from_resource(resource) == Some(kind) && kind.written(verb) == Some(event)
    };
    // Appointments have a separate write for each kind of change.
    kind == ResourceType::Appointment && EventName::written(event, WriteOutcome::Complete).is_some()
        || all_writes().any(ends_in_it)
}

fn body(event: Event, versions: &[Version], schemas: &mut Schemas) -> Value {
    let delivery_error = schemas.named(
        "DeliveryAttemptError",
        json!({"type": "object", "description": "An attempt that the endpoint did not accept.",
            "required": ["code", "timestamp", "message", "attempts"], "properties": {
            "code": {"type": "string", "examples": ["500"],
                "description":
                    "The status of the response, or a code for the reason if there was none, such as `timeout`."},
            "timestamp": {"type": "string", "format": "date-time", "description":
                "Time at which the attempt was sent, in UTC."},
            "message": {"type": "string", "examples": ["the receiver answered 500"], "description":
                "The reason as a sentence."},
            "attempts": {"type": "integer", "format": "int32", "minimum": 1, "description": "Number of the attempt."},
        }}),
    );
    json!({
        "type": "object",
        "required": ["resource_type", "event_name", "event_time", "subdomain", "institution_id", "sequence", "data", "delivery_errors"],
        "properties": {
            "resource_type": {"type": "string", "const": event.resource_type().key(),
                "description": "Type of the record that the message is about."},
            "event_name": {"type": "string", "enum": names(event),
                "description":
                    "The event. If it reports the outcome of a write, the outcome follows after a full stop."},
            "event_time": {"type": "string", "format": "date-time", "description":
                "Time at which the event was committed, in UTC with milliseconds."},
            "subdomain": {"type": "string", "description": "Subdomain of the institution."},
            "institution_id": {"type": "integer", "format": "int32", "description": "Id of the institution."},
            "location_id": {"type": "integer", "format": "int32", "description":
                "Id of the location. Absent if the message does not concern a single location."},
            "sequence": {"type": "integer", "format": "int64", "description":
                "Sequence number that orders the messages about one record: later messages have greater numbers. The \
                 numbers have gaps."},
            "is_newer": {"type": "boolean", "description":
                "True if the message was created late and may show the records after a later change. Absent \
                 otherwise."},
            "data": data(event, versions, schemas),
            "delivery_errors": {"type": "array", "items": delivery_error, "description":
                "Failed attempts before this one."},
        },
    })
}

fn data(event: Event, versions: &[Version], schemas: &mut Schemas) -> Value {
    let (kind, layout) = (event.resource_type(), Layout::for_event(event));
    let view = view_of(kind, versions, schemas);
    let (key, record) = match layout {
        Layout::One | Layout::OfPatient => (kind.key().to_owned(), view),
        Layout::Many => {
            let records = json!({"type": "array", "items": view, "minItems": 1, "maxItems": MOST,
                "description": "The records of one commit, in their state after the commit."});
            (format!("{}s", kind.key()), records)
        }
    };
    let mut data = json!({"type": "object", "required": [key], "properties": {key.clone(): record},
        "description": "The record under its name, with further data of the event. If the subscription's `payload` is \
                        `ids`, only the ids of the records."});
    if event.is_update() || matches!(event, Event::SyncStatusReadChange | Event::SyncStatusWriteChange) {
        data["properties"]["previous_attributes"] = previous(layout);
    }
    if event.is_fact() {
        data["properties"]["by"] = json!({"type": "string", "enum": ChangedBy::NAMES, "description":
            "The party: the patient through a booking intent, a client or operator through another call, the staff in \
             the health record system."});
    }
    if event == Event::AppointmentRescheduled {
        let start = |when: &str| {
            json!({"type": "string", "format": "date-time", "description":
                format!("Start {when} the reschedule, in UTC with milliseconds.")})
        };
        data["properties"]["from"] = start("before");
        data["properties"]["to"] = start("after");
    }
    if is_written(event) {
        data["properties"]["failure_reason"] = json!({"type": "string", "description":
            "Reason why the write failed or timed out. Never contains patient data."});
    }
    data
}

fn previous(layout: Layout) -> Value {
    let description =
        "The changed attributes with their earlier values. Absent if the message reports the outcome of a write.";
    match layout {
        Layout::One => json!({"type": "object", "description": description}),
        Layout::Many | Layout::OfPatient => json!({
            "type": "array", "items": {"type": ["object", "null"]},
            "description": format!("{description} The entries are in the order of the records; null for a new record."),
        }),
    }
}

fn view_of(kind: ResourceType, versions: &[Version], schemas: &mut Schemas) -> Value {
    match (kind, kind.resource()) {
        (ResourceType::Patient, _) => patient(versions, schemas),
        (ResourceType::MedicalHistory, _) => schemas.view(|it| it.subschema_for::<MedicalHistoryEvent>()),
        (_, Some(resource)) => schemas.view(schema_of(resource)),
        (_, None) => schemas.view(|it| it.subschema_for::<SyncStatusView>()),
    }
}

/// Returns the patient's schema, which depends on the version of the subscription.
fn patient(versions: &[Version], schemas: &mut Schemas) -> Value {
    let has = |wanted: fn(&Version) -> bool| versions.iter().any(wanted);
    let stable = has(|it| *it != Version::V3_1_0).then(|| schemas.view(|it| it.subschema_for::<PatientDetail>()));
    let edge = has(|it| *it == Version::V3_1_0).then(|| schemas.view(|it| it.subschema_for::<PatientProfile>()));
    match (stable, edge) {
        (Some(stable), Some(edge)) => {
            json!({"anyOf": [stable, edge], "description": "The patient in the shape of the subscription's version."})
        }
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

fn summary(event: Event) -> String {
    let words = event.name().replace('_', " ");
    format!("{}{}", words[..1].to_uppercase(), &words[1..])
}

fn description(event: Event) -> String {
    let name = event.name();
    let mut text = match name {
        _ if name.ends_with("_insertion") => {
            "Outcome of writing a new record to the health record system. A failed write is not retried."
        }
        "appointment_cancelled" => "A visit was cancelled, or deleted in the health record system.",
        "appointment_rescheduled" => "A visit was moved to another start.",
        "appointment_confirmed" => "The practice or the patient confirmed a visit.",
        "appointment_arrived" => "The patient checked in.",
        "appointment_completed" => "The patient checked out, or the health record system reports the visit as done.",
        "appointment_missed" => "The patient missed a visit.",
        "sync_degraded" => {
            "Reading or writing stopped working at a location where both worked. Sent in addition to the messages \
             about each direction, and at least five minutes apart like them."
        }
        "sync_recovered" => {
            "Reading and writing work again at a location. Sent in addition to the messages about each direction, and \
             at least five minutes apart like them."
        }
        "payment_created" | "adjustment_created" => {
            "A record was added to the ledger, through this API or in the health record system."
        }
        "medical_history_patient_items_updated" => {
            "Items of a patient's medical history were added, changed or deleted. A message contains all changed \
             items of one commit."
        }
        _ if name.starts_with("sync_status_") => {
            "Reading or writing stopped working at a location, or works again. Messages about the same direction are \
             at least five minutes apart; the status after that time is sent if it differs from the last one sent."
        }
        _ if name.ends_with("_created") => "A record was created, through this API or in the health record system.",
        _ if name.ends_with("_deleted") => {
            "A record was deleted in the health record system. The message shows its last state."
        }
        _ => {
            "A record was changed, through this API or in the health record system. No message is sent if only `updated_at` or `last_sync_time` changed."
        }
    }
    .to_owned();
    if event.is_fact() {
        text.push_str(
            " Sent once per change, in addition to `appointment_updated`. A record that is read for the first time, a \
             block of unavailable time and a change that the health record system refused are no facts.",
        );
    }
    if event.resource_type() == ResourceType::Message {
        text.push_str(" The data of a message is a conversation of the health record system with all its messages.");
    }
    if event.is_update() && event.resource_type().events().iter().all(|it| !it.name().ends_with("_deleted")) {
        text.push_str(" A deletion is also reported as an update: the record is no longer active.");
    }
    if event.is_update() && is_written(event) {
        text.push_str(
            " With `.complete`, `.failed` or `.timed_out`, the event reports the outcome of a write that was requested through the API.",
        );
    }
    if Layout::for_event(event) == Layout::Many {
        text.push_str(&format!(" Up to {MOST} records of one commit share a message."));
    }
    text
}
