use sandbox_ehr::{Control, triggers::NAMES};
use serde_json::Value;

use crate::support::*;

#[actix_web::test]
async fn the_document_is_public() {
    let world = world().await;
    let anyone = |path: &str| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    let v3 = anyone("/openapi.json").ok().await;
    assert_eq!(v3["openapi"], "3.1.0");
    assert!(v3["paths"]["/available_slots"].is_object() && v3["paths"]["/appointment_slots"].is_null());
    let v2 = anyone("/openapi.json?version=v2.2.2").ok().await;
    assert!(v2["paths"]["/available_slots"].is_null() && v2["paths"]["/appointment_slots"].is_object());
    let parameters = v2["paths"]["/providers"]["get"]["parameters"].as_array().unwrap();
    let shared = |it: &Value| it["$ref"].as_str().map(|path| v2.pointer(path.trim_start_matches('#')).unwrap().clone());
    let named = |name: &str| parameters.iter().any(|it| shared(it).as_ref().unwrap_or(it)["name"] == name);
    assert!(named("page") && named("per_page") && !named("end_cursor"));
    anyone("/openapi.json?version=v9").fails(400).await;
    let path_of = |audience: &str| format!("/openapi.json?for={audience}");
    for (audience, own, other) in [
        ("clients", "/patients", "/adapters"),
        ("operators", "/adapters", "/patients"),
        ("workstations", "/workstations/pair", "/adapters"),
    ] {
        let document = anyone(&path_of(audience)).ok().await;
        assert!(document["paths"][own].is_object() && document["paths"][other].is_null(), "{audience}");
    }
    let wrong = anyone("/openapi.json?for=everyone").fails(400).await;
    assert!(wrong[0].contains("for") && wrong[0].contains("operators"), "{wrong:?}");
}

#[actix_web::test]
async fn the_page_loads_no_foreign_content() {
    let world = world().await;
    for (path, kind) in [
        ("/docs", "text/html"),
        ("/docs/guide", "text/html"),
        ("/docs/coming-from-another-api", "text/html"),
        ("/docs/specification", "text/html"),
        ("/docs/glossary", "text/html"),
        ("/docs/webhooks", "text/html"),
        ("/docs/sandbox", "text/html"),
        ("/docs/style.css", "text/css"),
        ("/docs/script.js", "text/javascript"),
    ] {
        let reply = world.get(path).without("Authorization").reply().await;
        assert_eq!(reply.status, 200);
        assert!(reply.header("Content-Type").unwrap().starts_with(kind));
        let policy = reply.header("Content-Security-Policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for elsewhere in ["=\"http", "=\"//", "url(", "@import", "innerHTML", "style=\"", " onclick", "fetch(\"http"] {
            assert!(!reply.text.contains(elsewhere), "{path} has {elsewhere}");
        }
    }
}

#[actix_web::test]
async fn the_sandbox_page_lists_every_trigger_and_valid_commands() {
    let world = world().await;
    let page = world.get("/docs/sandbox").without("Authorization").reply().await.text;
    for (name, _) in NAMES {
        assert!(page.contains(&format!("<td><code>{name}</code></td>")), "{name} is missing");
    }
    let named = page.matches("<td><code>Sandbox-").count();
    assert_eq!(named, NAMES.len(), "a name that means nothing");
    let bodies = page.split("<code>").skip(1).filter_map(|code| code.split("</code>").next());
    let bodies: Vec<&str> = bodies.filter(|code| code.starts_with('{')).collect();
    assert!(bodies.len() > 10, "{bodies:?}");
    for body in bodies {
        serde_json::from_str::<Control>(body).unwrap_or_else(|wrong| panic!("{body}: {wrong}"));
    }
}
