//! Sessions: one per user, ended by another login, by a logout, or when idle.

use std::collections::{BTreeMap, VecDeque};

/// Number of remembered tokens of ended sessions, needed to report the reason.
const REMEMBERED: usize = 200;

/// The answer to a call without a session. Pages always redirect to the login page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionOver {
    /// 200 with the login page in HTML.
    #[default]
    LoginPage,
    /// 401 with JSON.
    Unauthorized,
    /// 302 to the login page.
    Redirect,
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Idle,
    Elsewhere,
    LoggedOut,
}

#[derive(Clone, Debug)]
pub struct LoginSession {
    pub user: String,
    pub csrf: String,
    active_at: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Sessions {
    pub idle_seconds: i64,
    open: BTreeMap<String, LoginSession>,
    ended: VecDeque<(String, Ended)>,
}

impl Sessions {
    pub fn new(idle_seconds: i64) -> Sessions {
        Sessions { idle_seconds, ..Sessions::default() }
    }

    /// Returns the token of a new session; the user's other one ends.
    pub fn open(&mut self, user: &str, now: i64) -> String {
        self.end_where(Ended::Elsewhere, |session| session.user == user);
        let token = random();
        let session = LoginSession { user: user.to_owned(), csrf: random(), active_at: now };
        self.open.insert(token.clone(), session);
        token
    }

    /// Returns the session of a token. `active`: the request counts as activity.
    pub fn find(&mut self, token: &str, now: i64, active: bool) -> Option<&LoginSession> {
        let idle = self.idle_seconds;
        self.end_where(Ended::Idle, |session| now - session.active_at >= idle);
        let session = self.open.get_mut(token)?;
        if active {
            session.active_at = now;
        }
        Some(session)
    }

    pub fn log_out(&mut self, token: &str) {
        if self.open.remove(token).is_some() {
            self.remember(token.to_owned(), Ended::LoggedOut);
        }
    }

    pub fn expire_all(&mut self) {
        self.end_where(Ended::Idle, |_| true);
    }

    /// Replaces all CSRF tokens, so that those of open pages become invalid.
    pub fn renew_csrf(&mut self) {
        self.open.values_mut().for_each(|session| session.csrf = random());
    }

    pub fn why(&self, token: &str) -> Option<Ended> {
        self.ended.iter().find(|(held, _)| held == token).map(|(_, why)| *why)
    }

    pub fn users(&self) -> Vec<String> {
        self.open.values().map(|session| session.user.clone()).collect()
    }

    fn end_where(&mut self, why: Ended, fits: impl Fn(&LoginSession) -> bool) {
        let over: Vec<String> =
            self.open.iter().filter(|(_, session)| fits(session)).map(|(token, _)| token.clone()).collect();
        for token in over {
            self.open.remove(&token);
            self.remember(token, why);
        }
    }

    fn remember(&mut self, token: String, why: Ended) {
        self.ended.push_front((token, why));
        self.ended.truncate(REMEMBERED);
    }
}

/// Returns 128 random bits as hex.
pub fn random() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    hex::encode(bytes)
}
