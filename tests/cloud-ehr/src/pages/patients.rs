//! The patients, and a search.

use super::frame::{escaped, framed};
use crate::{
    application::{Application, Visitor},
    calls::fits,
    web::{WebRequest, WebResponse},
};

/// Maximum number of rows.
const MOST: usize = 200;

pub fn page(application: &Application, visitor: &Visitor, asked: &WebRequest) -> WebResponse {
    let letters = asked.parameter("q").unwrap_or_default();
    let mut found = application.practice.patients();
    found.retain(|p| fits(p, &letters));
    found.sort_by(|a, b| (&a.last_name, &a.first_name).cmp(&(&b.last_name, &b.first_name)));
    let text = |text: &Option<String>| escaped(text.as_deref().unwrap_or("–"));
    let rows: String = found
        .iter()
        .take(MOST)
        .map(|p| {
            let state = if p.inactive { "<i class=\"tag\">inactive</i>" } else { "" };
            format!(
                "<tr data-id=\"{}\"><td><b>{}, {}</b>{state}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escaped(&p.id),
                escaped(&p.last_name),
                escaped(&p.first_name),
                text(&p.born),
                text(&p.mobile),
                text(&p.email),
                text(&p.chart),
            )
        })
        .collect();
    let main = format!(
        "<main><div class=\"toolbar\"><h1>Patients</h1><form class=\"search\" method=\"get\"><input name=\"q\" type=\"search\" \
         placeholder=\"Name, chart or telephone number\" aria-label=\"Search\" value=\"{}\"></form>\
         <span class=\"count\">{} patients</span></div><div class=\"panel flush\"><table id=\"{}\"><thead><tr><th>Name</th>\
         <th>Born</th><th>Mobile</th><th>E-mail</th><th>Chart</th></tr></thead><tbody>{rows}</tbody></table></div></main>",
        escaped(&letters),
        found.len(),
        application.markup.element("patients"),
    );
    WebResponse::html(200, framed(application, visitor, "Patients", "patients", &main))
}
