//! The login page, which is also the answer to every call after the end of a session.

use super::frame::{HOME, document, escaped};
use crate::{
    application::{Application, COOKIE},
    sessions::Ended,
    web::{WebRequest, WebResponse},
};

pub fn page(application: &Application, asked: &WebRequest, problem: Option<&str>) -> WebResponse {
    let ended = match application.ended(asked) {
        Some(Ended::Idle) => Some("You were logged out because nothing was done for a while."),
        Some(Ended::Elsewhere) => Some("You logged in on another computer, which ended the session on this one."),
        Some(Ended::LoggedOut) | None => None,
    };
    let notice = match problem.or(ended) {
        Some(words) => format!("<p class=\"notice\" role=\"alert\">{words}</p>"),
        None => String::new(),
    };
    let body = format!(
        "<main class=\"door\"><form class=\"panel\" id=\"login\" method=\"post\" action=\"/app/login\">\
         <span class=\"brand\"><span class=\"mark\" aria-hidden=\"true\"></span>Demo Cloud EHR</span>\
         <h1>{}</h1>{notice}\
         <label>User name<input name=\"user\" autocomplete=\"username\" required autofocus></label>\
         <label>Password<input name=\"password\" type=\"password\" autocomplete=\"current-password\" required></label>\
         <button>Log in</button></form></main>",
        escaped(&application.practice.name)
    );
    WebResponse::html(200, document(application, "Log in", "login", "", &body))
}

pub fn enter(application: &mut Application, now: i64, asked: &WebRequest) -> WebResponse {
    let (name, password) = (asked.form("user").unwrap_or_default(), asked.form("password").unwrap_or_default());
    let known = application.users.iter().find(|user| user.name == name.trim() && user.password == password);
    let Some(user) = known.map(|user| user.name.clone()) else {
        let mut answer = page(application, asked, Some("This user name and password do not belong together."));
        answer.status = 401;
        return answer;
    };
    let token = application.sessions.open(&user, now);
    application.counts.logins += 1;
    WebResponse::go(HOME).header("set-cookie", format!("{COOKIE}={token}; Path=/app; HttpOnly; SameSite=Lax"))
}
