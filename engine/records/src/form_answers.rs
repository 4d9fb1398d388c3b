//! Validation of answers against a form of formio components: required answers and their types.

use serde_json::{Map, Value};

mod texts;

use demographics::phone::is_number;
use texts::{is_date_time, is_day, is_email, is_time, no_day};

/// Maximum number of problems reported for one request.
const MOST_PROBLEMS: usize = 100;
/// Maximum depth of nested components.
const MOST_DEEP: usize = 32;

/// Returns the problems of answers, each beginning with its path. `schema` is `{components: [...]}`, or the components
/// alone.
pub fn problems(schema: &Value, answers: &Value) -> Vec<String> {
    let Some(answers) = answers.as_object() else {
        return vec!["patient_submitted_data must be an object.".to_owned()];
    };
    let mut checked = AnswerChecker { root: answers, problems: Vec::new() };
    checked.all(inside(schema), answers, "patient_submitted_data", 0);
    checked.problems.truncate(MOST_PROBLEMS);
    checked.problems
}

fn inside(schema: &Value) -> &[Value] {
    schema.as_array().or_else(|| schema["components"].as_array()).map_or(&[], Vec::as_slice)
}

struct AnswerChecker<'a> {
    root: &'a Map<String, Value>,
    problems: Vec<String>,
}

impl AnswerChecker<'_> {
    fn all(&mut self, components: &[Value], answers: &Map<String, Value>, path: &str, depth: usize) {
        if depth > MOST_DEEP || self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        for component in components.iter().filter(|it| is_shown(it, answers, self.root)) {
            self.one(component, answers, path, depth);
        }
    }

    fn one(&mut self, component: &Value, answers: &Map<String, Value>, path: &str, depth: usize) {
        let key = component["key"].as_str().filter(|key| !key.is_empty());
        let kind = component["type"].as_str().unwrap_or_default();
        match (key, kind) {
            (_, "button" | "content" | "htmlelement") => {}
            (Some(key), "container" | "datagrid" | "editgrid") => {
                let path = format!("{path}.{key}");
                if self.required(component, answers.get(key), &path) {
                    self.nested(component, answers.get(key), &path, depth);
                }
            }
            (Some(key), _) if component["input"] != Value::Bool(false) && !lays_out(component) => {
                let path = format!("{path}.{key}");
                if self.required(component, answers.get(key), &path) {
                    self.typed(component, &answers[key], &path);
                }
            }
            _ => parts(component).for_each(|part| self.all(part, answers, path, depth + 1)),
        }
    }

    /// Reports a missing required answer. Returns `true` if there is an answer.
    fn required(&mut self, component: &Value, answer: Option<&Value>, path: &str) -> bool {
        let blank = |answer: &Value| component["type"] == "day" && answer.as_str().is_some_and(no_day);
        let given = answer.filter(|answer| !empty(answer) && !blank(answer));
        if given.is_none() && component["validate"]["required"] == Value::Bool(true) {
            self.problems.push(format!("{path} is missing."));
        }
        given.is_some()
    }

    /// Checks the answers to a component with nested components: one object, or a list of objects.
    fn nested(&mut self, component: &Value, answer: Option<&Value>, path: &str, depth: usize) {
        match answer {
            Some(Value::Object(answers)) if component["type"] == "container" => {
                self.all(inside(component), answers, path, depth + 1);
            }
            Some(Value::Array(rows)) if component["type"] != "container" => {
                for (n, row) in rows.iter().enumerate() {
                    match row.as_object() {
                        Some(row) => self.all(inside(component), row, &format!("{path}[{n}]"), depth + 1),
                        None => self.problems.push(format!("{path}[{n}] must be an object.")),
                    }
                }
            }
            _ => {
                let wanted = if component["type"] == "container" { "an object" } else { "an array" };
                self.problems.push(format!("{path} must be {wanted}."));
            }
        }
    }

    fn typed(&mut self, component: &Value, answer: &Value, path: &str) {
        if component["multiple"] != Value::Bool(true) {
            self.problems.extend(wrong(component, answer).map(|wrong| format!("{path} {wrong}.")));
            return;
        }
        match answer {
            Value::Array(answers) => {
                for (n, answer) in answers.iter().enumerate() {
                    self.problems.extend(wrong(component, answer).map(|wrong| format!("{path}[{n}] {wrong}.")));
                }
            }
            _ => self.problems.push(format!("{path} must be an array.")),
        }
    }
}

/// Returns `true` for fieldsets, panels and columns, which have components but no answer.
fn lays_out(component: &Value) -> bool {
    parts(component).next().is_some()
}

/// Returns the lists of components in a layout component: its own, those of its columns, and those of its table cells.
fn parts(component: &Value) -> impl Iterator<Item = &[Value]> {
    let columns = component["columns"].as_array().into_iter().flatten();
    let cells = component["rows"].as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
    let own = std::iter::once(inside(component));
    own.chain(columns.chain(cells).map(inside)).filter(|part| !part.is_empty())
}

