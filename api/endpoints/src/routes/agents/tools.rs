//! The tools and the schemas of their arguments and results, derived from the routes that they call.

use framework::{
    access::{authentication::may, keys::ApiKey},
    http::endpoint::Success,
    values::{expected::Expected, kinds::NAMED},
};
use schemars::generate::SchemaSettings;
use serde_json::Map;

use crate::{
    openapi::bodies::object_schema,
    prelude::*,
    resources::booking::practice::IntentAbilities,
    routes::route::{Route, RouteMap},
};

/// The version of the tools' calls: the newest that needs no grant.
pub(super) const VERSION: Version = Version::V3_0_0;
/// The argument that selects the route of a tool with several.
pub(super) const ACTION: &str = "action";
pub(super) const LOCATION: &str = "location_id";
/// The field that is derived from the other arguments.
pub(super) const KEY: &str = "idempotency_key";
/// The field of a booking with the stored names of its patient. A visit can be found without the first name, so the
/// result must not reveal that name.
const PATIENT: &str = "patient";
/// Maximum number of locations that are enumerated and whose abilities are compared.
const LOCATIONS: usize = 100;

/// A tool, with its routes by method and path.
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Each with the value of `action` that selects it; empty for the only route.
    routes: &'static [(&'static str, &'static str)],
    /// Changes or cancels something that exists.
    overwrites: bool,
}

const BOOK: &str = "POST /intent/booking/book";
const CANCEL: &str = "POST /intent/booking/cancel";
const HOLD: &str = "POST /intent/booking/hold";
const RESCHEDULE: &str = "POST /intent/booking/reschedule";

static TOOLS: [Tool; 9] = [
    Tool {
        name: "practice_info",
        title: "Facts about the practice",
        about: "Address, telephone number, opening hours of the next days, appointment types, providers and booking \
                rules of the practice. Call it first: the other tools take ids from it.",
        routes: &[("", "GET /intent/practice/info")],
        overwrites: false,
    },
    Tool {
        name: "find_times",
        title: "Find free times",
        about: "Free times with a `slot_token` each. Without arguments, it searches the next seven days. If nothing is \
                free, `next_available_date` is the next day with free times.",
        routes: &[("", "POST /intent/booking/search")],
        overwrites: false,
    },
    Tool {
        name: "explain_times",
        title: "Explain why times cannot be booked",
        about: "The reasons why a time, or the times of a search, can or cannot be booked.",
        routes: &[("", "POST /intent/booking/explain")],
        overwrites: false,
    },
    Tool {
        name: "hold_time",
        title: "Hold a time",
        about: "Keeps a time free for some minutes while the patient decides or gives details. It is not a booking.",
        routes: &[("", HOLD)],
        overwrites: false,
    },
    Tool {
        name: "book",
        title: "Book a visit",
        about: "Books the time of a `slot_token` for a patient. Call it only after the patient has confirmed time and \
                details. A repeated call with the same token and patient returns the same visit.",
        routes: &[("", BOOK)],
        overwrites: false,
    },
    Tool {
        name: "find_visits",
        title: "Find the visits of a patient",
        about: "The upcoming visits of the patient whose details match, with a `visit_token` each. An unknown patient \
                and details that do not match have the same answer. The number of searches is limited.",
        routes: &[("", "POST /intent/booking/find")],
        overwrites: false,
    },
    Tool {
        name: "change_visit",
        title: "Confirm or move a visit",
        about: "With the action `confirm`, records that the patient will come. With `reschedule`, moves the visit to \
                the time of a `slot_token`. The visit is named by `visit_token` or `booking_ref`.",
        routes: &[("confirm", "POST /intent/booking/confirm"), ("reschedule", RESCHEDULE)],
        overwrites: true,
    },
    Tool {
        name: "cancel_visit",
        title: "Cancel a visit",
        about: "Cancels the visit named by `visit_token` or `booking_ref`. Call it only after the patient has confirmed \
                that the visit is to be cancelled.",
        routes: &[("", CANCEL)],
        overwrites: true,
    },
    Tool {
        name: "booking_status",
        title: "Status of a booking",
        about: "The state of a booking by its `booking_ref`, also whether the practice's system has it already.",
        routes: &[("", "GET /intent/booking/status")],
        overwrites: false,
    },
];

