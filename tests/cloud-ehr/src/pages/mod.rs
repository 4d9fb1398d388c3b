//! The server-rendered pages.

mod frame;
mod login;
mod patients;
mod schedule;

use crate::{
    application::{Application, COOKIE, Visitor},
    web::{WebRequest, WebResponse},
};

pub use frame::LOGIN;
use frame::{HOME, framed};
pub use login::page as login;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("app.js");

pub fn handle(application: &mut Application, now: i64, asked: &WebRequest) -> WebResponse {
    let method = asked.method.as_str();
    match (method, asked.path.as_str()) {
        ("GET", "/app/assets/style.css") => return WebResponse::new(200, "text/css; charset=utf-8", STYLE),
        ("GET", "/app/assets/app.js") => return WebResponse::new(200, "text/javascript; charset=utf-8", SCRIPT),
        ("POST", LOGIN) => return login::enter(application, now, asked),
        _ => (),
    }
    let Some(visitor) = application.visitor(now, asked, true) else {
        return match (method, asked.path.as_str()) {
            ("GET", LOGIN) => login(application, asked, None),
            _ => WebResponse::go(LOGIN),
        };
    };
    match (method, asked.path.as_str()) {
        ("GET", HOME) => schedule::page(application, &visitor, now, asked),
        ("GET", "/app/patients") => patients::page(application, &visitor, asked),
        ("POST", "/app/logout") => log_out(application, &visitor, asked),
        ("GET", "/" | "/app" | "/app/" | LOGIN) => WebResponse::go(HOME),
        _ => {
            let main = "<main><div class=\"panel\"><h1>Nothing here</h1><p>This page does not exist.</p></div></main>";
            WebResponse::html(404, framed(application, &visitor, "Not found", "", main))
        }
    }
}

fn log_out(application: &mut Application, visitor: &Visitor, asked: &WebRequest) -> WebResponse {
    if asked.form("csrf").as_deref() != Some(visitor.csrf.as_str()) {
        return WebResponse::go(HOME);
    }
    if let Some(token) = asked.cookie(COOKIE) {
        application.sessions.log_out(token);
    }
    WebResponse::go(LOGIN).header("set-cookie", format!("{COOKIE}=; Path=/app; HttpOnly; SameSite=Lax; Max-Age=0"))
}
