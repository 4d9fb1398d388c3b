//! Checks of adapter settings against the adapter's manifest, before a server starts.

use std::{fs, process::Command};
use tests::harness::process::binary;

use tests::harness::components;

/// Returns a configuration with one location that has these settings for the cloud EHR's adapter.
fn practice(component: &str, adapter_config: &str) -> String {
    format!(
        r#"[adapters]
gated-cloud = "{component}"
[[institutions]]
id = 1
subdomain = "acme"
name = "Acme"
environment = "sandbox"
[[institutions.sources]]
id = 1
name = "EHR"
adapter = "gated-cloud"
base_url = "https://ehr.example"
workstation = {{ probe = "/api/session" }}
[[institutions.locations]]
id = 7
name = "Main"
zone = "America/New_York"
source = 1
foreign_id = "main-street"
adapter_config = {adapter_config}
"#
    )
}

#[test]
fn config_check_names_the_location_and_the_invalid_setting() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("practice-sync.toml");
    let component = components::component("gated-cloud");
    let check = |adapter_config: &str| {
        fs::write(&file, practice(component.to_str().unwrap(), adapter_config)).unwrap();
        let mut command = Command::new(binary());
        let output = command.args(["config", "check"]).arg(&file).output().unwrap();
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.success(), printed)
    };
    let (well, printed) = check(r#"{ requests_per_minute = "many", page = "secret" }"#);
    assert!(!well, "{printed}");
    for expected in [
        "adapter_config of location 7: the setting `requests_per_minute` must be a number from 0 to 6000",
        "adapter_config of location 7: there is no setting `page`; there are `requests_per_minute`",
    ] {
        assert!(printed.contains(expected), "{printed}");
    }
    assert!(!printed.contains("secret"), "{printed}");
    let (well, printed) = check(r#"{ requests_per_minute = "30" }"#);
    assert!(well, "{printed}");
}

#[test]
fn inspect_shows_requirements_and_settings_of_an_adapter() {
    let mut command = Command::new(binary());
    let output = command.args(["adapter", "inspect"]).arg(components::component("gated-cloud")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    for expected in [
        "adapter   gated-cloud 0.1.0",
        "paths     /api/",
        "a call    64 MiB, 60 s, 8 requests",
        "| `requests_per_minute` | 0 to 6000 | `60` |",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn print_default_shows_the_settings_of_an_adapter() {
    let mut command = Command::new(binary());
    let output = command
        .args(["config", "print-default", "--adapter"])
        .arg(components::component("gated-cloud"))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(toml::from_str::<toml::Table>(&printed).is_ok(), "{printed}");
    let expected = "# [institutions.locations.adapter_config]\n# # ";
    assert!(printed.contains(expected) && printed.contains("# requests_per_minute = \"60\"\n"), "{printed}");
}

#[test]
fn adapter_readmes_contain_the_declared_settings() {
    for name in ["fhir", "gated-cloud", "gnuhealth", "opendental", "sandbox"] {
        let dir = components::root().join("adapters").join(name);
        let read = |file: &str| fs::read_to_string(dir.join(file)).unwrap();
        let manifest = adapter_kit::Manifest::parse(&read("adapter.toml")).unwrap();
        let Some(table) = manifest.settings_table() else { continue };
        assert!(read("README.md").contains(&table), "the README of {name} lacks this table:\n{table}");
    }
}
