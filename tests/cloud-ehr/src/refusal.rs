//! A refusal with a text for the user, which may contain a patient's name.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormRefusal {
    pub status: u16,
    pub code: &'static str,
    pub words: String,
}

impl FormRefusal {
    pub fn new(status: u16, code: &'static str, words: impl Into<String>) -> FormRefusal {
        FormRefusal { status, code, words: words.into() }
    }

    pub fn not_found(what: &str) -> FormRefusal {
        FormRefusal::new(404, "not_found", format!("There is no such {what}."))
    }

    pub fn unknown(code: &'static str, what: &str) -> FormRefusal {
        FormRefusal::new(422, code, format!("This practice has no such {what}."))
    }

    pub fn missing(field: &str) -> FormRefusal {
        FormRefusal::new(422, "missing_field", format!("Please fill in: {field}."))
    }

    pub fn wrong(field: &str) -> FormRefusal {
        FormRefusal::new(422, "wrong_field", format!("Please correct: {field}."))
    }
}
