//! Sentences about the reasons why times can or cannot be booked. Patients may hear them: they contain nothing about
//! other patients, and no words of the configuration.

use framework::values::rule_texts::notice_in_words;
use location::{
    Reason,
    explain::{ExplainedSlot, Explanation},
    rules::PatientFacts,
};

use crate::prelude::*;

/// The next time that can be booked.
pub(super) enum NextTime {
    Start(Timestamp),
    Day(Date),
}

/// Returns the message about all times of a search.
pub(super) fn of_search(location: &OpenLocation, explained: &Explanation, next: Option<NextTime>) -> String {
    let name = &location.setup.name;
    let zone = location.setup.zone;
    let mut message = match explained.reasons.first() {
        None => format!("The request leaves no time at {name} to consider."),
        Some(first) if first.reason == Reason::Offered => {
            let start = times::for_people(first.example, zone);
            match first.count {
                1 => format!("One time at {name} is free: {start}."),
                count => format!("{count} times at {name} are free; the first is {start}."),
            }
        }
        Some(first) if first.reason == Reason::ScheduleNotRead => not_read(name),
        Some(first) => {
            let main = explained.reasons.iter().find(|it| it.reason != Reason::NoWorkingHours).unwrap_or(first);
            let times = if explained.reasons.len() == 1 { "the times are" } else { "most times are" };
            format!("No time at {name} is free for this request: {times} {}.", predicate(main.reason))
        }
    };
    if explained.truncated {
        message += &format!(" Only the first {} times were considered.", explained.considered);
    }
    with_next(message, next, location)
}

/// Returns the message about one time.
pub(super) fn of_time(location: &OpenLocation, slot: ExplainedSlot, next: Option<NextTime>) -> String {
    let (name, start) = (&location.setup.name, times::for_people(slot.span.start, location.setup.zone));
    let message = match slot.reason {
        Reason::ScheduleNotRead => not_read(name),
        reason => format!("{start} at {name} is {}.", predicate(reason)),
    };
    match next {
        Some(NextTime::Start(start)) if start == slot.span.start => {
            format!("{message} The same time is still free in another room.")
        }
        next => with_next(message, next, location),
    }
}

fn with_next(message: String, next: Option<NextTime>, location: &OpenLocation) -> String {
    match next {
        None => message,
        Some(NextTime::Start(start)) => {
            format!("{message} The next free time is {}.", times::for_people(start, location.setup.zone))
        }
        Some(NextTime::Day(date)) => format!("{message} The next day with free times is {date}."),
    }
}

fn not_read(name: &str) -> String {
    Failure::ScheduleOfNameNotRead.message(&[&name])
}

/// Returns `true` if another time may be free although this one is not.
pub(super) fn depends_on_time(reason: Reason) -> bool {
    match reason {
        Reason::Offered
        | Reason::ScheduleNotRead
        | Reason::ProviderInactive
        | Reason::TypeNotBookableOnline
        | Reason::PatientNotEligible => false,
        Reason::NoWorkingHours
        | Reason::OutsideHours
        | Reason::TypeNotOfferedHere
        | Reason::OperatoryNotBookableOnline
        | Reason::Taken
        | Reason::Held
        | Reason::Blocked
        | Reason::TooShort
        | Reason::TooSoon
        | Reason::AfterCutoff
        | Reason::BeyondHorizon
        | Reason::Buffer
        | Reason::DailyCap
        | Reason::Closed
        | Reason::NotAligned => true,
    }
}

/// Returns the end of a sentence about times: "Tue, Dec 1 2026, 9:30 AM EST at Main Street is already booked."
fn predicate(reason: Reason) -> &'static str {
    match reason {
        Reason::Offered => "free",
        Reason::ScheduleNotRead => "not known yet",
        Reason::ProviderInactive => "not available, because the provider does not see patients there at present",
        Reason::NoWorkingHours => "on a day without working hours",
        Reason::OutsideHours => "outside working hours",
        Reason::TypeNotOfferedHere => "not available for this type of appointment",
        Reason::TypeNotBookableOnline => "available for this type of appointment only by calling the practice",
        Reason::OperatoryNotBookableOnline => "available only by calling the practice",
        Reason::Taken => "already booked",
        Reason::Held => "being booked by another caller at the moment",
        Reason::Blocked => "not open for appointments",
        Reason::TooShort => "followed by another appointment too soon",
        Reason::TooSoon => "too soon to be booked",
        Reason::AfterCutoff => "on a day for which booking has closed",
        Reason::BeyondHorizon => "too far ahead to be booked yet",
        Reason::Buffer => "too close to another appointment",
        Reason::DailyCap => "on a day that is fully booked",
        Reason::Closed => "at a time when the practice is closed",
        Reason::NotAligned => "not at a time when appointments start",
        Reason::PatientNotEligible => "not open to this patient",
    }
}

