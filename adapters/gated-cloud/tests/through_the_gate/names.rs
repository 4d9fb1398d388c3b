//! Each release has the same fields under different names.

use adapter_sdk::fields::MissingField;
use gated_cloud_adapter::markup::{APPOINTMENTS, HOURS, Markup, OPERATORIES, PATIENTS, PROVIDERS, TYPES};
use serde_json::json;

fn releases() -> [Markup; 2] {
    ["v3", "v4"].map(|word| Markup::from_word(word).unwrap())
}

#[test]
fn names_round_trip() {
    let own = json!({"id": "O-1", "name": "Chair 1", "closed": false});
    let shown = releases().map(|markup| markup.names(OPERATORIES.names).theirs(&own));
    assert_eq!(shown, [own.clone(), json!({"key": "O-1", "label": "Chair 1", "archived": false})]);
    for (markup, shown) in releases().into_iter().zip(shown) {
        assert_eq!(markup.names(OPERATORIES.names).all_ours(&shown), Ok(own.clone()), "{markup:?}");
    }
    let nested = json!({"first_name": "Ada", "address": {"postal_code": null}});
    let sent = json!({"name": {"given": "Ada"}, "home": {"zip": null}});
    assert_eq!(PATIENTS.names[1].theirs(&nested), sent);
}

#[test]
fn all_releases_have_the_same_own_names() {
    for kind in [PATIENTS, PROVIDERS, OPERATORIES, TYPES, HOURS, APPOINTMENTS] {
        let [v3, v4] =
            releases().map(|markup| markup.names(kind.names).pairs().map(|(own, _)| own).collect::<Vec<_>>());
        assert_eq!(v3, v4, "{}", kind.name);
    }
}

#[test]
fn a_missing_field_is_reported_with_its_name() {
    let shown = json!({"key": "O-1", "label": "Chair 1"});
    let lacking = Err(MissingField { ours: "closed", theirs: "archived" });
    assert_eq!(OPERATORIES.names[1].all_ours(&shown), lacking);
    assert_eq!(Markup::from_word("v5"), None);
}
