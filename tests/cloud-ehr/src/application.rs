//! The application between sockets and books: it knows who is logged in, counts, spoils what it is told to, and hands on to pages or calls.

use crate::{
    Markup, Practice, SessionOver, Settings, User,
    asked::{Answer, Asked},
    calls, pages,
    quota::Quota,
    seed,
    sessions::{self, Ended, Session, Sessions},
    spoil::{Spoiling, Trouble},
};

pub const COOKIE: &str = "ehr_session";

/// Requests so far, by what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub pages: usize,
    /// Calls that ask who is logged in.
    pub probes: usize,
    /// Other calls that read.
    pub reads: usize,
    pub writes: usize,
    /// Calls without a session.
    pub logged_out: usize,
    /// Calls beyond the quota.
    pub throttled: usize,
    /// Log-ins.
    pub logins: usize,
}

pub struct Application {
    pub practice: Practice,
    pub sessions: Sessions,
    pub users: Vec<User>,
    pub quota: Quota,
    pub spoiling: Spoiling,
    pub counts: Counts,
    pub markup: Markup,
    pub session_over: SessionOver,
    /// Of these books: marks of others mean nothing here.
    pub epoch: String,
}

/// What becomes of a request.
pub enum Reply {
    Answered(Answer),
    /// The connection breaks.
    Lost,
    Late(Answer, std::time::Duration),
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub user: User,
    pub csrf: String,
}

impl Application {
    pub fn new(settings: &Settings) -> Application {
        let now = settings.seeded_at.unwrap_or_else(|| (settings.clock)());
        let mut practice = Practice::new(&settings.practice, settings.zone);
        seed::fill(&mut practice, now);
        Application {
            practice,
            sessions: Sessions::new(settings.idle_seconds),
            users: settings.users.clone(),
            quota: Quota::new(settings.calls_per_minute),
            spoiling: Spoiling::default(),
            counts: Counts::default(),
            markup: settings.markup,
            session_over: settings.session_over,
            epoch: sessions::random(),
        }
    }

    pub fn handle(&mut self, now: i64, asked: &Asked) -> Reply {
        if !asked.is_call() {
            self.counts.pages += 1;
            return Reply::Answered(pages::handle(self, now, asked));
        }
        let probe = calls::is_probe(asked);
        match probe {
            true => self.counts.probes += 1,
            false if asked.changes() => self.counts.writes += 1,
            false => self.counts.reads += 1,
        }
        let trouble = if probe { None } else { self.spoiling.next(asked.changes()) };
        match trouble {
            None => Reply::Answered(calls::handle(self, now, asked)),
            Some(trouble) => self.spoilt(now, asked, trouble),
        }
    }

    fn spoilt(&mut self, now: i64, asked: &Asked, trouble: Trouble) -> Reply {
        match trouble {
            Trouble::LoseRequest => Reply::Lost,
            Trouble::Redirect(to) => {
                Reply::Answered(Answer { status: 302, headers: vec![("location", to)], body: Vec::new() })
            }
            Trouble::Answer(status, media_type, body) => Reply::Answered(Answer::new(status, media_type, body)),
            Trouble::SessionEnds => {
                self.sessions.expire_all();
                Reply::Answered(calls::handle(self, now, asked))
            }
            Trouble::LoseReply => {
                calls::handle(self, now, asked);
                Reply::Lost
            }
            Trouble::LoginPage => {
                calls::handle(self, now, asked);
                self.sessions.expire_all();
                Reply::Answered(self.over(asked))
            }
            Trouble::Slow(time) => Reply::Late(calls::handle(self, now, asked), time),
            Trouble::Huge(bytes) => {
                let mut answer = calls::handle(self, now, asked);
                // White space: it would still be the same JSON.
                answer.body.extend(std::iter::repeat_n(b' ', bytes));
                Reply::Answered(answer)
            }
        }
    }

    /// Who asks, where the session is still open. `active`: this counts as activity.
    pub fn visitor(&mut self, now: i64, asked: &Asked, active: bool) -> Option<Visitor> {
        let Session { user, csrf, .. } = self.sessions.find(asked.cookie(COOKIE)?, now, active)?.clone();
        let user = self.users.iter().find(|held| held.name == user)?.clone();
        Some(Visitor { user, csrf })
    }

    /// Why the one who asks is not logged in any more.
    pub fn ended(&self, asked: &Asked) -> Option<Ended> {
        self.sessions.why(asked.cookie(COOKIE)?)
    }

    /// The answer to a call without session.
    pub fn over(&mut self, asked: &Asked) -> Answer {
        self.counts.logged_out += 1;
        match self.session_over {
            SessionOver::LoginPage => pages::login(self, asked, None),
            SessionOver::Unauthorized => {
                let refusal = crate::Refusal::new(401, "logged_out", "Please log in again.");
                calls::refused(self.markup, &refusal)
            }
            SessionOver::Redirect => {
                Answer { status: 302, headers: vec![("location", pages::LOGIN.to_owned())], body: Vec::new() }
            }
        }
    }
}
