//! What it means for the engine that the gate or the application says no, or nothing that can be understood.

use adapter_sdk::{
    Fault,
    http::{Error, Response, retry_after},
};

use crate::{
    markup::Markup,
    responses::{Told, Unreadable},
};

/// How long an unknown release is left alone: the vendor does not take it back in a minute.
const RELEASE: u32 = 900;
/// Where a full minute does not say when it ends.
const MINUTE: u32 = 60;

/// An answer with a status of 200 to 299, or the application's own no.
#[derive(Debug)]
pub enum Outcome {
    Told(Told),
    /// By the application's word for it.
    Refused(String),
}

/// There is no answer. `reads`: the request changes nothing.
pub fn of_error(error: Error, reads: bool) -> Fault {
    match error {
        // No workstation, or nobody logged in at one.
        Error::NotSent(_) => Fault::GateClosed,
        Error::NoAnswer(why) if reads => Fault::retry_later(why, None),
        Error::NoAnswer(why) => Fault::unknown(why),
        // The workstation also refuses a read that is led elsewhere, which says nothing about the next one.
        Error::Refused(why) if reads => Fault::retry_later(why, None),
        Error::Refused(why) => Fault::rejected(why),
    }
}

pub fn judged(answer: &Response, reads: bool) -> Result<Outcome, Fault> {
    let after = retry_after(answer);
    let reason = format!("the EHR answered {}", answer.status);
    match answer.status {
        200..=299 => Told::of(answer).map(Outcome::Told).map_err(|why| of_unreadable(why, reads)),
        // Whoever sends this did not act.
        401 => Err(Fault::GateClosed),
        408 | 425 => Err(Fault::retry_later(reason, after)),
        429 => Err(Fault::retry_later("the EHR bears no more calls in this minute", after.or(Some(MINUTE)))),
        503 if after.is_some() => Err(Fault::retry_later(reason, after)),
        300..=399 if reads && leads_to_login(answer) => Err(Fault::GateClosed),
        300..=399 | 500..=599 if reads => Err(Fault::retry_later(reason, after)),
        300..=399 | 500..=599 => Err(Fault::unknown(reason)),
        _ => match Told::of(answer).map(|told| told.refusal()) {
            Ok(Some(code)) => Ok(Outcome::Refused(code)),
            Err(Unreadable::LoginPage) => Err(of_unreadable(Unreadable::LoginPage, reads)),
            // Somebody in between, or a release that refuses in other words.
            Ok(None) | Err(_) => {
                Err(Fault::retry_later(format!("{reason}, in a way this adapter does not know"), after))
            }
        },
    }
}

/// Nothing proves that a change was not made before such an answer was.
pub fn of_unreadable(why: Unreadable, reads: bool) -> Fault {
    let reason = match why {
        Unreadable::LoginPage if reads => return Fault::GateClosed,
        Unreadable::LoginPage => "the EHR answered with its login page".to_owned(),
        Unreadable::Foreign => "the EHR's answer is not one of its web application".to_owned(),
        Unreadable::Release(word) => format!(
            "the EHR's web application is at markup {word}, and this adapter knows {}: it needs an update",
            Markup::KNOWN
        ),
        Unreadable::Lacking(lacking) => format!(
            "the EHR's web application says it is at markup {}, but `{}` ({}) is missing or different: this adapter needs an update",
            lacking.markup.word(),
            lacking.name,
            lacking.path
        ),
    };
    match reads {
        true if reason.ends_with("update") => Fault::retry_later(reason, Some(RELEASE)),
        true => Fault::retry_later(reason, None),
        false => Fault::unknown(reason),
    }
}

/// Refusals of a change that another attempt may escape: the page was valid a moment ago, and the next one will be.
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

/// The fault of a change the application refused. Its words may name a patient and are never passed on.
pub fn of_refusal(code: &str) -> Fault {
    let said = |all: &[(&str, &str)]| all.iter().find(|(known, _)| *known == code).map(|(_, why)| (*why).to_owned());
    match said(&PASSING) {
        Some(why) => Fault::retry_later(why, None),
        None => Fault::rejected(said(&REFUSALS).unwrap_or_else(|| format!("the EHR refuses it: {code}"))),
    }
}

pub const WRONG_KIND: &str = "a field of the EHR's answer is not of the kind it should be";

pub fn of_wrong_kind() -> Fault {
    Fault::retry_later(WRONG_KIND, None)
}

/// A look the application refused says nothing about what was looked for.
pub fn of_refused_read(code: &str) -> Fault {
    Fault::retry_later(format!("the EHR refuses to show it: {code}"), None)
}

fn leads_to_login(answer: &Response) -> bool {
    answer.header("location").is_some_and(|to| to.to_ascii_lowercase().contains("login"))
}