/// A route of a tool.
pub(super) struct ToolRoute {
    pub(super) action: &'static str,
    pub(super) route: &'static Route,
    /// Arguments without `location_id`.
    fields: Vec<Expected>,
    /// The route takes `location_id` in its query.
    pub(super) at_location: bool,
}

impl ToolRoute {
    fn new(action: &'static str, route: &'static Route) -> ToolRoute {
        let described = route.described(VERSION);
        let at_location = described.query.iter().any(|it| it.name == LOCATION);
        let of_scope = |field: &Expected| ["subdomain", LOCATION].contains(&field.name.as_str());
        let query = described.query.into_iter().filter(|field| !of_scope(field));
        ToolRoute { action, route, fields: query.chain(described.body).collect(), at_location }
    }

    pub(super) fn takes(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    fn is_possible(&self, can: IntentAbilities) -> bool {
        match self.route.method_and_path.as_str() {
            BOOK | HOLD => can.book,
            RESCHEDULE => can.reschedule,
            CANCEL => can.cancel,
            _ => true,
        }
    }
}

/// A tool with its routes in the table.
pub(super) struct ServedTool {
    pub(super) tool: &'static Tool,
    pub(super) routes: Vec<ToolRoute>,
    output: Value,
}

/// Returns the tools whose routes are in a table.
pub(super) fn served(table: &RouteMap) -> Vec<ServedTool> {
    let route_of = |label: &str| {
        let (_, path) = label.split_once(' ')?;
        table.find(path)?.iter().copied().find(|route| route.method_and_path == label)
    };
    let served = |tool: &'static Tool| {
        let routes: Vec<ToolRoute> =
            tool.routes.iter().filter_map(|&(action, label)| Some(ToolRoute::new(action, route_of(label)?))).collect();
        let output = output_schema(&routes);
        ServedTool { tool, routes, output }
    };
    TOOLS.iter().map(served).filter(|it| !it.routes.is_empty()).collect()
}

/// Returns the tools that a key can use at one of its locations, as `tools/list` shows them.
pub(super) fn listed(
    tools: &[ServedTool],
    api: &Api,
    key: &ApiKey,
    places: &[OpenLocation],
) -> Result<Vec<Value>, ApiError> {
    let mut all: Option<IntentAbilities> = None;
    for place in places.iter().take(LOCATIONS) {
        let can = IntentAbilities::of_location(api, &place.setup, key.channel.as_deref())?;
        all = Some(all.map_or(can, |known| known.or(can)));
    }
    // A key without an open location has no tools.
    let Some(can) = all else { return Ok(Vec::new()) };
    Ok(tools.iter().filter_map(|it| it.listed(key, can, places)).collect())
}

impl ServedTool {
    fn listed(&self, key: &ApiKey, can: IntentAbilities, places: &[OpenLocation]) -> Option<Value> {
        let usable = |it: &&ToolRoute| it.is_possible(can) && may(it.route, VERSION, key).is_ok();
        let routes: Vec<&ToolRoute> = self.routes.iter().filter(usable).collect();
        let Tool { name, title, about, overwrites, .. } = *self.tool;
        let reads = self.routes.iter().all(|it| it.route.reads);
        (!routes.is_empty()).then(|| {
            json!({
                "name": name,
                "title": title,
                "description": about,
                "inputSchema": self.input_schema(&routes, can, places),
                "outputSchema": self.output,
                "annotations": {
                    "title": title, "readOnlyHint": reads, "destructiveHint": overwrites, "idempotentHint": true,
                    "openWorldHint": false,
                },
            })
        })
    }

