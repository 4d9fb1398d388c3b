//! Routing: a page or a call answers a request, unless the session has ended or a test injects a fault.

use crate::{
    Refusal, SessionOver,
    application::Application,
    asked::{Answer, Request},
    calls, pages,
    spoil::Trouble,
};

/// The outcome of a request.
pub enum Reply {
    Answered(Answer),
    /// The connection breaks.
    Lost,
    Late(Answer, std::time::Duration),
}

pub fn handle(application: &mut Application, now: i64, asked: &Request) -> Reply {
    if !asked.is_call() {
        application.counts.pages += 1;
        return Reply::Answered(pages::handle(application, now, asked));
    }
    let probe = calls::is_probe(asked);
    match probe {
        true => application.counts.probes += 1,
        false if asked.changes() => application.counts.writes += 1,
        false => application.counts.reads += 1,
    }
    let trouble = if probe { None } else { application.spoiling.next(asked.changes()) };
    match trouble {
        None => Reply::Answered(called(application, now, asked)),
        Some(trouble) => spoilt(application, now, asked, trouble),
    }
}

fn spoilt(application: &mut Application, now: i64, asked: &Request, trouble: Trouble) -> Reply {
    match trouble {
        Trouble::LoseRequest => Reply::Lost,
        Trouble::Redirect(to) => {
            Reply::Answered(Answer { status: 302, headers: vec![("location", to)], body: Vec::new() })
        }
        Trouble::Answer(status, media_type, body) => Reply::Answered(Answer::new(status, media_type, body)),
        Trouble::SessionEnds => {
            application.sessions.expire_all();
            Reply::Answered(called(application, now, asked))
        }
        Trouble::LoseReply => {
            called(application, now, asked);
            Reply::Lost
        }
        Trouble::LoginPage => {
            called(application, now, asked);
            application.sessions.expire_all();
            Reply::Answered(over(application, asked))
        }
        Trouble::Slow(time) => Reply::Late(called(application, now, asked), time),
        Trouble::Huge(bytes) => {
            let mut answer = called(application, now, asked);
            // Whitespace keeps the JSON equal.
            answer.body.extend(std::iter::repeat_n(b' ', bytes));
            Reply::Answered(answer)
        }
    }
}

fn called(application: &mut Application, now: i64, asked: &Request) -> Answer {
    calls::handle(application, now, asked).unwrap_or_else(|| over(application, asked))
}

/// Returns the answer to a call without a session.
fn over(application: &mut Application, asked: &Request) -> Answer {
    application.counts.logged_out += 1;
    match application.session_over {
        SessionOver::LoginPage => pages::login(application, asked, None),
        SessionOver::Unauthorized => {
            let refusal = Refusal::new(401, "logged_out", "Please log in again.");
            calls::refused(application.markup, &refusal)
        }
        SessionOver::Redirect => {
            Answer { status: 302, headers: vec![("location", pages::LOGIN.to_owned())], body: Vec::new() }
        }
    }
}
