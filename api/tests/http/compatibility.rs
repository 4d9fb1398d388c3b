//! Requests that `[compatibility]` accepts and that are refused without the setting.

use framework::{
    http::{compatibility::Compatibility, rules::HttpRules},
    values::versions::Version,
};

use crate::support::*;

async fn loose() -> ApiWorld {
    let compatibility = Compatibility {
        version_headers: vec!["Other-Api-Version".parse().unwrap()],
        version_values: [("2024-04-12".to_owned(), Version::V3_0_0)].into(),
        default_version: Some(Version::V2_2_2),
        raw_keys: true,
        refused_user_agents: Some(vec!["curl".to_owned()]),
    };
    world_with(HttpRules { compatibility, ..free_rates() }).await
}

async fn read_as(ask: ApiRequest<'_>) -> String {
    ask.ok().await["data"]["api_version"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn alternative_headers_and_names_of_versions_are_accepted() {
    let world = loose().await;
    let other = |version: &str| world.get("/me").without("Svc-Api-Version").with("Other-Api-Version", version);
    assert_eq!(read_as(other("v3.0.0")).await, "v3.0.0");
    assert_eq!(read_as(other("2024-04-12")).await, "v3.0.0");
    assert_eq!(read_as(world.get("/me").version("2024-04-12")).await, "v3.0.0");
    assert_eq!(read_as(other("v2").version("v3.1.0")).await, "v3.1.0", "our own header comes first");
    assert_eq!(read_as(world.get("/me").without("Svc-Api-Version")).await, "v2.2.2");
    let unknown = other("v9").answers(404).await;
    assert_eq!(unknown["reason"], "version_unknown", "an unknown version is not a missing one");
    assert!(unknown["description"].as_str().unwrap().starts_with("`other-api-version` must be one of"), "{unknown}");

    let strict = crate::support::world().await;
    let ask = || strict.get("/me").without("Svc-Api-Version");
    assert_eq!(ask().answers(404).await["reason"], "version_missing");
    assert_eq!(ask().with("Other-Api-Version", "v3.0.0").answers(404).await["reason"], "version_missing");
    assert_eq!(ask().version("2024-04-12").answers(404).await["reason"], "version_unknown");
}

#[actix_web::test]
async fn api_keys_are_accepted_instead_of_tokens() {
    let world = loose().await;
    let shown = |given: &str| world.get("/me").with("Authorization", given);
    for given in [MAIN_KEY.to_owned(), format!("Bearer {MAIN_KEY}"), world.token(MAIN_KEY)] {
        assert_eq!(shown(&given).ok().await["data"]["key_name"], MAIN_KEY, "{given}");
    }
    for given in ["key-unknown", "Bearer key-unknown"] {
        assert_eq!(shown(given).answers(401).await["reason"], "invalid_credentials", "{given}");
    }
    assert_eq!(
        world.get("/charges?subdomain=acme&location_id=1").with("Authorization", MAIN_KEY).answers(403).await["reason"],
        "grant_missing"
    );
    world.api.replace_keys(keys().into_iter().filter(|key| key.name != MAIN_KEY).collect());
    shown(MAIN_KEY).fails(401).await;

    let strict = crate::support::world().await;
    for given in [ACME_KEY.to_owned(), format!("Bearer {ACME_KEY}")] {
        let refused = strict.get("/me").with("Authorization", &given).answers(401).await;
        assert_eq!(refused["reason"], "api_key_instead_of_token", "{given}");
    }
}

#[actix_web::test]
async fn only_listed_user_agents_are_accepted() {
    let world = loose().await;
    world.get("/me").with("User-Agent", "python-requests/2.32").ok().await;
    world.get("/me").with("User-Agent", "curl/8.0").fails(403).await;
    world.get("/me").without("User-Agent").fails(403).await;
    let strict = crate::support::world().await;
    strict.get("/me").with("User-Agent", "python-requests/2.32").fails(403).await;
}
