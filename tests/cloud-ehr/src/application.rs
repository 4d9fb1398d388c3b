//! State of the application: the practice's records, sessions, faults and request counts.

use crate::{
    CloudEhrSettings, CloudPractice, Markup, SessionOver, User,
    faults::FaultPlan,
    quota::Quota,
    seed,
    sessions::{self, Ended, LoginSession, Sessions},
    web::WebRequest,
};

pub const COOKIE: &str = "ehr_session";

/// Number of requests by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    pub pages: usize,
    /// Calls that check the session.
    pub probes: usize,
    /// Other calls that read.
    pub reads: usize,
    pub writes: usize,
    /// Calls without a session.
    pub logged_out: usize,
    /// Calls beyond the quota.
    pub throttled: usize,
    /// Logins.
    pub logins: usize,
}

pub struct Application {
    pub practice: CloudPractice,
    pub sessions: Sessions,
    pub users: Vec<User>,
    pub quota: Quota,
    pub fault_plan: FaultPlan,
    pub counts: RequestCounts,
    pub markup: Markup,
    pub session_over: SessionOver,
    /// Identifies these records. Marks with another epoch are rejected.
    pub epoch: String,
}

/// The logged-in user of a request.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub user: User,
    pub csrf: String,
}

impl Application {
    pub fn new(settings: &CloudEhrSettings) -> Application {
        let now = settings.seeded_at.unwrap_or_else(|| (settings.clock)());
        let mut practice = CloudPractice::new(&settings.practice, settings.zone);
        seed::fill(&mut practice, now);
        Application {
            practice,
            sessions: Sessions::new(settings.idle_seconds),
            users: settings.users.clone(),
            quota: Quota::new(settings.calls_per_minute),
            fault_plan: FaultPlan::default(),
            counts: RequestCounts::default(),
            markup: settings.markup,
            session_over: settings.session_over,
            epoch: sessions::random(),
        }
    }

    /// Returns the user of an open session. `active`: the request counts as activity.
    pub fn visitor(&mut self, now: i64, asked: &WebRequest, active: bool) -> Option<Visitor> {
        let LoginSession { user, csrf, .. } = self.sessions.find(asked.cookie(COOKIE)?, now, active)?.clone();
        let user = self.users.iter().find(|held| held.name == user)?.clone();
        Some(Visitor { user, csrf })
    }

    /// Returns the reason why the request's session ended.
    pub fn ended(&self, asked: &WebRequest) -> Option<Ended> {
        self.sessions.why(asked.cookie(COOKIE)?)
    }
}
