//! Query parameters, read by name and kind. All problems are collected and reported at once. Unread parameters are
//! named in a warning and never fail a call.

use actix_web::web::Query;
use serde_json::Value;

use crate::values::{
    expected::{Expected, Expects},
    kinds::{Kind, Parsed, echo},
    limits::{MAX_ECHOED_NAMES, MAX_PARAMETERS, MAX_VALUES},
};

/// Unambiguous aliases of parameters. An alias applies if the endpoint reads the parameter and not the alias itself.
const ALSO_CALLED: &[(&str, &[&str])] = &[
    ("patient_ids", &["patient_id"]),
    ("provider_ids", &["provider_id"]),
    ("operatory_ids", &["operatory_id"]),
    ("pids", &["provider_ids", "provider_id"]),
    ("patient_id", &["patient_ids"]),
    ("provider_id", &["provider_ids"]),
    ("operatory_id", &["operatory_ids"]),
    ("phone_number", &["phone"]),
    ("date_of_birth", &["dob", "birth_date", "birthdate"]),
    ("start", &["start_date"]),
    ("end", &["end_date"]),
    ("updated_since", &["updated_after", "since"]),
];

/// Parameters whose values keep a literal plus sign: e-mail addresses contain no space, and telephone numbers begin
/// with a plus.
const WITH_PLUS: &[&str] = &["email", "phone_number", "phone"];

#[derive(Debug, Default)]
pub struct Params {
    given: Vec<Parameter>,
    problems: Vec<String>,
    /// Fields that are hidden for lack of a grant, with that grant.
    withheld: Vec<(String, &'static str)>,
    expects: Expects,
}

#[derive(Debug)]
struct Parameter {
    /// Name without brackets.
    name: String,
    array: bool,
    value: String,
    known: bool,
}

impl Params {
    /// Parses the query. Returns an error for too many parameters, without reading them.
    pub fn parse(raw: &str) -> Parsed<Params> {
        let escaped = raw.contains('+').then(|| with_plus(raw));
        let pairs = Query::<Vec<(String, String)>>::from_query(escaped.as_deref().unwrap_or(raw));
        // Form decoding accepts any bytes, so an error is impossible for a string.
        let pairs = pairs.map(Query::into_inner).unwrap_or_default();
        if pairs.len() > MAX_PARAMETERS {
            return Err(format!("The query holds more than {MAX_PARAMETERS} parameters."));
        }
        Ok(Params { given: pairs.into_iter().map(Parameter::new).collect(), ..Params::default() })
    }

    /// Creates a reader without input, which records the requested parameters and returns examples.
    pub fn describing() -> Params {
        Params { expects: Expects::noting(), ..Params::default() }
    }

    pub fn expected(&mut self) -> Vec<Expected> {
        self.expects.take()
    }

    /// Returns the raw value without marking it as read.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|given| given.name == name && !given.array).map(|given| given.value.as_str())
    }

    /// Returns `true` if the parameter is missing or empty.
    pub fn is_absent(&self, name: &str) -> bool {
        self.text(name).is_none_or(|value| value.trim().is_empty())
    }

