//! API answers in documents. Values that differ between runs are compared by form, and later steps may use them.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns of values that differ between runs, and their replacements.
static FORMS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let forms = [
        (r"\b(psk|slt|bkg|whsec)_[\w.+/=-]*", "${1}_VALUE"),
        (r"\beyJ[\w.-]*", "eyJVALUE"),
        (r#""(start|end)_cursor":"[^"]*""#, r#""${1}_cursor":"VALUE""#),
        (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "INSTANT"),
        (r"\b[A-Z][a-z]{2}, [A-Z][a-z]{2} \d{1,2} \d{4}, \d{1,2}:\d\d [AP]M [A-Z]{3}", "LOCAL"),
        (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
        (r#""(\w*id)":\d+"#, r#""$1":N"#),
        (r#""provider":"[^"]*""#, r#""provider":"NAME""#),
        (r#" with [^"]*? on LOCAL"#, " with NAME on LOCAL"),
    ];
    forms.map(|(pattern, form)| (Regex::new(pattern).unwrap(), form)).into()
});

/// Replaces run-specific values by their forms.
pub fn form(answer: &str) -> String {
    FORMS.iter().fold(answer.to_owned(), |text, (pattern, form)| pattern.replace_all(&text, *form).into_owned())
}

/// Fills placeholders such as `SLOT=slt_...` with the latest matching value from the output.
pub fn filled(step: &str, heard: &[String]) -> Result<String, String> {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^([A-Z]+)=([A-Za-z_]+)\.\.\.").unwrap());
    let mut filled = step.to_owned();
    for place in PLACE.captures_iter(step) {
        let value = Regex::new(&format!(r"\b{}[\w.+/=-]*\w", &place[2])).unwrap();
        let shown = heard.iter().rev().find_map(|text| value.find(text));
        let shown = shown.ok_or_else(|| format!("nothing before shows a value for `{}`", &place[0]))?;
        filled = filled.replace(&place[0], &format!("{}={}", &place[1], shown.as_str()));
    }
    Ok(filled)
}

#[test]
fn run_specific_values_are_compared_by_form_and_other_text_exactly() {
    let page = |provider: &str, day: &str, how: &str| {
        format!(
            r#"{{"message":"The visit with {provider}, DDS on {day} at Main Street is {how}.","id":7,"at":"2026-11-23T13:00:00.000Z"}}"#
        )
    };
    let document = page("Jean-Luc Trần", "Mon, Nov 23 2026, 8:00 AM EST", "booked");
    assert_eq!(
        form(&document),
        form(&page("Ada Weber", "Tue, Jun 1 2027, 11:30 PM EDT", "booked").replace(":7", ":12"))
    );
    assert_ne!(form(&document), form(&page("Jean-Luc Trần", "Mon, Nov 23 2026, 8:00 AM EST", "kept")));
    assert_ne!(form(r#"{"count":1}"#), form(r#"{"count":2}"#));
    assert_eq!(form(r#"{"slot_token":"slt_0500..."}"#), form(r#"{"slot_token":"slt_08aa77"}"#));
}

#[test]
fn placeholders_get_the_latest_shown_value() {
    let heard = ["the API key: psk_a1).".to_owned(), r#"{"a":"slt_1","b":"slt_2"}"#.to_owned(), "slt_9".to_owned()];
    let filled = |step: &str| filled(step, &heard);
    assert_eq!(filled("KEY=psk_...   # yours\nX=1"), Ok("KEY=psk_a1   # yours\nX=1".to_owned()));
    assert_eq!(filled("SLOT=slt_..."), Ok("SLOT=slt_9".to_owned()));
    assert!(filled("REF=bkg_...").unwrap_err().contains("REF=bkg_..."));
}
