//! Faults for the EHR's refusals.

use adapter_sdk::{
    Fault,
    http::{Response, fault_of_status, retry_after},
    redact,
};

use crate::responses::ErrorBody;

/// Maps a response outside 200 to 299 to a fault. `reads`: the request changed nothing.
pub fn from_response(answer: &Response, reads: bool) -> Fault {
    match answer.status {
        // The EHR responds with 503 before it handles a request.
        501 => Fault::unsupported("the EHR has no such write"),
        503 => Fault::retry_later("the EHR is closed for maintenance", retry_after(answer)),
        400 | 404 | 409 | 422 => Fault::rejected(reason(answer)),
        _ => fault_of_status(answer, reads),
    }
}

pub fn code(answer: &Response) -> Option<String> {
    answer.json::<ErrorBody>().ok().map(|refusal| refusal.error)
}

const REFUSALS: [(&str, &str); 18] = [
    ("slot_taken", "the operatory is occupied at that time"),
    ("stale", "the record was changed in the EHR since it was read"),
    ("cancelled", "the appointment is cancelled in the EHR"),
    ("duplicate_patient", "the EHR has a patient with this name and date of birth"),
    ("new_patients_refused", "the practice takes no new patients"),
    ("missing_field", "the EHR needs a field that is not given"),
    ("not_found", "the EHR has no such record"),
    ("unknown_patient", "the EHR has no such patient"),
    ("unknown_provider", "the EHR has no such provider"),
    ("unknown_operatory", "the location has no such operatory"),
    ("unknown_type", "the EHR has no such appointment type"),
    ("unknown_reference", "it refers to a record the EHR does not have"),
    ("inactive_payment_type", "the payment type is not in use any more"),
    ("inactive_adjustment_type", "the adjustment type is not in use any more"),
    ("name_too_long", "the name is longer than the EHR takes"),
    ("bad_amount", "the EHR does not take this amount"),
    ("rehearsal", "the simulated EHR refuses what is written for a patient of this name"),
    ("in_the_past", "the appointment is over already"),
];

/// Returns our sentence for the EHR's code if known, else the code. The `message` may name the patient and is never
/// passed on.
fn reason(answer: &Response) -> String {
    let Some(code) = code(answer) else { return format!("the EHR answered {}", answer.status) };
    redact::refusal(&code, &REFUSALS)
}
