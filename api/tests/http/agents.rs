//! Tools for agents: POST /mcp.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use engine::records::ehr::{Description, Ehr, EhrFuture, Page, Receipt, Resource, Write};
use framework::http::rules::{HttpRules, RateRules};
use serde_json::{Value, json};

use crate::{
    practice::{Books, PracticeEhr},
    support::*,
};

const STATELESS: &str = "2026-07-28";

fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Sends a message without the headers of an API client.
fn send<'w>(world: &'w ApiWorld, key: &str, body: Value) -> ApiRequest<'w> {
    world.post("/mcp", body).key(key).without("Svc-Api-Version").without("User-Agent")
}

async fn result(world: &ApiWorld, key: &str, method: &str, params: Value) -> Value {
    let answer = send(world, key, message(method, params)).ok().await;
    assert_eq!((&answer["jsonrpc"], &answer["id"], answer.get("error")), (&json!("2.0"), &json!(7), None), "{answer}");
    answer["result"].clone()
}

async fn tools(world: &ApiWorld, key: &str) -> Vec<Value> {
    result(world, key, "tools/list", json!({})).await["tools"].as_array().unwrap().clone()
}

fn named<'t>(tools: &'t [Value], name: &str) -> &'t Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name} is not listed"))
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Calls a tool. Returns the structured result, with `isError`.
async fn call(world: &ApiWorld, key: &str, tool: &str, arguments: Value) -> Value {
    let result = result(world, key, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    let mut structured = result["structuredContent"].clone();
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, structured, "{tool}: the text is another form of the same result");
    structured["isError"] = result["isError"].clone();
    structured
}

/// Calls a tool that succeeds. Returns the facts.
async fn facts(world: &ApiWorld, tool: &str, arguments: Value) -> Value {
    let done = call(world, MAIN_KEY, tool, arguments).await;
    assert_eq!(done["isError"], json!(false), "{tool}: {done}");
    assert_eq!(done["timezone"], json!("America/New_York"), "{tool}: {done}");
    assert!(done["speech"].as_str().is_some_and(|speech| speech.ends_with('.')), "{tool}: {done}");
    done["facts"].clone()
}

/// Returns the reason and the problems of a refused call.
async fn refused(world: &ApiWorld, key: &str, tool: &str, arguments: Value) -> (String, String) {
    let done = call(world, key, tool, arguments).await;
    assert_eq!(done["isError"], json!(true), "{tool}: {done}");
    let facts = &done["facts"];
    (facts["reason"].as_str().unwrap().to_owned(), facts["problems"].to_string())
}

