//! A cloud EHR as practices have them: a web application that staff log in to, and no API. It runs in memory on loopback, for the demo and for
//! tests. Everything here is made up; no vendor's product looks or answers like this.
//!
//! [`CloudEhr::start`] serves it, and its methods are the hands and eyes of a test: what stands in the books, whose session ends when,
//! which reply is lost. Nothing of that can be reached over HTTP.
//!
//! What it is strict about: every call belongs to a session (one per user, ended when idle), every change needs the session's CSRF token and
//! the markup version it was made for, no operatory holds two visits at once. A session that is over is answered with the login page and
//! 200. It is not idempotent: what is sent twice is written twice, unless it collides.

mod application;
mod asked;
mod calls;
mod dispatch;
mod markup;
mod pages;
mod practice;
mod quota;
mod records;
mod refusal;
mod seed;
mod server;
mod sessions;
mod settings;
mod spoil;
mod table;

pub use application::Counts;
pub use markup::Markup;
pub use practice::Practice;
pub use records::{Appointment, AppointmentType, Hours, Operatory, Patient, Provider, Status};
pub use refusal::Refusal;
pub use server::{CloudEhr, PracticeGuard};
pub use sessions::SessionOver;
pub use settings::{Clock, Settings, User};
pub use spoil::{On, Trouble};
