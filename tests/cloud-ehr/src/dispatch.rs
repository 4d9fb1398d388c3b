//! Routing: a page or a call answers a request, unless the session has ended or a test injects a fault.

use crate::{
    FormRefusal, SessionOver,
    application::Application,
    calls,
    faults::InjectedFault,
    pages,
    web::{WebRequest, WebResponse},
};

/// The outcome of a request.
pub enum DispatchReply {
    Answered(WebResponse),
    /// The connection breaks.
    Lost,
    Late(WebResponse, std::time::Duration),
}

pub fn handle(application: &mut Application, now: i64, asked: &WebRequest) -> DispatchReply {
    if !asked.is_call() {
        application.counts.pages += 1;
        return DispatchReply::Answered(pages::handle(application, now, asked));
    }
    let probe = calls::is_probe(asked);
    match probe {
        true => application.counts.probes += 1,
        false if asked.changes() => application.counts.writes += 1,
        false => application.counts.reads += 1,
    }
    let fault = if probe { None } else { application.fault_plan.next(asked.changes()) };
    match fault {
        None => DispatchReply::Answered(called(application, now, asked)),
        Some(fault) => answer_with_fault(application, now, asked, fault),
    }
}

fn answer_with_fault(
    application: &mut Application,
    now: i64,
    asked: &WebRequest,
    fault: InjectedFault,
) -> DispatchReply {
    match fault {
        InjectedFault::LoseRequest => DispatchReply::Lost,
        InjectedFault::Redirect(to) => {
            DispatchReply::Answered(WebResponse { status: 302, headers: vec![("location", to)], body: Vec::new() })
        }
        InjectedFault::Answer(status, media_type, body) => {
            DispatchReply::Answered(WebResponse::new(status, media_type, body))
        }
        InjectedFault::SessionEnds => {
            application.sessions.expire_all();
            DispatchReply::Answered(called(application, now, asked))
        }
        InjectedFault::LoseReply => {
            called(application, now, asked);
            DispatchReply::Lost
        }
        InjectedFault::LoginPage => {
            called(application, now, asked);
            application.sessions.expire_all();
            DispatchReply::Answered(over(application, asked))
        }
        InjectedFault::Slow(time) => DispatchReply::Late(called(application, now, asked), time),
        InjectedFault::Huge(bytes) => {
            let mut answer = called(application, now, asked);
            // Whitespace keeps the JSON equal.
            answer.body.extend(std::iter::repeat_n(b' ', bytes));
            DispatchReply::Answered(answer)
        }
    }
}

fn called(application: &mut Application, now: i64, asked: &WebRequest) -> WebResponse {
    calls::handle(application, now, asked).unwrap_or_else(|| over(application, asked))
}

/// Returns the answer to a call without a session.
fn over(application: &mut Application, asked: &WebRequest) -> WebResponse {
    application.counts.logged_out += 1;
    match application.session_over {
        SessionOver::LoginPage => pages::login(application, asked, None),
        SessionOver::Unauthorized => {
            let refusal = FormRefusal::new(401, "logged_out", "Please log in again.");
            calls::refused(application.markup, &refusal)
        }
        SessionOver::Redirect => {
            WebResponse { status: 302, headers: vec![("location", pages::LOGIN.to_owned())], body: Vec::new() }
        }
    }
}