fn mia() -> Value {
    json!({"first_name": "Mia", "last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "+1 555 010 9999"})
}

/// Returns free times with different starts.
async fn times(world: &ApiWorld) -> Vec<Value> {
    let search = json!({"start_date": world.monday().to_string(), "appointment_type_id": CHECKUP, "limit": 12});
    let mut slots = facts(world, "find_times", search).await["slots"].as_array().unwrap().clone();
    slots.dedup_by_key(|slot| slot["start_iso"].clone());
    assert!(slots.len() > 3, "{slots:?}");
    slots
}

#[actix_web::test]
async fn a_client_negotiates_a_version_or_names_it_in_each_request() {
    let world = world().await;
    for (wanted, agreed) in [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2019-01-01", "2025-11-25")] {
        let params =
            json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        let greeting = result(&world, MAIN_KEY, "initialize", params).await;
        assert_eq!(greeting["protocolVersion"], json!(agreed));
        assert!(greeting["capabilities"]["tools"].is_object() && greeting["instructions"].is_string(), "{greeting}");
        assert_eq!(greeting["serverInfo"]["name"], json!("practice-sync"));
    }
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(&world, MAIN_KEY, notice).answers_nothing(202).await;
    assert_eq!(result(&world, MAIN_KEY, "ping", json!({})).await, json!({}));

    let meta =
        json!({"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}});
    let stateless = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = meta.clone();
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let request = send(&world, MAIN_KEY, message(method, params));
        request.with("MCP-Protocol-Version", STATELESS).with("Mcp-Method", method).with("Mcp-Name", &name)
    };
    let found = stateless("server/discover", json!({})).ok().await["result"].clone();
    assert_eq!((&found["supportedVersions"][0], &found["resultType"]), (&json!(STATELESS), &json!("complete")));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("practice-sync"));
    let listed = stateless("tools/list", json!({})).ok().await["result"].clone();
    assert_eq!((listed["tools"].as_array().unwrap().len(), &listed["cacheScope"]), (9, &json!("private")));
    assert!(listed["ttlMs"].is_u64());
    let called = stateless("tools/call", json!({"name": "practice_info"})).ok().await["result"].clone();
    assert_eq!((&called["isError"], &called["resultType"]), (&json!(false), &json!("complete")));
    // The stateless version has neither.
    for method in ["initialize", "ping"] {
        let answer = stateless(method, json!({"protocolVersion": STATELESS})).answers(404).await;
        assert_eq!(answer["error"]["code"], json!(-32_601), "{method}");
    }
}

#[actix_web::test]
async fn messages_that_break_the_protocol_get_its_errors() {
    let world = world().await;
    let code = async |body: &str, status: u16| {
        let answer = send(&world, MAIN_KEY, json!({})).bytes(body).answers(status).await;
        answer["error"]["code"].clone()
    };
    assert_eq!(code("{\"jsonrpc\":", 400).await, json!(-32_700));
    assert_eq!(code("[]", 400).await, json!(-32_600));
    let batch = send(&world, MAIN_KEY, json!([message("ping", json!({}))])).with("MCP-Protocol-Version", "2025-06-18");
    assert_eq!(batch.answers(400).await["error"]["code"], json!(-32_600));
    assert_eq!(code(&message("resources/list", json!({})).to_string(), 200).await, json!(-32_601));
    assert_eq!(code(&message("tools/call", json!({"name": "list_patients"})).to_string(), 200).await, json!(-32_602));
    assert_eq!(code(&message("tools/call", json!({})).to_string(), 200).await, json!(-32_602));
    assert_eq!(code(&message("initialize", json!({})).to_string(), 200).await, json!(-32_602));
    let future = send(&world, MAIN_KEY, message("ping", json!({}))).with("MCP-Protocol-Version", "2031-01-01");
    let answer = future.answers(400).await;
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32_022), &json!(7)));
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(STATELESS)));
    for request in [world.get("/mcp"), world.delete("/mcp")] {
        let reply = request.reply().await;
        assert_eq!((reply.status.as_u16(), reply.header("Allow")), (405, Some("POST")));
    }
    for (origin, status) in [("http://evil.example", 403), ("http://localhost:6274", 200)] {
        send(&world, MAIN_KEY, message("ping", json!({}))).with("Origin", origin).answers(status).await;
    }
}

#[actix_web::test]
async fn messages_of_a_batch_count_separately_and_are_answered_in_one_array() {
    let rates = RateRules { per_second: 0, per_minute: 4, endpoints: Default::default() };
    let world = world_with(HttpRules { rate_limits: rates, ..HttpRules::default() }).await;
    let notice = || json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(&world, MAIN_KEY, json!([notice()])).answers_nothing(202).await;
    let numbered = |id: u32, method: &str, params: Value| {
        let mut message = message(method, params);
        message["id"] = json!(id);
        message
    };
    let find = |id: u32| numbered(id, "tools/call", json!({"name": "find_times"}));
    let (unknown, ping) = (numbered(2, "resources/list", json!({})), numbered(3, "ping", json!({})));
    let batch = json!([find(1), notice(), unknown, ping, find(4), notice()]);
    let answers = send(&world, MAIN_KEY, batch).with("MCP-Protocol-Version", "2025-03-26").ok().await;
    assert_eq!(each(&answers, "id"), [1, 2, 3, 4].map(Value::from));
    assert_eq!(answers[0]["result"]["isError"], json!(false), "{answers}");
    assert_eq!(answers[1]["error"]["code"], json!(-32_601), "{answers}");
    assert!(answers[2]["error"]["data"]["retry_after_seconds"].is_u64(), "{answers}");
    assert_eq!(answers[3]["result"]["structuredContent"]["facts"]["reason"], json!("rate_limited"), "{answers}");
}