    fn input_schema(&self, routes: &[&ToolRoute], can: IntentAbilities, places: &[OpenLocation]) -> Value {
        let excluded = excluded(can);
        let mut fields: Vec<Expected> = Vec::new();
        for field in routes.iter().flat_map(|it| &it.fields) {
            let top = field.name.split(['.', '[']).next().unwrap_or_default();
            if top == KEY || excluded.contains(&top) || fields.iter().any(|known| known.name == field.name) {
                continue;
            }
            let is_required =
                |it: &&ToolRoute| it.fields.iter().any(|known| known.name == field.name && known.required);
            // Null is accepted, but models need no second way to omit an argument.
            fields.push(Expected { required: routes.iter().all(is_required), never_null: true, ..field.clone() });
        }
        let mut schema = object_schema(&fields);
        let mut required = match schema["required"].take() {
            Value::Array(names) => names,
            _ => Vec::new(),
        };
        if self.routes.len() > 1 {
            let actions: Vec<&str> = routes.iter().map(|it| it.action).collect();
            schema["properties"][ACTION] = json!({"type": "string", "enum": actions, "description": "The change."});
            required.push(json!(ACTION));
        }
        if places.len() > 1 {
            schema["properties"][LOCATION] = location_schema(places);
            required.push(json!(LOCATION));
        }
        schema["required"] = json!(required);
        for_models(schema)
    }
}

fn location_schema(places: &[OpenLocation]) -> Value {
    let named = |it: &OpenLocation| format!("{} is {}", it.setup.id, it.setup.name);
    let names: Vec<String> = places.iter().take(LOCATIONS).map(named).collect();
    let mut schema = json!({"type": "integer", "description": format!("The location: {}.", names.join(", "))});
    if places.len() <= LOCATIONS {
        schema["enum"] = places.iter().map(|it| it.setup.id.0).collect();
    }
    schema
}

/// Returns the arguments that have no effect at any location.
fn excluded(can: IntentAbilities) -> Vec<&'static str> {
    let arguments: [(bool, &[&str]); 4] = [
        (can.book, &["bookings", "party_size", "arrangement"]),
        (can.new_patients, &["new_patient"]),
        (can.operatories, &["operatory_id", "operatory_ids"]),
        (can.reads_schedule, &["fresh_within"]),
    ];
    arguments.into_iter().filter(|(is_possible, _)| !is_possible).flat_map(|(_, names)| names).copied().collect()
}

/// Returns the schema of a result: the facts are those of one of the routes, or of a refusal.
fn output_schema(routes: &[ToolRoute]) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut facts: Vec<Value> = Vec::new();
    for ToolRoute { route, .. } in routes {
        if let Success::Plain(view) = route.success {
            let mut view = facts_schema(view(&mut schemas).to_value(), &["ok", "message"]);
            omit_patients(&mut view);
            facts.push(view);
        }
        if let Some(view) = route.failure_view {
            let mut refusal = facts_schema(view(&mut schemas).to_value(), &["ok", "message", "code", "error", "data"]);
            refusal["properties"]["problems"] = json!({
                "type": "array", "items": {"type": "string"}, "description": "One message per problem.",
            });
            refusal["properties"]["retry_after_seconds"] = json!({
                "type": "integer", "description": "Seconds to wait before another call.",
            });
            // Later versions may add reasons.
            refusal["properties"]["reason"] = json!({"type": "string", "description": "Reason for the refusal."});
            refusal["required"] = json!(["reason"]);
            facts.push(refusal);
        }
    }
    let mut unique: Vec<Value> = Vec::new();
    for it in facts {
        if !unique.contains(&it) {
            unique.push(it);
        }
    }
    for_models(json!({
        "type": "object",
        "required": ["speech", "today", "timezone", "facts"],
        "properties": {
            "speech": {"type": "string", "description": "One sentence for the patient."},
            "today": {"type": "string", "description": "Today at the location, `YYYY-MM-DD`."},
            "timezone": {"type": "string", "description": "Time zone of the location, such as `America/New_York`."},
            "facts": {"anyOf": unique},
        },
    }))
}

