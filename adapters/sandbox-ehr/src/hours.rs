//! Validation of working hours by a strict EHR.

use super::{
    SandboxEhr,
    records::{Hours, Record, Resource},
    refusals::{ValidationResult, invalid},
};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

pub(super) fn check(ehr: &SandboxEhr, hours: &Hours) -> ValidationResult {
    if !ehr.profile.locations.iter().any(|location| location.key == hours.location) {
        return Err(invalid("unknown_location", "The practice has no such location"));
    }
    let here = |id: &str| match ehr.practice.get(Resource::Operatories, id) {
        Some(Record::Operatory(operatory)) => operatory.location == hours.location,
        _ => false,
    };
    if hours.operatory.as_ref().is_some_and(|id| !here(id)) {
        return Err(invalid("unknown_operatory", "The location has no such operatory"));
    }
    if ehr.practice.get(Resource::Providers, &hours.provider).is_none() {
        return Err(invalid("unknown_provider", "There is no such provider"));
    }
    if hours.types.iter().any(|id| ehr.practice.get(Resource::Types, id).is_none()) {
        return Err(invalid("unknown_type", "There is no such appointment type"));
    }
    if minutes(&hours.begin).is_none_or(|begin| begin >= 1_440) || minutes(&hours.end).is_none() {
        return Err(invalid("bad_time", "begin and end must be times of day"));
    }
    let given = [!hours.days.is_empty(), hours.date.is_some(), hours.every.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        return Err(invalid("bad_days", "exactly one of days, date and every must be given"));
    }
    match hours.days.iter().find(|day| !DAYS.contains(&day.as_str())) {
        Some(_) => Err(invalid("bad_days", "days must be mon to sun")),
        None => Ok(()),
    }
}

/// Parses `HH:MM` up to `24:00`.
fn minutes(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = hours.checked_mul(60)?.checked_add(minutes)?;
    (minutes < 60 && total <= 1_440).then_some(total)
}