#[actix_web::test]
async fn an_api_key_is_accepted_in_place_of_a_token() {
    let world = world().await;
    let with = |authorization: &str| {
        let call = message("tools/call", json!({"name": "find_times", "arguments": {}}));
        send(&world, MAIN_KEY, call).with("Authorization", authorization)
    };
    for key in [MAIN_KEY.to_owned(), format!("Bearer {MAIN_KEY}"), world.token(MAIN_KEY)] {
        assert_eq!(with(&key).ok().await["result"]["isError"], json!(false), "{key}");
    }
    for wrong in ["Bearer key-unknown", "Bearer a.b.c", "key-unknown"] {
        assert_eq!(with(wrong).reply().await.status, 401, "{wrong}");
    }
    assert_eq!(with("").without("Authorization").reply().await.status, 401);
    // The key itself opens only this endpoint.
    let listed = world.get("/locations").with("Authorization", &format!("Bearer {MAIN_KEY}"));
    assert_eq!(listed.reply().await.status, 401);
}

#[actix_web::test]
async fn each_tool_gives_the_result_of_its_intent() {
    let world = world().await;
    world.books.open.store(true, Ordering::SeqCst);
    let info = facts(&world, "practice_info", json!({})).await;
    let http = world.get("/intent/practice/info?subdomain=acme&location_id=1").key(MAIN_KEY).ok().await;
    for field in ["location", "today", "timezone", "opening_hours", "appointment_types", "providers", "rules", "can"] {
        assert_eq!(info[field], http[field], "{field}");
    }
    assert_eq!(http["opening_hours"].as_array().unwrap().len(), 7);
    assert!(each(&http["appointment_types"], "id").contains(&json!(CHECKUP)), "{http}");
    assert!(each(&http["providers"], "id").contains(&json!(ANNA)), "{http}");
    assert_eq!(
        http["can"],
        json!({"book": true, "new_patients": true, "reschedule": true, "cancel": true, "operatories": true})
    );

    let bare = call(&world, BARE_KEY, "practice_info", json!({})).await;
    assert_eq!(
        bare["speech"],
        json!("Place 7 is at 1 Main Street, Springfield, NY 10001. The opening hours of Place 7 are not known.")
    );

    let slots = times(&world).await;
    let token = &slots[0]["slot_token"];
    let explained = facts(&world, "explain_times", json!({"slot_token": token})).await;
    assert_eq!(explained["slot"]["reason"], json!("offered"));
    assert!(facts(&world, "hold_time", json!({"slot_token": token})).await["held_until"].is_string());

    let booked = facts(&world, "book", json!({"slot_token": token, "patient": mia(), "note": "first visit"})).await;
    assert_eq!(booked["replay"], json!(false));
    let reference = booked["booking"]["booking_ref"].clone();
    // The model gives other words and another contact, and no key.
    let mut again = json!({"slot_token": token, "patient": mia(), "note": "new patient", "idempotency_key": "mine"});
    again["patient"]["first_name"] = json!("MIA");
    again["patient"]["email"] = json!("mia@example.com");
    let again = facts(&world, "book", again).await;
    assert_eq!((&again["replay"], &again["booking"]["booking_ref"]), (&json!(true), &reference));

    let status = json!({"booking_ref": reference});
    testing::until("the booking in the EHR", async || {
        let shown = facts(&world, "booking_status", status.clone()).await;
        shown["booking"]["ehr_writeback"] == json!("confirmed")
    })
    .await;
    let sought =
        json!({"patient": {"last_name": "Meier", "date_of_birth": "1990-02-03", "phone_number": "555 010 9999"}});
    let visits = facts(&world, "find_visits", sought).await["visits"].clone();
    assert_eq!(each(&visits, "booking_ref"), std::slice::from_ref(&reference));
    let visit = &visits[0]["visit_token"];
    let confirmed = facts(&world, "change_visit", json!({"action": "confirm", "visit_token": visit})).await;
    assert!(confirmed["booking"]["patient_confirmed_at"].is_string());
    // The visit was found without the first name.
    assert!(!confirmed.to_string().contains("Mia"), "{confirmed}");
    let moved = json!({"action": "reschedule", "visit_token": visit, "slot_token": slots[2]["slot_token"]});
    for replay in [false, true] {
        let moved = facts(&world, "change_visit", moved.clone()).await;
        assert_eq!((&moved["replay"], &moved["booking"]["booking_ref"]), (&json!(replay), &reference));
        assert_eq!(moved["booking"]["start_iso"], slots[2]["start_iso"]);
    }
    let moved_again = json!({"action": "reschedule", "visit_token": visit, "slot_token": slots[3]["slot_token"]});
    facts(&world, "change_visit", moved_again).await;
    // Back to the earlier time: the repeated call must not report the later move as its own.
    assert_eq!(refused(&world, MAIN_KEY, "change_visit", moved).await.0, "slot_expired");
    for _ in 0..2 {
        let cancelled = facts(&world, "cancel_visit", json!({"visit_token": visit})).await;
        assert_eq!(cancelled["booking"]["booking_status"], json!("cancelled"));
    }
    let again = json!({"slot_token": token, "patient": mia()});
    assert_eq!(refused(&world, MAIN_KEY, "book", again).await.0, "slot_expired", "the visit is cancelled");
}

