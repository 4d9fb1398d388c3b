use sandbox_ehr::{Control, names::NAMES};

use crate::support::*;

#[actix_web::test]
async fn the_document_is_there_for_everyone() {
    let world = world().await;
    let anyone = |path: &str| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    let v3 = anyone("/openapi.json").ok().await;
    assert_eq!(v3["openapi"], "3.1.0");
    assert!(v3["paths"]["/available_slots"].is_object() && v3["paths"]["/appointment_slots"].is_null());
    let v2 = anyone("/openapi.json?version=v2.2.2").ok().await;
    assert!(v2["paths"]["/available_slots"].is_null() && v2["paths"]["/appointment_slots"].is_object());
    let parameters = v2["paths"]["/providers"]["get"]["parameters"].as_array().unwrap();
    let named = |name: &str| parameters.iter().any(|it| it["name"] == name);
    assert!(named("page") && named("per_page") && !named("end_cursor"));
    anyone("/openapi.json?version=v9").fails(400).await;
}

#[actix_web::test]
async fn the_page_takes_nothing_from_elsewhere() {
    let world = world().await;
    for (path, kind) in [
        ("/docs", "text/html"),
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
        for elsewhere in ["http://", "https://", "//cdn", "@import", "innerHTML", "style=\"", " onclick"] {
            assert!(!reply.text.contains(elsewhere), "{path} has {elsewhere}");
        }
    }
}

#[actix_web::test]
async fn what_the_sandbox_page_says_is_so() {
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
