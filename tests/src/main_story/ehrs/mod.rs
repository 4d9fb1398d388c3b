//! The practices it is told with.

pub mod fhir;
pub mod gnuhealth;
pub mod open_dental;

use chrono::{DateTime, Days, NaiveDate};

fn tomorrow(zone: chrono_tz::Tz) -> NaiveDate {
    let now = DateTime::from_timestamp_millis(engine::clock::now().0).expect("the present is near");
    now.with_timezone(&zone).date_naive() + Days::new(1)
}
