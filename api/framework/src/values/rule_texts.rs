//! Sentences for booking rules that refuse a visit. They may be read to a patient.

use location::{DAY, HOUR, MINUTE, Millis, Reason, SECOND};

/// Returns the length of a notice in its largest whole unit, such as `24 hours`.
pub fn notice_in_words(notice: Millis) -> String {
    let units = [("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", SECOND)];
    // Notices are usually given in hours: a single day reads better as 24 hours.
    let fits = |(_, unit): &(&str, Millis)| notice % unit == 0 && (*unit < DAY || notice > DAY);
    let (unit, length) = units.into_iter().find(fits).unwrap_or(("second", SECOND));
    let count = notice.div_euclid(length);
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Returns the sentence for a rule that refused a visit.
pub fn refused_by(rule: Reason) -> &'static str {
    match rule {
        Reason::TooSoon => "The practice needs more notice for this visit; please choose a later time.",
        Reason::AfterCutoff => "That day can no longer be booked; please choose a later day.",
        Reason::BeyondHorizon => "The practice does not book that far ahead yet; please choose an earlier time.",
        Reason::Buffer => "That time is too close to another visit; please choose another time.",
        Reason::DailyCap => "The practice takes no more of these visits on that day; please choose another day.",
        Reason::Closed => "The practice is closed at that time; please choose another time.",
        Reason::NotAligned => "Visits do not start at that minute; please choose another time.",
        Reason::PatientNotEligible => "The practice does not book this visit for this patient this way.",
        Reason::Offered
        | Reason::ScheduleNotRead
        | Reason::ProviderInactive
        | Reason::NoWorkingHours
        | Reason::OutsideHours
        | Reason::TypeNotOfferedHere
        | Reason::TypeNotBookableOnline
        | Reason::OperatoryNotBookableOnline
        | Reason::Taken
        | Reason::Held
        | Reason::Blocked
        | Reason::TooShort => "This time cannot be booked; please choose another time.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_named_in_its_largest_whole_unit() {
        let words = [DAY, 2 * DAY, HOUR, 90 * MINUTE, 30 * SECOND].map(notice_in_words);
        assert_eq!(words, ["24 hours", "2 days", "1 hour", "90 minutes", "30 seconds"]);
    }
}
