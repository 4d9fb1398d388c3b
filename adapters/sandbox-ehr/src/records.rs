//! The records of the simulated EHR, in the format of its API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::calendar;
pub use super::resources::Resource;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    Patient(Box<Patient>),
    Provider(Provider),
    Operatory(Operatory),
    Type(SandboxAppointmentType),
    Hours(Hours),
    Appointment(Appointment),
    /// A row of any other resource.
    Filed(Resource, Filed),
}

/// A row with the fields of the contract.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filed {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub version: u64,
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patient {
    pub id: String,
    pub version: u64,
    pub first_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    pub last_name: String,
    /// `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub born: Option<String>,
    /// `F`, `M` or `X`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guarantor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub inactive: bool,
    pub new: bool,
    pub no_texts: bool,
    pub no_emails: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_key: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street2: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    pub id: String,
    pub version: u64,
    pub first_name: String,
    pub last_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub npi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialty: Option<String>,
    pub retired: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Operatory {
    pub id: String,
    pub version: u64,
    pub location: String,
    pub name: String,
    pub in_use: bool,
    pub web_booking: bool,
    /// Suitable appointment types; empty for all.
    pub types: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxAppointmentType {
    pub id: String,
    pub version: u64,
    pub name: String,
    pub minutes: u32,
    pub web_booking: bool,
}

/// Hours of a provider, with exactly one of `days`, `date` and `every`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hours {
    pub id: String,
    pub version: u64,
    pub location: String,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operatory: Option<String>,
    /// `HH:MM`, local.
    pub begin: String,
    pub end: String,
    /// `mon` to `sun`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Every>,
    /// Reserved for `types`; not ordinary hours.
    pub block: bool,
    pub types: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub active: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    pub number: u32,
    /// `day`, `week` or `month`.
    pub unit: String,
    pub from: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Scheduled,
    Confirmed,
    Arrived,
    Done,
    Missed,
    Cancelled,
}

/// An appointment or, with `blocked`, time that cannot be booked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appointment {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub version: u64,
    pub location: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operatory: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(with = "calendar::instant")]
    pub start: i64,
    #[serde(with = "calendar::instant")]
    pub end: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default)]
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub blocked: bool,
    #[serde(default)]
    pub patient_confirmed: bool,
    /// Time of arrival and of departure.
    #[serde(default, with = "calendar::optional_instant", skip_serializing_if = "Option::is_none")]
    pub arrived_at: Option<i64>,
    #[serde(default, with = "calendar::optional_instant", skip_serializing_if = "Option::is_none")]
    pub left_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_key: Option<String>,
}

impl Appointment {
    /// Returns `true` if no other appointment can be booked at this time.
    pub(super) fn occupies(&self) -> bool {
        self.status != Status::Cancelled
    }

    /// Returns the operatory, or the provider if there is none.
    pub(super) fn place(&self) -> Option<&String> {
        self.operatory.as_ref().or(self.provider.as_ref())
    }
}

/// Accesses a field or method that all records have.
macro_rules! of_any {
    ($record:expr, $inner:ident => $what:expr) => {
        match $record {
            Record::Patient($inner) => $what,
            Record::Provider($inner) => $what,
            Record::Operatory($inner) => $what,
            Record::Type($inner) => $what,
            Record::Hours($inner) => $what,
            Record::Appointment($inner) => $what,
            Record::Filed(_, $inner) => $what,
        }
    };
}

impl Record {
    pub fn id(&self) -> &str {
        of_any!(self, r => &r.id)
    }

    pub fn version(&self) -> u64 {
        of_any!(self, r => r.version)
    }

    pub(super) fn set_id(&mut self, id: String) {
        of_any!(self, r => r.id = id)
    }

    pub(super) fn set_version(&mut self, version: u64) {
        of_any!(self, r => r.version = version)
    }

    pub fn to_json(&self) -> Value {
        serde_json::to_value(UntaggedRecord(self)).expect("records have string keys and serialise")
    }

    pub(super) fn from_json(resource: Resource, json: Value) -> Result<Record, serde_json::Error> {
        use serde_json::from_value;
        Ok(match resource {
            Resource::Patients => Record::Patient(from_value(json)?),
            Resource::Providers => Record::Provider(from_value(json)?),
            Resource::Operatories => Record::Operatory(from_value(json)?),
            Resource::Types => Record::Type(from_value(json)?),
            Resource::Hours => Record::Hours(from_value(json)?),
            Resource::Appointments => Record::Appointment(from_value(json)?),
            filed => Record::Filed(filed, from_value(json)?),
        })
    }

    pub fn resource(&self) -> Resource {
        match self {
            Record::Patient(_) => Resource::Patients,
            Record::Provider(_) => Resource::Providers,
            Record::Operatory(_) => Resource::Operatories,
            Record::Type(_) => Resource::Types,
            Record::Hours(_) => Resource::Hours,
            Record::Appointment(_) => Resource::Appointments,
            Record::Filed(resource, _) => *resource,
        }
    }

    /// Returns the record's location; `None` if the practice shares it.
    pub(super) fn location(&self) -> Option<&str> {
        match self {
            Record::Operatory(r) => Some(&r.location),
            Record::Hours(r) => Some(&r.location),
            Record::Appointment(r) => Some(&r.location),
            _ => None,
        }
    }
}

/// Serializes a record without a tag.
pub(super) struct UntaggedRecord<'a>(pub &'a Record);

impl Serialize for UntaggedRecord<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        of_any!(self.0, r => r.serialize(serializer))
    }
}
