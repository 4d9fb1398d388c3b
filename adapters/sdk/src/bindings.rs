//! What the bindings generator makes of the contract. Other modules re-export what adapters use.

wit_bindgen::generate!({
    world: "practice-sync:ehr/adapter",
    path: "../../wit/v1",
    pub_export_macro: true,
    export_macro_name: "export_bindings",
    default_bindings_module: "adapter_sdk::bindings",
    additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    additional_type_attributes: {
        "practice-sync:ehr/types@1.0.0/history-category": [#[serde(rename_all = "snake_case")]],
        "practice-sync:ehr/ehr@1.0.0/resource": [#[serde(rename_all = "snake_case")]],
        "practice-sync:ehr/types@1.0.0/address": [#[derive(Default)]],
        "practice-sync:ehr/types@1.0.0/patient": [#[derive(Default)]],
        "practice-sync:ehr/types@1.0.0/provider": [#[derive(Default)]],
        "practice-sync:ehr/types@1.0.0/operatory": [#[derive(Default)]],
        "practice-sync:ehr/types@1.0.0/appointment-type": [#[derive(Default)]],
        "practice-sync:ehr/types@1.0.0/appointment": [#[derive(Default)]],
        "practice-sync:ehr/ehr@1.0.0/description": [#[derive(Default)]],
        "practice-sync:ehr/ehr@1.0.0/page": [#[derive(Default)]],
    },
});
