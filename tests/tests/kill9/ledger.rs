//! The clients' record of a run: their requests, the acknowledged visits, and the next action of a client.

use std::{collections::BTreeMap, io};

use chrono::DateTime;
use runtime::clock::random_u64;
use serde_json::{Value, json};
use tests::harness::{
    http_client::Caller,
    intents::{self, BOOK, CANCEL, CONFIRM, FIND, RESCHEDULE},
    process::{booking, path},
};

/// Number of distinct patients. Patients book repeatedly and at both locations concurrently.
const PEOPLE: u64 = 400;
/// Maximum number of visits in an answer of the find intent.
const VISITS_FOUND: usize = 10;

/// A request of a client, repeated unchanged until it is answered.
#[derive(Clone)]
pub struct Attempt {
    pub location: u32,
    pub key: String,
    pub work: Work,
    pub body: Value,
}

#[derive(Clone)]
pub enum Work {
    Book,
    BookGroup,
    /// The key of the visit to move.
    Reschedule(String),
    /// The key of the visit to confirm. The body is null until the visit token is known.
    Confirm(String),
    /// The key of the visit to cancel. The body is null until the visit token is known.
    Cancel(String),
}

impl Attempt {
    pub fn path(&self) -> String {
        let route = match self.work {
            Work::Book | Work::BookGroup => BOOK,
            Work::Reschedule(_) => RESCHEDULE,
            Work::Confirm(_) => CONFIRM,
            Work::Cancel(_) => CANCEL,
        };
        path(route, self.location)
    }
}

/// An acknowledged visit, in its last acknowledged state.
#[derive(Clone)]
pub struct Accepted {
    /// The booking request.
    pub attempt: Attempt,
    pub booking_ref: String,
    pub appointment_id: u64,
    pub patient: Value,
    /// Its note in the EHR.
    pub note: String,
    /// Start in seconds since 1970.
    pub start: i64,
    pub moved: bool,
    pub confirmed: bool,
    pub cancelled: bool,
    pub round: usize,
}

#[derive(Default)]
pub struct Ledger {
    pub slots: Vec<(u32, String)>,
    /// By key; the note of each member for groups.
    pub accepted: BTreeMap<String, Accepted>,
    /// Sent without an answer, to be repeated unchanged.
    pub open: Vec<Attempt>,
    /// Keys of visits that no client is changing.
    idle: Vec<String>,
    pub replayed_after_a_crash: usize,
}

impl Ledger {
    /// Returns the next request of a client; `None` if no slot is left.
    pub fn next(&mut self) -> Option<Attempt> {
        if let Some(open) = self.open.pop() {
            return Some(open);
        }
        let chosen = match random_u64() % 20 {
            0..4 => self.reschedule(),
            4..6 => self.book_group(),
            6..8 => self.cancel(),
            8..11 => self.confirm(),
            _ => None,
        };
        chosen.or_else(|| self.book())
    }

    fn book(&mut self) -> Option<Attempt> {
        let (location, token) = self.slots.pop()?;
        let key = format!("kill9-{}", self.slots.len());
        let body = booking(&token, &key, random_u64() % PEOPLE, &key);
        Some(Attempt { location, key, work: Work::Book, body })
    }

    fn book_group(&mut self) -> Option<Attempt> {
        let (location, first) = self.slots.pop()?;
        let mut tokens = vec![first];
        let size = 2 + random_u64() % 3;
        while (tokens.len() as u64) < size {
            tokens.push(self.slot_at(location)?);
        }
        let key = format!("kill9-{}", self.slots.len());
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let body = intents::group(&tokens, &key, random_u64() % PEOPLE);
        Some(Attempt { location, key, work: Work::BookGroup, body })
    }

    fn reschedule(&mut self) -> Option<Attempt> {
        let visit = self.take_idle()?;
        let Accepted { attempt, booking_ref, .. } = &self.accepted[&visit];
        let (location, booking_ref) = (attempt.location, booking_ref.clone());
        let token = self.slot_at(location)?;
        let key = format!("kill9-move-{}", self.slots.len());
        let body = intents::reschedule(&booking_ref, &token, &key);
        Some(Attempt { location, key, work: Work::Reschedule(visit), body })
    }

    fn cancel(&mut self) -> Option<Attempt> {
        let visit = self.take_idle()?;
        let location = self.accepted[&visit].attempt.location;
        Some(Attempt { location, key: format!("cancel {visit}"), work: Work::Cancel(visit), body: Value::Null })
    }

    fn confirm(&mut self) -> Option<Attempt> {
        let visit = self.take_idle()?;
        let location = self.accepted[&visit].attempt.location;
        Some(Attempt { location, key: format!("confirm {visit}"), work: Work::Confirm(visit), body: Value::Null })
    }

    fn take_idle(&mut self) -> Option<String> {
        let at = (random_u64() as usize).checked_rem(self.idle.len())?;
        Some(self.idle.swap_remove(at))
    }

    fn slot_at(&mut self, location: u32) -> Option<String> {
        let at = self.slots.iter().rposition(|(here, _)| *here == location)?;
        Some(self.slots.remove(at).1)
    }

    /// Gives up a confirmation or cancellation that was not sent.
    fn forget(&mut self, attempt: Attempt) {
        if let Work::Confirm(visit) | Work::Cancel(visit) = attempt.work {
            self.idle.push(visit);
        }
    }

