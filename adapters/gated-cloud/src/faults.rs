//! Faults for refusals and unreadable responses of the application.

use adapter_sdk::{Fault, redact};

/// Delay in seconds after an unknown release, which the vendor will not revert within a minute.
const RELEASE: u32 = 900;

/// The fault of an unknown release, or of one that differs from its declared format.
pub fn unknown_release(difference: String, reads: bool) -> Fault {
    let reason = format!("the EHR's web application {difference} needs an update");
    if reads { Fault::retry_later(reason, Some(RELEASE)) } else { Fault::unknown(reason) }
}

pub fn wrong_field_type(reads: bool) -> Fault {
    Fault::lost("a field of the EHR's answer is not of the kind it should be", reads)
}

/// Refusals that another attempt may avoid: the token or the page became invalid a moment ago.
const PASSING: [(&str, &str); 2] = [
    ("csrf", "the EHR does not take the token of its own session"),
    ("page_outdated", "the EHR's web application was updated meanwhile"),
];

const REFUSALS: [(&str, &str); 13] = [
    ("overlap", "the operatory is occupied at that time"),
    ("changed_meanwhile", "the appointment was changed in the EHR since it was read"),
    ("cancelled", "the appointment is cancelled in the EHR"),
    ("completed", "the visit is over in the EHR"),
    ("chart_taken", "the chart number belongs to another patient in the EHR"),
    ("not_found", "the EHR has no such record"),
    ("unknown_patient", "the EHR has no such patient"),
    ("unknown_provider", "the EHR has no such provider"),
    ("unknown_chair", "the EHR has no such operatory in use"),
    ("unknown_type", "the EHR has no such appointment type"),
    ("missing_field", "the EHR needs a field that is not given"),
    ("wrong_field", "the EHR does not take the value of a field"),
    ("too_long", "a text is longer than the EHR takes"),
];

/// Maps the refusal of a change to a fault. The application's message may name a patient and is never passed on.
pub fn from_refusal(code: String) -> Fault {
    match PASSING.iter().find(|(known, _)| *known == code) {
        Some((_, why)) => Fault::retry_later(*why, None),
        None => Fault::rejected(redact::refusal(&code, &REFUSALS)),
    }
}

/// Maps the refusal of a read to a fault. It proves nothing about the record.
pub fn from_refused_read(code: String) -> Fault {
    Fault::retry_later(format!("the EHR refuses to show it: {code}"), None)
}
