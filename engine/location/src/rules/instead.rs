//! The way out that a client offers when a rule refuses a visit.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::AppointmentTypeId;

/// The action that a client should offer when a rule refuses a visit. The engine only returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Instead {
    /// A call to the practice.
    Call,
    /// A request that the practice answers.
    Request,
    /// A visit of another type.
    Type(AppointmentTypeId),
}

impl fmt::Display for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instead::Call => f.write_str("call"),
            Instead::Request => f.write_str("request"),
            Instead::Type(id) => write!(f, "type:{id}"),
        }
    }
}

impl FromStr for Instead {
    type Err = String;

    fn from_str(text: &str) -> Result<Instead, String> {
        match text {
            "call" => Ok(Instead::Call),
            "request" => Ok(Instead::Request),
            _ => {
                let id = text.strip_prefix("type:").and_then(|id| id.parse::<u32>().ok()).filter(|id| *id > 0);
                id.map(|id| Instead::Type(AppointmentTypeId(id)))
                    .ok_or_else(|| "must be `call`, `request`, or `type:` and the id of an appointment type".into())
            }
        }
    }
}

impl TryFrom<String> for Instead {
    type Error = String;

    fn try_from(text: String) -> Result<Instead, String> {
        text.parse()
    }
}

impl From<Instead> for String {
    fn from(instead: Instead) -> String {
        instead.to_string()
    }
}