/// Evaluates `conditional: {show, when, eq}`. Without it, a component is shown.
fn is_shown(component: &Value, answers: &Map<String, Value>, root: &Map<String, Value>) -> bool {
    if component["hidden"] == Value::Bool(true) {
        return false;
    }
    let condition = &component["conditional"];
    let Some(when) = condition["when"].as_str().filter(|when| !when.is_empty()) else { return true };
    let show = !matches!(condition["show"], Value::Bool(false)) && condition["show"] != "false";
    let answer = answers.get(when).or_else(|| at(root, when));
    answer.is_some_and(|answer| holds(answer, &text(&condition["eq"]))) == show
}

fn at<'a>(root: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    rest.split('.').filter(|name| !name.is_empty()).try_fold(root.get(first)?, |value, name| value.get(name))
}

/// Returns `true` if an answer has the wanted value: a ticked box, an element of a list, or the answer itself.
fn holds(answer: &Value, wanted: &str) -> bool {
    match answer {
        Value::Object(boxes) => boxes.get(wanted) == Some(&Value::Bool(true)),
        Value::Array(answers) => answers.iter().any(|answer| text(answer) == wanted),
        plain => text(plain) == wanted,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns `true` if an answer counts as missing. That includes an unticked checkbox.
fn empty(answer: &Value) -> bool {
    match answer {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(answers) => answers.is_empty(),
        Value::Object(boxes) => boxes.values().all(|ticked| matches!(ticked, Value::Bool(false) | Value::Null)),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Returns the problem of an answer that does not match its component.
fn wrong(component: &Value, answer: &Value) -> Option<String> {
    let wanted = match component["type"].as_str().unwrap_or_default() {
        "number" | "currency" => answer.is_number().then_some(()).ok_or("a number"),
        "checkbox" => answer.is_boolean().then_some(()).ok_or("true or false"),
        "selectboxes" => return wrong_boxes(component, answer),
        "radio" | "select" => return wrong_choice(component, answer),
        "textfield" | "textarea" | "url" | "password" | "signature" => {
            answer.is_string().then_some(()).ok_or("a string")
        }
        "email" => is(answer, is_email).ok_or("an email address"),
        "phoneNumber" => is(answer, is_number).ok_or("a phone number"),
        "day" if day_first(component) => is(answer, |text| is_day(text, true)).ok_or("a date such as 24/12/1980"),
        "day" => is(answer, |text| is_day(text, false)).ok_or("a date such as 12/24/1980"),
        "datetime" => is(answer, |text| is_date_time(text, day_first(component)))
            .ok_or("a date and time such as 2026-12-01T14:30:00Z"),
        "time" => is(answer, is_time).ok_or("a time of day such as 14:30:00"),
        // Other types are specific to the EHR and not checked.
        _ => Ok(()),
    };
    wanted.err().map(|wanted| format!("must be {wanted}"))
}

fn is(answer: &Value, fits: impl Fn(&str) -> bool) -> Option<()> {
    answer.as_str().is_some_and(|text| fits(text.trim())).then_some(())
}

fn day_first(component: &Value) -> bool {
    component["dayFirst"] == Value::Bool(true)
}

/// Returns the possible choices; empty if the form does not list them.
fn choices(component: &Value) -> Vec<String> {
    let values = component["values"].as_array().or_else(|| component["data"]["values"].as_array());
    values.into_iter().flatten().map(|choice| text(&choice["value"])).collect()
}

fn wrong_choice(component: &Value, answer: &Value) -> Option<String> {
    if answer.is_object() || answer.is_array() {
        return Some("must be one value".to_owned());
    }
    let choices = choices(component);
    let known = choices.is_empty() || choices.contains(&text(answer));
    (!known).then(|| format!("must be one of {}", choices.join(", ")))
}

fn wrong_boxes(component: &Value, answer: &Value) -> Option<String> {
    let Some(boxes) = answer.as_object().filter(|boxes| boxes.values().all(Value::is_boolean)) else {
        return Some("must be an object of true and false".to_owned());
    };
    let choices = choices(component);
    let known = choices.is_empty() || boxes.keys().all(|name| name.is_empty() || choices.contains(name));
    (!known).then(|| format!("must hold nothing but {}", choices.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::problems;

    fn form() -> serde_json::Value {
        json!({"components": [
            {"key": "intro", "type": "content", "input": false},
            {"key": "name", "type": "textfield", "input": true, "validate": {"required": true}},
            {"key": "smoker", "type": "radio", "input": true, "validate": {"required": true},
                "values": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}]},
            {"key": "cigarettes", "type": "number", "input": true, "validate": {"required": true},
                "conditional": {"show": true, "when": "smoker", "eq": "yes"}},
            {"key": "allergies", "type": "selectboxes", "input": true, "values": [{"value": "latex"}, {"value": "nuts"}]},
            {"key": "which", "type": "textarea", "input": true, "validate": {"required": true},
                "conditional": {"show": "true", "when": "allergies", "eq": "nuts"}},
            {"type": "columns", "columns": [{"components": [
                {"key": "agreed", "type": "checkbox", "input": true, "validate": {"required": true}},
            ]}]},
            {"key": "kin", "type": "datagrid", "input": true, "components": [
                {"key": "age", "type": "number", "input": true, "validate": {"required": true}},
            ]},
            {"key": "pets", "type": "select", "multiple": true, "data": {"values": [{"value": "cat"}, {"value": 7}]}},
            {"key": "not_smoking", "type": "textfield", "validate": {"required": true},
                "conditional": {"show": false, "when": "smoker", "eq": "yes"}},
            {"key": "submit", "type": "button", "input": true},
        ]})
    }

    fn found(answers: serde_json::Value) -> Vec<String> {
        let problems_found = problems(&form(), &answers);
        problems_found.iter().map(|it| it.replace("patient_submitted_data.", "")).collect()
    }

    #[test]
    fn valid_answers_have_no_problems() {
        let answers = json!({
            "name": "Pat", "smoker": "yes", "cigarettes": 3, "allergies": {"latex": true, "nuts": false}, "agreed": true,
            "kin": [{"age": 3}], "pets": ["cat", 7], "submit": true, "beyond": {"the": "form"},
        });
        assert_eq!(found(answers), [""; 0]);
        let other = json!({"name": "Pat", "smoker": "no", "agreed": true, "not_smoking": "for years"});
        assert_eq!(found(other.clone()), [""; 0]);
        assert_eq!(problems(&form()["components"], &other), [""; 0], "components alone are a form too");
    }

    #[test]
    fn missing_required_answers_of_shown_components_are_reported() {
        assert_eq!(
            found(json!({})),
            ["name is missing.", "smoker is missing.", "agreed is missing.", "not_smoking is missing.",]
        );
        let answers = json!({"name": " ", "smoker": "yes", "allergies": {"nuts": true}, "agreed": false, "kin": [{}]});
        let expected = [
            "name is missing.", "cigarettes is missing.", "which is missing.", "agreed is missing.",
            "kin[0].age is missing.",
        ];
        assert_eq!(found(answers), expected);
    }

    #[test]
    fn answers_of_the_wrong_type_are_reported() {
        let answers = json!({
            "name": 7, "smoker": "maybe", "allergies": {"latex": true, "dust": true}, "agreed": "yes", "kin": {"age": 3},
            "pets": ["dog"], "not_smoking": ["x"],
        });
        assert_eq!(
            found(answers),
            [
                "name must be a string.",
                "smoker must be one of yes, no.",
                "allergies must hold nothing but latex, nuts.",
                "agreed must be true or false.",
                "kin must be an array.",
                "pets[0] must be one of cat, 7.",
                "not_smoking must be a string.",
            ]
        );
        assert_eq!(problems(&form(), &json!([])), ["patient_submitted_data must be an object."]);
        assert_eq!(
            found(json!({"name": "x", "smoker": "no", "agreed": true, "not_smoking": "x", "pets": "cat"})),
            ["pets must be an array."]
        );
    }

    #[test]
    fn texts_must_match_the_type_of_their_component() {
        let form = json!([
            {"key": "born", "type": "day", "validate": {"required": true}},
            {"key": "moved", "type": "day", "dayFirst": true},
            {"key": "visit", "type": "datetime"},
            {"key": "at", "type": "time"},
            {"key": "mail", "type": "email"},
            {"key": "phones", "type": "phoneNumber", "multiple": true},
        ]);
        let fits = json!({
            "born": "04/12/1990", "moved": "24/12/1990", "visit": "2026-12-01T09:30:00-05:00", "at": "14:30:00",
            "mail": "pat@example.com", "phones": ["(555) 010-9999"],
        });
        assert_eq!(problems(&form, &fits), [""; 0]);
        let wrong = json!({
            "born": "13/45/1990", "moved": "12/24/1990", "visit": "soon", "at": "25:00", "mail": "pat", "phones": ["none"],
        });
        let problems_found: Vec<_> =
            problems(&form, &wrong).iter().map(|it| it.replace("patient_submitted_data.", "")).collect();
        assert_eq!(
            problems_found,
            [
                "born must be a date such as 12/24/1980.",
                "moved must be a date such as 24/12/1980.",
                "visit must be a date and time such as 2026-12-01T14:30:00Z.",
                "at must be a time of day such as 14:30:00.",
                "mail must be an email address.",
                "phones[0] must be a phone number.",
            ]
        );
        let blank = json!({"born": "00/00/0000", "moved": "00/00/0000"});
        assert_eq!(
            problems(&form, &blank),
            ["patient_submitted_data.born is missing."],
            "what formio sends for no day"
        );
    }

    #[test]
    fn malformed_forms_yield_no_problems_and_long_ones_at_most_100() {
        let mut deep = json!([{"key": "end", "type": "textfield", "validate": {"required": true}}]);
        for _ in 0..100 {
            deep = json!([{"type": "panel", "components": deep}]);
        }
        for schema in [json!(null), json!(7), json!([1, null, {}]), json!({"components": {"a": 1}}), deep] {
            assert_eq!(problems(&schema, &json!({"a": 1})), [""; 0]);
        }
        let many: Vec<_> = (0..500)
            .map(|n| json!({"key": format!("k{n}"), "type": "number", "validate": {"required": true}}))
            .collect();
        assert_eq!(problems(&json!(many), &json!({})).len(), 100);
    }
}
