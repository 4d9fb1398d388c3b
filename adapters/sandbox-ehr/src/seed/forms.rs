//! The practice's intake forms of formio components, and responses that match them.

use serde_json::{Value, json};

pub(super) struct Form {
    slug: &'static str,
    title: &'static str,
    version: &'static str,
    components: fn() -> Value,
    answers: fn(usize) -> Value,
}

pub(super) const SCHEMAS: [Form; 2] = [
    Form {
        slug: "medical-history",
        title: "Medical history",
        version: "3",
        components: medical_history,
        answers: medical_answers,
    },
    Form {
        slug: "consent-to-treatment",
        title: "Consent to treatment",
        version: "1",
        components: consent,
        answers: consent_answers,
    },
];

impl Form {
    pub(super) fn schema(&self) -> Value {
        let schema = json!({"display": "form", "components": (self.components)()}).to_string();
        json!({"title": self.title, "slug": self.slug, "version": self.version, "schema_json": schema})
    }

    /// Returns the response of the `n`-th patient.
    pub(super) fn answers(&self, n: usize) -> Value {
        (self.answers)(n)
    }
}

fn medical_history() -> Value {
    json!([
        {"key": "full_name", "type": "textfield", "label": "Full name", "input": true, "validate": {"required": true}},
        {"key": "weight", "type": "number", "label": "Weight in kg", "input": true, "validate": {"required": false}},
        {"key": "smoker", "type": "radio", "label": "Do you smoke?", "input": true, "validate": {"required": true},
            "values": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}]},
        {"key": "cigarettes", "type": "number", "label": "Cigarettes a day", "input": true, "validate": {"required": false},
            "conditional": {"show": true, "when": "smoker", "eq": "yes"}},
        {"key": "allergies", "type": "selectboxes", "label": "Allergies", "input": true, "validate": {"required": false},
            "values": [{"label": "Penicillin", "value": "penicillin"}, {"label": "Latex", "value": "latex"}]},
        {"key": "last_visit", "type": "day", "label": "Last visit to a dentist", "input": true,
            "validate": {"required": false}},
        {"key": "remarks", "type": "textarea", "label": "Anything else?", "input": true, "validate": {"required": false}},
        {"key": "submit", "type": "button", "label": "Send", "input": true},
    ])
}

fn medical_answers(n: usize) -> Value {
    let smokes = n.is_multiple_of(4);
    let mut answers = json!({
        "full_name": "As on file", "weight": 55 + n % 40, "smoker": if smokes { "yes" } else { "no" },
        "allergies": {"penicillin": n.is_multiple_of(3), "latex": false},
    });
    if smokes {
        answers["cigarettes"] = json!(1 + n % 20);
    }
    answers
}

fn consent() -> Value {
    json!([
        {"key": "explained", "type": "checkbox", "label": "The treatment was explained to me", "input": true,
            "validate": {"required": true}},
        {"key": "contact", "type": "select", "label": "How may we reach you?", "input": true, "validate": {"required": true},
            "values": [{"label": "Phone", "value": "phone"}, {"label": "E-mail", "value": "email"}]},
        {"key": "contact_email", "type": "email", "label": "E-mail", "input": true, "validate": {"required": false},
            "conditional": {"show": true, "when": "contact", "eq": "email"}},
        {"key": "signed_on", "type": "datetime", "label": "Date", "input": true, "validate": {"required": true}},
        {"key": "signature", "type": "signature", "label": "Signature", "input": true, "validate": {"required": false}},
    ])
}

fn consent_answers(n: usize) -> Value {
    json!({"explained": true, "contact": if n.is_multiple_of(2) { "phone" } else { "email" }, "signed_on": "2026-01-05T10:00:00Z"})
}
