//! The declared fields of a body, taken in the order of their declaration. Invalid fields are refused with their path;
//! fields that the input does not declare are ignored and reported.

use serde_json::{Map, Value};

use crate::{
    http::{
        body::{JsonBytes, NO_OBJECT},
        errors::ApiError,
        row::{Given, Names, Row},
    },
    values::{
        expected::{Also, Expected, Expects},
        kinds::{Kind, echo, object, reference::Reference},
        limits::{MAX_ECHOED_NAMES, MAX_VALUES},
    },
};

/// The fields of a body. Paths use dots: `patient.first_name`.
#[derive(Debug, Default)]
pub struct Fields {
    row: Row,
    /// Path of this object within the body: `allergies[2].`
    prefix: String,
    problems: Vec<String>,
    /// Unknown fields of list elements, which have separate readers.
    ignored_inside: Vec<String>,
    pub references: Vec<Reference>,
    expects: Expects,
    /// Another accepted form of an object, with its name.
    also: Option<(&'static str, Also)>,
}

impl Fields {
    /// Parses a body into the fields with these names.
    pub fn parse(body: &JsonBytes, names: &'static Names) -> Result<Fields, ApiError> {
        Ok(match body.parse(names)? {
            Given::Object(row) => Fields { row, ..Fields::default() },
            _ => Fields { problems: vec![NO_OBJECT.to_owned()], ..Fields::default() },
        })
    }

    /// Creates a reader without input, which records the requested fields and returns examples.
    pub fn describing() -> Fields {
        Fields { expects: Expects::noting(), ..Fields::default() }
    }

    pub fn expected(&mut self) -> Vec<Expected> {
        let mut fields = self.expects.take();
        if let Some((name, also)) = self.also {
            fields.iter_mut().filter(|it| it.name == name).for_each(|it| it.also = Some(also));
        }
        fields
    }