/// Returns the reason as a sentence, with the limit of the rule if there is one. `patient` is the one of the request.
pub fn detail(reason: Reason, rules: &VisitRules, patient: Option<PatientFacts>) -> String {
    let fixed = match reason {
        Reason::Offered => "The time can be booked.",
        Reason::ScheduleNotRead => "The schedule of the practice has not been read completely yet.",
        Reason::ProviderInactive => "The provider has no working hours in use at this location.",
        Reason::NoWorkingHours => "There are no working hours on this day.",
        Reason::OutsideHours => "There are working hours on this day, but they do not cover the whole time.",
        Reason::TypeNotOfferedHere => "The working hours at this time are for other types of appointments.",
        Reason::TypeNotBookableOnline => "Only the practice itself books appointments of this type.",
        Reason::OperatoryNotBookableOnline => "Only the practice itself books appointments in this operatory.",
        Reason::Taken => "Another appointment is at this time.",
        Reason::Held => "Another caller holds the time. It is free again if the caller does not book it.",
        Reason::Blocked => "The practice has blocked the time.",
        Reason::TooShort => "The start is free, but the next appointment begins before the end of this one.",
        Reason::TooSoon => return too_soon(rules),
        Reason::AfterCutoff => return after_cutoff(rules),
        Reason::BeyondHorizon => {
            return format!("Appointments can be booked at most {} ahead.", counted_days(rules.horizon_days));
        }
        Reason::Buffer => return buffer(rules),
        Reason::DailyCap => "The practice books no further appointments on this day.",
        Reason::Closed => "The practice is closed at this time.",
        Reason::NotAligned => match rules.align {
            Some(minutes) => return format!("Appointments start every {minutes} minutes from the full hour."),
            None => "Appointments do not start at this time.",
        },
        Reason::PatientNotEligible => return not_eligible(rules, patient),
    };
    fixed.to_owned()
}

fn too_soon(rules: &VisitRules) -> String {
    match (rules.minimum_notice, rules.minimum_notice_days) {
        (0, 0) => "The time has already begun.".to_owned(),
        (0, days) => format!("Appointments must be booked at least {} ahead.", counted_days(days)),
        (notice, 0) => format!("Appointments must be booked at least {} before they start.", notice_in_words(notice)),
        (notice, days) => {
            let days = counted_days(days);
            format!(
                "Appointments must be booked at least {days} ahead, and {} before they start.",
                notice_in_words(notice)
            )
        }
    }
}

fn after_cutoff(rules: &VisitRules) -> String {
    let close = rules.cutoff.map(|minute| format!(" at {:02}:{:02}", minute / 60, minute % 60)).unwrap_or_default();
    format!("Booking for this day closed{close}.")
}

fn buffer(rules: &VisitRules) -> String {
    let sides = [(rules.buffer_before, "before"), (rules.buffer_after, "after")];
    let sides: Vec<String> = sides
        .iter()
        .filter(|(free, _)| *free > 0)
        .map(|(free, side)| format!("{} {side} it", notice_in_words(*free)))
        .collect();
    match sides.is_empty() {
        true => "The time is too close to another appointment.".to_owned(),
        false => format!("An appointment needs free time: {}.", sides.join(" and ")),
    }
}

fn not_eligible(rules: &VisitRules, patient: Option<PatientFacts>) -> String {
    match (patient, rules.age_min, rules.age_max) {
        (Some(PatientFacts { is_new: true, .. }), ..) if !rules.new_patients => {
            "Only patients of the practice can book this appointment themselves.".to_owned()
        }
        (Some(PatientFacts { is_new: false, .. }), ..) if !rules.known_patients => {
            "Only new patients can book this appointment themselves.".to_owned()
        }
        (_, Some(least), Some(most)) => format!("The appointment is for patients aged {least} to {most}."),
        (_, Some(least), None) => format!("The appointment is for patients aged {least} or older."),
        (_, None, Some(most)) => format!("The appointment is for patients aged {most} or younger."),
        (_, None, None) => "The patient cannot book this appointment online.".to_owned(),
    }
}

fn counted_days(days: u16) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_name_the_limit_of_the_rule() {
        let rules = VisitRules {
            minimum_notice: 90 * MINUTE,
            minimum_notice_days: 1,
            cutoff: Some(16 * 60),
            horizon_days: 60,
            buffer_after: 10 * MINUTE,
            align: Some(15),
            new_patients: false,
            age_min: Some(18),
            ..VisitRules::default()
        };
        let patient = |is_new| Some(PatientFacts { is_new, date_of_birth: None });
        let text = |reason| detail(reason, &rules, patient(true));
        let notice = "Appointments must be booked at least 1 day ahead, and 90 minutes before they start.";
        assert_eq!(text(Reason::TooSoon), notice);
        assert_eq!(text(Reason::AfterCutoff), "Booking for this day closed at 16:00.");
        assert_eq!(text(Reason::BeyondHorizon), "Appointments can be booked at most 60 days ahead.");
        assert_eq!(text(Reason::Buffer), "An appointment needs free time: 10 minutes after it.");
        assert_eq!(text(Reason::NotAligned), "Appointments start every 15 minutes from the full hour.");
        let known_only = "Only patients of the practice can book this appointment themselves.";
        assert_eq!(text(Reason::PatientNotEligible), known_only);
        let of_age = detail(Reason::PatientNotEligible, &rules, patient(false));
        assert_eq!(of_age, "The appointment is for patients aged 18 or older.");
    }

    #[test]
    fn every_reason_ends_a_sentence() {
        for reason in Reason::ALL {
            assert!(detail(*reason, &VisitRules::default(), None).ends_with('.'), "{reason}");
            assert!(!predicate(*reason).ends_with('.'), "{reason}");
        }
    }
}
