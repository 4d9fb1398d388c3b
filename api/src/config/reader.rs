//! Reads a TOML table key by key, remembering the line of each problem. What no one asked for is an unknown key.

use std::{cell::RefCell, collections::BTreeSet, fmt, ops::RangeInclusive, rc::Rc, time::Duration};

use location::time::Millis;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

type Value<'a> = Spanned<DeValue<'a>>;

/// One thing wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// All problems of one file.
#[derive(Clone)]
pub(super) struct Problems<'a> {
    text: &'a str,
    found: Rc<RefCell<Vec<Problem>>>,
}

impl<'a> Problems<'a> {
    pub(super) fn of(text: &'a str) -> Problems<'a> {
        Problems { text, found: Rc::default() }
    }

    pub(super) fn add(&self, at: usize, text: impl Into<String>) {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        self.found.borrow_mut().push(Problem { line, text: text.into() });
    }

    /// In the order of the file.
    pub(super) fn take(&self) -> Vec<Problem> {
        let mut found = std::mem::take(&mut *self.found.borrow_mut());
        found.sort_by_key(|problem| problem.line);
        found
    }
}

/// A value and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<T> {
    pub value: T,
    pub at: usize,
}

/// Keys of earlier releases: the section as messages name it, the old key, the new one.
const RENAMED: &[(&str, &str, &str)] = &[
    ("the file", "limits", "rate_limits"),
    ("[http]", "kept_pages", "list_cache_bytes"),
    ("[http]", "user_agent_rule", "compatibility.user_agent_rule"),
    ("[http]", "refused_user_agents", "compatibility.refused_user_agents"),
];

/// One table of the file. Dropping it reports the keys no one asked for.
pub(super) struct Section<'a, 't> {
    table: &'t DeTable<'a>,
    /// Name to show: `[http]`.
    name: String,
    pub at: usize,
    asked: RefCell<BTreeSet<String>>,
    pub problems: Problems<'a>,
}

impl Drop for Section<'_, '_> {
    fn drop(&mut self) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(key.get_ref().as_ref())) {
            let known = asked.iter().cloned().collect::<Vec<_>>().join(", ");
            let key_name = key.get_ref();
            let renamed = RENAMED.iter().find(|(section, old, _)| *section == self.name && old == key_name);
            let problem = match renamed {
                Some((_, _, new)) => format!("`{key_name}` in {} is now called `{new}`", self.name),
                None => format!("unknown key `{key_name}` in {}; known are: {known}", self.name),
            };
            self.problems.add(key.span().start, problem);
        }
    }
}

impl<'a, 't> Section<'a, 't> {
    pub(super) fn root(table: &'t DeTable<'a>, problems: Problems<'a>) -> Section<'a, 't> {
        Section { table, name: "the file".into(), at: 0, asked: RefCell::default(), problems }
    }