    /// Reads an optional parameter. Returns `None` for missing, empty and invalid values, and reports the latter.
    pub fn optional<T: 'static>(&mut self, name: &str, kind: Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(name, &kind)) {
            return kind.example();
        }
        self.read(name, &kind)
    }

    /// Renames parameters sent under an alias. A plural alias needs brackets, a singular one none.
    fn adopt(&mut self, name: &str, array: bool) {
        let others = ALSO_CALLED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, others)| others);
        for given in self.given.iter_mut().filter(|given| !given.known && others.contains(&given.name.as_str())) {
            let plural = given.name.ends_with("ids");
            if given.array == plural {
                (given.name, given.array) = (name.to_owned(), array);
            }
        }
    }

    fn read<T: 'static>(&mut self, name: &str, kind: &Kind<T>) -> Option<T> {
        self.adopt(name, false);
        let mut given = self.given.iter_mut().filter(|given| given.name == name && !given.array);
        let first = given.next()?;
        first.known = true;
        let mut repeated = false;
        given.for_each(|again| (again.known, repeated) = (true, true));
        if repeated {
            self.problems.push(format!("{name} is given more than once."));
            return None;
        }
        let value = self.given.iter().find(|given| given.name == name && !given.array)?.value.trim();
        if value.is_empty() {
            return None;
        }
        kind.text(value).map_err(|problem| self.problems.push(format!("{name} {problem}."))).ok()
    }

    /// Reads a required parameter. If it is missing or invalid, reports it and returns an example.
    pub fn required<T: 'static>(&mut self, name: &str, kind: Kind<T>) -> T {
        self.needed(name, &kind).unwrap_or_else(|| kind.placeholder())
    }

    /// Like `required`, but returns `None`, for parameters that are looked up or compared immediately.
    pub fn required_or_none<T: 'static>(&mut self, name: &str, kind: Kind<T>) -> Option<T> {
        self.needed(name, &kind)
    }

    fn needed<T: 'static>(&mut self, name: &str, kind: &Kind<T>) -> Option<T> {
        if self.expects.note(|| Expected::new(name, kind).required()) {
            return kind.example();
        }
        let problems = self.problems.len();
        let value = self.read(name, kind);
        if value.is_none() && self.problems.len() == problems {
            self.problems.push(format!("{name} is missing."));
        }
        value
    }

    /// Reads a parameter with a default for missing and empty; `default` is a JSON value.
    pub fn defaulted<T: 'static>(&mut self, name: &str, kind: Kind<T>, default: impl Into<Value>) -> T {
        let default = default.into();
        let is_noted = self.expects.note(|| Expected::new(name, &kind).defaulted(&default));
        let given = if is_noted { None } else { self.read(name, &kind) };
        given.unwrap_or_else(|| kind.default_value(&default))
    }

    /// Reads a list: `lids[]=1&lids[]=2` or `lids[0]=1`.
    pub fn list<T: 'static>(&mut self, name: &str, kind: Kind<T>) -> Vec<T> {
        if self.expects.note(|| Expected::new(name, &kind).list(MAX_VALUES)) {
            return kind.example().into_iter().collect();
        }
        self.read_list(name, &kind)
    }

    pub fn required_list<T: 'static>(&mut self, name: &str, kind: Kind<T>) -> Vec<T> {
        if self.expects.note(|| Expected::new(name, &kind).list(MAX_VALUES).required()) {
            return kind.example().into_iter().collect();
        }
        let problems = self.problems.len();
        let values = self.read_list(name, &kind);
        if values.is_empty() && self.problems.len() == problems {
            let bare = self.given.iter().any(|given| given.name == name && !given.array);
            let how = if bare { format!(": it is a list, written {name}[]=1&{name}[]=2") } else { String::new() };
            self.problems.push(format!("{name}[] is missing{how}."));
        }
        values
    }

    fn read_list<T: 'static>(&mut self, name: &str, kind: &Kind<T>) -> Vec<T> {
        self.adopt(name, true);
        let (mut values, mut count) = (Vec::new(), 0);
        for given in self.given.iter_mut().filter(|given| given.name == name && given.array) {
            given.known = true;
            if given.value.trim().is_empty() {
                continue;
            }
            count += 1;
            match kind.text(&given.value) {
                _ if count > MAX_VALUES => {}
                Ok(value) => values.push(value),
                Err(problem) => self.problems.push(format!("{name}[] {problem}.")),
            }
        }
        if count > MAX_VALUES {
            self.problems.push(format!("{name}[] holds more than {MAX_VALUES} values."));
        }
        values
    }

    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Reports a parameter, or one of its values, as having no effect.
    pub fn without_effect(&mut self, name: &str) {
        self.given.push(Parameter { name: name.to_owned(), array: false, value: String::new(), known: false });
    }

    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    pub fn withheld(&mut self, name: &str, grant: &'static str) {
        self.withheld.push((name.to_owned(), grant));
    }

    pub(crate) fn take_withheld(&mut self) -> Vec<(String, &'static str)> {
        std::mem::take(&mut self.withheld)
    }

    /// Returns the names of unread parameters, each once.
    pub fn ignored(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for given in self.given.iter().filter(|given| !given.known) {
            let name = echo(&given.name);
            if !names.contains(&name) && names.len() < MAX_ECHOED_NAMES {
                names.push(name);
            }
        }
        names
    }

    pub(crate) fn pairs_except(&self, names: &[&str]) -> Vec<(&str, &str)> {
        let kept = self.given.iter().filter(|given| !names.contains(&given.name.as_str()));
        kept.map(|given| (given.name.as_str(), given.value.as_str())).collect()
    }
}

impl Parameter {
    fn new((name, value): (String, String)) -> Parameter {
        let index = |inside: &str| inside.len() <= 4 && inside.bytes().all(|b| b.is_ascii_digit());
        let base = name.strip_suffix(']').and_then(|open| open.split_once('[')).filter(|(_, inside)| index(inside));
        match base.map(|(base, _)| base.to_owned()) {
            Some(name) => Parameter { name, array: true, value, known: false },
            None => Parameter { name, array: false, value, known: false },
        }
    }
}

