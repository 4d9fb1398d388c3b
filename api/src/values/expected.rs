//! One parameter or field as an endpoint expects it of its callers. Whoever reads it can note it instead, for the documentation.

use serde_json::Value;

use super::{
    kinds::{Kind, Shape, object},
    limits::MAX_VALUES,
};

/// One parameter or field.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// A parameter's name without brackets, or a field's path: `patient.bio.date_of_birth`, `allergies[].item_id`.
    pub name: String,
    pub required: bool,
    /// Null does not stand for a field that is left out.
    pub never_null: bool,
    /// At most so many of these.
    pub list: Option<usize>,
    pub default: Option<Value>,
    pub shape: Shape,
    /// Whether the kind can read its own example; cursors cannot.
    pub example_reads: bool,
    /// An object that is not read itself: what it is follows from the fields in it.
    pub implied: bool,
}

impl Expected {
    pub(crate) fn of<T: 'static>(name: &str, kind: &Kind<T>) -> Expected {
        let example_reads = kind.example().is_some();
        Expected {
            name: name.to_owned(),
            required: false,
            never_null: false,
            list: None,
            default: None,
            shape: kind.shape(),
            example_reads,
            implied: false,
        }
    }

    /// A list whose elements are told one by one.
    pub(crate) fn objects(name: &str, about: &'static str) -> Expected {
        Expected::of(name, &object(about)).list(MAX_VALUES)
    }

    pub(crate) fn implied(name: &str, about: &'static str) -> Expected {
        Expected { implied: true, ..Expected::of(name, &object(about)) }
    }

    pub(crate) fn required(self) -> Expected {
        Expected { required: true, never_null: true, ..self }
    }

    pub(crate) fn never_null(self) -> Expected {
        Expected { never_null: true, ..self }
    }

    /// A list of at most so many.
    pub(crate) fn list(self, most: usize) -> Expected {
        Expected { list: Some(most), ..self }
    }

    pub(crate) fn defaulted(self, default: &Value) -> Expected {
        Expected { default: Some(default.clone()), ..self }
    }

    pub(crate) fn below(self, path: &str) -> Expected {
        Expected { name: format!("{path}.{}", self.name), ..self }
    }
}

/// Notes what is asked for, or does nothing.
#[derive(Debug, Default)]
pub(crate) struct Expects(Option<Vec<Expected>>);

impl Expects {
    pub(crate) fn noting() -> Expects {
        Expects(Some(Vec::new()))
    }

    /// Whether this is only a description.
    pub(crate) fn note(&mut self, expected: impl FnOnce() -> Expected) -> bool {
        if let Some(noted) = &mut self.0 {
            noted.push(expected());
        }
        self.0.is_some()
    }

    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = Expected>) {
        if let Some(noted) = &mut self.0 {
            noted.extend(more);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Expected> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