    /// Records an answer with status 200.
    pub fn accept(&mut self, attempt: Attempt, answer: &Value, round: usize) {
        self.replayed_after_a_crash += usize::from(answer["replay"] == true);
        match &attempt.work {
            Work::Book => {
                let (key, patient) = (attempt.key.clone(), attempt.body["patient"].clone());
                self.add(&key, patient, attempt, &answer["booking"], round);
            }
            Work::BookGroup => {
                let (asked, made) = (members(&attempt.body).clone(), members(answer));
                assert_eq!(made.len(), asked.len(), "{}: a group is booked whole: {answer}", attempt.key);
                for (member, made) in asked.iter().zip(made) {
                    let note = member["note"].as_str().unwrap();
                    self.add(note, member["patient"].clone(), attempt.clone(), made, round);
                }
            }
            Work::Reschedule(visit) => {
                let it = self.accepted.get_mut(visit).unwrap();
                assert_eq!(answer["booking"]["booking_ref"], it.booking_ref.as_str(), "a visit keeps its reference");
                assert_eq!(answer["booking"]["appointment_id"], it.appointment_id, "a visit keeps its appointment");
                it.start = start(&answer["booking"]);
                it.moved = true;
                self.idle.push(visit.clone());
            }
            Work::Confirm(visit) => {
                let it = self.accepted.get_mut(visit).unwrap();
                assert_eq!(answer["booking"]["booking_ref"], it.booking_ref.as_str(), "{}: {answer}", attempt.key);
                assert!(answer["booking"]["patient_confirmed_at"].is_string(), "{}: {answer}", attempt.key);
                it.confirmed = true;
                self.idle.push(visit.clone());
            }
            Work::Cancel(visit) => {
                assert_eq!(answer["booking"]["booking_status"], "cancelled", "{}: {answer}", attempt.key);
                self.accepted.get_mut(visit).unwrap().cancelled = true;
            }
        }
    }

    fn add(&mut self, note: &str, patient: Value, attempt: Attempt, made: &Value, round: usize) {
        let accepted = Accepted {
            attempt,
            booking_ref: made["booking_ref"].as_str().unwrap().to_owned(),
            appointment_id: made["appointment_id"].as_u64().unwrap(),
            patient,
            note: note.to_owned(),
            start: start(made),
            moved: false,
            confirmed: false,
            cancelled: false,
            round,
        };
        let before = self.accepted.insert(note.to_owned(), accepted);
        assert!(before.is_none(), "a key was accepted twice");
        self.idle.push(note.to_owned());
    }

    /// Returns the request with the visit token if it needs one. Returns `None` if the visit is not among those found,
    /// if it cannot be confirmed, or if the attempts to find visits are limited: then the visit stays as it is.
    pub fn complete(&mut self, mut attempt: Attempt, found: Option<Value>) -> Option<Attempt> {
        if !attempt.needs_token() {
            return Some(attempt);
        }
        let is_confirmation = matches!(attempt.work, Work::Confirm(_));
        match found.filter(|visit| !is_confirmation || visit["can"]["confirm"] == true) {
            Some(visit) => {
                attempt.body = json!({"visit_token": visit["visit_token"]});
                if !is_confirmation {
                    attempt.body["reason"] = json!("feels better already");
                }
                Some(attempt)
            }
            None => {
                self.forget(attempt);
                None
            }
        }
    }

    /// Returns the visit that an attempt must find first.
    pub fn sought(&self, attempt: &Attempt) -> Option<Accepted> {
        match &attempt.work {
            Work::Confirm(visit) | Work::Cancel(visit) if attempt.needs_token() => Some(self.accepted[visit].clone()),
            _ => None,
        }
    }
}

impl Attempt {
    fn needs_token(&self) -> bool {
        matches!(self.work, Work::Confirm(_) | Work::Cancel(_)) && self.body.is_null()
    }
}

/// Returns a visit with its token, as the patient's data finds it. Returns `None` if the answer is refused or too
/// short.
pub async fn found_visit(caller: &mut Caller, it: &Accepted) -> io::Result<Option<Value>> {
    let (status, answer) = caller.post(&path(FIND, it.attempt.location), &intents::find(&it.patient)).await?;
    if status == 429 || status == 503 {
        return Ok(None);
    }
    assert_eq!(status, 200, "{answer}");
    let visits = answer["visits"].as_array().unwrap();
    let found = visits.iter().find(|visit| visit["booking_ref"] == it.booking_ref.as_str());
    if found.is_none() && visits.len() < VISITS_FOUND {
        let (_, status) = intents::status(caller, &it.booking_ref).await?;
        let born = it.patient["date_of_birth"].as_str().unwrap();
        let patients = format!("{}&date_of_birth={born}", path("/patients", it.attempt.location));
        let (_, patients) = caller.get(&patients).await?;
        panic!("{} is not found: {answer}\n{status}\n{patients}", it.booking_ref);
    }
    Ok(found.cloned())
}

/// Returns the bookings of a group's request or answer.
pub fn members(group: &Value) -> &Vec<Value> {
    group["bookings"].as_array().unwrap_or_else(|| panic!("no bookings: {group}"))
}

fn start(booking: &Value) -> i64 {
    DateTime::parse_from_rfc3339(booking["start_iso"].as_str().unwrap()).unwrap().timestamp()
}
