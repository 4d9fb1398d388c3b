//! Comparison of the SDK's bindings with the generator's output for `wit/v1`. They are checked in, so that the build of
//! an adapter compiles neither the generator nor its dependencies. `UPDATE_BINDINGS=1` writes them again.

use std::{collections::BTreeMap, fs, path::Path};

use wit_bindgen_core::{Files, WorldGenerator, wit_parser::Resolve};
use wit_bindgen_rust::Opts;

/// Attributes of single types, in addition to those that the generator adds to all of them.
const ATTRIBUTES: &[(&str, &[&str])] = &[
    (
        "#[serde(rename_all = \"snake_case\")]",
        &[
            "types@1.0.0/history-category",
            "types@1.0.0/gender",
            "types@1.0.0/interval-unit",
            "types@1.0.0/adjustment-action",
            "ehr@1.0.0/resource",
            "ehr@1.0.0/patient-field",
        ],
    ),
    (
        "#[serde(try_from = \"String\", into = \"String\")]",
        &["types@1.0.0/communication-mode", "types@1.0.0/communication-direction", "types@1.0.0/relation"],
    ),
    (
        "#[serde(from = \"String\", into = \"String\")]",
        &[
            "types@1.0.0/insurance-type",
            "types@1.0.0/procedure-status",
            "types@1.0.0/treatment-plan-status",
            "types@1.0.0/claim-status",
        ],
    ),
    ("#[serde(from = \"(String, String)\", into = \"(String, String)\")]", &["types@1.0.0/extra-value"]),
    (
        "#[derive(Default)]",
        &[
            "types@1.0.0/address",
            "types@1.0.0/patient",
            "types@1.0.0/provider",
            "types@1.0.0/operatory",
            "types@1.0.0/appointment-type",
            "types@1.0.0/appointment",
            "types@1.0.0/money",
            "types@1.0.0/appointment-descriptor",
            "types@1.0.0/working-hour",
            "types@1.0.0/insurance-plan",
            "types@1.0.0/patient-alert",
            "types@1.0.0/conversation",
            "types@1.0.0/form-schema",
            "types@1.0.0/form-response",
            "types@1.0.0/procedure-code",
            "types@1.0.0/procedure-code-category",
            "types@1.0.0/procedure",
            "types@1.0.0/treatment-plan",
            "types@1.0.0/clinical-note",
            "types@1.0.0/patient-recall",
            "types@1.0.0/document",
            "types@1.0.0/document-type",
            "types@1.0.0/fee-schedule",
            "types@1.0.0/fee",
            "types@1.0.0/payment-type",
            "types@1.0.0/adjustment-type",
            "types@1.0.0/charge",
            "types@1.0.0/payment",
            "types@1.0.0/adjustment",
            "types@1.0.0/claim-amounts",
            "types@1.0.0/claim",
            "types@1.0.0/payment-plan",
            "types@1.0.0/balance",
            "ehr@1.0.0/description",
            "ehr@1.0.0/page",
        ],
    ),
];

fn generated() -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/v1")).unwrap();
    let world = resolve.select_world(&[package], Some("practice-sync:ehr/adapter")).unwrap();
    let options = Opts {
        pub_export_macro: true,
        export_macro_name: Some("export_bindings".to_owned()),
        default_bindings_module: Some("adapter_sdk::bindings".to_owned()),
        additional_derive_attributes: ["PartialEq", "serde::Serialize", "serde::Deserialize"].map(str::to_owned).into(),
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    let (_, text) = files.iter().next().unwrap();
    let mut left: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (attribute, types) in ATTRIBUTES {
        types.iter().for_each(|name| left.entry(rust_name(name)).or_default().push(attribute));
    }
    let mut bindings = String::new();
    // Without indentation, which is two thirds of the text.
    for line in std::str::from_utf8(text).unwrap().lines().map(str::trim) {
        let declared = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        let name = declared.and_then(|rest| rest.split([' ', '<', '(', ';']).next());
        for attribute in name.and_then(|name| left.remove(name)).unwrap_or_default() {
            bindings.extend([attribute, "\n"]);
        }
        bindings.extend([line, "\n"]);
    }
    assert!(left.is_empty(), "the contract has no such types: {left:?}");
    with_one_lift(&bindings)
}

/// Moves the code that lifts the arguments of `push` and `find` into one function. The generator repeats it, which is a
/// fifth of the bindings and of the work to compile them.
fn with_one_lift(bindings: &str) -> String {
    let parts = ["push", "find"].map(|name| {
        let (before, export) = bindings.split_once(&format!("pub unsafe fn _export_{name}_cabi")).unwrap();
        let (signature, rest) = export.split_once("= {\n").unwrap();
        let (lift, rest) = rest.split_once(&format!("T_::{name}(")).unwrap();
        let (arguments, rest) = rest.split_once(")\n").unwrap();
        let call = format!(
            "pub unsafe fn _export_{name}_cabi{signature}= {{\nlet (key, write) = lift_key_and_write(arg0);\nT_::{name}(key, write)\n"
        );
        (before.len(), bindings.len() - rest.len(), call, lift, arguments)
    });
    let [(push, after_push, call_push, lift, arguments), (find, after_find, call_find, again, same)] = parts;
    assert_eq!((lift, arguments), (again, same), "`push` and `find` take the same arguments");
    let function = format!(
        "unsafe fn lift_key_and_write(arg0: *mut u8) -> (_rt::String, Write) {{ unsafe {{\n{lift}({arguments})\n}} }}\n"
    );
    let between = &bindings[after_push..find];
    [&bindings[..push], &call_push, between, &call_find, &bindings[after_find..], ].concat().replacen(
        "#[doc(hidden)]\n#[allow(non_snake_case, unused_unsafe)]\npub unsafe fn _export_push_cabi",
        &format!("#[allow(non_snake_case, unused_unsafe)]\n{function}#[doc(hidden)]\n#[allow(non_snake_case, unused_unsafe)]\npub unsafe fn _export_push_cabi"),
        1,
    )
}

/// Converts `types@1.0.0/history-category` to `HistoryCategory`. The contract's type names are unique.
fn rust_name(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap();
    name.split('-').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}

#[test]
fn the_bindings_are_those_of_the_contract() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/generated/bindings.rs");
    let generated = generated();
    if std::env::var_os("UPDATE_BINDINGS").is_some() {
        fs::write(&file, &generated).unwrap();
    }
    let same = fs::read_to_string(&file).unwrap() == generated;
    assert!(
        same,
        "adapters/sdk/generated/bindings.rs is not what the generator makes of wit/v1: run this test with UPDATE_BINDINGS=1"
    );
}
