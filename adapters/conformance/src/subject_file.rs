//! A subject without Rust: a file with the address of the EHR, the records that writes refer to, and the actions of
//! staff.

use std::{collections::BTreeMap, path::Path};

use chrono::{Days, NaiveDate, NaiveTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use records::ehr::Resource;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    ehr_under_test::ExistingIds,
    local::{Local, typed},
    request::EhrAction,
};

/// Maximum number of days searched for free times.
const MOST_DAYS: u64 = 1_500;

pub struct SubjectFile {
    pub local: Local,
    pub keys: Keys,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    pub(crate) ids: ExistingIds,
    pub free: Free,
    /// The EHR stores write keys, so two writes with the same fields can be distinguished.
    #[serde(default)]
    pub(crate) write_key: bool,
    /// The EHR stores local times without offset.
    #[serde(default)]
    pub(crate) local_times: bool,
    /// Delay until the EHR's search finds a write.
    #[serde(default)]
    pub(crate) settle_seconds: u64,
    /// Fields that are not stored, such as `payments.note`.
    #[serde(default)]
    pub(crate) unkept: Vec<ResourceField>,
    /// Fields to add to each write of the resource.
    #[serde(default, deserialize_with = "by_resource")]
    pub(crate) set: BTreeMap<Resource, Map<String, Value>>,
    #[serde(default, deserialize_with = "by_resource")]
    pub(crate) change: BTreeMap<Resource, EhrAction>,
    #[serde(default, deserialize_with = "by_resource")]
    pub(crate) delete: BTreeMap<Resource, EhrAction>,
    #[serde(default, rename = "break", deserialize_with = "by_resource")]
    pub(crate) corrupt: BTreeMap<Resource, EhrAction>,
    pub(crate) refused: Option<RefusedPatient>,
}

/// Deserializes via text keys, so that an error within a table contains the resource's name.
fn by_resource<'de, D, V>(input: D) -> Result<BTreeMap<Resource, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    let named = BTreeMap::<String, V>::deserialize(input)?;
    let resource = |name: String| serde_json::from_value(name.into()).map_err(D::Error::custom);
    named.into_iter().map(|(name, of)| Ok((resource(name)?, of))).collect()
}

/// Preparation of a new patient that the EHR refuses: an action in the EHR, or fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedPatient {
    pub(crate) action: Option<EhrAction>,
    #[serde(default)]
    pub(crate) fields: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct ResourceField(pub(crate) Resource, pub(crate) String);

impl TryFrom<String> for ResourceField {
    type Error = String;

    fn try_from(text: String) -> Result<ResourceField, String> {
        let parts = text.split_once('.').filter(|(_, field)| !field.is_empty());
        let (resource, field) = parts.ok_or_else(|| format!("{text}: write RESOURCE.FIELD, such as payments.note"))?;
        let named = serde_json::from_value(resource.into()).map_err(|error| format!("{text}: {error}"))?;
        Ok(ResourceField(named, field.to_owned()))
    }
}

/// Free times of `ids.operatory`, in local time.
#[derive(Deserialize)]
#[serde(try_from = "FreeKeys")]
pub struct Free {
    first: FirstDay,
    from: NaiveTime,
    until: NaiveTime,
    step: TimeDelta,
}

enum FirstDay {
    Ahead(u64),
    On(NaiveDate),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FreeKeys {
    days_ahead: Option<u64>,
    first_day: Option<String>,
    from: String,
    until: String,
    step_minutes: u16,
}

impl TryFrom<FreeKeys> for Free {
    type Error = String;

    fn try_from(keys: FreeKeys) -> Result<Free, String> {
        let first = match (keys.days_ahead, keys.first_day) {
            (Some(days), None) if days <= MOST_DAYS => FirstDay::Ahead(days),
            (Some(days), None) => return Err(format!("`days_ahead` is {days}; at most {MOST_DAYS}")),
            (None, Some(day)) => {
                let parsed = day.parse().map_err(|_| format!("`first_day` is {day}; write it as \"2027-01-31\""))?;
                FirstDay::On(parsed)
            }
            _ => return Err("give either `days_ahead` or `first_day`".into()),
        };
        let time = |key: &str, text: &str| {
            NaiveTime::parse_from_str(text, "%H:%M").map_err(|_| format!("`{key}` is {text}; write it as \"09:00\""))
        };
        let (from, until) = (time("from", &keys.from)?, time("until", &keys.until)?);
        if !(30..=480).contains(&keys.step_minutes) {
            return Err(format!("`step_minutes` is {}; 30 to 480, as an appointment takes 30", keys.step_minutes));
        }
        let step = TimeDelta::minutes(keys.step_minutes.into());
        if until - from < step {
            return Err("`until` is to be later than `from` by `step_minutes` at least".into());
        }
        Ok(Free { first, from, until, step })
    }
}

impl Free {
    /// Returns the starts from `now` on, in seconds since 1970. Days around a clock change are reserved for the case
    /// about them.
    pub fn starts(&self, zone: Tz, now: i64) -> Vec<i64> {
        let today = zone.timestamp_opt(now, 0).single().map(|at| at.date_naive()).unwrap_or_default();
        let first = match self.first {
            FirstDay::Ahead(days) => today + Days::new(days),
            FirstDay::On(day) => day,
        };
        let offset = |day: NaiveDate| zone.offset_from_utc_date(&day).fix().local_minus_utc();
        let around = |day: &NaiveDate| offset(*day - Days::new(2)) == offset(*day + Days::new(3));
        let days = (0..MOST_DAYS).map(|n| first + Days::new(n)).filter(around);
        let times = std::iter::successors(Some(TimeDelta::zero()), |at| Some(*at + self.step));
        let times: Vec<NaiveTime> =
            times.take_while(|at| *at + self.step <= self.until - self.from).map(|at| self.from + at).collect();
        let instants = days.flat_map(|day| times.iter().map(move |time| day.and_time(*time)));
        let starts = instants.filter_map(|local| zone.from_local_datetime(&local).single()).map(|at| at.timestamp());
        starts.filter(|start| *start > now).collect()
    }
}

impl SubjectFile {
    pub fn read(file: &Path) -> Result<SubjectFile, String> {
        let (local, rest) = Local::split(file)?;
        Ok(SubjectFile { local, keys: typed(file, rest)? })
    }
}