#[actix_web::test]
async fn parallel_calls_with_one_token_and_patient_make_one_booking() {
    let world = world().await;
    world.books.open.store(true, Ordering::SeqCst);
    let slots = times(&world).await;
    let book = |note: &str| {
        let arguments = json!({"slot_token": slots[1]["slot_token"], "patient": mia(), "note": note});
        facts(&world, "book", arguments)
    };
    let (a, b, c) = tokio::join!(book("one"), book("two"), book("three"));
    let references = [&a, &b, &c].map(|it| it["booking"]["booking_ref"].clone());
    assert!(references.iter().all(|it| it.is_string() && *it == references[0]), "{references:?}");
    assert_eq!([&a, &b, &c].iter().filter(|it| it["replay"] == json!(false)).count(), 1);
    let mut other = mia();
    other["first_name"] = json!("Max");
    let arguments = json!({"slot_token": slots[1]["slot_token"], "patient": other});
    assert_eq!(refused(&world, MAIN_KEY, "book", arguments).await.0, "slot_taken");
}

#[actix_web::test]
async fn results_match_the_listed_schemas() {
    let world = world().await;
    let tools = tools(&world, MAIN_KEY).await;
    let slots = times(&world).await;
    let unknown = json!({"last_name": "Nemo", "date_of_birth": "1970-01-01", "email": "nemo@example.com"});
    for (tool, arguments) in [
        ("practice_info", json!({})),
        ("find_times", json!({"limit": 3})),
        ("find_times", json!({"party_size": 2, "limit": 3})),
        ("find_times", json!({"limit": "many"})),
        ("explain_times", json!({})),
        ("hold_time", json!({"slot_token": slots[0]["slot_token"]})),
        ("hold_time", json!({"slot_token": "slt_00"})),
        ("book", json!({"slot_token": slots[0]["slot_token"], "patient": mia()})),
        ("book", json!({"slot_token": slots[0]["slot_token"], "patient": {"first_name": "Max"}})),
        ("find_visits", json!({"patient": unknown})),
        ("change_visit", json!({"action": "confirm", "booking_ref": "bkg_0"})),
        ("change_visit", json!({"action": "delete"})),
        ("cancel_visit", json!({})),
        ("booking_status", json!({"booking_ref": "bkg_0"})),
    ] {
        let schema = &named(&tools, tool)["outputSchema"];
        let validator = jsonschema::draft202012::options().build(schema).unwrap();
        let mut result = call(&world, MAIN_KEY, tool, arguments.clone()).await;
        result.as_object_mut().unwrap().remove("isError");
        let problems: Vec<String> = validator.iter_errors(&result).map(|it| it.to_string()).collect();
        assert!(problems.is_empty(), "{tool} {arguments}: {problems:#?} in {result:#}");
    }
}

