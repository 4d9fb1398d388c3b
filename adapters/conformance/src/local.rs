//! The address of an author's EHR, read from a file. Used by every command that calls an adapter manually.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use adapter_host::{Adapter, AddressError, Connection, Transport, plain};
use chrono_tz::Tz;
use records::ehr::Ehr;
use serde::{Deserialize, de::DeserializeOwned};
use setup::secret::Secret;

/// Maximum bytes of a displayed value.
const SHOWN: usize = 200;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    pub base_url: String,
    /// The location's identifier in the EHR.
    pub location: String,
    #[serde(deserialize_with = "zone")]
    pub zone: Tz,
    /// Sent with every request, invisible to the adapter. `env:NAME` is read from the environment.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// The keys of the connection; other keys are the caller's or an error.
const KEYS: [&str; 5] = ["base_url", "location", "zone", "headers", "settings"];

impl Local {
    pub fn read(file: &Path) -> Result<Local, String> {
        let (local, rest) = Local::split(file)?;
        match rest.keys().next() {
            Some(key) => Err(format!("{}: unknown key `{key}`; the keys are {}", file.display(), KEYS.join(", "))),
            None => Ok(local),
        }
    }

    /// Returns the connection and the other keys of the file.
    pub(crate) fn split(file: &Path) -> Result<(Local, toml::Table), String> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut all: toml::Table =
            toml::from_str(&text).map_err(|error| format!("{}: {}", file.display(), error.message()))?;
        let own: toml::Table = KEYS.iter().filter_map(|key| all.remove_entry(*key)).collect();
        let mut local: Local = typed(file, own)?;
        for (name, value) in local.headers.iter_mut().chain(&mut local.settings) {
            if let Some(variable) = value.strip_prefix("env:") {
                let unset = |_| format!("{}: `{name}` names the variable {variable}, which is not set", file.display());
                *value = std::env::var(variable).map_err(unset)?;
            }
        }
        Ok((local, all))
    }

    pub fn connect(&self, adapter: &Arc<Adapter>, connection: Connection) -> Result<Arc<dyn Ehr>, String> {
        let key = |error: AddressError| match error {
            AddressError::BaseUrl(_) | AddressError::BaseUrlForm => {
                format!("`base_url` is {}: {error}; write it as https://ehr.example/api", plain(&self.base_url, SHOWN))
            }
            error => error.to_string(),
        };
        adapter.connect(connection).map_err(key)
    }

    pub fn connection(&self, transport: Arc<dyn Transport>) -> Connection {
        let mut connection = Connection::new("local", &self.location, &self.base_url, self.zone, transport);
        let secret = |(name, value): (&String, &String)| (name.clone(), Secret::new(value.clone()));
        connection.headers = self.headers.iter().map(secret).collect();
        connection.settings = self.settings.iter().map(secret).collect();
        connection
    }
}

/// Deserializes a table; errors contain the key.
pub(crate) fn typed<T: DeserializeOwned>(file: &Path, table: toml::Table) -> Result<T, String> {
    serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.inner().message().trim().to_owned());
        match path.as_str() {
            "." => format!("{}: {why}", file.display()),
            path => format!("{}: `{path}`: {why}", file.display()),
        }
    })
}

fn zone<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Tz, D::Error> {
    let name = String::deserialize(input)?;
    name.parse().map_err(|_| {
        serde::de::Error::custom(format!("{} is no IANA zone, such as America/New_York", plain(&name, SHOWN)))
    })
}
