//! A fake of Open Dental's REST API, written from its public documentation: nobody here has met a real Open Dental. It keeps the rows, the
//! documented checks, formats, caps and throttle, and is stricter than the documentation where it says nothing: fields it does not know are
//! refused. Its own test API seeds rows, looks at them, acts as staff, and breaks things.

mod faults;
mod office;
mod routes;
mod rules;
mod seed;
mod tables;
mod verbs;

use std::{io, sync::MutexGuard};

use crate::loopback::{Answered, Answers, Asked, Loopback};

pub use faults::{Fate, Switches};
pub use office::{Office, Row};
pub use seed::Seeded;

/// The path of the API below the server.
pub const BASE: &str = "/api/v1";

/// A server on loopback. Its rows live as long as this value.
pub type OpenDentalServer = Loopback<Office>;

impl OpenDentalServer {
    /// Must be called within an actix system.
    pub fn start(office: Office) -> io::Result<OpenDentalServer> {
        Loopback::serving(office)
    }

    /// The office behind it, to be looked at, to act as staff, and to be made unpleasant.
    pub fn office(&self) -> MutexGuard<'_, Office> {
        self.held()
    }
}

impl Answers for Office {
    fn answer(&mut self, asked: Asked) -> Answered {
        self.handle(&asked)
    }
}
