//! Settings of the application.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use chrono_tz::Tz;

use crate::{Markup, SessionOver};

/// Returns seconds since 1970.
pub type UnixClock = Arc<dyn Fn() -> i64 + Send + Sync>;

#[derive(Clone, Debug)]
pub struct User {
    pub name: String,
    pub password: String,
    /// The name shown on the pages.
    pub display_name: String,
}

impl User {
    pub fn new(name: &str, password: &str, display_name: &str) -> User {
        User { name: name.into(), password: password.into(), display_name: display_name.into() }
    }
}

#[derive(Clone)]
pub struct CloudEhrSettings {
    /// Port on loopback; 0 for any free one.
    pub port: u16,
    pub practice: String,
    pub users: Vec<User>,
    /// The practice's zone.
    pub zone: Tz,
    pub clock: UnixClock,
    /// The time for which the records are created; by default the clock's.
    pub seeded_at: Option<i64>,
    /// Seconds without activity after which a session ends.
    pub idle_seconds: i64,
    /// Maximum calls per user and minute.
    pub calls_per_minute: Option<u32>,
    pub markup: Markup,
    pub session_over: SessionOver,
}

impl Default for CloudEhrSettings {
    fn default() -> CloudEhrSettings {
        CloudEhrSettings {
            port: 0,
            practice: "Maple Street Dental".into(),
            users: vec![
                User::new("frontdesk", "maple-street", "Robin, front desk"),
                User::new("hygiene", "maple-street", "Kim, hygiene"),
            ],
            zone: chrono_tz::America::New_York,
            clock: Arc::new(system_clock),
            seeded_at: None,
            idle_seconds: 30 * 60,
            calls_per_minute: Some(600),
            markup: Markup::V3,
            session_over: SessionOver::LoginPage,
        }
    }
}

fn system_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
