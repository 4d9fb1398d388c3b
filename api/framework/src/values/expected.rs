//! A parameter or field that an endpoint accepts. In describing mode it is recorded for the documentation, not read.

use serde_json::Value;

use super::{
    kinds::{Kind, Shape, object},
    limits::MAX_VALUES,
};

#[derive(Clone, Debug)]
pub struct Expected {
    /// Parameter name without brackets, or field path: `patient.bio.date_of_birth`, `allergies[].item_id`.
    pub name: String,
    pub required: bool,
    /// Rejects null, instead of treating it as a missing field.
    pub never_null: bool,
    /// Maximum length, if this is a list.
    pub list: Option<usize>,
    pub default: Option<Value>,
    pub shape: Shape,
    /// `false` if the kind rejects its own example, as cursors do.
    pub example_reads: bool,
    /// An object that is not read itself; its fields determine its schema.
    pub container: bool,
    pub also: Option<Also>,
}

/// Another accepted form of an object, which the documentation does not have.
#[derive(Clone, Copy, Debug)]
pub enum Also {
    /// The object under another name.
    Alias(&'static str),
    /// The fields of the object without the object.
    Unwrapped,
}

impl Expected {
    pub fn new<T: 'static>(name: &str, kind: &Kind<T>) -> Expected {
        let example_reads = kind.example().is_some();
        Expected {
            name: name.to_owned(),
            required: false,
            never_null: false,
            list: None,
            default: None,
            shape: kind.shape(),
            example_reads,
            container: false,
            also: None,
        }
    }

    /// Describes a list of objects whose fields are described one by one.
    pub fn objects(name: &str, about: &'static str) -> Expected {
        Expected::new(name, &object(about)).list(MAX_VALUES)
    }

    pub fn container(name: &str, about: &'static str) -> Expected {
        Expected { container: true, ..Expected::new(name, &object(about)) }
    }

    pub fn required(self) -> Expected {
        Expected { required: true, never_null: true, ..self }
    }

    pub fn never_null(self) -> Expected {
        Expected { never_null: true, ..self }
    }

    /// Makes it a list of at most `most` values.
    pub fn list(self, most: usize) -> Expected {
        Expected { list: Some(most), ..self }
    }

    pub fn defaulted(self, default: &Value) -> Expected {
        Expected { default: Some(default.clone()), ..self }
    }

    pub fn below(self, path: &str) -> Expected {
        Expected { name: format!("{path}.{}", self.name), ..self }
    }
}

/// Recorder of expected parameters; does nothing by default.
#[derive(Debug, Default)]
pub(crate) struct Expects(Option<Vec<Expected>>);

impl Expects {
    pub(crate) fn noting() -> Expects {
        Expects(Some(Vec::new()))
    }

    /// Records the parameter. Returns `true` if the request is only described.
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
