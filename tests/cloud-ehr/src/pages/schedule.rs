//! The schedule of a day, with a column for each operatory.

use std::fmt::Write;

use chrono::{Days, NaiveDate, TimeZone};

use super::frame::{escaped, framed};
use crate::{
    AppointmentStatus, CloudAppointment, CloudPractice, Operatory,
    application::{Application, Visitor},
    calls::span,
    markup::Markup,
    web::{WebRequest, WebResponse},
};

/// Hours shown on the page. Appointments outside extend them.
const FROM: i64 = 8;
const TO: i64 = 18;
const PIXELS_OF_HALF_HOUR: i64 = 44;
const HALF_HOUR: i64 = 1_800;

pub fn page(application: &Application, visitor: &Visitor, now: i64, asked: &WebRequest) -> WebResponse {
    let practice = &application.practice;
    let today = practice.local(now).date_naive();
    let day = asked.parameter("day").and_then(|day| NaiveDate::parse_from_str(&day, "%Y-%m-%d").ok()).unwrap_or(today);
    let Ok((begins, ends)) = span(practice, &day.to_string()) else {
        return WebResponse::html(404, framed(application, visitor, "Schedule", "schedule", "<main></main>"));
    };
    let mut of_day = practice.appointments();
    of_day.retain(|a| a.start < ends && begins < a.end && !a.status.is_off());
    let window = Window::new(practice, day, &of_day);
    let columns: String = practice
        .operatories()
        .iter()
        .filter(|chair| !chair.closed)
        .map(|chair| column(practice, application.markup, &window, chair, &of_day))
        .collect();
    let link = |day: Option<NaiveDate>, label: &str, name: &str| {
        day.map_or_else(String::new, |day| {
            format!("<a class=\"button\" href=\"/app/schedule?day={day}\" aria-label=\"{name}\">{label}</a>")
        })
    };
    let main = format!(
        "<main><div class=\"toolbar\">{}{}{}<h1>{}</h1><span class=\"count\">{} visits</span></div>\
         <section id=\"{}\" class=\"day\" data-day=\"{day}\"><div class=\"hours\">{}</div>{columns}</section>{}</main>",
        link(day.checked_sub_days(Days::new(1)), "‹", "The day before"),
        link(Some(today), "Today", "Today"),
        link(day.checked_add_days(Days::new(1)), "›", "The day after"),
        day.format("%A, %B %-d, %Y"),
        of_day.iter().filter(|a| !a.block).count(),
        application.markup.element("schedule"),
        window.labels(practice),
        dialog(practice),
    );
    WebResponse::html(200, framed(application, visitor, "Schedule", "schedule", &main))
}

/// The part of the day that is shown.
struct Window {
    from: i64,
    to: i64,
}

impl Window {
    fn new(practice: &CloudPractice, day: NaiveDate, appointments: &[CloudAppointment]) -> Window {
        let at = |hour: i64| {
            let midday = practice.zone.from_local_datetime(&day.and_hms_opt(12, 0, 0)?).earliest()?;
            Some(midday.timestamp() + (hour - 12) * 3_600)
        };
        let (from, to) = (at(FROM).unwrap_or_default(), at(TO).unwrap_or_default());
        let round = |at: i64| at - at.rem_euclid(HALF_HOUR);
        Window {
            from: appointments.iter().map(|a| round(a.start)).fold(from, i64::min),
            to: appointments.iter().map(|a| round(a.end + HALF_HOUR - 1)).fold(to, i64::max),
        }
    }

    fn halves(&self) -> impl Iterator<Item = i64> {
        let from = self.from;
        (0..(self.to - self.from) / HALF_HOUR).map(move |n| from + n * HALF_HOUR)
    }

    /// Returns the pixels from the top.
    fn y(&self, at: i64) -> i64 {
        (at.clamp(self.from, self.to) - self.from) * PIXELS_OF_HALF_HOUR / HALF_HOUR
    }

    fn labels(&self, practice: &CloudPractice) -> String {
        let full = self.halves().filter(|at| at % 3_600 == 0);
        full.map(|at| format!("<span style=\"top:{}px\">{}</span>", self.y(at), practice.clock_time(at))).collect()
    }
}

