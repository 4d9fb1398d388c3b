//! What the operator can set for this adapter.

use adapter_sdk::{Fault, config};

pub struct Settings {
    /// None where the application is said to bear any number.
    pub requests_per_minute: Option<u32>,
}

impl Settings {
    pub fn read() -> Result<Settings, Fault> {
        let asked = config::get("requests_per_minute").map_or(Ok(60), |text| text.parse());
        let number = asked.ok().filter(|number| *number <= 6_000);
        let number = number
            .ok_or_else(|| Fault::unsupported("the setting `requests_per_minute` must be a number from 0 to 6000"))?;
        Ok(Settings { requests_per_minute: (number > 0).then_some(number) })
    }
}
