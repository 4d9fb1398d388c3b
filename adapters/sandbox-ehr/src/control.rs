//! Changes to the practice without the adapter: by tests at `/control`, where GET returns the switches and POST accepts
//! one [`Control`], and by operators through the API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Behaviours, Change, SandboxEhr,
    records::{Appointment, Record, Resource},
    wire::{SandboxReply, SandboxRequest},
    writes,
};

pub const PATH: &str = "/control";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// Sets all switches.
    Behave(Behaviours),
    /// Sets the named switches.
    Switch(Map<String, Value>),
    /// Staff book an appointment or a block; with `force` also over another one.
    StaffBooks {
        appointment: Appointment,
        #[serde(default)]
        force: bool,
    },
    /// Staff change fields of a record.
    StaffEdits { resource: Resource, id: String, fields: Map<String, Value> },
    /// Records are deleted.
    Delete { resource: Resource, ids: Vec<String> },
    /// The first `percent` per cent of a resource's records are deleted, as after a failed import.
    MassDelete { resource: Resource, percent: u32 },
}

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("not a control: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("there is no such record")]
    NotFound,
    #[error("the EHR refuses it: {0}")]
    Refused(String),
}

impl SandboxEhr {
    pub fn control(&mut self, control: Control) -> Result<Vec<Change>, ControlError> {
        match control {
            Control::Behave(behaviours) => {
                self.behaviours = behaviours;
                Ok(Vec::new())
            }
            Control::Switch(switches) => {
                let mut all = serde_json::to_value(&self.behaviours)?;
                for (name, value) in switches {
                    all[name] = value;
                }
                self.behaviours = serde_json::from_value(all)?;
                Ok(Vec::new())
            }
            Control::StaffBooks { appointment, force } => match writes::fits(self, &appointment) {
                Err(refusal) if !force => Err(refused(&refusal)),
                _ => Ok(vec![self.practice.save(Record::Appointment(appointment), None)]),
            },
            Control::StaffEdits { resource, id, fields } => {
                let before = self.practice.get(resource, &id).ok_or(ControlError::NotFound)?;
                let record = writes::merged(before, fields)?;
                if record.id() != id {
                    return Err(ControlError::Refused("an id does not change".into()));
                }
                Ok(vec![self.practice.save(record, None)])
            }
            Control::Delete { resource, ids } => {
                Ok(ids.iter().filter_map(|id| self.practice.delete(resource, id, None)).collect())
            }
            Control::MassDelete { resource, percent } => {
                let ids: Vec<String> = self.practice.all(resource).map(|r| r.id().to_owned()).collect();
                let count = ids.len() * usize::try_from(percent.min(100)).unwrap_or(100) / 100;
                Ok(ids[..count].iter().filter_map(|id| self.practice.delete(resource, id, None)).collect())
            }
        }
    }

    pub(super) fn control_route(&mut self, request: &SandboxRequest) -> SandboxReply {
        if !request.is_write() {
            return SandboxReply::json(200, &self.behaviours);
        }
        let done = serde_json::from_slice(&request.body).map_err(ControlError::from).and_then(|c| self.control(c));
        match done {
            Ok(changes) => {
                let shown: Vec<Value> = changes.iter().map(Change::to_json).collect();
                SandboxReply { changes, ..SandboxReply::json(200, &json!({"changes": shown})) }
            }
            Err(error @ ControlError::NotFound) => SandboxReply::error(404, "not_found", &error.to_string()),
            Err(error @ ControlError::Malformed(_)) => SandboxReply::error(400, "malformed", &error.to_string()),
            Err(error @ ControlError::Refused(_)) => SandboxReply::error(409, "refused", &error.to_string()),
        }
    }
}

impl Change {
    pub fn to_json(&self) -> Value {
        match self {
            Change::Saved { record, .. } => json!({"saved": record.to_json()}),
            Change::Deleted { id, .. } => json!({"deleted": id}),
        }
    }
}

fn refused(refusal: &SandboxReply) -> ControlError {
    let code = &refusal.json_body()["error"];
    ControlError::Refused(code.as_str().unwrap_or("unknown reason").to_owned())
}