/// Removes fields of a view that a result has elsewhere.
fn facts_schema(mut view: Value, without: &[&str]) -> Value {
    if let Some(properties) = view["properties"].as_object_mut() {
        properties.retain(|name, _| !without.contains(&name.as_str()));
    }
    if let Some(required) = view["required"].as_array_mut() {
        required.retain(|name| name.as_str().is_none_or(|name| !without.contains(&name)));
    }
    view
}

/// Removes the names of patients from the facts of a result, or from their schema.
pub(super) fn omit_patients(facts: &mut Value) {
    match facts {
        Value::Object(object) => {
            object.remove(PATIENT);
            if let Some(Value::Array(required)) = object.get_mut("required") {
                required.retain(|name| name != PATIENT);
            }
            object.values_mut().for_each(omit_patients);
        }
        Value::Array(all) => all.iter_mut().for_each(omit_patients),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Removes keywords that validators of other programs do not know, and names tools instead of routes.
fn for_models(schema: Value) -> Value {
    match schema {
        Value::Object(object) => {
            let is_known = |name: &str, value: &Value| match name {
                NAMED => false,
                "title" => !value.is_string(),
                "format" => value.as_str().is_none_or(|format| format.starts_with("date")),
                _ => true,
            };
            let kept = object.into_iter().filter(|(name, value)| is_known(name, value));
            Value::Object(kept.map(|(name, value)| (name, for_models(value))).collect::<Map<_, _>>())
        }
        Value::Array(all) => Value::Array(all.into_iter().map(for_models).collect()),
        Value::String(text) => Value::String(with_tools(&text)),
        plain => plain,
    }
}

/// Replaces the names of routes in a text by those of their tools.
fn with_tools(text: &str) -> String {
    let labels = TOOLS.iter().flat_map(|tool| tool.routes.iter().map(|(_, label)| (*label, tool.name)));
    // A model sends no idempotency key, and a line of a doc comment may end within a label.
    let plain = text.replace('\n', " ").replace("`idempotency_key`", "arguments");
    labels.fold(plain, |text, (label, name)| text.replace(label, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::table::TABLE;

    #[test]
    fn every_tool_has_its_routes_in_the_table() {
        let served = served(&RouteMap::new(TABLE.iter()));
        let names: Vec<&str> = served.iter().map(|it| it.tool.name).collect();
        assert_eq!(names, TOOLS.each_ref().map(|tool| tool.name));
        for it in &served {
            assert_eq!(it.routes.len(), it.tool.routes.len(), "{}", it.tool.name);
        }
    }

    #[test]
    fn schemas_are_valid_and_name_no_routes() {
        let can = |it: bool| IntentAbilities {
            book: it,
            new_patients: it,
            reschedule: it,
            cancel: it,
            operatories: it,
            reads_schedule: it,
        };
        for it in served(&RouteMap::new(TABLE.iter())) {
            let routes: Vec<&ToolRoute> = it.routes.iter().collect();
            for schema in [it.input_schema(&routes, can(true), &[]), it.output.clone()] {
                assert!(jsonschema::draft202012::meta::is_valid(&schema), "{}: {schema}", it.tool.name);
                let text = schema.to_string();
                for word in ["/intent/", "$ref", NAMED, KEY, "uint"] {
                    assert!(!text.contains(word), "{}: {word} in {text}", it.tool.name);
                }
            }
            assert!(!it.output.to_string().contains(&format!("\"{PATIENT}\"")), "{}: {}", it.tool.name, it.output);
            let without = it.input_schema(&routes, can(false), &[]).to_string();
            for name in ["party_size", "new_patient", "operatory_ids", "fresh_within"] {
                assert!(!without.contains(&format!("\"{name}\"")), "{}: {name}", it.tool.name);
            }
        }
    }
}
