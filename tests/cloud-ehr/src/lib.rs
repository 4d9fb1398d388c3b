//! A fictitious cloud EHR without an API: a web application that staff log in to. It runs in memory on loopback, for
//! the demo and for tests, and imitates no vendor's product.
//!
//! [`CloudEhr::start`] serves it. Its methods let a test read and change records, end sessions and inject faults;
//! nothing of this is reachable over HTTP.
//!
//! Each call requires a session, which is unique per user and ends when idle. A change also requires the session's
//! CSRF token and the current markup version. Appointments in an operatory must not overlap. Calls after the end of a
//! session return the login page with status 200. Writes are not idempotent: a repeated write creates another record
//! unless it conflicts.

mod application;
mod calls;
mod dispatch;
mod faults;
pub mod markup;
mod pages;
mod practice;
pub mod quota;
mod records;
mod refusal;
pub mod seed;
mod server;
pub mod sessions;
mod settings;
mod table;
mod web;

pub use application::RequestCounts;
pub use faults::{CallSelector, InjectedFault};
pub use markup::Markup;
pub use practice::CloudPractice;
pub use records::{
    AppointmentStatus, CloudAppointment, CloudAppointmentType, CloudPatient, Hours, Operatory, Provider,
};
pub use refusal::FormRefusal;
pub use server::{CloudEhr, PracticeGuard};
pub use sessions::SessionOver;
pub use settings::{CloudEhrSettings, UnixClock, User};
