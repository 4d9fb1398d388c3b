//! The bookings sent in benchmarks: the same shape for all servers, a new idempotency key each, and returning
//! patients.

use serde::{Deserialize, Serialize};

use crate::harness::http_client::api_request;

/// Number of distinct patients.
const PEOPLE: usize = 20_000;
/// Length of a slot token's digits.
const DIGITS: usize = 146;

/// The body of POST /intent/booking/book.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BookingBody {
    pub slot_token: String,
    pub idempotency_key: String,
    pub patient: Patient,
    pub note: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Patient {
    pub first_name: String,
    pub last_name: String,
    pub date_of_birth: String,
    pub phone_number: String,
    pub email: String,
}

pub fn booking(number: usize, slot_token: String) -> BookingBody {
    let person = number % PEOPLE;
    BookingBody {
        slot_token,
        idempotency_key: format!("bench-{number:08}-5f0c9c1e-7d0b"),
        patient: Patient {
            first_name: format!("Zoë{person}"),
            last_name: format!("Ångström{}", person / 10),
            date_of_birth: format!("{}-{:02}-{:02}", 1940 + person % 70, 1 + person % 12, 1 + person % 28),
            phone_number: format!("+1 555 {:07}", person),
            email: format!("patient{person}@mail.example"),
        },
        note: "first visit, prefers mornings".to_owned(),
    }
}

/// Returns the request with the location in the query.
pub fn request(booking: &BookingBody, query: &str, authorization: &str) -> Vec<u8> {
    let body = serde_json::to_vec(booking).expect("a booking has string keys");
    api_request("POST", &format!("/intent/booking/book?{query}"), authorization, &body)
}

/// A slot in the format of the comparison servers. Its token is as long as the product's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSlot {
    pub location: i32,
    pub operatory: i64,
    pub provider: i32,
    /// Seconds since 1970.
    pub start: i64,
    pub end: i64,
}

impl PlainSlot {
    pub fn token(self) -> String {
        let PlainSlot { location, operatory, provider, start, end } = self;
        format!("slt_{:0<DIGITS$}", format!("{location:08x}{operatory:016x}{provider:08x}{start:016x}{end:016x}"))
    }

    pub fn parse(token: &str) -> Option<PlainSlot> {
        let digits = token.strip_prefix("slt_").filter(|digits| digits.len() == DIGITS)?;
        let number = |from: usize, to: usize| i64::from_str_radix(digits.get(from..to)?, 16).ok();
        Some(PlainSlot {
            location: i32::try_from(number(0, 8)?).ok()?,
            operatory: number(8, 24)?,
            provider: i32::try_from(number(24, 32)?).ok()?,
            start: number(32, 48)?,
            end: number(48, 64)?,
        })
    }
}
