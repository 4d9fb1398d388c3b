use engine::records::ehr::Resource;
use serde_json::json;

use crate::support::*;

#[actix_web::test]
async fn types_are_filtered_by_use() {
    let world = world().await;
    for (path, name, extra) in
        [("payment_types", "Payment Type", None), ("adjustment_types", "Adjustment Type", Some("credit"))]
    {
        let ids = async |filter: &str| {
            let path = format!("/{path}?subdomain=acme&location_id=1&{filter}");
            each(&world.get(&path).key(MAIN_KEY).ok().await["data"], "id")
        };
        assert_eq!(ids("").await, [1], "{path} needs no grant");
        assert_eq!(ids("active=false").await, [2]);
        assert_eq!(ids("updated_since=2190-01-01T00:00:00Z").await.len(), 0);
        let one = world.get(&format!("/{path}/1?subdomain=acme")).ok().await["data"].clone();
        assert_eq!((&one["active"], one.get("action")), (&json!(true), extra.map(|it| json!(it)).as_ref()));
        assert_eq!(
            world.get(&format!("/{path}/77?subdomain=acme")).fails(404).await,
            [format!("{name} with id 77 not found")]
        );
    }
}

#[actix_web::test]
async fn types_deleted_by_the_practice_are_not_in_use() {
    let world = world().await;
    let ids = async |path: &str| {
        each(&world.get(&format!("{path}?subdomain=acme&location_id=1&active=false")).ok().await["data"], "id")
    };
    for (path, resource, foreign_id) in [
        ("/payment_types", Resource::PaymentTypes, "cash"),
        ("/adjustment_types", Resource::AdjustmentTypes, "courtesy"),
    ] {
        assert_eq!(ids(path).await, [2]);
        world.books.remove(resource, foreign_id);
        world.sync(MAIN).await;
        assert_eq!(ids(path).await, [1, 2]);
    }
}