fn with_plus(raw: &str) -> String {
    let pairs = raw.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if WITH_PLUS.contains(&name) => format!("{name}={}", value.replace('+', "%2B")),
        _ => pair.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::values::kinds::{boolean, id, integer, text, times::date};

    #[test]
    fn values_are_read_by_kind() {
        let mut q =
            Params::parse("days=7&subdomain=a%20b&lids[]=1&lids%5B%5D=2&lids[3]=3&inactive=true&empty=").unwrap();
        assert_eq!(q.required("days", integer(1..=60)), 7);
        assert_eq!(q.required("subdomain", text(10)), "a b");
        assert_eq!(q.list("lids", id()), vec![1, 2, 3]);
        assert_eq!(q.optional("inactive", boolean()), Some(true));
        assert_eq!(q.optional("empty", integer(1..=2)), None);
        assert_eq!(q.optional("absent", integer(1..=2)), None);
        assert_eq!((q.take_problems(), q.ignored()), (vec![], vec![]));
    }

    #[test]
    fn all_problems_of_a_query_are_reported_at_once() {
        let mut q =
            Params::parse("days=0&start_date=2026-02-30&lids[]=x&lids[]=4&inactive=yes&twice=1&twice=2").unwrap();
        q.required("days", integer(1..=60));
        q.required("start_date", date());
        q.list("lids", id());
        q.optional("inactive", boolean());
        q.optional("twice", integer(1..=2));
        q.required("location_id", id());
        q.required_list("pids", id());
        let expected = [
            "days must be between 1 and 60.",
            "start_date must be a date in the form YYYY-MM-DD.",
            "lids[] must be an integer.",
            "inactive must be true or false.",
            "twice is given more than once.",
            "location_id is missing.",
            "pids[] is missing.",
        ];
        assert_eq!(q.take_problems(), expected);
        assert!(q.ignored().is_empty());
    }

    #[test]
    fn unknown_parameters_are_named_once_and_without_brackets() {
        let mut q = Params::parse("include[]=patient&include[]=x&lids=1,2&days=3").unwrap();
        q.required("days", integer(1..=60));
        assert_eq!(q.list("lids", id()), Vec::<u32>::new());
        assert_eq!(q.ignored(), ["include", "lids"]);
        let many: String = (0..1_000).map(|n| format!("p{n}=1&")).collect();
        assert_eq!(Params::parse(&many).unwrap().ignored().len(), MAX_ECHOED_NAMES);
        let long = "x".repeat(10_000);
        assert_eq!(Params::parse(&long).unwrap().ignored(), ["x".repeat(64)]);
        assert_eq!(Params::parse(&"a=1&".repeat(5_000)).unwrap_err(), "The query holds more than 1100 parameters.");
    }

    #[test]
    fn aliases_of_parameters_are_read_unless_ambiguous() {
        let mut q = Params::parse("patient_id=206&patient_ids[]=7&updated_after=5&phone=555&provider_ids[]=3").unwrap();
        assert_eq!(q.list("patient_ids", id()), [206, 7]);
        assert_eq!(q.optional("updated_since", integer(1..=9)), Some(5));
        assert_eq!(q.optional("phone_number", text(9)), Some("555".into()));
        assert_eq!(q.optional("provider_id", id()), Some(3));
        assert_eq!((q.take_problems(), q.ignored()), (vec![], vec![]));
        // Ambiguous names are reported.
        let mut q = Params::parse("provider_ids[]=3&provider_ids[]=4&since=1&updated_since=2&patient_ids=1,2").unwrap();
        q.optional("provider_id", id());
        q.optional("updated_since", integer(1..=9));
        assert!(q.list("patient_ids", id()).is_empty());
        assert_eq!(
            q.take_problems(),
            ["provider_id is given more than once.", "updated_since is given more than once."]
        );
        assert_eq!(q.ignored(), ["patient_ids"]);
        let mut q = Params::parse("start_date=3&end_date=4&dob=5").unwrap();
        let read = ["start", "end", "date_of_birth"].map(|name| q.optional(name, integer(1..=9)));
        assert_eq!((read, q.ignored()), ([Some(3), Some(4), Some(5)], vec![]));
        let mut q = Params::parse("start_date=3&days=1").unwrap();
        assert_eq!(q.required("start_date", integer(1..=9)), 3, "where it is the endpoint's own name");
        // A parameter that the endpoint reads under its name is not renamed.
        let mut q = Params::parse("since=abc").unwrap();
        assert_eq!(q.optional("since", text(9)), Some("abc".into()));
        assert_eq!(q.optional("updated_since", integer(1..=9)), None);
        let mut q = Params::parse("lids=101").unwrap();
        q.required_list("lids", id());
        assert_eq!(q.take_problems(), ["lids[] is missing: it is a list, written lids[]=1&lids[]=2."]);
    }

    #[test]
    fn a_bare_plus_is_a_plus_in_addresses_and_telephone_numbers() {
        for (raw, expected) in [
            ("email=a+b@example.com", "a+b@example.com"),
            ("email=a%2Bb@example.com", "a+b@example.com"),
            ("email=+a+b+c%40example.com", "+a+b+c@example.com"),
            ("name=x+y&email=a+b@example.com&x=1", "a+b@example.com"),
            ("phone_number=+49+30+901820", "+49+30+901820"),
            ("phone=+1%20212%20555%200399", "+1 212 555 0399"),
            ("name=Ada+Byron", "Ada Byron"),
        ] {
            let mut q = Params::parse(raw).unwrap();
            let found = ["email", "phone_number", "name"].map(|name| q.optional(name, text(30)));
            assert!(found.contains(&Some(expected.to_owned())), "{raw}: {found:?}");
        }
    }

    #[test]
    fn malformed_query_strings_do_not_panic() {
        for raw in
            ["%", "%zz", "=&=&", "&&&", "[]=1", "a[=1", "a]=1", "a[][]=1", "%ff%fe=%ff", "a[99999999999]=1", "\u{0}=1"]
        {
            let mut q = Params::parse(raw).unwrap();
            q.list("a", id());
            q.optional("a", id());
            let _ = q.ignored();
        }
    }
}