fn column(
    practice: &CloudPractice,
    markup: Markup,
    window: &Window,
    chair: &Operatory,
    of_day: &[CloudAppointment],
) -> String {
    let mut html = format!(
        "<div class=\"chair\"><h2>{}</h2><div class=\"track\" style=\"height:{}px\">",
        escaped(&chair.name),
        window.y(window.to)
    );
    for at in window.halves() {
        let _ = write!(
            html,
            "<button class=\"free\" style=\"top:{}px;height:{PIXELS_OF_HALF_HOUR}px\" data-chair=\"{}\" data-at=\"{}\" \
             aria-label=\"New appointment at {}\"></button>",
            window.y(at),
            escaped(&chair.id),
            practice.local(at).to_rfc3339(),
            practice.clock_time(at),
        );
    }
    for a in of_day.iter().filter(|a| a.operatory == chair.id) {
        html.push_str(&entry(practice, markup, window, a));
    }
    html.push_str("</div></div>");
    html
}

fn entry(practice: &CloudPractice, markup: Markup, window: &Window, a: &CloudAppointment) -> String {
    let style = format!("top:{}px;height:{}px", window.y(a.start) + 1, window.y(a.end) - window.y(a.start) - 2);
    let times = format!("{} – {}", practice.clock_time(a.start), practice.clock_time(a.end));
    let note = a.note.as_deref().map(escaped).unwrap_or_default();
    if a.block {
        return format!("<div class=\"block\" style=\"{style}\"><b>{note}</b><span>{times}</span></div>");
    }
    let patient = a.patient.as_deref().and_then(|id| practice.patient(id)).map(|p| p.name()).unwrap_or_default();
    let kind = a.kind.as_deref().and_then(|id| practice.appointment_type(id)).map(|kind| kind.name.clone());
    let provider = a.provider.as_deref().and_then(|id| practice.provider(id)).map(|provider| provider.name());
    let details = [kind, provider].into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let online = if a.reference.is_some() { "<i class=\"online\">online</i>" } else { "" };
    let by_patient =
        if a.confirmed_by_patient && a.status == AppointmentStatus::Confirmed { " by patient" } else { "" };
    format!(
        "<button class=\"{} entry {status}\" style=\"{style}\" data-id=\"{}\" data-status=\"{status}\" data-note=\"{note}\">\
         <b>{}</b><span>{times} · {}</span><em>{status}{by_patient}</em>{online}</button>",
        markup.element("appt"),
        escaped(&a.id),
        escaped(&patient),
        escaped(&details),
        status = a.status.word(),
    )
}

/// Returns the dialogs for a new appointment and for an existing one.
fn dialog(practice: &CloudPractice) -> String {
    let option = |id: &str, label: &str, more: String| {
        format!("<option value=\"{}\"{more}>{}</option>", escaped(id), escaped(label))
    };
    let mut patients = practice.patients();
    patients.retain(|p| !p.inactive);
    patients.sort_by(|a, b| (&a.last_name, &a.first_name).cmp(&(&b.last_name, &b.first_name)));
    let name = |p: &crate::CloudPatient| format!("{}, {}", p.last_name, p.first_name);
    let patients: String = patients.iter().map(|p| option(&p.id, &name(p), String::new())).collect();
    let minutes = |minutes: u32| format!(" data-minutes=\"{minutes}\"");
    let types: String = practice.types().iter().map(|t| option(&t.id, &t.name, minutes(t.minutes))).collect();
    let providers: String = practice.providers().iter().map(|p| option(&p.id, &p.name(), String::new())).collect();
    format!(
        "<dialog id=\"new\"><form method=\"dialog\"><h2>New appointment</h2><p class=\"when\"></p>\
         <label>Patient<select name=\"patient\">{patients}</select></label>\
         <label>Type<select name=\"kind\">{types}</select></label>\
         <label>Provider<select name=\"provider\">{providers}</select></label>\
         <label>Note<input name=\"note\" maxlength=\"500\"></label><p class=\"problem\" role=\"alert\"></p>\
         <div class=\"actions\"><button value=\"close\" class=\"quiet\" type=\"button\">Close</button>\
         <button value=\"save\" type=\"button\">Save</button></div></form></dialog>\
         <dialog id=\"visit\"><form method=\"dialog\"><h2></h2><p class=\"when\"></p><p class=\"note\"></p>\
         <p class=\"problem\" role=\"alert\"></p><div class=\"actions\">\
         <button value=\"close\" class=\"quiet\" type=\"button\">Close</button>\
         <button data-to=\"cancelled\" class=\"quiet\" type=\"button\">Cancel visit</button>\
         <button data-to=\"confirmed\" type=\"button\">Confirm</button>\
         <button data-to=\"arrived\" type=\"button\">Check in</button></div></form></dialog>"
    )
}
