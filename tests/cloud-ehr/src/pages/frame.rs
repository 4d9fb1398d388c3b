//! Common parts of all pages: the head, the top bar, and HTML escaping.

use crate::application::{Application, Visitor};

pub const LOGIN: &str = "/app/login";
pub const HOME: &str = "/app/schedule";

/// Returns a page with its head and the top bar.
pub fn framed(application: &Application, visitor: &Visitor, title: &str, here: &str, main: &str) -> String {
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

pub fn document(application: &Application, title: &str, page: &str, csrf: &str, body: &str) -> String {
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

pub fn escaped(text: &str) -> String {
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
