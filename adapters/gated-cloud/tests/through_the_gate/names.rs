//! Each release has the same under names of its own.

use gated_cloud_adapter::markup::{Lacking, Markup, OPERATORIES, PATIENTS};
use serde_json::json;

#[test]
fn names_go_there_and_back() {
    let own = json!({"id": "O-1", "name": "Chair 1", "closed": false});
    let fields = own.as_object().unwrap();
    assert_eq!(Markup::V3.sent(OPERATORIES.names, fields), own);
    assert_eq!(
        Markup::V4.sent(OPERATORIES.names, fields),
        json!({"key": "O-1", "label": "Chair 1", "archived": false})
    );
    for markup in [Markup::V3, Markup::V4] {
        assert_eq!(
            markup.own(OPERATORIES.names, &markup.sent(OPERATORIES.names, fields)),
            Ok(own.clone()),
            "{markup:?}"
        );
    }
    let nested = json!({"first_name": "Ada", "address/postal_code": null}).as_object().unwrap().clone();
    assert_eq!(Markup::V4.sent(PATIENTS.names, &nested), json!({"name": {"given": "Ada"}, "home": {"zip": null}}));
}

#[test]
fn a_release_that_lacks_a_name_is_told_by_it() {
    let shown = json!({"key": "O-1", "label": "Chair 1"});
    assert_eq!(
        Markup::V4.own(OPERATORIES.names, &shown),
        Err(Lacking { markup: Markup::V4, name: "closed", path: "archived" })
    );
    assert_eq!(Markup::of("v5"), None);
}
