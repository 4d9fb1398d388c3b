//! A fake of Open Dental's REST API, written from its public documentation and never compared with a real Open
//! Dental. It implements the documented rows, checks, formats, caps and throttle. Unknown fields of a body are
//! refused. Unknown parameters of a list are ignored and recorded, as clients of real offices have observed, except
//! for the list of patients. It sends API events to subscribers (`events.rs`). Its test API seeds and reads rows, acts
//! as staff, and injects faults.

mod database;
mod events;
mod faults;
mod routes;
mod rules;
mod seed;
mod table;
mod tables;
mod verbs;

use std::io;

use crate::harness::ehr_server::fake::{FakeRequest, FakeServer, Respond, Response};

pub use database::Database;
pub use faults::{Fate, Switches};
use parking_lot::MutexGuard;
pub use seed::{MORE_THAN_A_PAGE, Seeded};
pub use table::OpenDentalRow;

/// The path of the API below the server.
pub const BASE: &str = "/api/v1";

/// A server on loopback. Its rows live as long as this value.
pub type OpenDentalServer = FakeServer<Database>;

impl OpenDentalServer {
    /// Starts a server, and a workstation that sends API events. Must be called within an actix system.
    pub fn start(database: Database) -> io::Result<OpenDentalServer> {
        let server = FakeServer::serving(database)?;
        actix_rt::spawn(events::send(server.weak_state()));
        Ok(server)
    }

    /// Returns the database, to read rows, act as staff and inject faults.
    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.state()
    }
}

impl Respond for Database {
    fn respond(&mut self, request: FakeRequest) -> Response {
        self.handle(&request)
    }
}
