//! The pages people see, made by the server.

mod login;
mod patients;
mod schedule;

use crate::{
    application::{Application, COOKIE, Visitor},
    asked::{Answer, Asked},
};

pub use login::page as login;

pub const LOGIN: &str = "/app/login";
const HOME: &str = "/app/schedule";
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("app.js");

pub fn handle(application: &mut Application, now: i64, asked: &Asked) -> Answer {
    let method = asked.method.as_str();
    match (method, asked.path.as_str()) {
        ("GET", "/app/assets/style.css") => return Answer::new(200, "text/css; charset=utf-8", STYLE),
        ("GET", "/app/assets/app.js") => return Answer::new(200, "text/javascript; charset=utf-8", SCRIPT),
        ("POST", LOGIN) => return login::enter(application, now, asked),
        _ => (),
    }
    let Some(visitor) = application.visitor(now, asked, true) else {
        return match (method, asked.path.as_str()) {
            ("GET", LOGIN) => login(application, asked, None),
            _ => Answer::go(LOGIN),
        };
    };
    match (method, asked.path.as_str()) {
        ("GET", HOME) => schedule::page(application, &visitor, now, asked),
        ("GET", "/app/patients") => patients::page(application, &visitor, asked),
        ("POST", "/app/logout") => log_out(application, &visitor, asked),
        ("GET", "/" | "/app" | "/app/" | LOGIN) => Answer::go(HOME),
        _ => {
            let main = "<main><div class=\"panel\"><h1>Nothing here</h1><p>This page does not exist.</p></div></main>";
            Answer::html(404, framed(application, &visitor, "Not found", "", main))
        }
    }
}

fn log_out(application: &mut Application, visitor: &Visitor, asked: &Asked) -> Answer {
    if asked.form("csrf").as_deref() != Some(visitor.csrf.as_str()) {
        return Answer::go(HOME);
    }
    if let Some(token) = asked.cookie(COOKIE) {
        application.sessions.log_out(token);
    }
    Answer::go(LOGIN).header("set-cookie", format!("{COOKIE}=; Path=/app; HttpOnly; SameSite=Lax; Max-Age=0"))
}

/// A page with its head and the bar on top.
fn framed(application: &Application, visitor: &Visitor, title: &str, here: &str, main: &str) -> String {
    let practice = escaped(&application.practice.name);
    let links = [("schedule", HOME, "Schedule"), ("patients", "/app/patients", "Patients")].map(|(name, to, label)| {
        let current = if name == here { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{to}\"{current}>{label}</a>")
    });
    let bar = format!(
        "<header class=\"bar\"><span class=\"brand\"><span class=\"mark\" aria-hidden=\"true\"></span>Demo Cloud EHR</span>\
         <nav>{}</nav><span class=\"practice\">{practice}</span><span class=\"user\" data-user>{}</span>\
         <form method=\"post\" action=\"/app/logout\"><input type=\"hidden\" name=\"csrf\" value=\"{}\">\
         <button class=\"quiet\">Log out</button></form></header>",
        links.concat(),
        escaped(&visitor.user.display_name),
        visitor.csrf,
    );
    document(application, title, here, &visitor.csrf, &format!("{bar}{main}"))
}

fn document(application: &Application, title: &str, page: &str, csrf: &str, body: &str) -> String {
    let markup = application.markup.word();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title} · {practice}</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/app/assets/style.css\">\
         <script src=\"/app/assets/app.js\" defer></script></head>\
         <body data-markup=\"{markup}\" data-page=\"{page}\" data-csrf=\"{csrf}\">{body}</body></html>\n",
        title = escaped(title),
        practice = escaped(&application.practice.name),
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
