//! The modules of the adapter, tested separately.

mod answers;
mod capability;
mod choice;
mod cursor;
mod faults;
mod forms;
mod history;
mod hours;
mod paging;
mod patients;
mod time;

use adapter_sdk::testing::Host;
use fhir_adapter::settings::Settings;

fn host() -> Host {
    Host::new().manifest(include_str!("../../adapter.toml")).config("location", "L")
}

fn settings() -> Settings {
    host().run(Settings::read).unwrap()
}