#[actix_web::test]
async fn wrong_arguments_are_named_in_the_result() {
    let world = world().await;
    for (tool, arguments, problem) in [
        ("find_times", json!({"limit": "many"}), "limit"),
        ("find_times", json!({"days_of_week": ["someday"]}), "days_of_week"),
        ("find_times", json!([]), "arguments must be an object"),
        ("book", json!({"patient": mia()}), "slot_token is missing"),
        ("change_visit", json!({"booking_ref": "bkg_0"}), "action must be confirm or reschedule"),
        ("change_visit", json!({"action": "reschedule", "booking_ref": "bkg_0"}), "slot_token is missing"),
        ("booking_status", json!({}), "booking_ref is missing"),
        ("booking_status", json!({"booking_ref": ["bkg_0"]}), "booking_ref must be a text"),
        ("find_visits", json!({"patient": {"last_name": "Meier"}}), "date_of_birth"),
        ("practice_info", json!({"location_id": 5}), "location_id is no location of this API key"),
    ] {
        let (reason, problems) = refused(&world, MAIN_KEY, tool, arguments.clone()).await;
        assert_eq!(reason, "invalid_request", "{tool} {arguments}");
        assert!(problems.contains(problem), "{tool} {arguments}: {problems}");
    }
}

#[actix_web::test]
async fn a_key_with_several_locations_names_one() {
    let world = world().await;
    let listed = tools(&world, ACME_KEY).await;
    for tool in &listed {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["properties"]["location_id"]["enum"], json!([MAIN, SECOND, BARE]), "{tool}");
        assert!(schema["required"].as_array().unwrap().contains(&json!("location_id")), "{tool}");
    }
    assert_eq!(
        named(&tools(&world, MAIN_KEY).await, "find_times")["inputSchema"]["properties"].get("location_id"),
        None
    );
    let (_, problems) = refused(&world, ACME_KEY, "find_times", json!({})).await;
    assert!(problems.contains("location_id is missing: send one of 1 (Place 1), 2 (Place 2)"), "{problems}");
    for (location, zone) in [(json!(SECOND), "America/Chicago"), (json!("1"), "America/New_York")] {
        let found = call(&world, ACME_KEY, "find_times", json!({"location_id": location, "limit": 1})).await;
        assert_eq!((&found["isError"], &found["timezone"]), (&json!(false), &json!(zone)), "{found}");
    }
    let (_, problems) = refused(&world, ACME_KEY, "find_times", json!({"location_id": RIVAL})).await;
    assert!(problems.contains("location_id is no location"), "{problems}");
}

#[actix_web::test]
async fn unknown_and_mismatching_patients_have_the_same_answer() {
    let world = world().await;
    world.books.open.store(true, Ordering::SeqCst);
    let slots = times(&world).await;
    facts(&world, "book", json!({"slot_token": slots[0]["slot_token"], "patient": mia()})).await;
    let find = async |last_name: &str, born: &str| {
        let patient = json!({"last_name": last_name, "date_of_birth": born, "phone_number": "+1 555 010 9999"});
        call(&world, MAIN_KEY, "find_visits", json!({"patient": patient})).await
    };
    let unknown = find("Nemo", "1990-02-03").await;
    assert_eq!((&unknown["isError"], &unknown["facts"]["visits"]), (&json!(false), &json!([])));
    assert_eq!(find("Meier", "1990-02-04").await, unknown);
    assert_eq!(find("Meier", "1990-02-03").await["facts"]["visits"].as_array().unwrap().len(), 1);
}

/// The EHR of the first location with fewer abilities.
struct LimitedEhr {
    practice: PracticeEhr,
    unsupported: &'static [&'static str],
}

impl Ehr for LimitedEhr {
    fn describe(&self, deadline: Duration) -> EhrFuture<'_, Description> {
        Box::pin(async move {
            let mut description = self.practice.describe(deadline).await?;
            description.writes.retain(|kind| !self.unsupported.contains(&kind.as_str()));
            (description.new_patients, description.operatories) = (false, false);
            Ok(description)
        })
    }

    fn pull(&self, resource: Resource, cursor: Option<String>, limit: u32, deadline: Duration) -> EhrFuture<'_, Page> {
        self.practice.pull(resource, cursor, limit, deadline)
    }

    fn push(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Receipt> {
        self.practice.push(write_key, write, deadline)
    }

    fn find(&self, write_key: String, write: Write, deadline: Duration) -> EhrFuture<'_, Option<Receipt>> {
        self.practice.find(write_key, write, deadline)
    }
}