    fn get(&self, key: &str) -> Option<&'t Value<'a>> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
    }

    fn read<T>(&self, key: &str, kind: impl Fn(&DeValue<'a>) -> Result<T, String>) -> Option<Placed<T>> {
        let value = self.get(key)?;
        match kind(value.get_ref()) {
            Ok(read) => Some(Placed { value: read, at: value.span().start }),
            Err(problem) => {
                self.problems.add(value.span().start, format!("`{key}` {problem}"));
                None
            }
        }
    }

    pub(super) fn missing(&self, key: &str) {
        self.problems.add(self.at, format!("`{key}` is missing in {}", self.name));
    }

    /// Reports the key as missing unless it is there, right or wrong.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && self.get(key).is_none() {
            self.missing(key);
        }
        value
    }

    pub(super) fn text(&self, key: &str) -> Option<Placed<String>> {
        self.parsed(
            key,
            |text| if text.trim().is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) },
        )
    }

    /// A string that is read further.
    pub(super) fn parsed<T>(&self, key: &str, kind: impl Fn(&str) -> Result<T, String>) -> Option<Placed<T>> {
        self.read(key, |value| kind(value.as_str().ok_or("must be a string")?))
    }

    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        self.read(key, |value| value.as_bool().ok_or("must be true or false".into())).map(|placed| placed.value)
    }

    pub(super) fn integer(&self, key: &str, range: RangeInclusive<i64>) -> Option<Placed<i64>> {
        self.read(key, |value| within(value, &range))
    }

    pub(super) fn float(&self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let number = |value: &DeValue<'a>| {
            let digits = value.as_float().map(|n| n.as_str()).or_else(|| value.as_integer().map(|n| n.as_str()));
            let number = digits.and_then(|digits| digits.parse::<f64>().ok()).ok_or("must be a number")?;
            let inside = range.contains(&number);
            if inside { Ok(number) } else { Err(format!("must be between {} and {}", range.start(), range.end())) }
        };
        self.read(key, number).map(|placed| placed.value)
    }

    pub(super) fn texts(&self, key: &str) -> Option<Vec<Placed<String>>> {
        self.elements(key, "strings", |value| value.as_str().map(str::to_owned))
    }

    /// Strings that are read further.
    pub(super) fn texts_as<T>(&self, key: &str, kind: impl Fn(&str) -> Result<T, String>) -> Option<Vec<T>> {
        let read = |text: Placed<String>| {
            kind(&text.value).map_err(|problem| self.problems.add(text.at, format!("`{key}` {problem}"))).ok()
        };
        Some(self.texts(key)?.into_iter().filter_map(read).collect())
    }

    /// Whether it is there, right or wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn integers(&self, key: &str, range: RangeInclusive<i64>) -> Option<Vec<Placed<i64>>> {
        self.elements(key, "ids", |value| within(value, &range).ok())
    }

    fn elements<T>(&self, key: &str, what: &str, kind: impl Fn(&DeValue<'a>) -> Option<T>) -> Option<Vec<Placed<T>>> {
        let value = self.get(key)?;
        let of = |element: &Value<'a>| Some(Placed { value: kind(element.get_ref())?, at: element.span().start });
        let elements = value.get_ref().as_array().and_then(|array| array.iter().map(of).collect());
        if elements.is_none() {
            self.problems.add(value.span().start, format!("`{key}` must be an array of {what}"));
        }
        elements
    }

    pub(super) fn table(&self, key: &str) -> Option<Section<'a, 't>> {
        let value = self.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.problems.add(value.span().start, format!("`{key}` must be a table"));
        }
        table.map(|table| self.section(table, format!("[{key}]"), value.span().start))
    }

    pub(super) fn tables(&self, key: &str) -> Vec<Section<'a, 't>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(array) = value.get_ref().as_array() else {
            self.problems.add(value.span().start, format!("`{key}` must be written as [[{key}]]"));
            return Vec::new();
        };
        let section = |element: &'t Value<'a>| match element.get_ref().as_table() {
            Some(table) => Some(self.section(table, format!("[[{key}]]"), element.span().start)),
            None => {
                self.problems.add(element.span().start, format!("`{key}` must be written as [[{key}]]"));
                None
            }
        };
        array.iter().filter_map(section).collect()
    }

    fn section(&self, table: &'t DeTable<'a>, name: String, at: usize) -> Section<'a, 't> {
        Section { table, name, at, asked: RefCell::default(), problems: self.problems.clone() }
    }

    /// Keys of a table whose names are the user's own.
    pub(super) fn keys(&self) -> Vec<Placed<String>> {
        self.table.keys().map(|key| Placed { value: key.get_ref().to_string(), at: key.span().start }).collect()
    }

    // Knobs: keep what is there unless the file says otherwise.

    pub(super) fn knob<T: TryFrom<i64>>(&self, key: &str, range: RangeInclusive<i64>, knob: &mut T) {
        if let Some(value) = self.integer(key, range).and_then(|placed| T::try_from(placed.value).ok()) {
            *knob = value;
        }
    }

    pub(super) fn duration(&self, key: &str, range: RangeInclusive<Millis>, knob: &mut Millis) {
        let kind = |text: &str| {
            let length = parse_duration(text).ok_or("must be a duration such as \"30s\", \"5m\" or \"72h\"")?;
            let inside = range.contains(&length);
            let show = |length: &Millis| show_duration(*length);
            if inside {
                Ok(length)
            } else {
                Err(format!("must be between {} and {}", show(range.start()), show(range.end())))
            }
        };
        if let Some(placed) = self.parsed(key, kind) {
            *knob = placed.value;
        }
    }

    pub(super) fn std_duration(&self, key: &str, range: RangeInclusive<Millis>, knob: &mut Duration) {
        let mut length = knob.as_millis() as Millis;
        self.duration(key, range, &mut length);
        *knob = Duration::from_millis(length.unsigned_abs());
    }
}

/// Given as it is or, to keep credentials out of the file, as the name of an environment variable.
pub(super) fn credential(text: &str) -> Result<String, String> {
    match text.strip_prefix("env:") {
        Some(variable) => {
            std::env::var(variable).map_err(|_| format!("names the environment variable {variable}, which is not set"))
        }
        None => Ok(text.to_owned()),
    }
}

fn within(value: &DeValue<'_>, range: &RangeInclusive<i64>) -> Result<i64, String> {
    let integer = value.as_integer().ok_or("must be an integer")?;
    let digits = integer.as_str().replace('_', "");
    let number = i64::from_str_radix(&digits, integer.radix()).ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()))
}

const UNITS: [(&str, Millis); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// `90s`, `1h30m`, `500ms`.
pub(super) fn parse_duration(text: &str) -> Option<Millis> {
    let (mut rest, mut sum) = (text.trim(), 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit_and_rest) = rest.split_at(digits);
        let unit = unit_and_rest.find(|c: char| c.is_ascii_digit()).unwrap_or(unit_and_rest.len());
        let (unit, after) = unit_and_rest.split_at(unit);
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(*length)?)?;
        rest = after;
    }
    (!text.trim().is_empty()).then_some(sum)
}

pub(super) fn show_duration(length: Millis) -> String {
    let unit = UNITS.iter().find(|(_, unit)| length != 0 && length % unit == 0);
    unit.map_or_else(|| "0s".to_owned(), |(name, unit)| format!("{}{name}", length / unit))
}
