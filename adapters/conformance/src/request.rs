//! Actions of staff in the EHR, defined by a subject file as a request or a shell command.

use std::{collections::BTreeMap, time::Duration};

use adapter_host::{HttpRequest, Transport, Url};
use serde::Deserialize;
use tokio::process::Command;

use crate::local::Local;

const DEADLINE: Duration = Duration::from_secs(30);
const MAX_ANSWER: usize = 8 << 20;

/// An action. `{id}` is replaced by the record's identifier, `{value}` by a text that is new each time.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ActionKeys")]
pub(crate) enum EhrAction {
    Request { method: String, path: String, body: Option<String>, headers: BTreeMap<String, String> },
    Command(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionKeys {
    method: Option<String>,
    path: Option<String>,
    body: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    command: Option<String>,
}

impl TryFrom<ActionKeys> for EhrAction {
    type Error = String;

    fn try_from(keys: ActionKeys) -> Result<EhrAction, String> {
        match keys {
            ActionKeys { method: None, path: None, body: None, command: Some(command), headers }
                if headers.is_empty() =>
            {
                Ok(EhrAction::Command(command))
            }
            ActionKeys { method: Some(method), path: Some(path), body, headers, command: None } => {
                let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
                if !methods.contains(&method.as_str()) {
                    return Err(format!("`method` is {method}; it is one of {}", methods.join(", ")));
                }
                if !path.starts_with('/') {
                    return Err(format!("`path` is {path}; it begins with / and is below base_url"));
                }
                Ok(EhrAction::Request { method, path, body, headers })
            }
            _ => {
                Err("give either `method` and `path`, with `body` and `headers` where they are needed, or `command`"
                    .into())
            }
        }
    }
}

impl EhrAction {
    /// Runs the action with the headers of the location. Returns an error unless it succeeds.
    pub(crate) async fn run(
        &self,
        local: &Local,
        network: &dyn Transport,
        id: &str,
        value: &str,
    ) -> Result<(), String> {
        let filled = |text: &String, quoted: fn(&str) -> String| {
            text.replace("{id}", &quoted(id)).replace("{value}", &quoted(value))
        };
        match self {
            EhrAction::Command(command) => {
                let mut shell = Command::new("sh");
                // Passed as variables, so that no text of the EHR is ever part of a command.
                shell.arg("-c").arg(command).env("ID", id).env("VALUE", value).env("BASE_URL", &local.base_url);
                let output = shell.output().await.map_err(|error| format!("{command}: {error}"))?;
                match output.status.success() {
                    true => Ok(()),
                    false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim())),
                }
            }
            EhrAction::Request { method, path, body, headers } => {
                let address = format!("{}{}", local.base_url.trim_end_matches('/'), filled(path, in_a_path));
                let url = Url::parse(&address).map_err(|error| format!("{address}: {error}"))?;
                let mut all: BTreeMap<String, String> =
                    [("content-type".to_owned(), "application/json".to_owned())].into();
                let lower = |(name, value): (&String, &String)| (name.to_lowercase(), value.clone());
                all.extend(local.headers.iter().chain(headers).map(lower));
                let request = HttpRequest {
                    method: method.clone(),
                    url,
                    headers: all.into_iter().collect(),
                    body: body.as_ref().map(|body| filled(body, in_json).into_bytes()),
                    max_response_body: MAX_ANSWER,
                };
                let answer =
                    network.send(request, DEADLINE).await.map_err(|error| format!("{method} {path}: {error}"))?;
                match answer.status {
                    200..=299 => Ok(()),
                    status => Err(format!("{method} {path}: the EHR answers {status}")),
                }
            }
        }
    }
}

/// Percent-encodes everything but letters, digits and `-._~`.
fn in_a_path(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Escapes text within the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
