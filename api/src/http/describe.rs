//! What an endpoint expects of its callers, told by the code that reads it: a handler is run with a call that holds nothing, notes
//! every name it is asked for, and ends the handler before it does anything.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Waker},
};

use serde_json::{Value, json};

use crate::{
    access::call::Call,
    routes::route::Route,
    values::{
        kinds::{Kind, Shape},
        versions::Version,
    },
};

/// One parameter or field.
#[derive(Clone, Debug)]
pub struct Expected {
    /// A parameter's name without brackets, or a field's path: `patient.bio.date_of_birth`, `allergies[].item_id`.
    pub name: String,
    pub required: bool,
    /// Null does not stand for a field that is left out.
    pub never_null: bool,
    pub list: bool,
    pub default: Option<Value>,
    pub shape: Shape,
    /// Whether the kind can read its own example; cursors cannot.
    pub example_reads: bool,
}

impl Expected {
    pub fn of<T: 'static>(name: &str, kind: &Kind<T>) -> Expected {
        let example_reads = kind.example().is_some();
        Expected {
            name: name.to_owned(),
            required: false,
            never_null: false,
            list: false,
            default: None,
            shape: kind.shape(),
            example_reads,
        }
    }

    /// A list whose elements are told one by one.
    pub fn objects(name: &str) -> Expected {
        let shape = Shape { schema: json!({"type": "object"}), example: json!({}), apart: false, chosen: false };
        let name = name.to_owned();
        let example_reads = true;
        Expected { name, required: false, never_null: false, list: true, default: None, shape, example_reads }
    }

    pub fn required(self) -> Expected {
        Expected { required: true, never_null: true, ..self }
    }

    pub fn never_null(self) -> Expected {
        Expected { never_null: true, ..self }
    }

    pub fn list(self) -> Expected {
        Expected { list: true, ..self }
    }

    pub fn defaulted(self, default: &Value) -> Expected {
        Expected { default: Some(default.clone()), ..self }
    }

    pub fn below(self, path: &str) -> Expected {
        Expected { name: format!("{path}.{}", self.name), ..self }
    }
}

/// Notes what is asked for, or does nothing.
#[derive(Debug, Default)]
pub struct Expects(Option<Vec<Expected>>);

impl Expects {
    pub fn noting() -> Expects {
        Expects(Some(Vec::new()))
    }

    /// Whether this is only a description.
    pub fn note(&mut self, expected: impl FnOnce() -> Expected) -> bool {
        if let Some(noted) = &mut self.0 {
            noted.push(expected());
        }
        self.0.is_some()
    }

    pub fn add(&mut self, more: impl IntoIterator<Item = Expected>) {
        if let Some(noted) = &mut self.0 {
            noted.extend(more);
        }
    }

    pub fn take(&mut self) -> Vec<Expected> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// What a handler told.
#[derive(Debug, Default)]
pub struct Described {
    pub path: Vec<Expected>,
    pub query: Vec<Expected>,
    pub body: Vec<Expected>,
    /// Whether it came to its `in_*` call; nothing it does later is told.
    pub read: bool,
}

/// Shared between a describing call and whoever listens to it.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Described>>);

impl Notes {
    pub fn add(&self, note: impl FnOnce(&mut Described)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn take(&self) -> Described {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs a handler as far as its `in_*` call. A handler that waits for anything before that is wrong, and told so by `read`.
pub fn describe(route: &'static Route, version: Version) -> Described {
    let notes = Notes::default();
    if let Some(answering) = route.answer(Call::describing(route, version, notes.clone())) {
        let mut answering = pin!(answering);
        // Its answer is nothing but the end of the description.
        let _ = answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    notes.take()
}

#[cfg(test)]
mod tests {
    use crate::http::describe::*;
    use crate::routes::{route::Access, table::TABLE};

    #[test]
    fn every_route_tells_what_it_reads() {
        for route in TABLE.iter().filter(|route| route.access != Access::Anyone) {
            for version in route.versions {
                let told = describe(route, *version);
                let endpoint = route.endpoint();
                assert!(told.read, "{endpoint} waits for something before its `in_*` call, or has none");
                for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                    let known = told.path.iter().any(|expected| expected.name == name);
                    assert!(known, "{endpoint}: read {{{name}}} with `call.path` before the `in_*` call");
                }
                for expected in told.path.iter().chain(&told.query).chain(&told.body) {
                    let cursor = ["start_cursor", "end_cursor"].contains(&expected.name.as_str());
                    assert!(cursor || expected.example_reads, "{endpoint}: {} cannot read its example", expected.name);
                }
            }
        }
    }
}