    /// Reads an optional field. Returns `None` for missing, null and invalid values, and reports the latter.
    pub fn optional<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(path, &kind)) {
            return kind.example();
        }
        self.read(path, &kind)
    }

    fn read<T: 'static>(&mut self, path: &str, kind: &Kind<T>) -> Option<T> {
        let read = match self.row.get(path)? {
            Given::Missing | Given::Value(Value::Null) => return None,
            Given::Value(value) => kind.json(value),
            // The fields inside are read by their own paths.
            Given::Object(_) => kind.json(&Value::Object(Map::new())),
            Given::List(_) => kind.json(&Value::Array(Vec::new())),
        };
        let read = read.map_err(|problem| self.add_problem(path, &problem)).ok();
        self.references.extend(read.as_ref().and_then(|value| kind.reference(value)));
        read
    }

    /// Reads a required field. If it is missing or invalid, reports it and returns an example.
    pub fn required<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> T {
        self.needed(path, &kind).unwrap_or_else(|| kind.placeholder())
    }

    /// Like `required`, but returns `None`, for fields that are compared with others.
    pub fn required_or_none<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.needed(path, &kind)
    }

    /// Reads a field that is required unless the field `other` is given. Refuses both together.
    pub fn required_without<T: 'static>(&mut self, other: &str, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(path, &kind)) {
            return kind.example();
        }
        if self.is_absent(other) {
            return self.needed(path, &kind);
        }
        if !self.is_absent(path) {
            self.add_problem(path, &format!("must be absent if {other} is given"));
        }
        None
    }

    fn needed<T: 'static>(&mut self, path: &str, kind: &Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(path, kind).required()) {
            return kind.example();
        }
        if self.is_absent(path) {
            if !self.inside_missing(path) {
                self.add_problem(path, "is missing");
            }
            return None;
        }
        self.read(path, kind)
    }

    /// Reads a field that is required if the object around it exists. Returns an example otherwise.
    pub fn required_in<T: 'static>(&mut self, parent: &str, path: &str, kind: Kind<T>) -> T {
        if self.expects.note(|| Expected::new(path, &kind).required()) || self.is_absent(parent) {
            return kind.placeholder();
        }
        self.required(path, kind)
    }

    /// Reads a field with a default for missing and null.
    pub fn defaulted<T: 'static>(&mut self, path: &str, kind: Kind<T>, default: impl Into<Value>) -> T {
        let default = default.into();
        let is_noted = self.expects.note(|| Expected::new(path, &kind).defaulted(&default));
        let given = if is_noted { None } else { self.read(path, &kind) };
        given.unwrap_or_else(|| kind.default_value(&default))
    }

    /// Reads an optional field, where an empty string counts as missing.
    pub fn optional_nonempty<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(path, &kind)) {
            return kind.example();
        }
        let is_empty = matches!(self.row.get(path), Some(Given::Value(Value::String(text))) if text.trim().is_empty());
        if is_empty { None } else { self.read(path, &kind) }
    }

    /// Reads a field of a change: `None` leaves it unchanged, `Some(None)` (null) clears it.
    pub fn clearable<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Option<T>> {
        if self.expects.note(|| Expected::new(path, &kind)) {
            return Some(kind.example());
        }
        if self.is_null(path) { Some(None) } else { self.read(path, &kind).map(Some) }
    }

    /// Like `clearable`, for text that null sets to the empty string.
    pub fn clearable_text<T: Default + 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        self.clearable(path, kind).map(Option::unwrap_or_default)
    }

    /// Reads a field of a change that cannot be cleared; null is refused.
    pub fn optional_not_null<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(path, &kind).never_null()) {
            return kind.example();
        }
        if self.is_null(path) {
            self.add_problem(path, "must not be empty");
        }
        self.read(path, &kind)
    }

    /// Reads a list. Problems name the element: `provider_ids[3]`.
    pub fn list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Vec<T> {
        if self.expects.note(|| Expected::new(path, &kind).list(MAX_VALUES)) {
            return kind.example().into_iter().collect();
        }
        let elements = match self.row.take(path) {
            Given::Value(Value::Array(elements)) => self.within_limit(path, elements),
            other => self.no_list(path, &other),
        };
        let mut values = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            match kind.json(element) {
                Ok(value) => {
                    self.references.extend(kind.reference(&value));
                    values.push(value);
                }
                Err(problem) => self.add_problem(&format!("{path}[{index}]"), &problem),
            }
        }
        values
    }

    /// Reads a list of a change; `None` leaves it unchanged. Null is refused, because `[]` clears the list.
    pub fn optional_list<T: 'static>(&mut self, path: &str, kind: Kind<T>) -> Option<Vec<T>> {
        if self.expects.note(|| Expected::new(path, &kind).never_null().list(MAX_VALUES)) {
            return Some(kind.example().into_iter().collect());
        }
        if self.is_null(path) {
            self.add_problem(path, "must be an array");
        }
        let is_given = !self.is_absent(path);
        is_given.then(|| self.list(path, kind))
    }

    /// Reads a list of objects, each with relative paths. Elements with problems are reported and omitted.
    pub fn objects<T>(&mut self, path: &str, about: &'static str, read: impl FnMut(&mut Fields) -> T) -> Vec<T> {
        self.read_objects(path, || Expected::objects(path, about), read)
    }

    /// Like `objects`, for a list of at most `most` objects that may be missing. Examples leave it out.
    pub fn optional_objects<T>(
        &mut self,
        path: &str,
        about: &'static str,
        most: usize,
        read: impl FnMut(&mut Fields) -> T,
    ) -> Option<Vec<T>> {
        let is_given = !self.is_absent(path);
        let expected = || Expected::new(path, &object(about).omit_from_example()).list(most);
        Some(self.read_objects(path, expected, read)).filter(|_| is_given)
    }

    fn read_objects<T>(
        &mut self,
        path: &str,
        expected: impl FnOnce() -> Expected,
        mut read: impl FnMut(&mut Fields) -> T,
    ) -> Vec<T> {
        if self.expects.note(expected) {
            let mut one = Fields::describing();
            let value = read(&mut one);
            self.expects.add(one.expected().into_iter().map(|it| it.below(&format!("{path}[]"))));
            return vec![value];
        }
        let elements = match self.row.take(path) {
            Given::List(elements) => self.within_limit(path, elements),
            other => self.no_list(path, &other),
        };
        let mut values = Vec::with_capacity(elements.len());
        for (index, element) in elements.into_iter().enumerate() {
            let Given::Object(row) = element else {
                self.add_problem(&format!("{path}[{index}]"), "must be an object");
                continue;
            };
            let prefix = format!("{}{path}[{index}].", self.prefix);
            let mut one = Fields { row, prefix, ..Fields::default() };
            let value = read(&mut one);
            let problems = one.take_problems();
            values.extend(problems.is_empty().then_some(value));
            self.problems.extend(problems);
            self.references.append(&mut one.references);
            let room = MAX_ECHOED_NAMES.saturating_sub(self.ignored_inside.len());
            self.ignored_inside.extend(one.ignored().into_iter().take(room));
        }
        values
    }

    /// Documents an object whose fields are read separately.
    pub fn container(&mut self, path: &str, about: &'static str) {
        self.expects.note(|| Expected::container(path, about));
    }

    /// Accepts another name for the object `name`.
    pub fn accept_alias(&mut self, name: &'static str, alias: &'static str) {
        self.also = Some((name, Also::Alias(alias)));
        self.row.rename(alias, name);
    }

    /// Accepts the content of the object `name` without the object.
    pub fn accept_unwrapped(&mut self, name: &'static str) {
        self.also = Some((name, Also::Unwrapped));
        self.row.wrap(name);
    }

    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Returns the number of problems, so that a reader of several fields can detect new ones.
    pub fn problem_count(&self) -> usize {
        self.problems.len()
    }

    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Returns the paths of unknown fields.
    pub fn ignored(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.row.unknown().iter().map(|path| format!("{}{}", self.prefix, echo(path))).collect();
        names.extend(self.ignored_inside.iter().cloned());
        names.truncate(MAX_ECHOED_NAMES);
        names
    }

    /// Returns `true` if an enclosing object was reported as missing, which makes further problems redundant.
    fn inside_missing(&self, path: &str) -> bool {
        let parents = path.match_indices('.').map(|(at, _)| &path[..at]);
        let is_missing = |parent: &str| self.problems.contains(&format!("{}{parent} is missing.", self.prefix));
        parents.into_iter().any(is_missing)
    }

    fn add_problem(&mut self, path: &str, problem: &str) {
        self.problems.push(format!("{}{path} {problem}.", self.prefix));
    }

    fn within_limit<T>(&mut self, path: &str, elements: Vec<T>) -> Vec<T> {
        if elements.len() <= MAX_VALUES {
            return elements;
        }
        self.add_problem(path, &format!("holds more than {MAX_VALUES} values"));
        Vec::new()
    }

    fn no_list<T>(&mut self, path: &str, given: &Given) -> Vec<T> {
        if !matches!(given, Given::Missing | Given::Value(Value::Null)) {
            self.add_problem(path, "must be an array");
        }
        Vec::new()
    }

    fn is_null(&self, path: &str) -> bool {
        matches!(self.row.get(path), Some(Given::Value(Value::Null)))
    }

    pub fn is_absent(&self, path: &str) -> bool {
        self.row.get(path).is_none() || self.is_null(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::values::kinds::{boolean, filled, id, integer, long_id, text, times::date};

    /// Reads a body as an input does: the names come from a describing call of the same reader.
    fn read<T>(body: impl ToString, mut read: impl FnMut(&mut Fields) -> T) -> (T, Fields) {
        let mut described = Fields::describing();
        read(&mut described);
        let names = Box::leak(Box::new(Names::new(&described.expected())));
        let mut fields = Fields::parse(&JsonBytes(body.to_string().into()), names).unwrap();
        (read(&mut fields), fields)
    }

    #[test]
    fn a_missing_object_hides_problems_of_its_fields() {
        let hours = |b: &mut Fields| {
            b.accept_alias("working_hour", "availability");
            b.required("working_hour", object(""));
            b.required("working_hour.days", id())
        };
        let (_, mut fields) = read(json!({"name": "x"}), hours);
        assert_eq!(
            (fields.take_problems(), fields.ignored()),
            (vec!["working_hour is missing.".to_owned()], vec!["name".to_owned()])
        );
        let (days, fields) = read(json!({"availability": {"days": 1}}), hours);
        assert_eq!((days, fields.ignored()), (1, Vec::new()));
        for both in [
            r#"{"availability": {"days": 1}, "working_hour": {"days": 2, "x": 1}}"#,
            r#"{"working_hour": {"days": 2, "x": 1}, "availability": {"days": 1}}"#,
        ] {
            let (days, fields) = read(both, hours);
            assert_eq!((days, fields.ignored()), (2, vec!["availability".to_owned(), "working_hour.x".to_owned()]));
        }
    }

    #[test]
    fn fields_of_an_object_are_accepted_without_the_object() {
        let coverage = |b: &mut Fields| {
            b.accept_unwrapped("coverage");
            b.container("coverage", "");
            (b.optional("coverage.plan_id", id()), b.optional("coverage.subscriber.name", text(10)))
        };
        let flat = json!({"plan_id": 1, "subscriber": {"name": "Kim", "x": 1}, "y": 1});
        let (read_flat, fields) = read(flat, coverage);
        assert_eq!(read_flat, (Some(1), Some("Kim".to_owned())));
        assert_eq!(fields.ignored(), ["coverage.subscriber.x", "coverage.y"]);
        let (wrapped, fields) = read(json!({"coverage": {"plan_id": 2}, "plan_id": 1, "y": 1}), coverage);
        assert_eq!((wrapped.0, fields.ignored()), (Some(2), vec!["plan_id".to_owned(), "y".to_owned()]));
        let (null, fields) = read(json!({"coverage": null, "plan_id": 1}), coverage);
        assert_eq!((null.0, fields.ignored()), (None, vec!["plan_id".to_owned()]));
    }

    #[test]
    fn wrong_fields_yield_examples_and_do_not_end_the_reading() {
        let body = json!({"days": 99, "items": [{"id": "x"}, {"id": 2}, 3]});
        let (values, mut fields) = read(body, |b| {
            let days = b.required("days", integer(1..=60));
            let name = b.required_or_none("name", text(10));
            let items = b.objects("items", "", |one| one.required("id", id()));
            (days, name, items, b.required_in("parent", "parent.name", text(10)))
        });
        assert_eq!(values, (1, None, vec![2], "text".to_owned()));
        let expected = [
            "days must be between 1 and 60.",
            "name is missing.",
            "items[0].id must be an integer.",
            "items[2] must be an object.",
        ];
        assert_eq!(fields.take_problems(), expected);
    }

    #[test]
    fn problems_of_fields_contain_their_path() {
        let body = json!({
            "patient": {"first_name": 7, "date_of_birth": "0000-01-01", "last_name": " Lee "},
            "provider_ids": [1, "2x", -3, 4.5, 5.0],
            "days": "seven", "limit": 0, "big": u64::MAX, "note": null, "extra": {"ignored": true},
            "flag": 1, "operatory_ids": 3
        });
        let (values, mut fields) = read(body, |b| {
            b.required("patient", object(""));
            let name = b.optional("patient.last_name", filled(text(10)));
            let note = b.optional("note", text(10));
            b.optional("patient.first_name", text(10));
            b.optional("patient.date_of_birth", date());
            let providers = b.list("provider_ids", id());
            b.optional("days", integer(1..=60));
            b.optional("limit", integer(1..=100));
            b.optional("big", integer(1..=100));
            b.optional("flag", boolean());
            b.list("operatory_ids", long_id());
            b.required("slot_token", text(10));
            b.required("patient.middle_name", text(10));
            (name, note, providers)
        });
        assert_eq!(values, (Some("Lee".to_owned()), None, vec![1, 5]));
        let expected = [
            "patient.first_name must be a string.",
            "patient.date_of_birth must be between the years 1900 and 2199.",
            "provider_ids[1] must be an integer.",
            "provider_ids[2] must be between 1 and 2147483647.",
            "provider_ids[3] must be an integer.",
            "days must be an integer.",
            "limit must be between 1 and 100.",
            "big must be between 1 and 100.",
            "flag must be true or false.",
            "operatory_ids must be an array.",
            "slot_token is missing.",
            "patient.middle_name is missing.",
        ];
        assert_eq!(fields.take_problems(), expected);
    }

    #[test]
    fn unknown_fields_are_reported_with_their_path() {
        let body = json!({
            "patient": {"first_name": "Pat", "frist_name": "x", "bio": {"gendr": 1}, "more": {"deep": 1}},
            "free": {"any": {"thing": 1}}, "items": [{"id": 1, "nte": "x"}, {"id": 2}], "foo": null,
        });
        let (_, mut fields) = read(body, |b| {
            b.required("patient", object(""));
            b.optional("patient.first_name", text(10));
            b.optional("patient.bio.gender", text(10));
            b.optional("free", crate::values::kinds::json_object());
            b.objects("items", "", |one| one.required("id", id()));
        });
        assert!(fields.take_problems().is_empty());
        assert_eq!(
            fields.ignored(),
            ["foo", "patient.bio.gendr", "patient.frist_name", "patient.more", "items[0].nte"]
        );
        let many: Map<String, Value> = (0..1_000).map(|n| (format!("f{n}"), json!(n))).collect();
        assert_eq!(read(Value::Object(many), |_| ()).1.ignored().len(), MAX_ECHOED_NAMES);
    }

    #[test]
    fn objects_and_lists_of_another_type_are_refused() {
        let (_, mut fields) = read(json!({"a": [], "b": {}, "c": "x", "d": {"e": 1}}), |b| {
            b.required("a", object(""));
            b.optional("a.x", id());
            b.objects("b", "", |one| one.optional("x", id()));
            b.objects("c", "", |one| one.optional("x", id()));
            b.optional("d", text(10));
        });
        let expected = ["a must be an object.", "b must be an array.", "c must be an array.", "d must be a string."];
        assert_eq!((fields.take_problems(), fields.ignored()), (expected.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn rows_beyond_the_limit_of_a_list_are_dropped_and_reported() {
        let body = |count: usize| json!({"items": vec![json!({"id": 1}); count]});
        let items = |b: &mut Fields| b.objects("items", "", |one| one.required("id", id())).len();
        let (found, mut fields) = read(body(MAX_VALUES), items);
        assert_eq!((found, fields.take_problems()), (MAX_VALUES, Vec::new()));
        for count in [MAX_VALUES + 1, 10 * MAX_VALUES] {
            let (found, mut fields) = read(body(count), items);
            assert_eq!((found, fields.take_problems()), (0, vec!["items holds more than 1000 values.".to_owned()]));
        }
        let mut described = Fields::describing();
        items(&mut described);
        let names = Box::leak(Box::new(Names::new(&described.expected())));
        let long = JsonBytes(body(10 * MAX_VALUES).to_string().into());
        let fields = Fields::parse(&long, names).unwrap();
        assert!(matches!(fields.row.get("items"), Some(Given::List(kept)) if kept.len() == MAX_VALUES + 1));
    }

    #[test]
    fn a_field_may_be_replaced_by_a_list_of_objects() {
        let booking = |b: &mut Fields| {
            let token = b.required_without("bookings", "token", text(10));
            let tokens = b.optional_objects("bookings", "", 8, |one| one.required("token", text(10)));
            (token, tokens)
        };
        let (values, mut fields) = read(json!({"token": "a"}), booking);
        assert_eq!((values, fields.take_problems()), ((Some("a".to_owned()), None), Vec::new()));
        let (values, mut fields) = read(json!({"bookings": [{"token": "a"}, {"token": "b"}]}), booking);
        let tokens = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!((values, fields.take_problems()), ((None, tokens), Vec::new()));
        let (values, mut fields) = read(json!({"bookings": []}), booking);
        assert_eq!((values, fields.take_problems()), ((None, Some(Vec::new())), Vec::new()));
        let problems = |body: Value| read(body, booking).1.take_problems();
        assert_eq!(problems(json!({})), ["token is missing."]);
        assert_eq!(problems(json!({"bookings": [{}]})), ["bookings[0].token is missing."]);
        let both = json!({"token": "a", "bookings": [{"token": "b"}]});
        assert_eq!(problems(both), ["token must be absent if bookings is given."]);
    }

    #[test]
    fn a_body_other_than_an_object_is_refused() {
        for body in [json!([]), json!("x"), json!(1)] {
            assert_eq!(read(body, |_| ()).1.take_problems(), ["The body must be a JSON object."]);
        }
        assert!(Fields::parse(&JsonBytes::default(), Names::NONE).unwrap().take_problems().is_empty());
    }
}
