//! Lists of the API, read by offset in pages that overlap by a row; and schedules, which are read by date.

use adapter_sdk::{
    Fault, clock,
    streams::{Ask, Listed},
    time::plus_days,
    warn,
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    client::{Client, Rows, answers},
    requests::Parameter,
    settings::OpenDentalSettings,
    time,
};

pub struct Listing {
    pub path: &'static str,
    /// The field with a row's id.
    pub id: &'static str,
    /// The parameter that selects changed rows.
    pub since: Option<Since>,
    pub query: fn(&OpenDentalSettings, &Ask) -> Vec<Parameter>,
    /// Maximum rows of a page; small if each row needs further requests.
    pub rows: u32,
}

/// Replacement of a row that was not requested.
pub const ELSEWHERE: &str = "a row of others";

#[derive(Clone, Copy)]
pub enum Since {
    Time(&'static str),
    Date(&'static str),
}

impl Client {
    pub fn listed(&self, asked: &Ask, list: &Listing) -> Result<Listed, Fault> {
        let mut query = (list.query)(&self.settings, asked);
        query.extend(asked.since.zip(list.since).map(|(since, parameter)| {
            let since = time::written(&clock::earliest_since(since, clock::now()));
            match parameter {
                Since::Time(name) => (name, since),
                Since::Date(name) => (name, since.chars().take(10).collect()),
            }
        }));
        let asked = &Ask { limit: asked.limit.min(list.rows), ..*asked };
        let from = asked.overlapping()?;
        let Rows { rows, full, mut now } = self.page(list.path, list.id, &query, from.offset, from.limit)?;
        if asked.started.is_none() {
            if now.is_none() && list.since.is_some() && !rows.is_empty() {
                now = self.now();
            }
            disagree(now);
        }
        let mut listed = Listed { now, ..Listed::overlapping(rows, asked, list.id, full)? };
        // An unrequested row keeps its position in the walk but yields no record.
        for row in listed.rows.iter_mut().filter(|row| !answers(row, &query)) {
            *row = ELSEWHERE.into();
        }
        Ok(listed)
    }
}

/// Warns if the office's clock differs by more than 15 minutes. Its times have no zone, so the location's zone must be
/// the office's.
fn disagree(office: Option<i64>) {
    let off = office.map_or(0, |office| (office - clock::now()).abs());
    if off > 900 {
        warn!("the office's clock is {} minutes off: is the location's zone the office's?", off / 60);
    }
}

/// Days per page of a list that is read by date.
const DAYS: i64 = 7;

/// A range of dates.
#[derive(Deserialize)]
pub struct Week {
    pub from: String,
    pub to: String,
}

/// Returns one week per page, starting yesterday. Each is a single row with all its records.
pub fn weeks(client: &Client, asked: &Ask) -> Result<Listed, Fault> {
    let (from, ahead) = (i64::try_from(asked.number()?).unwrap_or(i64::MAX), client.settings.schedule_days);
    let to = from.saturating_add(DAYS - 1).min(ahead);
    let yesterday = plus_days(&clock::date(asked.started.unwrap_or(asked.now)), -1);
    let week = json!({"from": plus_days(&yesterday, from), "to": plus_days(&yesterday, to)});
    let next = (to < ahead).then(|| (to + 1).to_string());
    Ok(Listed { rows: vec![week], next, entire: true, ..Listed::default() })
}