#[actix_web::test]
async fn tools_and_arguments_that_no_location_supports_are_not_listed() {
    let limited = async |unsupported: &'static [&'static str]| {
        let practice = PracticeEhr::new(MAIN, 0, Arc::new(AtomicUsize::new(0)), Arc::new(Books::default()));
        let ehr: Arc<dyn Ehr> = Arc::new(LimitedEhr { practice, unsupported });
        world_on([(MAIN, ehr)]).await
    };
    let world = limited(&["create-appointment", "reschedule-appointment", "cancel-appointment"]).await;
    let listed = tools(&world, MAIN_KEY).await;
    assert_eq!(
        names(&listed),
        ["practice_info", "find_times", "explain_times", "find_visits", "change_visit", "booking_status"]
    );
    let change = &named(&listed, "change_visit")["inputSchema"]["properties"];
    assert_eq!((&change["action"]["enum"], change.get("slot_token")), (&json!(["confirm"]), None));
    let search = &named(&listed, "find_times")["inputSchema"]["properties"];
    for argument in ["party_size", "arrangement", "new_patient", "operatory_ids"] {
        assert_eq!(search.get(argument), None, "{argument}");
    }
    assert!(search.get("start_date").is_some() && search.get("fresh_within").is_some(), "{search}");

    let world = limited(&["reschedule-appointment"]).await;
    let listed = tools(&world, MAIN_KEY).await;
    assert_eq!(listed.len(), 9);
    let change = &named(&listed, "change_visit")["inputSchema"]["properties"];
    assert_eq!(change["action"]["enum"], json!(["confirm", "reschedule"]), "by a new appointment");

    // A location without an EHR keeps its own records, and has no schedule to refresh.
    let listed = tools(&world, BARE_KEY).await;
    let search = &named(&listed, "find_times")["inputSchema"]["properties"];
    assert_eq!((listed.len(), search.get("fresh_within")), (9, None));
}

#[actix_web::test]
async fn listed_tools_have_hints_and_no_idempotency_key() {
    let listed = tools(&world().await, MAIN_KEY).await;
    let hints = |name: &str| {
        let hints = &named(&listed, name)["annotations"];
        [&hints["readOnlyHint"], &hints["destructiveHint"], &hints["idempotentHint"]]
            .map(|hint| hint.as_bool().unwrap())
    };
    for (name, expected) in [
        ("practice_info", [true, false, true]),
        ("find_times", [true, false, true]),
        ("explain_times", [true, false, true]),
        ("hold_time", [false, false, true]),
        ("book", [false, false, true]),
        ("find_visits", [true, false, true]),
        ("change_visit", [false, true, true]),
        ("cancel_visit", [false, true, true]),
        ("booking_status", [true, false, true]),
    ] {
        assert_eq!(hints(name), expected, "{name}");
    }
    assert!(!json!(listed).to_string().contains("idempotency_key"));
}

#[actix_web::test]
async fn messages_count_once_and_a_limited_call_names_the_seconds_to_wait() {
    let rates = RateRules { per_second: 0, per_minute: 3, endpoints: Default::default() };
    let world = world_with(HttpRules { rate_limits: rates, ..HttpRules::default() }).await;
    let find = || send(&world, MAIN_KEY, message("tools/call", json!({"name": "find_times"})));
    send(&world, MAIN_KEY, message("ping", json!({}))).ok().await;
    for left in ["1", "0"] {
        let reply = find().with("X-Request-Id", "call-7").reply().await;
        let headers = ["RateLimit-Remaining", "X-Request-Id"].map(|name| reply.header(name));
        assert_eq!((reply.status.as_u16(), headers), (200, [Some(left), Some("call-7")]));
    }
    let wrong = message("tools/call", json!({"name": "find_times", "arguments": {"location_id": RIVAL}}));
    for limited in [find(), send(&world, MAIN_KEY, wrong)] {
        let reply = limited.reply().await;
        let result = reply.json()["result"].clone();
        assert_eq!((reply.status.as_u16(), &result["isError"]), (200, &json!(true)));
        let facts = &result["structuredContent"]["facts"];
        assert_eq!(facts["reason"], json!("rate_limited"));
        let seconds = reply.header("Retry-After").unwrap();
        assert_eq!(facts["retry_after_seconds"].to_string(), seconds);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("\"retry_after_seconds\":{seconds}")), "{text}");
    }
    assert_eq!(send(&world, MAIN_KEY, message("ping", json!({}))).reply().await.status, 429);
}
