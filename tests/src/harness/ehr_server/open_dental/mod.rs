//! A fake of Open Dental's REST API, written from its public documentation: it was never compared with a real Open
//! Dental. It keeps the documented rows, checks, formats, caps and throttle. Fields of a body that it does not know are
//! refused; parameters of a list that it does not know are ignored and noted, as clients of real offices have seen it,
//! but for the list of patients. Its own test API seeds rows, looks at them, acts as staff, and breaks things.

mod database;
mod faults;
mod routes;
mod rules;
mod seed;
mod table;
mod tables;
mod verbs;

use std::{io, sync::MutexGuard};

use crate::harness::ehr_server::fake::{FakeServer, Request, Respond, Response};

pub use database::Database;
pub use faults::{Fate, Switches};
pub use seed::Seeded;
pub use table::Row;

/// The path of the API below the server.
pub const BASE: &str = "/api/v1";

/// A server on loopback. Its rows live as long as this value.
pub type OpenDentalServer = FakeServer<Database>;

impl OpenDentalServer {
    /// Must be called within an actix system.
    pub fn start(database: Database) -> io::Result<OpenDentalServer> {
        FakeServer::serving(database)
    }

    /// Its rows, to be looked at, to act as staff, and to be made unpleasant.
    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.state()
    }
}

impl Respond for Database {
    fn respond(&mut self, request: Request) -> Response {
        self.handle(&request)
    }
}
